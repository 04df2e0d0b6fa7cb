package io.leasefs.common.edge;

/** Chance, as an edge: seeded in the simulator, secure in a process. Any thread. */
public interface RandomSource {
  /** Sixty-four random bits. */
  long nextLong();

  /** Uniform in [0, bound). */
  default int nextInt(int bound) {
    return (int) Long.remainderUnsigned(nextLong(), bound);
  }
}
