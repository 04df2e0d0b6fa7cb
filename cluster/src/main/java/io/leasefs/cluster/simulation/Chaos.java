package io.leasefs.cluster.simulation;

import io.leasefs.cluster.simulation.SimulatedWorld.ChunkNode;
import io.leasefs.cluster.simulation.Swarm.Fault;
import io.leasefs.common.model.ServerId;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.TreeMap;
import java.util.function.Supplier;

/** Does harm, by chance, for as long as it is let; and undoes each harm later. */
final class Chaos {
  private static final long MILLI = 1_000_000;

  private final EventLoop loop;
  private final SimulatedWorld world;
  private final Swarm swarm;
  private final Runnable killClient;
  private final List<Fault> kinds;
  private final Map<Fault, Integer> done = new TreeMap<>();
  private final List<String> struck = new ArrayList<>();
  private final int most;
  private boolean over;

  /**
   * @param most no more faults than this
   * @param killClient kills one, and has another take its place later
   */
  Chaos(EventLoop loop, SimulatedWorld world, Swarm swarm, int most, Runnable killClient) {
    this.most = most;
    this.loop = loop;
    this.world = world;
    this.swarm = swarm;
    this.killClient = killClient;
    this.kinds = List.copyOf(swarm.faults());
  }

  /** How often each kind of fault came. */
  Map<Fault, Integer> done() {
    return done;
  }

  /** All faults, in order. */
  List<String> struck() {
    return struck;
  }

  void begin() {
    world.wires().setRates(swarm.loss(), swarm.doubling());
    world.setRestless(true);
    later(this::strike, swarm.everyNanos());
  }

  /** All harm is undone, and no more is done. */
  void heal() {
    over = true;
    loop.note("HEAL");
    world.setRestless(false);
    world.wires().setRates(0, 0);
    world.wires().mendAll();
    world.hosts().forEach(Host::thaw);
    world.chunkNodes().forEach(ChunkNode::spare);
    world.startAll();
    if (world.refusesDisks()) {
      // An old image of a disk, started only now: the operator finds out a moment later.
      loop.post(1_000 * MILLI, "old disks are replaced", world::startAll);
    }
    // Twice: an order to empty one may still be on its way.
    world.chunkNodes().forEach(this::undrain);
    loop.post(1_000 * MILLI, "undrain", () -> world.chunkNodes().forEach(this::undrain));
  }

  private void later(Runnable task, long meanNanos) {
    loop.post((long) (loop.random().nextDouble() * 2 * meanNanos), "chaos", task);
  }

  /** How long a harm lasts: often less than a lease, sometimes more than two. */
  private long lasting() {
    Random random = loop.random();
    double share = random.nextBoolean() ? 2.5 : 0.7;
    return 20 * MILLI + (long) (random.nextDouble() * share * swarm.ttlNanos());
  }

  private void undo(Runnable task) {
    loop.post(
        lasting(),
        "undo",
        () -> {
          if (!over) {
            task.run();
          }
        });
  }

  private void strike() {
    if (over || struck.size() >= most) {
      return;
    }
    Fault kind = kinds.get(loop.random().nextInt(kinds.size()));
    done.merge(kind, 1, Integer::sum);
    struck.add(kind.name());
    strike(kind);
    later(this::strike, swarm.everyNanos());
  }

  /** Half of the harm is done to primaries: the others are seldom missed. */
  private ChunkNode anyChunkNode() {
    List<ServerId> primaries = world.checks().primaries();
    if (!primaries.isEmpty() && loop.random().nextBoolean()) {
      return world.chunkNode(primaries.get(loop.random().nextInt(primaries.size())));
    }
    List<ChunkNode> nodes = world.chunkNodes();
    return nodes.get(loop.random().nextInt(nodes.size()));
  }

  private Host anyHost() {
    if (loop.random().nextBoolean()) {
      return anyChunkNode().host();
    }
    List<Host> hosts = new ArrayList<>(world.hosts());
    return hosts.get(loop.random().nextInt(hosts.size()));
  }

  private Host anyHostToFreeze() {
    return loop.random().nextInt(4) == 0 ? anyHost() : anyChunkNode().host();
  }

  /** Where there are several masters, each third harm is done to one of them. */
  private Host orMaster(Supplier<Host> other) {
    return world.hasSeveralMasters() && loop.random().nextInt(3) == 0
        ? world.anyMaster()
        : other.get();
  }

  private void strike(Fault kind) {
    switch (kind) {
      case KILL_CHUNKSERVER -> {
        ChunkNode node = anyChunkNode();
        world.kill(node.host());
        undo(() -> world.restart(node));
      }
      case POWER_CUT -> {
        // The first ones by name: how many may ever lose power is limited.
        ChunkNode node = world.chunkNodes().get(loop.random().nextInt(swarm.powerCuts()));
        world.cutPower(node);
        undo(() -> world.restart(node));
      }
      case POWER_OUT ->
          world
              .chunkNodes()
              .forEach(
                  node -> {
                    world.cutPower(node);
                    undo(() -> world.restart(node));
                  });
      case DIE_AT_DISK -> {
        ChunkNode node = anyChunkNode();
        world.dieAtDisk(node, 60);
        undo(() -> world.restart(node));
      }
      case KILL_MASTER -> {
        Host host = world.anyMaster();
        world.kill(host);
        undo(
            () -> {
              if (host.life() == null) {
                world.startMaster(host);
              }
            });
      }
      case KILL_CLIENT -> killClient.run();
      case FREEZE -> {
        Host host = orMaster(this::anyHostToFreeze);
        loop.note("FREEZE " + host);
        host.freeze();
        undo(
            () -> {
              loop.note("THAW " + host);
              host.thaw();
            });
      }
      case CUT ->
          cut(orMaster(this::anyHost), orMaster(this::anyHost), loop.random().nextBoolean());
      case ISOLATE -> {
        Host host = orMaster(this::anyHost);
        world.hosts().forEach(other -> cut(host, other, true));
      }
      case RESET -> {
        Host one = orMaster(this::anyHost);
        Host other = orMaster(this::anyHost);
        loop.note("RESET " + one + " " + other);
        world.wires().reset(one, other);
      }
      case SLOW -> {
        Host from = orMaster(this::anyHost);
        Host to = orMaster(this::anyHost);
        loop.note("SLOW " + from + " to " + to);
        world.wires().slow(from, to, loop.random().nextInt(1_500) * MILLI);
        undo(() -> world.wires().slow(from, to, 0));
      }
      case STEP_DOWN -> {
        world.stepDown();
        undo(world::leadAgain);
      }
      case DISK_STALL -> {
        ChunkNode node = anyChunkNode();
        Life life = node.host().life();
        if (life != null) {
          loop.note("STALL of the disk of " + node.host());
          life.stallDisk(loop.random().nextInt(2_500) * MILLI);
        }
      }
      case DRAIN -> {
        ChunkNode node = anyChunkNode();
        loop.note("DRAIN " + node.host());
        world.drain(node, false);
        undo(() -> undrain(node));
      }
      case FSYNC_ERROR -> world.failForces(world.unlucky());
      case DISK_FULL -> {
        ChunkNode node = anyChunkNode();
        world.fillDisk(node);
        undo(() -> world.emptyDisk(node));
      }
      case BIT_FLIP -> world.flipBit(swarm.losesAcknowledged() ? world.unlucky() : anyChunkNode());
      case LOST_WRITE -> world.loseWrites(world.unlucky());
      case WIPE -> {
        world.wipe(world.unlucky());
        undo(() -> world.restart(world.unlucky()));
      }
      case ROLL_BACK -> {
        world.rollBack(world.unlucky());
        undo(() -> world.restart(world.unlucky()));
      }
    }
  }

  /** Asks until it is so: a master may die over it. */
  private void undrain(ChunkNode node) {
    if (world.isDraining(node)) {
      world.drain(node, true);
      loop.post(200 * MILLI, "undrain", () -> undrain(node));
    }
  }

  private void cut(Host one, Host other, boolean both) {
    if (one == other) {
      return;
    }
    loop.note("CUT " + one + (both ? " and " : " to ") + other);
    world.wires().cut(one, other);
    if (both) {
      world.wires().cut(other, one);
    }
    undo(
        () -> {
          loop.note("MEND " + one + " " + other);
          world.wires().mend(one, other);
          if (both) {
            world.wires().mend(other, one);
          }
        });
  }
}
