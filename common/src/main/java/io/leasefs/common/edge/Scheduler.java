package io.leasefs.common.edge;

/** Wakes somebody later. Timers only wake; validity is computed from the clock at each use. */
public interface Scheduler {
  /**
   * Runs the task once, no earlier than {@code delayNanos} from now, on a thread of the scheduler;
   * the task must not block.
   */
  Cancellable after(long delayNanos, Runnable task);

  /** A pending task. */
  interface Cancellable {
    /** The task will not start any more; a task that runs already goes on. */
    void cancel();
  }
}
