package io.leasefs.server.threads;

import java.util.concurrent.Executor;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A fixed number of platform threads, started when they are needed and ended when they idle. Its
 * queue has no bound of its own: callers bound what they hand over. A task that fails is logged and
 * takes no thread with it.
 */
public final class ThreadPool implements Executor, AutoCloseable {
  private static final Logger logger = LoggerFactory.getLogger(ThreadPool.class);

  private final String name;
  private final ThreadPoolExecutor executor;

  public ThreadPool(String name, int threads) {
    this.name = name;
    executor =
        new ThreadPoolExecutor(
            threads,
            threads,
            10,
            TimeUnit.SECONDS,
            new LinkedBlockingQueue<>(),
            Thread.ofPlatform().daemon().name(name + "-", 0).factory());
    executor.allowCoreThreadTimeOut(true);
  }

  @Override
  public void execute(Runnable task) {
    try {
      executor.execute(() -> run(task));
    } catch (RejectedExecutionException closed) {
      // The process is stopping: who waits for this is stopped, too.
      logger.debug("task dropped pool={}", name);
    }
  }

  private void run(Runnable task) {
    try {
      task.run();
    } catch (RuntimeException bug) {
      logger.error("task failed pool={}", name, bug);
    }
  }

  /** Waits at most two seconds for what has been handed over. */
  @Override
  public void close() {
    executor.shutdown();
    try {
      if (!executor.awaitTermination(2, TimeUnit.SECONDS)) {
        logger.warn("tasks left behind pool={} tasks={}", name, executor.getQueue().size());
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }
}
