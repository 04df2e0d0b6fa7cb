package io.leasefs.chunkserver.fault;

import io.leasefs.common.edge.Clock;
import io.leasefs.common.edge.Scheduler;
import java.util.concurrent.CompletableFuture;
import java.util.function.Consumer;
import java.util.function.LongSupplier;
import java.util.function.Supplier;

/**
 * All lines of a server, and the faults that they suffer.
 *
 * @param clock measures delays
 * @param scheduler delivers what was delayed; what it runs hands on at once
 */
public record FaultyNetwork(Faults faults, Clock clock, Scheduler scheduler) {
  /**
   * A new stream.
   *
   * @param party whom it leads to; may be learned late, and is empty until then
   * @param broken told at the healing, if anything was lost
   */
  Line line(Supplier<String> party, Consumer<String> broken) {
    return new Line(this, party, broken);
  }

  Way way(LongSupplier delayNanos) {
    return new Way(clock, scheduler, delayNanos);
  }

  /** Asks after a while; at once where that is 0. */
  <T> CompletableFuture<T> later(long nanos, Supplier<CompletableFuture<T>> call) {
    if (nanos == 0) {
      return call.get();
    }
    CompletableFuture<CompletableFuture<T>> asked = new CompletableFuture<>();
    var _ = scheduler.after(nanos, () -> asked.complete(call.get()));
    return asked.thenCompose(answer -> answer);
  }
}
