package io.leasefs.chunkserver.store;

import io.leasefs.common.model.ChunkHandle;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * Verifies in the background, block by block, the committed content of chunks that nobody writes
 * just now, no faster than it is told to; round after round, no more often than it is told to. What
 * it finds is told; it repairs nothing.
 *
 * <p>One thread at a time; {@link #step} blocks on the disk.
 */
public final class Scrubber {
  /** Blocks read in one step: 1 MiB. */
  static final int STEP_BLOCKS = 16;

  private static final long MOST_QUIET_NANOS = 10_000_000_000L;
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
  private final long roundNanos;
  private final long quietNanos;
  private final Consumer<Finding> findings;
  private long roundBeganAt = Long.MIN_VALUE;
  private long chunkAt = -1;
  private long blockAt;
  private final List<Long> bad = new ArrayList<>();
  private long rounds;
  private long bytesVerified;

  /**
   * @param roundNanos from the beginning of one round to that of the next, at least; chunks that
   *     were written within the shorter of this and ten seconds wait for the next one
   * @param findings told on the thread of {@link #step}, once per chunk and round
   */
  public Scrubber(
      ChunkStore store, long bytesPerSecond, long roundNanos, Consumer<Finding> findings) {
    if (bytesPerSecond < 1) {
      throw new IllegalArgumentException("bytesPerSecond: " + bytesPerSecond);
    }
    this.store = store;
    this.bytesPerSecond = bytesPerSecond;
    this.roundNanos = roundNanos;
    this.quietNanos = Math.min(roundNanos, MOST_QUIET_NANOS);
    this.findings = findings;
  }

  /**
   * Verifies a little more.
   *
   * @return nanoseconds to wait before the next step
   */
  public long step(long now) {
    if (roundBeganAt == Long.MIN_VALUE) {
      roundBeganAt = now;
    }
    StoredChunk chunk = current();
    if (chunk == null) {
      rounds++;
      chunkAt = -1;
      blockAt = 0;
      long wait = Math.max(SECOND, roundBeganAt + roundNanos - now);
      roundBeganAt = now + wait;
      return wait;
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

  /** The chunk that is under way, or the next one that is quiet; null where the round is over. */
  private @Nullable StoredChunk current() {
    for (StoredChunk chunk : store.chunksFrom(Math.max(0, chunkAt))) {
      boolean underWay = blockAt > 0 && chunk.handle().value() == chunkAt;
      if (underWay || (chunk.queue().isQuiet(quietNanos) && !chunk.queue().isFailed())) {
        if (!underWay) {
          chunkAt = chunk.handle().value();
          blockAt = 0;
          bad.clear();
        }
        return chunk;
      }
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
