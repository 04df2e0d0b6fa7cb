package io.leasefs.master;

import io.leasefs.common.api.AdminApi;
import io.leasefs.common.config.Config;
import io.leasefs.common.edge.Clock;
import io.leasefs.common.error.ErrorCode;
import io.leasefs.common.error.LeaseFsException;
import io.leasefs.common.model.Endpoints;
import io.leasefs.common.model.ServerAddress;
import io.leasefs.common.rpc.MasterServer;
import io.leasefs.common.rpc.Servers;
import io.leasefs.master.control.ControlSettings;
import io.leasefs.master.log.OperationLog;
import io.leasefs.master.log.OperationLog.Role;
import io.leasefs.master.log.ratis.RatisOperationLog;
import io.leasefs.master.log.ratis.RatisSettings;
import io.leasefs.master.log.ratis.TornTail;
import io.leasefs.master.replicated.ReplicatedState;
import io.leasefs.server.admin.AdminServer;
import io.leasefs.server.admin.Health;
import io.leasefs.server.clock.SystemClock;
import io.leasefs.server.disk.LocalDisk;
import io.leasefs.server.events.EventLines;
import io.leasefs.server.events.EventLog;
import io.leasefs.server.start.Advertised;
import io.leasefs.server.start.DataFolder;
import io.leasefs.server.start.ServerKeys;
import io.leasefs.server.start.ServerProcess;
import io.leasefs.server.threads.SecureChance;
import io.leasefs.server.threads.SerialThread;
import io.leasefs.server.threads.TimerThread;
import io.micrometer.core.instrument.Gauge;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Function;

/** {@code leasefs master}: builds a master from its settings, top to bottom, and serves. */
public final class MasterMain {
  /** Threads that carry connections. */
  private static final int NETWORK_THREADS = 2;

  private static final String EVENTS = "events.jsonl";
  private static final long LEADER_NANOS = 10_000_000_000L;
  private static final long LOOK_NANOS = 10_000_000;
  private static final int MAX_PENDING = 10_000;
  private static final long STOP_NANOS = 1_000_000_000L;

  private MasterMain() {}

  public static void main(String[] arguments) {
    ServerProcess.run("master", List.of(arguments), MasterConfig.keys(), MasterMain::start);
  }

  /**
   * A master inside this JVM, with these settings.
   *
   * @throws io.leasefs.common.error.LeaseFsException where it cannot start, in its words
   */
  public static ServerProcess within(List<String> arguments) throws Exception {
    return ServerProcess.within("master", arguments, MasterConfig.keys(), MasterMain::start);
  }

  private static void start(ServerProcess process) throws IOException {
    Config config = process.config();
    MasterConfig mine = MasterConfig.of(config);
    Path data = config.get(ServerKeys.DATA);
    DataFolder folder =
        DataFolder.open(data, "master", mine.self().name(), config.find(ServerKeys.CLUSTER_ID));
    process.onStop("folder", folder);
    Path logFolder = data.resolve("log");
    checkLogIsThere(folder, logFolder);
    TornTail.cut(logFolder);
    String cluster = joinCluster(folder);

    Clock clock = ServerKeys.clock(config, SystemClock.grantor());
    EventLines lines = new EventLines(new LocalDisk(data).open(EVENTS, true));
    EventLog events =
        new EventLog(
            mine.self(), System::nanoTime, clock::wallMillis, EventLog.DEFAULT_CAPACITY, lines);

    ReplicatedState state = new ReplicatedState();
    OperationLog log = RatisOperationLog.open(ratis(mine, logFolder), state, process::halt);
    process.onStop("log", log);
    TimerThread timers = new TimerThread("timers");
    process.onStop("timers", timers);
    SerialThread control = new SerialThread("control");
    process.onStop("control", control);

    ControlSettings settings =
        new ControlSettings(
            mine.self(),
            cluster,
            version(),
            mine.terms(),
            ControlSettings.CLIENT_TTL_NANOS,
            mine.chunkBytes(),
            mine.replication(),
            mine.trashExpiryMillis(),
            mine.quarantineNanos(),
            MAX_PENDING);
    Master master =
        new Master(settings, clock, control, timers, new SecureChance(), log, state, events);

    Servers servers = new Servers("master", NETWORK_THREADS);
    process.onStop("listeners", () -> servers.closeGracefully(STOP_NANOS));
    ServerAddress bound =
        servers.listen(config.get(MasterConfig.LISTEN), service(master, Endpoints::internal));
    Optional<ServerAddress> external = config.find(ServerKeys.LISTEN_EXTERNAL);
    Optional<Integer> externalPort = Optional.empty();
    if (external.isPresent()) {
      externalPort =
          Optional.of(servers.listen(external.get(), service(master, Endpoints::external)).port());
    }
    Endpoints endpoints =
        Advertised.endpoints(config, MasterConfig.LISTEN, bound.port(), externalPort);

    AdminServer admin =
        AdminServer.start(
            config.get(ServerKeys.ADMIN), () -> health(master, cluster), process.metrics());
    process.onStop("admin", admin);
    Gauge.builder("leasefs.master.leading", () -> master.role().leading() ? 1 : 0)
        .register(process.metrics());
    Gauge.builder("leasefs.master.log.applied", state, ReplicatedState::lastApplied)
        .register(process.metrics());
    Gauge.builder("leasefs.master.control.waiting", control, SerialThread::waiting)
        .register(process.metrics());

    awaitLeader(master);
    process.ready(facts(mine, cluster, endpoints, admin.address()));
  }

  /** Who is told that this master is ready finds a leader, unless electing one takes long. */
  private static void awaitLeader(Master master) {
    long deadline = System.nanoTime() + LEADER_NANOS;
    while (!isServed(master.role()) && System.nanoTime() < deadline) {
      LockSupport.parkNanos(LOOK_NANOS);
    }
  }

  private static boolean isServed(Role role) {
    return role.leading() ? role.ready() : role.leader().isPresent();
  }

  /** The log's folder comes before the events, so where there are events there was a log. */
  private static void checkLogIsThere(DataFolder folder, Path logFolder) throws IOException {
    if (Files.exists(folder.path().resolve(EVENTS)) && !Files.isDirectory(logFolder)) {
      throw new LeaseFsException(
          ErrorCode.CORRUPT,
          logFolder + " is missing, and a master has served from here",
          "restore the folder from a backup, or found a new cluster in another one");
    }
    Files.createDirectories(logFolder);
  }

  /** A fresh folder founds a cluster, unless it was told which one to join. */
  private static String joinCluster(DataFolder folder) throws IOException {
    String cluster = folder.cluster().orElseGet(DataFolder::newClusterId);
    folder.joinCluster(cluster);
    return cluster;
  }

  private static RatisSettings ratis(MasterConfig mine, Path folder) {
    return mine.peers().isEmpty()
        ? RatisSettings.alone(mine.self(), folder)
        : new RatisSettings(
            mine.self(), folder, mine.peers().get(), RatisSettings.DEFAULT_CHECKPOINT_EVERY);
  }

  private static MasterServer service(Master master, Function<Endpoints, ServerAddress> side) {
    AdminApi operators = master.operators(side);
    return new MasterServer(master.clients(side), operators, master.chunkservers());
  }

  private static Health health(Master master, String cluster) {
    Role role = master.role();
    Map<String, Object> facts = new LinkedHashMap<>();
    facts.put("cluster", cluster);
    facts.put("term", role.term());
    Optional<String> shortage = master.shortage();
    shortage.ifPresent(why -> facts.put("shortage", why));
    String state =
        shortage.isPresent()
            ? "log is short"
            : !isServed(role) ? "starting" : role.leading() ? "leading" : "following";
    return new Health(isServed(role) && shortage.isEmpty(), state, facts);
  }

  private static Map<String, Object> facts(
      MasterConfig mine, String cluster, Endpoints endpoints, ServerAddress admin) {
    Map<String, Object> facts = new LinkedHashMap<>();
    facts.put("server", mine.self());
    facts.put("cluster", cluster);
    facts.put("address", endpoints.internal());
    facts.put("external", endpoints.external());
    facts.put("admin", admin);
    return facts;
  }

  private static String version() {
    String version = MasterMain.class.getPackage().getImplementationVersion();
    return version == null ? "dev" : version;
  }
}
