package io.leasefs.common.model;

/** A disk of a chunkserver: 128 random bits in hex, drawn when its folder is first formatted. */
public record DiskId(String text) implements Comparable<DiskId> {
  public DiskId {
    if (text.isEmpty() || text.length() > 64) {
      throw new IllegalArgumentException("not a disk id: '" + text + "'");
    }
  }

  @Override
  public int compareTo(DiskId other) {
    return text.compareTo(other.text);
  }

  @Override
  public String toString() {
    return text;
  }
}
