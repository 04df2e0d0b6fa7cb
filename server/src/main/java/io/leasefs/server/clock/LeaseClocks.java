package io.leasefs.server.clock;

import java.util.function.LongSupplier;

/**
 * How holders and grantors of leases make one clock out of two (protocol, section 1): a holder
 * takes the larger, a grantor the smaller of elapsed CLOCK_MONOTONIC, which stands still while the
 * machine is suspended, and CLOCK_BOOTTIME, which does not. So a server that was suspended finds
 * its leases over, and a master that was suspended does not think that others' are.
 *
 * <p>Both count from when they were made. Any thread; allocates nothing once made.
 */
public final class LeaseClocks {
  private LeaseClocks() {}

  /**
   * The clock of a lease's holder, never behind true elapsed time but for its drift.
   *
   * @param monotonic CLOCK_MONOTONIC, nanoseconds from an origin of its own
   * @param boot CLOCK_BOOTTIME, likewise
   */
  public static LongSupplier holder(LongSupplier monotonic, LongSupplier boot) {
    return new Elapsed(monotonic, boot) {
      @Override
      long choose(long monotonicNanos, long bootNanos) {
        return Math.max(monotonicNanos, bootNanos);
      }
    };
  }

  /** The clock of a lease's grantor, never ahead of true elapsed time but for its drift. */
  public static LongSupplier grantor(LongSupplier monotonic, LongSupplier boot) {
    return new Elapsed(monotonic, boot) {
      @Override
      long choose(long monotonicNanos, long bootNanos) {
        return Math.min(monotonicNanos, bootNanos);
      }
    };
  }

  private abstract static class Elapsed implements LongSupplier {
    private final LongSupplier monotonic;
    private final LongSupplier boot;
    private final long monotonicOrigin;
    private final long bootOrigin;

    Elapsed(LongSupplier monotonic, LongSupplier boot) {
      this.monotonic = monotonic;
      this.boot = boot;
      this.monotonicOrigin = monotonic.getAsLong();
      this.bootOrigin = boot.getAsLong();
    }

    abstract long choose(long monotonicNanos, long bootNanos);

    @Override
    public long getAsLong() {
      return choose(monotonic.getAsLong() - monotonicOrigin, boot.getAsLong() - bootOrigin);
    }
  }
}
