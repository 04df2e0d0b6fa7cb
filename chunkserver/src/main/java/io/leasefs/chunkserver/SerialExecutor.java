package io.leasefs.chunkserver;

import java.util.ArrayDeque;
import java.util.concurrent.Executor;
import org.jspecify.annotations.Nullable;

/**
 * Runs tasks one after another, in the order in which they came, on threads of a pool. The queue is
 * as long as its callers make it: what enters a chunk's queue is bounded by the {@code
 * FlightBudget}, the rest by who asks. Any thread.
 */
public final class SerialExecutor implements Executor {
  /** After so many tasks the pool's thread is given back, so that nobody keeps it. */
  private static final int TASKS_A_TURN = 64;

  private final Executor pool;

  /** Guarded by this. */
  private final ArrayDeque<Runnable> tasks = new ArrayDeque<>();

  /** Guarded by this: a turn is running, or handed to the pool. */
  private boolean busy;

  public SerialExecutor(Executor pool) {
    this.pool = pool;
  }

  @Override
  public void execute(Runnable task) {
    synchronized (this) {
      tasks.addLast(task);
      if (busy) {
        return;
      }
      busy = true;
    }
    pool.execute(this::turn);
  }

  private void turn() {
    for (int i = 0; i < TASKS_A_TURN; i++) {
      Runnable task = next();
      if (task == null) {
        return;
      }
      boolean done = false;
      try {
        task.run();
        done = true;
      } finally {
        if (!done) {
          pool.execute(this::turn);
        }
      }
    }
    pool.execute(this::turn);
  }

  private synchronized @Nullable Runnable next() {
    Runnable task = tasks.pollFirst();
    busy = task != null;
    return task;
  }
}
