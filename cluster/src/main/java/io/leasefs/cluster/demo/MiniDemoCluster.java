package io.leasefs.cluster.demo;

import io.leasefs.cluster.mini.MiniCluster;
import io.leasefs.cluster.mini.ServerChild;
import io.leasefs.common.error.ErrorCode;
import io.leasefs.common.error.LeaseFsException;
import io.leasefs.common.model.ClusterEvent;
import io.leasefs.common.model.ServerAddress;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.stream.Stream;

/** A mini-cluster of the demo's own. */
final class MiniDemoCluster implements DemoCluster {
  private final MiniCluster cluster;

  MiniDemoCluster(MiniCluster cluster) {
    this.cluster = cluster;
  }

  @Override
  public List<ServerAddress> masters() {
    return List.of(cluster.masterAddress());
  }

  private ServerChild server(String name) {
    return cluster
        .chunkServer(name)
        .orElseThrow(
            () -> new LeaseFsException(ErrorCode.NOT_FOUND, "no server named '" + name + "'"));
  }

  @Override
  public void check() {
    // its processes are this one's children
  }

  @Override
  public Optional<Rehearsal> rehearsal() {
    return Optional.of(
        server -> {
          kill(server);
          cluster.restart(server(server));
        });
  }

  @Override
  public void kill(String server) {
    server(server).kill();
  }

  @Override
  public void freeze(String server, long nanos) {
    server(server).freeze();
  }

  @Override
  public void thaw(String server) {
    server(server).thaw();
  }

  @Override
  public List<ClusterEvent> recordedEvents() throws IOException {
    return readAll(cluster.folder());
  }

  /** All {@code events.jsonl} below a mini-cluster's folder. */
  static List<ClusterEvent> readAll(Path folder) throws IOException {
    List<ClusterEvent> events = new ArrayList<>();
    try (Stream<Path> servers = Files.list(folder)) {
      for (Path server : (Iterable<Path>) servers.sorted()::iterator) {
        Path recorded = server.resolve("events.jsonl");
        if (Files.exists(recorded)) {
          events.addAll(EvidenceFolder.readEvents(recorded));
        }
      }
    }
    return events;
  }

  @Override
  public void close() {
    cluster.close();
  }
}
