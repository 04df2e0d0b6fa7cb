package io.leasefs.client.edge;

import io.leasefs.common.error.ErrorCode;
import io.leasefs.common.error.LeaseFsException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ExecutionException;
import java.util.function.Consumer;

/** Ends of futures, with the one exception that crosses modules. */
public final class Futures {
  private Futures() {}

  /** The LeaseFsException inside; anything else is a bug and becomes INTERNAL. */
  public static LeaseFsException failureOf(Throwable failure) {
    Throwable inner = failure;
    while ((inner instanceof CompletionException || inner instanceof ExecutionException)
        && inner.getCause() != null) {
      inner = inner.getCause();
    }
    return inner instanceof LeaseFsException known
        ? known
        : new LeaseFsException(ErrorCode.INTERNAL, String.valueOf(inner), null, inner);
  }

  /** Calls one of the two when the future is done; at once where it is so already. */
  @SuppressWarnings("FutureReturnValueIgnored") // both ends are handled here
  public static <T> void onDone(
      CompletableFuture<T> future, Consumer<T> value, Consumer<LeaseFsException> failed) {
    future.whenComplete(
        (answer, failure) -> {
          if (failure != null) {
            failed.accept(failureOf(failure));
          } else {
            value.accept(answer);
          }
        });
  }

  /** The second ends as the first does. */
  public static <T> void pass(CompletableFuture<T> from, CompletableFuture<T> to) {
    onDone(from, to::complete, to::completeExceptionally);
  }

  /** Nobody waits for the answer; a failure is nothing to act on. */
  public static void ignore(CompletableFuture<?> future) {
    onDone(future, answer -> {}, failure -> {});
  }
}
