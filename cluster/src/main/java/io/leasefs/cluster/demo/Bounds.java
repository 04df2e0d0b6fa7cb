package io.leasefs.cluster.demo;

import io.leasefs.common.lease.LeaseTerms;
import java.util.Locale;

/**
 * What a demo must keep to: from what it does and T alone, never from what a run said of itself.
 * Pure.
 *
 * @param gapNanos longest time without an acknowledgement, in the chunk
 * @param appendGapNanos the same of appends that may go on in a new chunk: they do not wait for the
 *     lease (protocol, section 9), and here have a second more, for machines that are busy
 * @param newPrimary true where another primary of the chunk is expected
 */
record Bounds(long gapNanos, long appendGapNanos, boolean newPrimary) {
  private static final long SECOND = 1_000_000_000;

  static Bounds of(Demo.Kind kind, LeaseTerms terms) {
    long lease = terms.grantorValidityNanos() + 2 * terms.heartbeatNanos();
    long killed = 3 * SECOND / 10 + SECOND;
    long silent = Math.max(2 * terms.heartbeatNanos(), SECOND) + SECOND / 2 + SECOND;
    return switch (kind) {
      case FAILOVER -> new Bounds(lease, Math.min(lease, killed), true);
      case PAUSE, PARTITION_MASTER -> new Bounds(lease, Math.min(lease, silent), true);
      case PARTITION_PEERS -> new Bounds(lease, Math.min(lease, silent), false);
      case DRAIN -> new Bounds(SECOND / 5, SECOND / 5, true);
      case SECONDARY_KILLED -> new Bounds(SECOND / 5, SECOND / 5, false);
      case SECONDARY_FROZEN -> new Bounds(2 * SECOND, 2 * SECOND, false);
    };
  }

  /**
   * Those of kept facts.
   *
   * @throws IllegalArgumentException where there is no such demo or no such T
   */
  static Bounds of(Evidence.Facts facts) {
    return of(
        Demo.Kind.valueOf(facts.demo().toUpperCase(Locale.ROOT)),
        LeaseTerms.ofTtl(facts.ttlNanos()));
  }
}
