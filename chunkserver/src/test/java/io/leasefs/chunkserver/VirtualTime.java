package io.leasefs.chunkserver;

import io.leasefs.common.edge.Clock;
import io.leasefs.common.edge.Scheduler;
import java.util.ArrayDeque;
import java.util.Comparator;
import java.util.PriorityQueue;
import java.util.concurrent.Executor;
import java.util.function.BooleanSupplier;

/**
 * One deterministic loop with time of its own: clock, executor and scheduler of a whole cluster.
 */
final class VirtualTime implements Clock, Executor, Scheduler {
  private record Timer(long at, long order, Runnable task) {}

  private final ArrayDeque<Runnable> ready = new ArrayDeque<>();
  private final PriorityQueue<Timer> timers =
      new PriorityQueue<>(Comparator.comparingLong(Timer::at).thenComparingLong(Timer::order));
  private long now = 1_000_000_000;
  private long order;

  @Override
  public long nanos() {
    return now;
  }

  @Override
  public long wallMillis() {
    return 1_764_000_000_000L + now / 1_000_000;
  }

  @Override
  public void execute(Runnable task) {
    ready.addLast(task);
  }

  @Override
  public Cancellable after(long delayNanos, Runnable task) {
    Timer timer = new Timer(now + Math.max(0, delayNanos), ++order, task);
    timers.add(timer);
    return () -> timers.remove(timer);
  }

  /** Runs everything that is ready, without letting time pass. */
  void settle() {
    while (!ready.isEmpty()) {
      ready.removeFirst().run();
    }
  }

  /** Lets this much time pass. */
  void pass(long millis) {
    long end = now + millis * 1_000_000;
    settle();
    while (!timers.isEmpty() && timers.peek().at() <= end) {
      Timer timer = timers.remove();
      now = Math.max(now, timer.at());
      timer.task().run();
      settle();
    }
    now = end;
  }

  /** Lets time pass until the condition holds; false where it does not within the limit. */
  boolean passUntil(BooleanSupplier condition, long limitMillis) {
    long end = now + limitMillis * 1_000_000;
    settle();
    while (!condition.getAsBoolean()) {
      if (timers.isEmpty() || timers.peek().at() > end) {
        now = end;
        return condition.getAsBoolean();
      }
      Timer timer = timers.remove();
      now = Math.max(now, timer.at());
      timer.task().run();
      settle();
    }
    return true;
  }
}
