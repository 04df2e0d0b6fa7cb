package io.leasefs.chunkserver.replica;

import static io.leasefs.chunkserver.replica.ReplicaImage.SealPoint;

import io.leasefs.common.api.Heartbeat;
import io.leasefs.common.api.Heartbeat.Certainty;
import io.leasefs.common.api.Mutation;
import io.leasefs.common.api.MutationKind;
import io.leasefs.common.api.PeerMessage;
import io.leasefs.common.api.PeerMessage.Health;
import io.leasefs.common.error.ErrorCode;
import io.leasefs.common.lease.LeaseTerms;
import io.leasefs.common.model.ChunkHandle;
import io.leasefs.common.model.ChunkSpec;
import io.leasefs.common.model.Durability;
import io.leasefs.common.model.EventKind;
import io.leasefs.common.model.Member;
import io.leasefs.common.model.ServerId;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/** What all roles of one copy share: its order, its promise, its disk queue, and who waits. */
final class Replica {
  final ChunkSpec spec;
  final Member self;
  final LeaseTerms terms;
  final ChunkLog log;
  final DiskQueue disk;
  final Waiters waiters;

  /** Highest version promised: nothing stamped lower is done from the moment it is set. */
  private long promised;

  /**
   * The version whose start (or birth) this incarnation has taken part in; it acts in no other: its
   * acknowledgements of an earlier life may have been given for records that it lost since.
   */
  private long joined;

  private boolean learner;
  private Certainty certainty;
  private @Nullable String failure;

  /** Damaged as a whole; else, where it is damaged, only blocks of its content are. */
  private boolean unreadable;

  private boolean nearlyFull;
  private boolean sealTold;
  private long checksumId;
  private long checksumSerial;

  private long now;
  private List<ReplicaAction> actions = new ArrayList<>();

  Replica(ReplicaImage image, LeaseTerms terms, long joined) {
    this.spec = image.spec();
    this.self = image.self();
    this.terms = terms;
    this.log = new ChunkLog(image);
    this.disk = new DiskQueue(this::emit, log.lastSerial());
    this.waiters = new Waiters(this::emit);
    this.promised = Math.max(image.promised(), log.version());
    this.joined = joined;
    this.learner = image.learner();
    this.certainty = image.certainty();
    this.unreadable = image.certainty() == Certainty.DAMAGED;
  }

  // ---- the step ----------------------------------------------------------------------------

  void begin(long atNanos) {
    now = Math.max(now, atNanos);
    actions = new ArrayList<>();
  }

  List<ReplicaAction> end() {
    return actions;
  }

  long now() {
    return now;
  }

  void emit(ReplicaAction action) {
    actions.add(action);
  }

  void send(ServerId to, PeerMessage message) {
    actions.add(new ReplicaAction.Send(to, message));
  }

  void note(EventKind kind, long version, long atNanos) {
    actions.add(new ReplicaAction.Note(kind, version, atNanos));
  }

  // ---- standing ----------------------------------------------------------------------------

  ChunkHandle handle() {
    return spec.handle();
  }

  long promised() {
    return promised;
  }

  void setPromised(long version) {
    if (version <= promised) {
      throw new IllegalStateException("promise " + version + " after " + promised);
    }
    promised = version;
  }

  long joined() {
    return joined;
  }

  /** This incarnation has taken this version's start: it may act in it once it is durable. */
  void join(long version) {
    joined = version;
  }

  Certainty certainty() {
    return certainty;
  }

  boolean learner() {
    return learner;
  }

  /** Not damaged, no failed disk. */
  boolean sound() {
    return failure == null && certainty != Certainty.DAMAGED;
  }

  /** A version start from another replica, or activation as seed, lifts every mark. */
  void becomeCertain() {
    if (sound() && (certainty != Certainty.CERTAIN || learner)) {
      certainty = Certainty.CERTAIN;
      learner = false;
      disk.standing(certainty, false, now);
    }
  }

  /**
   * At most blocks of its content do not match their checksums. Every block is checked when it is
   * read, so the others are as good as ever.
   */
  boolean readable() {
    return !unreadable;
  }

  /**
   * Blocks of this copy's content do not match: it is told, and has no part in writing any more.
   */
  void damageBlocks(String why) {
    if (certainty != Certainty.DAMAGED) {
      certainty = Certainty.DAMAGED;
      failure = why;
      waiters.refuseAbove(log.committedSerial(), ErrorCode.STALE_VERSION, why);
      emit(new ReplicaAction.ReportReplica(report()));
    }
  }

  /** This copy is damaged: it is told, and does nothing more that rests on its bytes. */
  private void damage(String why) {
    unreadable = true;
    damageBlocks(why);
  }

  /** The disk has failed: nothing is tried again. */
  void fail(String why) {
    disk.fail();
    damage(why);
  }

  /** Its disk has little room left, or has room again. */
  void nearlyFull(boolean is) {
    nearlyFull = is;
  }

  boolean nearlyFull() {
    return nearlyFull;
  }

  /** May it act in this version: it has started it in this incarnation and promised no higher. */
  boolean actsIn(long version) {
    return sound()
        && certainty == Certainty.CERTAIN
        && joined == version
        && log.version() == version
        && promised == version;
  }

  /** Its health, as its chain is told. */
  Health health(long version) {
    if (!sound()) {
      return Health.DISK_FAILED;
    }
    if (promised > version) {
      return Health.PROMISED_HIGHER;
    }
    if (!actsIn(version)) {
      return Health.UNREACHABLE;
    }
    return nearlyFull ? Health.NEARLY_FULL : Health.GOOD;
  }

  // ---- order -------------------------------------------------------------------------------

  /**
   * Takes the mutation into the order and gives it to the disk.
   *
   * @param keepPayload somebody down the chain may need it again
   */
  void append(Mutation mutation, boolean force, boolean keepPayload, @Nullable Runnable whenDone) {
    log.append(
        keepPayload || mutation.kind() == MutationKind.FORGET
            ? mutation
            : mutation.withoutPayload());
    disk.append(mutation, force || spec.durability() == Durability.SYNCED, now, whenDone);
    if (mutation.seals()) {
      sealTold = false;
      checksumSerial = mutation.serial();
      checksumId = disk.checksum(mutation.serial(), mutation.chunkLength(), now);
    }
  }

  /** What this copy holds up to this serial is committed. True where any frame was answered. */
  boolean commitTo(long serial) {
    long to = Math.min(serial, disk.durableSerial());
    if (to <= log.committedSerial()) {
      return false;
    }
    log.commit(to);
    disk.commit(to, log.committedLength(), now);
    boolean answered = waiters.committed(to, log.committedSeal());
    tellSeal();
    return answered;
  }

  /** Drops all above this serial; runs the rest once that is durable. */
  void cut(long serial, Runnable whenDone) {
    if (serial < log.lastSerial()) {
      log.cut(serial);
      if (joined > log.version()) {
        joined = 0; // its version start is gone
      }
      waiters.refuseAbove(serial, ErrorCode.STALE_VERSION, "the primary has changed");
      disk.cut(serial, log.lastLength(), now);
    }
    disk.whenQuiet(whenDone);
  }

  /** The store has computed the checksum of the sealed content. */
  void checksummed(long id, int checksum) {
    if (id != checksumId) {
      return;
    }
    log.sealChecksum(checksumSerial, checksum);
    SealPoint seal = log.committedSeal();
    if (seal != null && seal.serial() == checksumSerial) {
      waiters.sealed(seal);
    }
    tellSeal();
  }

  private void tellSeal() {
    SealPoint seal = log.committedSeal();
    if (seal != null && seal.checksum().isPresent() && !sealTold) {
      sealTold = true;
      emit(new ReplicaAction.ReportReplica(report()));
      disk.compact(log.snapshot(), now);
    }
  }

  /** A restart found a seal whose checksum was never computed. */
  void completeSeal() {
    SealPoint seal = log.seal();
    if (seal != null && seal.checksum().isEmpty() && checksumId == 0 && sound()) {
      checksumSerial = seal.serial();
      // Version starts may be committed behind it; they leave the content as it is, and the store
      // has no older one than what is committed.
      long asOf = Math.max(seal.serial(), log.committedSerial());
      checksumId = disk.checksum(asOf, seal.lengthBytes(), now);
    } else if (seal != null && checksumId == 0) {
      sealTold = true;
    }
  }

  Heartbeat.ReplicaReport report() {
    SealPoint seal = log.committedSeal();
    Heartbeat.ReplicaState state =
        !sound()
            ? Heartbeat.ReplicaState.DAMAGED
            : learner
                ? Heartbeat.ReplicaState.LEARNER
                : seal != null ? Heartbeat.ReplicaState.SEALED : Heartbeat.ReplicaState.OPEN;
    return new Heartbeat.ReplicaReport(
        spec,
        self.replica(),
        self.disk(),
        state,
        promised,
        durableVersion(),
        disk.durableSerial(),
        log.committedSerial(),
        log.committedLength(),
        seal == null ? Optional.empty() : seal.seal());
  }

  /** The accepted version: that of the last version start that is durable. */
  long durableVersion() {
    return log.versionAt(disk.durableSerial());
  }
}
