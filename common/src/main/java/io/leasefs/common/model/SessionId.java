package io.leasefs.common.model;

/**
 * The liveness of one process incarnation: the {@link Ordinal} of the log entry that created it; 0
 * = none.
 */
public record SessionId(long value) implements Comparable<SessionId> {
  public SessionId {
    if (value < 0) {
      throw new IllegalArgumentException("negative SessionId: " + value);
    }
  }

  @Override
  public int compareTo(SessionId other) {
    return Long.compare(value, other.value);
  }

  @Override
  public String toString() {
    return Long.toString(value);
  }
}
