package io.leasefs.common.model;

/**
 * Names a file or folder for ever: cluster generation and a counter of its own, packed like an
 * {@link Ordinal} (one log entry may make several folders). Frames name files by it, so rename
 * disturbs no writer.
 */
public record FileId(long value) implements Comparable<FileId> {
  public FileId {
    if (value < 0) {
      throw new IllegalArgumentException("negative FileId: " + value);
    }
  }

  @Override
  public int compareTo(FileId other) {
    return Long.compare(value, other.value);
  }

  @Override
  public String toString() {
    return Long.toString(value);
  }
}
