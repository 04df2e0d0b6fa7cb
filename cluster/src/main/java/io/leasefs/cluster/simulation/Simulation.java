package io.leasefs.cluster.simulation;

import io.leasefs.cluster.history.FileHistory;
import io.leasefs.cluster.history.Linearizability;
import io.leasefs.common.api.ChunkApi.ReadMode;
import io.leasefs.common.model.ChunkHandle;
import io.leasefs.common.model.FileId;
import io.leasefs.common.model.FilePath;
import io.leasefs.common.model.ServerId;
import io.leasefs.master.state.ChunkEntry;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Random;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.function.BooleanSupplier;
import java.util.function.Consumer;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/**
 * One run: a cluster starts, clients write under faults, all harm is undone, everything must come
 * to rest in bounded time, and then every acknowledged record must be where it was said to be, and
 * all copies of a chunk the same.
 *
 * <p>A task of a process runs as one event, in which no time passes and nothing else happens; but
 * for tasks that a fault stops in the middle ({@link Strand}), at the points that are named in
 * {@link Point}. What in production runs on one thread waits for such a task, all else goes on.
 */
public final class Simulation {
  private static final long MILLI = 1_000_000;
  private static final long SECOND = 1_000 * MILLI;

  /** How many operations of one file may be put in an order before that is given up. */
  private static final long LINEARIZABILITY_STEPS = 100_000;

  /** What costs much to find out is asked every so many events. */
  private static final int LOOK_EVERY = 200;

  /** All invariants are checked every so many events; what an event changes is at each. */
  private static final int CHECK_EVERY = 500;

  private static final int REHEARSE_EVERY = 4_000;

  /**
   * A server of which a copy has turned is ended within so many events, if none was for so many.
   */
  private static final int SOON = 40;

  private static final int REHEARSE_AT_MOST_EVERY = 2_000;

  /** Split further sources of chance off a seed. */
  private static final long MORE = 0x6c65617365667332L;

  private static final long MOST = 0x6c65617365667333L;
  private static final long LAST = 0x6c65617365667334L;

  private static final long FENCES = 0x6c65617365667335L;
  private static final long TERMS = 0x6c65617365667336L;
  private static final long DELETIONS = 0x6c65617365667337L;
  private static final long REHEARSALS = 0x6c65617365667338L;
  private static final long STRAYS = 0x6c65617365667339L;
  private static final long RAW = 0x6c6561736566733aL;

  /** In one seed of so many files are written to with mutations of all kinds. */
  private static final int RAW_ONE_IN = 6;

  /** In some seeds: clients take it over from one another, each with a larger token. */
  private static final FilePath TAKEN_OVER = FilePath.parse("/taken-over");

  private final long seed;
  private final EventLoop loop;
  private final Swarm swarm;
  private final int masters;
  private final SimulatedWorld world;
  private final RecordBook book;
  private final Map<String, SimulatedClient> clients = new LinkedHashMap<>();
  private final int mostFaults;

  /** A source of chance of its own, for fences. */
  private final Random fencing;

  /** Likewise for deletions. */
  private final Random deleting;

  private final Random rehearsing;
  private final Rehearsal rehearsal;
  private final boolean fences;
  private final boolean keepsReaders;

  /** In some seeds: files that clients delete while others write to them. */
  private final @Nullable List<SpareFiles.Spare> spares;

  /** Files that are written to with mutations of all kinds, by the host whose clients do. */
  private final Map<String, RawFile> rawFiles = new TreeMap<>();

  /** A source of chance of its own, for those. */
  private final Random raw;

  private int writers;
  private boolean finishing;

  /** What a file waits for does not come by itself. */
  private boolean hopeless;

  private long histories;
  private long undecided;
  private long converged;
  private long nextCheck = CHECK_EVERY;
  private long nextRehearsal = REHEARSE_EVERY;
  private long lastRehearsal;

  /** Whose end is rehearsed next; null: anybody's. */
  private @Nullable ServerId rehearses;

  private Simulation(long seed, @Nullable Consumer<String> trace, int mostFaults, long mostEvents) {
    this.seed = seed;
    this.mostFaults = mostFaults;
    this.loop = new EventLoop(seed, trace);
    loop.cutAfter(mostEvents);
    this.swarm =
        Swarm.draw(
            loop.random(),
            new Chance(seed ^ MORE),
            new Chance(seed ^ MOST),
            new Chance(seed ^ LAST),
            new Chance(seed ^ TERMS));
    this.masters = SimulatedGroup.size(seed);
    this.world = new SimulatedWorld(loop, swarm, masters);
    this.book = new RecordBook(loop);
    this.rehearsing = new Chance(seed ^ REHEARSALS);
    this.rehearsal = new Rehearsal(loop, world.checks(), swarm, rehearsing);
    this.fencing = new Chance(seed ^ FENCES);
    this.fences = fencing.nextInt(3) == 0;
    this.keepsReaders = fencing.nextInt(3) == 0 || !swarm.clocksInBound();
    if (fencing.nextInt(4) == 0) {
      world.setForgetting((100 + fencing.nextInt(3_000)) * MILLI);
    }
    Random straying = new Chance(seed ^ STRAYS);
    if (straying.nextInt(3) > 0) {
      world.letProposalsStray(straying);
    }
    this.deleting = new Chance(seed ^ DELETIONS);
    this.spares = deleting.nextBoolean() ? new ArrayList<>() : null;
    this.raw = new Chance(seed ^ RAW);
    if (raw.nextInt(RAW_ONE_IN) == 0 || (!swarm.clocksInBound() && raw.nextBoolean())) {
      for (int i = raw.nextInt(2); i >= 0; i--) {
        String host = world.clientHosts().get(i).name();
        rawFiles.put(host, new RawFile(loop, FilePath.parse("/raw-" + host)));
      }
    }
    loop.note(swarm.toString());
  }

  /** Runs one seed; the trace gets a line an event. */
  public static Outcome run(long seed, Consumer<String> trace) {
    return run(seed, trace, Integer.MAX_VALUE, Long.MAX_VALUE);
  }

  /** Runs one seed. */
  public static Outcome run(long seed) {
    return run(seed, null, Integer.MAX_VALUE, Long.MAX_VALUE);
  }

  /**
   * Runs the beginning of one seed: no faults after the first so many, and nothing at all after so
   * many events. At the cut all is checked that holds at any time.
   *
   * @param trace gets a line an event
   */
  public static Outcome run(
      long seed, @Nullable Consumer<String> trace, int mostFaults, long mostEvents) {
    Simulation simulation = new Simulation(seed, trace, mostFaults, mostEvents);
    try {
      return simulation.run();
    } finally {
      simulation.loop.close();
    }
  }

  /**
   * The shortest prefix of a failed run, first of its faults and then of its events, that breaks
   * the same invariant: up to where a run is cut off it is the run that failed, event for event.
   */
  public static Outcome shortest(Outcome failed) {
    String invariant = failed.violation().orElseThrow().invariant();
    return shortest(failed, outcome -> outcome.breaks(invariant));
  }

  /** The shortest prefix of a run of which this is still true. */
  static Outcome shortest(Outcome failed, Predicate<Outcome> still) {
    Outcome shortest = failed;
    long passes = -1;
    while (shortest.events() - passes > 1) {
      long middle = passes + (shortest.events() - passes) / 2;
      Outcome shorter = run(failed.seed(), null, Integer.MAX_VALUE, middle);
      if (still.test(shorter)) {
        shortest = shorter;
      } else {
        passes = middle;
      }
    }
    return shortest;
  }

  /**
   * Another run of the same seed, with fewer faults, that breaks the same invariant no later: an
   * easier one to read, and not always the same failure. Empty where there is none.
   */
  public static Optional<Outcome> simpler(Outcome failed) {
    String invariant = failed.violation().orElseThrow().invariant();
    return simpler(failed, outcome -> outcome.breaks(invariant));
  }

  static Optional<Outcome> simpler(Outcome failed, Predicate<Outcome> still) {
    for (int most = 0; most < failed.struck().size(); most++) {
      Outcome simpler = run(failed.seed(), null, most, failed.events());
      if (still.test(simpler)) {
        return Optional.of(simpler);
      }
    }
    return Optional.empty();
  }

  private Outcome run() {
    Chaos chaos =
        new Chaos(
            loop, world, swarm, mostFaults, spares == null ? null : deleting, this::killClient);
    world.startAll();
    boolean ready = pass(10 * SECOND, () -> liveServers() == swarm.chunkServers());
    if (!ready && !loop.isOver()) {
      loop.violated("I19", "the cluster has not started within 10 s: " + liveServers());
    }
    for (Host host : world.clientHosts()) {
      startClient(host);
    }
    pass(SECOND, () -> false);
    chaos.begin();
    world.setRefusesReads(fencing.nextInt(3) == 0 ? 2 : 0);
    if (fences) {
      takeOver();
    }
    pass(swarm.loadNanos(), () -> false);
    chaos.heal();
    world.setRefusesReads(0);
    for (Host host : world.clientHosts()) {
      if (host.life() == null) {
        startClient(host);
      }
    }
    long healed = loop.now();
    clients.values().forEach(client -> client.easeOff(healed));
    awaitWritable(healed);
    if (!hopeless) {
      finish(healed);
    }
    if (!loop.isOver() && !hopeless) {
      rest();
    }
    if (hopeless) {
      check();
      linearizable();
    }
    return outcome(chaos);
  }

  private void finish(long healed) {
    finishing = true;
    clients.values().forEach(SimulatedClient::finish);
    // What was begun before the end of the faults may have asked long ago, and ask again late.
    boolean done =
        pass(30 * SECOND, () -> clients.values().stream().allMatch(SimulatedClient::isDone));
    converged = loop.now() - healed;
    if (!done && !loop.isOver() && !isLost()) {
      loop.violated("I19", "clients still wait, " + converged / MILLI + " ms after: " + waits());
    }
  }

  /**
   * I19: a file of several writers takes a record within T_G + 5 s, and each client gets one
   * through before a session's time more has passed: the cluster may have forgotten it meanwhile,
   * and it then begins anew. The bound is for members that are undamaged and certain, and for
   * clocks that keep theirs: where copies rot or forget, and one has to be made first, or five
   * seconds of a master's clock are seven, there is as much time again. As soon as all have written
   * there is nothing more to wait for.
   */
  private void awaitWritable(long healed) {
    long bound = world.terms().grantorValidityNanos() + 5 * SECOND;
    boolean whole =
        !swarm.losesAcknowledged()
            && !swarm.faults().contains(Swarm.Fault.BIT_FLIP)
            && swarm.clocksInBound();
    boolean all = pass(whole ? bound : 2 * bound, everybody(healed));
    if (!all && !loop.isOver()) {
      Set<FilePath> silent = new TreeSet<>();
      clients.values().forEach(client -> silent.addAll(client.shared()));
      clients.values().forEach(client -> silent.removeAll(client.writtenSince(healed)));
      if (!silent.isEmpty() && silent.stream().noneMatch(this::hasGoodCopy)) {
        // It waits for an operator, and is owed nothing (protocol, section 4): nor are its writers.
        loop.note("NO GOOD COPY of the last chunk of " + silent);
        hopeless = true;
        return;
      }
      if (!silent.isEmpty()) {
        loop.violated("I19", silent + " cannot be written long after the healing: " + waits());
      }
      if (!pass(swarm.clientTtlNanos(), everybody(healed)) && !loop.isOver()) {
        loop.violated("I19", "a client cannot write long after the healing: " + waits());
      }
    }
    if (!loop.isOver()) {
      loop.note("WRITABLE");
    }
  }

  /** Whether a member of its last chunk is neither damaged nor uncertain. */
  private boolean hasGoodCopy(FilePath path) {
    return world
        .state()
        .read(view -> view.file(view.lookUp(path)))
        .flatMap(file -> world.state().read(view -> view.chunk(file.chunks().getLast())))
        .map(world.checks()::hasGoodMember)
        .orElse(true);
  }

  /**
   * Likewise where a disk has lost what it had stored: whether of some chunk no member is left that
   * is neither damaged nor uncertain.
   */
  private boolean isLost() {
    if (!swarm.losesAcknowledged()) {
      return false;
    }
    List<ChunkEntry> entries =
        world.state().read(view -> view.chunksAfter(new ChunkHandle(0), 10_000));
    for (ChunkEntry entry : entries) {
      if (!world.checks().hasGoodMember(entry)) {
        loop.note("NO GOOD COPY of chunk " + entry.handle());
        hopeless = true;
        return true;
      }
    }
    return false;
  }

  private BooleanSupplier everybody(long healed) {
    return seldom(() -> clients.values().stream().allMatch(c -> c.hasWrittenSince(healed)));
  }

  private String waits() {
    StringBuilder waits = new StringBuilder();
    clients.forEach((name, client) -> waits.append(name).append(": ").append(client.waitsFor()));
    return waits.toString();
  }

  // ---- time --------------------------------------------------------------------------------

  /** Lets time pass until the condition holds, or all of it has passed; true where it holds. */
  private boolean pass(long nanos, BooleanSupplier condition) {
    long limit = loop.now() + nanos;
    while (!loop.isOver() && !condition.getAsBoolean()) {
      if (!loop.step(limit)) {
        if (loop.isCut()) {
          check();
          linearizable();
          return false;
        }
        return condition.getAsBoolean();
      }
      if (loop.steps() >= nextCheck) {
        nextCheck = loop.steps() + CHECK_EVERY;
        check();
      }
      rehearse();
    }
    return !loop.isOver();
  }

  private void rehearse() {
    Optional<ServerId> turned = world.checks().turned();
    if (loop.steps() >= nextRehearsal) {
      if (rehearses == null) {
        world.rehearse(rehearsal, rehearsing);
      } else {
        world.rehearse(rehearsal, rehearses);
      }
      rehearses = null;
      lastRehearsal = loop.steps();
      nextRehearsal = lastRehearsal + REHEARSE_EVERY;
    } else if (rehearses == null
        && turned.isPresent()
        && loop.steps() >= lastRehearsal + REHEARSE_AT_MOST_EVERY) {
      rehearses = turned.get();
      nextRehearsal = Math.min(nextRehearsal, loop.steps() + rehearsing.nextInt(SOON));
    }
  }

  /** A condition that costs much: asked every so many events, and false in between. */
  private BooleanSupplier seldom(BooleanSupplier condition) {
    long[] next = {loop.steps()};
    return () -> {
      if (loop.steps() < next[0]) {
        return false;
      }
      next[0] = loop.steps() + LOOK_EVERY;
      return condition.getAsBoolean();
    };
  }

  private int liveServers() {
    return (int)
        world.state().read(view -> view.servers()).stream()
            .filter(server -> server.session().isPresent())
            .count();
  }

  // ---- clients -----------------------------------------------------------------------------

  private void startClient(Host host) {
    writers++;
    Life life = host.begin(this);
    SimulatedClient client =
        new SimulatedClient(loop, world, life, swarm, book, writers, keepsReaders, spares);
    clients.put(host.name(), client);
    List<FilePath> files = new ArrayList<>();
    files.add(FilePath.parse("/shared"));
    if (swarm.files() > 0) {
      int number = writers % swarm.files();
      if (number > 0) {
        files.add(FilePath.parse("/shared-" + number));
      }
    } else if (writers % 2 == 0) {
      files.add(FilePath.parse("/own-" + host.name()));
    }
    client.work(files);
    if (!rawFiles.isEmpty()) {
      client.workRaw(
          List.copyOf(rawFiles.values()), rawFiles.get(host.name()), new Chance(raw.nextLong()));
    }
  }

  /** Somebody opens a file with a larger token than the one who writes to it; again and again. */
  private void takeOver() {
    if (finishing) {
      return;
    }
    List<SimulatedClient> alive = new ArrayList<>();
    for (Host host : world.clientHosts()) {
      SimulatedClient client = clients.get(host.name());
      if (host.life() != null && client != null) {
        alive.add(client);
      }
    }
    if (!alive.isEmpty()) {
      alive.get(fencing.nextInt(alive.size())).takeOver(TAKEN_OVER);
    }
    loop.post((50 + fencing.nextInt(1_500)) * MILLI, "take over", this::takeOver);
  }

  private void killClient() {
    List<Host> hosts = world.clientHosts();
    Host host = hosts.get(loop.random().nextInt(hosts.size()));
    world.kill(host);
    loop.post(
        loop.random().nextInt(2_000) * MILLI,
        "client starts again",
        () -> {
          if (!finishing && host.life() == null) {
            startClient(host);
          }
        });
  }

  // ---- at rest -----------------------------------------------------------------------------

  private void rest() {
    SimulatedClient reader = clients.values().iterator().next();
    for (FilePath file : book.files()) {
      boolean[] read = {false};
      reader.read(file, ReadMode.DEFAULT, true, () -> read[0] = true);
      if (!pass(30 * SECOND, () -> read[0]) && !loop.isOver()) {
        if (isLost()) {
          return;
        }
        loop.violated("I19", file + " cannot be read");
      }
    }
    for (RawFile file : rawFiles.values()) {
      audit(reader, file);
    }
    // A chunk that a killed client has made and nobody has written to is at its primary alone,
    // until
    // that client's session is over.
    long most = swarm.clientTtlNanos() + 20 * SECOND;
    boolean same = pass(most, seldom(() -> difference() == null));
    String difference = same || loop.isOver() ? null : difference();
    if (difference != null && isLost()) {
      return;
    }
    if (difference != null) {
      loop.violated("I10", difference);
    }
    if (!loop.isOver()) {
      check();
      linearizable();
    }
  }

  /** A dead client's opening, which keeps the last chunk open, ends with its session. */
  private void audit(SimulatedClient reader, RawFile file) {
    if (file.isMade()) {
      boolean[] read = {false};
      reader.auditRaw(file, () -> read[0] = true);
      if (!pass(swarm.clientTtlNanos() + 30 * SECOND, () -> read[0]) && !loop.isOver()) {
        loop.violated("I19", file + " is not at rest, or cannot be read");
      }
      loop.note("AUDITED " + file);
    }
  }

  /** All that must hold at any time. */
  private void check() {
    world.checks().all();
    try {
      String difference = world.masterDifference();
      if (difference != null) {
        loop.violated("STATE", difference);
      }
    } catch (IllegalStateException e) {
      loop.violated("STATE", String.valueOf(e.getMessage()));
    }
  }

  /** I8: what clients saw of each file can have happened one operation at a time. */
  private void linearizable() {
    for (FileHistory history : book.histories()) {
      Linearizability.Verdict verdict = Linearizability.check(history, LINEARIZABILITY_STEPS);
      histories++;
      switch (verdict.kind()) {
        case LINEARIZABLE -> {}
        case UNKNOWN -> undecided++;
        case NOT_LINEARIZABLE -> loop.violated("I8", verdict.explanation());
      }
    }
  }

  /** What is different between copies that ought to be the same. */
  private @Nullable String difference() {
    List<ChunkEntry> entries =
        world.state().read(view -> view.chunksAfter(new ChunkHandle(0), 10_000));
    String garbage = garbage();
    if (garbage != null) {
      return garbage;
    }
    for (ChunkEntry entry : entries) {
      if (entry.pending().isPresent()) {
        return "chunk " + entry.handle() + " is still being changed: " + entry.pending().get();
      }
      String difference = world.checks().difference(entry.handle(), entry.active().members());
      if (difference != null) {
        return difference;
      }
    }
    if (swarm.scrubs()) {
      for (ChunkEntry entry : entries) {
        String damage = world.checks().damage(entry.handle(), entry.active().members());
        if (damage != null) {
          return damage;
        }
      }
    }
    return null;
  }

  /** What is left of files that were deleted for good; null where nothing is. */
  private @Nullable String garbage() {
    List<ChunkHandle> doomed = world.state().read(view -> view.doomedChunksInUse(1));
    List<FileId> files = world.state().read(view -> view.purgeable(1));
    if (!doomed.isEmpty() || !files.isEmpty()) {
      return "not purged: chunks " + doomed + ", files " + files;
    }
    return world.checks().ownerless();
  }

  private Map<String, Integer> stops() {
    Map<String, Integer> stops = new TreeMap<>();
    loop.stops().forEach((point, count) -> stops.put(point.name(), count));
    return stops;
  }

  private Outcome outcome(Chaos chaos) {
    loop.note(
        "END acknowledged="
            + book.acknowledged()
            + " unknown="
            + book.unknown()
            + " refused="
            + book.refused()
            + " messages="
            + world.wires().messages()
            + " faults="
            + chaos.done());
    Map<String, Integer> faults = new TreeMap<>();
    chaos.done().forEach((kind, count) -> faults.put(kind.name(), count));
    Optional<Violation> violation = Optional.ofNullable(loop.violation());
    return new Outcome(
        seed,
        loop.digest(),
        loop.steps(),
        loop.now(),
        book.acknowledged(),
        book.unknown(),
        world.checks().grants(),
        world.checks().tenures(),
        world.checks().failovers(),
        masters,
        world.elections(),
        world.checks().handOverNanos(),
        world.checks().earlyHandOverNanos(),
        faults,
        chaos.struck(),
        stops(),
        histories,
        undecided,
        converged,
        violation,
        violation.isPresent() ? loop.newest() : List.of(),
        swarm + (masters == 1 ? "" : ", " + masters + " masters"));
  }
}
