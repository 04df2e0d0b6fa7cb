package io.leasefs.master.control;

import io.leasefs.common.lease.LeaseTerms;
import io.leasefs.common.model.ServerId;

/**
 * What the control loop is told at its start.
 *
 * @param self this master
 * @param clusterId empty until the first master founds the cluster
 * @param version of the program
 * @param terms of server sessions
 * @param clientTtlNanos of client sessions
 * @param chunkBytes default capacity of a chunk
 * @param replication default goal
 * @param trashExpiryMillis what lies longer in the trash is dropped
 * @param quarantineNanos copies of chunks that the log does not know are kept so long
 * @param maxPending most client requests under way; more are answered BUSY
 */
public record ControlSettings(
    ServerId self,
    String clusterId,
    String version,
    LeaseTerms terms,
    long clientTtlNanos,
    long chunkBytes,
    int replication,
    long trashExpiryMillis,
    long quarantineNanos,
    int maxPending) {
  /** Time to live of a client's session. */
  public static final long CLIENT_TTL_NANOS = 60_000_000_000L;

  /** Most open chunks that move at once per server. */
  static final int MOVES_PER_SERVER = 16;

  /** Fewest members of an active configuration, for a goal. */
  public static int minReplicas(int goal) {
    return Math.min(goal, 2);
  }
}
