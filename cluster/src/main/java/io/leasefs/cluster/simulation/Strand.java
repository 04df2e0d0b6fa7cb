package io.leasefs.cluster.simulation;

import static java.util.Objects.requireNonNull;

import java.lang.management.ManagementFactory;
import java.lang.management.ThreadInfo;
import java.lang.management.ThreadMXBean;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Semaphore;
import org.jspecify.annotations.Nullable;

/**
 * A stack besides the event loop's, for a task that may be stopped in the middle: it goes on where
 * it stood, with what it had checked before. Of the loop and its strands exactly one runs at any
 * time, and each hands over to the other by name; so a run is as it would be on one thread, event
 * for event.
 *
 * <p>A task that holds a lock is not stopped: in production the others would wait for it, and here
 * they would wait for ever. It is stopped at the next such point at which it holds none.
 */
final class Strand {
  private static final ThreadMXBean THREADS = ManagementFactory.getThreadMXBean();

  /** The one lock in what runs here that is no monitor. */
  private static final String GUARDED_STATE = "ReplicatedState";

  private static final StackWalker STACK = StackWalker.getInstance();

  /** What is thrown in it is for the loop to judge. */
  private @Nullable Throwable thrown;

  private final EventLoop loop;
  private final Thread thread;
  private final Semaphore mayRun = new Semaphore(0);
  private final Semaphore hasStopped = new Semaphore(0);

  /** What must wait until the task is done: it would run on the same thread in production. */
  private final List<EventLoop.Event> behind = new ArrayList<>();

  private EventLoop.@Nullable Event event;
  private @Nullable Host host;
  private boolean done;
  private boolean dying;
  private boolean hasBeenStopped;
  private boolean closed;

  Strand(EventLoop loop) {
    this.loop = loop;
    this.thread = new Thread(this::live, "simulation-strand");
    thread.setDaemon(true);
    thread.start();
  }

  // ---- on the loop's thread ----------------------------------------------------------------

  /** The next task that it runs. */
  void take(EventLoop.Event next, Host at) {
    event = next;
    host = at;
    thrown = null;
    done = false;
    dying = false;
    hasBeenStopped = false;
  }

  /** Lets it run until its task stops or is done. */
  void go() {
    mayRun.release();
    hasStopped.acquireUninterruptibly();
  }

  /** From here on every point that its task passes is its end. */
  void die() {
    dying = true;
  }

  boolean isDying() {
    return dying;
  }

  /** Its task was stopped at some point. */
  boolean hasBeenStopped() {
    return hasBeenStopped;
  }

  boolean isDone() {
    return done;
  }

  @Nullable Throwable thrown() {
    return thrown;
  }

  EventLoop.Event event() {
    return requireNonNull(event);
  }

  Host host() {
    return requireNonNull(host);
  }

  List<EventLoop.Event> behind() {
    return behind;
  }

  /** Ends its thread; its task is done. */
  void close() {
    closed = true;
    mayRun.release();
  }

  // ---- on its own --------------------------------------------------------------------------

  private void live() {
    while (true) {
      mayRun.acquireUninterruptibly();
      if (closed) {
        return;
      }
      try {
        event().run();
      } catch (Throwable t) {
        thrown = t;
      }
      done = true;
      hasStopped.release();
    }
  }

  /** Its task passes a point; what there is more to say of it is said where it stops. */
  void pass(Point point, String what, String more) {
    if (dying) {
      throw new ProcessDied(host().name());
    }
    Aim aim = host().aim();
    if (aim == null || !aim.isAt(event().what()) || !aim.hits(point) || holdsLock()) {
      return;
    }
    host().setAim(null);
    hasBeenStopped = true;
    loop.stopped(this, point, point + " " + what + (more.isEmpty() ? "" : " " + more), aim);
    hasStopped.release();
    mayRun.acquireUninterruptibly();
    if (dying) {
      throw new ProcessDied(host().name());
    }
  }

  private static boolean holdsLock() {
    ThreadInfo self =
        THREADS.getThreadInfo(new long[] {Thread.currentThread().threadId()}, true, false)[0];
    return self.getLockedMonitors().length > 0
        || STACK.walk(
            frames -> frames.anyMatch(frame -> frame.getClassName().endsWith(GUARDED_STATE)));
  }
}
