package io.leasefs.chunkserver.replica;

import io.leasefs.common.api.FrameAnswer;
import io.leasefs.common.api.Heartbeat;
import io.leasefs.common.api.Mutation;
import io.leasefs.common.api.PeerMessage;
import io.leasefs.common.error.ErrorCode;
import io.leasefs.common.model.EventKind;
import io.leasefs.common.model.ServerId;

/**
 * What a step wants done. Disk actions of one chunk are carried out one after another in the order
 * of their ids, across steps; everything else leaves at once, in the order given.
 */
public sealed interface ReplicaAction {

  // ---- disk, in step order -----------------------------------------------------------------

  /**
   * Done by the chunk's queue. Ids count 1, 2, 3 ... for each {@link ReplicaCore}; completion is
   * told in that order by {@link ReplicaEvent.DiskDone}, many at once where one fsync covers them.
   */
  sealed interface DiskAction extends ReplicaAction {
    long id();
  }

  /**
   * Append the record to the journal (payload in place where the rules of section 6 allow).
   *
   * @param force done only when it, and every record before it, is fsynced; else when the kernel
   *     has it
   */
  record Append(long id, Mutation mutation, boolean force) implements DiskAction {}

  /** Everything up to this serial is committed, the chunk is this long. No fsync. */
  record Commit(long id, long serial, long lengthBytes) implements DiskAction {}

  /** Store the promise; done when fsynced, with all records appended before it. */
  record StorePromise(long id, long version) implements DiskAction {}

  /** Drop all records above this serial; the chunk is this long then. Done when fsynced. */
  record Cut(long id, long serial, long lengthBytes) implements DiskAction {}

  /** Set or lift the mark, and whether this copy is a learner. Done when fsynced. */
  record StoreStanding(long id, Heartbeat.Certainty certainty, boolean learner)
      implements DiskAction {}

  /**
   * CRC32C of the content as of this serial, records not yet in place counted in; answered by
   * {@link ReplicaEvent.Checksummed} and remembered with the seal.
   */
  record ComputeChecksum(long id, long serial, long lengthBytes) implements DiskAction {}

  /**
   * Read records back, with payload, from this serial on, at least one and no more than about this
   * many bytes; answered by {@link ReplicaEvent.RecordsRead}.
   */
  record ReadBack(long id, long fromSerial, long maxBytes) implements DiskAction {}

  /**
   * Replace the journal up to the snapshot's serial (which is committed) by this snapshot; records
   * above it stay. Everything up to it is in place and fsynced first.
   */
  record Compact(long id, ReplicaImage.Snapshot snapshot) implements DiskAction {}

  // ---- peers and clients -------------------------------------------------------------------

  /** To the core of the same chunk at that server; dropped where there is no way. */
  record Send(ServerId to, PeerMessage message) implements ReplicaAction {}

  /** Answers a frame. */
  record Answer(long ticket, FrameAnswer answer) implements ReplicaAction {}

  /**
   * The read may be served: committed bytes below this length, as of this serial or later.
   *
   * @param sealed true where the chunk ends here
   */
  record ServeRead(long ticket, long serial, long lengthBytes, long version, boolean sealed)
      implements ReplicaAction {}

  /** The read is refused: STALE_VERSION, NOT_PRIMARY, CORRUPT, TIMED_OUT or BUSY. */
  record RefuseRead(long ticket, ErrorCode code, String message) implements ReplicaAction {}

  // ---- for the next heartbeat --------------------------------------------------------------

  /** The answer to a seal command. */
  record ReportSeal(Heartbeat.SealAnswer answer) implements ReplicaAction {}

  /** A version start is durable here. */
  record ReportVersionStarted(Heartbeat.VersionStarted started) implements ReplicaAction {}

  /** A member of the chain has failed; told again every second while it lasts. */
  record ReportFailedMember(Heartbeat.FailedMember failed) implements ReplicaAction {}

  /** This copy has changed: sealed, damaged, no learner any more. */
  record ReportReplica(Heartbeat.ReplicaReport report) implements ReplicaAction {}

  /** Give the lease back; from this step on nothing is done under it. */
  record ReleaseLease(Heartbeat.LeaseName lease) implements ReplicaAction {}

  // ---- for people --------------------------------------------------------------------------

  /**
   * Record an event of this chunk.
   *
   * @param atNanos when, on the clock of {@code now}
   */
  record Note(EventKind kind, long version, long atNanos) implements ReplicaAction {}
}
