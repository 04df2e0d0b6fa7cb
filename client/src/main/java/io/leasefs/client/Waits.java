package io.leasefs.client;

import io.leasefs.client.edge.Futures;
import io.leasefs.common.error.ErrorCode;
import io.leasefs.common.error.LeaseFsException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;

/** Waiting for a future that ends by itself in bounded time. */
final class Waits {
  private Waits() {}

  static <T> T join(CompletableFuture<T> future) {
    try {
      return future.get();
    } catch (ExecutionException failed) {
      LeaseFsException failure = Futures.failureOf(failed);
      // A fresh trace, of the caller who waited.
      throw failure.saying(message(failure));
    } catch (InterruptedException interrupted) {
      Thread.currentThread().interrupt();
      throw new LeaseFsException(ErrorCode.TIMED_OUT, "interrupted while waiting for the cluster");
    }
  }

  private static String message(LeaseFsException failure) {
    String message = failure.getMessage();
    return message == null ? failure.code().name() : message;
  }
}
