package io.leasefs.cluster.simulation;

import java.util.Random;

/** The one source of chance of a run: SplitMix64, for one thread, and faster than its parent. */
final class Chance extends Random {
  private static final long serialVersionUID = 1;
  private static final long GOLDEN = 0x9E3779B97F4A7C15L;

  private long state;

  Chance(long seed) {
    super(0);
    state = seed * GOLDEN + 0x51c;
  }

  @Override
  public long nextLong() {
    state += GOLDEN;
    long mixed = (state ^ (state >>> 30)) * 0xBF58476D1CE4E5B9L;
    mixed = (mixed ^ (mixed >>> 27)) * 0x94D049BB133111EBL;
    return mixed ^ (mixed >>> 31);
  }

  @Override
  protected int next(int bits) {
    return (int) (nextLong() >>> (64 - bits));
  }
}
