package io.leasefs.cluster.containers;

import com.github.dockerjava.api.DockerClient;
import com.github.dockerjava.api.async.ResultCallback;
import com.github.dockerjava.api.command.CreateContainerResponse;
import com.github.dockerjava.api.command.InspectContainerResponse;
import com.github.dockerjava.api.exception.DockerException;
import com.github.dockerjava.api.model.ContainerNetwork;
import com.github.dockerjava.api.model.ExposedPort;
import com.github.dockerjava.api.model.Frame;
import com.github.dockerjava.api.model.HostConfig;
import com.github.dockerjava.api.model.Network;
import com.github.dockerjava.api.model.PortBinding;
import com.github.dockerjava.api.model.Ports;
import io.leasefs.client.LeaseFs;
import io.leasefs.client.LeaseFsConfig;
import io.leasefs.common.error.LeaseFsException;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;
import org.testcontainers.DockerClientFactory;

/**
 * A master and some chunkservers as containers of the real image, each with a read-only root.
 *
 * <p>Two networks: on the one the master talks with the chunkservers, on the other chunkservers
 * talk with one another and are reached from outside. So a server can be cut from the master alone.
 * A test on this host comes in by the second listener of each server, published on loopback.
 */
final class ContainerCluster implements AutoCloseable {
  private static final String MASTER = "master";
  private static final int PORT = 9800;
  private static final int ADMIN_PORT = 9801;
  private static final int EXTERNAL_PORT = 9802;

  private final DockerClient docker = DockerClientFactory.instance().client();
  private final Map<String, String> containers = new LinkedHashMap<>();
  private final List<String> networks = new ArrayList<>();
  private final String dataNetwork;
  private final String masterNetwork;
  private final int masterPort;
  private final String leaseTtl;

  private ContainerCluster(String leaseTtl) throws IOException {
    this.leaseTtl = leaseTtl;
    String name = "leasefs-" + ProcessHandle.current().pid() + "-" + System.nanoTime();
    // Published ports belong to the network that comes first by name.
    this.dataNetwork = network(name + "-a-data");
    this.masterNetwork = network(name + "-b-master");
    this.masterPort = freePort();
  }

  /** Starts a cluster and waits until all its chunkservers are known to the master. */
  static ContainerCluster start(int chunkServers, String leaseTtl) throws IOException {
    ContainerCluster cluster = new ContainerCluster(leaseTtl);
    try {
      cluster.startMaster();
      for (int i = 1; i <= chunkServers; i++) {
        cluster.startChunkServer("cs" + i, "r" + (i + 1) / 2);
      }
      try (LeaseFs fs = cluster.connect()) {
        await(
            Duration.ofSeconds(90),
            chunkServers + " chunkservers are live",
            () -> liveNodes(fs) == chunkServers);
      }
      return cluster;
    } catch (RuntimeException | AssertionError e) {
      e.addSuppressed(new IllegalStateException(cluster.logs()));
      cluster.close();
      throw e;
    }
  }

  private static int liveNodes(LeaseFs fs) {
    try {
      return LeaseFs.join(fs.admin().status()).nodesLive();
    } catch (LeaseFsException e) {
      return 0; // the master is not up yet
    }
  }

  /** Waits for a fact, looking at it every 50 ms. */
  static void await(Duration limit, String what, BooleanSupplier fact) {
    long deadline = System.nanoTime() + limit.toNanos();
    while (!fact.getAsBoolean()) {
      if (System.nanoTime() > deadline) {
        throw new AssertionError("not within " + limit.toSeconds() + " s: " + what);
      }
      LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(50));
    }
  }

  /** A client on this host. */
  LeaseFs connect() {
    return LeaseFs.connect(
        LeaseFsConfig.of("127.0.0.1:" + masterPort).withTimeout(Duration.ofSeconds(60)));
  }

  private void startMaster() {
    run(
        MASTER,
        masterNetwork,
        masterPort,
        List.of(
            MASTER,
            "--id=1",
            "--data=/data",
            "--listen=0.0.0.0:" + PORT,
            "--advertise=" + MASTER + ":" + PORT,
            "--listen-external=0.0.0.0:" + EXTERNAL_PORT,
            "--advertise-external=127.0.0.1:" + masterPort,
            "--admin=0.0.0.0:" + ADMIN_PORT,
            "--lease-ttl=" + leaseTtl));
  }

  private void startChunkServer(String name, String rack) throws IOException {
    int port = freePort();
    run(
        name,
        dataNetwork,
        port,
        List.of(
            "chunkserver",
            "--name=" + name,
            "--rack=" + rack,
            "--data=/data",
            "--master=" + MASTER + ":" + PORT,
            "--listen=0.0.0.0:" + PORT,
            "--advertise=" + name + ":" + PORT,
            "--listen-external=0.0.0.0:" + EXTERNAL_PORT,
            "--advertise-external=127.0.0.1:" + port,
            "--admin=0.0.0.0:" + ADMIN_PORT));
  }

  private void run(String name, String network, int port, List<String> command) {
    ExposedPort exposed = ExposedPort.tcp(EXTERNAL_PORT);
    HostConfig host =
        new HostConfig()
            .withReadonlyRootfs(true)
            .withTmpFs(
                Map.of("/tmp", "size=64m,mode=1777", "/run/leasefs", "exec,size=4m,mode=1777"))
            .withNetworkMode(network)
            .withPortBindings(
                new PortBinding(Ports.Binding.bindIpAndPort("127.0.0.1", port), exposed));
    CreateContainerResponse created =
        docker
            .createContainerCmd(ImageContainersIT.IMAGE.asCanonicalNameString())
            .withCmd(command)
            .withHostName(name)
            .withAliases(name)
            .withExposedPorts(exposed)
            .withEnv("LEASEFS_OPTS=-Xmx256m -Dio.netty.native.workdir=/run/leasefs")
            .withHostConfig(host)
            .exec();
    containers.put(name, created.getId());
    if (!network.equals(masterNetwork)) {
      join(masterNetwork, name, List.of());
    }
    docker.startContainerCmd(created.getId()).exec();
  }

  /** SIGKILL. */
  void kill(String server) {
    docker.killContainerCmd(id(server)).exec();
  }

  /** SIGTERM, and waits for the end. */
  void stop(String server) {
    docker.stopContainerCmd(id(server)).withTimeout(30).exec();
  }

  /** Starts a server that was killed or stopped, on its old data. */
  void restart(String server) {
    docker.startContainerCmd(id(server)).exec();
  }

  /** Freezes all threads of a server. */
  void pause(String server) {
    docker.pauseContainerCmd(id(server)).exec();
  }

  void unpause(String server) {
    docker.unpauseContainerCmd(id(server)).exec();
  }

  /** Cuts a chunkserver from the master; it still sees the other chunkservers and its clients. */
  void cutFromMaster(String server) {
    leave(masterNetwork, server);
  }

  /** Cuts a chunkserver from everybody. */
  void cut(String server) {
    leave(masterNetwork, server);
    leave(dataNetwork, server);
  }

  /** Wakes up, starts and reconnects whatever is not as it should be. */
  void heal() {
    containers.forEach(
        (name, id) -> {
          InspectContainerResponse found = docker.inspectContainerCmd(id).exec();
          Set<String> joined = new HashSet<>();
          found.getNetworkSettings().getNetworks().values().stream()
              .map(ContainerNetwork::getNetworkID)
              .forEach(joined::add);
          if (!name.equals(MASTER) && !joined.contains(dataNetwork)) {
            join(dataNetwork, name, List.of(name));
          }
          if (!joined.contains(masterNetwork)) {
            join(masterNetwork, name, List.of());
          }
          if (Boolean.TRUE.equals(found.getState().getPaused())) {
            unpause(name);
          }
          if (!Boolean.TRUE.equals(found.getState().getRunning())) {
            restart(name);
          }
        });
  }

  private void leave(String network, String server) {
    docker
        .disconnectFromNetworkCmd()
        .withNetworkId(network)
        .withContainerId(id(server))
        .withForce(true)
        .exec();
  }

  private void join(String network, String server, List<String> aliases) {
    docker
        .connectToNetworkCmd()
        .withNetworkId(network)
        .withContainerId(id(server))
        .withContainerNetwork(new ContainerNetwork().withAliases(aliases))
        .exec();
  }

  private String id(String server) {
    String id = containers.get(server);
    if (id == null) {
      throw new IllegalArgumentException("no such server: " + server);
    }
    return id;
  }

  /** The last lines of all servers. */
  String logs() {
    StringBuilder logs = new StringBuilder();
    containers.forEach(
        (name, id) -> {
          logs.append("\n--- ").append(name).append('\n');
          try (ResultCallback.Adapter<Frame> callback =
              new ResultCallback.Adapter<>() {
                @Override
                public void onNext(Frame frame) {
                  logs.append(new String(frame.getPayload(), StandardCharsets.UTF_8));
                }
              }) {
            docker
                .logContainerCmd(id)
                .withStdOut(true)
                .withStdErr(true)
                .withTail(60)
                .exec(callback)
                .awaitCompletion(10, TimeUnit.SECONDS);
          } catch (IOException e) {
            throw new UncheckedIOException(e);
          } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
          }
        });
    return logs.toString();
  }

  /** Removes all containers with their volumes, and the networks. */
  @Override
  public void close() {
    for (String id : containers.values()) {
      try {
        docker.removeContainerCmd(id).withForce(true).withRemoveVolumes(true).exec();
      } catch (DockerException e) {
        System.err.println("container " + id + " was not removed: " + e.getMessage());
      }
    }
    for (String network : networks) {
      docker.removeNetworkCmd(network).exec();
    }
  }

  private String network(String name) {
    String id =
        docker
            .createNetworkCmd()
            .withName(name)
            .withDriver("bridge")
            .withIpam(new Network.Ipam())
            .exec()
            .getId();
    networks.add(id);
    return id;
  }

  /** A port that is free now; somebody else could take it before its container does. */
  private static int freePort() throws IOException {
    try (ServerSocket socket = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
      return socket.getLocalPort();
    }
  }
}
