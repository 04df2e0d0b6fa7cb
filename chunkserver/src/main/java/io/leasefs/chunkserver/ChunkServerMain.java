package io.leasefs.chunkserver;

import io.leasefs.chunkserver.fault.Faults;
import io.leasefs.chunkserver.fault.FaultyDisk;
import io.leasefs.chunkserver.fault.Harm;
import io.leasefs.chunkserver.session.ServerRecord;
import io.leasefs.chunkserver.store.ChunkStore;
import io.leasefs.common.config.Config;
import io.leasefs.common.config.ConfigKey;
import io.leasefs.common.config.DataSize;
import io.leasefs.common.edge.Clock;
import io.leasefs.common.edge.Disk;
import io.leasefs.common.edge.DiskFile;
import io.leasefs.common.error.ErrorCode;
import io.leasefs.common.error.LeaseFsException;
import io.leasefs.common.model.Endpoints;
import io.leasefs.common.model.ServerAddress;
import io.leasefs.common.model.ServerId;
import io.leasefs.common.rpc.Channels;
import io.leasefs.common.rpc.ChunkServerEndpoint;
import io.leasefs.common.rpc.PayloadPool;
import io.leasefs.common.rpc.RemoteChunkServer;
import io.leasefs.common.rpc.RemoteMaster;
import io.leasefs.common.rpc.Servers;
import io.leasefs.common.rpc.Traffic;
import io.leasefs.server.admin.AdminServer;
import io.leasefs.server.admin.Health;
import io.leasefs.server.clock.SystemClock;
import io.leasefs.server.disk.LocalDisk;
import io.leasefs.server.events.EventLines;
import io.leasefs.server.events.EventLog;
import io.leasefs.server.start.Advertised;
import io.leasefs.server.start.DataFolder;
import io.leasefs.server.start.OwnProcess;
import io.leasefs.server.start.ServerKeys;
import io.leasefs.server.start.ServerProcess;
import io.leasefs.server.threads.SecureChance;
import io.leasefs.server.threads.ThreadPool;
import io.leasefs.server.threads.TimerThread;
import io.micrometer.core.instrument.FunctionCounter;
import io.micrometer.core.instrument.Gauge;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import java.util.function.LongConsumer;

/** A chunkserver as a process: builds everything, top to bottom, and stops it bottom to top. */
public final class ChunkServerMain {
  private static final ConfigKey<String> NAME =
      ConfigKey.text("name", "name of this server in the cluster, such as cs1");
  private static final ConfigKey<String> RACK =
      ConfigKey.text("rack", "where it stands: copies are spread over racks").withDefault("r1");
  private static final ConfigKey<List<ServerAddress>> MASTER =
      ConfigKey.addresses("master", "addresses of the masters, separated by commas");
  private static final ConfigKey<DataSize> SCRUB_RATE =
      ConfigKey.size("scrub.rate", "read so much a second to find damage; 0: do not")
          .withDefault("4MiB");
  private static final ConfigKey<Duration> SCRUB_EVERY =
      ConfigKey.duration("scrub.every", "look at everything once in this time, if the rate allows")
          .withDefault("1h");
  private static final ConfigKey<ServerAddress> LISTEN = ServerKeys.listen(9810);

  private static final int CORE_THREADS = 8;
  private static final int DISK_THREADS = 48;
  private static final int OPEN_FILES = 1_000;
  private static final int PARALLEL_FORCES = 8;
  private static final long PEER_TIMEOUT_NANOS = 5_000_000_000L;
  private static final long MASTER_TIMEOUT_NANOS = 2_000_000_000L;
  private static final long STOP_SECONDS = 8;

  private ChunkServerMain() {}

  /** Runs until a signal ends the process. */
  public static void main(String[] arguments) {
    ServerProcess.run("chunkserver", List.of(arguments), keys(), ChunkServerMain::start);
    stayAlive();
  }

  /**
   * A chunkserver inside this JVM, with these settings.
   *
   * @throws io.leasefs.common.error.LeaseFsException where it cannot start, in its words
   */
  public static ServerProcess within(List<String> arguments) throws Exception {
    return ServerProcess.within("chunkserver", arguments, keys(), ChunkServerMain::start);
  }

  private static List<ConfigKey<?>> keys() {
    return List.of(
        NAME,
        RACK,
        ServerKeys.DATA,
        MASTER,
        LISTEN,
        SCRUB_RATE,
        SCRUB_EVERY,
        ServerKeys.LISTEN_EXTERNAL,
        ServerKeys.ADVERTISE,
        ServerKeys.ADVERTISE_EXTERNAL,
        ServerKeys.ADMIN,
        ServerKeys.CLUSTER_ID,
        ServerKeys.ALLOW_FAULTS,
        ServerKeys.FAULT_DRIFT,
        ServerKeys.FAULT_WALL);
  }

  private static void start(ServerProcess process) throws IOException {
    Config config = process.config();
    ServerId name = new ServerId(config.get(NAME));
    Optional<Faults> faults =
        config.get(ServerKeys.ALLOW_FAULTS)
            ? Optional.of(new Faults(process.own().map(ToProcess::new)))
            : Optional.empty();

    DataFolder folder =
        DataFolder.open(
            config.get(ServerKeys.DATA),
            "chunkserver",
            name.name(),
            config.find(ServerKeys.CLUSTER_ID));
    process.onStop("folder", folder);
    Disk local = new LocalDisk(folder.path());
    Disk disk = faults.isEmpty() ? local : new FaultyDisk(local, faults.get(), new Pause());

    Clock clock = ServerKeys.clock(config, SystemClock.holder());
    TimerThread timer = new TimerThread("timer");
    process.onStop("timer", timer);
    ThreadPool diskThreads = new ThreadPool("disk", DISK_THREADS);
    process.onStop("disk threads", diskThreads);
    ThreadPool coreThreads = new ThreadPool("chunk", CORE_THREADS);
    process.onStop("chunk threads", coreThreads);
    ThreadPool heartbeatThread = new ThreadPool("heartbeat", 1);
    process.onStop("heartbeat thread", heartbeatThread);
    SecureChance chance = new SecureChance();

    DiskFile eventFile = local.open("events.jsonl", true);
    process.onStop("events", eventFile);
    EventLog events =
        new EventLog(
            name,
            System::nanoTime,
            clock::wallMillis,
            EventLog.DEFAULT_CAPACITY,
            new EventLines(eventFile));

    String bootId = Files.readString(Path.of("/proc/sys/kernel/random/boot_id")).strip();
    ServerRecord record = whole(folder, () -> serverRecord(disk, folder));
    ChunkStore.Surroundings surroundings =
        new ChunkStore.Surroundings(
            disk,
            name,
            diskThreads,
            inParallel(diskThreads),
            timer,
            clock,
            chance,
            bootId,
            OPEN_FILES,
            PARALLEL_FORCES);
    ChunkStore store = whole(folder, () -> ChunkStore.open(surroundings));
    process.onStop("store", store::stopClean);

    Channels heartbeatChannels = new Channels("heartbeat", 1);
    process.onStop("heartbeat channels", heartbeatChannels);
    Channels peerChannels = new Channels("peer", 2);
    process.onStop("peer channels", peerChannels);
    ChunkServer server =
        new ChunkServer(
            ChunkServerConfig.of(name, config.get(RACK), bootId, config.get(MASTER))
                .withScrubbing(config.get(SCRUB_RATE).bytes(), config.get(SCRUB_EVERY).toNanos()),
            new ChunkServer.Edges(
                clock,
                timer,
                coreThreads,
                diskThreads,
                heartbeatThread,
                chance,
                (peer, address) -> new RemoteChunkServer(peerChannels, address, PEER_TIMEOUT_NANOS),
                master -> new RemoteMaster(heartbeatChannels, master, MASTER_TIMEOUT_NANOS),
                PayloadPool::release),
            store,
            record,
            events,
            faults);

    Servers servers = new Servers("listener", 2);
    process.onStop("listeners", servers);
    ChunkServerEndpoint endpoint = new ChunkServerEndpoint(server);
    ServerAddress bound = servers.listen(config.get(LISTEN), endpoint);
    Optional<ServerAddress> boundExternal =
        config.find(ServerKeys.LISTEN_EXTERNAL).map(external -> servers.listen(external, endpoint));
    Endpoints endpoints =
        Advertised.endpoints(config, LISTEN, bound.port(), boundExternal.map(ServerAddress::port));

    AdminServer admin =
        AdminServer.start(
            config.get(ServerKeys.ADMIN), () -> health(server, endpoints), process.metrics());
    process.onStop("admin", admin);
    meter(process, server, store);
    meter(process, heartbeatChannels.traffic());

    process.onStop(
        "chunkserver",
        () -> {
          boolean _ = server.stop().get(STOP_SECONDS, TimeUnit.SECONDS);
        });
    var _ = server.refused().thenAccept(process::refuse);
    server.start(endpoints);

    Map<String, Object> facts = new LinkedHashMap<>();
    facts.put("server", name);
    facts.put("address", endpoints.internal());
    facts.put("external", endpoints.external());
    facts.put("admin", admin.address());
    process.ready(facts);
  }

  @FunctionalInterface
  private interface Opening<T> {
    T open() throws IOException;
  }

  /** Where a file of the folder that cannot be made up is damaged, it is said what to do. */
  private static <T> T whole(DataFolder folder, Opening<T> opening) throws IOException {
    try {
      return opening.open();
    } catch (LeaseFsException e) {
      if (e.code() != ErrorCode.CORRUPT) {
        throw e;
      }
      throw new LeaseFsException(
          ErrorCode.CORRUPT,
          folder.path() + ": " + e.getMessage(),
          "nothing was changed; restore the folder from a copy. Or move it away and start with an"
              + " empty one: its chunks are copied from other servers, where 'leasefs fsck' says"
              + " that they have them",
          e);
    }
  }

  /** What this server remembers; a fresh one is told the cluster that its operator named. */
  private static ServerRecord serverRecord(Disk disk, DataFolder folder) throws IOException {
    ServerRecord record = ServerRecord.open(disk);
    if (record.clusterId().isEmpty() && folder.cluster().isPresent()) {
      record.storeCluster(folder.cluster().get());
    }
    return record;
  }

  private static Health health(ChunkServer server, Endpoints endpoints) {
    ChunkServer.Standing standing = server.standing();
    Map<String, Object> facts = new LinkedHashMap<>();
    facts.put("listen", endpoints.internal());
    facts.put("chunks", standing.chunks());
    facts.put("leases", standing.leases());
    String state =
        standing.stopping() ? "stopping" : standing.registered() ? "serving" : "unregistered";
    return new Health(standing.registered() && !standing.stopping(), state, facts);
  }

  private static void meter(ServerProcess process, ChunkServer server, ChunkStore store) {
    var _ =
        Gauge.builder("leasefs.flight.bytes", server, ChunkServer::flightBytes)
            .description("payload under way")
            .register(process.metrics());
    var _ =
        Gauge.builder("leasefs.leases.held", server, s -> s.standing().leases())
            .description("chunk leases held")
            .register(process.metrics());
    var _ =
        Gauge.builder("leasefs.chunks", server, s -> s.standing().chunks())
            .description("copies of chunks")
            .register(process.metrics());
    var _ =
        Gauge.builder("leasefs.disk.stalled.nanos", store, ChunkStore::stalledNanos)
            .description("how long the oldest disk action has been waiting")
            .register(process.metrics());
  }

  private static void meter(ServerProcess process, Traffic heartbeats) {
    var _ =
        FunctionCounter.builder(
                "leasefs.heartbeats.answered", heartbeats, Traffic::messagesReceived)
            .description("answers of the master to heartbeats")
            .register(process.metrics());
    var _ =
        FunctionCounter.builder(
                "leasefs.heartbeat.bytes", heartbeats, t -> t.bytesSent() + t.bytesReceived())
            .description("bytes of heartbeats and their answers")
            .register(process.metrics());
  }

  /** Runs all of the tasks on the pool; returns when they are done. */
  private static Consumer<List<Runnable>> inParallel(ThreadPool pool) {
    return tasks -> {
      CountDownLatch left = new CountDownLatch(tasks.size());
      for (Runnable task : new ArrayList<>(tasks)) {
        pool.execute(
            () -> {
              try {
                task.run();
              } finally {
                left.countDown();
              }
            });
      }
      try {
        left.await();
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt();
      }
    };
  }

  /** All other threads are daemons: this one keeps the process until a signal ends it. */
  private static void stayAlive() {
    Thread.ofPlatform()
        .daemon(false)
        .name("alive")
        .start(
            () -> {
              try {
                new CountDownLatch(1).await();
              } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
              }
            });
  }

  /** Harms this process, on demand. */
  private record ToProcess(OwnProcess process) implements Harm {
    @Override
    public void kill() {
      process.kill();
    }

    @Override
    public void freeze(long nanos) {
      process.freeze(nanos);
    }
  }

  /** Makes a disk slow, on demand. */
  private static final class Pause implements LongConsumer {
    @Override
    public void accept(long nanos) {
      try {
        Thread.sleep(Duration.ofNanos(nanos));
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt();
      }
    }
  }
}
