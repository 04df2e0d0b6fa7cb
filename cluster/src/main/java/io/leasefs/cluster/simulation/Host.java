package io.leasefs.cluster.simulation;

import io.leasefs.server.clock.LeaseClocks;
import java.util.ArrayList;
import java.util.List;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/**
 * One machine: clocks of its own, at most one process, and the power to freeze.
 *
 * <p>Both clocks drift alike, and neither ever goes back. While the machine is suspended the
 * monotonic clock stands still and the boot clock goes on; a frozen machine (or process) only does
 * nothing, its clocks go on. The wall clock is whatever somebody set it to.
 */
final class Host {
  /** What a process on this machine makes of the two clocks, as in production. */
  enum Role {
    MASTER,
    CHUNKSERVER,
    CLIENT
  }

  private final String name;
  private final Role role;
  private final EventLoop loop;
  private final long offsetNanos;
  private final long driftPpm;
  private final List<EventLoop.Event> deferred = new ArrayList<>();

  /** Tasks that were stopped in the middle. */
  private final List<Strand> stopped = new ArrayList<>();

  private @Nullable Aim aim;
  private @Nullable Life life;
  private boolean frozen;
  private boolean powered = true;
  private long wallStepMillis;

  /** What the boot clock showed when the machine was suspended; negative: it is not. */
  private long suspendedAtNanos = -1;

  /** How long it has ever been suspended, on its own clock. */
  private long asleepNanos;

  Host(String name, Role role, EventLoop loop, long offsetNanos, long driftPpm) {
    this.name = name;
    this.role = role;
    this.loop = loop;
    this.offsetNanos = offsetNanos;
    this.driftPpm = driftPpm;
  }

  String name() {
    return name;
  }

  Role role() {
    return role;
  }

  EventLoop loop() {
    return loop;
  }

  // ---- clocks ------------------------------------------------------------------------------

  /** CLOCK_BOOTTIME: goes on whatever happens. */
  long bootNanos() {
    long now = loop.now();
    return offsetNanos + now + now * driftPpm / 1_000_000;
  }

  /** CLOCK_MONOTONIC: stands still while the machine is suspended. */
  long monotonicNanos() {
    return (suspendedAtNanos < 0 ? bootNanos() : suspendedAtNanos) - asleepNanos;
  }

  /** How long the machine has ever been suspended, on its own clock. */
  long asleepNanos() {
    return asleepNanos;
  }

  /** The clock that a process which starts now goes by. */
  LongSupplier clock() {
    return switch (role) {
      case MASTER -> LeaseClocks.grantor(this::monotonicNanos, this::bootNanos);
      case CHUNKSERVER -> LeaseClocks.holder(this::monotonicNanos, this::bootNanos);
      case CLIENT -> this::monotonicNanos;
    };
  }

  /** What the process that runs here takes for the time; without one, the boot clock. */
  long nanos() {
    Life running = life;
    return running == null ? bootNanos() : running.nanos();
  }

  /** Somebody sets this machine's wall clock: so far from the true one. */
  void setWallStep(long millis) {
    wallStepMillis = millis;
  }

  long wallStepMillis() {
    return wallStepMillis;
  }

  /** How long the world takes for so much of this machine's clocks; rounded up. */
  long trueNanos(long localNanos) {
    return (long) Math.ceil(localNanos / (1 + driftPpm / 1e6)) + 1;
  }

  // ---- its process -------------------------------------------------------------------------

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

  // ---- standing still ----------------------------------------------------------------------

  boolean isFrozen() {
    return frozen;
  }

  void freeze() {
    frozen = true;
  }

  /** The machine goes to sleep: it does nothing, and one of its clocks stops. */
  void suspend() {
    if (suspendedAtNanos < 0) {
      suspendedAtNanos = bootNanos();
    }
    frozen = true;
  }

  /** It goes on, whatever it was that stopped it. */
  void thaw() {
    if (suspendedAtNanos >= 0) {
      asleepNanos += bootNanos() - suspendedAtNanos;
      suspendedAtNanos = -1;
    }
    if (frozen) {
      frozen = false;
      loop.resume(deferred);
    }
  }

  void defer(EventLoop.Event event) {
    deferred.add(event);
  }

  // ---- tasks stopped in the middle ---------------------------------------------------------

  /** What one of the next tasks is to be stopped at; null: at nothing. */
  @Nullable Aim aim() {
    return aim;
  }

  void setAim(@Nullable Aim newAim) {
    aim = newAim;
  }

  /** The tasks that are stopped in the middle, the first to stop first. */
  List<Strand> stopped() {
    return stopped;
  }

  @Override
  public String toString() {
    return name;
  }
}
