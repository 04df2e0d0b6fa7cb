package io.leasefs.master.state;

import io.leasefs.common.model.ClientId;
import io.leasefs.common.model.SessionId;
import java.util.Optional;

/**
 * A client whose results are kept.
 *
 * @param session its live session
 * @param endedAt ordinal at which its newest session ended; 0 while it lives
 * @param endedMillis wall time of that entry, for people
 */
public record ClientEntry(
    ClientId client, Optional<SessionId> session, long endedAt, long endedMillis) {}
