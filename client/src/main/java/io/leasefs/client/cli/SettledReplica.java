package io.leasefs.client.cli;

import io.leasefs.common.api.ChunkApi.ReplicaStatus;
import io.leasefs.common.model.ChunkHandle;
import io.leasefs.common.model.ChunkLayout;
import io.leasefs.common.model.Location;

/**
 * Looks at one replica. A member learns with one of the next heartbeats that what it holds is
 * committed, so a copy that is shorter than its seal is looked at again before it is called bad.
 */
final class SettledReplica {
  private static final long LIMIT_NANOS = 5_000_000_000L;

  private SettledReplica() {}

  static ReplicaStatus read(Verb verb, ChunkLayout chunk, Location location) {
    ChunkHandle handle = chunk.handle();
    long wanted = chunk.seal().isPresent() ? chunk.seal().get().lengthBytes() : 0;
    ReplicaStatus[] found = new ReplicaStatus[1];
    boolean unused =
        new Waiting("copy of " + handle + " at " + location.member().server(), LIMIT_NANOS)
            .within(
                () -> {
                  found[0] =
                      verb.await(
                          verb.client().chunkServer(location.address()).inspect(handle, true));
                  return found[0].report().lengthBytes() >= wanted;
                });
    return found[0];
  }
}
