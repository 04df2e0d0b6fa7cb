package io.leasefs.common.checksum;

import java.nio.ByteBuffer;
import java.util.Arrays;

/** The CRC32C of each piece of a payload, first piece first. Immutable. */
public final class Checksums {
  public static final Checksums NONE = new Checksums(new int[0]);

  private final int[] values;

  private Checksums(int[] values) {
    this.values = values;
  }

  /** Takes the array over; the caller must not keep it. */
  public static Checksums owning(int[] values) {
    return values.length == 0 ? NONE : new Checksums(values);
  }

  /** Computes over the remaining bytes, whose position does not move. */
  public static Checksums of(ByteBuffer payload, int pieceBytes) {
    int length = payload.remaining();
    int[] values = new int[(length + pieceBytes - 1) / pieceBytes];
    for (int i = 0; i < values.length; i++) {
      values[i] = Crc32c.of(piece(payload, i, pieceBytes));
    }
    return owning(values);
  }

  /** True where the payload has these checksums, all of them. */
  public boolean match(ByteBuffer payload, int pieceBytes) {
    int length = payload.remaining();
    if (values.length != (length + pieceBytes - 1) / pieceBytes) {
      return false;
    }
    for (int i = 0; i < values.length; i++) {
      if (Crc32c.of(piece(payload, i, pieceBytes)) != values[i]) {
        return false;
      }
    }
    return true;
  }

  /** The CRC32C of the whole payload of this length, from its pieces'. */
  public int combined(long length, int pieceBytes) {
    int crc = 0;
    long left = length;
    for (int value : values) {
      long piece = Math.min(left, pieceBytes);
      crc = Crc32c.combine(crc, value, piece);
      left -= piece;
    }
    return crc;
  }

  private static ByteBuffer piece(ByteBuffer payload, int index, int pieceBytes) {
    int from = payload.position() + index * pieceBytes;
    ByteBuffer piece = payload.duplicate();
    piece.limit(Math.min(payload.limit(), from + pieceBytes)).position(from);
    return piece;
  }

  public int size() {
    return values.length;
  }

  public int at(int index) {
    return values[index];
  }

  @Override
  public boolean equals(Object other) {
    return other instanceof Checksums that && Arrays.equals(values, that.values);
  }

  @Override
  public int hashCode() {
    return Arrays.hashCode(values);
  }

  @Override
  public String toString() {
    return Arrays.toString(values);
  }
}
