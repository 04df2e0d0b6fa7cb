package io.leasefs.chunkserver.fault;

import io.leasefs.chunkserver.session.ClusterConnector;
import io.leasefs.common.api.ClusterApi;
import io.leasefs.common.api.Heartbeat;
import io.leasefs.common.api.Registration;
import io.leasefs.common.model.ServerAddress;
import java.util.concurrent.CompletableFuture;
import java.util.function.Consumer;

/** The way to the masters, which can be cut. */
public final class FaultyMasters implements ClusterConnector {
  private final ClusterConnector inner;
  private final Faults faults;

  public FaultyMasters(ClusterConnector inner, Faults faults) {
    this.inner = inner;
    this.faults = faults;
  }

  @Override
  public ClusterApi connect(ServerAddress master) {
    return new Cut(inner.connect(master));
  }

  private final class Cut implements ClusterApi {
    private final ClusterApi master;

    Cut(ClusterApi master) {
      this.master = master;
    }

    @Override
    public CompletableFuture<Registration.Response> register(Registration.Request request) {
      // Lost on its way there or back: whoever asked has a deadline of its own.
      if (faults.dropsTo(Faults.MASTER)) {
        return new CompletableFuture<>();
      }
      return master
          .register(request)
          .thenCompose(
              response ->
                  faults.dropsFrom(Faults.MASTER)
                      ? new CompletableFuture<>()
                      : CompletableFuture.completedFuture(response));
    }

    @Override
    public HeartbeatStream heartbeat(
        Consumer<Heartbeat.Response> responses, Consumer<String> broken) {
      CutLine line = new CutLine(faults, () -> Faults.MASTER, broken);
      HeartbeatStream stream =
          master.heartbeat(
              response -> {
                if (line.letsIn()) {
                  responses.accept(response);
                }
              },
              why -> {
                if (line.end()) {
                  broken.accept(why);
                }
              });
      return new HeartbeatStream() {
        @Override
        public void send(Heartbeat.Request request) {
          if (line.letsOut()) {
            stream.send(request);
          }
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
