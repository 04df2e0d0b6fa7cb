package io.leasefs.chunkserver.store;

import io.leasefs.common.checksum.Crc32c;
import java.util.Arrays;

/**
 * Length of a chunk's content and the CRC32C of each of its 64 KiB blocks; the last block's covers
 * what there is of it. Not thread-safe: {@link ChunkFile}'s lock guards it.
 */
final class BlockTable {
  static final int BLOCK = 1 << 16;

  private int[] crcs;
  private long length;

  BlockTable() {
    this.crcs = new int[0];
  }

  /** Takes the array over. */
  BlockTable(long length, int[] crcs) {
    if (crcs.length != blocks(length)) {
      throw new IllegalArgumentException(crcs.length + " checksums for " + length + " bytes");
    }
    this.length = length;
    this.crcs = crcs;
  }

  BlockTable copy() {
    return new BlockTable(length, toArray());
  }

  /** How many blocks so many bytes have. */
  static int blocks(long length) {
    return Math.toIntExact((length + BLOCK - 1) / BLOCK);
  }

  long length() {
    return length;
  }

  int blocks() {
    return blocks(length);
  }

  /** Bytes in a block: all are full but the last. */
  int lengthOf(int block) {
    return (int) Math.min(BLOCK, length - (long) block * BLOCK);
  }

  int crc(int block) {
    if (block >= blocks()) {
      throw new IllegalArgumentException("block " + block + " of " + blocks());
    }
    return crcs[block];
  }

  /** Adds a payload at the end, given its fragments. */
  void append(int payloadLength, int[] fragments) {
    long start = length;
    int at = 0;
    for (int fragment : fragments) {
      int part = Fragments.lengthAt(start, payloadLength, at);
      int block = (int) (length / BLOCK);
      if (length % BLOCK == 0) {
        grow(block + 1);
        crcs[block] = fragment;
      } else {
        crcs[block] = Crc32c.combine(crcs[block], fragment, part);
      }
      length += part;
      at += part;
    }
    if (at != payloadLength) {
      throw new IllegalArgumentException(fragments.length + " fragments for " + payloadLength);
    }
  }

  /** Sets a block's checksum; the length must already be right. */
  void set(int block, int crc) {
    if (block >= blocks()) {
      throw new IllegalArgumentException("block " + block + " of " + blocks());
    }
    crcs[block] = crc;
  }

  /** Another length; checksums of blocks that are new or cut must be set after it. */
  void resize(long newLength) {
    grow(blocks(newLength));
    length = newLength;
  }

  private void grow(int blocks) {
    if (blocks > crcs.length) {
      crcs = Arrays.copyOf(crcs, Math.max(blocks, crcs.length + crcs.length / 2 + 4));
    }
  }

  /** CRC32C of the whole content. */
  int contentChecksum() {
    int crc = 0;
    for (int block = 0; block < blocks(); block++) {
      crc = Crc32c.combine(crc, crcs[block], lengthOf(block));
    }
    return crc;
  }

  int[] toArray() {
    return Arrays.copyOf(crcs, blocks());
  }
}
