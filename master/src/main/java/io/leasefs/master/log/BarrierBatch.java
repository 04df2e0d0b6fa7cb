package io.leasefs.master.log;

import io.leasefs.master.log.OperationLog.Committed;
import java.util.concurrent.CompletableFuture;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * Barriers, one in flight: whoever asks meanwhile shares the next one, which is appended after they
 * asked. Thread-safe.
 */
public final class BarrierBatch {
  private final Supplier<CompletableFuture<Committed>> append;
  private boolean inFlight;
  private @Nullable CompletableFuture<Committed> next;

  /** The supplier appends a barrier entry. */
  public BarrierBatch(Supplier<CompletableFuture<Committed>> append) {
    this.append = append;
  }

  /** Completes with an entry that is appended from now on. */
  public CompletableFuture<Committed> barrier() {
    CompletableFuture<Committed> mine;
    synchronized (this) {
      if (next == null) {
        next = new CompletableFuture<>();
      }
      mine = next;
      if (inFlight) {
        return mine;
      }
      inFlight = true;
      next = null;
    }
    send(mine);
    return mine;
  }

  private void send(CompletableFuture<Committed> waiting) {
    var _ =
        append
            .get()
            .whenComplete(
                (committed, failure) -> {
                  CompletableFuture<Committed> following;
                  synchronized (this) {
                    following = next;
                    next = null;
                    inFlight = following != null;
                  }
                  if (following != null) {
                    send(following);
                  }
                  if (failure != null) {
                    waiting.completeExceptionally(failure);
                  } else {
                    waiting.complete(committed);
                  }
                });
  }
}
