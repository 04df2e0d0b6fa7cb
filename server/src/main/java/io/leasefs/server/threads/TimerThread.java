package io.leasefs.server.threads;

import io.leasefs.common.edge.Scheduler;
import java.util.concurrent.Future;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** One thread that wakes others: its tasks hand on at once. A cancelled task is forgotten. */
public final class TimerThread implements Scheduler, AutoCloseable {
  private static final Logger logger = LoggerFactory.getLogger(TimerThread.class);

  private final ScheduledThreadPoolExecutor executor;

  public TimerThread(String name) {
    executor =
        new ScheduledThreadPoolExecutor(1, Thread.ofPlatform().daemon().name(name).factory());
    executor.setRemoveOnCancelPolicy(true);
    executor.setExecuteExistingDelayedTasksAfterShutdownPolicy(false);
  }

  @Override
  public Cancellable after(long delayNanos, Runnable task) {
    try {
      Future<?> future =
          executor.schedule(() -> run(task), Math.max(0, delayNanos), TimeUnit.NANOSECONDS);
      return () -> future.cancel(false);
    } catch (RejectedExecutionException closed) {
      // The process is stopping: nothing is woken any more.
      return () -> {};
    }
  }

  private static void run(Runnable task) {
    try {
      task.run();
    } catch (RuntimeException bug) {
      logger.error("timer task failed", bug);
    }
  }

  @Override
  public void close() {
    executor.shutdownNow();
  }
}
