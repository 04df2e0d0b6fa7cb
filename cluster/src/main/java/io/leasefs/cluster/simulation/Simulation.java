package io.leasefs.cluster.simulation;

import io.leasefs.common.api.ChunkApi.ReadMode;
import io.leasefs.common.model.ChunkHandle;
import io.leasefs.common.model.FilePath;
import io.leasefs.master.state.ChunkEntry;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.function.BooleanSupplier;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * One run: a cluster starts, clients write under faults, all harm is undone, everything must come
 * to rest in bounded time, and then every acknowledged record must be where it was said to be, and
 * all copies of a chunk the same.
 */
public final class Simulation {
  private static final long MILLI = 1_000_000;
  private static final long SECOND = 1_000 * MILLI;

  /** How many operations of one file may be put in an order before that is given up. */
  private static final long LINEARIZABILITY_STEPS = 100_000;

  /** Copies are looked at every so many events. */
  private static final int LOOK_EVERY = 200;

  private final long seed;
  private final EventLoop loop;
  private final Swarm swarm;
  private final int masters;
  private final SimulatedWorld world;
  private final RecordBook book;
  private final Map<String, SimulatedClient> clients = new LinkedHashMap<>();
  private final int mostFaults;
  private int writers;
  private boolean finishing;
  private long histories;
  private long undecided;
  private long converged;

  private Simulation(long seed, @Nullable Consumer<String> trace, int mostFaults) {
    this.seed = seed;
    this.mostFaults = mostFaults;
    this.loop = new EventLoop(seed, trace);
    this.swarm = Swarm.draw(loop.random());
    this.masters = SimulatedGroup.size(seed);
    this.world = new SimulatedWorld(loop, swarm, masters);
    this.book = new RecordBook(loop);
    loop.note(swarm.toString());
    Map<String, SimulatedWorld.ChunkNode> nodes = new LinkedHashMap<>();
    world.chunkNodes().forEach(node -> nodes.put(node.host().name(), node));
    loop.onStep(
        (host, what) -> {
          // Leases come and are renewed in tasks of the session alone.
          SimulatedWorld.ChunkNode node =
              what.equals(SimulatedWorld.SESSION) ? nodes.get(host.name()) : null;
          if (node != null) {
            world.checks().stepped(node.id());
          }
        });
  }

  /** Runs one seed; the trace gets a line an event. */
  public static Outcome run(long seed, Consumer<String> trace) {
    return new Simulation(seed, trace, Integer.MAX_VALUE).run();
  }

  /** Runs one seed. */
  public static Outcome run(long seed) {
    return new Simulation(seed, null, Integer.MAX_VALUE).run();
  }

  /**
   * The shortest prefix of a failed run's faults that breaks the same invariant: up to where a run
   * is cut off it is the run that failed, event for event.
   */
  public static Outcome shortest(Outcome failed) {
    String invariant = failed.violation().orElseThrow().invariant();
    for (int most = 0; most < failed.struck().size(); most++) {
      Outcome shorter = new Simulation(failed.seed(), null, most).run();
      if (shorter.violation().filter(v -> v.invariant().equals(invariant)).isPresent()) {
        return shorter;
      }
    }
    return failed;
  }

  private Outcome run() {
    Chaos chaos = new Chaos(loop, world, swarm, mostFaults, this::killClient);
    world.startAll();
    boolean ready = pass(10 * SECOND, () -> liveServers() == swarm.chunkServers());
    if (!ready && loop.violation() == null) {
      loop.violated("I19", "the cluster has not started within 10 s: " + liveServers());
    }
    for (Host host : world.clientHosts()) {
      startClient(host);
    }
    pass(SECOND, () -> false);
    chaos.begin();
    pass(swarm.loadNanos(), () -> false);
    chaos.heal();
    for (Host host : world.clientHosts()) {
      if (host.life() == null) {
        startClient(host);
      }
    }
    long healed = loop.now();
    // As soon as all files are written to again there is nothing more to wait for.
    boolean writable =
        pass(
            world.terms().grantorValidityNanos() + 5 * SECOND,
            () ->
                loop.steps() % LOOK_EVERY == 0
                    && clients.values().stream().allMatch(c -> c.hasWrittenSince(healed)));
    loop.note(writable ? "WRITABLE" : "NOT YET WRITABLE");
    finishing = true;
    clients.values().forEach(SimulatedClient::finish);
    // What was begun before the end of the faults may have asked long ago, and ask again late.
    boolean done =
        pass(30 * SECOND, () -> clients.values().stream().allMatch(SimulatedClient::isDone));
    converged = loop.now() - healed;
    if (!done && loop.violation() == null) {
      StringBuilder waits = new StringBuilder();
      clients.forEach((name, client) -> waits.append(name).append(": ").append(client.waitsFor()));
      loop.violated("I19", "clients still wait, " + converged / MILLI + " ms after: " + waits);
    }
    if (loop.violation() == null) {
      rest();
    }
    return outcome(chaos);
  }

  // ---- time --------------------------------------------------------------------------------

  /** Lets time pass until the condition holds, or all of it has passed; true where it holds. */
  private boolean pass(long nanos, BooleanSupplier condition) {
    long limit = loop.now() + nanos;
    while (loop.violation() == null && !condition.getAsBoolean()) {
      if (!loop.step(limit)) {
        return condition.getAsBoolean();
      }
      if (loop.steps() % LOOK_EVERY == 0) {
        world.checks().copies();
      }
    }
    return loop.violation() == null;
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
    SimulatedClient client = new SimulatedClient(loop, world, life, swarm, book, writers);
    clients.put(host.name(), client);
    List<FilePath> files = new ArrayList<>();
    files.add(FilePath.parse("/shared"));
    if (writers % 2 == 0) {
      files.add(FilePath.parse("/own-" + host.name()));
    }
    client.work(files);
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
      if (!pass(30 * SECOND, () -> read[0]) && loop.violation() == null) {
        loop.violated("I19", file + " cannot be read");
      }
    }
    boolean[] equal = {false};
    boolean same =
        pass(
            20 * SECOND,
            () -> {
              if (loop.steps() % LOOK_EVERY == 0) {
                equal[0] = difference() == null;
              }
              return equal[0];
            });
    if (!same && loop.violation() == null) {
      loop.violated("I10", String.valueOf(difference()));
    }
    linearizable();
    world.checks().copies();
    world.checks().histories();
    try {
      String difference = world.masterDifference();
      if (difference != null) {
        loop.violated("STATE", difference);
      }
      world.state().invariant();
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
    for (ChunkEntry entry : entries) {
      if (entry.pending().isPresent()) {
        return "chunk " + entry.handle() + " is still being changed: " + entry.pending().get();
      }
      String difference = world.checks().difference(entry.handle(), entry.active().members());
      if (difference != null) {
        return difference;
      }
    }
    return null;
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
        faults,
        chaos.struck(),
        histories,
        undecided,
        converged,
        violation,
        violation.isPresent() ? loop.newest() : List.of(),
        swarm + (masters == 1 ? "" : ", " + masters + " masters"));
  }
}
