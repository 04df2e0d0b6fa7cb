package io.leasefs.chunkserver.store;

import static io.leasefs.chunkserver.store.BlockTable.BLOCK;

import io.leasefs.common.checksum.Checksums;
import io.leasefs.common.checksum.Crc32c;
import java.nio.ByteBuffer;

/**
 * A payload's CRC32Cs, cut both at its own 64 KiB pieces (as the client made them) and at the
 * chunk's 64 KiB blocks: from them follow the piece checksums and, by combination, the blocks'.
 *
 * <p>Where the payload begins at a block's start, fragments and pieces are the same, and nothing is
 * computed; nor where it lies within one block and one piece.
 */
final class Fragments {
  static final int[] NONE = {};

  private Fragments() {}

  /** How many fragments a payload of this length at this chunk offset has. */
  static int count(long offset, int length) {
    int count = 0;
    for (int at = 0; at < length; at += lengthAt(offset, length, at)) {
      count++;
    }
    return count;
  }

  /** Length of the fragment that begins {@code at} bytes into the payload. */
  static int lengthAt(long offset, int length, int at) {
    int toPiece = BLOCK - at % BLOCK;
    int toBlock = BLOCK - (int) ((offset + at) % BLOCK);
    return Math.min(length - at, Math.min(toPiece, toBlock));
  }

  /** Of a payload whose piece checksums have been checked. */
  static int[] of(long offset, ByteBuffer payload, Checksums checksums) {
    int length = payload.remaining();
    int count = count(offset, length);
    int[] crcs = new int[count];
    if (count == checksums.size()) {
      for (int i = 0; i < count; i++) {
        crcs[i] = checksums.at(i);
      }
      return crcs;
    }
    compute(offset, payload, crcs);
    return crcs;
  }

  /** True where the payload has these fragments. */
  static boolean match(long offset, ByteBuffer payload, int[] crcs) {
    int[] found = new int[count(offset, payload.remaining())];
    compute(offset, payload, found);
    return java.util.Arrays.equals(found, crcs);
  }

  private static void compute(long offset, ByteBuffer payload, int[] crcs) {
    int length = payload.remaining();
    ByteBuffer part = payload.duplicate();
    int base = payload.position();
    int at = 0;
    for (int i = 0; i < crcs.length; i++) {
      int partLength = lengthAt(offset, length, at);
      part.limit(base + at + partLength).position(base + at);
      crcs[i] = Crc32c.of(part);
      at += partLength;
    }
  }

  /** The checksums of the payload's pieces. */
  static Checksums pieces(long offset, int length, int[] crcs) {
    int[] pieces = new int[(length + BLOCK - 1) / BLOCK];
    int at = 0;
    for (int crc : crcs) {
      int partLength = lengthAt(offset, length, at);
      int piece = at / BLOCK;
      pieces[piece] = at % BLOCK == 0 ? crc : Crc32c.combine(pieces[piece], crc, partLength);
      at += partLength;
    }
    return Checksums.owning(pieces);
  }
}
