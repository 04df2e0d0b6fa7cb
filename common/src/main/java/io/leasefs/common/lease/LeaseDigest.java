package io.leasefs.common.lease;

import io.leasefs.common.model.ChunkHandle;

/**
 * The digest of a set of held leases, as it travels in every heartbeat: the sum of one number a
 * lease, so that both sides can keep it up to date in constant time and no order matters. The empty
 * set's is 0. It tells sets apart by accident, not against an adversary.
 */
public final class LeaseDigest {
  private LeaseDigest() {}

  /** What one lease adds to the digest; taking the lease away subtracts it. */
  public static long of(ChunkHandle chunk, long version, long token) {
    return mix(mix(mix(chunk.value() + 0x9E3779B97F4A7C15L) + version) + token);
  }

  /** The finalizer of SplitMix64: a bijection that spreads each bit over all. */
  private static long mix(long value) {
    long z = value;
    z = (z ^ (z >>> 30)) * 0xBF58476D1CE4E5B9L;
    z = (z ^ (z >>> 27)) * 0x94D049BB133111EBL;
    return z ^ (z >>> 31);
  }
}
