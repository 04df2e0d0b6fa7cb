package io.leasefs.cluster.loopback;

import io.leasefs.chunkserver.ChunkServerMain;
import io.leasefs.client.LeaseFs;
import io.leasefs.client.LeaseFsConfig;
import io.leasefs.common.model.ServerAddress;
import io.leasefs.master.MasterMain;
import io.leasefs.server.start.ServerProcess;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * One real master on Ratis and some real chunkservers, over gRPC on loopback, all in this JVM: the
 * same parts that the processes are made of, put together by the same mains. It has a folder of its
 * own and free ports, so that several run side by side.
 */
public final class InProcessCluster implements AutoCloseable {
  /** Chunks of 1 MiB and leases of 5 s: small, and patient on busy machines. */
  static final long CHUNK_BYTES = 1 << 20;

  private static final String ANY_PORT = "127.0.0.1:0";

  private final Path folder;
  private final List<String> masterFlags;
  private final List<String> chunkServerFlags;
  private final Map<String, ServerProcess> chunkServers = new LinkedHashMap<>();
  private @Nullable ServerProcess master;
  private String masterAddress = ANY_PORT;

  private InProcessCluster(Path folder, List<String> masterFlags, List<String> chunkServerFlags) {
    this.folder = folder;
    this.masterFlags = masterFlags;
    this.chunkServerFlags = chunkServerFlags;
  }

  /** Starts a master and so many chunkservers, cs1 and on, two to a rack. */
  public static InProcessCluster start(int servers, String... masterFlags) throws Exception {
    return start(servers, List.of(), masterFlags);
  }

  /** The same, with settings for the chunkservers. */
  static InProcessCluster start(int servers, List<String> chunkServerFlags, String... masterFlags)
      throws Exception {
    InProcessCluster cluster =
        new InProcessCluster(
            Files.createTempDirectory("leasefs-loopback"), List.of(masterFlags), chunkServerFlags);
    try {
      cluster.startMaster();
      for (int i = 1; i <= servers; i++) {
        cluster.startChunkServer("cs" + i);
      }
      cluster.awaitNodes(servers);
      return cluster;
    } catch (Exception e) {
      cluster.close();
      throw e;
    }
  }

  /** Starts the master, on the port that it had before if it had one. */
  void startMaster() throws Exception {
    List<String> flags = new ArrayList<>();
    flags.addAll(List.of("--data", masterFolder().toString()));
    flags.addAll(List.of("--listen", masterAddress, "--lease-ttl", "5s", "--allow-faults"));
    flags.addAll(List.of("--chunk-size", Long.toString(CHUNK_BYTES)));
    flags.addAll(masterFlags);
    ServerProcess started = MasterMain.within(flags);
    master = started;
    masterAddress = fact(started, "address");
  }

  void stopMaster() {
    if (master != null) {
      master.close();
      master = null;
    }
  }

  /** Starts a chunkserver, on the data that it left behind if it ran before. */
  void startChunkServer(String name) throws Exception {
    int number = Integer.parseInt(name.substring(2));
    List<String> flags = new ArrayList<>();
    flags.addAll(List.of("--name", name, "--rack", "r" + (number + 1) / 2));
    flags.addAll(List.of("--data", folder(name).toString(), "--listen", ANY_PORT));
    flags.addAll(List.of("--master", masterAddress, "--allow-faults"));
    flags.addAll(chunkServerFlags);
    chunkServers.put(name, ChunkServerMain.within(flags));
  }

  /** Stops a chunkserver as SIGTERM does. */
  void stopChunkServer(String name) {
    Objects.requireNonNull(chunkServers.remove(name), name).close();
  }

  /** Waits until the master counts so many chunkservers and has their reports. */
  void awaitNodes(int count) {
    CommandLineRun run =
        shell().run("--timeout", "20s", "wait", "--for", "nodes=" + count).mustBe(0);
    Objects.requireNonNull(run);
  }

  /** The command line, talking to this cluster. */
  Shell shell() {
    return new Shell(Map.of("LEASEFS_MASTER", masterAddress, "HOME", folder.toString()));
  }

  /** A client of this cluster. */
  public LeaseFs client() {
    return LeaseFs.connect(LeaseFsConfig.of(List.of(masterAddress())));
  }

  /** Where the master listens. */
  public ServerAddress masterAddress() {
    return ServerAddress.parse(masterAddress);
  }

  /** The names of the chunkservers that run. */
  List<String> names() {
    return List.copyOf(chunkServers.keySet());
  }

  /** Where a chunkserver listens. */
  ServerAddress address(String name) {
    return ServerAddress.parse(
        fact(Objects.requireNonNull(chunkServers.get(name), name), "address"));
  }

  /** Where a chunkserver tells its health and its meters. */
  URI metrics(String name) {
    ServerProcess server = Objects.requireNonNull(chunkServers.get(name), name);
    return URI.create("http://" + fact(server, "admin") + "/metrics");
  }

  Path masterFolder() {
    return folder("master");
  }

  Path folder(String server) {
    return folder.resolve(server);
  }

  private static String fact(ServerProcess process, String key) {
    return String.valueOf(process.facts().get(key));
  }

  /** Stops all, the chunkservers first, and removes the folder. */
  @Override
  public void close() {
    List<String> running = new ArrayList<>(chunkServers.keySet());
    Collections.reverse(running);
    running.forEach(this::stopChunkServer);
    stopMaster();
    try (Stream<Path> below = Files.walk(folder)) {
      for (Path path : below.sorted(Comparator.reverseOrder()).toList()) {
        Files.delete(path);
      }
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }
}
