package io.leasefs.master.control;

import io.leasefs.common.api.AdminApi;
import io.leasefs.common.api.AdminApi.QuarantineReason;
import io.leasefs.common.api.AdminApi.QuarantinedCopy;
import io.leasefs.common.api.Heartbeat.Command;
import io.leasefs.common.api.Heartbeat.CopyCommand;
import io.leasefs.common.api.Heartbeat.DeleteCommand;
import io.leasefs.common.api.Heartbeat.ReplicaReport;
import io.leasefs.common.api.Heartbeat.ReplicaState;
import io.leasefs.common.api.MasterApi.Trashed;
import io.leasefs.common.model.ChunkHandle;
import io.leasefs.common.model.ClientId;
import io.leasefs.common.model.EventKind;
import io.leasefs.common.model.FileId;
import io.leasefs.common.model.Member;
import io.leasefs.common.model.ReplicaId;
import io.leasefs.common.model.ServerId;
import io.leasefs.master.cluster.ServerRegistry.Server;
import io.leasefs.master.log.Operation;
import io.leasefs.master.log.Operation.ChangeReason;
import io.leasefs.master.log.Operation.EmptyTrash;
import io.leasefs.master.log.Operation.ForgetClients;
import io.leasefs.master.log.Operation.JoinReplica;
import io.leasefs.master.log.Operation.OrderReplica;
import io.leasefs.master.log.Operation.Placement;
import io.leasefs.master.log.Operation.PurgeFiles;
import io.leasefs.master.log.Operation.RemoveReplica;
import io.leasefs.master.placement.PlacementPolicy;
import io.leasefs.master.placement.PlacementPolicy.Candidate;
import io.leasefs.master.repair.Quarantine;
import io.leasefs.master.repair.ReplicationPlanner;
import io.leasefs.master.repair.ReplicationPlanner.AddCopy;
import io.leasefs.master.repair.ReplicationPlanner.Copy;
import io.leasefs.master.repair.ReplicationPlanner.DropCopy;
import io.leasefs.master.repair.ReplicationPlanner.Facts;
import io.leasefs.master.repair.ReplicationPlanner.Health;
import io.leasefs.master.repair.ReplicationPlanner.LeaveOut;
import io.leasefs.master.repair.ReplicationPlanner.Step;
import io.leasefs.master.state.ChunkEntry;
import io.leasefs.master.state.ChunkEntry.Learner;
import io.leasefs.master.state.ChunkEntry.Pending;
import io.leasefs.master.state.ClientEntry;
import io.leasefs.master.state.FileEntry;
import io.leasefs.master.state.ServerEntry;
import io.leasefs.master.state.StateView;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * What is looked at once a second: chunks to close, copies to make or drop, servers to empty,
 * things to forget. Copies are neither made nor dropped before every living server has reported
 * what it has. Tasks of the control loop only.
 */
final class Upkeep {
  private static final Logger logger = LoggerFactory.getLogger(Upkeep.class);
  private static final long EVERY_NANOS = 1_000_000_000;

  /** Chunks looked at in one turn. */
  private static final int SCAN = 2_000;

  /** Copies under way at most: of the cluster, and into one server. */
  private static final int COPIES = 64;

  private static final int COPIES_INTO_SERVER = 4;

  /** An ordered copy that takes longer is given up. */
  private static final long COPY_NANOS = 600_000_000_000L;

  /** A client and its results are kept so long after its session's end. */
  private static final long FORGET_NANOS = 600_000_000_000L;

  /** Of so many purged chunks, the newest, it is known that they were. */
  private static final int PURGED = 100_000;

  private final Soft soft;
  private final ChangeDesk changes;
  private final ClientDesk clients;
  private final PlacementPolicy placement;
  private final ReplicationPlanner planner = new ReplicationPlanner();
  private final Set<ServerId> silent = new TreeSet<>();

  /** Since when a server has no session, as this leader saw it. */
  private final Map<ServerId, Long> awaySince = new TreeMap<>();

  /** Since when a client's session has ended, as this leader saw it. */
  private final Map<ClientId, Long> endedSince = new TreeMap<>();

  /** Since when each learner is on its way, as this leader saw it. */
  private final Map<ChunkHandle, Long> copyingSince = new TreeMap<>();

  /** Members that have not told of what they must have. */
  private final Map<CopyName, Lacking> lackingSince = new HashMap<>();

  /** The members of a birth have one replica id together: only with the server it names a copy. */
  private record CopyName(ChunkHandle chunk, Member member) {}

  /** Since when a member lacks this version, or its seal, as this leader saw it. */
  private record Lacking(long version, boolean sealed, long sinceNanos) {}

  private record Try(long nextNanos, long pauseNanos) {}

  /** When a learner of the chunk may be tried to be taken in again. */
  private final Map<ChunkHandle, Try> joins = new TreeMap<>();

  /** When a bad member of the open chunk may be tried to be left out again. */
  private final Map<ChunkHandle, Try> leaving = new TreeMap<>();

  private final Map<ChunkHandle, AddCopy> needed = new TreeMap<>();
  private final Set<ChunkHandle> ordering = new TreeSet<>();

  /** Since when a copy is there of a chunk that the log does not know, as this leader saw it. */
  private final Map<AdminApi.CopyName, Long> unknownSince = new HashMap<>();

  /** Chunks of files that this leader has purged: the log said that they are to go. */
  private final Set<ChunkHandle> purged = new LinkedHashSet<>();

  /** Servers that could take copies when this turn began. */
  private final Set<ServerId> roomy = new TreeSet<>();

  private ChunkHandle cursor = new ChunkHandle(0);

  /** The log once went on without a part that was lost. */
  private boolean raised;

  private long nextNanos;
  private boolean purging;

  Upkeep(Soft soft, ChangeDesk changes, ClientDesk clients, PlacementPolicy placement) {
    this.soft = soft;
    this.changes = changes;
    this.clients = clients;
    this.placement = placement;
  }

  void clear() {
    silent.clear();
    awaySince.clear();
    endedSince.clear();
    copyingSince.clear();
    needed.clear();
    joins.clear();
    leaving.clear();
    lackingSince.clear();
    ordering.clear();
    unknownSince.clear();
    purged.clear();
    roomy.clear();
    cursor = new ChunkHandle(0);
    nextNanos = 0;
    purging = false;
  }

  /** True where this is news. */
  boolean noteSilent(ServerId server, boolean now) {
    return now ? silent.add(server) : silent.remove(server);
  }

  /** Everything is looked at in the next turn. */
  void hurry() {
    nextNanos = 0;
  }

  void tick(long now) {
    if (now < nextNanos) {
      return;
    }
    nextNanos = now + EVERY_NANOS;
    clients.closeChunks();
    dropDoomed();
    noteAway(now);
    handOverDraining();
    forget(now);
    soft.outbox.dropGone(chunk -> changes.entry(chunk) == null);
    if (reportsIn()) {
      learners(now);
      scan(now);
      order(now);
    }
  }

  /** Every server that lives has told this leader what it has. */
  boolean reportsIn() {
    for (Server server : soft.servers.all()) {
      if (soft.session(server.id()).isPresent() && !server.reportedInFull()) {
        return false;
      }
    }
    return true;
  }

  // ------------------------------------------------------------------ servers

  private void noteAway(long now) {
    for (Server server : soft.servers.all()) {
      if (soft.session(server.id()).isPresent()) {
        awaySince.remove(server.id());
      } else {
        awaySince.putIfAbsent(server.id(), now);
      }
    }
  }

  /** Three times T without a session: its copies are made elsewhere. */
  private boolean isLost(ServerId server, long now) {
    if (soft.servers.find(server) == null) {
      return true;
    }
    Long since = awaySince.get(server);
    return since != null && now - since > 3 * soft.settings.terms().ttlNanos();
  }

  /**
   * Leases of a server that is to be emptied move to another member, each once nothing is pending.
   * The change begins before the lease is given back, so that what writers wait for is only what
   * cannot be done while the old primary still takes mutations.
   */
  private void handOverDraining() {
    for (Server server : soft.servers.all()) {
      if (!server.draining() || server.session().isEmpty()) {
        continue;
      }
      for (ChunkHandle chunk : soft.read(view -> view.leasesOf(server.session().get()))) {
        ChunkEntry entry = changes.entry(chunk);
        if (entry != null && entry.pending().isEmpty() && hasHeir(entry, server.id())) {
          changes.want(chunk, ChangeReason.HAND_OVER, true, false, Set.of());
        }
      }
    }
  }

  private boolean hasHeir(ChunkEntry entry, ServerId draining) {
    for (Member member : entry.active().members()) {
      if (!member.server().equals(draining)
          && !soft.suspect(member.server())
          && !soft.draining(member.server())) {
        return true;
      }
    }
    return false;
  }

  // ------------------------------------------------------------------ copies

  /** Learners: told whom to copy, and taken in when they have caught up. */
  private void learners(long now) {
    List<ChunkHandle> chunks = soft.read(view -> view.chunksWithLearners());
    copyingSince.keySet().retainAll(chunks);
    joins.keySet().retainAll(chunks);
    for (ChunkHandle chunk : chunks) {
      copyingSince.putIfAbsent(chunk, now);
      ChunkEntry entry = changes.entry(chunk);
      if (entry != null) {
        learners(entry);
      }
    }
  }

  /** Those of one chunk; whoever has nothing to copy, or nobody to copy from, is told no more. */
  private void learners(ChunkEntry entry) {
    Map<ServerId, Command> orders = new TreeMap<>();
    if (!isDoomed(entry)) {
      for (Learner learner : entry.learners()) {
        CopyCommand order = learner(entry, learner);
        if (order != null) {
          orders.put(learner.member().server(), order);
        }
      }
    }
    soft.outbox.replace(entry.handle(), Outbox.Slot.COPY, orders);
  }

  /** What it is to copy now; null where nothing. */
  private @Nullable CopyCommand learner(ChunkEntry entry, Learner learner) {
    ServerId server = learner.member().server();
    ChunkHandle chunk = entry.handle();
    Optional<ReplicaReport> report = soft.replicas.find(chunk, server);
    boolean mine = report.isPresent() && report.get().replica().equals(learner.member().replica());
    if (!soft.incarnation(server).equals(Optional.of(learner.incarnation()))) {
      return null; // it cannot join any more: it is given up, and made anew if it is needed
    }
    if (entry.seal().isPresent()
        && mine
        && report.get().state() == ReplicaState.SEALED
        && report.get().seal().equals(entry.seal())) {
      join(entry, learner);
      return null;
    }
    if (entry.seal().isEmpty()
        && changes.settings(entry).caughtUp().contains(learner.member().replica())
        && entry.pending().isEmpty()
        && mayTry(joins, chunk)) {
      changes.want(chunk, ChangeReason.MEMBER_JOINS, false, false, Set.of());
    }
    if (report.isPresent() && !mine && isInTheWay(entry, server, report.get())) {
      if (needsRoom(entry) && !isWhole(entry, report.get())) {
        delete(server, report.get());
      } // else it is deleted as any stranger's, once nothing is under way
      return null;
    }
    Member source = source(entry, Optional.of(server));
    if (source == null) {
      return null;
    }
    return new CopyCommand(
        entry.spec(),
        learner.member(),
        entry.active().version(),
        source,
        soft.address(source.server()),
        entry.seal());
  }

  /** A change in vain costs writers a moment each time: tried ever more seldom. */
  private boolean mayTry(Map<ChunkHandle, Try> tries, ChunkHandle chunk) {
    long now = soft.clock.nanos();
    Try last = tries.get(chunk);
    if (last != null && now < last.nextNanos) {
      return false;
    }
    long pause = last == null ? 2 * EVERY_NANOS : Math.min(60 * EVERY_NANOS, 2 * last.pauseNanos);
    tries.put(chunk, new Try(now + pause, pause));
    return true;
  }

  private void join(ChunkEntry entry, Learner learner) {
    if (!ordering.add(entry.handle())) {
      return;
    }
    propose(
        entry.handle(),
        new JoinReplica(
            entry.handle(),
            learner.member().server(),
            learner.member().replica(),
            learner.incarnation(),
            entry.seal().orElseThrow().lengthBytes(),
            entry.seal().orElseThrow().checksum()),
        EventKind.REPLICA_ADDED,
        learner.member().server());
  }

  /** From whom to copy: a primary first, of a sealed chunk any good member. */
  private @Nullable Member source(ChunkEntry entry, Optional<ServerId> without) {
    Member best = null;
    for (Member member : entry.active().members()) {
      if (without.equals(Optional.of(member.server()))
          || soft.suspect(member.server())
          || isBad(health(entry, member, 0))) {
        continue;
      }
      if (entry.active().primary().equals(Optional.of(member.server()))) {
        return member;
      }
      if (best == null) {
        best = member;
      }
    }
    return best;
  }

  private static boolean isBad(Health health) {
    return health == Health.DAMAGED || health == Health.BEHIND || health == Health.LOST;
  }

  private void scan(long now) {
    raised = soft.read(StateView::generation) > 0;
    roomy.clear();
    clients.candidates(Set.of()).forEach(candidate -> roomy.add(candidate.server()));
    List<ChunkEntry> entries = soft.read(view -> view.chunksAfter(cursor, SCAN));
    for (ChunkEntry entry : entries) {
      cursor = entry.handle();
      look(entry, now);
    }
    for (ChunkHandle chunk : List.copyOf(needed.keySet())) {
      ChunkEntry entry = changes.entry(chunk);
      if (entry == null) {
        needed.remove(chunk);
      } else {
        look(entry, now);
      }
    }
    if (entries.size() < SCAN) {
      cursor = new ChunkHandle(0);
      lackingSince.keySet().removeIf(copy -> changes.entry(copy.chunk()) == null);
      leaving.keySet().removeIf(chunk -> changes.entry(chunk) == null);
      strangers(now);
    }
  }

  private void look(ChunkEntry entry, long now) {
    ChunkHandle chunk = entry.handle();
    needed.remove(chunk);
    Facts facts = facts(entry, now);
    if (facts == null || ordering.contains(chunk)) {
      return;
    }
    if (raised && isAheadOfTheLog(entry)) {
      changes.want(chunk, ChangeReason.REOPEN, false, false, Set.of());
      return;
    }
    if (facts.members().stream().noneMatch(copy -> isBad(copy.health()))) {
      leaving.remove(chunk);
    }
    for (Step step : planner.plan(facts)) {
      switch (step) {
        case AddCopy add -> needed.put(chunk, add);
        case DropCopy drop -> drop(drop);
        case LeaveOut out -> leaveOut(entry, out.member());
      }
    }
  }

  /**
   * Its copies went on in a part of the log that is lost, and no longer have what the log says that
   * is sealed. Nobody could read it before the next writer opens it: so it is reopened now, with
   * all that they have, and sealed again as any chunk that nobody writes to.
   */
  private boolean isAheadOfTheLog(ChunkEntry entry) {
    boolean idle = entry.seal().isPresent() && entry.pending().isEmpty();
    return idle
        && !entry.sealedForEver()
        && entry.references() == 1
        && entry.active().members().stream().anyMatch(member -> hasGoneOn(entry, member))
        && changes.canBeReopened(entry);
  }

  private boolean hasGoneOn(ChunkEntry entry, Member member) {
    return soft.replicas
        .find(entry.handle(), member.server())
        .filter(report -> report.replica().equals(member.replica()))
        .filter(report -> report.accepted() > entry.active().version())
        .isPresent();
  }

  /**
   * A member of an open chunk has no good copy. Where it is written to, its primary finds out and
   * goes on without it; where nobody writes, nothing would happen until somebody does, and the
   * chunk had one copy less for so long.
   */
  private void leaveOut(ChunkEntry entry, Member out) {
    int standing = 0;
    for (Member member : entry.active().members()) {
      if (!member.equals(out)
          && !soft.suspect(member.server())
          && !isBad(health(entry, member, 0))) {
        standing++;
      }
    }
    if (standing >= changes.settings(entry).minReplicas() && mayTry(leaving, entry.handle())) {
      changes.want(entry.handle(), ChangeReason.MEMBER_FAILED, false, false, Set.of(out.server()));
    }
  }

  private boolean isDoomed(ChunkEntry entry) {
    Optional<FileEntry> file = soft.read(view -> view.file(entry.spec().file()));
    return file.isEmpty() || file.get().place() == FileEntry.Place.DOOMED;
  }

  /** Null where the chunk is about to go anyway. */
  private @Nullable Facts facts(ChunkEntry entry, long now) {
    if (isDoomed(entry)) {
      return null;
    }
    FileEntry file = soft.read(view -> view.file(entry.spec().file())).orElseThrow();
    List<Copy> members = new ArrayList<>();
    for (Member member : entry.active().members()) {
      members.add(new Copy(member, health(entry, member, now)));
    }
    List<Copy> learners = new ArrayList<>();
    for (Learner learner : entry.learners()) {
      boolean going =
          soft.incarnation(learner.member().server()).equals(Optional.of(learner.incarnation()))
              && now - copyingSince.getOrDefault(entry.handle(), now) < COPY_NANOS
              && !disksFailed(learner.member().server())
              && !isUseless(entry, learner)
              && !changes.needsCopy(entry.handle(), learner.member());
      learners.add(new Copy(learner.member(), going ? Health.GOOD : Health.LOST));
    }
    int goal = file.replication();
    return new Facts(
        entry.handle(),
        goal,
        ControlSettings.minReplicas(goal),
        entry.seal().isPresent(),
        entry.pending().isPresent(),
        members,
        learners,
        takers(entry));
  }

  /** Servers that could take a copy now; an old one that lies there is deleted first. */
  private Set<ServerId> takers(ChunkEntry entry) {
    Set<ServerId> takers = new TreeSet<>(roomy);
    for (ServerId server : soft.replicas.of(entry.handle()).keySet()) {
      if (entry.active().memberAt(server).isEmpty()) {
        takers.remove(server);
      }
    }
    return takers;
  }

  /**
   * True where this copy can only be made anew: it is damaged, or it was copied from the chunk
   * while that was open, or sealed by an earlier version, and the chunk has been sealed since
   * without it; or its server refuses to make it, because an older copy has landed there that is no
   * older in what it has. That one goes when there are enough others, and until then another server
   * takes the next copy.
   */
  private boolean isUseless(ChunkEntry entry, Learner learner) {
    Optional<ReplicaReport> report = soft.replicas.find(entry.handle(), learner.member().server());
    if (report.isEmpty()) {
      return false;
    }
    long version = entry.active().version();
    if (!report.get().replica().equals(learner.member().replica())) {
      // a member's that it replaces is deleted for it
      return report.get().accepted() >= version
          && !isMember(entry, learner.member().server(), report.get().replica());
    }
    ReplicaState state = report.get().state();
    boolean early = state == ReplicaState.SEALED && report.get().accepted() < version;
    boolean sealed = entry.seal().isPresent() && entry.pending().isEmpty();
    return state == ReplicaState.DAMAGED || (sealed && (early || state == ReplicaState.LEARNER));
  }

  private boolean disksFailed(ServerId server) {
    Server known = soft.servers.find(server);
    return known != null && known.disksFailed();
  }

  private Health health(ChunkEntry entry, Member member, long now) {
    ServerId server = member.server();
    if (soft.session(server).isEmpty()) {
      lackingSince.remove(new CopyName(entry.handle(), member));
      return now > 0 && isLost(server, now) ? Health.LOST : Health.AWAY;
    }
    Optional<ReplicaReport> report = soft.replicas.find(entry.handle(), server);
    if (entry.isReplaced(member)
        || (report.isPresent() && report.get().replica().equals(ReplicaReport.UNKNOWN))) {
      return Health.DAMAGED;
    }
    boolean mine = report.isPresent() && report.get().replica().equals(member.replica());
    boolean damaged =
        mine
            ? report.get().state() == ReplicaState.DAMAGED
                || changes.needsCopy(entry.handle(), member)
            : changes.lacks(entry.handle(), member);
    if (damaged) {
      return Health.DAMAGED;
    }
    if (lacks(entry, member, mine ? report : Optional.empty())) {
      if (isSoForLong(entry, member, now)) {
        long started = soft.replicas.accepted(entry.handle(), member);
        // who lost its version start is no more than a damaged one; another may only not know yet
        return mine && started >= entry.active().version() ? Health.BEHIND : Health.DAMAGED;
      }
      if (mine) {
        changes.settleAgain(entry, server);
      }
    } else {
      lackingSince.remove(new CopyName(entry.handle(), member));
    }
    return soft.draining(server) ? Health.DRAINING : Health.GOOD;
  }

  /**
   * True where a member has not told that it has what the log says it has stored: its version
   * start, or its seal. A disk was replaced, or a power cut has taken records of a {@code
   * replicated} file and what stands behind them; or it only does not know yet that its seal is
   * committed. A birth may not have reached each member, and of an open chunk a member tells when
   * it starts a version, and in full reports.
   */
  private boolean lacks(ChunkEntry entry, Member member, Optional<ReplicaReport> mine) {
    Server known = soft.servers.find(member.server());
    if (known == null || !known.reportedInFull()) {
      return false;
    }
    if (entry.seal().isPresent() && mine.isEmpty()) {
      return true;
    }
    if (entry.pending().isPresent()) {
      return false; // whoever takes part in the change tells what it has
    }
    long version = entry.active().version();
    return entry.seal().isPresent()
        ? !mine.flatMap(ReplicaReport::seal).equals(entry.seal())
        : version > 1 && soft.replicas.accepted(entry.handle(), member) < version;
  }

  /** What was stored a moment ago may be told with the next heartbeat only. */
  private boolean isSoForLong(ChunkEntry entry, Member member, long now) {
    if (now == 0) {
      return true; // nobody copies from there
    }
    long version = entry.active().version();
    boolean sealed = entry.seal().isPresent();
    CopyName name = new CopyName(entry.handle(), member);
    Lacking lacking = lackingSince.get(name);
    if (lacking == null || lacking.version() != version || lacking.sealed() != sealed) {
      lacking = new Lacking(version, sealed, now);
      lackingSince.put(name, lacking);
    }
    return now - lacking.sinceNanos() > soft.settings.terms().ttlNanos();
  }

  /** Orders copies, the most urgent first, as long as there is room for more under way. */
  private Optional<Candidate> taker(ChunkEntry entry, Set<ServerId> without) {
    return taker(entry, clients.candidates(without));
  }

  private Optional<Candidate> taker(ChunkEntry entry, List<Candidate> candidates) {
    List<String> racks = new ArrayList<>();
    for (Member member : entry.active().members()) {
      Server server = soft.servers.find(member.server());
      if (server != null) {
        racks.add(server.rack());
      }
    }
    return placement
        .choose(candidates, racks, 1, entry.spec().capacityBytes(), soft.random.nextLong())
        .stream()
        .findFirst();
  }

  private List<Candidate> only(ServerId server) {
    return clients.candidates(Set.of()).stream()
        .filter(candidate -> candidate.server().equals(server))
        .toList();
  }

  /**
   * For people: what a copy of the chunk waits for that is missing, or is to move away from a
   * server that is emptied; empty where all are where they should be.
   */
  Optional<AdminApi.Wait> whyNotWhole(ChunkEntry entry, long now) {
    Facts facts = facts(entry, now);
    if (facts == null) {
      return Optional.empty();
    }
    long staying = facts.members().stream().filter(c -> c.health() == Health.GOOD).count();
    if (staying >= facts.goal()) {
      return Optional.empty();
    }
    String what =
        "a copy waits: " + staying + " of " + facts.goal() + " are good, on servers that stay";
    for (Copy learner : facts.learners()) {
      if (learner.health() == Health.GOOD) {
        ServerId server = learner.member().server();
        return Optional.of(
            new AdminApi.Wait(
                entry.handle(),
                what + "; one is being made at " + server,
                Optional.of(server),
                -1));
      }
    }
    if (planner.plan(facts).stream().noneMatch(AddCopy.class::isInstance)) {
      for (Copy copy : facts.members()) {
        Long since = awaySince.get(copy.member().server());
        if (copy.health() == Health.AWAY && since != null) {
          return Optional.of(
              new AdminApi.Wait(
                  entry.handle(),
                  what + "; " + copy.member().server() + " is away, and may yet come back",
                  Optional.of(copy.member().server()),
                  Math.max(0, since + 3 * soft.settings.terms().ttlNanos() - now)));
        }
      }
    }
    boolean taken = taker(entry, soft.replicas.of(entry.handle()).keySet()).isPresent();
    return Optional.of(
        new AdminApi.Wait(
            entry.handle(),
            what
                + (taken
                    ? "; one more is made in its turn"
                    : "; no other server that takes copies has room for one: start one more, or"
                        + " take a drained one back"),
            Optional.empty(),
            -1));
  }

  private void order(long now) {
    if (needed.isEmpty()) {
      return;
    }
    Map<ServerId, Integer> into = new TreeMap<>();
    int underWay = ordering.size();
    for (ChunkHandle chunk : soft.read(view -> view.chunksWithLearners())) {
      ChunkEntry entry = changes.entry(chunk);
      if (entry != null) {
        for (Learner learner : entry.learners()) {
          underWay++;
          into.merge(learner.member().server(), 1, Integer::sum);
        }
      }
    }
    List<AddCopy> adds = new ArrayList<>(needed.values());
    adds.sort(ReplicationPlanner.urgency());
    for (AddCopy add : adds) {
      if (underWay >= COPIES) {
        return;
      }
      ChunkEntry entry = changes.entry(add.chunk());
      if (entry == null) {
        continue;
      }
      Set<ServerId> without = new TreeSet<>(add.without());
      // an old copy there is deleted first
      without.addAll(soft.replicas.of(add.chunk()).keySet());
      into.forEach(
          (server, count) -> {
            if (count >= COPIES_INTO_SERVER) {
              without.add(server);
            }
          });
      Optional<Candidate> chosen = taker(entry, without);
      Optional<ReplicaId> replaced = Optional.empty();
      if (chosen.isEmpty()) {
        Optional<Member> lost = toReplace(entry);
        chosen = lost.flatMap(member -> taker(entry, only(member.server())));
        replaced = lost.map(Member::replica);
      }
      if (chosen.isEmpty()) {
        makeRoom(entry, add.without());
        continue;
      }
      ServerId taker = chosen.get().server();
      Placement place = clients.place(chosen.get()); // may throw: nothing is noted before
      if (!ordering.add(add.chunk())) {
        continue;
      }
      underWay++;
      into.merge(taker, 1, Integer::sum);
      copyingSince.put(add.chunk(), now);
      logger.info("copy ordered chunk={} to={} good={}", add.chunk(), taker, add.good());
      soft.propose(
          new OrderReplica(add.chunk(), place, replaced),
          (committed, failure) -> {
            ordering.remove(add.chunk());
            needed.remove(add.chunk());
            changes.sync(add.chunk());
            ChunkEntry ordered = changes.entry(add.chunk());
            if (ordered != null) {
              learners(ordered);
            }
          });
    }
  }

  /**
   * Where no other server is left, a member whose copy is gone, or lacks what only a whole copy can
   * give it, makes room for a new one: two of three servers may have lost power before a young
   * chunk was first flushed, or after the third was copied anew, or have been given empty disks.
   * Never a damaged one, which may be the last that outlives the keeper; and only while the keeper
   * of all that was acknowledged is heard (see {@link #hasKeeper}).
   */
  private Optional<Member> toReplace(ChunkEntry entry) {
    if (entry.pending().isEmpty() || entry.seal().isPresent() || !needsRoom(entry)) {
      return Optional.empty();
    }
    return entry.active().members().stream()
        .filter(member -> roomy.contains(member.server()))
        .filter(member -> !soft.suspect(member.server()) && !entry.isReplaced(member))
        .filter(member -> changes.isLost(entry.handle(), member))
        .findFirst();
  }

  /**
   * Nobody can take a copy: if a chunk's writing stands still for want of one, an old copy that is
   * in the way goes, one at a time; while it lies there, it might stand still for ever.
   */
  private void makeRoom(ChunkEntry entry, Set<ServerId> without) {
    if (!needsRoom(entry)) {
      return;
    }
    for (Map.Entry<ServerId, ReplicaReport> one : soft.replicas.of(entry.handle()).entrySet()) {
      ServerId server = one.getKey();
      ReplicaReport report = one.getValue();
      if (!without.contains(server)
          && !soft.suspect(server)
          && !soft.draining(server)
          && !disksFailed(server)
          && isOutside(entry, server, report)
          && !isWhole(entry, report)) {
        delete(server, report);
        return;
      }
    }
  }

  /** Writing stands still for want of a copy, and an old one may be deleted for that. */
  private boolean needsRoom(ChunkEntry entry) {
    boolean standsStill =
        entry.pending().isPresent()
            ? changes.waitsForReplicas(entry)
            : standing(entry) < changes.settings(entry).minReplicas();
    return standsStill && hasKeeper(entry) && source(entry, Optional.empty()) != null;
  }

  /**
   * The learner was ordered before it was known that an old copy lies at its server which has
   * started as much as the active version. That one is not overwritten: it has to be deleted.
   */
  private boolean isInTheWay(ChunkEntry entry, ServerId server, ReplicaReport report) {
    return isOutside(entry, server, report) && accepted(server, report) >= entry.active().version();
  }

  /** Members with which its primary can write now. */
  private int standing(ChunkEntry entry) {
    Set<ServerId> blamed = changes.blamed(entry);
    int standing = 0;
    for (Member member : entry.active().members()) {
      if (!soft.suspect(member.server())
          && !blamed.contains(member.server())
          && !isReportedBad(entry, member)) {
        standing++;
      }
    }
    return standing;
  }

  /**
   * True where a member of a chunk that is written to is known that has all that was ever
   * acknowledged, so that an old copy elsewhere may be deleted though fewer members than usual are
   * good:
   *
   * <ul>
   *   <li>While a change waits for others it is the lone seed. An acknowledgement takes an append
   *       by every member of the active version, and the version start before it put all that was
   *       acknowledged earlier into each of them. The seed is one of them, certain, and has
   *       promised the pending version, so nothing is acknowledged without its knowing from then
   *       on. So it is where a sealed chunk is opened again; an old copy that holds the seal stays
   *       there, for it may be byte for byte as good ({@link #isWhole}).
   *   <li>With no change under way it is the primary, by the same argument: nothing is acknowledged
   *       without its append. A sealed chunk with no change under way is not written to.
   *   <li>It is heard, and whole.
   *   <li>The old copy has nothing that counts, now or later. It is neither member nor learner, and
   *       no target: the pending version names no seed yet. A server gets a replica id once, so
   *       none of these can it become again; nothing is recovered from it, and its start of a
   *       version that was given up is in no configuration.
   *   <li>What arrives late is checked again: the order names the replica id, and a newer copy at
   *       that server has another one.
   * </ul>
   */
  private boolean hasKeeper(ChunkEntry entry) {
    Optional<Member> keeper =
        entry.pending().isPresent()
            ? changes.loneSeed(entry)
            : entry
                .lease()
                .filter(lease -> !lease.revoked() && lease.version() == entry.active().version())
                .flatMap(lease -> entry.active().memberAt(lease.server()));
    return keeper.isPresent()
        && !soft.suspect(keeper.get().server())
        && !isReportedBad(entry, keeper.get());
  }

  /** It holds the seal that is logged: of the bytes below it, nobody has more. */
  private static boolean isWhole(ChunkEntry entry, ReplicaReport report) {
    return entry.seal().isPresent()
        && report.state() != ReplicaState.DAMAGED
        && report.seal().equals(entry.seal());
  }

  /** The chunk is sealed, and a member that is heard holds the seal: all that there is of it. */
  private boolean isHeldWhole(ChunkEntry entry) {
    return entry.active().members().stream().anyMatch(member -> holdsSeal(entry, member));
  }

  /** It is heard, and its copy is whole. */
  private boolean holdsSeal(ChunkEntry entry, Member member) {
    return !soft.suspect(member.server())
        && soft.replicas
            .find(entry.handle(), member.server())
            .filter(report -> report.replica().equals(member.replica()))
            .filter(report -> isWhole(entry, report))
            .isPresent();
  }

  private void drop(DropCopy drop) {
    if (!ordering.add(drop.chunk())) {
      return;
    }
    logger.info("copy given up chunk={} at={} why=\"{}\"", drop.chunk(), drop.member(), drop.why());
    propose(
        drop.chunk(),
        new RemoveReplica(drop.chunk(), drop.member().server(), drop.member().replica()),
        EventKind.REPLICA_REMOVED,
        drop.member().server());
  }

  private void propose(ChunkHandle chunk, Operation operation, EventKind kind, ServerId server) {
    soft.propose(
        operation,
        (committed, failure) -> {
          ordering.remove(chunk);
          if (committed != null && committed.result().isApplied()) {
            soft.event(kind, Optional.of(server), Optional.of(chunk), 0, Map.of());
          }
          changes.sync(chunk);
        });
  }

  /** Copies that the log does not count: deleted where that harms nobody. */
  private void strangers(long now) {
    Set<AdminApi.CopyName> unknown = new HashSet<>();
    for (Server server : soft.servers.all()) {
      if (soft.session(server.id()).isEmpty() || !server.reportedInFull()) {
        continue;
      }
      for (ChunkHandle chunk : soft.replicas.at(server.id())) {
        ReplicaReport report = soft.replicas.find(chunk, server.id()).orElse(null);
        if (report == null) {
          continue;
        }
        ChunkEntry entry = changes.entry(chunk);
        if (entry != null) {
          stranger(entry, server.id(), report);
        } else {
          unknown.add(new AdminApi.CopyName(server.id(), chunk));
          unknown(server.id(), report, now);
        }
      }
    }
    unknownSince.keySet().retainAll(unknown);
  }

  private void stranger(ChunkEntry entry, ServerId server, ReplicaReport report) {
    if (isOutside(entry, server, report)
        && entry.pending().isEmpty()
        && (accepted(server, report) <= entry.active().version()
            ? good(entry) >= leastGoodToDelete(entry, report)
                || (!isWhole(entry, report) && isHeldWhole(entry))
            : isLeftOver(entry, report))) {
      delete(server, report);
    }
  }

  /**
   * It had started a reopening, as its seed, and was damaged; the next one was abandoned before it
   * had a seed, so the chunk is sealed as it was before, and what this copy started is in no
   * configuration and never will be. No version can be recovered from it, and each member holds the
   * seal. It would keep its server from taking a good copy until somebody writes to the chunk.
   */
  private boolean isLeftOver(ChunkEntry entry, ReplicaReport report) {
    return report.state() == ReplicaState.DAMAGED
        && entry.seal().isPresent()
        && good(entry) == entry.active().members().size()
        && entry.active().members().stream().allMatch(member -> holdsSeal(entry, member));
  }

  /** Of no chunk of the log: at once only where this leader itself has seen its file purged. */
  private void unknown(ServerId server, ReplicaReport report, long now) {
    AdminApi.CopyName name = new AdminApi.CopyName(server, report.spec().handle());
    long since = unknownSince.computeIfAbsent(name, copy -> now);
    if (purged.contains(name.chunk())
        || (reasonOfUnknown(name.chunk()) == QuarantineReason.UNKNOWN
            && name.chunk().value() <= soft.read(StateView::lastApplied)
            && now - since >= soft.settings.quarantineNanos())) {
      delete(server, report);
    }
  }

  private QuarantineReason reasonOfUnknown(ChunkHandle chunk) {
    return Quarantine.ofUnknown(chunk, soft.read(StateView::generation));
  }

  /** All copies that are in quarantine, by server and chunk. */
  List<QuarantinedCopy> quarantined() {
    List<QuarantinedCopy> copies = new ArrayList<>();
    for (Server server : soft.servers.all()) {
      for (ChunkHandle chunk : new TreeSet<>(soft.replicas.at(server.id()))) {
        soft.replicas
            .find(chunk, server.id())
            .flatMap(report -> quarantined(server.id(), report))
            .ifPresent(copies::add);
      }
    }
    return copies;
  }

  private Optional<QuarantinedCopy> quarantined(ServerId server, ReplicaReport report) {
    AdminApi.CopyName name = new AdminApi.CopyName(server, report.spec().handle());
    ChunkEntry entry = changes.entry(name.chunk());
    QuarantineReason reason;
    long left = -1;
    if (entry != null) {
      if (isCounted(entry, server, report.replica())
          || !Quarantine.isAhead(
              highest(server, report), entry.active().version(), entry.lastVersion())) {
        return Optional.empty();
      }
      reason = QuarantineReason.AHEAD;
    } else if (purged.contains(name.chunk())) {
      return Optional.empty();
    } else {
      reason = reasonOfUnknown(name.chunk());
      if (reason == QuarantineReason.UNKNOWN) {
        long now = soft.clock.nanos();
        long since = unknownSince.getOrDefault(name, now);
        left = Math.max(0, since + soft.settings.quarantineNanos() - now);
      }
    }
    return Optional.of(
        new QuarantinedCopy(
            name,
            report.replica(),
            report.spec().file(),
            report.state(),
            highest(server, report),
            report.lengthBytes(),
            reason,
            left));
  }

  /** An operator's order; false where no such copy is in quarantine. */
  boolean deleteQuarantined(AdminApi.CopyName name, ReplicaId replica) {
    Optional<ReplicaReport> report =
        soft.replicas
            .find(name.chunk(), name.server())
            .filter(one -> one.replica().equals(replica))
            .filter(one -> quarantined(name.server(), one).isPresent());
    report.ifPresent(one -> delete(name.server(), one));
    return report.isPresent();
  }

  /** True for a copy of before: neither the log nor a change counts on it. */
  private boolean isOutside(ChunkEntry entry, ServerId server, ReplicaReport report) {
    return !isCounted(entry, server, report.replica())
        && report.promised() <= entry.lastVersion()
        && !Quarantine.isAhead(
            highest(server, report), entry.active().version(), entry.lastVersion());
  }

  /** A member that is being replaced has nothing that counts any more. */
  private static boolean isCounted(ChunkEntry entry, ServerId server, ReplicaId replica) {
    return entry.learnerAt(server).isPresent()
        ? entry.learner(server, replica).isPresent()
        : isMember(entry, server, replica);
  }

  private long highest(ServerId server, ReplicaReport report) {
    return Math.max(accepted(server, report), report.promised());
  }

  /** It may have started versions since it was reported. */
  private long accepted(ServerId server, ReplicaReport report) {
    Member copy = new Member(server, report.disk(), report.replica());
    return soft.replicas.accepted(report.spec().handle(), copy);
  }

  private void delete(ServerId server, ReplicaReport report) {
    soft.outbox.put(
        server,
        Outbox.Slot.DELETE,
        new DeleteCommand(report.spec().handle(), report.replica(), highest(server, report)),
        1);
  }

  private static boolean isMember(ChunkEntry entry, ServerId server, ReplicaId replica) {
    Optional<Member> member = entry.active().memberAt(server);
    return member.isPresent()
        && (member.get().replica().equals(replica) || replica.equals(ReplicaReport.UNKNOWN));
  }

  /** A damaged one makes room for a good one as soon as that can be made. */
  private int leastGoodToDelete(ChunkEntry entry, ReplicaReport report) {
    return report.state() == ReplicaState.DAMAGED ? 1 : changes.settings(entry).minReplicas();
  }

  /** Its server has another copy, or a damaged one; of an open copy it may have told nothing. */
  private boolean isReportedBad(ChunkEntry entry, Member member) {
    return soft.replicas
        .find(entry.handle(), member.server())
        .filter(
            report ->
                !report.replica().equals(member.replica())
                    || report.state() == ReplicaState.DAMAGED)
        .isPresent();
  }

  private int good(ChunkEntry entry) {
    int good = 0;
    for (Member member : entry.active().members()) {
      if (!isReportedBad(entry, member)
          && soft.replicas.accepted(entry.handle(), member) == entry.active().version()
          && !soft.suspect(member.server())) {
        good++;
      }
    }
    return good;
  }

  // ------------------------------------------------------------------ garbage

  private void dropDoomed() {
    for (ChunkHandle chunk : soft.read(view -> view.doomedChunksInUse(1_000))) {
      ChunkEntry entry = changes.entry(chunk);
      if (entry == null || entry.pending().filter(Pending::seal).isPresent()) {
        continue;
      }
      // What would make it writable again may never have enough copies: it is not waited for.
      if (entry.pending().isPresent() && entry.seal().isPresent()) {
        changes.abandon(entry);
      } else if (entry.pending().isPresent()) {
        changes.want(chunk, ChangeReason.DELETE, true, true, Set.of());
      } else {
        clients.sealUnused(entry, ChangeReason.DELETE);
      }
    }
    if (purging) {
      return;
    }
    long before = soft.clock.wallMillis() - soft.settings.trashExpiryMillis();
    List<Trashed> trash = soft.read(view -> view.trash());
    if (!trash.isEmpty() && trash.get(trash.size() - 1).deletedMillis() < before) {
      once(new EmptyTrash(Optional.empty(), before));
      return;
    }
    List<FileId> files = soft.read(view -> view.purgeable(1_000));
    if (!files.isEmpty()) {
      purge(files);
    }
  }

  private void purge(List<FileId> files) {
    List<ChunkHandle> chunks = new ArrayList<>();
    for (FileId file : files) {
      soft.read(view -> view.file(file)).map(FileEntry::chunks).ifPresent(chunks::addAll);
    }
    chunks.removeIf(this::hasCopyAhead);
    purging = true;
    soft.propose(
        new PurgeFiles(files),
        (committed, failure) -> {
          purging = false;
          for (ChunkHandle chunk : chunks) {
            if (changes.entry(chunk) == null && purged.add(chunk) && purged.size() > PURGED) {
              var oldest = purged.iterator();
              oldest.next();
              oldest.remove();
            }
          }
        });
  }

  private boolean hasCopyAhead(ChunkHandle chunk) {
    for (Map.Entry<ServerId, ReplicaReport> one : soft.replicas.of(chunk).entrySet()) {
      if (quarantined(one.getKey(), one.getValue()).isPresent()) {
        return true;
      }
    }
    return false;
  }

  private void once(Operation operation) {
    purging = true;
    soft.propose(operation, (committed, failure) -> purging = false);
  }

  private void forget(long now) {
    List<ClientEntry> ended = soft.read(view -> view.endedClients());
    Set<ClientId> present = new TreeSet<>();
    long through = 0;
    for (ClientEntry client : ended) {
      present.add(client.client());
      long since = endedSince.computeIfAbsent(client.client(), id -> now);
      if (now - since >= FORGET_NANOS) {
        through = Math.max(through, client.endedAt());
      }
    }
    endedSince.keySet().retainAll(present);
    if (through > 0 && !purging) {
      once(new ForgetClients(soft.role.term(), through));
    }
  }

  /** How many chunks want a copy. */
  int neededCopies() {
    return needed.size();
  }

  /** A server as the log has it, without leases, copies and learners. */
  boolean isEmpty(ServerEntry server) {
    return soft.read(view -> view.chunksAt(server.server())).isEmpty();
  }
}
