package io.leasefs.chunkserver.fault;

import io.leasefs.chunkserver.session.ClusterConnector;
import io.leasefs.common.api.ClusterApi;
import io.leasefs.common.api.Heartbeat;
import io.leasefs.common.api.Registration;
import io.leasefs.common.model.ServerAddress;
import java.util.concurrent.CompletableFuture;
import java.util.function.Consumer;

/** The way to the masters, which can be cut or long. */
public final class FaultyMasters implements ClusterConnector {
  private final ClusterConnector inner;
  private final FaultyNetwork network;
  private final Faults faults;

  public FaultyMasters(ClusterConnector inner, FaultyNetwork network) {
    this.inner = inner;
    this.network = network;
    this.faults = network.faults();
  }

  @Override
  public ClusterApi connect(ServerAddress master) {
    return new Far(inner.connect(master));
  }

  private final class Far implements ClusterApi {
    private final ClusterApi master;

    Far(ClusterApi master) {
      this.master = master;
    }

    @Override
    public CompletableFuture<Registration.Response> register(Registration.Request request) {
      // Lost on its way there or back: whoever asked has a deadline of its own.
      if (faults.dropsTo(Faults.MASTER)) {
        return new CompletableFuture<>();
      }
      return network
          .later(faults.delayToNanos(Faults.MASTER), () -> master.register(request))
          .thenCompose(
              response ->
                  network.later(
                      faults.delayFromNanos(Faults.MASTER),
                      () ->
                          faults.dropsFrom(Faults.MASTER)
                              ? new CompletableFuture<>()
                              : CompletableFuture.completedFuture(response)));
    }

    @Override
    public HeartbeatStream heartbeat(
        Consumer<Heartbeat.Response> responses, Consumer<String> broken) {
      Line line = network.line(() -> Faults.MASTER, broken);
      HeartbeatStream stream =
          master.heartbeat(
              response -> line.receive(0, () -> responses.accept(response)),
              why -> {
                if (line.end()) {
                  broken.accept(why);
                }
              });
      return new HeartbeatStream() {
        @Override
        public void send(Heartbeat.Request request) {
          line.send(0, () -> stream.send(request));
        }

        @Override
        public void close() {
          boolean _ = line.end();
          stream.close();
        }
      };
    }
  }
}
