package io.leasefs.common.model;

import io.leasefs.common.error.ErrorCode;
import io.leasefs.common.error.LeaseFsException;

/** Names a chunk for ever: the {@link Ordinal} of the log entry that made it, never reused. */
public record ChunkHandle(long value) implements Comparable<ChunkHandle> {
  public ChunkHandle {
    if (value < 0) {
      throw new IllegalArgumentException("negative ChunkHandle: " + value);
    }
  }

  /** Reads the form that {@link #toString} writes. */
  public static ChunkHandle parse(String text) {
    try {
      if (text.startsWith("0x")) {
        return new ChunkHandle(Long.parseUnsignedLong(text.substring(2), 16));
      }
    } catch (IllegalArgumentException e) {
      // falls through to the one error below
    }
    throw new LeaseFsException(
        ErrorCode.INVALID_ARGUMENT, "not a chunk handle: '" + text + "'", "write it as 0x51c");
  }

  @Override
  public int compareTo(ChunkHandle other) {
    return Long.compare(value, other.value);
  }

  @Override
  public String toString() {
    return "0x" + Long.toHexString(value);
  }
}
