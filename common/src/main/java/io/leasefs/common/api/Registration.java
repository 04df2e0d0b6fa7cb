package io.leasefs.common.api;

import io.leasefs.common.model.DiskId;
import io.leasefs.common.model.Endpoints;
import io.leasefs.common.model.ServerId;
import io.leasefs.common.model.SessionId;
import java.util.List;

/** How a chunkserver's incarnation becomes known to the master. */
public final class Registration {
  private Registration() {}

  /**
   * Who registers.
   *
   * @param clusterId empty where the server has never joined a cluster
   * @param incarnation raised and fsynced before every new registration
   * @param nonce random, the same in a retry of the same registration
   * @param bootId the kernel's
   * @param highestTerm seen
   * @param highestOrdinal of the masters' log that it has heard of
   */
  public record Request(
      String clusterId,
      ServerId server,
      Endpoints endpoints,
      String rack,
      long incarnation,
      long nonce,
      String bootId,
      List<DiskId> disks,
      long highestTerm,
      long highestOrdinal) {}

  /** The session, and the terms that the cluster runs with. */
  public record Response(
      String clusterId,
      int generation,
      SessionId session,
      long term,
      long ttlNanos,
      long heartbeatNanos,
      long rpcTimeoutNanos,
      long driftPpm,
      long readingErrorNanos,
      long guardNanos,
      long stallNanos) {}
}
