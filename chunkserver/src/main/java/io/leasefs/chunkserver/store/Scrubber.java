package io.leasefs.chunkserver.store;

import io.leasefs.common.model.ChunkHandle;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * Verifies in the background, block by block, the committed content of chunks that nobody writes
 * just now, round and round, no faster than it is told to. What it finds is told; it repairs
 * nothing.
 *
 * <p>One thread at a time; {@link #step} blocks on the disk.
 */
public final class Scrubber {
  /** Blocks read in one step: 1 MiB. */
  static final int STEP_BLOCKS = 16;

  private static final long QUIET_NANOS = 10_000_000_000L;
  private static final long SECOND = 1_000_000_000L;

  /**
   * Something that does not match.
   *
   * @param blocks numbers of 64 KiB blocks; empty where the disk refused to be read
   */
  public record Finding(ChunkHandle chunk, List<Long> blocks, String why) {
    public Finding {
      blocks = List.copyOf(blocks);
    }
  }

  private final ChunkStore store;
  private final long bytesPerSecond;
  private final Consumer<Finding> findings;
  private long chunkAt = -1;
  private long blockAt;
  private final List<Long> bad = new ArrayList<>();
  private long rounds;
  private long bytesVerified;

  /** Findings are told on the thread of {@link #step}, once per chunk and round. */
  public Scrubber(ChunkStore store, long bytesPerSecond, Consumer<Finding> findings) {
    if (bytesPerSecond < 1) {
      throw new IllegalArgumentException("bytesPerSecond: " + bytesPerSecond);
    }
    this.store = store;
    this.bytesPerSecond = bytesPerSecond;
    this.findings = findings;
  }

  /**
   * Verifies a little more.
   *
   * @return nanoseconds to wait before the next step
   */
  public long step() {
    StoredChunk chunk = current();
    if (chunk == null) {
      return SECOND;
    }
    long blocks = BlockTable.blocks(chunk.committedLength());
    long count = Math.min(STEP_BLOCKS, blocks - blockAt);
    if (count > 0) {
      verify(chunk, count);
    }
    if (blockAt >= blocks) {
      finish(chunk);
    }
    return Math.max(0, count) * BlockTable.BLOCK * SECOND / bytesPerSecond;
  }

  private void verify(StoredChunk chunk, long count) {
    try {
      bad.addAll(chunk.badBlocks(blockAt, count));
      blockAt += count;
      bytesVerified += count * BlockTable.BLOCK;
    } catch (IOException e) {
      blockAt = Long.MAX_VALUE;
      if (store.chunk(chunk.handle()).isPresent()) { // else it was deleted under us
        findings.accept(new Finding(chunk.handle(), List.of(), String.valueOf(e.getMessage())));
      }
    }
  }

  private void finish(StoredChunk chunk) {
    if (!bad.isEmpty()) {
      findings.accept(
          new Finding(chunk.handle(), bad, bad.size() + " blocks do not match their checksums"));
      bad.clear();
    }
    chunkAt = chunk.handle().value() + 1;
    blockAt = 0;
  }

  /** The chunk that is under way, or the next one that is quiet; null where there is none. */
  private @Nullable StoredChunk current() {
    for (int turn = 0; turn < 2; turn++) {
      for (StoredChunk chunk : store.chunksFrom(Math.max(0, chunkAt))) {
        boolean underWay = blockAt > 0 && chunk.handle().value() == chunkAt;
        if (underWay || (chunk.queue().isQuiet(QUIET_NANOS) && !chunk.queue().isFailed())) {
          if (!underWay) {
            chunkAt = chunk.handle().value();
            blockAt = 0;
            bad.clear();
          }
          return chunk;
        }
      }
      chunkAt = -1;
      blockAt = 0;
      rounds++;
    }
    return null;
  }

  /** How often it has come to the end of the disk. */
  public long rounds() {
    return rounds;
  }

  /** How much it has read, bytes. */
  public long bytesVerified() {
    return bytesVerified;
  }
}
