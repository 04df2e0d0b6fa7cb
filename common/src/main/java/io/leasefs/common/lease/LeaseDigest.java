package io.leasefs.common.lease;

import io.leasefs.common.model.ChunkHandle;

/**
 * Digest of a set of chunk leases, equal at holder and grantor where they mean the same set. The
 * order of the set does not matter, and one lease more or less is one addition: {@code digest +
 * of(lease)}, {@code digest - of(lease)}; the empty set has 0. It finds a lost message, not a
 * forger.
 */
public final class LeaseDigest {
  private LeaseDigest() {}

  /** The summand of one lease. */
  public static long of(ChunkHandle chunk, long version, long token) {
    return mix(mix(mix(chunk.value() + 0x9e3779b97f4a7c15L) ^ version) ^ token);
  }

  /** The finalizer of SplitMix64 (Steele, Lea, Flood 2014): every bit depends on every other. */
  private static long mix(long bits) {
    long z = bits;
    z = (z ^ (z >>> 30)) * 0xbf58476d1ce4e5b9L;
    z = (z ^ (z >>> 27)) * 0x94d049bb133111ebL;
    return z ^ (z >>> 31);
  }
}
