package io.leasefs.cluster.mini;

import io.leasefs.client.LeaseFs;
import io.leasefs.client.LeaseFsConfig;
import io.leasefs.common.error.ErrorCode;
import io.leasefs.common.error.LeaseFsException;
import io.leasefs.common.model.ServerAddress;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.locks.LockSupport;
import org.jspecify.annotations.Nullable;

/**
 * One master and some chunkservers as child processes of this JVM, on free ports of loopback. They
 * end with it, whichever way it ends in order; {@link #close} stops them all.
 */
public final class MiniCluster implements AutoCloseable {
  private static final long START_LIMIT_NANOS = 60_000_000_000L;
  private static final long STOP_SECONDS = 10;
  private static final long LOOK_NANOS = 20_000_000;

  /** Property that names the start-up cache of servers, set by {@code bin/leasefs}. */
  private static final String SERVICE_CACHE = "leasefs.service.cache";

  private static final String MASTER = "master";
  private static final String ANY_PORT = "127.0.0.1:0";

  private final MiniConfig config;
  private final ServerChild master;
  private final List<ServerChild> chunkServers;
  private final Thread hook;
  private ServerAddress masterAddress;
  private @Nullable LeaseFsException shortage;
  private volatile boolean over;

  /** Guarded by this. */
  private boolean stopped;

  private MiniCluster(MiniConfig config, ServerChild master, List<ServerChild> chunkServers) {
    this.config = config;
    this.master = master;
    this.chunkServers = Collections.unmodifiableList(chunkServers);
    this.masterAddress = new ServerAddress("127.0.0.1", 0);
    this.hook = new Thread(() -> end(config.temporary()), "stop the mini-cluster");
  }

  /**
   * Starts all servers and returns when all serve.
   *
   * @throws io.leasefs.common.error.LeaseFsException where one of them cannot start, in its words;
   *     those that run are stopped
   */
  public static MiniCluster start(MiniConfig config) throws IOException {
    Files.createDirectories(config.folder().resolve("log"));
    List<ServerChild> chunkServers = new ArrayList<>();
    for (int i = 1; i <= config.chunkServers(); i++) {
      String name = "cs" + i;
      List<String> flags = new ArrayList<>();
      flags.addAll(List.of("--name", name, "--rack", "r" + (i + 1) / 2));
      flags.addAll(List.of("--data", config.folder().resolve(name).toString()));
      flags.addAll(List.of("--admin", ANY_PORT));
      flags.addAll(config.chunkServerFlags());
      flags.addAll(config.ownFlags().getOrDefault(name, List.of()));
      chunkServers.add(child(config, name, "chunkserver", flags));
    }
    List<String> flags = new ArrayList<>();
    flags.addAll(List.of("--id", "1", "--data", config.folder().resolve("master").toString()));
    flags.addAll(List.of("--admin", ANY_PORT));
    flags.addAll(config.masterFlags());
    flags.addAll(config.ownFlags().getOrDefault(MASTER, List.of()));
    MiniCluster cluster =
        new MiniCluster(config, child(config, MASTER, "master", flags), chunkServers);
    Runtime.getRuntime().addShutdownHook(cluster.hook);
    try {
      cluster.startMaster();
      for (ServerChild chunkServer : chunkServers) {
        cluster.launch(chunkServer);
      }
      for (ServerChild chunkServer : chunkServers) {
        chunkServer.awaitReady(START_LIMIT_NANOS);
      }
      cluster.awaitNodes(chunkServers.size());
    } catch (RuntimeException e) {
      cluster.close(false);
      throw e;
    }
    return cluster;
  }

  private static ServerChild child(
      MiniConfig config, String name, String verb, List<String> flags) {
    List<String> command = new ArrayList<>();
    command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
    command.addAll(
        List.of(
            "-Xmx256m",
            "-XX:MaxDirectMemorySize=256m",
            "-XX:+UseSerialGC",
            "-XX:-UsePerfData",
            "-XX:+ExitOnOutOfMemoryError",
            "-Xlog:disable",
            "-Xlog:all=error:stderr",
            "--enable-native-access=ALL-UNNAMED",
            "--sun-misc-unsafe-memory-access=allow",
            "-Dio.netty.leakDetection.level=disabled",
            "-Dio.netty.jfr.enabled=false"));
    String cache = System.getProperty(SERVICE_CACHE);
    if (cache != null) {
      command.add("-XX:AOTCache=" + cache);
    }
    command.addAll(config.jvmFlags());
    command.add("-cp");
    command.add(System.getProperty("java.class.path"));
    command.add("io.leasefs.cluster.LeaseFsMain");
    command.add(verb);
    command.add("--end-with-input"); // its standard input is ours: it ends when we do, however
    command.addAll(flags);
    return new ServerChild(name, command, config.folder().resolve("log").resolve(name + ".log"));
  }

  /** A server that listens is of no use before the master has heard of it. */
  private void awaitNodes(int wanted) {
    long deadline = System.nanoTime() + START_LIMIT_NANOS;
    try (LeaseFs client = LeaseFs.connect(LeaseFsConfig.of(List.of(masterAddress)))) {
      while (LeaseFs.join(client.admin().status()).nodesLive() < wanted) {
        if (System.nanoTime() - deadline > 0) {
          throw new LeaseFsException(
              ErrorCode.TIMED_OUT,
              "not all of " + wanted + " chunkservers have registered after 60 s",
              "their logs are in " + config.folder().resolve("log"));
        }
        LockSupport.parkNanos(LOOK_NANOS);
      }
    } catch (LeaseFsException e) {
      if (e.code() != ErrorCode.LOG_SHORT) {
        throw e;
      }
      shortage = e; // it runs, so that an operator can decide
    }
  }

  /** Why the master serves nobody but who only looks; empty where it serves. */
  public Optional<LeaseFsException> shortage() {
    return Optional.ofNullable(shortage);
  }

  /** Starts the master, on the port that it had before if it had one. */
  public void startMaster() {
    master.start(List.of("--listen", masterAddress.toString()));
    master.awaitReady(START_LIMIT_NANOS);
    masterAddress = master.address();
  }

  private void launch(ServerChild chunkServer) {
    chunkServer.start(List.of("--master", masterAddress.toString(), "--listen", ANY_PORT));
  }

  /** Starts a chunkserver that was stopped or killed and waits until it serves. */
  public void restart(ServerChild chunkServer) {
    launch(chunkServer);
    chunkServer.awaitReady(START_LIMIT_NANOS);
  }

  /** The cluster's id, as its master tells it. */
  public String id() {
    try (LeaseFs client = LeaseFs.connect(LeaseFsConfig.of(List.of(masterAddress)))) {
      return client.greeting().clusterId();
    }
  }

  public ServerAddress masterAddress() {
    return masterAddress;
  }

  public ServerChild master() {
    return master;
  }

  public List<ServerChild> chunkServers() {
    return chunkServers;
  }

  /** The chunkserver of this name. */
  public Optional<ServerChild> chunkServer(String name) {
    return chunkServers.stream().filter(c -> c.name().equals(name)).findFirst();
  }

  public Path folder() {
    return config.folder();
  }

  /** Servers that do not run, the master first; none where the cluster itself is being stopped. */
  public List<ServerChild> ended() {
    List<ServerChild> ended = new ArrayList<>();
    if (!master.isAlive()) {
      ended.add(master);
    }
    chunkServers.stream().filter(c -> !c.isAlive()).forEach(ended::add);
    return over ? List.of() : ended;
  }

  /** Whether it is being stopped, or has been: by {@link #close}, or because this JVM ends. */
  public boolean isOver() {
    return over;
  }

  /**
   * Stops all: the chunkservers first, so that they can give their leases back. Then a temporary
   * folder is removed.
   */
  @Override
  public void close() {
    close(config.temporary());
  }

  private void close(boolean remove) {
    end(remove);
    try {
      boolean _ = Runtime.getRuntime().removeShutdownHook(hook);
    } catch (IllegalStateException e) {
      // the JVM is ending: the hook runs or has run
    }
  }

  /** Once; whoever comes second waits for the first. */
  private synchronized void end(boolean remove) {
    over = true;
    if (stopped) {
      return;
    }
    stopped = true;
    chunkServers.forEach(ServerChild::askToStop);
    chunkServers.forEach(c -> c.stop(STOP_SECONDS));
    master.stop(STOP_SECONDS);
    if (remove) {
      try {
        TemporaryFolders.remove(config.folder());
      } catch (IOException e) {
        throw new UncheckedIOException(e);
      }
    }
  }
}
