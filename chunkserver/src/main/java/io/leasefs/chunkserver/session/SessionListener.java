package io.leasefs.chunkserver.session;

import io.leasefs.chunkserver.lease.LeaseValidity;
import io.leasefs.common.api.Heartbeat;
import io.leasefs.common.error.LeaseFsException;
import io.leasefs.common.lease.LeaseTerms;
import io.leasefs.common.model.LeaseGrant;
import io.leasefs.common.model.SessionId;
import java.util.List;

/** What a session means to the rest of the server. On the session's executor; must not block. */
public interface SessionListener {
  /** A session stands; its terms are the cluster's. */
  void joined(String clusterId, SessionId session, LeaseTerms terms);

  /** Every replica is asked what it has; the answer is {@link SessionEvent.Collected}. */
  void collect();

  void granted(LeaseGrant grant, LeaseValidity lease);

  void over(Heartbeat.LeaseName lease);

  void obey(Heartbeat.Command command);

  /** Sessions of clients below the watermark are dead, but for these. */
  void sessionsDead(long watermark, List<SessionId> living);

  /** The masters will never take this server: what its operator has to know. */
  void refused(LeaseFsException why);

  /** The session has ended for good; {@code givenBack}: the master has answered all releases. */
  void stopped(boolean givenBack);
}
