package io.leasefs.chunkserver.replica;

import io.leasefs.chunkserver.replica.ReplicaImage.SealPoint;
import io.leasefs.common.api.Frame;
import io.leasefs.common.api.FrameAnswer;
import io.leasefs.common.api.Heartbeat;
import io.leasefs.common.api.PeerMessage;
import io.leasefs.common.api.PeerMessage.MemberProgress;
import io.leasefs.common.error.ErrorCode;
import io.leasefs.common.lease.LeaseTerms;
import io.leasefs.common.model.EventKind;
import io.leasefs.common.model.LeaseGrant;
import io.leasefs.common.model.Member;
import io.leasefs.common.model.ServerId;
import io.leasefs.common.model.SessionId;
import java.util.ArrayDeque;
import java.util.Iterator;
import java.util.List;
import java.util.OptionalLong;
import org.jspecify.annotations.Nullable;

/**
 * The state machine of one copy of a chunk: takes events one at a time, answers with actions.
 *
 * <p><b>The fence.</b> A promise takes effect the moment its step begins: every role at a lower
 * version ends there, and whatever is stamped lower is refused from then on. It is answered when
 * the disk has it, which, the disk's order being the steps' order, is after every append accepted
 * before it. So appends and promises are in one order, the answer to a seal counts all that came
 * before it, and nothing after it is acknowledged (protocol, sections 0.4 and 4).
 *
 * <p><b>Roles.</b> At most one of primary and secondary, at the accepted version; at most one of
 * seed and target, at the promised version. A copy acts only in a version whose birth or version
 * start this incarnation has taken part in: what an earlier incarnation has acknowledged, this one
 * may have lost.
 *
 * <p><b>Threads.</b> One step at a time, on whichever thread; no step blocks.
 *
 * @see ReplicaEvent
 * @see ReplicaAction
 */
public final class ReplicaCore {
  /** The bound on {@link #pendingBytes}. */
  public static final long PENDING_BYTES = 16L << 20;

  /** Most frames that wait for a grant to arrive. */
  private static final int MOST_WAITING = 256;

  /** How often a busy copy looks at its clock. */
  private static final long BUSY_NANOS = 50_000_000;

  private final Replica replica;
  private final ReadQueue reads;
  private @Nullable PrimaryRole primary;
  private @Nullable SecondaryRole secondary;
  private @Nullable SeedRole seed;
  private @Nullable TargetRole target;

  /** Frames of a version whose grant has not arrived yet. */
  private final ArrayDeque<WaitingFrame> early = new ArrayDeque<>();

  /** Who waits for pending serials of a version that is over, until here. */
  private long orphansUntil = Long.MAX_VALUE;

  /** The answer to the promised version's seal: the same however often it is asked. */
  private Heartbeat.@Nullable SealAnswer sealAnswer;

  private boolean promiseDurable = true;
  private boolean sealAsked;

  /** The version start is durable and still to be told: by which seed. */
  private @Nullable ServerId startedBy;

  private long deadWatermark;
  private List<SessionId> living = List.of();
  private long tickAt = Long.MAX_VALUE;
  private long steps;

  private record WaitingFrame(long ticket, Frame frame, long until) {}

  private ReplicaCore(ReplicaImage image, LeaseTerms terms, long joined) {
    replica = new Replica(image, terms, joined);
    reads = new ReadQueue(replica);
  }

  /** A chunk at its birth in this incarnation: it may act in version 1 at once. */
  public static ReplicaCore born(ReplicaImage newborn, LeaseTerms terms) {
    return new ReplicaCore(newborn, terms, 1);
  }

  /** Goes on from what the disk has: it acts again from the next version start on. */
  public static ReplicaCore restarted(ReplicaImage image, LeaseTerms terms) {
    return new ReplicaCore(image, terms, 0);
  }

  /**
   * Takes in one event.
   *
   * @param now the server's monotonic clock, nanoseconds; never smaller than in the step before
   * @return what to do, in order; the caller owns the list
   */
  public List<ReplicaAction> step(ReplicaEvent event, long now) {
    steps++;
    replica.begin(now);
    switch (event) {
      case ReplicaEvent.FrameArrived(long ticket, Frame frame) ->
          frame(ticket, frame, replica.now() + replica.terms.heartbeatNanos());
      case ReplicaEvent.PeerArrived(ServerId from, PeerMessage message) -> peer(from, message);
      case ReplicaEvent.PeerBroken(ServerId peer) -> broken(peer);
      case ReplicaEvent.ReadArrived arrived -> reads.read(arrived.ticket(), arrived.request());
      case ReplicaEvent.TicketDropped(long ticket) -> drop(ticket);
      case ReplicaEvent.Granted granted -> granted(granted);
      case ReplicaEvent.LeaseOver(long version) -> leaseOver(version);
      case ReplicaEvent.Commanded(Heartbeat.Command command) -> command(command);
      case ReplicaEvent.SessionsDead dead -> sessionsDead(dead);
      case ReplicaEvent.DiskDone(long throughId) -> diskDone(throughId);
      case ReplicaEvent.DiskFailed(String why) -> diskFailed(why);
      case ReplicaEvent.SpaceChanged(boolean nearlyFull) -> replica.nearlyFull(nearlyFull);
      case ReplicaEvent.RecordsRead read -> {
        if (seed != null) {
          seed.read(read.id(), read.records());
        }
      }
      case ReplicaEvent.Checksummed(long id, int checksum) -> checksummed(id, checksum);
      case ReplicaEvent.DamageFound(String why) -> blocksDamaged(why);
      case ReplicaEvent.CompactionWanted() -> replica.disk.compact(replica.log.snapshot(), now);
      case ReplicaEvent.Tick() -> tick();
    }
    replica.completeSeal();
    reads.published();
    flush();
    planTick();
    return replica.end();
  }

  private void flush() {
    if (secondary != null) {
      secondary.flush();
    }
    if (target != null) {
      target.flush();
    }
  }

  // ---- clients -----------------------------------------------------------------------------

  private void frame(long ticket, Frame frame, long until) {
    SealPoint seal = replica.log.committedSeal();
    if (primary != null && primary.leads() && frame.version() == primary.version()) {
      primary.frame(ticket, frame);
    } else if (seal != null
        && seal.checksum().isPresent()
        && replica.sound()
        && replica.log.endOf(frame.version()) >= seal.serial()
        && replica.log.sealed()) {
      FrameAnswer answer = FrameChecks.answerSealed(replica.log, replica.spec, frame, seal);
      replica.emit(new ReplicaAction.Answer(ticket, answer));
    } else if (primary != null && frame.version() == primary.version()) {
      primary.frame(ticket, frame);
    } else if (!replica.sound() || frame.version() < replica.promised()) {
      refuse(ticket, ErrorCode.STALE_VERSION, "version " + replica.promised() + " is promised");
    } else if (secondary != null && frame.version() == secondary.version()) {
      refuse(ticket, ErrorCode.NOT_PRIMARY, "the primary is " + secondary.primary());
    } else if (early.size() >= MOST_WAITING) {
      refuse(ticket, ErrorCode.BUSY, "too many frames wait for a grant");
    } else {
      early.add(new WaitingFrame(ticket, frame, until));
    }
  }

  private void drop(long ticket) {
    early.removeIf(waiting -> waiting.ticket() == ticket);
    replica.waiters.drop(ticket);
    reads.drop(ticket);
  }

  private void refuse(long ticket, ErrorCode code, String message) {
    replica.emit(new ReplicaAction.Answer(ticket, new FrameAnswer.Refused(code, message)));
  }

  // ---- the lease ---------------------------------------------------------------------------

  private void granted(ReplicaEvent.Granted granted) {
    LeaseGrant grant = granted.grant();
    long version = grant.version();
    if (primary != null && primary.version() == version) {
      primary.renew(granted.lease());
      return;
    }
    List<Member> members = grant.configuration().members();
    if (version != replica.promised()
        || version != replica.joined()
        || version != replica.durableVersion()
        || !replica.sound()
        || members.isEmpty()
        || !members.get(0).equals(replica.self)) {
      replica.emit(
          new ReplicaAction.ReleaseLease(new Heartbeat.LeaseName(replica.handle(), version)));
      return;
    }
    replica.becomeCertain();
    settledRoles();
    primary = new PrimaryRole(replica, grant, granted.lease());
    primary.sessionsDead(deadWatermark, living);
    secondary = null;
    orphansUntil = Long.MAX_VALUE;
    reads.roles(primary, null);
    // activated: all members have the version start, so all below it is committed
    replica.commitTo(grant.configuration().firstSerial());
    primary.settle();
    replayEarly();
  }

  /** The version is active: what recovery there was is over. */
  private void settledRoles() {
    if (seed != null) {
      seed.activated();
    }
    target = null;
  }

  private void replayEarly() {
    for (int i = early.size(); i > 0; i--) {
      WaitingFrame waiting = early.remove();
      frame(waiting.ticket(), waiting.frame(), waiting.until());
    }
  }

  private void leaseOver(long version) {
    if (primary != null && primary.version() == version) {
      primary.end();
    }
  }

  private void sessionsDead(ReplicaEvent.SessionsDead dead) {
    if (dead.forget()) {
      if (primary != null) {
        primary.forget(dead.watermark(), dead.living());
      }
      return;
    }
    deadWatermark = dead.watermark();
    living = dead.living();
    if (primary != null) {
      primary.sessionsDead(deadWatermark, living);
    }
  }

  // ---- the master --------------------------------------------------------------------------

  private void command(Heartbeat.Command command) {
    switch (command) {
      case Heartbeat.SealCommand seal -> seal(seal);
      case Heartbeat.RecoverCommand recover -> recover(recover);
      case Heartbeat.CloseCommand close -> {
        if (primary != null && primary.version() == close.version()) {
          primary.close();
        }
      }
      case Heartbeat.SettledCommand settled -> settled(settled.version(), settled.serial());
      case Heartbeat.CopyCommand copy -> {} // the copier's
      case Heartbeat.DeleteCommand delete -> {} // the shell's, which asks mayDelete
    }
  }

  private void seal(Heartbeat.SealCommand command) {
    if (!command.member().replica().equals(replica.self.replica())) {
      return;
    }
    if (command.version() > replica.promised()) {
      promise(command.version());
      sealAsked = true;
    } else if (command.version() < replica.promised()) {
      answerSeal(sealAnswer(command.version())); // refused: it tells what is promised
    } else if (sealAnswer != null) {
      answerSeal(sealAnswer);
    } else {
      sealAsked = true;
    }
    answerPromised();
  }

  /** Everything stamped lower is over, from here on. */
  private void promise(long version) {
    replica.setPromised(version);
    promiseDurable = false;
    sealAsked = false;
    sealAnswer = null;
    startedBy = null;
    endRoles();
    refuseEarlyBelow(version);
    orphansUntil =
        replica.waiters.isEmpty() ? Long.MAX_VALUE : replica.now() + replica.terms.heartbeatNanos();
    replica.disk.promise(version, replica.now(), () -> promiseStored(version));
  }

  private void endRoles() {
    if (primary != null) {
      primary.end();
    }
    if (secondary != null) {
      secondary.end();
    }
    primary = null;
    secondary = null;
    seed = null;
    target = null;
    reads.roles(null, null);
  }

  private void refuseEarlyBelow(long version) {
    Iterator<WaitingFrame> each = early.iterator();
    while (each.hasNext()) {
      WaitingFrame waiting = each.next();
      if (waiting.frame().version() < version) {
        each.remove();
        refuse(waiting.ticket(), ErrorCode.STALE_VERSION, "version " + version + " is promised");
      }
    }
  }

  private void promiseStored(long version) {
    if (version == replica.promised()) {
      promiseDurable = true;
      replica.note(EventKind.REPLICA_PROMISED, version, replica.now());
      answerPromised();
    }
  }

  private void answerPromised() {
    if (!sealAsked) {
      return;
    }
    if (!replica.sound()) {
      sealAsked = false;
      answerSeal(sealAnswer(replica.promised())); // it counts as damage, promised or not
    } else if (promiseDurable && replica.disk.durableSerial() == replica.log.lastSerial()) {
      sealAsked = false;
      sealAnswer = sealAnswer(replica.promised());
      answerSeal(sealAnswer);
    }
  }

  private Heartbeat.SealAnswer sealAnswer(long asked) {
    ChunkLog log = replica.log;
    return new Heartbeat.SealAnswer(
        replica.handle(),
        replica.self.replica(),
        asked,
        replica.promised(),
        replica.durableVersion(),
        replica.disk.durableSerial(),
        log.committedSerial(),
        log.lastLength(),
        log.seal() != null,
        log.overwritesAboveCommitted(),
        certainty());
  }

  private void answerSeal(Heartbeat.SealAnswer answer) {
    replica.emit(new ReplicaAction.ReportSeal(answer));
  }

  private void recover(Heartbeat.RecoverCommand command) {
    long version = command.version();
    if (!replica.sound() || version < replica.promised()) {
      return;
    }
    if (version > replica.promised()) {
      promise(version);
    }
    if (target != null || (replica.log.version() == version && replica.joined() != version)) {
      return; // another seed's, or an earlier incarnation's: never two
    }
    if (seed == null) {
      seed = SeedRole.begin(replica, command, () -> started(version, replica.self.server()));
    } else if (replica.durableVersion() == version) {
      startedBy = replica.self.server();
      tellStarted();
    }
    if (primary == null) {
      seed.targets(command.targets());
    }
  }

  /** The version start is durable: the version is accepted. */
  private void started(long version, ServerId by) {
    if (replica.log.version() == version && replica.promised() == version) {
      replica.note(EventKind.REPLICA_STARTED_VERSION, version, replica.now());
      startedBy = by;
      tellStarted();
    }
  }

  private void tellStarted() {
    if (startedBy != null) {
      Heartbeat.VersionStarted started = SeedRole.started(replica, startedBy);
      if (started != null) {
        startedBy = null;
        replica.emit(new ReplicaAction.ReportVersionStarted(started));
      }
    }
  }

  /** The master has logged it: of what that version's order is here, this much is committed. */
  private void settled(long version, long serial) {
    long end = replica.log.endOf(version);
    boolean sealed = replica.log.seal() != null;
    if (end < 0 || (replica.promised() > version && !sealed)) {
      return;
    }
    if (replica.promised() == version) {
      if (replica.joined() == version) {
        replica.becomeCertain();
      }
      settledRoles();
    }
    replica.commitTo(Math.min(serial, end));
    replayEarly();
  }

  // ---- peers -------------------------------------------------------------------------------

  private void peer(ServerId from, PeerMessage message) {
    switch (message) {
      case PeerMessage.Forward forward -> forward(from, forward);
      case PeerMessage.Committed committed -> committed(from, committed);
      case PeerMessage.ChainProgress progress -> progress(from, progress);
      case PeerMessage.Reconcile reconcile -> reconcile(from, reconcile);
      case PeerMessage.Reconciled reconciled -> {
        if (seed != null) {
          seed.reconciled(reconciled);
        }
      }
      case PeerMessage.ReconcileRefused refused -> {
        if (seed != null) {
          seed.refused(refused);
        }
      }
      case PeerMessage.Recovery recovery -> recovery(from, recovery);
      case PeerMessage.RecoveryProgress progress -> {
        if (seed != null) {
          seed.progress(progress);
        }
      }
      case PeerMessage.CommittedQuery query -> committedQuery(query);
      case PeerMessage.CommittedAnswer answer -> reads.committedAnswer(from, answer);
      case PeerMessage.PromiseQuery query -> reads.promiseQuery(from, query);
      case PeerMessage.PromiseAnswer answer -> reads.promiseAnswer(from, answer);
    }
  }

  private void forward(ServerId from, PeerMessage.Forward forward) {
    long version = forward.mutation().version();
    int position = forward.chain().indexOf(replica.self);
    if (!replica.actsIn(version) || position < 1 || primary != null) {
      sayHealth(from, version);
      return;
    }
    if (replica.durableVersion() != version) {
      return; // cannot be active yet
    }
    if (secondary == null || !secondary.isIn(forward.chain())) {
      settledRoles();
      List<Member> chain = List.copyOf(forward.chain());
      secondary =
          new SecondaryRole(replica, version, chain, position, replica.log.startOf(version));
      reads.roles(null, secondary);
    }
    secondary.forward(from, forward);
  }

  /** What a member is told that takes this copy for one of its chain. */
  private void sayHealth(ServerId to, long version) {
    replica.send(
        to,
        new PeerMessage.ChainProgress(
            replica.handle(),
            version,
            List.of(new MemberProgress(replica.self.server(), 0, replica.health(version)))));
  }

  private void committed(ServerId from, PeerMessage.Committed committed) {
    if (secondary != null && secondary.version() == committed.version()) {
      secondary.committedAlone(from, committed.serial());
    } else if (!replica.actsIn(committed.version())) {
      sayHealth(from, committed.version());
    }
  }

  private void progress(ServerId from, PeerMessage.ChainProgress progress) {
    if (primary != null && primary.version() == progress.version()) {
      primary.progress(from, progress);
    } else if (secondary != null && secondary.version() == progress.version()) {
      secondary.progress(from, progress);
    }
  }

  private void committedQuery(PeerMessage.CommittedQuery query) {
    if (primary != null && primary.version() == query.version()) {
      primary.committedQuery(query);
    } else {
      replica.send(
          query.from(),
          new PeerMessage.CommittedAnswer(
              query.chunk(), query.version(), query.queryNumber(), false, 0, 0));
    }
  }

  private void reconcile(ServerId from, PeerMessage.Reconcile message) {
    long version = message.version();
    if (!message.target().replica().equals(replica.self.replica())
        || !message.seed().equals(from)) {
      return;
    }
    if (version < replica.promised() || !replica.sound()) {
      replica.send(
          from,
          new PeerMessage.ReconcileRefused(
              replica.handle(),
              replica.self.server(),
              version,
              replica.promised(),
              !replica.sound()));
      return;
    }
    if (seed != null || primary != null || secondary != null) {
      if (version == replica.promised()) {
        return; // a late double: the version is active, or has another seed
      }
    }
    if (version > replica.promised()) {
      promise(version);
    }
    if (target == null) {
      target = new TargetRole(replica, version, from);
    }
    if (target.seed().equals(from)) {
      replica.waiters.refuseAbove(
          replica.log.committedSerial(), ErrorCode.STALE_VERSION, "the primary is moving");
      target.reconcile(message);
    }
  }

  private void recovery(ServerId from, PeerMessage.Recovery recovery) {
    if (target != null
        && replica.promised() == recovery.version()
        && target.version() == recovery.version()) {
      target.recovery(from, recovery.mutation(), () -> started(recovery.version(), from));
    }
  }

  private void broken(ServerId peer) {
    if (primary != null) {
      primary.broken(peer);
    }
    if (secondary != null) {
      secondary.broken(peer);
    }
  }

  // ---- disk --------------------------------------------------------------------------------

  private void diskDone(long throughId) {
    long before = replica.disk.durableSerial();
    replica.disk.done(throughId);
    answerPromised();
    if (primary != null) {
      primary.settle();
    }
    if (replica.disk.durableSerial() != before) {
      if (secondary != null) {
        secondary.durable();
      }
      if (target != null) {
        target.durable();
      }
    }
  }

  private void diskFailed(String why) {
    replica.fail(why);
    damaged();
  }

  private void blocksDamaged(String why) {
    replica.damageBlocks(why);
    damaged();
  }

  private void damaged() {
    if (primary != null) {
      long version = primary.version();
      primary.end();
      replica.emit(
          new ReplicaAction.ReleaseLease(new Heartbeat.LeaseName(replica.handle(), version)));
      replica.note(EventKind.DISK_FAILED, version, replica.now());
    }
    endRoles();
    refuseEarlyBelow(Long.MAX_VALUE);
    answerPromised();
  }

  private void checksummed(long id, int checksum) {
    replica.checksummed(id, checksum);
    tellStarted();
    replayEarly();
  }

  // ---- time --------------------------------------------------------------------------------

  private void tick() {
    long now = replica.now();
    tickAt = Long.MAX_VALUE;
    while (!early.isEmpty() && early.peek().until() <= now) {
      refuseLateGrant(early.remove());
    }
    if (primary != null) {
      primary.tick();
    }
    if (secondary != null) {
      secondary.tick();
    }
    if (seed != null) {
      seed.tick();
    }
    reads.tick();
    if (now >= orphansUntil) {
      orphansUntil = Long.MAX_VALUE;
      replica.waiters.refuseAbove(
          replica.log.committedSerial(), ErrorCode.STALE_VERSION, "the primary is moving");
    }
  }

  private void refuseLateGrant(WaitingFrame waiting) {
    boolean own = waiting.frame().version() == replica.log.version();
    refuse(
        waiting.ticket(),
        own ? ErrorCode.NOT_PRIMARY : ErrorCode.STALE_VERSION,
        "no grant of version " + waiting.frame().version() + " has arrived");
  }

  private boolean busy() {
    return !early.isEmpty()
        || (primary != null && primary.busy())
        || (secondary != null && secondary.busy())
        || (seed != null && seed.busy())
        || reads.busy()
        || orphansUntil != Long.MAX_VALUE;
  }

  private void planTick() {
    if (tickAt == Long.MAX_VALUE && busy()) {
      tickAt = replica.now() + BUSY_NANOS;
    }
  }

  /**
   * When a {@link ReplicaEvent.Tick} is due; {@code Long.MAX_VALUE} where nothing is waited for.
   */
  public long wakeAt() {
    long at = tickAt;
    if (primary != null) {
      at = Math.min(at, primary.wakeAt());
    }
    if (secondary != null) {
      at = Math.min(at, secondary.wakeAt());
    }
    return at;
  }

  // ---- asked by the shell ------------------------------------------------------------------

  /** What this copy is, for a report to the master. */
  public Heartbeat.ReplicaReport report() {
    return replica.report();
  }

  /** This copy: server, disk and replica id. */
  public Member self() {
    return replica.self;
  }

  /**
   * Payload bytes that are held until they are committed; while it is above {@link #PENDING_BYTES},
   * the shell takes in no more frames for this chunk.
   */
  public long pendingBytes() {
    return replica.log.pendingBytes();
  }

  /** True while it is primary and its lease is valid at this instant. */
  public boolean leads(long now) {
    return primary != null && primary.leadsAt(now);
  }

  /** True where the order to delete this copy still applies to it. */
  public boolean mayDelete(Heartbeat.DeleteCommand command) {
    return command.replica().equals(replica.self.replica())
        && replica.log.version() <= command.highestVersion();
  }

  /** What it says of itself in a seal's answer. */
  public Heartbeat.Certainty certainty() {
    return replica.sound() ? replica.certainty() : Heartbeat.Certainty.DAMAGED;
  }

  /** The committed state: what a copy for a learner starts from, and what a compaction writes. */
  public ReplicaImage.Snapshot snapshot() {
    return replica.log.snapshot();
  }

  /** The serial with which this version starts here, where it has started. */
  public OptionalLong startOf(long version) {
    return replica.log.endOf(version) < 0
        ? OptionalLong.empty()
        : OptionalLong.of(replica.log.startOf(version));
  }

  /** The last serial that its disk has told to be stored, as the chunk's durability wants it. */
  public long durableSerial() {
    return replica.disk.durableSerial();
  }

  /** How many steps it has taken: whoever watches sees whether a task has changed anything. */
  public long steps() {
    return steps;
  }

  /** Checks what must hold after each step; throws where it does not. */
  public void invariant() {
    replica.log.invariant();
    check(replica.promised() >= replica.log.version(), "accepted above promised");
    check(replica.joined() <= replica.log.version(), "joined above accepted");
    check(replica.log.committedSerial() <= replica.disk.durableSerial(), "committed above durable");
    check(replica.disk.durableSerial() <= replica.log.lastSerial(), "durable above last");
    check(primary == null || secondary == null, "two roles");
    check(primary == null || primary.version() == replica.promised(), "primary below the promise");
    check(
        secondary == null || secondary.version() == replica.promised(),
        "secondary below the promise");
    check(seed == null || target == null, "seed and target");
    check(
        primary == null || !replica.log.sealed() || !primary.leads(),
        "primary of a chunk that it has sealed");
  }

  private void check(boolean holds, String message) {
    if (!holds) {
      throw new IllegalStateException(replica.handle() + " at " + replica.self + ": " + message);
    }
  }
}
