package io.leasefs.common.checksum;

import java.nio.ByteBuffer;
import java.util.zip.CRC32C;

/**
 * CRC32C (Castagnoli), and the CRC of two byte strings put together, from their CRCs alone: by
 * multiplication with x^(8n) modulo the polynomial, in O(log n).
 */
public final class Crc32c {
  /** The polynomial, bit-reversed. */
  private static final int POLYNOMIAL = 0x82F63B78;

  /** {@code POWERS[k]} is x^(2^k) modulo the polynomial, bit-reversed. */
  private static final int[] POWERS = powers();

  /** The length that is combined most often: a whole piece or block. */
  private static final int PIECE = 1 << 16;

  private static final int PIECE_SHIFT = shift(PIECE);

  private Crc32c() {}

  /** Of the remaining bytes; the position does not move. */
  public static int of(ByteBuffer bytes) {
    CRC32C crc = new CRC32C();
    crc.update(bytes.duplicate());
    return (int) crc.getValue();
  }

  /** The CRC of A followed by B, given both and B's length in bytes. */
  public static int combine(int crcA, int crcB, long lengthB) {
    if (lengthB < 0) {
      throw new IllegalArgumentException("negative length: " + lengthB);
    }
    int shift = lengthB == PIECE ? PIECE_SHIFT : shift(lengthB);
    return multiply(shift, crcA) ^ crcB;
  }

  /** x^(8 * bytes) modulo the polynomial. */
  private static int shift(long bytes) {
    int product = 1 << 31;
    int k = 3;
    for (long n = bytes; n != 0; n >>>= 1, k++) {
      if ((n & 1) != 0) {
        product = multiply(POWERS[k & 31], product);
      }
    }
    return product;
  }

  private static int multiply(int a, int b) {
    int product = 0;
    int factor = b;
    for (int bit = 1 << 31; bit != 0; bit >>>= 1) {
      if ((a & bit) != 0) {
        product ^= factor;
      }
      factor = (factor & 1) != 0 ? (factor >>> 1) ^ POLYNOMIAL : factor >>> 1;
    }
    return product;
  }

  private static int[] powers() {
    int[] powers = new int[32];
    int power = 1 << 30;
    for (int k = 0; k < powers.length; k++) {
      powers[k] = power;
      power = multiply(power, power);
    }
    return powers;
  }
}
