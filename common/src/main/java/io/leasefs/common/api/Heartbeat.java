package io.leasefs.common.api;

import io.leasefs.common.model.ChunkHandle;
import io.leasefs.common.model.ChunkSeal;
import io.leasefs.common.model.ChunkSpec;
import io.leasefs.common.model.Configuration;
import io.leasefs.common.model.DiskId;
import io.leasefs.common.model.LeaseGrant;
import io.leasefs.common.model.Member;
import io.leasefs.common.model.ReplicaId;
import io.leasefs.common.model.ServerAddress;
import io.leasefs.common.model.ServerId;
import io.leasefs.common.model.SessionId;
import java.util.List;
import java.util.Optional;

/** The messages of the heartbeat stream between a chunkserver and the master (section 2). */
public final class Heartbeat {
  private Heartbeat() {}

  /**
   * From a chunkserver, every h and whenever it has something urgent.
   *
   * @param highestOrdinal of the masters' log that it has heard of
   */
  public record Request(
      String clusterId,
      ServerId server,
      long incarnation,
      long sequence,
      long highestTerm,
      SessionId session,
      long heldDigest,
      Optional<List<HeldLease>> heldInFull,
      List<LeaseName> released,
      List<LeaseName> revocationsAcknowledged,
      List<SealAnswer> sealAnswers,
      List<VersionStarted> versionStarts,
      List<FailedMember> failedMembers,
      boolean fullReport,
      List<ReplicaReport> replicas,
      List<ChunkHandle> replicasGone,
      List<DiskReport> disks,
      long openChunks,
      long pausesSeen,
      long highestOrdinal) {}

  /** A chunk lease by name. */
  public record LeaseName(ChunkHandle chunk, long version) {}

  /** A lease that the server holds. */
  public record HeldLease(ChunkHandle chunk, long version, long token) {}

  /** How sure a replica is of its last serial. */
  public enum Certainty {
    CERTAIN,
    /** Its last serial is a lower bound (power cut). */
    UNCERTAIN,
    DAMAGED,
    /** It does not know the chunk; never counts as empty. */
    UNKNOWN_CHUNK
  }

  /** A replica's answer to a seal: what it has, and that it has promised. */
  public record SealAnswer(
      ChunkHandle chunk,
      ReplicaId replica,
      long version,
      long promised,
      long accepted,
      long lastSerial,
      long committedSerial,
      long lengthBytes,
      boolean endsInSeal,
      boolean overwritesAboveCommitted,
      Certainty certainty) {}

  /** The version start is durable at this replica. */
  public record VersionStarted(
      ChunkHandle chunk,
      ReplicaId replica,
      long version,
      ServerId seed,
      long firstSerial,
      long lengthBytes,
      Optional<ChunkSeal> seal) {}

  /** What is the matter with a failed member. */
  public enum MemberFailure {
    /** Silent, or without progress, or it refuses. */
    UNREACHABLE,
    /** It is well, but the seed's journal does not reach back to where it stands. */
    NEEDS_COPY
  }

  /**
   * The primary of an active version blames a member of its chain, or the seed of a pending version
   * one of its targets.
   */
  public record FailedMember(
      ChunkHandle chunk, long version, ServerId member, MemberFailure failure, String why) {}

  /** State of one replica on a disk. */
  public enum ReplicaState {
    OPEN,
    SEALED,
    /** A copy that is catching up; lastSerial says how far. */
    LEARNER,
    DAMAGED
  }

  /**
   * One replica, as its server has it. Of one that cannot even be read its name, damaged as it is,
   * nothing is true but the chunk's handle.
   */
  public record ReplicaReport(
      ChunkSpec spec,
      ReplicaId replica,
      DiskId disk,
      ReplicaState state,
      long promised,
      long accepted,
      long lastSerial,
      long committedSerial,
      long lengthBytes,
      Optional<ChunkSeal> seal) {
    /** No replica has this id: what is on the disk does not tell which one it was. */
    public static final ReplicaId UNKNOWN = new ReplicaId(0);
  }

  /** One disk. */
  public record DiskReport(
      DiskId disk, long freeBytes, long totalBytes, boolean full, boolean stalled) {}

  /** What the master thinks of the request. */
  public enum Status {
    OK,
    NOT_LEADER,
    UNKNOWN_SESSION,
    STALE_INCARNATION,
    NEED_FULL_REPORT,
    WRONG_CLUSTER
  }

  /**
   * The master's answer; grants travel here and nowhere else.
   *
   * @param appliedOrdinal of the log's last applied entry; 0: not told
   */
  public record Response(
      String clusterId,
      long term,
      ServerId leader,
      long number,
      long answersSequence,
      Status status,
      Optional<ServerAddress> leaderHint,
      long ttlNanos,
      List<LeaseGrant> grants,
      List<LeaseName> revocations,
      List<Command> commands,
      long deadWatermark,
      List<SessionId> deadExceptions,
      long appliedOrdinal) {}

  /** An order of the master. Each names what it expects, and is checked again where it arrives. */
  public sealed interface Command {
    ChunkHandle chunk();
  }

  /**
   * Promise this version and tell what you have. {@code birth} is set while the active version is
   * 1, so that a member that never got the first frame can promise an empty chunk.
   */
  public record SealCommand(
      ChunkSpec spec, Member member, long version, Optional<Configuration> birth)
      implements Command {
    @Override
    public ChunkHandle chunk() {
      return spec.handle();
    }
  }

  /**
   * You are the seed: bring these targets to your history and start the version. {@code seal}: the
   * version start is the chunk's seal, too. {@code reopen}: a seal in the history is over with this
   * version start; without it a sealed chunk stays sealed. At most one of the two.
   */
  public record RecoverCommand(
      ChunkSpec spec,
      long version,
      List<Target> targets,
      boolean seal,
      boolean reopen,
      long fenceFloor)
      implements Command {
    @Override
    public ChunkHandle chunk() {
      return spec.handle();
    }
  }

  /** A replica to be brought to the seed's history, and where it listens. */
  public record Target(Member member, ServerAddress address) {}

  /** Fetch a copy of the chunk as a learner, from this replica. */
  public record CopyCommand(
      ChunkSpec spec,
      Member learner,
      long version,
      Member source,
      ServerAddress sourceAddress,
      Optional<ChunkSeal> seal)
      implements Command {
    @Override
    public ChunkHandle chunk() {
      return spec.handle();
    }
  }

  /**
   * Drop this copy, if it is this replica and has accepted nothing above {@code highestVersion}.
   */
  public record DeleteCommand(ChunkHandle chunk, ReplicaId replica, long highestVersion)
      implements Command {}

  /** As primary: seal the chunk by a mutation of its own order. */
  public record CloseCommand(ChunkHandle chunk, long version) implements Command {}

  /** The master has logged the activation or the seal: all up to this serial is committed. */
  public record SettledCommand(ChunkHandle chunk, long version, long serial) implements Command {}
}
