package io.leasefs.client.data;

import java.nio.ByteBuffer;
import java.util.ArrayDeque;

/**
 * Direct buffers of one size, used again and again: the last returned first, while it is warm in
 * the cache. Keeps a bounded number; more are made when needed and left to the collector. Any
 * thread.
 */
public final class BufferPool {
  private final int bufferBytes;
  private final int maxKept;
  private final ArrayDeque<ByteBuffer> free = new ArrayDeque<>();

  public BufferPool(int bufferBytes, int maxKept) {
    this.bufferBytes = bufferBytes;
    this.maxKept = maxKept;
  }

  /** An empty buffer of the pool's size. */
  public ByteBuffer take() {
    synchronized (this) {
      ByteBuffer kept = free.pollLast();
      if (kept != null) {
        kept.clear();
        return kept;
      }
    }
    return ByteBuffer.allocateDirect(bufferBytes);
  }

  /** Gives one back; nobody may use it any more. */
  public synchronized void giveBack(ByteBuffer buffer) {
    if (free.size() < maxKept) {
      free.addLast(buffer);
    }
  }
}
