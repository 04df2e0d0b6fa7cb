package io.leasefs.cluster.simulation;

import io.leasefs.common.edge.Clock;
import io.leasefs.common.edge.RandomSource;
import io.leasefs.common.edge.Scheduler;
import java.util.ArrayDeque;
import java.util.Random;
import java.util.concurrent.Executor;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/** One process, from its start to its death: what it stands on, and what it offers to others. */
final class Life implements Clock, Scheduler, RandomSource {
  /** Tasks that time has come for. */
  static final String TIMER = "timer";

  /** Tasks that wait for the disk. */
  static final String DISK = "disk";

  private static final long MICRO = 1_000;
  private static final long MILLI = 1_000_000;

  private final Host host;
  private final EventLoop loop;
  private final Object purpose;
  private final LongSupplier clock;
  private boolean alive = true;
  private @Nullable Object service;

  /** Until when the disk answers nothing. */
  private long stalledUntil;

  Life(Host host, Object purpose) {
    this.host = host;
    this.loop = host.loop();
    this.purpose = purpose;
    this.clock = host.clock();
  }

  Host host() {
    return host;
  }

  boolean isAlive() {
    return alive;
  }

  void end() {
    alive = false;
  }

  /** What the starter of this process knows it by. */
  Object purpose() {
    return purpose;
  }

  void offer(Object offered) {
    service = offered;
  }

  /** What this process offers of that kind; null where it is still starting, or never does. */
  <T> @Nullable T service(Class<T> type) {
    return type.isInstance(service) ? type.cast(service) : null;
  }

  @Override
  public long nanos() {
    long nanos = clock.getAsLong();
    loop.pass(host, Point.CLOCK_READ, "", "");
    return nanos;
  }

  @Override
  public long wallMillis() {
    return 1_764_000_000_000L + loop.now() / MILLI + host.wallStepMillis();
  }

  @Override
  public long nextLong() {
    return loop.random().nextLong();
  }

  @Override
  public Cancellable after(long delayNanos, Runnable task) {
    Random random = loop.random();
    long late = random.nextInt(50) == 0 ? random.nextInt(4_000) * MICRO : random.nextInt(10_000);
    return new Timer(Math.max(0, delayNanos), late, task);
  }

  /** Something that is due on the monotonic clock: it waits for a machine that is suspended. */
  private final class Timer implements Cancellable, Runnable {
    private final long dueNanos;
    private final Runnable task;
    private long asleepNanos;
    private Cancellable pending;

    Timer(long delayNanos, long lateNanos, Runnable task) {
      this.task = task;
      this.dueNanos = host.monotonicNanos() + delayNanos;
      this.asleepNanos = host.asleepNanos();
      this.pending = loop.post(Life.this, host.trueNanos(delayNanos) + lateNanos, TIMER, this);
    }

    @Override
    public void run() {
      long left = dueNanos - host.monotonicNanos();
      if (asleepNanos == host.asleepNanos() || left <= 0) {
        task.run();
      } else {
        asleepNanos = host.asleepNanos();
        pending = loop.post(Life.this, host.trueNanos(left), TIMER, this);
      }
    }

    @Override
    public void cancel() {
      pending.cancel();
    }
  }

  /** Many threads: tasks run in any order, each as one event. */
  Executor pool(String what) {
    return task -> {
      loop.pass(host, Point.BEFORE_HAND_ON, "to", what);
      Random random = loop.random();
      long late = random.nextInt(100) == 0 ? random.nextInt(2_000) * MICRO : random.nextInt(20_000);
      var _ = loop.post(this, late, what, task);
    };
  }

  /** Many threads that wait for the disk. */
  Executor diskPool() {
    return task -> {
      loop.pass(host, Point.BEFORE_HAND_ON, "to", DISK);
      Random random = loop.random();
      long late =
          random.nextInt(30) == 0
              ? random.nextInt(10_000) * MICRO
              : 20 * MICRO + random.nextInt(300) * MICRO;
      long stalled = Math.max(0, stalledUntil - loop.now());
      var _ = loop.post(this, stalled + late, DISK, task);
    };
  }

  /** The disk is silent for so long. */
  void stallDisk(long nanos) {
    stalledUntil = loop.now() + nanos;
  }

  /** One thread: tasks run one after another, each as one event. */
  Executor lane(String what) {
    return new Lane(what);
  }

  private final class Lane implements Executor {
    private final String what;
    private final ArrayDeque<Runnable> tasks = new ArrayDeque<>();
    private boolean running;

    Lane(String what) {
      this.what = what;
    }

    @Override
    public void execute(Runnable task) {
      loop.pass(host, Point.BEFORE_HAND_ON, "to", what);
      tasks.addLast(task);
      if (!running) {
        running = true;
        next();
      }
    }

    private void next() {
      var _ = loop.post(Life.this, loop.random().nextInt(20_000), what, this::turn);
    }

    private void turn() {
      Runnable task = tasks.removeFirst();
      try {
        task.run();
      } finally {
        running = !tasks.isEmpty();
        if (running) {
          next();
        }
      }
    }
  }
}
