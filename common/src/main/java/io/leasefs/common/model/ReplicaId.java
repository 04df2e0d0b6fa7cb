package io.leasefs.common.model;

/** One copy of a chunk: the {@link Ordinal} of the log entry that ordered it. */
public record ReplicaId(long value) implements Comparable<ReplicaId> {
  public ReplicaId {
    if (value < 0) {
      throw new IllegalArgumentException("negative ReplicaId: " + value);
    }
  }

  @Override
  public int compareTo(ReplicaId other) {
    return Long.compare(value, other.value);
  }

  @Override
  public String toString() {
    return Long.toString(value);
  }
}
