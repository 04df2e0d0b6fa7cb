package io.leasefs.master.control;

import io.leasefs.common.api.Heartbeat.FailedMember;
import io.leasefs.common.api.Heartbeat.LeaseName;
import io.leasefs.common.api.Heartbeat.ReplicaReport;
import io.leasefs.common.api.Heartbeat.ReplicaState;
import io.leasefs.common.api.Heartbeat.SealAnswer;
import io.leasefs.common.api.Heartbeat.SettledCommand;
import io.leasefs.common.api.Heartbeat.VersionStarted;
import io.leasefs.common.model.ChunkHandle;
import io.leasefs.common.model.ChunkSeal;
import io.leasefs.common.model.EventKind;
import io.leasefs.common.model.Member;
import io.leasefs.common.model.ReplicaId;
import io.leasefs.common.model.ServerId;
import io.leasefs.common.model.SessionId;
import io.leasefs.master.cluster.ServerRegistry.Server;
import io.leasefs.master.lease.LeaseTable;
import io.leasefs.master.lease.Reconfiguration;
import io.leasefs.master.lease.Reconfiguration.Plan;
import io.leasefs.master.lease.Reconfiguration.Settings;
import io.leasefs.master.lease.Reconfiguration.Waiting;
import io.leasefs.master.log.Operation;
import io.leasefs.master.log.Operation.AbandonChange;
import io.leasefs.master.log.Operation.BeginChange;
import io.leasefs.master.log.Operation.ChangeReason;
import io.leasefs.master.log.Operation.EndLeases;
import io.leasefs.master.log.Operation.ExpireRevocation;
import io.leasefs.master.log.Operation.LeaseId;
import io.leasefs.master.log.Operation.Participant;
import io.leasefs.master.log.Operation.RecoverChange;
import io.leasefs.master.log.Operation.SealChunk;
import io.leasefs.master.log.Operation.Seed;
import io.leasefs.master.log.OperationResult.Rejected;
import io.leasefs.master.state.ChunkEntry;
import io.leasefs.master.state.ChunkEntry.Learner;
import io.leasefs.master.state.ChunkEntry.Lease;
import io.leasefs.master.state.ChunkEntry.Pending;
import io.leasefs.master.state.FileEntry;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * All chunks on the move: begins changes, feeds replicas' answers to each {@link Reconfiguration},
 * proposes what it plans, and keeps the lease table equal to the log. Works on levels, not edges:
 * {@link #sync} brings one chunk's soft state up to what the log says of it, whatever happened.
 * Tasks of the control loop only.
 */
final class ChangeDesk {
  private static final Logger logger = LoggerFactory.getLogger(ChangeDesk.class);

  /** How long before a silent holder's end its chunks' change begins: steps 1-4 fit in. */
  static final long LEAD_NANOS = 500_000_000;

  /** How far a learner may be behind to join. */
  static final long JOINING_BYTES = 4L << 20;

  private static final long PAUSE_NANOS = 50_000_000;

  private static final long UNAVAILABLE_NANOS = 1_000_000_000;

  private static final int SETTLED_SENDS = 3;

  /** Why a change was asked for, until it is begun. */
  private record Wanted(ChangeReason reason, boolean revoke, boolean seal, Set<ServerId> blamed) {}

  private final Soft soft;
  private final Consumer<ChunkHandle> changed;
  private final Map<ChunkHandle, Reconfiguration> moving = new TreeMap<>();
  private final Map<ChunkHandle, Waiting> waiting = new TreeMap<>();

  /** The log's lease as the lease table has it. */
  private final Map<ChunkHandle, Lease> known = new TreeMap<>();

  /** Chunks with an entry under way that changes them. */
  private final Set<ChunkHandle> proposed = new TreeSet<>();

  /** Chunks with an entry under way that ends their lease. */
  private final Set<ChunkHandle> ending = new TreeSet<>();

  /** Chunks whose last entry was refused: nothing is proposed before this instant. */
  private final Map<ChunkHandle, Long> pausedUntil = new TreeMap<>();

  private final LinkedHashMap<ChunkHandle, Wanted> wanted = new LinkedHashMap<>();

  /** Members that a primary blames, by chunk, for the active version named. */
  private final Map<ChunkHandle, Blame> blames = new TreeMap<>();

  private static final class Blame {
    final long version;
    final Set<ServerId> members = new TreeSet<>();

    Blame(long version) {
      this.version = version;
    }
  }

  /** Learners that the last seed's journal has left behind: they are to be made anew. */
  private final Map<ChunkHandle, Set<Member>> leftBehind = new TreeMap<>();

  /** Chunks whose lack of servers was told, by the version that lacks them. */
  private final Map<ChunkHandle, Long> unavailable = new TreeMap<>();

  /** Tokens that openings wait for: nothing smaller is to be taken by the chunk's primary. */
  private final Map<ChunkHandle, Long> fencing = new TreeMap<>();

  /** The file's fence floor when the change under way began: its version start carries no less. */
  private final Map<ChunkHandle, Long> carried = new TreeMap<>();

  /** The fence that the active version has at least; only of changes that this leader began. */
  private final Map<ChunkHandle, Long> fences = new TreeMap<>();

  private long nextLook = Long.MAX_VALUE;

  /** Evidence of writers that a primary does not answer. */
  private final Map<ChunkHandle, Long> silentFor = new TreeMap<>();

  /**
   * @param changed told of every chunk whose record was looked at anew
   */
  ChangeDesk(Soft soft, Consumer<ChunkHandle> changed) {
    this.soft = soft;
    this.changed = changed;
  }

  void clear() {
    moving.clear();
    waiting.clear();
    known.clear();
    proposed.clear();
    ending.clear();
    pausedUntil.clear();
    unavailable.clear();
    wanted.clear();
    blames.clear();
    leftBehind.clear();
    silentFor.clear();
    fencing.clear();
    carried.clear();
    fences.clear();
    soft.leaseCounts.clear();
  }

  /** A new leader: everything that the log has under way is taken up. */
  void lead() {
    Set<ChunkHandle> chunks = new TreeSet<>();
    soft.read(
        view -> {
          chunks.addAll(view.leases());
          chunks.addAll(view.pendingChanges());
          return chunks;
        });
    for (ChunkHandle chunk : chunks) {
      ChunkEntry entry = entry(chunk);
      if (entry != null) {
        syncLease(entry, true);
        syncMoving(entry);
      }
    }
  }

  /** Whatever the log has and this leader does not know of, or the other way round. */
  void lookAtAll() {
    Set<ChunkHandle> chunks = new TreeSet<>(known.keySet());
    chunks.addAll(moving.keySet());
    soft.read(
        view -> {
          chunks.addAll(view.leases());
          chunks.addAll(view.pendingChanges());
          return chunks;
        });
    chunks.forEach(this::sync);
  }

  // ------------------------------------------------------------------ asking for changes

  /**
   * Asks for a change. Nothing happens where one is under way already, but that an early seal or a
   * deletion takes the place of a change without a seal.
   */
  void want(
      ChunkHandle chunk, ChangeReason reason, boolean revoke, boolean seal, Set<ServerId> blamed) {
    if (wanted.containsKey(chunk) && !seal) {
      return;
    }
    wanted.put(chunk, new Wanted(reason, revoke, seal, blamed));
    pumpWanted();
  }

  /** The chunk is to be used and has no primary: it gets one. */
  void needPrimary(ChunkHandle chunk) {
    ChunkEntry entry = entry(chunk);
    if (entry != null
        && entry.seal().isEmpty()
        && entry.lease().isEmpty()
        && entry.pending().isEmpty()) {
      want(chunk, ChangeReason.NO_PRIMARY, false, false, Set.of());
    }
  }

  /**
   * An opening with this token was logged: from some version on the chunk takes nothing smaller.
   * What is under way may have left before the token was known, so it does not count.
   */
  void fence(ChunkHandle chunk, long token) {
    fencing.merge(chunk, token, Math::max);
    ChunkEntry entry = entry(chunk);
    if (entry != null) {
      pumpFence(entry);
      pumpWanted();
    }
  }

  /** True where no frame with a smaller token can be taken any more. */
  boolean isFenced(ChunkEntry entry, long token) {
    return entry.seal().isPresent() || fences.getOrDefault(entry.handle(), 0L) >= token;
  }

  private void pumpFence(ChunkEntry entry) {
    Long token = fencing.get(entry.handle());
    if (token == null) {
      return;
    }
    if (isFenced(entry, token)) {
      fencing.remove(entry.handle());
    } else if (entry.pending().isEmpty()) {
      wanted.putIfAbsent(entry.handle(), new Wanted(ChangeReason.FENCE, false, false, Set.of()));
    }
  }

  private void pumpWanted() {
    for (ChunkHandle chunk : List.copyOf(wanted.keySet())) {
      Wanted asked = wanted.get(chunk);
      ChunkEntry entry = entry(chunk);
      if (asked == null || entry == null) {
        wanted.remove(chunk);
        continue;
      }
      if (proposed.contains(chunk) || isPaused(chunk) || tooManyMoving(entry)) {
        continue;
      }
      wanted.remove(chunk);
      boolean sealed = entry.seal().isPresent();
      boolean superseded =
          entry.pending().isPresent() && (!asked.seal || entry.pending().get().seal());
      if (superseded || (sealed && asked.reason != ChangeReason.REOPEN)) {
        continue;
      }
      boolean revoke = asked.revoke && entry.lease().isPresent() && !entry.lease().get().revoked();
      long fence = settings(entry).fenceFloor();
      propose(
          chunk,
          new BeginChange(
              chunk, entry.lastVersion() + 1, asked.reason, revoke, asked.seal, Optional.empty()),
          () -> {
            carried.put(chunk, fence);
            begun(chunk, asked);
          });
    }
  }

  private void begun(ChunkHandle chunk, Wanted asked) {
    ChunkEntry entry = entry(chunk);
    if (entry == null || entry.pending().isEmpty()) {
      return;
    }
    syncMoving(entry);
    Reconfiguration change = moving.get(chunk);
    if (change != null) {
      asked.blamed.forEach(change::blame);
      step(entry);
    }
  }

  private boolean tooManyMoving(ChunkEntry entry) {
    if (moving.size() < ControlSettings.MOVES_PER_SERVER) {
      return false;
    }
    Map<ServerId, Integer> moves = new TreeMap<>();
    for (ChunkHandle chunk : moving.keySet()) {
      ChunkEntry other = entry(chunk);
      if (other != null && !chunk.equals(entry.handle()) && !waitsForReplicas(other)) {
        for (Member member : other.active().members()) {
          moves.merge(member.server(), 1, Integer::sum);
        }
      }
    }
    for (Member member : entry.active().members()) {
      if (moves.getOrDefault(member.server(), 0) >= ControlSettings.MOVES_PER_SERVER) {
        return true;
      }
    }
    return false;
  }

  /** A change that cannot go on until servers return takes nobody's place. */
  boolean waitsForReplicas(ChunkEntry entry) {
    Waiting on = waiting.get(entry.handle());
    return on != null && on.untilNanos() == Long.MAX_VALUE;
  }

  // ------------------------------------------------------------------ what servers tell

  void sealAnswered(ServerId server, long incarnation, SealAnswer answer) {
    Reconfiguration change = moving.get(answer.chunk());
    ChunkEntry entry = entry(answer.chunk());
    if (entry == null || entry.pending().isEmpty()) {
      return;
    }
    if (change != null && change.sealed(server, incarnation, answer)) {
      step(entry);
      return;
    }
    if (answer.promised() > entry.lastVersion()) {
      logger.warn(
          "promise above the log chunk={} server={} promised={} last={}",
          answer.chunk(),
          server,
          answer.promised(),
          entry.lastVersion());
    }
  }

  void versionStarted(ServerId server, long incarnation, VersionStarted start) {
    Reconfiguration change = moving.get(start.chunk());
    if (change != null && change.started(server, incarnation, start)) {
      ChunkEntry entry = entry(start.chunk());
      if (entry != null) {
        step(entry);
      }
    }
  }

  /** A chain is broken, as one of its members sees it; or a seed cannot bring up a target. */
  void memberFailed(ServerId reporter, FailedMember failed) {
    ChunkEntry entry = entry(failed.chunk());
    if (entry != null && entry.pending().filter(p -> p.version() == failed.version()).isPresent()) {
      targetFailed(entry, entry.pending().get(), reporter, failed);
      return;
    }
    if (entry == null
        || entry.active().version() != failed.version()
        || entry.seal().isPresent()
        || entry.active().memberAt(failed.member()).isEmpty()) {
      return;
    }
    Reconfiguration change = moving.get(failed.chunk());
    if (change != null) {
      change.blame(failed.member());
      step(entry);
      return;
    }
    boolean byPrimary =
        entry.lease().isPresent()
            && entry.lease().get().server().equals(reporter)
            && !entry.lease().get().revoked();
    if (!byPrimary) {
      if (entry.lease().isPresent() && entry.lease().get().server().equals(failed.member())) {
        noteSilence(entry, true);
      }
      return;
    }
    Blame blame = blames.get(failed.chunk());
    if (blame == null || blame.version != failed.version()) {
      blame = new Blame(failed.version());
      blames.put(failed.chunk(), blame);
    }
    blame.members.add(failed.member());
    replaceFailed(entry, blame.members);
  }

  /** Only this version's seed can know, and only of those that it was told to bring up. */
  private void targetFailed(
      ChunkEntry entry, Pending pending, ServerId reporter, FailedMember failed) {
    Reconfiguration change = moving.get(failed.chunk());
    if (change == null
        || change.version() != failed.version()
        || !pending.seed().map(Seed::server).equals(Optional.of(reporter))) {
      return;
    }
    for (Participant target : pending.targets()) {
      if (target.member().server().equals(failed.member())) {
        logger.info(
            "target failed chunk={} version={} seed={} target={} failure={} why=\"{}\"",
            failed.chunk(),
            failed.version(),
            reporter,
            failed.member(),
            failed.failure(),
            failed.why());
        change.targetFailed(reporter, target.member(), failed.failure());
        step(entry);
        return;
      }
    }
  }

  /**
   * The same primary goes on without them, as soon as that leaves enough copies. Until then writes
   * wait and reads go on. A primary that blames all while the master hears them is itself moved.
   */
  private void replaceFailed(ChunkEntry entry, Set<ServerId> failed) {
    Settings settings = settings(entry);
    int standing = 0;
    int heard = 0;
    for (Member member : entry.active().members()) {
      boolean reachable = !soft.suspect(member.server());
      if (reachable && !failed.contains(member.server())) {
        standing++;
      }
      if (reachable) {
        heard++;
      }
    }
    int withLearners = standing + settings.caughtUp().size();
    if (withLearners >= settings.minReplicas()) {
      want(entry.handle(), ChangeReason.MEMBER_FAILED, false, false, Set.copyOf(failed));
    } else if (heard >= settings.minReplicas()) {
      // they are there and may be sealed; the seed, whoever it is, must reach enough of them
      boolean blamesAll = standing <= 1 && entry.active().members().size() > 2;
      want(
          entry.handle(),
          blamesAll ? ChangeReason.HAND_OVER : ChangeReason.MEMBER_FAILED,
          blamesAll,
          false,
          Set.of());
    }
  }

  /** A writer that appends cannot reach the primary of this version. */
  void writerSilent(ChunkHandle chunk, long version, boolean connectionReset) {
    ChunkEntry entry = entry(chunk);
    if (entry == null || entry.active().version() != version || entry.lease().isEmpty()) {
      needPrimary(chunk);
      return;
    }
    silentFor.put(chunk, version);
    noteSilence(entry, connectionReset && soft.suspect(entry.lease().get().server()));
  }

  /** Early seal: the writer's evidence, and that of a member or of the master itself. */
  private void noteSilence(ChunkEntry entry, boolean second) {
    Long version = silentFor.get(entry.handle());
    if (version == null || version != entry.active().version() || entry.lease().isEmpty()) {
      return;
    }
    ServerId holder = entry.lease().get().server();
    if (second || soft.suspect(holder)) {
      want(entry.handle(), ChangeReason.EARLY_SEAL, true, true, Set.of(holder));
    }
  }

  /** The holder gave these back: they end in the log. What the log does not have is no news. */
  void givenBack(ServerId server, Server known, List<LeaseName> names, boolean revoked) {
    if (known.session().isEmpty()) {
      return;
    }
    SessionId session = known.session().get();
    List<LeaseId> ended = new ArrayList<>();
    for (LeaseName name : names) {
      ChunkEntry entry = entry(name.chunk());
      boolean logged =
          entry != null
              && entry.lease().isPresent()
              && entry.lease().get().session().equals(session)
              && entry.lease().get().version() == name.version();
      if (!logged) {
        soft.leases.gone(session, name);
        continue;
      }
      if (soft.leases.isGivenBack(name)) {
        continue;
      }
      soft.leases.givenBack(session, name);
      ended.add(new LeaseId(name.chunk(), name.version(), session));
      soft.event(
          revoked ? EventKind.LEASE_REVOKED : EventKind.LEASE_RELEASED,
          Optional.of(server),
          Optional.of(name.chunk()),
          name.version(),
          Map.of());
    }
    endLeases(server, ended);
  }

  /** Leases that were given back while their entry got lost: proposed again. */
  private void endGivenBack() {
    for (Map.Entry<ChunkHandle, Lease> one : new TreeMap<>(known).entrySet()) {
      Lease lease = one.getValue();
      if (soft.leases.isGivenBack(new LeaseName(one.getKey(), lease.version()))
          && !ending.contains(one.getKey())) {
        endLeases(
            lease.server(), List.of(new LeaseId(one.getKey(), lease.version(), lease.session())));
      }
    }
  }

  private void endLeases(ServerId server, List<LeaseId> ended) {
    if (ended.isEmpty()) {
      return;
    }
    ended.forEach(lease -> ending.add(lease.chunk()));
    soft.propose(
        new EndLeases(ended),
        (committed, failure) -> {
          for (LeaseId lease : ended) {
            ending.remove(lease.chunk());
            sync(lease.chunk());
            handOver(lease.chunk(), server);
          }
        });
  }

  /** A server that is being emptied has given a lease back: somebody else is to have it. */
  private void handOver(ChunkHandle chunk, ServerId server) {
    ChunkEntry entry = entry(chunk);
    if (soft.draining(server)
        && entry != null
        && entry.lease().isEmpty()
        && entry.seal().isEmpty()
        && entry.pending().isEmpty()) {
      want(chunk, ChangeReason.HAND_OVER, false, false, Set.of());
    }
  }

  /** Leases of the log that their holder does not have and this leader never told it of (E3). */
  void neverHeld(ServerId server, List<LeaseTable.Lease> never) {
    List<LeaseId> ended = new ArrayList<>();
    for (LeaseTable.Lease lease : never) {
      ended.add(new LeaseId(lease.chunk(), lease.version(), lease.session()));
      logger.info(
          "lease was never held chunk={} version={} server={}",
          lease.chunk(),
          lease.version(),
          server);
    }
    endLeases(server, ended);
  }

  /**
   * A report may show a committed seal of the active version; or a member that has all of it, and
   * does not know that it is committed: it was not there when that was told.
   */
  void reported(ServerId server, ReplicaReport report) {
    ChunkEntry entry = entry(report.spec().handle());
    if (entry == null
        || report.accepted() != entry.active().version()
        || !entry
            .active()
            .memberAt(server)
            .map(Member::replica)
            .equals(Optional.of(report.replica()))) {
      return;
    }
    boolean good = report.state() == ReplicaState.SEALED || report.state() == ReplicaState.OPEN;
    // What is active was committed; a seal was, too.
    long committed = entry.committedSerial();
    if (good && report.committedSerial() < committed) {
      settle(entry, server, committed);
    }
    // A seal below the version start is the one that this version has opened again.
    if (entry.seal().isEmpty()
        && report.state() == ReplicaState.SEALED
        && report.seal().isPresent()
        && report.seal().get().serial() > entry.active().firstSerial()
        && report.committedSerial() >= report.seal().get().serial()) {
      logSeal(entry, report.seal().get());
    }
  }

  /** A copy that had no room on its disk, and so counted as damaged, goes on. */
  void mended(ServerId server, ReplicaReport report) {
    Reconfiguration change = moving.get(report.spec().handle());
    ChunkEntry entry = entry(report.spec().handle());
    if (change != null
        && entry != null
        && report.state() != ReplicaState.DAMAGED
        && change.mended(server, report.replica())) {
      step(entry);
    }
  }

  /** What a server told of a seal while another entry was under way is looked at again. */
  private void adoptReportedSeal(ChunkEntry entry) {
    if (entry.seal().isEmpty() && !proposed.contains(entry.handle()) && !isPaused(entry.handle())) {
      soft.replicas.of(entry.handle()).forEach(this::reported);
    }
  }

  /** A committed seal of the active version becomes known. */
  void logSeal(ChunkEntry entry, ChunkSeal seal) {
    propose(
        entry.handle(),
        new SealChunk(
            entry.handle(),
            entry.active().version(),
            seal,
            List.of(),
            0,
            settings(entry).minReplicas(),
            soft.clock.wallMillis()),
        () -> {});
  }

  // ------------------------------------------------------------------ levels

  /** Brings everything that hangs on a chunk up to what the log says of it. */
  void sync(ChunkHandle chunk) {
    ChunkEntry entry = entry(chunk);
    if (entry == null) {
      forget(chunk);
    } else {
      syncLease(entry, false);
      syncMoving(entry);
      step(entry);
      adoptReportedSeal(entry);
      if (entry.learners().isEmpty()) {
        leftBehind.remove(chunk);
        soft.outbox.replace(chunk, Outbox.Slot.COPY, Map.of());
      }
      pumpFence(entry);
    }
    changed.accept(chunk);
    pumpWanted();
  }

  private void forget(ChunkHandle chunk) {
    dropLease(known.remove(chunk), chunk, true);
    moving.remove(chunk);
    waiting.remove(chunk);
    wanted.remove(chunk);
    blames.remove(chunk);
    leftBehind.remove(chunk);
    silentFor.remove(chunk);
    fencing.remove(chunk);
    carried.remove(chunk);
    fences.remove(chunk);
    soft.outbox.replace(chunk, Outbox.Slot.CHANGE, Map.of());
    soft.outbox.replace(chunk, Outbox.Slot.HOLDER, Map.of());
    soft.outbox.replace(chunk, Outbox.Slot.COPY, Map.of());
  }

  private void syncLease(ChunkEntry entry, boolean byPredecessor) {
    ChunkHandle chunk = entry.handle();
    Lease before = known.get(chunk);
    Lease now = entry.lease().orElse(null);
    if (now == null ? before == null : now.equals(before)) {
      return;
    }
    if (before != null && (now == null || !now.session().equals(before.session()))) {
      if (now == null && entry.seal().isPresent() && !byPredecessor) {
        endedBySeal(entry, before, entry.seal().get());
      }
      dropLease(known.remove(chunk), chunk, entry.seal().isPresent());
      soft.outbox.replace(chunk, Outbox.Slot.HOLDER, Map.of());
      before = null;
    }
    if (now == null) {
      return;
    }
    if (before == null) {
      soft.leaseCounts.merge(now.server(), 1, Integer::sum);
    }
    known.put(chunk, now);
    LeaseTable.Lease lease = new LeaseTable.Lease(chunk, now.version(), now.token(), now.session());
    if (now.revoked()) {
      soft.leases.revoked(lease, byPredecessor);
    } else {
      soft.leases.granted(lease);
      boolean granted = before == null || before.version() != now.version();
      if (granted && !byPredecessor) {
        soft.event(
            EventKind.LEASE_GRANTED,
            Optional.of(now.server()),
            Optional.of(chunk),
            now.version(),
            Map.of("token", Long.toString(now.token())));
      }
    }
  }

  /** The last writer has closed; a seal by a change of version tells of itself. */
  private void endedBySeal(ChunkEntry entry, Lease lease, ChunkSeal seal) {
    if (entry.active().version() == lease.version()) {
      soft.event(
          EventKind.CHUNK_SEALED,
          Optional.of(lease.server()),
          Optional.of(entry.handle()),
          lease.version(),
          Map.of("lengthBytes", Long.toString(seal.lengthBytes())));
      // A change that this seal has dropped may have ended the chain before all had heard of it.
      for (Member member : entry.active().members()) {
        settle(entry, member.server(), seal.serial());
      }
    }
  }

  private void dropLease(@Nullable Lease lease, ChunkHandle chunk, boolean sealed) {
    if (lease != null) {
      if (sealed) {
        soft.leases.sealed(
            new LeaseTable.Lease(chunk, lease.version(), lease.token(), lease.session()));
      } else {
        soft.leases.gone(lease.session(), new LeaseName(chunk, lease.version()));
      }
      soft.leaseCounts.merge(lease.server(), -1, Integer::sum);
    }
  }

  private void syncMoving(ChunkEntry entry) {
    ChunkHandle chunk = entry.handle();
    Reconfiguration change = moving.get(chunk);
    if (entry.pending().isEmpty()) {
      if (change != null) {
        moving.remove(chunk);
        waiting.remove(chunk);
        unavailable.remove(chunk);
        rememberLeftBehind(entry, change);
        soft.outbox.replace(chunk, Outbox.Slot.CHANGE, Map.of());
        finished(entry, change);
      }
      return;
    }
    long version = entry.pending().get().version();
    if (change == null || change.version() != version) {
      long now = soft.clock.nanos();
      moving.put(
          chunk,
          change == null
              ? new Reconfiguration(version, Set.of(), now)
              : new Reconfiguration(version, change, now));
      waiting.remove(chunk);
      soft.event(
          EventKind.CHANGE_BEGUN,
          Optional.empty(),
          Optional.of(chunk),
          version,
          Map.of("reason", entry.pending().get().reason().name()));
    }
  }

  /** The change has ended without them, and the next one would, too. */
  private void rememberLeftBehind(ChunkEntry entry, Reconfiguration change) {
    for (Learner learner : entry.learners()) {
      if (change.needsCopy(learner.member())) {
        leftBehind
            .computeIfAbsent(entry.handle(), chunk -> new LinkedHashSet<>())
            .add(learner.member());
      }
    }
  }

  private void finished(ChunkEntry entry, Reconfiguration change) {
    ChunkHandle chunk = entry.handle();
    blames.remove(chunk);
    Long fence = carried.remove(chunk);
    if (entry.active().version() != change.version()) {
      return;
    }
    if (fence != null) {
      fences.merge(chunk, fence, Math::max);
    }
    long took = soft.clock.nanos() - change.begunNanos();
    long serial = entry.active().firstSerial();
    if (entry.seal().isPresent()) {
      silentFor.remove(chunk);
      serial = Math.max(serial, entry.seal().get().serial());
      soft.event(
          EventKind.CHUNK_SEALED,
          Optional.empty(),
          Optional.of(chunk),
          change.version(),
          Map.of(
              "lengthBytes",
              Long.toString(entry.seal().get().lengthBytes()),
              "tookNanos",
              Long.toString(took)));
    } else {
      soft.event(
          EventKind.CHANGE_ACTIVATED,
          entry.active().primary(),
          Optional.of(chunk),
          change.version(),
          Map.of(
              "tookNanos",
              Long.toString(took),
              "members",
              entry.active().members().stream()
                  .map(member -> member.server().name())
                  .reduce((a, b) -> a + " " + b)
                  .orElse("")));
    }
    for (Member member : entry.active().members()) {
      settle(entry, member.server(), serial);
    }
  }

  /** A member has not told that it knows how far its version is committed. */
  void settleAgain(ChunkEntry entry, ServerId server) {
    settle(entry, server, entry.committedSerial());
  }

  private void settle(ChunkEntry entry, ServerId server, long serial) {
    soft.outbox.put(
        server,
        Outbox.Slot.SETTLED,
        new SettledCommand(entry.handle(), entry.active().version(), serial),
        SETTLED_SENDS);
  }

  /** Asks a change what is to be done now, and does it. */
  private void step(ChunkEntry entry) {
    ChunkHandle chunk = entry.handle();
    Reconfiguration change = moving.get(chunk);
    if (change == null || entry.pending().isEmpty() || proposed.contains(chunk)) {
      return;
    }
    if (entry.pending().get().version() != change.version()) {
      return;
    }
    Plan plan = change.plan(entry, soft, settings(entry), soft.clock.nanos());
    soft.outbox.replace(chunk, Outbox.Slot.CHANGE, plan.commands());
    if (plan.waiting().isPresent()) {
      waiting.put(chunk, plan.waiting().get());
    } else {
      waiting.remove(chunk);
    }
    if (isPaused(chunk)) {
      return;
    }
    if (plan.proposal().isPresent()) {
      Operation operation = withWallTime(plan.proposal().get());
      propose(chunk, operation, () -> recovering(operation));
    }
  }

  private void recovering(Operation operation) {
    if (operation instanceof RecoverChange recover) {
      soft.event(
          EventKind.CHANGE_RECOVERING,
          Optional.of(recover.seed().server()),
          Optional.of(recover.chunk()),
          recover.version(),
          Map.of("targets", Integer.toString(recover.targets().size())));
    }
  }

  private Operation withWallTime(Operation operation) {
    return operation instanceof SealChunk seal
        ? new SealChunk(
            seal.chunk(),
            seal.version(),
            seal.seal(),
            seal.members(),
            seal.firstSerial(),
            seal.minReplicas(),
            soft.clock.wallMillis())
        : operation;
  }

  /** One entry at a time per chunk; afterwards the chunk is looked at anew. */
  private void propose(ChunkHandle chunk, Operation operation, Runnable applied) {
    if (!proposed.add(chunk)) {
      return;
    }
    soft.propose(
        operation,
        (committed, failure) -> {
          proposed.remove(chunk);
          if (failure != null) {
            logger.warn(
                "not logged chunk={} op={} reason={}", chunk, operation, failure.toString());
          } else if (committed != null && committed.result() instanceof Rejected rejected) {
            logger.info("rejected chunk={} op={} reason={}", chunk, operation, rejected.message());
          } else {
            applied.run();
            sync(chunk);
            return;
          }
          // what it was decided on is out of date: look again, but not at once and for ever
          pausedUntil.put(chunk, soft.clock.nanos() + PAUSE_NANOS);
          soft.servers.syncAll(soft.read(view -> view.servers()), soft.clock.nanos());
          sync(chunk);
        });
  }

  private boolean isPaused(ChunkHandle chunk) {
    Long until = pausedUntil.get(chunk);
    return until != null && soft.clock.nanos() < until;
  }

  /** Re-plans what moves at this server: its incarnation, stream or session changed. */
  void serverChanged(ServerId server) {
    for (ChunkHandle chunk : List.copyOf(moving.keySet())) {
      ChunkEntry entry = entry(chunk);
      if (entry != null && concerns(entry, server)) {
        step(entry);
      }
    }
  }

  private static boolean concerns(ChunkEntry entry, ServerId server) {
    return entry.active().memberAt(server).isPresent() || entry.learnerAt(server).isPresent();
  }

  /** The session has ended in the log: what it held needs another primary. */
  void sessionEnded(List<ChunkHandle> held, ServerId server) {
    for (ChunkHandle chunk : held) {
      sync(chunk);
      ChunkEntry entry = entry(chunk);
      if (entry != null
          && entry.seal().isEmpty()
          && entry.pending().isEmpty()
          && entry.lease().isEmpty()) {
        Set<ServerId> blamed = soft.suspect(server) ? Set.of(server) : Set.of();
        want(chunk, ChangeReason.PRIMARY_LOST, false, false, blamed);
      }
    }
    serverChanged(server);
  }

  /** When to look again at the latest, as of the last tick. */
  long nextLook() {
    return nextLook;
  }

  /** The version that the log's lease of this chunk has, or had when last looked at. */
  long leaseVersion(ChunkHandle chunk) {
    Lease lease = known.get(chunk);
    return lease == null ? 0 : lease.version();
  }

  /** Looks at everything whose time may have come. */
  void tick(long now) {
    long next = Long.MAX_VALUE;
    next = Math.min(next, beginForSilentHolders(now));
    for (ChunkHandle chunk : List.copyOf(moving.keySet())) {
      Waiting on = waiting.get(chunk);
      ChunkEntry entry = entry(chunk);
      if (entry == null) {
        forget(chunk);
        continue;
      }
      if (on == null || on.untilNanos() <= now || on.untilNanos() == Long.MAX_VALUE) {
        step(entry);
        on = waiting.get(chunk);
      }
      if (on != null) {
        next = Math.min(next, on.untilNanos());
        noteUnavailable(chunk, on, now);
        abandonReopening(entry, on, now);
      }
    }
    endGivenBack();
    for (Map.Entry<ChunkHandle, Blame> one : new TreeMap<>(blames).entrySet()) {
      ChunkEntry entry = entry(one.getKey());
      if (entry == null || entry.active().version() != one.getValue().version) {
        blames.remove(one.getKey());
      } else if (entry.pending().isEmpty() && !wanted.containsKey(one.getKey())) {
        replaceFailed(entry, one.getValue().members);
      }
    }
    for (Map.Entry<ChunkHandle, Long> pause : new TreeMap<>(pausedUntil).entrySet()) {
      if (pause.getValue() <= now) {
        pausedUntil.remove(pause.getKey());
        sync(pause.getKey());
      } else {
        next = Math.min(next, pause.getValue());
      }
    }
    next = Math.min(next, expireRevocations(now));
    for (ChunkHandle chunk : List.copyOf(silentFor.keySet())) {
      ChunkEntry entry = entry(chunk);
      Long version = silentFor.get(chunk);
      if (entry == null
          || version == null
          || entry.active().version() != version
          || entry.lease().isEmpty()) {
        silentFor.remove(chunk);
      } else {
        noteSilence(entry, false);
      }
    }
    pumpWanted();
    nextLook = next;
  }

  /** A change that has waited for servers for a second is worth an event, once. */
  private void noteUnavailable(ChunkHandle chunk, Waiting on, long now) {
    Reconfiguration change = moving.get(chunk);
    if (change != null
        && on.untilNanos() == Long.MAX_VALUE
        && now - change.begunNanos() >= UNAVAILABLE_NANOS
        && unavailable.put(chunk, change.version()) == null) {
      soft.event(
          EventKind.CHUNK_UNAVAILABLE,
          on.whom(),
          Optional.of(chunk),
          change.version(),
          Map.of("waitsFor", on.what()));
    }
  }

  /**
   * A reopening that waits, with a member that has no copy, keeps that member from being given up
   * and its server from taking another copy: both are done only while no change is under way.
   * Nobody has started its version, and nobody will, for it has no seed; what members have promised
   * binds them to nothing else. Writers ask again, and go on in a new chunk while too few copies
   * are at hand.
   */
  private void abandonReopening(ChunkEntry entry, Waiting on, long now) {
    Reconfiguration change = moving.get(entry.handle());
    Pending pending = entry.pending().orElse(null);
    if (change != null
        && pending != null
        && pending.version() == change.version()
        && pending.reason() == ChangeReason.REOPEN
        && pending.seed().isEmpty()
        && on.untilNanos() == Long.MAX_VALUE
        && now - change.begunNanos() >= UNAVAILABLE_NANOS
        && entry.active().members().stream()
            .anyMatch(member -> change.lacks(member, soft) && !change.needsCopy(member))
        && !isPaused(entry.handle())) {
      logger.info(
          "reopening abandoned chunk={} version={} why=\"waits for {}\"",
          entry.handle(),
          change.version(),
          on.what());
      propose(entry.handle(), new AbandonChange(entry.handle(), change.version()), () -> {});
    }
  }

  /** A deleted file's sealed chunk is not opened again. */
  void abandon(ChunkEntry entry) {
    if (entry.pending().isPresent() && !isPaused(entry.handle())) {
      propose(
          entry.handle(),
          new AbandonChange(entry.handle(), entry.pending().get().version()),
          () -> {});
    }
  }

  /**
   * Whether so many members of a sealed chunk seem to be there that it can be reopened. What one
   * has not told yet counts for it: its seal may be a moment old.
   */
  boolean canBeReopened(ChunkEntry entry) {
    int atHand = 0;
    for (Member member : entry.active().members()) {
      boolean bad =
          soft.replicas
              .find(entry.handle(), member.server())
              .filter(
                  report ->
                      !report.replica().equals(member.replica())
                          || report.state() == ReplicaState.DAMAGED)
              .isPresent();
      if (!bad && !soft.suspect(member.server())) {
        atHand++;
      }
    }
    return atHand >= settings(entry).minReplicas();
  }

  /** Whether changes are under way that must be looked at often. */
  boolean isBusy() {
    return !moving.isEmpty() || !silentFor.isEmpty() || !pausedUntil.isEmpty() || !blames.isEmpty();
  }

  private long beginForSilentHolders(long now) {
    long next = Long.MAX_VALUE;
    for (Map.Entry<ChunkHandle, Lease> one : known.entrySet()) {
      Lease lease = one.getValue();
      if (lease.revoked() || !soft.leases.knows(lease.session())) {
        continue;
      }
      long begin = soft.leases.endOf(lease.session()) - LEAD_NANOS;
      if (now < begin) {
        next = Math.min(next, begin);
      } else if (!moving.containsKey(one.getKey()) && !wanted.containsKey(one.getKey())) {
        want(one.getKey(), ChangeReason.PRIMARY_LOST, true, false, Set.of(lease.server()));
      }
    }
    return next;
  }

  private long expireRevocations(long now) {
    long next = Long.MAX_VALUE;
    for (Map.Entry<ChunkHandle, Lease> one : new TreeMap<>(known).entrySet()) {
      Lease lease = one.getValue();
      if (!lease.revoked()
          || ending.contains(one.getKey()) // acknowledged: its end is on its way into the log
          || proposed.contains(one.getKey())
          || isPaused(one.getKey())) {
        continue;
      }
      Optional<Long> gate =
          soft.leases.gate(
              new LeaseTable.Lease(one.getKey(), lease.version(), lease.token(), lease.session()));
      if (gate.isEmpty()) {
        continue;
      }
      if (now < gate.get()) {
        next = Math.min(next, gate.get());
        continue;
      }
      propose(
          one.getKey(),
          new ExpireRevocation(
              soft.role.term(), new LeaseId(one.getKey(), lease.version(), lease.session())),
          () ->
              soft.event(
                  EventKind.LEASE_EXPIRED,
                  Optional.of(lease.server()),
                  Optional.of(one.getKey()),
                  lease.version(),
                  Map.of()));
    }
    return next;
  }

  // ------------------------------------------------------------------ questions

  Optional<Reconfiguration> moving(ChunkHandle chunk) {
    return Optional.ofNullable(moving.get(chunk));
  }

  Optional<Waiting> waiting(ChunkHandle chunk) {
    return Optional.ofNullable(waiting.get(chunk));
  }

  /** True where the member has answered the change under way that it has no good copy. */
  boolean lacks(ChunkHandle chunk, Member member) {
    Reconfiguration change = moving.get(chunk);
    return change != null && change.lacks(member, soft);
  }

  /** True where the member's copy can be of no use to the change under way. */
  boolean isLost(ChunkHandle chunk, Member member) {
    Reconfiguration change = moving.get(chunk);
    return change != null && change.isLost(member, soft);
  }

  /** True where a seed has said that it cannot bring this copy up: it must be made anew. */
  boolean needsCopy(ChunkHandle chunk, Member member) {
    Reconfiguration change = moving.get(chunk);
    return (change != null && change.needsCopy(member))
        || leftBehind.getOrDefault(chunk, Set.of()).contains(member);
  }

  /**
   * The member that has all that was ever acknowledged, where the change under way waits for enough
   * others to go on with it. No replica is a target of that change then, for no seed is named.
   */
  Optional<Member> loneSeed(ChunkEntry entry) {
    Reconfiguration change = moving.get(entry.handle());
    return change != null
            && entry.pending().isPresent()
            && entry.pending().get().version() == change.version()
            && entry.pending().get().seed().isEmpty()
        ? change.loneSeed().flatMap(entry.active()::memberAt)
        : Optional.empty();
  }

  boolean isProposed(ChunkHandle chunk) {
    return proposed.contains(chunk);
  }

  /** Members that the primary of the active version blames. */
  Set<ServerId> blamed(ChunkEntry entry) {
    Blame blame = blames.get(entry.handle());
    return blame != null && blame.version == entry.active().version()
        ? Set.copyOf(blame.members)
        : Set.of();
  }

  Settings settings(ChunkEntry entry) {
    Optional<FileEntry> file = soft.read(view -> view.file(entry.spec().file()));
    int goal = file.map(FileEntry::replication).orElse(1);
    long floor = file.map(FileEntry::fenceFloor).orElse(0L);
    Set<ReplicaId> caughtUp = new TreeSet<>();
    for (Learner learner : entry.learners()) {
      if (isCaughtUp(entry, learner)) {
        caughtUp.add(learner.member().replica());
      }
    }
    return new Settings(
        endsForGood(entry, file) ? 1 : ControlSettings.minReplicas(goal), goal, floor, caughtUp);
  }

  /**
   * A deleted file's chunk is being sealed, and then dropped: nobody makes more copies of it for
   * that, and the one that seals it is enough.
   */
  private static boolean endsForGood(ChunkEntry entry, Optional<FileEntry> file) {
    return file.filter(deleted -> deleted.place() == FileEntry.Place.DOOMED).isPresent()
        && entry.pending().filter(Pending::seal).isPresent();
  }

  /**
   * Less than 4 MiB behind the longest copy that was reported. It may call itself open or sealed:
   * it took a version start, but was heard of too late to be in that version. The next seed brings
   * it to its own history, as any target.
   */
  private boolean isCaughtUp(ChunkEntry entry, Learner learner) {
    Optional<ReplicaReport> mine = soft.replicas.find(entry.handle(), learner.member().server());
    if (mine.isEmpty()
        || mine.get().state() == ReplicaState.DAMAGED
        || !mine.get().replica().equals(learner.member().replica())
        || needsCopy(entry.handle(), learner.member())
        || soft.suspect(learner.member().server())) {
      return false;
    }
    long longest = 0;
    for (Member member : entry.active().members()) {
      longest =
          Math.max(
              longest,
              soft.replicas
                  .find(entry.handle(), member.server())
                  .map(ReplicaReport::lengthBytes)
                  .orElse(0L));
    }
    return mine.get().lengthBytes() + JOINING_BYTES > longest;
  }

  @Nullable ChunkEntry entry(ChunkHandle chunk) {
    return soft.read(view -> view.chunk(chunk)).orElse(null);
  }
}
