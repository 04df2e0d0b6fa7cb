package io.leasefs.chunkserver.store;

import static io.leasefs.chunkserver.store.BlockTable.BLOCK;

import io.leasefs.chunkserver.replica.ReplicaImage;
import io.leasefs.common.api.ChunkApi.ReadPart;
import io.leasefs.common.error.ErrorCode;
import io.leasefs.common.error.LeaseFsException;
import io.leasefs.common.model.ChunkHandle;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.function.IntFunction;

/**
 * One chunk on this disk, opened: what its core goes on from, the queue of its disk actions, and
 * its committed bytes. Any thread; reads block on the disk.
 */
public final class StoredChunk {
  private final ReplicaImage image;
  private final ChunkFile file;
  private final ActionQueue queue;

  StoredChunk(ReplicaImage image, ChunkFile file, ActionQueue queue) {
    this.image = image;
    this.file = file;
    this.queue = queue;
  }

  public ChunkHandle handle() {
    return image.spec().handle();
  }

  /** As it was when it was opened: what a new core goes on from. */
  public ReplicaImage image() {
    return image;
  }

  public ActionQueue queue() {
    return queue;
  }

  /** Bytes that have been published by commits. */
  public long committedLength() {
    return file.content().length();
  }

  /** The serial up to which commits have been published. */
  public long committedSerial() {
    return file.content().serial();
  }

  /**
   * Changes whenever published bytes are overwritten or cut, not with appends: a copy that was made
   * while it stood still is one state.
   */
  public long overwriteEpoch() {
    return file.content().epoch();
  }

  /**
   * Reads committed bytes, verified block by block. Fewer come where the chunk or the limit ends;
   * none at or past it.
   *
   * @param offset bytes from the chunk's start
   * @param maxBytes most bytes wanted
   * @param limit no byte at or above it: the length that the core has granted
   * @param buffers gives an empty buffer of at least this capacity (up to 128 KiB more than
   *     wanted); the part's payload is a view of it
   * @throws LeaseFsException CORRUPT where a block does not match: this copy is damaged
   * @throws IOException where the disk fails
   */
  public ReadPart read(long offset, int maxBytes, long limit, IntFunction<ByteBuffer> buffers)
      throws IOException {
    try {
      return file.content().read(offset, maxBytes, limit, buffers);
    } catch (CorruptBlockException e) {
      throw new LeaseFsException(
          ErrorCode.CORRUPT,
          "chunk " + handle() + " is damaged here: " + e.getMessage(),
          "another copy is asked",
          e);
    }
  }

  /**
   * Numbers of the committed 64 KiB blocks in this range that do not match; empty where all is
   * well.
   */
  public List<Long> badBlocks(long firstBlock, long blocks) throws IOException {
    List<Long> bad = new ArrayList<>();
    ByteBuffer[] buffer = {ByteBuffer.allocate(0)};
    IntFunction<ByteBuffer> reused =
        size -> {
          if (buffer[0].capacity() < size) {
            buffer[0] = ByteBuffer.allocate(size);
          }
          return buffer[0];
        };
    for (long block = firstBlock; block < firstBlock + blocks; block++) {
      try {
        int count =
            file.content().read(block * BLOCK, BLOCK, Long.MAX_VALUE, reused).payload().remaining();
        if (count < BLOCK) {
          break;
        }
      } catch (CorruptBlockException e) {
        bad.add(block);
      }
    }
    return bad;
  }

  /** CRC32C of the committed content, from its blocks' checksums; nothing is read. */
  public int checksum() {
    return file.content().tableCopy().contentChecksum();
  }

  ChunkFile file() {
    return file;
  }
}
