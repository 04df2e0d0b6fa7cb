package io.leasefs.common.model;

/**
 * What never changes about a chunk.
 *
 * @param handle its name
 * @param file the file it belongs to
 * @param capacityBytes most bytes it may hold, 1 MiB to 1 GiB
 * @param durability what an acknowledgement stands for
 */
public record ChunkSpec(
    ChunkHandle handle, FileId file, long capacityBytes, Durability durability) {
  /** The smallest capacity of a chunk: one frame. */
  public static final long MIN_CAPACITY = 1L << 20;

  /** The largest capacity of a chunk. */
  public static final long MAX_CAPACITY = 1L << 30;

  public ChunkSpec {
    if (capacityBytes < MIN_CAPACITY || capacityBytes > MAX_CAPACITY) {
      throw new IllegalArgumentException("1 MiB <= capacity <= 1 GiB: " + capacityBytes);
    }
  }
}
