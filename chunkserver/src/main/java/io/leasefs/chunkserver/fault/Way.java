package io.leasefs.chunkserver.fault;

import io.leasefs.common.edge.Clock;
import io.leasefs.common.edge.Scheduler;
import java.util.ArrayDeque;
import java.util.function.LongSupplier;
import java.util.function.Supplier;

/**
 * One direction of a stream, on which messages may take longer. None overtakes another, also where
 * the delay has become shorter meanwhile.
 */
final class Way {
  private static final int MOST_MESSAGES = 1_024;
  private static final long MOST_BYTES = 4 << 20;

  private record Held(long untilNanos, long bytes, Runnable message) {}

  private final Clock clock;
  private final Scheduler scheduler;
  private final LongSupplier delayNanos;
  private volatile Runnable drained = () -> {};

  /** Guarded by this. */
  private final ArrayDeque<Held> held = new ArrayDeque<>();

  /** Guarded by this: of what is held. */
  private long bytes;

  /** Guarded by this: somebody delivers what is held, or will when it is time. */
  private boolean delivering;

  Way(Clock clock, Scheduler scheduler, LongSupplier delayNanos) {
    this.clock = clock;
    this.scheduler = scheduler;
    this.delayNanos = delayNanos;
  }

  /**
   * Keeps a message back where it has to wait, and has it run in time, on a thread of the
   * scheduler.
   *
   * @param message asked only where it is kept
   * @return false where it goes at once: the caller runs it
   */
  synchronized boolean holds(long messageBytes, Supplier<Runnable> message) {
    long delay = delayNanos.getAsLong();
    if (delay == 0 && !delivering) {
      return false;
    }
    held.addLast(new Held(clock.nanos() + delay, messageBytes, message.get()));
    bytes += messageBytes;
    if (!delivering) {
      delivering = true;
      var _ = scheduler.after(delay, this::deliver);
    }
    return true;
  }

  private void deliver() {
    while (true) {
      Held first;
      boolean nowDrained;
      synchronized (this) {
        first = held.peekFirst();
        if (first == null) {
          delivering = false;
          return;
        }
        long wait = first.untilNanos - clock.nanos();
        if (wait > 0) {
          var _ = scheduler.after(wait, this::deliver);
          return;
        }
        boolean full = isFull();
        held.removeFirst();
        bytes -= first.bytes;
        nowDrained = full && !isFull();
      }
      first.message.run();
      if (nowDrained) {
        drained.run();
      }
    }
  }

  /** True where so much is held that nobody should send more. */
  synchronized boolean isFull() {
    return held.size() >= MOST_MESSAGES || bytes >= MOST_BYTES;
  }

  /** Has the task run each time that the way is full no more. */
  void onDrained(Runnable task) {
    drained = task;
  }
}
