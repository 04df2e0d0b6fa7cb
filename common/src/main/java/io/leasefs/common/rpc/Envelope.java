package io.leasefs.common.rpc;

import com.google.protobuf.MessageLite;
import java.nio.ByteBuffer;

/**
 * A message of the form {@code {header = 1, bytes payload = 2}}: the header as protobuf knows it,
 * the payload as a buffer.
 *
 * <p>gRPC reads an outgoing message while it is sent, except on a connection that is not there yet:
 * then later, on another thread. {@link #settle} makes up for that, so that nobody's buffer is read
 * after {@code send} has returned.
 */
final class Envelope<H extends MessageLite> {
  private static final ByteBuffer EMPTY = ByteBuffer.allocate(0);

  private final H header;
  private ByteBuffer payload;
  private boolean written;

  Envelope(H header, ByteBuffer payload) {
    this.header = header;
    this.payload = payload;
  }

  static <H extends MessageLite> Envelope<H> of(H header) {
    return new Envelope<>(header, EMPTY);
  }

  H header() {
    return header;
  }

  /** Of a received message: its own buffer, see {@link PayloadPool}. */
  synchronized ByteBuffer payload() {
    return payload;
  }

  /** Bytes of the payload that is to be sent. */
  synchronized int payloadBytes() {
    return payload.remaining();
  }

  /** Hands a view of the payload out to be written, once. */
  synchronized void write(PayloadWriter writer) throws java.io.IOException {
    writer.write(payload.duplicate());
    written = true;
    payload = EMPTY;
  }

  /** After this the caller's buffer is not read any more. */
  synchronized void settle() {
    if (!written) {
      ByteBuffer copy = ByteBuffer.allocate(payload.remaining());
      copy.put(payload.duplicate()).flip();
      payload = copy;
    }
  }

  /** Writes the remaining bytes. */
  interface PayloadWriter {
    void write(ByteBuffer payload) throws java.io.IOException;
  }
}
