package io.leasefs.common.api;

import java.util.concurrent.CompletableFuture;
import java.util.function.Consumer;

/** What a chunkserver asks the master. */
public interface ClusterApi {
  /**
   * Registers an incarnation. Fails with WRONG_CLUSTER, INVALID_ARGUMENT (an incarnation below the
   * logged one), NOT_LEADER, UNREACHABLE.
   */
  CompletableFuture<Registration.Response> register(Registration.Request request);

  /**
   * Opens the heartbeat stream. Responses come one at a time; {@code broken} is told once when the
   * stream ends, whichever way.
   */
  HeartbeatStream heartbeat(Consumer<Heartbeat.Response> responses, Consumer<String> broken);

  /** The server's side of an open stream. */
  interface HeartbeatStream {
    /** Sends; never blocks; dropped where the stream is broken. */
    void send(Heartbeat.Request request);

    /** Ends the stream. */
    void close();
  }
}
