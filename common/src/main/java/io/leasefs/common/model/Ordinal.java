package io.leasefs.common.model;

/**
 * A number of the master's log as a pair (cluster generation, log index), packed so that plain
 * comparison of longs compares the pairs: generation in the top 15 bits, index in the lower 48.
 * Restoring the masters from a backup raises the generation, so no number is ever given twice.
 */
public final class Ordinal {
  private static final int INDEX_BITS = 48;

  /** The largest log index that can be packed. */
  public static final long MAX_INDEX = (1L << INDEX_BITS) - 1;

  private Ordinal() {}

  /** Packs; both parts must be in range. */
  public static long of(int generation, long index) {
    if (generation < 0 || generation >= 1 << 15 || index < 0 || index > MAX_INDEX) {
      throw new IllegalArgumentException(
          "no ordinal: generation=" + generation + " index=" + index);
    }
    return ((long) generation << INDEX_BITS) | index;
  }

  public static int generation(long ordinal) {
    return (int) (ordinal >>> INDEX_BITS);
  }

  public static long index(long ordinal) {
    return ordinal & MAX_INDEX;
  }
}
