package io.leasefs.master.state;

import io.leasefs.common.model.ClientId;
import io.leasefs.common.model.ServerId;
import io.leasefs.common.model.SessionId;
import java.util.Optional;

/**
 * A session that has not ended in the log; of a server or of a client.
 *
 * @param ttlNanos recorded at its creation, never changed
 * @param incarnation of a server; 0 for a client
 */
public record SessionEntry(
    SessionId session,
    long ttlNanos,
    Optional<ServerId> server,
    long incarnation,
    Optional<ClientId> client) {
  public boolean isServer() {
    return server.isPresent();
  }
}
