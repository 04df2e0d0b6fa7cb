package io.leasefs.cluster.simulation;

import static java.util.Objects.requireNonNull;

import io.leasefs.common.error.ErrorCode;
import io.leasefs.common.error.LeaseFsException;
import io.leasefs.common.model.ServerId;
import io.leasefs.master.log.BarrierBatch;
import io.leasefs.master.log.Operation;
import io.leasefs.master.log.OperationCodec;
import io.leasefs.master.log.OperationLog;
import io.leasefs.master.replicated.ReplicatedState;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Random;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * The log of several masters, as ill-natured as its contract allows: one agreed sequence of entries
 * and terms, which each master applies in its own time.
 *
 * <p>A leader commits only while it and a majority of masters reach one another. One that is cut
 * off, frozen, killed, or just unlucky, is replaced by another in a later term; how long it goes on
 * believing that it leads is up to chance, and what it then proposes never commits. Of what it had
 * proposed before, some is in the log all the same, up to some point. In some seeds a proposal
 * whose outcome its leader never learnt lies about, and is in the log in a later term of the same
 * process: whoever decided it did so by what it knew in another. Masters fall behind, start again
 * from a checkpoint, or are sent one.
 *
 * <p>This is not Raft, which decides who may be elected by what is on whose disk: here any master
 * that reaches a majority may be, and has what was agreed on. It is more than Raft allows, and what
 * stands above a log may not know the difference.
 */
final class SimulatedGroup {
  private static final long MILLI = 1_000_000;

  /** A follower that is further behind is sent a checkpoint now and then. */
  private static final int FAR_BEHIND = 25;

  /** A master writes a checkpoint after so many entries, on average. */
  private static final int CHECKPOINT_EVERY = 60;

  /** Agreed on; without bytes: the first of a term, which says nothing. */
  private static final class Entry {
    private final long term;
    private final byte @Nullable [] bytes;

    Entry(long term, byte @Nullable [] bytes) {
      this.term = term;
      this.bytes = bytes;
    }
  }

  /** What a leader wants to have agreed on. */
  private static final class Proposal {
    private final byte @Nullable [] bytes;
    private final CompletableFuture<OperationLog.Committed> answer;
    private final long submitted;

    /** Another master may have it: it may be in the log although this leader never learns it. */
    private boolean sent;

    /** It is in the log. */
    private boolean decided;

    Proposal(
        byte @Nullable [] bytes,
        CompletableFuture<OperationLog.Committed> answer,
        long submitted,
        boolean sent) {
      this.bytes = bytes;
      this.answer = answer;
      this.submitted = submitted;
      this.sent = sent;
    }
  }

  /** What outlives a master's process. */
  private static final class Seat {
    private final Host host;
    private long term;

    /** Entries that are on its disk. */
    private int held;

    private byte @Nullable [] checkpoint;

    /** How many entries are in the checkpoint. */
    private int covered;

    private @Nullable Member member;

    Seat(Host host) {
      this.host = host;
    }
  }

  private final EventLoop loop;
  private final Wires wires;
  private final long slowestNanos;
  private final long lagNanos;
  private final long ttlNanos;

  /** One in so many looks has a leader replaced that is as it should be; 0: none does. */
  private final int unrest;

  private final Map<String, Seat> seats = new TreeMap<>();
  private final List<Entry> entries = new ArrayList<>();

  /** When the newest committed entry of each term was proposed. */
  private final Map<Long, Long> newestProposed = new HashMap<>();

  private long term;
  private int elections;

  /** Elected last; it may be dead, or lead no more. */
  private @Nullable Member leader;

  private long unhealthySince = -1;
  private long patience;
  private boolean restless;

  /** Nothing is agreed on. */
  private boolean held;

  /** In some seeds: proposals may be agreed on in a later term of who made them. */
  private @Nullable Random straying;

  private Consumer<Operation> strayed = operation -> {};

  private boolean begun;

  /**
   * How many masters a seed has. Drawn apart from all else, so that what a seed draws does not
   * depend on it.
   */
  static int size(long seed) {
    int drawn = new Chance(seed ^ 0x6d617374).nextInt(10);
    return drawn < 6 ? 1 : drawn < 9 ? 3 : 5;
  }

  /**
   * @param slowestNanos slowest commit, but for the network
   * @param ttlNanos leaders believe in themselves for longer than that, now and then
   */
  SimulatedGroup(EventLoop loop, Wires wires, List<Host> hosts, long slowestNanos, long ttlNanos) {
    this.loop = loop;
    this.wires = wires;
    this.slowestNanos = slowestNanos;
    this.ttlNanos = ttlNanos;
    Random random = loop.random();
    this.lagNanos = random.nextInt(4) == 0 ? 800 * MILLI : 20 * MILLI;
    this.unrest = random.nextInt(3) == 0 ? 0 : 10 + random.nextInt(60);
    for (Host host : hosts) {
      seats.put(host.name(), new Seat(host));
    }
  }

  // ---- from outside ------------------------------------------------------------------------

  /** A master's process begins. */
  Member start(Life life, ReplicatedState state) {
    Seat seat = seat(life.host());
    Member member = new Member(seat, state, life);
    seat.member = member;
    if (!begun) {
      begun = true;
      loop.post(0, "masters", this::look);
    }
    return member;
  }

  private Seat seat(Host host) {
    Seat seat = seats.get(host.name());
    if (seat == null) {
      throw new IllegalArgumentException(host + " is no master's");
    }
    return seat;
  }

  /** How many entries are agreed on. */
  int size() {
    return entries.size();
  }

  /** How often a leader was elected. */
  int elections() {
    return elections;
  }

  /** Proposals may be agreed on in a later term of who made them. */
  void letStray(Random random) {
    straying = random;
  }

  boolean proposalsStray() {
    return straying != null;
  }

  void onStray(Consumer<Operation> told) {
    strayed = told;
  }

  /** Whether leaders are replaced without need. */
  void setRestless(boolean on) {
    restless = on;
  }

  /** The host of whoever was elected last. */
  Optional<Host> leaderHost() {
    return leader == null ? Optional.empty() : Optional.of(leader.seat.host);
  }

  /** The leader leads no more; it knows so, or not yet. */
  void depose() {
    Member deposed = leader;
    if (deposed == null || !deposed.life.isAlive() || !deposed.role.leading()) {
      return;
    }
    List<Member> others = candidates();
    others.remove(deposed);
    if (others.isEmpty() || loop.random().nextBoolean()) {
      loop.note("STEP DOWN of " + deposed);
      deposed.stepDown();
    } else {
      elect(others.get(loop.random().nextInt(others.size())));
    }
  }

  // ---- by hand: a scenario says what else is up to chance ------------------------------------

  /** The master there is elected now; it must run. */
  void elect(Host host) {
    elect(memberAt(host), true);
  }

  /**
   * The master there is elected in the term of the leader before it, which no log allows: what
   * stands above it must not be what keeps two of them apart.
   */
  void electInTheSameTerm(Host host) {
    elect(memberAt(host), false);
  }

  /** The leader there believes in itself for so long after it has reached a majority last. */
  void trust(Host host, long nanos) {
    memberAt(host).loyaltyNanos = nanos;
  }

  /** Whether anything is agreed on from now on. */
  void hold(boolean on) {
    held = on;
  }

  /** Whether the master there believes that it leads. */
  boolean leads(Host host) {
    return memberAt(host).role.leading();
  }

  /** Whether it knows of an entry of its own term, and of all before. */
  boolean isReady(Host host) {
    return memberAt(host).role.ready();
  }

  long termOf(Host host) {
    return memberAt(host).role.term();
  }

  /** How many of the entries that are agreed on the master there has not applied. */
  int behind(Host host) {
    return entries.size() - memberAt(host).applied;
  }

  private Member memberAt(Host host) {
    Member member = seat(host).member;
    if (member == null || !member.life.isAlive()) {
      throw new IllegalStateException("no master runs at " + host);
    }
    return member;
  }

  // ---- what they know ------------------------------------------------------------------------

  /** The state of whoever has applied most. */
  Optional<ReplicatedState> newest() {
    Member newest = null;
    for (Member member : members()) {
      if (newest == null || member.applied > newest.applied) {
        newest = member;
      }
    }
    return newest == null ? Optional.empty() : Optional.of(newest.state);
  }

  /**
   * What is different between the states of masters that run, once each has applied all that is
   * agreed on; null where nothing is.
   */
  @Nullable String difference() {
    byte[] first = null;
    Member by = null;
    for (Member member : members()) {
      while (member.applied < entries.size()) {
        member.applyNext();
      }
      member.state.invariant();
      byte[] here = member.checkpoint();
      if (first == null) {
        first = here;
        by = member;
      } else if (!Arrays.equals(first, here)) {
        return "the states of " + by + " and " + member + " differ";
      }
    }
    return null;
  }

  /** Whether an entry that was proposed since an instant has committed in a term. */
  boolean hasCommittedSince(long instant, long inTerm) {
    return newestProposed.getOrDefault(inTerm, Long.MIN_VALUE) >= instant;
  }

  private List<Member> members() {
    List<Member> members = new ArrayList<>();
    for (Seat seat : seats.values()) {
      Member member = seat.member;
      if (member != null && member.life.isAlive()) {
        members.add(member);
      }
    }
    return members;
  }

  // ---- who leads ---------------------------------------------------------------------------

  private boolean works(Member member) {
    return member.life.isAlive() && !member.seat.host.isFrozen();
  }

  private boolean reach(Member one, Member other) {
    return works(one)
        && works(other)
        && wires.passes(one.seat.host, other.seat.host)
        && wires.passes(other.seat.host, one.seat.host);
  }

  private boolean hasMajority(Member member) {
    int count = works(member) ? 1 : 0;
    for (Member other : members()) {
      count += other != member && reach(member, other) ? 1 : 0;
    }
    return 2 * count > seats.size();
  }

  private List<Member> candidates() {
    List<Member> candidates = members();
    candidates.removeIf(member -> !hasMajority(member));
    return candidates;
  }

  /** Every now and then: does the leader still lead, and who is behind. */
  private void look() {
    loop.post(40 * MILLI + loop.random().nextInt(40) * MILLI, "masters", this::look);
    Member now = leader;
    boolean healthy = now != null && works(now) && now.role.leading() && hasMajority(now);
    List<Member> candidates = candidates();
    if (healthy) {
      unhealthySince = -1;
      candidates.remove(now);
      if (restless && unrest > 0 && loop.random().nextInt(unrest) == 0) {
        electOneOf(candidates);
      } else if (restless && straying != null && straying.nextInt(6) == 0) {
        candidates.removeIf(candidate -> candidate.strays.isEmpty());
        electOneOf(candidates);
      }
    } else if (unhealthySince < 0) {
      unhealthySince = loop.now();
      patience = now == null ? 0 : 100 * MILLI + loop.random().nextInt(900) * MILLI;
    } else if (loop.now() - unhealthySince >= patience) {
      electOneOf(candidates);
    }
    members().forEach(Member::followSoon);
  }

  private void electOneOf(List<Member> candidates) {
    if (!candidates.isEmpty()) {
      elect(candidates.get(loop.random().nextInt(candidates.size())));
    }
  }

  private void elect(Member chosen) {
    elect(chosen, true);
  }

  private void elect(Member chosen, boolean inLaterTerm) {
    Member old = leader;
    if (old != null) {
      decide(old);
    }
    if (inLaterTerm) {
      // An election may fail, and its term is gone.
      term += 1 + (loop.random().nextInt(4) == 0 ? loop.random().nextInt(5) : 0);
    }
    elections++;
    unhealthySince = -1;
    loop.note("ELECTED " + chosen + " term " + term + " entries " + entries.size());
    leader = chosen;
    if (chosen.role.leading()) {
      chosen.stepDown();
    }
    chosen.lead(term);
    if (old != null && old != chosen && old.life.isAlive() && old.role.leading()) {
      old.learnLater(true);
    }
    members().forEach(Member::followSoon);
  }

  /** What the old leader had under way is in the log up to some point. */
  private void decide(Member old) {
    int most = 0;
    for (Proposal proposal : old.mine) {
      if (!proposal.sent) {
        break;
      }
      most++;
    }
    int survivors = loop.random().nextInt(most + 1);
    for (Proposal proposal : old.mine) {
      if (survivors-- <= 0) {
        break;
      }
      entries.add(new Entry(old.leadsTerm, proposal.bytes));
      proposal.decided = true;
    }
    if (!old.life.isAlive() || !old.role.leading()) {
      old.mine.clear();
    }
  }

  /** One master's part of it, while its process lives. */
  final class Member implements OperationLog {
    private final Seat seat;
    private final ReplicatedState state;
    private final Life life;
    private final ServerId self;
    private final ArrayDeque<Proposal> mine = new ArrayDeque<>();

    /** Made in an earlier term, and still on their way into the log. */
    private final ArrayDeque<Proposal> strays = new ArrayDeque<>();

    private final List<RoleListener> listeners = new ArrayList<>();
    private final BarrierBatch barriers = new BarrierBatch(() -> append(new Operation.Barrier()));
    private Role role;
    private int applied;
    private long leadsTerm;
    private boolean committing;
    private boolean following;

    /** Since when it has not reached a majority; -1: it does. */
    private long aloneSince = -1;

    /** How long it believes that it leads although it reaches nobody. */
    private long loyaltyNanos;

    private Member(Seat seat, ReplicatedState state, Life life) {
      this.seat = seat;
      this.state = state;
      this.life = life;
      this.self = new ServerId(seat.host.name());
      this.role = new Role(seat.term, false, false, Optional.empty());
      byte[] checkpoint = seat.checkpoint;
      if (checkpoint != null && loop.random().nextInt(4) > 0) {
        install(checkpoint, seat.covered);
      }
      while (applied < seat.held) {
        applyNext();
      }
    }

    // ---- entries

    private void install(byte[] checkpoint, int entriesInIt) {
      try {
        state.readCheckpoint(new ByteArrayInputStream(checkpoint));
      } catch (IOException e) {
        throw new UncheckedIOException(e);
      }
      applied = entriesInIt;
      seat.held = Math.max(seat.held, applied);
    }

    private byte[] checkpoint() {
      ByteArrayOutputStream out = new ByteArrayOutputStream();
      try {
        state.writeCheckpoint(out);
      } catch (IOException e) {
        throw new UncheckedIOException(e);
      }
      return out.toByteArray();
    }

    private @Nullable Committed applyNext() {
      Entry entry = entries.get(applied);
      applied++;
      seat.held = Math.max(seat.held, applied);
      Committed committed = null;
      if (entry.bytes == null) {
        state.skip(applied);
      } else {
        committed = state.apply(applied, entry.term, OperationCodec.decode(entry.bytes));
      }
      if (loop.random().nextInt(CHECKPOINT_EVERY) == 0) {
        seat.checkpoint = checkpoint();
        seat.covered = applied;
      }
      return committed;
    }

    // ---- following

    private void followSoon() {
      if (!following && !role.leading() && (applied < entries.size() || role.term() < term)) {
        following = true;
        long delay = MILLI + (long) (loop.random().nextDouble() * lagNanos);
        var _ = loop.post(life, delay, "follow", this::follow);
      }
    }

    private void follow() {
      following = false;
      Member now = leader;
      if (role.leading() || now == null || now == this || !now.role.leading()) {
        return;
      }
      if (!reach(this, now)) {
        return;
      }
      if (role.term() < term || !role.leader().equals(Optional.of(now.self))) {
        seat.term = term;
        become(new Role(term, false, false, Optional.of(now.self)));
      }
      int behind = entries.size() - applied;
      if (now.applied - applied > FAR_BEHIND && loop.random().nextInt(3) == 0) {
        loop.note("CHECKPOINT of " + now + " to " + this + ": " + now.applied + " entries");
        byte[] sent = now.checkpoint();
        install(sent, now.applied);
        seat.checkpoint = sent;
        seat.covered = applied;
      } else if (behind > 0) {
        int count = loop.random().nextInt(3) == 0 ? loop.random().nextInt(behind) : behind;
        for (int i = 0; i < count; i++) {
          applyNext();
        }
      }
      followSoon();
    }

    // ---- leading

    private void lead(long ofTerm) {
      mine.clear();
      aloneSince = -1;
      loyaltyNanos =
          loop.random().nextBoolean()
              ? 300 * MILLI + loop.random().nextInt(600) * MILLI
              : (long) (loop.random().nextDouble() * 2.5 * ttlNanos);
      leadsTerm = ofTerm;
      seat.term = ofTerm;
      become(new Role(ofTerm, true, false, Optional.of(self)));
      submit(null, new CompletableFuture<>());
    }

    /** It leads no more, and knows it; what is under way has an unknown outcome. */
    private void stepDown() {
      List<Proposal> lost = List.copyOf(mine);
      if (leader != this) {
        mine.clear();
      }
      become(new Role(role.term(), false, false, Optional.empty()));
      lose(lost);
    }

    /** The term is over: nobody learns what became of them, but of those that are on their way. */
    private void lose(List<Proposal> lost) {
      for (Proposal each : lost) {
        if (leader != this && !each.decided && strays(each)) {
          strays.add(each);
          var _ =
              loop.post(
                  life,
                  requireNonNull(straying).nextInt(4_000) * MILLI,
                  "stray",
                  () -> {
                    if (strays.remove(each)) {
                      each.answer.completeExceptionally(unknown());
                    }
                  });
        } else {
          var _ = each.answer.completeExceptionally(unknown());
        }
      }
    }

    /** Decisions by a clock do, for they are those that another term makes wrong. */
    private boolean strays(Proposal proposal) {
      if (straying == null || proposal.bytes == null) {
        return false;
      }
      return switch (OperationCodec.decode(proposal.bytes)) {
        case Operation.Barrier barrier -> false;
        case Operation.EndSessions end -> true;
        default -> straying.nextInt(3) == 0;
      };
    }

    private static LeaseFsException unknown() {
      return new LeaseFsException(ErrorCode.OUTCOME_UNKNOWN, "the leader leads no more");
    }

    /** Somebody else has been elected; this one hears of it in its time. */
    private void learnLater(boolean first) {
      int most = first && loop.random().nextBoolean() ? 10 : 400;
      var _ = loop.post(life, loop.random().nextInt(most) * MILLI, "learn", this::learn);
    }

    private void learn() {
      if (leader == this || !role.leading()) {
        return;
      }
      boolean told = false;
      for (Member other : members()) {
        told |= other != this && works(other) && wires.passes(other.seat.host, seat.host);
      }
      aloneSince = told ? -1 : aloneSince < 0 ? loop.now() : aloneSince;
      if (told ? loop.random().nextInt(3) > 0 : loop.now() - aloneSince > loyaltyNanos) {
        loop.note(this + " learns that it does not lead");
        stepDown();
        followSoon();
      } else {
        learnLater(false);
      }
    }

    private void become(Role next) {
      role = next;
      listeners.forEach(listener -> listener.changed(next));
    }

    @Override
    public CompletableFuture<Committed> append(Operation operation) {
      if (!role.leading()) {
        return CompletableFuture.failedFuture(
            new LeaseFsException(ErrorCode.NOT_LEADER, "this master does not lead"));
      }
      CompletableFuture<Committed> answer = new CompletableFuture<>();
      submit(OperationCodec.encode(operation), answer);
      return answer;
    }

    private void submit(byte @Nullable [] bytes, CompletableFuture<Committed> answer) {
      mine.addLast(new Proposal(bytes, answer, loop.now(), leader == this && reachesAny()));
      commitSoon(100_000 + (long) (loop.random().nextDouble() * slowestNanos));
    }

    private boolean reachesAny() {
      return members().stream().anyMatch(other -> other != this && reach(this, other));
    }

    private void commitSoon(long delayNanos) {
      if (!committing) {
        committing = true;
        var _ = loop.post(life, delayNanos, "log", this::commit);
      }
    }

    private void commit() {
      committing = false;
      if (!role.leading() || mine.isEmpty()) {
        return;
      }
      if (held) {
        commitSoon(MILLI);
        return;
      }
      if (leader != this) {
        // Another leads: these hang until this one learns it, or fail.
        if (loop.random().nextInt(3) == 0) {
          List<Proposal> lost = List.copyOf(mine);
          mine.clear();
          lose(lost);
        }
        return;
      }
      if (!hasMajority(this)) {
        aloneSince = aloneSince < 0 ? loop.now() : aloneSince;
        if (loop.now() - aloneSince > loyaltyNanos) {
          loop.note(this + " steps down: it reaches no majority");
          stepDown();
        } else {
          commitSoon(20 * MILLI + loop.random().nextInt(60) * MILLI);
        }
        return;
      }
      aloneSince = -1;
      mine.forEach(each -> each.sent = true);
      while (applied < entries.size()) {
        applyNext();
      }
      if (straying != null && role.ready() && !strays.isEmpty() && straying.nextInt(4) == 0) {
        Proposal stray = strays.remove();
        Operation operation = OperationCodec.decode(requireNonNull(stray.bytes));
        loop.note("STRAY entry in the log of " + this + ": " + operation);
        strayed.accept(operation);
        entries.add(new Entry(leadsTerm, stray.bytes));
        Committed committed = applyNext();
        if (committed != null) {
          var _ = stray.answer.complete(committed);
        }
      }
      int count = 1 + loop.random().nextInt(mine.size());
      for (int i = 0; i < count; i++) {
        agreed(mine.removeFirst());
      }
      members().forEach(Member::followSoon);
      if (!mine.isEmpty()) {
        commitSoon(100_000 + (long) (loop.random().nextDouble() * slowestNanos));
      }
    }

    private void agreed(Proposal proposal) {
      entries.add(new Entry(leadsTerm, proposal.bytes));
      newestProposed.merge(leadsTerm, proposal.submitted, Math::max);
      loop.mix(proposal.bytes == null ? 0 : proposal.bytes.length);
      Committed committed = applyNext();
      if (committed == null) {
        become(new Role(leadsTerm, true, true, Optional.of(self)));
      } else {
        var _ = proposal.answer.complete(committed);
      }
    }

    @Override
    public CompletableFuture<Committed> barrier() {
      return barriers.barrier();
    }

    @Override
    public Role role() {
      return role;
    }

    @Override
    public void onRole(RoleListener listener) {
      listeners.add(listener);
      listener.changed(role);
    }

    @Override
    public boolean alone() {
      return false;
    }

    @Override
    public long lastApplied() {
      return state.lastApplied();
    }

    @Override
    public void close() {
      mine.clear();
    }

    @Override
    public String toString() {
      return self.name();
    }
  }
}
