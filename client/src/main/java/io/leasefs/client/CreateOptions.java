package io.leasefs.client;

import io.leasefs.common.model.Durability;

/**
 * How a file is created.
 *
 * @param parents missing folders are created too
 * @param replication copies wanted; 0 = the cluster's default
 * @param chunkBytes capacity of a chunk, 1 MiB to 1 GiB; 0 = the cluster's default
 * @param durability what an acknowledgement stands for
 * @param mode permission bits; kept, not enforced
 */
public record CreateOptions(
    boolean parents, int replication, long chunkBytes, Durability durability, int mode) {
  /** No parents made, the cluster's defaults, {@code replicated}, rw-r--r--. */
  public static final CreateOptions DEFAULT =
      new CreateOptions(false, 0, 0, Durability.REPLICATED, 0644);

  public CreateOptions withParents(boolean made) {
    return new CreateOptions(made, replication, chunkBytes, durability, mode);
  }

  public CreateOptions withReplication(int copies) {
    return new CreateOptions(parents, copies, chunkBytes, durability, mode);
  }

  public CreateOptions withChunkBytes(long bytes) {
    return new CreateOptions(parents, replication, bytes, durability, mode);
  }

  public CreateOptions withDurability(Durability wanted) {
    return new CreateOptions(parents, replication, chunkBytes, wanted, mode);
  }

  public CreateOptions withMode(int bits) {
    return new CreateOptions(parents, replication, chunkBytes, durability, bits);
  }
}
