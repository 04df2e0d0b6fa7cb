package io.leasefs.cluster.simulation;

import static java.util.Objects.requireNonNull;

import io.leasefs.chunkserver.ChunkServer;
import io.leasefs.chunkserver.ChunkServerConfig;
import io.leasefs.chunkserver.session.ServerRecord;
import io.leasefs.chunkserver.store.ChunkStore;
import io.leasefs.client.edge.Network;
import io.leasefs.common.api.AdminApi;
import io.leasefs.common.api.ChunkApi;
import io.leasefs.common.api.MasterApi;
import io.leasefs.common.lease.LeaseTerms;
import io.leasefs.common.model.ChunkHandle;
import io.leasefs.common.model.ClusterEvent;
import io.leasefs.common.model.Durability;
import io.leasefs.common.model.Endpoints;
import io.leasefs.common.model.EventKind;
import io.leasefs.common.model.ServerAddress;
import io.leasefs.common.model.ServerId;
import io.leasefs.master.Master;
import io.leasefs.master.control.ControlSettings;
import io.leasefs.master.replicated.ReplicatedState;
import io.leasefs.master.state.ServerEntry;
import io.leasefs.server.disk.simulated.SimulatedDisk;
import io.leasefs.server.events.EventLog;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Random;
import java.util.TreeMap;
import java.util.concurrent.Executor;
import org.jspecify.annotations.Nullable;

/**
 * A cluster on simulated machines: one master, chunkservers with their disks, and hosts for
 * clients. Starts, kills, freezes and cuts them off; what runs on them are the production classes.
 */
final class SimulatedWorld {
  /** Tasks of a chunkserver's session. */
  static final String SESSION = "session";

  private static final String MASTER = "m1";
  private static final ServerAddress MASTER_ADDRESS = new ServerAddress(MASTER, 9800);
  private static final long DISK_BYTES = 4L << 30;
  private static final long MAX_DRIFT_PPM = 9_000;
  private static final long WILD_DRIFT_PPM = 300_000;

  /** A chunkserver's machine. */
  static final class ChunkNode {
    private final ServerId id;
    private final Host host;
    private final SimulatedDisk disk;
    private int boot = 1;

    /** Disk operations until the process dies; negative: it does not. */
    private long dieIn = -1;

    private ChunkNode(ServerId id, Host host, SimulatedDisk disk) {
      this.id = id;
      this.host = host;
      this.disk = disk;
    }

    Host host() {
      return host;
    }

    ServerId id() {
      return id;
    }

    SimulatedDisk disk() {
      return disk;
    }

    /** It does not die of itself any more. */
    void spare() {
      dieIn = -1;
    }
  }

  private final EventLoop loop;
  private final Swarm swarm;
  private final Wires wires;
  private final Checks checks;
  private final LeaseTerms terms;
  private final Map<String, ChunkNode> chunkNodes = new TreeMap<>();
  private final Map<String, Host> clientHosts = new TreeMap<>();
  private final Host masterHost;
  private final SimulatedLog.Kept kept = new SimulatedLog.Kept();
  private @Nullable SimulatedLog log;
  private @Nullable ReplicatedState state;
  private @Nullable AdminApi operators;

  SimulatedWorld(EventLoop loop, Swarm swarm) {
    this.loop = loop;
    this.swarm = swarm;
    this.wires = new Wires(loop, swarm.wireNanos());
    this.terms = LeaseTerms.ofTtl(swarm.ttlNanos());
    this.checks =
        new Checks(
            loop, terms.guardNanos(), Math.min(2, swarm.replication()), swarm.clocksInBound());
    this.masterHost = host(MASTER);
    for (int i = 1; i <= swarm.chunkServers(); i++) {
      ServerId id = new ServerId("cs" + i);
      SimulatedDisk disk = new SimulatedDisk(loop.random().nextLong(), DISK_BYTES);
      ChunkNode node = new ChunkNode(id, host(id.name()), disk);
      disk.setHook((operation, name) -> diskOperation(node));
      chunkNodes.put(id.name(), node);
    }
    for (int i = 1; i <= swarm.clients(); i++) {
      clientHosts.put("c" + i, host("c" + i));
    }
    loop.onDeath(this::died);
  }

  private Host host(String name) {
    Random random = loop.random();
    long most = swarm.clocksInBound() ? MAX_DRIFT_PPM : WILD_DRIFT_PPM;
    long drift =
        switch (random.nextInt(4)) {
          case 0 -> most;
          case 1 -> -most;
          default -> random.nextLong(2 * most + 1) - most;
        };
    Host host = new Host(name, loop, random.nextInt(1_000_000) * 1_000_000L, drift);
    wires.add(host);
    return host;
  }

  Wires wires() {
    return wires;
  }

  Checks checks() {
    return checks;
  }

  LeaseTerms terms() {
    return terms;
  }

  Host masterHost() {
    return masterHost;
  }

  List<ChunkNode> chunkNodes() {
    return List.copyOf(chunkNodes.values());
  }

  ChunkNode chunkNode(ServerId id) {
    return requireNonNull(chunkNodes.get(id.name()));
  }

  List<Host> clientHosts() {
    return List.copyOf(clientHosts.values());
  }

  Collection<Host> hosts() {
    List<Host> all = new ArrayList<>();
    all.add(masterHost);
    chunkNodes.values().forEach(node -> all.add(node.host));
    all.addAll(clientHosts.values());
    return all;
  }

  /** The master's hard state; of its newest process. */
  ReplicatedState state() {
    ReplicatedState known = state;
    if (known == null) {
      throw new IllegalStateException("no master has run yet");
    }
    return known;
  }

  // ---- the master --------------------------------------------------------------------------

  void startMaster() {
    ServerId self = new ServerId(MASTER);
    Life life = masterHost.begin(this);
    ReplicatedState fresh = new ReplicatedState();
    SimulatedLog newLog = new SimulatedLog(kept, fresh, self, life, loop, swarm.slowLogNanos());
    ControlSettings settings =
        new ControlSettings(
            self,
            "simulated",
            "simulated",
            terms,
            swarm.clientTtlNanos(),
            1 << 20,
            swarm.replication(),
            6 * 3_600_000L,
            10_000);
    EventLog events = new EventLog(self, life::nanos, life::wallMillis, 1_000, this::noted);
    Master master =
        new Master(settings, life, life.lane("control"), life, life, newLog, fresh, events);
    AdminApi ofThisMaster = master.operators(Endpoints::internal);
    life.offer(
        new FarMaster.Services(
            master.clients(Endpoints::internal), ofThisMaster, master.chunkservers()));
    operators = ofThisMaster;
    log = newLog;
    state = fresh;
    loop.note("START master entries=" + kept.size());
    newLog.lead();
  }

  void stepDown() {
    SimulatedLog leading = log;
    if (masterHost.life() != null && leading != null && leading.role().leading()) {
      loop.note("STEP DOWN");
      leading.stepDown();
    }
  }

  void leadAgain() {
    SimulatedLog follower = log;
    if (masterHost.life() != null && follower != null && !follower.role().leading()) {
      loop.note("LEAD AGAIN");
      follower.lead();
    }
  }

  /** Asks the master, if it runs; who wants to know what came of it looks. */
  void drain(ChunkNode node, boolean undo) {
    AdminApi asked = operators;
    if (masterHost.life() != null && asked != null) {
      var _ = asked.drain(node.id(), undo);
    }
  }

  boolean isDraining(ChunkNode node) {
    return state().read(view -> view.server(node.id())).filter(ServerEntry::draining).isPresent();
  }

  // ---- chunkservers ------------------------------------------------------------------------

  void startChunkServer(ChunkNode node) {
    Life life = node.host.begin(node);
    node.dieIn = -1;
    String boot = "boot-" + node.id + "-" + node.boot;
    Executor diskPool = life.diskPool();
    ServerAddress address = new ServerAddress(node.id.name(), 9810);
    loop.note("START " + node.id + " " + boot);
    try {
      ChunkStore store =
          ChunkStore.open(
              new ChunkStore.Surroundings(
                  node.disk,
                  node.id,
                  diskPool,
                  tasks -> tasks.forEach(Runnable::run),
                  life,
                  life,
                  life,
                  boot,
                  100,
                  4));
      ChunkServer server =
          new ChunkServer(
              ChunkServerConfig.of(node.id, "rack-" + node.id, boot, List.of(MASTER_ADDRESS)),
              new ChunkServer.Edges(
                  life,
                  life,
                  life.pool("core"),
                  diskPool,
                  life.lane(SESSION),
                  life,
                  (peer, at) -> new FarChunkServer(wires, life, at, checks),
                  at -> new FarMaster(wires, life, at, checks),
                  payload -> {}),
              store,
              ServerRecord.open(node.disk),
              new EventLog(node.id, life::nanos, life::wallMillis, 1_000, this::noted),
              Optional.empty());
      life.offer(server);
      checks.started(node.id, server);
      server.start(Endpoints.of(address));
    } catch (IOException e) {
      loop.violated("START", node.id + " does not start: " + e);
    }
  }

  /** Renewals are too many to be told. */
  private void noted(ClusterEvent event) {
    loop.mix(event.kind().name().hashCode());
    loop.mix(event.monotonicNanos());
    if (event.kind() == EventKind.HOLDER_RENEWED) {
      return;
    }
    loop.mix(event.chunk().map(ChunkHandle::value).orElse(0L));
    loop.mix(event.version());
    loop.remember(
        () ->
            event.recorder()
                + " says "
                + event.kind()
                + event.subject().map(subject -> " " + subject).orElse("")
                + event.chunk().map(chunk -> " chunk " + chunk).orElse("")
                + (event.version() == 0 ? "" : " version " + event.version())
                + " "
                + event.fields());
  }

  private void diskOperation(ChunkNode node) {
    if (node.dieIn >= 0 && node.dieIn-- == 0) {
      throw new ProcessDied(node.id.name());
    }
  }

  /** The process dies at one of its next disk operations, whatever it is doing. */
  void dieAtDisk(ChunkNode node, int within) {
    node.dieIn = loop.random().nextInt(within);
  }

  // ---- life and death ----------------------------------------------------------------------

  private void died(Host host) {
    loop.note("DIED " + host + " in the middle of a disk operation");
    kill(host);
  }

  /** The process of this host is gone; its kernel tells whoever was connected. */
  void kill(Host host) {
    end(host, true);
  }

  /** The machine of a chunkserver loses power: its disk keeps what was forced, and some more. */
  void cutPower(ChunkNode node) {
    node.boot++;
    end(node.host, false);
    node.disk.cutPower();
    if (swarm.durability() == Durability.REPLICATED) {
      checks.forgets(node.id);
    }
    node.host.setPowered(false);
  }

  private void end(Host host, boolean answered) {
    host.thaw();
    Life ended = host.end();
    if (ended == null) {
      return;
    }
    loop.note("END " + host + (answered ? "" : " by a power cut"));
    ChunkNode node = chunkNodes.get(host.name());
    if (node != null) {
      node.disk.killProcess();
      node.dieIn = -1;
      checks.ended(node.id);
    }
    if (host == masterHost && log != null) {
      log.died();
    }
    wires.gone(ended, answered);
  }

  /** Starts what does not run; not clients. */
  void startAll() {
    if (masterHost.life() == null) {
      startMaster();
    }
    leadAgain();
    for (ChunkNode node : chunkNodes.values()) {
      if (node.host.life() == null) {
        startChunkServer(node);
      }
    }
  }

  // ---- for clients -------------------------------------------------------------------------

  List<ServerAddress> masters() {
    return List.of(MASTER_ADDRESS);
  }

  /** The network as a client's process sees it. */
  Network network(Life client) {
    Map<ServerAddress, FarMaster> far =
        new TreeMap<>(java.util.Comparator.comparing(a -> a.host()));
    return new Network() {
      private FarMaster reach(ServerAddress address) {
        return far.computeIfAbsent(address, a -> new FarMaster(wires, client, a, checks));
      }

      @Override
      public MasterApi master(ServerAddress address) {
        return reach(address).clients();
      }

      @Override
      public AdminApi admin(ServerAddress address) {
        return reach(address).operators();
      }

      @Override
      public ChunkApi chunkServer(ServerAddress address) {
        return new FarChunkServer(wires, client, address, checks);
      }

      @Override
      public void close() {}
    };
  }
}
