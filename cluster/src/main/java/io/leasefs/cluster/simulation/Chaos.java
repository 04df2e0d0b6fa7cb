package io.leasefs.cluster.simulation;

import io.leasefs.cluster.simulation.SimulatedWorld.ChunkNode;
import io.leasefs.cluster.simulation.Swarm.Fault;
import io.leasefs.common.model.ChunkHandle;
import io.leasefs.common.model.ServerId;
import io.leasefs.common.model.SessionId;
import io.leasefs.master.log.Operation;
import io.leasefs.master.state.SessionEntry;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.TreeMap;
import java.util.function.BiConsumer;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/** Does harm, by chance, for as long as it is let; and undoes each harm later. */
final class Chaos {
  private static final long MILLI = 1_000_000;
  private static final long DAY_MILLIS = 86_400_000;

  private final EventLoop loop;
  private final SimulatedWorld world;
  private final Swarm swarm;
  private final @Nullable Random more;
  private final Runnable killClient;
  private final List<Fault> kinds;
  private final Map<Fault, Integer> done = new TreeMap<>();
  private final List<String> struck = new ArrayList<>();
  private final int most;

  /** So many grants are held back, as they come. */
  private int grantsToHold;

  /** So many decisions of masters are struck at, as they come. */
  private int decisionsToStrike;

  private boolean over;

  /**
   * @param most no more faults than this
   * @param more chance of its own, for masters that are stopped between two looks at their state;
   *     null: none is
   * @param killClient kills one, and has another take its place later
   */
  Chaos(
      EventLoop loop,
      SimulatedWorld world,
      Swarm swarm,
      int most,
      @Nullable Random more,
      Runnable killClient) {
    this.most = most;
    this.more = more;
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
    world.wires().setLingers(swarm.lingers());
    world.setRestless(true);
    world.checks().onGrant(this::granted);
    world.onStray(this::strayed);
    world.onProposal(this::proposed);
    later(this::strike, swarm.everyNanos());
  }

  /** All harm is undone, and no more is done. */
  void heal() {
    over = true;
    loop.note("HEAL");
    world.setRestless(false);
    world.wires().setRates(0, 0);
    world.wires().setLingers(false);
    world.wires().mendAll();
    world.hosts().forEach(Host::thaw);
    world.hosts().forEach(host -> host.setAim(null));
    loop.goOn();
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

  /**
   * How long a harm lasts: often less than a lease, sometimes more than two; and every so often
   * just as long as a session that was heard of last when it began, give or take a heartbeat.
   */
  private long lasting() {
    Random random = loop.random();
    if (random.nextInt(6) == 0) {
      long about = 2 * world.terms().heartbeatNanos() + 60 * MILLI;
      return world.terms().grantorValidityNanos() + (long) ((random.nextDouble() - 0.6) * about);
    }
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
        cutPower(node);
        // The next one before the first has all of its copies in order again, more often than not.
        if (swarm.cutsInTurn() && loop.random().nextBoolean()) {
          loop.post(lasting(), "chaos", () -> another(node));
        }
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
      case JOURNAL_ROT -> world.rotJournal(world.unlucky());
      case SPLIT -> split();
      case GRANT_HELD -> grantsToHold++;
      case FRAME_LATE -> world.wires().breakBehindFrame();
      case AT_DECISION -> decisionsToStrike++;
      case WALL_STEP -> {
        Host host = orMaster(this::anyHost);
        long millis = loop.random().nextLong(2 * DAY_MILLIS + 1) - DAY_MILLIS;
        loop.note("WALL STEP of " + host + " by " + millis + " ms");
        host.setWallStep(millis);
      }
      case SUSPEND -> {
        Host host = orMaster(this::anyHostToFreeze);
        loop.note("SUSPEND " + host);
        host.suspend();
        undo(
            () -> {
              loop.note("RESUME " + host);
              host.thaw();
            });
      }
      case GC_PAUSE -> collect(orMaster(this::anyHost), 3 + loop.random().nextInt(8));
      case PAUSE_INSIDE -> {
        StringBuilder aims = new StringBuilder();
        for (int i = loop.random().nextInt(6); i >= 0; i--) {
          Host host = orMaster(this::anyHost);
          Aim aim = anyAim(host);
          loop.note("AIM at " + host + ", " + aim);
          aims.append(' ').append(host).append(" at ").append(aim);
          // It stays until it hits, or another one or the end of all harm takes its place.
          host.setAim(aim);
        }
        if (more != null && more.nextBoolean()) {
          aims.append(' ').append(aimAtState(more));
        }
        struck.set(struck.size() - 1, kind + "[" + aims.substring(1) + "]");
      }
      case CLOG -> {
        Host from = orMaster(this::anyHost);
        Host to = orMaster(this::anyHost);
        boolean shuffled = loop.random().nextBoolean();
        loop.note("CLOG " + from + " to " + to);
        world.wires().clog(from, to);
        undo(
            () -> {
              loop.note("UNCLOG " + from + " to " + to + (shuffled ? " in any order" : ""));
              world.wires().unclog(from, to, shuffled);
            });
      }
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

  /**
   * Most of them early in a term: then its leader has still to hear from each server what it holds,
   * and what it hears may have been said before the grant came.
   */
  private void granted(ServerId leader, ServerId to, long termNanos) {
    boolean early = termNanos < swarm.ttlNanos() / 5;
    if (over || grantsToHold == 0 || (!early && loop.random().nextInt(8) > 0)) {
      return;
    }
    grantsToHold--;
    Host from = world.masterHost(leader);
    Host server = world.chunkNode(to).host();
    loop.note("GRANT HELD from " + from + " to " + server);
    world.wires().clog(from, server);
    undo(
        () -> {
          loop.note("GRANT LET GO from " + from + " to " + server);
          world.wires().unclog(from, server, false);
        });
  }

  /** In a task of the master: what is done to others is done just after. */
  private void proposed(Host master, Operation operation) {
    Random random = loop.random();
    boolean ends = operation instanceof Operation.EndSessions;
    boolean mayStray = ends && world.proposalsStray();
    if (over || (decisionsToStrike == 0 && !mayStray)) {
      return;
    }
    List<ChunkNode> nodes = new ArrayList<>();
    concerned(operation).forEach(server -> nodes.add(world.chunkNode(server)));
    if (nodes.isEmpty() || (!ends && random.nextInt(4) > 0)) {
      return;
    }
    decisionsToStrike = Math.max(0, decisionsToStrike - 1);
    ChunkNode node = nodes.get(random.nextInt(nodes.size()));
    int way = random.nextInt(4);
    loop.post(
        random.nextInt(3) * MILLI / 2,
        "chaos",
        () -> {
          if (!over) {
            loop.note("AT " + operation + ": " + way + " to " + node.host());
            if (ends) {
              heardAgain(node.host());
              if (mayStray && loop.random().nextBoolean()) {
                world.stepDown();
              }
            } else {
              strikeAt(node, master, way);
            }
          }
        });
  }

  /**
   * What an earlier term has decided is about to be carried out: whom it concerns does not hear of
   * it. In a task of the master.
   */
  private void strayed(Operation operation) {
    if (over || !(operation instanceof Operation.EndSessions)) {
      return;
    }
    for (ServerId server : concerned(operation)) {
      Host host = world.chunkNode(server).host();
      world.masterHosts().forEach(master -> cut(master, host, false));
    }
  }

  /** What kept it from its masters is gone, while they make an end of it. */
  private void heardAgain(Host host) {
    host.thaw();
    for (Host master : world.masterHosts()) {
      world.wires().mend(host, master);
      world.wires().mend(master, host);
    }
  }

  private void strikeAt(ChunkNode node, Host master, int way) {
    switch (way) {
      case 0 -> {
        world.kill(node.host());
        // At once, or in a while.
        loop.post(
            loop.random().nextBoolean() ? MILLI : lasting(),
            "undo",
            () -> {
              if (!over) {
                world.restart(node);
              }
            });
      }
      case 1 -> {
        node.host().freeze();
        undo(node.host()::thaw);
      }
      case 2 -> cut(master, node.host(), true);
      default -> {
        world.stepDown();
        undo(world::leadAgain);
      }
    }
  }

  /** The chunkservers that have a part in what is decided; none where that is about clients. */
  private Set<ServerId> concerned(Operation operation) {
    Set<ServerId> servers = new LinkedHashSet<>();
    switch (operation) {
      case Operation.EndSessions end -> {
        for (SessionId session : end.sessions()) {
          world
              .state()
              .read(view -> view.session(session))
              .flatMap(SessionEntry::server)
              .ifPresent(servers::add);
        }
      }
      case Operation.BeginChange begin -> addMembers(begin.chunk(), servers);
      case Operation.ExpireRevocation expire -> addMembers(expire.lease().chunk(), servers);
      case Operation.RecoverChange recover -> {
        servers.add(recover.seed().server());
        recover.targets().forEach(target -> servers.add(target.member().server()));
      }
      case Operation.Activate activate ->
          activate.members().forEach(one -> servers.add(one.member().server()));
      case Operation.SealChunk seal -> addMembers(seal.chunk(), servers);
      case Operation.AddChunk add -> add.placements().forEach(place -> servers.add(place.server()));
      case Operation.OrderReplica order -> servers.add(order.place().server());
      case Operation.JoinReplica join -> servers.add(join.server());
      case Operation.RemoveReplica remove -> servers.add(remove.server());
      default -> {}
    }
    return servers;
  }

  private void addMembers(ChunkHandle chunk, Set<ServerId> servers) {
    world
        .state()
        .read(view -> view.chunk(chunk))
        .ifPresent(
            entry -> entry.active().members().forEach(member -> servers.add(member.server())));
  }

  private void cutPower(ChunkNode node) {
    if (world.mayLosePower(node)) {
      world.cutPower(node);
      undo(() -> world.restart(node));
    }
  }

  private void another(ChunkNode first) {
    List<ChunkNode> others = new ArrayList<>(world.chunkNodes());
    others.remove(first);
    if (!over) {
      cutPower(others.get(loop.random().nextInt(others.size())));
    }
  }

  /**
   * Some server, often a primary, and others by chance are on one side, all others on the other.
   */
  private void split() {
    Set<Host> here = new LinkedHashSet<>(List.of(anyChunkNode().host()));
    Set<Host> there = new LinkedHashSet<>();
    for (Host host : world.hosts()) {
      if (host.role() != Host.Role.CLIENT && !here.contains(host)) {
        (loop.random().nextInt(4) == 0 ? here : there).add(host);
      }
    }
    loop.note("SPLIT " + here + " from " + there);
    both(here, there, world.wires()::cut);
    loop.post(
        // Longer than a lease, so that others get it.
        swarm.ttlNanos() + lasting(),
        "undo",
        () -> {
          if (!over) {
            loop.note("MEND " + here + " and " + there);
            both(here, there, world.wires()::mend);
          }
        });
  }

  private static void both(Set<Host> here, Set<Host> there, BiConsumer<Host, Host> way) {
    for (Host one : here) {
      for (Host other : there) {
        way.accept(one, other);
        way.accept(other, one);
      }
    }
  }

  /** A process stands still for a short time, again and again. */
  private void collect(Host host, int times) {
    if (over || times == 0) {
      return;
    }
    if (!host.isFrozen()) {
      loop.note("GC PAUSE of " + host);
      host.freeze();
      loop.post(
          (50 + loop.random().nextInt(750)) * MILLI,
          "undo",
          () -> {
            if (!over) {
              host.thaw();
            }
          });
    }
    loop.post(
        (100 + loop.random().nextInt(1_500)) * MILLI, "chaos", () -> collect(host, times - 1));
  }

  /** Where one of the next tasks of a process is to be stopped. */
  private Aim anyAim(Host host) {
    Random random = loop.random();
    List<String> tasks =
        switch (host.role()) {
          case MASTER -> List.of(SimulatedWorld.CONTROL);
          // Sessions have few tasks, and much hangs on each.
          case CHUNKSERVER ->
              List.of(
                  SimulatedWorld.SESSION, SimulatedWorld.SESSION, SimulatedWorld.CORE, Life.DISK);
          case CLIENT -> List.of(Life.TIMER);
        };
    String task = random.nextInt(3) == 0 ? null : tasks.get(random.nextInt(tasks.size()));
    List<Point> points = new ArrayList<>(List.of(Point.CLOCK_READ, Point.BEFORE_HAND_ON));
    if (Life.DISK.equals(task) || (task == null && host.role() == Host.Role.CHUNKSERVER)) {
      points.addAll(List.of(Point.BEFORE_DISK, Point.AFTER_DISK));
    }
    if (!Life.DISK.equals(task)) {
      points.addAll(List.of(Point.BEFORE_SEND, Point.AFTER_SEND));
    }
    Point point = points.get(random.nextInt(points.size()));
    return new Aim(point, task, random.nextInt(6), lasting());
  }

  /** A master is stopped between two looks at its hard state. */
  private String aimAtState(Random more) {
    List<Host> masters = world.masterHosts();
    Host leader = world.leaderHost();
    Host host = more.nextBoolean() ? leader : masters.get(more.nextInt(masters.size()));
    // A turn that looks at all chunks looks often.
    int skipped = more.nextInt(more.nextBoolean() ? 4 : 60);
    long pause = MILLI + (long) (more.nextDouble() * 0.3 * swarm.ttlNanos());
    Aim aim = new Aim(Point.BEFORE_STATE, SimulatedWorld.CONTROL, skipped, pause);
    loop.note("AIM at " + host + ", " + aim);
    host.setAim(aim);
    return host + " at " + aim;
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
