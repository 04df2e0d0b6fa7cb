package io.leasefs.common.edge;

/**
 * The time of one process. Any thread; never blocks; allocates nothing.
 *
 * <p>Leases are computed from {@link #nanos} only. The wall clock is for people: no decision reads
 * it (invariant I20).
 */
public interface Clock {
  /**
   * Elapsed nanoseconds since an arbitrary origin; never goes back. A holder's clock gives the
   * larger, a grantor's the smaller of elapsed CLOCK_MONOTONIC and CLOCK_BOOTTIME (protocol,
   * section 1).
   */
  long nanos();

  /** Milliseconds since 1970, for display and file times only. */
  long wallMillis();
}
