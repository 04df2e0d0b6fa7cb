package io.leasefs.client.edge;

import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicInteger;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Runs tasks one at a time, in order, on the thread of whoever brings a task while none runs;
 * others only leave theirs and go on. No lock, no thread, no hop: a task that brings another one
 * does not re-enter. Any thread; tasks must not block.
 */
public final class Mailbox {
  private static final Logger log = LoggerFactory.getLogger(Mailbox.class);

  private final ConcurrentLinkedQueue<Runnable> tasks = new ConcurrentLinkedQueue<>();
  private final AtomicInteger waiting = new AtomicInteger();

  /** Runs the task after all brought before: here and now where none runs. */
  public void run(Runnable task) {
    tasks.add(task);
    if (waiting.getAndIncrement() != 0) {
      return;
    }
    do {
      Runnable next = tasks.poll();
      if (next != null) {
        runOne(next);
      }
    } while (waiting.decrementAndGet() != 0);
  }

  private static void runOne(Runnable task) {
    try {
      task.run();
    } catch (RuntimeException bug) {
      log.error("event=taskFailed", bug);
    }
  }
}
