package io.leasefs.chunkserver.store;

import static io.leasefs.chunkserver.store.BlockTable.BLOCK;

import io.leasefs.chunkserver.replica.ReplicaImage.Snapshot;
import io.leasefs.common.checksum.Checksums;
import io.leasefs.common.edge.DiskFile;
import io.leasefs.common.error.ErrorCode;
import io.leasefs.common.error.LeaseFsException;
import java.io.IOException;
import java.nio.ByteBuffer;

/**
 * A copy on its way in: data front to back, then the state that makes it a chunk. Until {@link
 * #finish} there is no journal, and a restart throws the data away. One thread at a time; blocks on
 * the disk.
 */
public final class ChunkInstall {
  private final ChunkStore store;
  private final JournalHeader header;
  private final DiskFile data;
  private final BlockTable table = new BlockTable();
  private boolean over;

  ChunkInstall(ChunkStore store, JournalHeader header, DiskFile data) {
    this.store = store;
    this.header = header;
    this.data = data;
  }

  /** Bytes that have arrived. */
  public long length() {
    return table.length();
  }

  /**
   * Takes the next bytes.
   *
   * @param offset must be {@link #length}
   * @throws LeaseFsException CORRUPT where the payload does not match its checksums
   */
  public void write(long offset, Checksums checksums, ByteBuffer payload) throws IOException {
    if (over || offset != table.length()) {
      throw new IllegalStateException("a part at " + offset + " after " + table.length());
    }
    if (!checksums.match(payload, BLOCK)) {
      throw new LeaseFsException(
          ErrorCode.CORRUPT,
          "a part of the copy of chunk " + header.spec().handle() + " at " + offset + " is broken");
    }
    data.write(payload.duplicate(), offset);
    table.append(payload.remaining(), Fragments.of(offset, payload, checksums));
  }

  /** CRC32C of what has arrived. */
  public int checksum() {
    return table.contentChecksum();
  }

  /**
   * Makes it a chunk; durable when it returns.
   *
   * @param promised the version that the copy was ordered under
   * @param snapshot the state that belongs to exactly these bytes
   * @param learner false for a sealed chunk's copy, which needs no version start
   */
  public StoredChunk finish(long promised, Snapshot snapshot, boolean learner) throws IOException {
    if (over || snapshot.lengthBytes() != table.length()) {
      throw new IllegalStateException(
          table.length() + " of " + snapshot.lengthBytes() + " bytes have arrived");
    }
    data.force();
    StoredChunk chunk = store.installed(header, promised, snapshot, table, learner);
    over = true; // not before: what failed half way is still to be thrown away
    return chunk;
  }

  /** Throws away what has arrived; nothing happens after {@link #finish}, unless that failed. */
  public void abandon() throws IOException {
    if (!over) {
      over = true;
      data.close();
      store.dropInstall(header.spec().handle());
    }
  }
}
