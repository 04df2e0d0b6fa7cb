package io.leasefs.master.state;

import io.leasefs.common.model.DiskId;
import io.leasefs.common.model.Endpoints;
import io.leasefs.common.model.ServerId;
import io.leasefs.common.model.SessionId;
import java.util.List;
import java.util.Optional;

/**
 * A chunkserver, as last registered.
 *
 * @param session of this incarnation, while it has not ended
 * @param draining an operator wants it empty
 */
public record ServerEntry(
    ServerId server,
    Endpoints endpoints,
    String rack,
    long incarnation,
    long nonce,
    String bootId,
    List<DiskId> disks,
    Optional<SessionId> session,
    boolean draining,
    long registeredMillis) {
  public ServerEntry {
    disks = List.copyOf(disks);
  }

  ServerEntry withSession(Optional<SessionId> newSession) {
    return new ServerEntry(
        server,
        endpoints,
        rack,
        incarnation,
        nonce,
        bootId,
        disks,
        newSession,
        draining,
        registeredMillis);
  }

  ServerEntry withDraining(boolean newDraining) {
    return new ServerEntry(
        server,
        endpoints,
        rack,
        incarnation,
        nonce,
        bootId,
        disks,
        session,
        newDraining,
        registeredMillis);
  }
}
