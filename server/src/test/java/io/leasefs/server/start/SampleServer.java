package io.leasefs.server.start;

import io.leasefs.server.admin.AdminServer;
import io.leasefs.server.admin.Health;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CountDownLatch;

/** A server with nothing to serve, run as a process of its own by {@link ServerProcessTest}. */
final class SampleServer {
  private SampleServer() {}

  public static void main(String[] arguments) {
    ServerProcess.run(
        "sample",
        List.of(arguments),
        List.of(ServerKeys.DATA, ServerKeys.ADMIN, ServerKeys.ALLOW_FAULTS),
        SampleServer::start);
  }

  private static void start(ServerProcess process) {
    DataFolder folder =
        DataFolder.open(process.config().get(ServerKeys.DATA), "sample", "one", Optional.empty());
    process.onStop("folder", folder);
    AdminServer admin =
        AdminServer.start(
            process.config().get(ServerKeys.ADMIN),
            () -> new Health(true, "serving", Map.of()),
            process.metrics());
    process.onStop("admin", admin);
    if (process.config().get(ServerKeys.ALLOW_FAULTS)) {
      process.onStop(
          "stubborn",
          () -> {
            throw new IllegalStateException("will not stop");
          });
    }
    CountDownLatch stopped = new CountDownLatch(1);
    Thread worker = new Thread(() -> await(stopped), "worker");
    worker.start();
    process.onStop("worker", stopped::countDown);
    process.ready(Map.of("admin", admin.address()));
  }

  private static void await(CountDownLatch latch) {
    try {
      latch.await();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }
}
