package io.leasefs.client.fake;

import io.leasefs.common.edge.Clock;
import io.leasefs.common.edge.Scheduler;
import java.util.PriorityQueue;
import java.util.function.BooleanSupplier;

/** A clock that stands until it is moved, and the tasks that wait for it. One thread. */
public final class VirtualTime implements Clock, Scheduler {
  private final PriorityQueue<Task> tasks = new PriorityQueue<>();
  private long now = 1_000_000_000L;
  private long next;

  private static final class Task implements Comparable<Task>, Cancellable {
    final long at;
    final long order;
    final Runnable run;
    boolean cancelled;

    Task(long at, long order, Runnable run) {
      this.at = at;
      this.order = order;
      this.run = run;
    }

    @Override
    public int compareTo(Task other) {
      int first = Long.compare(at, other.at);
      return first != 0 ? first : Long.compare(order, other.order);
    }

    @Override
    public void cancel() {
      cancelled = true;
    }
  }

  @Override
  public long nanos() {
    return now;
  }

  @Override
  public long wallMillis() {
    return now / 1_000_000;
  }

  @Override
  public Cancellable after(long delayNanos, Runnable run) {
    Task task = new Task(now + Math.max(0, delayNanos), next++, run);
    tasks.add(task);
    return task;
  }

  /** Runs tasks in their order until the condition holds; false where time or tasks ran out. */
  public boolean runUntil(BooleanSupplier condition, long atMostNanos) {
    long end = now + atMostNanos;
    while (!condition.getAsBoolean()) {
      Task task = tasks.peek();
      if (task == null || task.at > end) {
        now = end;
        return condition.getAsBoolean();
      }
      tasks.remove();
      if (!task.cancelled) {
        now = task.at;
        task.run.run();
      }
    }
    return true;
  }

  /** Runs all tasks of the next so many nanoseconds. */
  public void pass(long nanos) {
    boolean unused = runUntil(() -> false, nanos);
  }
}
