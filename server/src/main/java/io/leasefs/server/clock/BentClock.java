package io.leasefs.server.clock;

import io.leasefs.common.edge.Clock;

/**
 * A clock that is wrong on purpose, to try leases on real processes: it runs too fast or too slow
 * by a constant rate, and its wall clock is off. Any thread; allocates nothing.
 */
public final class BentClock implements Clock {
  private static final long MILLION = 1_000_000;

  private final Clock real;
  private final long driftPpm;
  private final long wallMillis;
  private final long origin;

  /**
   * Right at this instant, wrong from here on.
   *
   * @param driftPpm nanoseconds gained each millisecond, above -1,000,000; negative: it is slow
   * @param wallMillis what the wall clock shows too much
   */
  public BentClock(Clock real, long driftPpm, long wallMillis) {
    this.real = real;
    this.driftPpm = driftPpm;
    this.wallMillis = wallMillis;
    this.origin = real.nanos();
  }

  @Override
  public long nanos() {
    long elapsed = real.nanos() - origin;
    // in two parts, so that years do not overflow
    return origin + elapsed + elapsed / MILLION * driftPpm + elapsed % MILLION * driftPpm / MILLION;
  }

  @Override
  public long wallMillis() {
    return real.wallMillis() + wallMillis;
  }
}
