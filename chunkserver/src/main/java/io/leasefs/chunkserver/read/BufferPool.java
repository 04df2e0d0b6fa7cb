package io.leasefs.chunkserver.read;

import java.nio.ByteBuffer;
import java.util.ArrayDeque;

/** Buffers for reads, used again. Any thread. */
public final class BufferPool {
  private final int capacityBytes;
  private final int keep;

  /** Guarded by this. */
  private final ArrayDeque<ByteBuffer> free = new ArrayDeque<>();

  /**
   * @param keep most buffers kept while nobody uses them
   */
  public BufferPool(int capacityBytes, int keep) {
    this.capacityBytes = capacityBytes;
    this.keep = keep;
  }

  /** An empty buffer of the pool's capacity. */
  public synchronized ByteBuffer take() {
    ByteBuffer buffer = free.pollLast();
    return buffer == null ? ByteBuffer.allocate(capacityBytes) : buffer.clear();
  }

  /** Nobody uses it, nor any view of it, any more. */
  public synchronized void give(ByteBuffer buffer) {
    if (buffer.capacity() == capacityBytes && free.size() < keep) {
      free.addLast(buffer);
    }
  }
}
