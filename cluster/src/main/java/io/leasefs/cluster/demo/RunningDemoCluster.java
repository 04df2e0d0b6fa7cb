package io.leasefs.cluster.demo;

import io.leasefs.client.LeaseFs;
import io.leasefs.client.LeaseFsConfig;
import io.leasefs.common.api.AdminApi.NodeStatus;
import io.leasefs.common.api.ChunkApi;
import io.leasefs.common.error.ErrorCode;
import io.leasefs.common.error.LeaseFsException;
import io.leasefs.common.model.ClusterEvent;
import io.leasefs.common.model.ServerAddress;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.locks.LockSupport;

/**
 * A cluster that runs already and allows faults: its servers end or freeze themselves when told to.
 * Their records are fetched over the network, and of servers that are gone from the cluster's
 * folder where it is a mini-cluster of this machine.
 */
final class RunningDemoCluster implements DemoCluster {
  private static final int EVENTS_PAGE = 10_000;
  private static final long THAW_NANOS = 30_000_000_000L;
  private static final long LOOK_NANOS = 100_000_000;

  private final List<ServerAddress> masters;
  private final Optional<Path> folder;
  private final LeaseFs client;

  /** Records seen so far, by server; those of a server about to be killed are fetched first. */
  private final Map<String, List<ClusterEvent>> fetched = new TreeMap<>();

  RunningDemoCluster(List<ServerAddress> masters, Optional<Path> folder) {
    this.masters = masters;
    this.folder = folder;
    this.client = LeaseFs.connect(LeaseFsConfig.of(masters));
  }

  @Override
  public List<ServerAddress> masters() {
    return masters;
  }

  private ChunkApi server(String name) {
    for (NodeStatus node : LeaseFs.join(client.admin().nodes())) {
      if (node.server().name().equals(name)) {
        return client.chunkServer(node.address());
      }
    }
    throw new LeaseFsException(ErrorCode.NOT_FOUND, "no server named '" + name + "'");
  }

  @Override
  public void check() {
    for (NodeStatus node : LeaseFs.join(client.admin().nodes())) {
      try {
        List<String> on = LeaseFs.join(client.chunkServer(node.address()).fault("ls", List.of()));
        if (!on.isEmpty()) {
          throw new LeaseFsException(
              ErrorCode.BUSY,
              node.server() + " has faults already: " + String.join(", ", on),
              "end them with 'leasefs fault heal'");
        }
      } catch (LeaseFsException e) {
        if (!isSilence(e)) {
          throw e;
        }
      }
    }
  }

  private static boolean isSilence(LeaseFsException e) {
    return e.code() == ErrorCode.UNREACHABLE || e.code() == ErrorCode.TIMED_OUT;
  }

  @Override
  public Optional<Rehearsal> rehearsal() {
    return Optional.empty();
  }

  @Override
  public void kill(String server) {
    fetch(server);
    LeaseFs.join(server(server).fault("kill", List.of()));
  }

  @Override
  public void freeze(String server, long nanos) {
    LeaseFs.join(server(server).fault("freeze", List.of(Long.toString(nanos / 1_000_000))));
  }

  /** It thaws itself, for a frozen server hears nobody: waits until it answers again. */
  @Override
  public void thaw(String server) {
    long deadline = System.nanoTime() + THAW_NANOS;
    while (true) {
      try {
        List<String> _ = LeaseFs.join(server(server).fault("ls", List.of()));
        return;
      } catch (LeaseFsException e) {
        if (!isSilence(e) || System.nanoTime() - deadline > 0) {
          throw e;
        }
        LockSupport.parkNanos(LOOK_NANOS);
      }
    }
  }

  private void fetch(String server) {
    ChunkApi from = server(server);
    List<ClusterEvent> all = new ArrayList<>();
    List<ClusterEvent> page = LeaseFs.join(from.events(0, EVENTS_PAGE));
    while (!page.isEmpty()) {
      all.addAll(page);
      page = LeaseFs.join(from.events(page.get(page.size() - 1).number(), EVENTS_PAGE));
    }
    fetched.merge(server, all, RunningDemoCluster::joined);
  }

  /** A server that came back counts its records anew: what it told before stays. */
  private static List<ClusterEvent> joined(List<ClusterEvent> before, List<ClusterEvent> now) {
    Set<ClusterEvent> all = new LinkedHashSet<>(before);
    all.addAll(now);
    return List.copyOf(all);
  }

  @Override
  public List<ClusterEvent> recordedEvents() throws IOException {
    if (folder.isPresent()) {
      return MiniDemoCluster.readAll(folder.get());
    }
    for (NodeStatus node : LeaseFs.join(client.admin().nodes())) {
      try {
        fetch(node.server().name());
      } catch (LeaseFsException e) {
        if (!isSilence(e)) {
          throw e;
        }
        // gone: what was fetched before counts
      }
    }
    List<ClusterEvent> events = new ArrayList<>();
    fetched.values().forEach(events::addAll);
    long after = 0;
    List<ClusterEvent> page = LeaseFs.join(client.admin().events(after, 1000, 0));
    while (!page.isEmpty()) {
      events.addAll(page);
      after = page.get(page.size() - 1).number();
      page = LeaseFs.join(client.admin().events(after, 1000, 0));
    }
    return events;
  }

  @Override
  public void close() {
    client.close();
  }
}
