package io.leasefs.master.replicated;

import io.leasefs.common.error.ErrorCode;
import io.leasefs.common.error.LeaseFsException;
import io.leasefs.master.state.MetadataState;
import io.leasefs.master.state.StateSink;
import io.leasefs.master.state.StateSource;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.zip.CRC32C;

/** Writes and reads checkpoints; the format is in this package's description. */
public final class Checkpoint {
  /** The format that is written, and the newest that is read. */
  public static final int FORMAT = 1;

  private static final byte[] MAGIC = "LEASEFSC".getBytes(StandardCharsets.US_ASCII);
  private static final int BLOCK = 1 << 16;

  /** What is made room for at first: most states of a young cluster fit in it. */
  private static final int FIRST_BLOCK = 1 << 12;

  private Checkpoint() {}

  /** Writes a whole checkpoint and flushes; the caller makes it durable. */
  public static void write(MetadataState state, OutputStream out) throws IOException {
    DataOutputStream file = new DataOutputStream(out);
    file.write(MAGIC);
    file.writeInt(FORMAT);
    Blocks blocks = new Blocks(file);
    try {
      state.write(blocks);
      blocks.end();
    } catch (UncheckedIOException e) {
      throw e.getCause();
    }
    file.flush();
  }

  /** Reads a whole checkpoint. Throws CORRUPT where it is damaged or of a newer format. */
  public static MetadataState read(InputStream in) throws IOException {
    DataInputStream file = new DataInputStream(in);
    byte[] magic = new byte[MAGIC.length];
    try {
      file.readFully(magic);
      if (!Arrays.equals(magic, MAGIC)) {
        throw damaged("it does not begin as one");
      }
      int format = file.readInt();
      if (format != FORMAT) {
        throw damaged("format " + format + ", this version reads " + FORMAT);
      }
      Content content = new Content(file);
      MetadataState state = MetadataState.read(content);
      content.end();
      return state;
    } catch (UncheckedIOException e) {
      throw e.getCause();
    } catch (EOFException e) {
      throw damaged("it ends too early");
    } catch (IllegalArgumentException | IllegalStateException e) {
      throw damaged(String.valueOf(e.getMessage()));
    }
  }

  private static LeaseFsException damaged(String why) {
    return new LeaseFsException(ErrorCode.CORRUPT, "damaged checkpoint: " + why);
  }

  private static int crc(byte[] bytes, int length) {
    CRC32C crc = new CRC32C();
    crc.update(bytes, 0, length);
    return (int) crc.getValue();
  }

  private static int crc(long total) {
    return crc(ByteBuffer.allocate(Long.BYTES).putLong(total).array(), Long.BYTES);
  }

  private static final class Blocks implements StateSink {
    private final DataOutputStream file;
    private byte[] block = new byte[FIRST_BLOCK];
    private int used;
    private long total;

    Blocks(DataOutputStream file) {
      this.file = file;
    }

    @Override
    public void number(long value) {
      long left = (value << 1) ^ (value >> 63);
      while ((left & ~0x7fL) != 0) {
        put((byte) (left | 0x80));
        left >>>= 7;
      }
      put((byte) left);
    }

    @Override
    public void bytes(byte[] value) {
      number(value.length);
      for (byte each : value) {
        put(each);
      }
    }

    private void put(byte value) {
      if (used == block.length) {
        makeRoom();
      }
      block[used] = value;
      used++;
    }

    private void makeRoom() {
      if (used == BLOCK) {
        flushBlock();
      } else {
        block = Arrays.copyOf(block, 2 * used);
      }
    }

    private void flushBlock() {
      try {
        file.writeInt(used);
        file.writeInt(crc(block, used));
        file.write(block, 0, used);
      } catch (IOException e) {
        throw new UncheckedIOException(e);
      }
      total += used;
      used = 0;
    }

    void end() {
      if (used > 0) {
        flushBlock();
      }
      try {
        file.writeInt(0);
        file.writeInt(crc(total));
        file.writeLong(total);
      } catch (IOException e) {
        throw new UncheckedIOException(e);
      }
    }
  }

  private static final class Content implements StateSource {
    private final DataInputStream file;
    private final byte[] block = new byte[BLOCK];
    private int at;
    private int length;
    private long total;

    Content(DataInputStream file) {
      this.file = file;
    }

    @Override
    public long number() {
      long value = 0;
      for (int shift = 0; shift < 64; shift += 7) {
        byte next = get();
        value |= (long) (next & 0x7f) << shift;
        if (next >= 0) {
          return (value >>> 1) ^ -(value & 1);
        }
      }
      throw damaged("a number does not end");
    }

    @Override
    public byte[] bytes() {
      long count = number();
      if (count < 0 || count > BLOCK) {
        throw damaged("a string of " + count + " bytes");
      }
      byte[] value = new byte[(int) count];
      for (int i = 0; i < value.length; i++) {
        value[i] = get();
      }
      return value;
    }

    private byte get() {
      if (at == length) {
        nextBlock();
        if (length == 0) {
          throw damaged("its content ends too early");
        }
      }
      byte value = block[at];
      at++;
      return value;
    }

    private void nextBlock() {
      try {
        length = file.readInt();
        int crc = file.readInt();
        at = 0;
        if (length < 0 || length > BLOCK) {
          throw damaged("a block of " + length + " bytes");
        }
        if (length == 0) {
          long expected = file.readLong();
          if (crc(expected) != crc || expected != total) {
            throw damaged("it has " + total + " bytes of " + expected);
          }
          return;
        }
        file.readFully(block, 0, length);
        if (crc(block, length) != crc) {
          throw damaged("wrong checksum near byte " + total);
        }
        total += length;
      } catch (IOException e) {
        throw new UncheckedIOException(e);
      }
    }

    void end() {
      if (at != length) {
        throw damaged("more content than the state has");
      }
      nextBlock();
      if (length != 0) {
        throw damaged("more content than the state has");
      }
    }
  }
}
