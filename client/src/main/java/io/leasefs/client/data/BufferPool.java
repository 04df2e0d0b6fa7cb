package io.leasefs.client.data;

import java.nio.ByteBuffer;
import java.util.ArrayDeque;

/**
 * Buffers of one size, used again and again: the last returned first, while it is warm in the
 * cache. In the heap, for there gRPC takes them with one copy, and direct ones with two. Keeps a
 * bounded number; more are made when needed and left to the collector. Any thread.
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
    return ByteBuffer.allocate(bufferBytes);
  }

  /** Gives one back; nobody may use it any more. */
  public synchronized void giveBack(ByteBuffer buffer) {
    if (free.size() < maxKept) {
      free.addLast(buffer);
    }
  }
}
