package io.leasefs.cluster.simulation;

import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * One machine: a clock of its own, at most one process, and the power to freeze. The clock drifts,
 * and never goes back.
 */
final class Host {
  private final String name;
  private final EventLoop loop;
  private final long offsetNanos;
  private final long driftPpm;
  private final List<EventLoop.Event> deferred = new ArrayList<>();
  private @Nullable Life life;
  private boolean frozen;
  private boolean powered = true;
  private long wallStepMillis;

  Host(String name, EventLoop loop, long offsetNanos, long driftPpm) {
    this.name = name;
    this.loop = loop;
    this.offsetNanos = offsetNanos;
    this.driftPpm = driftPpm;
  }

  String name() {
    return name;
  }

  EventLoop loop() {
    return loop;
  }

  /** This machine's monotonic clock. */
  long nanos() {
    long now = loop.now();
    return offsetNanos + now + now * driftPpm / 1_000_000;
  }

  /** Somebody sets this machine's wall clock: so far from the true one. */
  void setWallStep(long millis) {
    wallStepMillis = millis;
  }

  long wallStepMillis() {
    return wallStepMillis;
  }

  /** How long the world takes for so much of this clock; rounded up. */
  long trueNanos(long localNanos) {
    return (long) Math.ceil(localNanos / (1 + driftPpm / 1e6)) + 1;
  }

  /** The process that runs here, if one does. */
  @Nullable Life life() {
    return life;
  }

  Life begin(Object purpose) {
    if (life != null) {
      throw new IllegalStateException(name + " runs already");
    }
    Life begun = new Life(this, purpose);
    life = begun;
    powered = true;
    return begun;
  }

  /** The process is gone at once. */
  @Nullable Life end() {
    Life ended = life;
    if (ended != null) {
      ended.end();
      life = null;
    }
    return ended;
  }

  void setPowered(boolean on) {
    powered = on;
  }

  /** False after a power cut until a process starts: nobody answers for the dead one. */
  boolean isPowered() {
    return powered;
  }

  boolean isFrozen() {
    return frozen;
  }

  void freeze() {
    frozen = true;
  }

  void thaw() {
    if (frozen) {
      frozen = false;
      loop.resume(deferred);
    }
  }

  void defer(EventLoop.Event event) {
    deferred.add(event);
  }

  @Override
  public String toString() {
    return name;
  }
}
