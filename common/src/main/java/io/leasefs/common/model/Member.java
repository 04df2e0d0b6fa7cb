package io.leasefs.common.model;

/** A replica in a chunk's configuration: this copy, on this disk, at this server. */
public record Member(ServerId server, DiskId disk, ReplicaId replica) {
  @Override
  public String toString() {
    return server + "/" + replica;
  }
}
