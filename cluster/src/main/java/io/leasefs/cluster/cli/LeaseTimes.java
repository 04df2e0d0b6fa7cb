package io.leasefs.cluster.cli;

import io.leasefs.client.cli.Quantities;
import io.leasefs.common.error.ErrorCode;
import io.leasefs.common.error.LeaseFsException;

/** Lease times as verbs take them: told when too short, before a cluster is started. Pure. */
final class LeaseTimes {
  private static final long LEAST_NANOS = 100_000_000L;

  private LeaseTimes() {}

  /** Reads T of this option; nanoseconds. */
  static long parse(String option, String text) {
    long nanos = Quantities.parseDuration(text);
    if (nanos < LEAST_NANOS) {
      throw new LeaseFsException(
          ErrorCode.INVALID_ARGUMENT,
          option + ": a lease time of " + text + " is too short",
          "say at least 100ms, such as 3s");
    }
    return nanos;
  }
}
