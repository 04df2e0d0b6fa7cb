package io.leasefs.common.rpc;

import com.google.protobuf.CodedOutputStream;
import com.google.protobuf.MessageLite;
import com.google.protobuf.Parser;
import io.grpc.Drainable;
import io.grpc.HasByteBuffer;
import io.grpc.KnownLength;
import io.grpc.MethodDescriptor;
import io.grpc.Status;
import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.ByteBuffer;
import org.jspecify.annotations.Nullable;

/**
 * Marshals {@link Envelope}s without a copy of the payload in the heap: outgoing bytes go from the
 * caller's buffer into gRPC's, through a small array per thread where the buffer is direct;
 * incoming bytes go from Netty's buffers into one of {@link PayloadPool}. What is on the wire is
 * plain protobuf, but the payload must come last. Any thread.
 */
final class ZeroCopy<H extends MessageLite> implements MethodDescriptor.Marshaller<Envelope<H>> {
  private static final int HEADER_TAG = 1 << 3 | 2;
  private static final int PAYLOAD_TAG = 2 << 3 | 2;
  private static final int SCRATCH_BYTES = 64 << 10;
  private static final ThreadLocal<byte[]> SCRATCH =
      ThreadLocal.withInitial(() -> new byte[SCRATCH_BYTES]);

  private final Parser<H> parser;
  private final H noHeader;
  private final PayloadPool pool;

  ZeroCopy(Parser<H> parser, H noHeader, PayloadPool pool) {
    this.parser = parser;
    this.noHeader = noHeader;
    this.pool = pool;
  }

  @Override
  public InputStream stream(Envelope<H> value) {
    return new Outgoing<>(value);
  }

  @Override
  public Envelope<H> parse(InputStream in) {
    try {
      int headerBytes = 0;
      H header = noHeader;
      int tag = in.read();
      if (tag == HEADER_TAG) {
        headerBytes = readLength(in);
        header = readHeader(in, headerBytes);
        tag = in.read();
      }
      if (tag < 0) {
        return Envelope.of(header);
      }
      if (tag != PAYLOAD_TAG) {
        throw malformed("field tag " + tag + " where the payload belongs");
      }
      int length = readLength(in);
      if (length != in.available()) {
        throw malformed("a payload of " + length + " bytes in a rest of " + in.available());
      }
      ByteBuffer payload = pool.take(length);
      fill(payload, in);
      return new Envelope<>(header, payload.flip());
    } catch (IOException e) {
      throw malformed(e.toString());
    }
  }

  private H readHeader(InputStream in, int length) throws IOException {
    if (length > in.available()) {
      throw new EOFException("header of " + length + " bytes in a rest of " + in.available());
    }
    byte[] bytes = length <= SCRATCH_BYTES ? SCRATCH.get() : new byte[length];
    int have = in.readNBytes(bytes, 0, length);
    if (have < length) {
      throw new EOFException("header ends after " + have + " bytes");
    }
    return parser.parseFrom(bytes, 0, length);
  }

  /** Fills the buffer to its limit. */
  private static void fill(ByteBuffer target, InputStream in) throws IOException {
    while (target.hasRemaining()) {
      if (in instanceof HasByteBuffer source && source.byteBufferSupported()) {
        ByteBuffer part = source.getByteBuffer();
        if (part == null) {
          throw new EOFException("payload ends early");
        }
        if (part.remaining() > target.remaining()) {
          part.limit(part.position() + target.remaining());
        }
        int bytes = part.remaining();
        target.put(part);
        in.skipNBytes(bytes);
      } else {
        byte[] scratch = SCRATCH.get();
        int bytes = in.read(scratch, 0, Math.min(scratch.length, target.remaining()));
        if (bytes < 0) {
          throw new EOFException("payload ends early");
        }
        target.put(scratch, 0, bytes);
      }
    }
  }

  private static int readLength(InputStream in) throws IOException {
    int value = 0;
    for (int shift = 0; shift < 32; shift += 7) {
      int next = in.read();
      if (next < 0) {
        throw new EOFException("length ends early");
      }
      value |= (next & 0x7f) << shift;
      if (next < 0x80) {
        if (value < 0) {
          throw new IOException("negative length");
        }
        return value;
      }
    }
    throw new IOException("length of more than five bytes");
  }

  private static RuntimeException malformed(String why) {
    return Status.INTERNAL.withDescription("malformed message: " + why).asRuntimeException();
  }

  /** An outgoing message; gRPC asks for its length and has it drained into an OutputStream. */
  private static final class Outgoing<H extends MessageLite> extends InputStream
      implements Drainable, KnownLength {
    private final Envelope<H> envelope;
    private final int headerBytes;
    private final int payloadBytes;
    private boolean drained;
    // for a transport that reads instead of draining (tests, compression)
    private @Nullable InputStream flat;

    Outgoing(Envelope<H> envelope) {
      this.envelope = envelope;
      this.headerBytes = envelope.header().getSerializedSize();
      this.payloadBytes = envelope.payloadBytes();
    }

    private int totalBytes() {
      int total = 1 + CodedOutputStream.computeUInt32SizeNoTag(headerBytes) + headerBytes;
      if (payloadBytes > 0) {
        total += 1 + CodedOutputStream.computeUInt32SizeNoTag(payloadBytes) + payloadBytes;
      }
      return total;
    }

    @Override
    public int available() throws IOException {
      if (flat != null) {
        return flat.available();
      }
      return drained ? 0 : totalBytes();
    }

    @Override
    public int drainTo(OutputStream target) throws IOException {
      if (drained) {
        return 0;
      }
      drained = true;
      byte[] scratch = SCRATCH.get();
      int before = totalBytes() - payloadBytes;
      byte[] front = before <= scratch.length ? scratch : new byte[before];
      CodedOutputStream out = CodedOutputStream.newInstance(front, 0, before);
      out.writeUInt32NoTag(HEADER_TAG);
      out.writeUInt32NoTag(headerBytes);
      envelope.header().writeTo(out);
      if (payloadBytes > 0) {
        out.writeUInt32NoTag(PAYLOAD_TAG);
        out.writeUInt32NoTag(payloadBytes);
      }
      out.flush();
      target.write(front, 0, before);
      envelope.write(payload -> drain(payload, scratch, target));
      return before + payloadBytes;
    }

    private static void drain(ByteBuffer payload, byte[] scratch, OutputStream target)
        throws IOException {
      if (payload.hasArray()) {
        target.write(
            payload.array(), payload.arrayOffset() + payload.position(), payload.remaining());
        return;
      }
      while (payload.hasRemaining()) {
        int bytes = Math.min(scratch.length, payload.remaining());
        payload.get(scratch, 0, bytes);
        target.write(scratch, 0, bytes);
      }
    }

    @Override
    public int read() throws IOException {
      return flat().read();
    }

    @Override
    public int read(byte[] target, int offset, int length) throws IOException {
      return flat().read(target, offset, length);
    }

    private InputStream flat() throws IOException {
      if (flat == null) {
        java.io.ByteArrayOutputStream bytes = new java.io.ByteArrayOutputStream(totalBytes());
        drainTo(bytes);
        flat = new java.io.ByteArrayInputStream(bytes.toByteArray());
      }
      return flat;
    }
  }
}
