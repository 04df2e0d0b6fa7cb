package io.leasefs.chunkserver.replica;

import static java.util.Objects.requireNonNull;

import io.leasefs.common.api.ChunkApi.ReadMode;
import io.leasefs.common.api.ChunkApi.ReadRequest;
import io.leasefs.common.api.Frame;
import io.leasefs.common.api.FrameAnswer;
import io.leasefs.common.api.Heartbeat;
import io.leasefs.common.api.Heartbeat.Certainty;
import io.leasefs.common.api.Heartbeat.SealAnswer;
import io.leasefs.common.api.Heartbeat.VersionStarted;
import io.leasefs.common.api.Mutation;
import io.leasefs.common.api.MutationKind;
import io.leasefs.common.api.PeerMessage;
import io.leasefs.common.checksum.Checksums;
import io.leasefs.common.lease.LeaseTerms;
import io.leasefs.common.model.ChunkHandle;
import io.leasefs.common.model.ChunkSeal;
import io.leasefs.common.model.ChunkSpec;
import io.leasefs.common.model.Configuration;
import io.leasefs.common.model.DiskId;
import io.leasefs.common.model.Durability;
import io.leasefs.common.model.FileId;
import io.leasefs.common.model.LeaseGrant;
import io.leasefs.common.model.Member;
import io.leasefs.common.model.ReplicaId;
import io.leasefs.common.model.ServerAddress;
import io.leasefs.common.model.ServerId;
import io.leasefs.common.model.SessionId;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.PriorityQueue;
import java.util.Random;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/**
 * One chunk on four servers, a small model of the master and three clients, on one seeded event
 * loop: messages are lost, doubled, delayed and reordered, servers are killed or lose power, the
 * primary is changed for reasons and for none. What must never happen is checked as it goes; what
 * must hold at rest is checked in the end.
 */
final class ReplicaSimulation {
  static final long MILLI = 1_000_000;
  private static final long SECOND = 1000 * MILLI;
  private static final LeaseTerms TERMS = LeaseTerms.ofTtl(SECOND);
  private static final FileId FILE = new FileId(7);
  private static final ChunkHandle CHUNK = new ChunkHandle(0x51c);
  private static final ServerAddress NOWHERE = new ServerAddress("localhost", 1);
  private static final int OPERATIONS = 14;

  final Random random;
  private final PriorityQueue<Timed> queue =
      new PriorityQueue<>(Comparator.comparingLong(Timed::at).thenComparingLong(Timed::order));
  private long order;
  long now = SECOND;
  final List<String> trace = new ArrayList<>();

  /** Every lease looks valid and every gate open: clocks are all wrong. Writes must not care. */
  private final boolean clocksWrong;

  private final boolean reorders;
  private final double loss;

  /** Most milliseconds between two troubles. */
  private final long wildness;

  private final ChunkSpec spec;
  private boolean calm;
  private boolean deadFromNow;
  private int powerCutsLeft;

  final Map<ServerId, Server> servers = new LinkedHashMap<>();
  private final Master master;
  private final List<Client> clients = new ArrayList<>();
  private final Judge judge = new Judge();
  private long tickets;
  private final Map<Long, Asked> asked = new TreeMap<>();

  /** How often what came about: a run in which nothing happens proves nothing. */
  final Map<String, Integer> counts = new TreeMap<>();

  void count(String what) {
    counts.merge(what, 1, Integer::sum);
  }

  private record Timed(long at, long order, Runnable task) {}

  private record Asked(Client client, long sequence, boolean abort) {}

  ReplicaSimulation(long seed) {
    random = new Random(seed);
    clocksWrong = random.nextInt(3) == 0;
    reorders = random.nextInt(3) == 0;
    loss = random.nextInt(4) == 0 ? 0 : random.nextDouble() * 0.1;
    wildness = 100L + random.nextInt(900);
    boolean synced = random.nextBoolean();
    powerCutsLeft = synced ? 5 : random.nextInt(3);
    long capacity = 1 << 20;
    spec = new ChunkSpec(CHUNK, FILE, capacity, synced ? Durability.SYNCED : Durability.REPLICATED);
    for (String name : List.of("a", "b", "c", "d")) {
      Server server = new Server(name);
      servers.put(server.self.server(), server);
    }
    master = new Master();
    for (int i = 1; i <= 3; i++) {
      clients.add(new Client(i));
    }
  }

  // ---- the loop ----------------------------------------------------------------------------

  private void at(long delay, Runnable task) {
    queue.add(new Timed(now + delay, order++, task));
  }

  private long between(long fromMillis, long toMillis) {
    return fromMillis * MILLI + random.nextLong((toMillis - fromMillis) * MILLI + 1);
  }

  private boolean chance(double p) {
    return random.nextDouble() < p;
  }

  private void runUntil(long end) {
    while (!queue.isEmpty() && queue.peek().at() <= end) {
      Timed next = queue.poll();
      now = next.at();
      next.task().run();
    }
    now = end;
  }

  /** Some seconds of trouble, then peace until all is answered, then what must hold at rest. */
  void run() {
    master.start();
    clients.forEach(Client::act);
    trouble();
    reading();
    runUntil(now + 4 * SECOND);
    calm = true;
    servers.values().forEach(s -> s.blockedUntil = 0);
    long deadline = now + 60 * SECOND;
    while (now < deadline && !settled()) {
      runUntil(now + SECOND / 2);
    }
    if (!settled()) {
      throw judge.violated("not at rest: " + master + " " + clients + " " + servers.values());
    }
    runUntil(now + SECOND);
    judge.atRest();
  }

  private boolean settled() {
    if (!clients.stream().allMatch(Client::done) || master.change != null) {
      return false;
    }
    return master.gaveUp
        || servers.values().stream()
            .allMatch(s -> s.core != null && master.members().contains(s.self));
  }

  private void trouble() {
    if (calm) {
      return;
    }
    Server any = any();
    switch (random.nextInt(8)) {
      case 0 -> any.kill(false);
      case 1 -> {
        if (powerCutsLeft > 0) {
          powerCutsLeft--;
          any.kill(true);
        }
      }
      case 2 -> any.blockedUntil = now + between(50, 1500);
      case 3 -> broken(any, any());
      case 4 -> any.diskSlowUntil = now + between(50, 800);
      case 5 -> any.step(new ReplicaEvent.CompactionWanted());
      case 6 -> {
        if (chance(0.2)) {
          deadFromNow = true;
        }
      }
      default -> {}
    }
    if (deadFromNow) { // the third client's session, though the client does not know
      servers
          .values()
          .forEach(
              s ->
                  s.step(
                      new ReplicaEvent.SessionsDead(
                          4, List.of(new SessionId(1), new SessionId(2)), false)));
    }
    at(between(10, wildness), this::trouble);
  }

  private Server any() {
    return List.copyOf(servers.values()).get(random.nextInt(servers.size()));
  }

  private void broken(Server one, Server other) {
    one.step(new ReplicaEvent.PeerBroken(other.self.server()));
    other.step(new ReplicaEvent.PeerBroken(one.self.server()));
  }

  private void reading() {
    if (!calm) {
      any().read();
      at(between(1, 120), this::reading);
    }
  }

  private void log(String line) {
    if (trace.size() < 200_000) {
      trace.add((now - SECOND) / 1000 + "us " + line);
    }
  }

  // ---- a server ----------------------------------------------------------------------------

  /** A disk that survives, and a core that does not. */
  final class Server {
    final Member self;
    int incarnation;
    @Nullable ReplicaCore core;
    long blockedUntil;
    long diskSlowUntil;

    // what the disk holds
    long promised = 1;
    final List<Mutation> journal = new ArrayList<>();
    int forced;
    long committed;
    Certainty certainty = Certainty.CERTAIN;
    boolean learner;
    ReplicaImage.Snapshot snapshot = ReplicaImage.emptySnapshot();

    private final ArrayDeque<ReplicaAction.DiskAction> work = new ArrayDeque<>();
    private boolean working;
    private long wakeAt = Long.MAX_VALUE;
    private long highestPromise;
    private final Map<Long, Long> reads = new TreeMap<>();
    private final Map<ServerId, Long> arrivals = new TreeMap<>();

    Server(String name) {
      self =
          new Member(new ServerId(name), new DiskId("disk-" + name), new ReplicaId(name.charAt(0)));
      learner = name.equals("d");
      core =
          learner
              ? ReplicaCore.restarted(image(), TERMS)
              : ReplicaCore.born(ReplicaImage.newborn(spec, self, Certainty.CERTAIN), TERMS);
    }

    private ReplicaImage image() {
      return new ReplicaImage(
          spec,
          self,
          promised,
          learner,
          certainty,
          snapshot,
          Math.max(committed, snapshot.serial()),
          journal.stream().skip(snapshot.serial()).map(Mutation::withoutPayload).toList());
    }

    boolean up() {
      return core != null;
    }

    void kill(boolean power) {
      if (core == null) {
        return;
      }
      count(power ? "power cuts" : "kills");
      log(self + (power ? " loses power" : " is killed"));
      core = null;
      incarnation++;
      work.clear();
      working = false;
      wakeAt = Long.MAX_VALUE;
      reads.clear();
      if (power) {
        int left = forced + random.nextInt(journal.size() - forced + 1);
        journal.subList(left, journal.size()).clear();
        committed = Math.min(committed, left);
        if (spec.durability() == Durability.REPLICATED) {
          certainty = Certainty.UNCERTAIN;
        }
      }
      int life = incarnation;
      for (Server other : servers.values()) {
        at(between(0, 20), () -> other.step(new ReplicaEvent.PeerBroken(self.server())));
      }
      at(between(30, 1500), () -> restart(life));
    }

    private void restart(int life) {
      if (core == null && incarnation == life) {
        core = ReplicaCore.restarted(image(), TERMS);
        forced = journal.size();
        log(self + " is back, last " + journal.size() + " promised " + promised);
      }
    }

    void step(ReplicaEvent event) {
      if (core == null) {
        return;
      }
      List<ReplicaAction> actions = core.step(event, now);
      core.invariant();
      judge.stepped(this, event, actions);
      for (ReplicaAction action : actions) {
        act(action);
      }
      startWork();
      planTick();
    }

    private void planTick() {
      long due = core == null ? Long.MAX_VALUE : core.wakeAt();
      if (due < wakeAt) {
        wakeAt = due;
        int life = incarnation;
        at(
            Math.max(0, due - now),
            () -> {
              if (life == incarnation && wakeAt <= now) {
                wakeAt = Long.MAX_VALUE;
                step(new ReplicaEvent.Tick());
                planTick();
              }
            });
      }
    }

    private void act(ReplicaAction action) {
      switch (action) {
        case ReplicaAction.DiskAction disk -> work.add(disk);
        case ReplicaAction.Send send -> send(send.to(), send.message());
        case ReplicaAction.Answer answer -> answered(answer);
        case ReplicaAction.ServeRead serve ->
            judge.read(this, reads.getOrDefault(serve.ticket(), -1L), serve);
        case ReplicaAction.RefuseRead ignored -> {}
        case ReplicaAction.ReportSeal report ->
            toMaster(() -> master.sealAnswer(this, report.answer()));
        case ReplicaAction.ReportVersionStarted report ->
            toMaster(() -> master.started(this, report.started()));
        case ReplicaAction.ReportFailedMember report ->
            toMaster(() -> master.failed(report.failed()));
        case ReplicaAction.ReportReplica report ->
            toMaster(() -> master.replica(this, report.report()));
        case ReplicaAction.ReleaseLease release ->
            toMaster(() -> master.released(this, release.lease().version()));
        case ReplicaAction.Note ignored -> {}
      }
    }

    /** Told again until heard: a heartbeat. A report of an incarnation that is gone is dropped. */
    private void toMaster(Runnable report) {
      int life = incarnation;
      at(
          between(0, 4),
          () -> {
            if (life != incarnation) {
              return;
            }
            if (now < blockedUntil) {
              toMaster(report);
            } else {
              report.run();
            }
          });
    }

    private void send(ServerId to, PeerMessage message) {
      if (!calm && chance(loss)) {
        return;
      }
      Server receiver = servers.get(to);
      if (receiver == null) {
        return;
      }
      int copies = !calm && chance(loss) ? 2 : 1;
      for (int i = 0; i < copies; i++) {
        long when = now + (chance(0.02) ? between(5, 120) : between(0, 3));
        if (!reorders) {
          when = Math.max(when, receiver.arrivals.getOrDefault(self.server(), 0L));
          receiver.arrivals.put(self.server(), when);
        }
        int life = receiver.incarnation;
        at(
            when - now,
            () -> {
              if (life == receiver.incarnation && now >= receiver.blockedUntil) {
                receiver.step(new ReplicaEvent.PeerArrived(self.server(), message));
              }
            });
      }
    }

    // -- disk

    private void startWork() {
      if (!working && !work.isEmpty()) {
        working = true;
        int life = incarnation;
        long delay = now < diskSlowUntil ? between(1, 80) : random.nextLong(2 * MILLI);
        at(
            delay,
            () -> {
              if (life == incarnation) {
                working = false;
                doWork(1 + random.nextInt(3));
              }
            });
      }
    }

    /** Carries some out, then tells, all in one, as a group commit does. */
    private void doWork(int most) {
      long done = 0;
      List<ReplicaEvent> told = new ArrayList<>();
      for (int i = 0; i < most && !work.isEmpty(); i++) {
        ReplicaAction.DiskAction action = work.remove();
        carryOut(action, told);
        done = action.id();
      }
      told.forEach(this::step);
      step(new ReplicaEvent.DiskDone(done));
    }

    private void carryOut(ReplicaAction.DiskAction action, List<ReplicaEvent> told) {
      switch (action) {
        case ReplicaAction.Append append -> {
          if (append.mutation().serial() != journal.size() + 1L) {
            throw judge.violated(self + " appends " + append + " after " + journal.size());
          }
          journal.add(append.mutation());
          judge.journalled(this, append.mutation());
          force(append.force());
        }
        case ReplicaAction.Commit commit -> committed = commit.serial();
        case ReplicaAction.StorePromise promise -> {
          promised = promise.version();
          force(true);
        }
        case ReplicaAction.Cut cut -> {
          count("cuts");
          if (cut.serial() < committed) {
            throw judge.violated(self + " cuts committed " + committed + ": " + cut);
          }
          journal.subList((int) cut.serial(), journal.size()).clear();
          force(true);
        }
        case ReplicaAction.StoreStanding standing -> {
          certainty = standing.certainty();
          learner = standing.learner();
          force(true);
        }
        case ReplicaAction.ComputeChecksum sum ->
            told.add(new ReplicaEvent.Checksummed(sum.id(), checksum((int) sum.serial())));
        case ReplicaAction.ReadBack read ->
            told.add(
                new ReplicaEvent.RecordsRead(
                    read.id(),
                    journal.subList(
                        (int) read.fromSerial() - 1,
                        Math.min(journal.size(), (int) read.fromSerial() + 2))));
        case ReplicaAction.Compact compact -> {
          count("compactions");
          snapshot = compact.snapshot();
          force(true);
        }
      }
    }

    private void force(boolean yes) {
      if (yes) {
        forced = journal.size();
      }
    }

    private int checksum(int serial) {
      int sum = 0;
      for (Mutation mutation : journal.subList(0, serial)) {
        sum = sum * 31 + identity(mutation).hashCode();
      }
      return sum;
    }

    void read() {
      if (core == null) {
        return; // though cut off from master and peers, it may still be reached by a reader
      }
      long ticket = ++tickets;
      reads.put(ticket, judge.acknowledgedUpTo());
      ReadMode mode = chance(0.5) ? ReadMode.STRICT : ReadMode.DEFAULT;
      Optional<ChunkSeal> seal = Optional.ofNullable(master.sealed);
      if (clocksWrong && mode == ReadMode.DEFAULT && seal.isEmpty()) {
        return; // a lease read is worth no more than the clocks
      }
      step(
          new ReplicaEvent.ReadArrived(
              ticket,
              new ReadRequest(
                  CHUNK, chance(0.7) ? master.version : master.before, seal, 0, 100, mode)));
    }

    void answered(ReplicaAction.Answer answer) {
      Asked frame = asked.get(answer.ticket());
      if (frame != null) {
        judge.answered(this, frame, answer.answer());
        if (calm || !chance(loss)) {
          at(between(0, 3), () -> frame.client().answered(frame.sequence(), answer.answer()));
        }
      }
    }

    @Override
    public String toString() {
      return self + (core == null ? " down" : " " + core.report());
    }
  }

  static String identity(Mutation m) {
    return m.version()
        + "/"
        + m.serial()
        + " "
        + m.kind()
        + "@"
        + m.offset()
        + " s"
        + m.session()
        + "#"
        + m.sequence()
        + " "
        + m.chunkLength()
        + " "
        + m.detail()
        + m.checksums();
  }

  // ---- the master --------------------------------------------------------------------------

  /** Begin, seal, recover, activate (protocol, section 4), and no more than that. */
  private final class Master {
    long lastVersion = 1;
    long version = 1;
    List<Member> active = List.of();
    long before = 1;
    long firstSerial;
    @Nullable Server holder;
    Lease lease = new Lease();
    @Nullable ChunkSeal sealed;
    @Nullable Change change;
    boolean gaveUp;
    private int seals = random.nextInt(3) == 0 ? 1 + random.nextInt(2) : 0;

    /** What an incarnation has told. */
    private record Told<T>(T what, int incarnation) {
      boolean stillBy(Server server) {
        return incarnation == server.incarnation;
      }
    }

    /** A lease as both ends see it. */
    private static final class Lease {
      long holderEnd;
      long masterEnd;
      boolean open;
    }

    private final class Change {
      final long next = ++lastVersion;
      final long begunAt = now;
      final boolean seals;
      final boolean reopens;
      final @Nullable Server wish;
      final Map<Server, Told<SealAnswer>> answers = new LinkedHashMap<>();
      final Map<Server, Told<VersionStarted>> starts = new LinkedHashMap<>();
      final List<Member> targets = new ArrayList<>();
      @Nullable Server seed;
      int seedLife;
      long recoveringAt;

      Change(@Nullable Server wish, boolean seals, boolean reopens) {
        this.wish = wish;
        this.seals = seals;
        this.reopens = reopens;
        if (wish != holder) {
          revoke();
        }
      }
    }

    List<Member> members() {
      return active;
    }

    private Server at(Member member) {
      return requireNonNull(servers.get(member.server()));
    }

    void start() {
      active = servers.values().stream().map(s -> s.self).limit(3).toList();
      holder = at(active.get(0));
      grant();
      tick();
      renew();
    }

    private void grant() {
      if (holder == null) {
        return;
      }
      Server to = holder;
      Lease granted = new Lease();
      lease = granted;
      granted.holderEnd = now + SECOND - 20 * MILLI;
      granted.masterEnd = now + SECOND + 20 * MILLI;
      LeaseGrant grant =
          new LeaseGrant(
              spec,
              version,
              new Configuration(version, Optional.of(to.self.server()), active, firstSerial),
              Map.of());
      to.toMaster(
          () ->
              to.step(
                  new ReplicaEvent.Granted(grant, at -> clocksWrong || at < granted.holderEnd)));
    }

    private void renew() {
      Server to = holder;
      if (to != null && to.up() && now >= to.blockedUntil && !moving()) {
        Lease renewed = lease;
        long end = now + SECOND - 20 * MILLI;
        renewed.masterEnd = now + SECOND + 20 * MILLI;
        ReplicaSimulation.this.at(
            between(0, 30), () -> renewed.holderEnd = Math.max(renewed.holderEnd, end));
      }
      ReplicaSimulation.this.at(between(150, 250), this::renew);
    }

    private boolean moving() {
      return change != null && change.wish != holder;
    }

    private void revoke() {
      Server of = holder;
      long revoked = version;
      if (of != null && chance(0.5)) {
        of.toMaster(() -> of.step(new ReplicaEvent.LeaseOver(revoked)));
      }
    }

    private boolean gateOpen() {
      return clocksWrong || holder == null || lease.open || now >= lease.masterEnd || !sameLife();
    }

    private boolean sameLife() {
      return holder != null && holder.incarnation == holderLife;
    }

    private int holderLife;

    // -- events

    void released(Server from, long released) {
      if (from == holder && released == version) {
        lease.open = true;
      }
    }

    void failed(Heartbeat.FailedMember failed) {
      if (failed.version() == version && change == null && sealed == null) {
        begin(holder, false, false);
      }
    }

    void replica(Server from, Heartbeat.ReplicaReport report) {
      if (sealed == null
          && report.seal().isPresent()
          && report.accepted() == version
          && active.contains(from.self)) {
        logSeal(report.seal().get());
        change = null; // the entry that logs a committed seal drops a pending change
      }
    }

    private void logSeal(ChunkSeal seal) {
      count("seals");
      log("master: sealed at " + version + " " + seal);
      sealed = seal;
      Server of = holder;
      long over = version;
      if (of != null) {
        of.toMaster(() -> of.step(new ReplicaEvent.LeaseOver(over)));
      }
      holder = null;
      lease.open = true;
    }

    void sealAnswer(Server from, SealAnswer answer) {
      Change to = change;
      if (to != null && answer.version() == to.next && answer.promised() == to.next) {
        to.answers.put(from, new Told<>(answer, from.incarnation));
      }
    }

    void started(Server from, VersionStarted started) {
      Change to = change;
      if (to != null && started.version() == to.next) {
        to.starts.put(from, new Told<>(started, from.incarnation));
      }
    }

    // -- the loop

    private void begin(@Nullable Server wish, boolean seals, boolean reopens) {
      change = new Change(wish, seals, reopens);
      log("master: begin " + change.next + " wish " + wish);
    }

    private void tick() {
      if (change != null) {
        drive(change);
      } else if (sealed != null) {
        settle();
        reopenPerhaps();
      } else {
        settle();
        changePerhaps();
      }
      ReplicaSimulation.this.at(between(10, 40), this::tick);
    }

    private void settle() {
      long serial = sealed != null ? sealed.serial() : firstSerial;
      for (Member member : active) {
        command(at(member), new Heartbeat.SettledCommand(CHUNK, version, serial));
      }
    }

    private void reopenPerhaps() {
      if (clients.stream().allMatch(Client::idle) && calm && chance(0.3)) {
        boolean all = active.size() == servers.size();
        if (!all || seals > 0) {
          begin(null, false, true);
        }
      }
    }

    private void changePerhaps() {
      Server current = holder;
      boolean lost = current == null || !current.up() || lease.open || !sameLife();
      if (lost && chance(0.3)) {
        begin(null, seals > 0 && chance(0.3), false);
      } else if (!calm && chance(0.01)) {
        begin(chance(0.5) ? current : null, seals > 0 && chance(0.3), false);
      } else if (!calm && seals > 0 && chance(0.01) && current != null) {
        command(current, new Heartbeat.CloseCommand(CHUNK, version));
      } else if (calm && active.size() < servers.size() && chance(0.2)) {
        begin(current, false, false);
      }
    }

    private void drive(Change to) {
      if (to.seed == null) {
        seal(to);
        chooseSeed(to);
      } else if (to.seed.incarnation != to.seedLife || now - to.recoveringAt > 3 * SECOND) {
        begin(to.wish, to.seals, to.reopens); // one seed for ever: the next version
      } else {
        command(
            to.seed,
            new Heartbeat.RecoverCommand(
                spec,
                to.next,
                to.targets.stream().map(m -> new Heartbeat.Target(m, NOWHERE)).toList(),
                to.seals,
                to.reopens,
                0));
        activatePerhaps(to);
      }
    }

    private void seal(Change to) {
      to.answers.entrySet().removeIf(each -> !each.getValue().stillBy(each.getKey()));
      for (Member member : active) {
        if (!to.answers.containsKey(at(member))) {
          command(at(member), new Heartbeat.SealCommand(spec, member, to.next, Optional.empty()));
        }
      }
      if (now - to.begunAt > 5 * SECOND && calm) {
        gaveUp = active.stream().noneMatch(m -> at(m).certainty == Certainty.CERTAIN);
        if (gaveUp) {
          count("given up");
          log("master: no certain member is left");
          change = null;
          clients.forEach(Client::giveUp);
          holder = null;
        }
      }
    }

    private void chooseSeed(Change to) {
      boolean all = active.stream().allMatch(m -> !at(m).up() || to.answers.containsKey(at(m)));
      if (!all && chance(0.8)) {
        return; // it waits a little for the others
      }
      Server best = null;
      SealAnswer bestAnswer = null;
      for (Map.Entry<Server, Told<SealAnswer>> each : to.answers.entrySet()) {
        SealAnswer answer = each.getValue().what();
        if (answer.certainty() == Certainty.CERTAIN
            && each.getValue().stillBy(each.getKey())
            && (bestAnswer == null || newer(answer, bestAnswer))) {
          best = each.getKey();
          bestAnswer = answer;
        }
      }
      if (best == null) {
        return;
      }
      to.seed = best;
      to.seedLife = best.incarnation;
      to.recoveringAt = now;
      for (Server server : servers.values()) {
        if (server != best && (calm || active.contains(server.self) || chance(0.7))) {
          to.targets.add(server.self);
        }
      }
      log("master: recover " + to.next + " seed " + best.self + " targets " + to.targets);
    }

    private boolean newer(SealAnswer one, SealAnswer other) {
      return one.accepted() != other.accepted()
          ? one.accepted() > other.accepted()
          : one.lastSerial() > other.lastSerial();
    }

    private void activatePerhaps(Change to) {
      List<Server> ready = new ArrayList<>();
      for (Map.Entry<Server, Told<VersionStarted>> each : to.starts.entrySet()) {
        if (each.getValue().stillBy(each.getKey()) && each.getKey().up()) {
          ready.add(each.getKey());
        }
      }
      boolean enough = ready.size() > to.targets.size() || now - to.recoveringAt > SECOND / 2;
      if (ready.size() < 2 || (!enough && chance(0.9))) {
        return;
      }
      VersionStarted start = requireNonNull(to.starts.get(ready.get(0))).what();
      Server primary =
          to.wish != null && ready.contains(to.wish)
              ? to.wish
              : ready.get(random.nextInt(ready.size()));
      boolean seals = start.seal().isPresent();
      if (!seals && primary != holder && !gateOpen()) {
        revoke();
        return;
      }
      count(
          seals
              ? "activated sealed"
              : primary == holder ? "activated same primary" : "activated new primary");
      if (to.reopens) {
        count("activated reopened");
      }
      judge.activated(to.next, start.firstSerial(), ready);
      ready.remove(primary);
      ready.add(0, primary);
      before = version;
      version = to.next;
      firstSerial = start.firstSerial();
      active = ready.stream().map(s -> s.self).toList();
      sealed = null;
      change = null;
      judge.configurations.put(version, active);
      log("master: active " + version + " " + active + " first " + firstSerial);
      if (seals) {
        logSeal(start.seal().get());
        this.seals--;
      } else {
        holder = primary;
        holderLife = primary.incarnation;
        grant();
      }
    }

    private void command(Server to, Heartbeat.Command command) {
      if (calm || !chance(loss)) {
        int life = to.incarnation;
        ReplicaSimulation.this.at(
            between(0, 4),
            () -> {
              if (life == to.incarnation && now >= to.blockedUntil) {
                to.step(new ReplicaEvent.Commanded(command));
              }
            });
      }
    }

    @Override
    public String toString() {
      return "version="
          + version
          + " active="
          + active
          + " holder="
          + holder
          + " sealed="
          + sealed
          + " change="
          + (change == null ? "-" : change.next + " seed " + change.seed);
    }
  }

  // ---- a client ----------------------------------------------------------------------------

  /** Sends each frame until it has a definite answer, at whichever primary there is. */
  private final class Client {
    final long session;
    private long next = 1;
    private final TreeMap<Long, Frame> outstanding = new TreeMap<>();
    private final TreeMap<Long, Long> aborting = new TreeMap<>();
    private boolean gaveUp;

    Client(long session) {
      this.session = session;
    }

    boolean done() {
      return gaveUp || (next > OPERATIONS && outstanding.isEmpty());
    }

    boolean idle() {
      return outstanding.isEmpty();
    }

    void giveUp() {
      gaveUp = true;
      outstanding.clear();
    }

    void act() {
      if (gaveUp) {
        return;
      }
      if (outstanding.size() < 3 && next <= OPERATIONS && chance(0.5)) {
        outstanding.put(next, fresh());
        next++;
      }
      for (long sequence : List.copyOf(outstanding.keySet())) {
        if (chance(0.4)) {
          sendFrame(sequence);
        }
      }
      at(between(5, 60), this::act);
    }

    private Frame fresh() {
      boolean write = chance(0.2);
      long after = chance(0.5) && !outstanding.isEmpty() ? outstanding.lastKey() : 0;
      String text = "<" + session + "." + next + ">" + "x".repeat(random.nextInt(40));
      ByteBuffer payload = ByteBuffer.wrap(text.getBytes(StandardCharsets.UTF_8));
      return new Frame(
          FILE,
          CHUNK,
          0,
          0,
          new SessionId(session),
          next,
          0,
          after,
          write ? MutationKind.WRITE : MutationKind.APPEND,
          0,
          false,
          Checksums.of(payload, Frame.PIECE),
          payload,
          Optional.empty());
    }

    private void sendFrame(long sequence) {
      Frame frame = requireNonNull(outstanding.get(sequence));
      boolean abort =
          aborting.containsKey(sequence)
              || (!calm && sequence == outstanding.lastKey() && chance(0.02));
      Server to =
          master.holder != null && chance(0.8) && master.sealed == null
              ? requireNonNull(master.holder)
              : master.at(master.active.get(random.nextInt(master.active.size())));
      long version = chance(0.95) ? master.version : master.lastVersion;
      Frame sent = abort ? abort(frame, version) : stamped(frame, version);
      if (abort && next > OPERATIONS + 30) {
        return;
      }
      if (!calm && chance(loss)) {
        return;
      }
      int copies = !calm && chance(loss * 2) ? 2 : 1;
      for (int i = 0; i < copies; i++) {
        long ticket = ++tickets;
        asked.put(ticket, new Asked(this, sequence, abort));
        int life = to.incarnation;
        at(
            chance(0.05) ? between(10, 400) : between(0, 3),
            () -> {
              if (life == to.incarnation && now >= to.blockedUntil) {
                to.step(new ReplicaEvent.FrameArrived(ticket, sent));
              }
            });
      }
    }

    /** Aborts the last sequence; from then on only the abort is sent, under one sequence. */
    private Frame abort(Frame frame, long version) {
      long own = aborting.computeIfAbsent(frame.sequence(), s -> 1000 + s);
      return new Frame(
          FILE,
          CHUNK,
          version,
          0,
          frame.session(),
          floor() + Math.min(own, Frame.WINDOW - 1L),
          floor(),
          0,
          MutationKind.ABORT,
          frame.sequence(),
          false,
          Checksums.NONE,
          ByteBuffer.allocate(0),
          Optional.empty());
    }

    private long floor() {
      return outstanding.firstKey();
    }

    private Frame stamped(Frame frame, long version) {
      return new Frame(
          frame.file(),
          frame.chunk(),
          version,
          0,
          frame.session(),
          frame.sequence(),
          floor(),
          frame.after(),
          frame.kind(),
          frame.offset(),
          false,
          frame.checksums(),
          frame.payload(),
          Optional.empty());
    }

    void answered(long sequence, FrameAnswer answer) {
      switch (answer) {
        case FrameAnswer.Applied ignored -> outstanding.remove(sequence);
        case FrameAnswer.NotApplied ignored -> outstanding.remove(sequence);
        case FrameAnswer.ChunkFull ignored -> outstanding.remove(sequence);
        case FrameAnswer.OutOfOrder ignored -> dropAfter(sequence);
        case FrameAnswer.Expired ignored -> {}
        case FrameAnswer.Refused ignored -> {}
      }
    }

    /** What it had to follow was never applied: it is aborted, too. */
    private void dropAfter(long sequence) {
      Frame frame = outstanding.get(sequence);
      if (frame != null && !outstanding.containsKey(frame.after())) {
        aborting.putIfAbsent(sequence, 1000 + sequence);
      }
    }

    @Override
    public String toString() {
      return "client " + session + " next " + next + " waits for " + outstanding.keySet();
    }
  }

  // ---- the judge ---------------------------------------------------------------------------

  /** Knows what must never be. */
  private final class Judge {
    final Map<Long, List<Member>> configurations = new TreeMap<>();
    private final Map<String, String> contents = new TreeMap<>();
    private final Map<String, FrameAnswer> definite = new TreeMap<>();
    private final TreeMap<Long, String> acknowledged = new TreeMap<>();
    private long newestRead;

    AssertionError violated(String what) {
      return new AssertionError(what);
    }

    long acknowledgedUpTo() {
      return Math.max(newestRead, acknowledged.isEmpty() ? 0 : acknowledged.lastKey());
    }

    void stepped(Server server, ReplicaEvent event, List<ReplicaAction> actions) {
      ReplicaCore core = requireNonNull(server.core);
      long promised = core.report().promised();
      if (promised < server.highestPromise) {
        throw violated("I3: " + server.self + " promised " + server.highestPromise + " before");
      }
      for (ReplicaAction action : actions) {
        switch (action) {
          case ReplicaAction.ReportSeal seal -> {
            if (seal.answer().promised() == promised && server.promised < promised) {
              throw violated("promise answered before it was durable: " + server.self);
            }
            server.highestPromise = Math.max(server.highestPromise, promised);
          }
          case ReplicaAction.ReportFailedMember ignored -> count("blames");
          case ReplicaAction.Append append -> {
            boolean live =
                event instanceof ReplicaEvent.FrameArrived
                    || (event instanceof ReplicaEvent.PeerArrived peer
                        && peer.message() instanceof PeerMessage.Forward);
            if (live && append.mutation().version() < promised) {
              throw violated("I7: " + server.self + " appends " + append + " below " + promised);
            }
          }
          case ReplicaAction.Send send -> {
            if (send.message() instanceof PeerMessage.ChainProgress progress
                && progress.version() < promised
                && progress.members().get(0).lastSerial() > 0) {
              throw violated("I7: " + server.self + " acknowledges below " + promised);
            }
          }
          default -> {}
        }
      }
    }

    void journalled(Server server, Mutation mutation) {
      if (mutation.kind() == MutationKind.DEAD) {
        count("dead sessions");
      }
      String place = mutation.version() + "/" + mutation.serial();
      String known = contents.putIfAbsent(place, identity(mutation));
      if (known != null && !known.equals(identity(mutation))) {
        throw violated("I5: " + server.self + " has " + identity(mutation) + ", was " + known);
      }
    }

    void answered(Server server, Asked frame, FrameAnswer answer) {
      String name = frame.client().session + "#" + frame.sequence();
      log(server.self + " answers " + name + (frame.abort() ? " abort " : " ") + answer);
      if (answer instanceof FrameAnswer.Expired
          && frame.client().outstanding.containsKey(frame.sequence())) {
        throw violated("expired though awaited: " + name);
      }
      count("answers " + answer.getClass().getSimpleName());
      FrameAnswer plain = plain(answer);
      if (plain == null) {
        return;
      }
      FrameAnswer before = definite.putIfAbsent(name, plain);
      if (before != null && !before.equals(plain)) {
        throw violated("I9: " + name + " was " + before + ", is " + plain);
      }
      if (before == null && plain instanceof FrameAnswer.Applied applied) {
        acknowledge(server, name, applied);
      }
    }

    /** Definite answers, those that mean the same made equal; null for the others. */
    private @Nullable FrameAnswer plain(FrameAnswer answer) {
      return switch (answer) {
        case FrameAnswer.Applied a ->
            new FrameAnswer.Applied(a.offset(), a.version(), a.serial(), Optional.empty());
        case FrameAnswer.NotApplied a -> a;
        case FrameAnswer.ChunkFull a -> new FrameAnswer.NotApplied();
        case FrameAnswer.OutOfOrder a -> null;
        case FrameAnswer.Expired a -> null;
        case FrameAnswer.Refused a -> null;
      };
    }

    private void acknowledge(Server server, String name, FrameAnswer.Applied applied) {
      String mutation =
          requireNonNull(contents.get(applied.version() + "/" + applied.serial()), name);
      acknowledged.put(applied.serial(), mutation);
      ReplicaCore core = requireNonNull(server.core);
      for (Member member : configurations.getOrDefault(core.report().accepted(), List.of())) {
        Server holder = requireNonNull(servers.get(member.server()));
        if (holder.certainty == Certainty.CERTAIN && !has(holder, applied.serial(), mutation)) {
          throw violated("I6: " + name + " is not at " + holder + ", answered by " + server);
        }
      }
    }

    private boolean has(Server server, long serial, String mutation) {
      return server.journal.size() >= serial
          && identity(server.journal.get((int) serial - 1)).equals(mutation);
    }

    void activated(long version, long firstSerial, List<Server> members) {
      for (Server member : members) {
        acknowledged.forEach(
            (serial, mutation) -> {
              if (serial > firstSerial || !has(member, serial, mutation)) {
                throw violated(
                    "I6: version "
                        + version
                        + " starts at "
                        + member.self
                        + " without "
                        + mutation);
              }
            });
      }
    }

    void read(Server server, long before, ReplicaAction.ServeRead serve) {
      if (serve.serial() < before) {
        throw violated(
            "I8: read at " + server.self + " sees " + serve.serial() + ", not " + before);
      }
      count(sealedRead(serve) ? "reads of sealed" : "reads of open");
      newestRead = Math.max(newestRead, serve.serial());
    }

    private boolean sealedRead(ReplicaAction.ServeRead serve) {
      return serve.sealed();
    }

    void atRest() {
      Map<String, Integer> times = new TreeMap<>();
      if (master.gaveUp) {
        return;
      }
      Server first = master.at(master.active.get(0));
      for (Member member : master.active) {
        Server server = master.at(member);
        ReplicaCore core = requireNonNull(server.core);
        ReplicaCore other = requireNonNull(first.core);
        if (!core.snapshot().equals(other.snapshot())) {
          throw violated("I10: " + core.snapshot() + "\n is not " + other.snapshot());
        }
        if (core.report().committedSerial() != server.journal.size()) {
          throw violated("not all is committed at rest: " + server);
        }
      }
      acknowledged.forEach(
          (serial, mutation) -> {
            if (!has(first, serial, mutation)) {
              throw violated("lost: " + mutation);
            }
          });
      for (Mutation mutation : first.journal) {
        if (mutation.session().value() != 0 && mutation.kind() != MutationKind.ABORT) {
          String name = mutation.session() + "#" + mutation.sequence();
          if (times.merge(name, 1, Integer::sum) > 1) {
            throw violated("I9: twice: " + name);
          }
          if (definite.get(name) instanceof FrameAnswer.NotApplied) {
            throw violated("I9: answered as not applied: " + identity(mutation));
          }
        }
      }
      counts.merge("mutations at rest", first.journal.size(), Integer::sum);
      counts.merge("versions at rest", (int) master.version, Integer::sum);
    }
  }
}
