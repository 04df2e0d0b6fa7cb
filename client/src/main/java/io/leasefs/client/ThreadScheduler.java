package io.leasefs.client;

import io.leasefs.common.edge.Scheduler;
import java.util.concurrent.Future;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** The client's one thread, a daemon, made when the first timer is set. */
final class ThreadScheduler implements Scheduler, AutoCloseable {
  private static final Logger log = LoggerFactory.getLogger(ThreadScheduler.class);

  private final ScheduledThreadPoolExecutor executor;

  ThreadScheduler() {
    executor =
        new ScheduledThreadPoolExecutor(
            1,
            task -> {
              Thread thread = new Thread(task, "leasefs-client-timer");
              thread.setDaemon(true);
              return thread;
            });
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
      // Nobody waits any more: whoever looks again finds the client closed.
      run(task);
      return () -> {};
    }
  }

  private static void run(Runnable task) {
    try {
      task.run();
    } catch (RuntimeException bug) {
      log.error("event=timerFailed", bug);
    }
  }

  @Override
  public void close() {
    for (Runnable waiting : executor.shutdownNow()) {
      waiting.run();
    }
  }
}
