package io.leasefs.server.disk.simulated;

import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.BitSet;
import java.util.Random;

/**
 * The bytes of one simulated file, twice: as the kernel has them, and as the platter would give
 * them back after a power cut. A sector is either old or new, never mixed.
 *
 * <p>Not thread-safe: the disk's lock guards it.
 */
final class SimulatedContent {
  static final int SECTOR = 512;

  private static final int FIRST_SECTORS = 8;

  /** Whole sectors as the kernel has them; zeros beyond the length. */
  private byte[] current;

  /** What the platter has; counts only where they differ. Beyond its end there are zeros. */
  private byte[] platter;

  /** Sectors in which the platter may differ. */
  private final BitSet old;

  /** Sectors that the next force makes durable. After a failed force it forgets them. */
  private final BitSet dirty;

  private long length;
  private long oldLength;

  SimulatedContent() {
    current = new byte[FIRST_SECTORS * SECTOR];
    platter = new byte[0];
    old = new BitSet();
    dirty = new BitSet();
  }

  private SimulatedContent(SimulatedContent that) {
    current = that.current.clone();
    platter = that.platter.clone();
    old = (BitSet) that.old.clone();
    dirty = (BitSet) that.dirty.clone();
    length = that.length;
    oldLength = that.oldLength;
  }

  SimulatedContent copy() {
    return new SimulatedContent(this);
  }

  long length() {
    return length;
  }

  /** Puts {@code count} bytes into the target; zeros where there is nothing. */
  void read(long position, ByteBuffer target, int count) {
    int there = (int) Math.max(0, Math.min(count, current.length - position));
    if (there > 0) {
      target.put(current, (int) position, there);
    }
    if (there < count) {
      target.put(new byte[count - there]);
    }
  }

  /** Takes {@code count} bytes from the source. */
  void write(long position, ByteBuffer source, int count) {
    if (count == 0) {
      length = Math.max(length, position);
      return;
    }
    change(position, position + count);
    source.get(current, (int) position, count);
    length = Math.max(length, position + count);
  }

  void truncate(long newLength) {
    if (newLength >= length) {
      return;
    }
    if (newLength < current.length) {
      int end = (int) Math.min(current.length, sectorEnd(length));
      change(newLength, end);
      Arrays.fill(current, (int) newLength, end, (byte) 0);
    }
    length = newLength;
  }

  private static long sectorEnd(long position) {
    return (position + SECTOR - 1) / SECTOR * SECTOR;
  }

  /** The sectors of a range are about to change; the platter's content is remembered. */
  private void change(long from, long to) {
    if (to > current.length) {
      long capacity = Math.max(2L * current.length, sectorEnd(to));
      current = Arrays.copyOf(current, Math.toIntExact(capacity));
    }
    int first = (int) (from / SECTOR);
    int end = (int) (sectorEnd(to) / SECTOR);
    for (int sector = old.nextClearBit(first); sector < end; sector = old.nextClearBit(sector)) {
      int start = sector * SECTOR;
      // Most sectors are new: there is nothing to remember of them.
      if (start < length && start >= platter.length) {
        platter = Arrays.copyOf(platter, current.length);
      }
      if (start < platter.length) {
        System.arraycopy(current, start, platter, start, SECTOR);
      }
      old.set(sector);
    }
    dirty.set(first, end);
  }

  void force() {
    oldLength = length;
    old.andNot(dirty);
    dirty.clear();
  }

  /** A failed force: some sectors made it, and no later force will try the others again. */
  void failForce(Random random) {
    for (int sector = dirty.nextSetBit(0); sector >= 0; sector = dirty.nextSetBit(sector + 1)) {
      if (random.nextBoolean()) {
        old.clear(sector);
      }
    }
    dirty.clear();
    if (random.nextBoolean()) {
      oldLength = length;
    }
  }

  /** After a power cut: of each grain the old or the new content, chosen at random. */
  void cutPower(Random random, int grainBytes, double keepChance) {
    int sectorsInGrain = grainBytes / SECTOR;
    long lastGrain = -1;
    boolean keep = false;
    for (int sector = old.nextSetBit(0); sector >= 0; sector = old.nextSetBit(sector + 1)) {
      long grain = sector / sectorsInGrain;
      if (grain != lastGrain) {
        keep = random.nextDouble() < keepChance;
        lastGrain = grain;
      }
      if (!keep) {
        int start = sector * SECTOR;
        if (start < platter.length) {
          System.arraycopy(platter, start, current, start, SECTOR);
        } else {
          Arrays.fill(current, start, start + SECTOR, (byte) 0);
        }
      }
    }
    boolean keepLength = random.nextDouble() < keepChance;
    length = keepLength ? length : oldLength;
    // what lies beyond the end must read as zeros when the file grows again
    if (length < current.length) {
      Arrays.fill(current, (int) length, current.length, (byte) 0);
    }
    settle();
  }

  /** What there is now is what there is on the platter. */
  void settle() {
    old.clear();
    dirty.clear();
    oldLength = length;
  }

  void flipBit(long position, int bit) {
    if (position >= current.length) {
      throw new IllegalArgumentException("nothing was ever written at " + position);
    }
    current[(int) position] ^= (byte) (1 << bit);
    if (position < platter.length) {
      platter[(int) position] ^= (byte) (1 << bit);
    }
  }
}
