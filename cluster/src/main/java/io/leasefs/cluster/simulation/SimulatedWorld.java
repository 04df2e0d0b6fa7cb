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
import io.leasefs.common.error.LeaseFsException;
import io.leasefs.common.lease.LeaseTerms;
import io.leasefs.common.model.ChunkHandle;
import io.leasefs.common.model.ClusterEvent;
import io.leasefs.common.model.Durability;
import io.leasefs.common.model.Endpoints;
import io.leasefs.common.model.EventKind;
import io.leasefs.common.model.Member;
import io.leasefs.common.model.ServerAddress;
import io.leasefs.common.model.ServerId;
import io.leasefs.master.Master;
import io.leasefs.master.control.ControlSettings;
import io.leasefs.master.log.Operation;
import io.leasefs.master.log.OperationLog;
import io.leasefs.master.replicated.ReplicatedState;
import io.leasefs.master.state.ChunkEntry;
import io.leasefs.master.state.ServerEntry;
import io.leasefs.master.state.StateView;
import io.leasefs.server.disk.simulated.SimulatedDisk;
import io.leasefs.server.events.EventLog;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Random;
import java.util.TreeMap;
import java.util.concurrent.Executor;
import java.util.function.BiConsumer;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * A cluster on simulated machines: masters, chunkservers with their disks, and hosts for clients.
 * Starts, kills, freezes and cuts them off; what runs on them are the production classes.
 */
final class SimulatedWorld {
  /** Tasks of a chunkserver's session. */
  static final String SESSION = "session";

  /** Tasks of a chunkserver's copies. */
  static final String CORE = "core";

  /** Tasks of a master's control loop. */
  static final String CONTROL = "control";

  private static final long DISK_BYTES = 4L << 30;
  private static final String ALL_FILES = "";
  private static final String CHUNKS = "chunks/";
  private static final String DISK_FILE = "disk";
  private static final String CONTENT = ".data";
  private static final String JOURNAL = ".journal";

  /** Bytes of a journal before its records: the header and two watermarks. */
  private static final int JOURNAL_HEAD_BYTES = 3 * 512;

  private static final long RESTART_NANOS = 300_000_000;
  private static final long SCRUB_BYTES_PER_SECOND = 64L << 20;
  private static final long SCRUB_ROUND_NANOS = 1_000_000_000;
  private static final long WILD_DRIFT_PPM = 300_000;

  /** A master's machine. */
  private static final class MasterNode {
    private final ServerId id;
    private final Host host;
    private @Nullable AdminApi operators;

    private MasterNode(ServerId id, Host host) {
      this.id = id;
      this.host = host;
    }
  }

  /** A chunkserver's machine. */
  static final class ChunkNode {
    private final ServerId id;
    private final Host host;
    private final SimulatedDisk disk;
    private int boot = 1;

    /** Disk operations until the process dies; negative: it does not. */
    private long dieIn = -1;

    /** An error of the disk may come at any time, also while the server starts. */
    private boolean troubled;

    private SimulatedDisk.@Nullable Image image;
    private long imageIncarnation;

    /** The disk is an old image, and no server has been started on it yet. */
    private boolean restored;

    /** Masters refuse what is on the disk: an operator puts another one in. */
    private boolean refused;

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

    /** It does not die of itself any more, and its disk works. */
    void spare() {
      dieIn = -1;
      troubled = false;
      disk.failForces(ALL_FILES, 0);
      disk.failForces(CHUNKS, 0);
      disk.loseWrites(CONTENT, 0);
      disk.setTotalBytes(DISK_BYTES);
    }
  }

  private final EventLoop loop;
  private final Swarm swarm;
  private final Wires wires;
  private final Checks checks;
  private final LeaseTerms terms;
  private final Map<String, ChunkNode> chunkNodes = new TreeMap<>();

  /** Files of which a bit was flipped, and where. */
  private final Map<String, ChunkNode> rotten = new TreeMap<>();

  private record Copy(ChunkHandle chunk, Member member) {}

  /** The newest version that a copy can have started before it last lost power. */
  private final Map<Copy, Long> lostIn = new HashMap<>();

  private final Map<String, Host> clientHosts = new TreeMap<>();
  private final Map<String, MasterNode> masterNodes = new TreeMap<>();

  /** How long after their end clients' sessions are forgotten; 0: as usual, never in a run. */
  private long forgetNanos;

  private int refusesReadOneIn;

  /** Told what a master asks its log for. */
  private BiConsumer<Host, Operation> proposed = (master, operation) -> {};

  /** The log where there are several masters; else it is that of the one. */
  private final @Nullable SimulatedGroup group;

  private final SimulatedLog.Kept kept = new SimulatedLog.Kept();
  private @Nullable SimulatedLog log;
  private @Nullable ReplicatedState state;

  /** A world with one master. */
  SimulatedWorld(EventLoop loop, Swarm swarm) {
    this(loop, swarm, 1);
  }

  /**
   * @param masters how many
   */
  SimulatedWorld(EventLoop loop, Swarm swarm, int masters) {
    this.loop = loop;
    this.swarm = swarm;
    this.wires = new Wires(loop, swarm.wireNanos());
    this.terms = swarm.terms();
    this.checks =
        new Checks(
            loop, terms.guardNanos(), Math.min(2, swarm.replication()), swarm.clocksInBound());
    checks.newestLogIs(this::state);
    addMaster(1);
    for (int i = 1; i <= swarm.chunkServers(); i++) {
      ServerId id = new ServerId("cs" + i);
      SimulatedDisk disk = new SimulatedDisk(loop.random().nextLong(), DISK_BYTES);
      ChunkNode node = new ChunkNode(id, host(id.name(), Host.Role.CHUNKSERVER), disk);
      disk.setHook(new Disks(node));
      chunkNodes.put(id.name(), node);
    }
    for (int i = 1; i <= swarm.clients(); i++) {
      clientHosts.put("c" + i, host("c" + i, Host.Role.CLIENT));
    }
    for (int i = 2; i <= masters; i++) {
      addMaster(i);
    }
    this.group =
        masters == 1
            ? null
            : new SimulatedGroup(
                loop, wires, masterHosts(), swarm.slowLogNanos(), swarm.ttlNanos());
    if (group != null) {
      checks.renewalsNeed(group::hasCommittedSince);
    }
    loop.onDeath(this::died);
    loop.onStep(this::stepped);
  }

  /** What a task may have changed is checked at once. */
  private void stepped(Host host, String what) {
    // Leases come and are renewed in tasks of the session alone.
    boolean session = what.equals(SESSION);
    ChunkNode node = session || what.equals(CORE) ? chunkNodes.get(host.name()) : null;
    if (node == null) {
      return;
    }
    if (session) {
      checks.sessionStepped(node.id);
    } else {
      checks.coresStepped(node.id);
    }
  }

  private void addMaster(int number) {
    ServerId id = new ServerId("m" + number);
    masterNodes.put(id.name(), new MasterNode(id, host(id.name(), Host.Role.MASTER)));
  }

  private Host host(String name, Host.Role role) {
    Random random = loop.random();
    long most = swarm.clocksInBound() ? terms.driftPpm() * 98 / 100 : WILD_DRIFT_PPM;
    long drift =
        switch (random.nextInt(4)) {
          case 0 -> most;
          case 1 -> -most;
          default -> random.nextLong(2 * most + 1) - most;
        };
    if (swarm.clocksOpposed()) {
      drift = role == Host.Role.MASTER ? most : -most;
    }
    Host host = new Host(name, role, loop, random.nextInt(1_000_000) * 1_000_000L, drift);
    wires.add(host);
    return host;
  }

  /** Clients' reads are refused once in so many times: the next copy is asked; 0: never. */
  void setRefusesReads(int oneIn) {
    refusesReadOneIn = oneIn;
  }

  /** Masters' proposals without an outcome may be in the log in a later term. */
  void letProposalsStray(Random random) {
    if (group != null) {
      group.letStray(random);
    }
  }

  /** Servers that start from now on forget clients' sessions so long after their end. */
  void setForgetting(long nanos) {
    forgetNanos = nanos;
  }

  /** Whether they may. */
  boolean proposalsStray() {
    return group != null && group.proposalsStray();
  }

  /** Who is told of each that is carried out in another term than it was made in, just before. */
  void onStray(Consumer<Operation> told) {
    if (group != null) {
      group.onStray(told);
    }
  }

  /** Who is told, in the task of the master that asks, what the log is asked for. */
  void onProposal(BiConsumer<Host, Operation> told) {
    proposed = told;
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

  List<Host> masterHosts() {
    return masterNodes.values().stream().map(node -> node.host).toList();
  }

  Host masterHost(ServerId id) {
    return requireNonNull(masterNodes.get(id.name())).host;
  }

  /** The first master's. */
  Host masterHost() {
    return masterHosts().getFirst();
  }

  /** One of several masters, half of the time the leader; or the only one. */
  Host anyMaster() {
    List<Host> all = masterHosts();
    if (group == null) {
      return all.getFirst();
    }
    Host any = all.get(loop.random().nextInt(all.size()));
    return loop.random().nextBoolean() ? group.leaderHost().orElse(any) : any;
  }

  /** The master that was elected last; or the only one. */
  Host leaderHost() {
    return group == null ? masterHost() : group.leaderHost().orElse(masterHost());
  }

  boolean hasSeveralMasters() {
    return group != null;
  }

  /** What several masters have agreed on, for whoever leads them by the hand. */
  SimulatedGroup group() {
    return requireNonNull(group, "there is one master");
  }

  /** How often a leader was elected among several masters. */
  int elections() {
    return group == null ? 0 : group.elections();
  }

  /** Whether one of several masters replaces another without need. */
  void setRestless(boolean on) {
    if (group != null) {
      group.setRestless(on);
    }
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
    all.addAll(masterHosts());
    chunkNodes.values().forEach(node -> all.add(node.host));
    all.addAll(clientHosts.values());
    return all;
  }

  /** The masters' hard state; of whoever knows most, or the newest process. */
  ReplicatedState state() {
    ReplicatedState known = group == null ? state : group.newest().orElse(state);
    if (known == null) {
      throw new IllegalStateException("no master has run yet");
    }
    return known;
  }

  /**
   * What is different between masters at rest; null where nothing is.
   *
   * @throws IllegalStateException what is wrong with the state of one
   */
  @Nullable String masterDifference() {
    if (group != null) {
      return group.difference();
    }
    state().invariant();
    return null;
  }

  // ---- masters -----------------------------------------------------------------------------

  /** Starts the first. */
  void startMaster() {
    startMaster(masterHost());
  }

  void startMaster(Host host) {
    MasterNode node = requireNonNull(masterNodes.get(host.name()));
    ServerId self = node.id;
    Life life = host.begin(this);
    ReplicatedState fresh = new PassedState(host);
    SimulatedLog alone =
        group == null
            ? new SimulatedLog(kept, fresh, self, life, loop, swarm.slowLogNanos())
            : null;
    OperationLog itsLog = alone == null ? requireNonNull(group).start(life, fresh) : alone;
    OperationLog newLog = new WatchedLog(itsLog, operation -> proposed.accept(host, operation));
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
            10_000_000_000L,
            10_000);
    EventLog events =
        new EventLog(self, host::monotonicNanos, life::wallMillis, 1_000, this::noted);
    Master master =
        new Master(settings, life, life.lane(CONTROL), life, life, newLog, fresh, events);
    AdminApi ofThisMaster = master.operators(Endpoints::internal);
    life.offer(
        new FarMaster.Services(
            master.clients(Endpoints::internal), ofThisMaster, master.chunkservers()));
    node.operators = ofThisMaster;
    log = alone;
    state = fresh;
    if (alone == null) {
      loop.note("START " + host + " entries=" + newLog.lastApplied());
    } else {
      loop.note("START master entries=" + kept.size());
      alone.lead();
    }
  }

  /** A state that a task may be stopped before looking at: between two looks it is another. */
  private final class PassedState extends ReplicatedState {
    private final Host host;

    PassedState(Host host) {
      this.host = host;
    }

    @Override
    public <R> R read(Function<? super StateView, ? extends R> reader) {
      loop.pass(host, Point.BEFORE_STATE, "state", "");
      return super.read(reader);
    }
  }

  /** The leader leads no more. */
  void stepDown() {
    if (group != null) {
      group.depose();
      return;
    }
    SimulatedLog leading = log;
    if (masterHost().life() != null && leading != null && leading.role().leading()) {
      loop.note("STEP DOWN");
      leading.stepDown();
    }
  }

  /** The only master leads again; several settle that among themselves. */
  void leadAgain() {
    SimulatedLog follower = log;
    if (masterHost().life() != null && follower != null && !follower.role().leading()) {
      loop.note("LEAD AGAIN");
      follower.lead();
    }
  }

  /** Asks the leader, if it runs; who wants to know what came of it looks. */
  void drain(ChunkNode node, boolean undo) {
    Host leader = leaderHost();
    AdminApi asked = requireNonNull(masterNodes.get(leader.name())).operators;
    if (leader.life() != null && asked != null) {
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
    lookAtOldDisk(node);
    String boot = boot(node);
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
              config(node, boot),
              new ChunkServer.Edges(
                  life,
                  life,
                  life.pool(CORE),
                  diskPool,
                  life.lane(SESSION),
                  life,
                  (peer, at) -> new FarChunkServer(wires, life, at, checks),
                  at -> new FarMaster(wires, life, at, checks),
                  SimulatedWorld::useAgain),
              store,
              ServerRecord.open(node.disk),
              new EventLog(
                  node.id, node.host::monotonicNanos, life::wallMillis, 1_000, this::noted),
              Optional.empty());
      life.offer(server);
      checks.started(node.id, server, node.host);
      server.start(Endpoints.of(address));
    } catch (IOException | LeaseFsException e) {
      if (!node.troubled) {
        loop.violated("START", node.id + " does not start: " + e);
        return;
      }
      loop.note("NO START of " + node.id + ": " + e.getMessage());
      kill(node.host);
      loop.post(RESTART_NANOS, "starts again", () -> restart(node));
    }
  }

  /** A payload that nobody reads any more gets other bytes: who reads it all the same sees them. */
  private static void useAgain(ByteBuffer payload) {
    if (payload.hasArray()) {
      int from = payload.arrayOffset() + payload.position();
      Arrays.fill(payload.array(), from, from + payload.remaining(), (byte) 0x5a);
    }
  }

  /** One of the chunkservers that run, if any does, is ended on paper. */
  void rehearse(Rehearsal rehearsal, Random random) {
    List<ChunkNode> running =
        chunkNodes.values().stream().filter(node -> node.host.life() != null).toList();
    if (running.isEmpty()) {
      return;
    }
    rehearse(rehearsal, running.get(random.nextInt(running.size())));
  }

  /** This chunkserver is, where it runs. */
  void rehearse(Rehearsal rehearsal, ServerId id) {
    rehearse(rehearsal, requireNonNull(chunkNodes.get(id.name())));
  }

  private static void rehearse(Rehearsal rehearsal, ChunkNode node) {
    if (node.host.life() == null) {
      return;
    }
    ChunkServer server = requireNonNull(node.host.life()).service(ChunkServer.class);
    if (server != null) {
      rehearsal.of(node.id, server, node.host, node.disk, boot(node));
    }
  }

  private static String boot(ChunkNode node) {
    return "boot-" + node.id + "-" + node.boot;
  }

  /** Starts a server that does not run. */
  void restart(ChunkNode node) {
    if (node.host.life() == null) {
      startChunkServer(node);
    }
  }

  private ChunkServerConfig config(ChunkNode node, String boot) {
    ChunkServerConfig usual = ChunkServerConfig.of(node.id, "rack-" + node.id, boot, masters());
    if (forgetNanos > 0) {
      usual = usual.withForgetting(forgetNanos);
    }
    return swarm.scrubs() ? usual.withScrubbing(SCRUB_BYTES_PER_SECOND, SCRUB_ROUND_NANOS) : usual;
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

  /** At each operation of a disk the process may die, or be stopped. */
  private final class Disks implements SimulatedDisk.Hook {
    private final ChunkNode node;

    Disks(ChunkNode node) {
      this.node = node;
    }

    @Override
    public void before(SimulatedDisk.Operation operation, String name) {
      loop.pass(node.host, Point.BEFORE_DISK, operation.name(), name);
      if (node.dieIn >= 0 && node.dieIn-- == 0) {
        throw new ProcessDied(node.id.name());
      }
    }

    @Override
    public void after(SimulatedDisk.Operation operation, String name) {
      loop.pass(node.host, Point.AFTER_DISK, operation.name(), name);
    }
  }

  /** The process dies at one of its next disk operations, whatever it is doing. */
  void dieAtDisk(ChunkNode node, int within) {
    node.dieIn = loop.random().nextInt(within);
  }

  // ---- disks -------------------------------------------------------------------------------

  /** The server of which all that it has acknowledged may be lost. */
  ChunkNode unlucky() {
    return chunkNodes.values().iterator().next();
  }

  /** The next forces fail, of all files or of those of chunks. */
  void failForces(ChunkNode node) {
    boolean all = loop.random().nextInt(3) == 0;
    int count = 1 + loop.random().nextInt(3);
    loop.note("FORCES FAIL at " + node.host + (all ? ", " : ", of chunks, ") + count);
    node.troubled = true;
    node.disk.failForces(all ? ALL_FILES : CHUNKS, count);
    checks.forgets(node.id);
  }

  /** There is hardly any room on the disk, or none. */
  void fillDisk(ChunkNode node) {
    long used = node.disk.totalBytes() - node.disk.freeBytes();
    long room = loop.random().nextBoolean() ? loop.random().nextInt(1 << 18) : 0;
    loop.note("FULL is the disk of " + node.host + " but for " + room);
    node.troubled = true;
    node.disk.setTotalBytes(used + room);
  }

  /** There is room again. */
  void emptyDisk(ChunkNode node) {
    loop.note("ROOM on the disk of " + node.host);
    node.disk.setTotalBytes(DISK_BYTES);
  }

  /** The next writes of content are lost. */
  void loseWrites(ChunkNode node) {
    int count = 1 + loop.random().nextInt(3);
    loop.note("LOST WRITES at " + node.host + ", " + count);
    node.disk.loseWrites(CONTENT, count);
    checks.forgets(node.id);
  }

  /** One bit of a chunk changes; no chunk is ever hit at more than one server. */
  void flipBit(ChunkNode node) {
    List<String> names = new ArrayList<>();
    for (String name : node.disk.names()) {
      if (name.endsWith(CONTENT) && rotten.getOrDefault(name, node) == node) {
        names.add(name);
      }
    }
    if (names.isEmpty()) {
      return;
    }
    String name = names.get(loop.random().nextInt(names.size()));
    try {
      int length = node.disk.bytes(name).length;
      if (length > 0) {
        int position = loop.random().nextInt(length);
        loop.note("FLIP at " + node.host + " in " + name + " at " + position);
        rotten.put(name, node);
        node.disk.flipBit(name, position, loop.random().nextInt(8));
      }
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /**
   * One bit of a chunk's journal changes: of its head or of a record. No journal is hit twice: a
   * bit of the newest watermark, and then one of a record above the older one, are two faults, and
   * pass for the end of the journal.
   */
  void rotJournal(ChunkNode node) {
    List<String> names =
        node.disk.names().stream()
            .filter(name -> name.endsWith(JOURNAL) && !rotten.containsKey(name))
            .toList();
    if (names.isEmpty()) {
      return;
    }
    Random random = loop.random();
    String name = names.get(random.nextInt(names.size()));
    try {
      int length = node.disk.bytes(name).length;
      if (length > 0) {
        boolean head = length <= JOURNAL_HEAD_BYTES || random.nextInt(4) == 0;
        int position =
            head
                ? random.nextInt(Math.min(length, JOURNAL_HEAD_BYTES))
                : JOURNAL_HEAD_BYTES + random.nextInt(length - JOURNAL_HEAD_BYTES);
        loop.note("ROT at " + node.host + " in " + name + " at " + position + " of " + length);
        rotten.put(name, node);
        node.disk.flipBit(name, position, random.nextInt(8));
        checks.forgets(node.id);
        checks.forgetsPromises(node.id);
      }
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** The machine comes back with an empty disk. */
  void wipe(ChunkNode node) {
    node.boot++;
    end(node.host, false);
    replaceDisk(node);
    node.host.setPowered(false);
  }

  /** The machine comes back with an image of its disk that is older than its registration. */
  void rollBack(ChunkNode node) {
    long registered =
        state().read(view -> view.server(node.id)).map(ServerEntry::incarnation).orElse(0L);
    node.boot++;
    end(node.host, false);
    node.host.setPowered(false);
    if (node.image == null || node.imageIncarnation >= registered || node.refused) {
      node.disk.cutPower();
      checks.forgets(node.id);
      return;
    }
    loop.note("ROLL BACK of " + node.host + " to " + node.imageIncarnation + " of " + registered);
    node.disk.restore(node.image);
    node.restored = true;
    checks.lostDisk(node.id);
  }

  private void replaceDisk(ChunkNode node) {
    loop.note("EMPTY DISK in " + node.host);
    node.disk.wipe();
    node.restored = false;
    node.refused = false;
    node.image = null;
    checks.lostDisk(node.id);
  }

  /** To be called before a server is started. */
  private void lookAtOldDisk(ChunkNode node) {
    if (node.refused) {
      replaceDisk(node);
    } else if (node.restored) {
      node.restored = false;
      node.refused = true;
    } else if (swarm.faults().contains(Swarm.Fault.ROLL_BACK)
        && node == unlucky()
        && node.disk.exists(DISK_FILE)
        && loop.random().nextBoolean()) {
      node.image = node.disk.image();
      node.imageIncarnation = incarnation(node.disk);
    }
  }

  private static long incarnation(SimulatedDisk disk) {
    try {
      String text = new String(disk.bytes(DISK_FILE), StandardCharsets.UTF_8);
      return Long.parseLong(text.split("incarnation ", 2)[1].split("\n", 2)[0]);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
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

  /**
   * Whether what the policy of the files promises holds even if this machine loses power now. What
   * is not synced is safe while the kernel of one member has not restarted (protocol, I6): each has
   * in its kernel all that was acknowledged, from its version start on. A member that has lost
   * power has that again with the start of a version that was begun afterwards; it may have started
   * one before, which becomes active only now.
   */
  boolean mayLosePower(ChunkNode node) {
    return !swarm.cutsInTurn()
        || copiesOf(node).keySet().stream()
            .filter(
                chunk ->
                    chunk.active().memberAt(node.id).isPresent() || chunk.pending().isPresent())
            .allMatch(
                chunk ->
                    // The next version may be of any of them: none of the others may lack anything.
                    chunk.pending().isPresent()
                        ? othersOf(node, chunk).allMatch(member -> keeps(chunk, member))
                        : othersOf(node, chunk).anyMatch(member -> keeps(chunk, member)));
  }

  private static Stream<Member> othersOf(ChunkNode node, ChunkEntry chunk) {
    Stream<Member> coming = chunk.learners().stream().map(ChunkEntry.Learner::member);
    return Stream.concat(
            chunk.active().members().stream(),
            chunk.pending().isPresent() ? coming : Stream.empty())
        .filter(member -> !member.server().equals(node.id));
  }

  private boolean keeps(ChunkEntry chunk, Member member) {
    // One bit of that server's content may rot, too.
    boolean rots =
        swarm.faults().contains(Swarm.Fault.BIT_FLIP) && member.server().equals(unlucky().id);
    return !rots
        && lostIn.getOrDefault(new Copy(chunk.handle(), member), 0L) < chunk.active().version();
  }

  /** The copies of a server that the log knows: members of their chunks, or to become such. */
  private Map<ChunkEntry, Member> copiesOf(ChunkNode node) {
    Map<ChunkEntry, Member> copies = new LinkedHashMap<>();
    for (ChunkEntry chunk :
        state().read(view -> view.chunksAfter(new ChunkHandle(0), Integer.MAX_VALUE))) {
      chunk.active().memberAt(node.id).ifPresent(member -> copies.put(chunk, member));
      chunk.learners().stream()
          .map(ChunkEntry.Learner::member)
          .filter(member -> member.server().equals(node.id))
          .forEach(member -> copies.put(chunk, member));
    }
    return copies;
  }

  /** The machine of a chunkserver loses power: its disk keeps what was forced, and some more. */
  void cutPower(ChunkNode node) {
    if (swarm.cutsInTurn()) {
      copiesOf(node)
          .forEach(
              (chunk, member) -> lostIn.put(new Copy(chunk.handle(), member), chunk.lastVersion()));
    }
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
    if (masterNodes.containsKey(host.name()) && log != null) {
      log.died();
    }
    wires.gone(ended, answered);
    loop.abandon(host);
  }

  /** Whether some server was started on an old image of its disk, and will never be taken back. */
  boolean refusesDisks() {
    return chunkNodes.values().stream().anyMatch(node -> node.refused);
  }

  /** Starts what does not run, with another disk where masters refuse the one; not clients. */
  void startAll() {
    for (Host host : masterHosts()) {
      if (host.life() == null) {
        startMaster(host);
      }
    }
    leadAgain();
    for (ChunkNode node : chunkNodes.values()) {
      if (node.refused) {
        kill(node.host);
      }
      restart(node);
    }
  }

  // ---- for clients -------------------------------------------------------------------------

  List<ServerAddress> masters() {
    return masterNodes.values().stream()
        .map(node -> new ServerAddress(node.id.name(), 9800))
        .toList();
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
        return new FarChunkServer(
            wires,
            client,
            address,
            checks,
            () -> refusesReadOneIn > 0 && loop.random().nextInt(refusesReadOneIn) == 0);
      }

      @Override
      public void close() {}
    };
  }
}
