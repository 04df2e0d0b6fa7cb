package io.leasefs.chunkserver;

import io.leasefs.chunkserver.pipeline.PeerConnector;
import io.leasefs.chunkserver.session.ClusterConnector;
import io.leasefs.common.api.ChunkApi;
import io.leasefs.common.api.ClusterApi;
import io.leasefs.common.api.Heartbeat;
import io.leasefs.common.api.PeerMessage;
import io.leasefs.common.api.Registration;
import io.leasefs.common.model.ServerAddress;
import io.leasefs.common.model.ServerId;
import java.lang.reflect.Proxy;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import java.util.function.Consumer;

/** Direct calls between servers; streams of a killed server break. */
final class TestNetwork {
  private final Map<ServerId, ChunkServer> servers;
  private final List<Line> lines = new ArrayList<>();

  /** How often each server has been killed. */
  private final Map<ServerId, Long> lives = new TreeMap<>();

  private record Line(ServerId from, ServerId to, Consumer<String> broken, Runnable closeFar) {}

  TestNetwork(Map<ServerId, ChunkServer> servers) {
    this.servers = servers;
  }

  PeerConnector from(ServerId from) {
    return (to, address) -> connect(from, address);
  }

  /** The way to the master, for as long as this incarnation of the server lives. */
  ClusterConnector masters(ServerId from, ClusterApi master) {
    long life = lives.getOrDefault(from, 0L);
    return address ->
        new ClusterApi() {
          @Override
          public CompletableFuture<Registration.Response> register(Registration.Request request) {
            return lives.getOrDefault(from, 0L) == life
                ? master.register(request)
                : new CompletableFuture<>();
          }

          @Override
          public HeartbeatStream heartbeat(
              Consumer<Heartbeat.Response> responses, Consumer<String> broken) {
            HeartbeatStream stream = master.heartbeat(responses, broken);
            return new HeartbeatStream() {
              @Override
              public void send(Heartbeat.Request request) {
                if (lives.getOrDefault(from, 0L) == life) {
                  stream.send(request);
                }
              }

              @Override
              public void close() {
                stream.close();
              }
            };
          }
        };
  }

  private ChunkApi connect(ServerId from, ServerAddress address) {
    ServerId to = new ServerId(address.host());
    return (ChunkApi)
        Proxy.newProxyInstance(
            getClass().getClassLoader(),
            new Class<?>[] {ChunkApi.class},
            (proxy, method, arguments) -> {
              if (!method.getName().equals("peer")) {
                ChunkServer server = servers.get(to);
                return method.invoke(server, arguments);
              }
              @SuppressWarnings("unchecked")
              Consumer<PeerMessage> answers = (Consumer<PeerMessage>) arguments[0];
              @SuppressWarnings("unchecked")
              Consumer<String> broken = (Consumer<String>) arguments[1];
              return open(from, to, answers, broken);
            });
  }

  private ChunkApi.PeerStream open(
      ServerId from, ServerId to, Consumer<PeerMessage> answers, Consumer<String> broken) {
    ChunkServer server = servers.get(to);
    if (server == null) {
      broken.accept("connection refused");
      return new Nowhere();
    }
    ChunkApi.PeerStream stream = server.peer(answers, why -> {});
    lines.add(new Line(from, to, broken, stream::close));
    return stream;
  }

  void killed(ServerId server) {
    lives.merge(server, 1L, Long::sum);
    for (Line line : List.copyOf(lines)) {
      if (line.to.equals(server)) {
        lines.remove(line);
        line.broken.accept("reset");
      } else if (line.from.equals(server)) {
        lines.remove(line);
        line.closeFar.run();
      }
    }
  }

  /** A stream that was never open. */
  private static final class Nowhere implements ChunkApi.PeerStream {
    @Override
    public void introduce(ServerId from, Map<ServerId, ServerAddress> listening) {}

    @Override
    public void send(PeerMessage message) {}

    @Override
    public boolean isReady() {
      return false;
    }

    @Override
    public void onReady(Runnable task) {}

    @Override
    public void close() {}
  }
}
