package io.leasefs.chunkserver.pipeline;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicLong;

/**
 * Bytes of payload that are under way in this server: taken in from clients and peers, and not yet
 * let go of. While the budget is used up, the server's streams say that they are not ready, so that
 * the network pushes back on the senders. Any thread.
 */
public final class FlightBudget {
  private final long limitBytes;
  private final AtomicLong used = new AtomicLong();

  /** Guarded by this. */
  private final List<Runnable> listeners = new ArrayList<>();

  public FlightBudget(long limitBytes) {
    this.limitBytes = limitBytes;
  }

  /** Counts payload that has arrived: it is here already, so this never refuses. */
  public void take(long bytes) {
    used.addAndGet(bytes);
  }

  /** Counts payload that nobody refers to any more. */
  public void release(long bytes) {
    long after = used.addAndGet(-bytes);
    if (after <= limitBytes && after + bytes > limitBytes) {
      List<Runnable> told;
      synchronized (this) {
        told = List.copyOf(listeners);
      }
      told.forEach(Runnable::run);
    }
  }

  /** True while more may be taken in. */
  public boolean isOpen() {
    return used.get() <= limitBytes;
  }

  /** True where so much more than the limit is here that new mutations must be refused. */
  public boolean isOverrun() {
    return used.get() > 2 * limitBytes;
  }

  public long usedBytes() {
    return used.get();
  }

  /** Runs the task whenever the budget opens again. */
  public synchronized void onOpen(Runnable task) {
    listeners.add(task);
  }

  /** Forgets the task. */
  public synchronized void forget(Runnable task) {
    listeners.remove(task);
  }
}
