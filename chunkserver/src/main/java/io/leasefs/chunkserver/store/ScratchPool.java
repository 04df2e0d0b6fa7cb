package io.leasefs.chunkserver.store;

import java.nio.ByteBuffer;
import java.util.ArrayDeque;

/** Direct buffers for encoding journal records, shared by all chunks of a disk. Any thread. */
final class ScratchPool {
  static final int BYTES = 64 << 10;

  private final int limit;
  private final ArrayDeque<ByteBuffer> free = new ArrayDeque<>();

  /** Keeps at most {@code limit} buffers; more are made when more are in use at once. */
  ScratchPool(int limit) {
    this.limit = limit;
  }

  synchronized ByteBuffer take() {
    ByteBuffer buffer = free.poll();
    return buffer == null ? ByteBuffer.allocateDirect(BYTES) : buffer.clear();
  }

  synchronized void give(ByteBuffer buffer) {
    if (free.size() < limit) {
      free.push(buffer);
    }
  }
}
