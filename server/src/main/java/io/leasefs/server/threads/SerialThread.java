package io.leasefs.server.threads;

import java.util.concurrent.Executor;
import java.util.concurrent.LinkedBlockingQueue;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * One thread that runs tasks one at a time, in the order in which they were given. Unbounded by
 * itself: whoever gives it work from outside bounds that.
 */
public final class SerialThread implements Executor, AutoCloseable {
  private static final Logger logger = LoggerFactory.getLogger(SerialThread.class);
  private static final long STOP_MILLIS = 2_000;

  private final LinkedBlockingQueue<Runnable> tasks = new LinkedBlockingQueue<>();
  private final Thread thread;
  private volatile boolean stopping;

  public SerialThread(String name) {
    thread = new Thread(this::run, name);
    thread.setDaemon(true);
    thread.start();
  }

  @Override
  public void execute(Runnable task) {
    tasks.add(task);
  }

  /** Tasks that wait. */
  public int waiting() {
    return tasks.size();
  }

  private void run() {
    while (!stopping) {
      try {
        tasks.take().run();
      } catch (InterruptedException e) {
        return;
      } catch (RuntimeException e) {
        // the next task must run all the same
        logger.error("task failed thread={}", thread.getName(), e);
      }
    }
  }

  /** Drops what waits, lets a running task end; waits for it for a moment. */
  @Override
  public void close() {
    stopping = true;
    tasks.add(() -> {});
    try {
      thread.join(STOP_MILLIS);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }
}
