package io.leasefs.common.rpc;

import com.google.common.collect.MapMaker;
import io.netty.util.internal.PlatformDependent;
import java.nio.ByteBuffer;
import java.util.Map;
import java.util.concurrent.ArrayBlockingQueue;

/**
 * Buffers for payload that arrives over the network, so that it never lies in the heap. Any thread.
 *
 * <h2>Who may use a payload for how long</h2>
 *
 * <ul>
 *   <li>The payload of a received {@code Frame} or {@code PeerMessage} belongs to whoever was
 *       handed the message, for as long as they like. Once nobody reads it any more, {@link
 *       #release} should be called with that very buffer object (views of it do not count, and are
 *       dead too from then on). Not to release is safe: the garbage collector takes the buffer,
 *       only later.
 *   <li>The payload of a received {@code ReadPart} or {@code CopyPart} lives until the sink's
 *       {@code accept} returns; it is released then.
 *   <li>A payload that is sent is read before {@code send} or {@code accept} returns, and not
 *       touched later: its sender may reuse it at once.
 * </ul>
 *
 * Small payloads, and those that come while the direct memory is used up, are plain heap buffers.
 */
public final class PayloadPool {
  /** Up to here a payload gets a heap buffer of its own. */
  static final int HEAP_BYTES = 4 << 10;

  private static final int SMALL_BYTES = 64 << 10;
  private static final int LARGE_BYTES = 1 << 20;
  private static final long SHARED_IDLE_BYTES = 32L << 20;

  // The rest of the direct memory is Netty's. To run into its limit would cost half a second of
  // garbage collections each time.
  static final PayloadPool SHARED =
      new PayloadPool(SHARED_IDLE_BYTES, PlatformDependent.maxDirectMemory() / 4);

  // by identity, weakly: a buffer that is forgotten takes its row with it
  private final Map<ByteBuffer, ByteBuffer> lent = new MapMaker().weakKeys().makeMap();
  private final ArrayBlockingQueue<ByteBuffer> small;
  private final ArrayBlockingQueue<ByteBuffer> large;
  private final long maxLent;

  /**
   * Keeps about {@code maxIdleBytes} at most while they are not used, a quarter in small buffers,
   * and lends about {@code maxLentBytes}.
   */
  PayloadPool(long maxIdleBytes, long maxLentBytes) {
    this.maxLent = maxLentBytes / LARGE_BYTES;
    this.small = new ArrayBlockingQueue<>((int) Math.max(1, maxIdleBytes / 4 / SMALL_BYTES));
    this.large = new ArrayBlockingQueue<>((int) Math.max(1, maxIdleBytes * 3 / 4 / LARGE_BYTES));
  }

  /**
   * Gives the payload of a received message back. Does nothing for any other buffer, or the second
   * time.
   */
  public static void release(ByteBuffer payload) {
    SHARED.giveBack(payload);
  }

  /** An empty buffer with room for exactly {@code length} bytes. */
  ByteBuffer take(int length) {
    if (length <= HEAP_BYTES || length > LARGE_BYTES || lent.size() >= maxLent) {
      return ByteBuffer.allocate(length);
    }
    boolean isSmall = length <= SMALL_BYTES;
    ByteBuffer whole = (isSmall ? small : large).poll();
    if (whole == null) {
      try {
        whole = ByteBuffer.allocateDirect(isSmall ? SMALL_BYTES : LARGE_BYTES);
      } catch (OutOfMemoryError e) {
        return ByteBuffer.allocate(length);
      }
    }
    ByteBuffer view = whole.duplicate().clear().limit(length);
    lent.put(view, whole);
    return view;
  }

  void giveBack(ByteBuffer payload) {
    ByteBuffer whole = payload.isDirect() ? lent.remove(payload) : null;
    if (whole != null) {
      // where the queue is full the buffer becomes garbage
      (whole.capacity() == SMALL_BYTES ? small : large).offer(whole);
    }
  }

  /** Bytes that wait to be used again. */
  long idleBytes() {
    return (long) small.size() * SMALL_BYTES + (long) large.size() * LARGE_BYTES;
  }
}
