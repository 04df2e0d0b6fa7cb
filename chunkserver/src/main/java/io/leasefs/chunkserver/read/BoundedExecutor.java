package io.leasefs.chunkserver.read;

import java.util.ArrayDeque;
import java.util.concurrent.Executor;
import org.jspecify.annotations.Nullable;

/**
 * Runs at most so many tasks of a pool at a time; the others wait in the order in which they came.
 * The queue is as long as the number of open reads, which the server bounds. Any thread.
 */
public final class BoundedExecutor implements Executor {
  private final Executor pool;
  private final int limit;

  /** Guarded by this. */
  private final ArrayDeque<Runnable> waiting = new ArrayDeque<>();

  /** Guarded by this. */
  private int running;

  public BoundedExecutor(Executor pool, int limit) {
    this.pool = pool;
    this.limit = limit;
  }

  @Override
  public void execute(Runnable task) {
    synchronized (this) {
      if (running == limit) {
        waiting.addLast(task);
        return;
      }
      running++;
    }
    pool.execute(() -> runFrom(task));
  }

  private void runFrom(Runnable task) {
    try {
      task.run();
    } finally {
      Runnable next = next();
      if (next != null) {
        pool.execute(() -> runFrom(next));
      }
    }
  }

  private synchronized @Nullable Runnable next() {
    Runnable next = waiting.pollFirst();
    if (next == null) {
      running--;
    }
    return next;
  }
}
