package io.leasefs.cluster.demo;

import io.leasefs.common.lease.LeaseTerms;
import java.util.Locale;

/**
 * What a demo must keep to: from what it does and T alone, never from what a run said of itself.
 * Pure.
 *
 * @param gapNanos longest time without an acknowledgement, in the chunk and of appends
 * @param newPrimary true where another primary of the chunk is expected
 */
record Bounds(long gapNanos, boolean newPrimary) {
  private static final long SECOND = 1_000_000_000;

  static Bounds of(Demo.Kind kind, LeaseTerms terms) {
    long lease = terms.grantorValidityNanos() + 2 * terms.heartbeatNanos();
    return switch (kind) {
      case FAILOVER, PAUSE, PARTITION_MASTER -> new Bounds(lease, true);
      case PARTITION_PEERS -> new Bounds(lease, false);
      case DRAIN -> new Bounds(SECOND / 5, true);
      case SECONDARY_KILLED -> new Bounds(SECOND / 5, false);
      case SECONDARY_FROZEN -> new Bounds(2 * SECOND, false);
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
