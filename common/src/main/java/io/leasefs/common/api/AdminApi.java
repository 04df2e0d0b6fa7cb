package io.leasefs.common.api;

import io.leasefs.common.model.ChunkHandle;
import io.leasefs.common.model.ChunkLayout;
import io.leasefs.common.model.ClusterEvent;
import io.leasefs.common.model.DiskId;
import io.leasefs.common.model.Endpoints;
import io.leasefs.common.model.FileId;
import io.leasefs.common.model.FilePath;
import io.leasefs.common.model.ReplicaId;
import io.leasefs.common.model.ServerAddress;
import io.leasefs.common.model.ServerId;
import io.leasefs.common.model.SessionId;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;

/** What an operator asks the master about the cluster, and the few orders that there are. */
public interface AdminApi {
  CompletableFuture<ClusterStatus> status();

  /**
   * The whole cluster in one look.
   *
   * @param nodesLive those that are silent left out
   */
  record ClusterStatus(
      String clusterId,
      String version,
      ServerId leader,
      long term,
      long logIndex,
      long upMillis,
      boolean reportsIn,
      int nodesLive,
      int nodesDraining,
      int nodesDead,
      long usedBytes,
      long totalBytes,
      long files,
      long folders,
      long chunks,
      long replicas,
      long underReplicated,
      long stale,
      long damaged,
      long unavailable,
      long leasesHeld,
      long trashEntries,
      Optional<ClusterEvent> lastReassignment,
      long quarantined,
      int nodesSilent) {}

  CompletableFuture<List<NodeStatus>> nodes();

  /** One chunkserver. */
  record NodeStatus(
      ServerId server,
      NodeState state,
      Endpoints endpoints,
      ServerAddress address,
      String rack,
      SessionId session,
      long incarnation,
      long silentNanos,
      long leaseLeftNanos,
      long leases,
      long replicas,
      long freeBytes,
      long totalBytes,
      List<DiskId> disks) {}

  /** What the master thinks of a chunkserver. */
  enum NodeState {
    LIVE,
    SILENT,
    DRAINING,
    DRAINED,
    DEAD
  }

  /** Leases, replicas and new copies move elsewhere; {@code undo} takes the server back. */
  CompletableFuture<Void> drain(ServerId server, boolean undo);

  /** Forgets a dead or drained server. */
  CompletableFuture<Void> removeNode(ServerId server);

  /** Chunk leases, of one server where given. */
  CompletableFuture<List<LeaseStatus>> leases(Optional<ServerId> server);

  /** One chunk lease as the grantor sees it. */
  record LeaseStatus(
      ChunkHandle chunk,
      Optional<FilePath> path,
      int index,
      long version,
      long token,
      ServerId holder,
      SessionId session,
      long grantorLeftNanos,
      boolean revoked) {}

  CompletableFuture<ChunkStatus> chunk(ChunkHandle chunk);

  /** A chunk with all that the master knows of it. */
  record ChunkStatus(
      ChunkLayout layout,
      FileId file,
      Optional<FilePath> path,
      long lastVersion,
      int goal,
      Optional<PendingChange> pending,
      Optional<LeaseStatus> lease,
      List<KnownReplica> replicas) {}

  /** A configuration change under way. */
  record PendingChange(
      long version, String step, String reason, Optional<ServerId> seed, long forNanos) {}

  /** A replica by the last report of its server. */
  record KnownReplica(
      ServerId server,
      ReplicaId replica,
      boolean member,
      Heartbeat.ReplicaState state,
      long version,
      long lengthBytes) {}

  /** What keeps a chunk or the end of a file from being written or read; empty: nothing. */
  CompletableFuture<List<Wait>> why(ChunkHandle chunk);

  /**
   * One promise or lack that blocks.
   *
   * @param what one clear sentence
   * @param holder whose promise it is
   * @param untilNanos how long at the most from now, -1 where nobody can tell
   */
  record Wait(ChunkHandle chunk, String what, Optional<ServerId> holder, long untilNanos) {}

  /** The master's recorded events above {@code after}, oldest first; waits for one if asked to. */
  CompletableFuture<List<ClusterEvent>> events(long after, int limit, long waitNanos);

  /** Findings of a check of everything below the path; nothing is changed. */
  CompletableFuture<List<Finding>> check(FilePath path, String after, int limit);

  /** A file or chunk that is not as it should be. */
  record Finding(FilePath path, Optional<ChunkHandle> chunk, Severity severity, String what) {}

  /** How bad a finding is. */
  enum Severity {
    /** Will mend itself: under-replicated, a change under way. */
    PENDING,
    DAMAGED,
    /** No good copy can be reached now. */
    UNAVAILABLE
  }

  /**
   * Goes on with a log that is short of what its servers have heard of: from the answer, the new
   * generation, on, nothing is named as it may have been in the part that is missing, and copies
   * that only that part knew are kept. Refused where nothing is missing, and BUSY while leases that
   * it may have given can still be held.
   */
  CompletableFuture<Integer> raiseGeneration();

  /**
   * Copies that the log does not count and that are not deleted, by server and chunk: a page, above
   * the given one.
   */
  CompletableFuture<List<QuarantinedCopy>> quarantined(Optional<CopyName> after, int limit);

  /** A copy on a server. */
  record CopyName(ServerId server, ChunkHandle chunk) {}

  /**
   * A copy in quarantine.
   *
   * @param file that it was of
   * @param version the highest that it has started or promised
   * @param leftNanos until it is deleted; -1: not without an order
   */
  record QuarantinedCopy(
      CopyName name,
      ReplicaId replica,
      FileId file,
      Heartbeat.ReplicaState state,
      long version,
      long lengthBytes,
      QuarantineReason reason,
      long leftNanos) {}

  /** Why a copy is in quarantine. */
  enum QuarantineReason {
    /** The log does not know the chunk, which is of an earlier generation: kept. */
    LOST,
    /**
     * It has started or promised a version above those that the log had when its generation was
     * raised: kept.
     */
    AHEAD,
    /** The log does not know the chunk: deleted after a time. */
    UNKNOWN
  }

  /** Orders a copy in quarantine to be deleted. */
  CompletableFuture<Void> deleteQuarantined(CopyName copy, ReplicaId replica);
}
