package io.leasefs.server.disk.simulated;

import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.BitSet;
import java.util.HashMap;
import java.util.Map;
import java.util.Random;
import org.jspecify.annotations.Nullable;

/**
 * The bytes of one simulated file, twice: as the kernel has them, and as the platter would give
 * them back after a power cut. A sector is either old or new, never mixed.
 *
 * <p>Not thread-safe: the disk's lock guards it, and that of each disk with a copy.
 */
final class SimulatedContent {
  static final int SECTOR = 512;

  /** What two copies share until one of them changes it; whole sectors. */
  private static final int PAGE = 4096;

  private static final byte[] ZEROS = new byte[PAGE];

  /** As the kernel has them; null, and what lies beyond: zeros. Zeros beyond the length. */
  private byte[] @Nullable [] pages;

  /** Pages that another copy may have as well: none writes to such a one. */
  private final BitSet shared;

  /** Of sectors in which the platter may differ: what it has; those without have zeros there. */
  private final Map<Integer, byte[]> platter;

  /** Sectors in which the platter may differ. */
  private final BitSet old;

  /** Sectors that the next force makes durable. After a failed force it forgets them. */
  private final BitSet dirty;

  private long length;
  private long oldLength;

  SimulatedContent() {
    pages = new byte[1][];
    shared = new BitSet();
    platter = new HashMap<>();
    old = new BitSet();
    dirty = new BitSet();
  }

  private SimulatedContent(SimulatedContent that) {
    that.shared.set(0, that.pages.length);
    pages = that.pages.clone();
    shared = (BitSet) that.shared.clone();
    platter = new HashMap<>(that.platter);
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
    long end = position + count;
    for (long at = position; at < end; ) {
      int offset = (int) (at % PAGE);
      int part = (int) Math.min(PAGE - offset, end - at);
      byte[] page = page(at);
      target.put(page == null ? ZEROS : page, offset, part);
      at += part;
    }
  }

  /** Takes {@code count} bytes from the source. */
  void write(long position, ByteBuffer source, int count) {
    long end = position + count;
    if (count > 0) {
      change(position, end);
    }
    for (long at = position; at < end; ) {
      int offset = (int) (at % PAGE);
      int part = (int) Math.min(PAGE - offset, end - at);
      source.get(own(at), offset, part);
      at += part;
    }
    length = Math.max(length, end);
  }

  void truncate(long newLength) {
    if (newLength >= length) {
      return;
    }
    long end = sectorEnd(length);
    change(newLength, end);
    clear(newLength, end);
    length = newLength;
  }

  private static long sectorEnd(long position) {
    return (position + SECTOR - 1) / SECTOR * SECTOR;
  }

  /** The page with this position; null: zeros. */
  private byte @Nullable [] page(long position) {
    int index = (int) (position / PAGE);
    return index < pages.length ? pages[index] : null;
  }

  /** The page with this position, to be changed. */
  private byte[] own(long position) {
    int index = Math.toIntExact(position / PAGE);
    if (index >= pages.length) {
      pages = Arrays.copyOf(pages, Math.max(2 * pages.length, index + 1));
    }
    byte[] page = pages[index];
    if (page == null) {
      page = new byte[PAGE];
      pages[index] = page;
    } else if (shared.get(index)) {
      page = page.clone();
      pages[index] = page;
    }
    shared.clear(index);
    return page;
  }

  /** Zeros in a range. */
  private void clear(long from, long to) {
    for (long at = from; at < to; ) {
      int offset = (int) (at % PAGE);
      int part = (int) Math.min(PAGE - offset, to - at);
      if (page(at) != null) {
        Arrays.fill(own(at), offset, offset + part, (byte) 0);
      }
      at += part;
    }
  }

  /** The sectors of a range are about to change; the platter's content is remembered. */
  private void change(long from, long to) {
    int first = (int) (from / SECTOR);
    int end = (int) (sectorEnd(to) / SECTOR);
    // Most sectors are new: there is nothing to remember of them.
    int known = (int) Math.min(end, sectorEnd(length) / SECTOR);
    for (int sector = old.nextClearBit(first);
        sector < known;
        sector = old.nextClearBit(sector + 1)) {
      byte[] page = page((long) sector * SECTOR);
      if (page != null) {
        int offset = sector * SECTOR % PAGE;
        platter.put(sector, Arrays.copyOfRange(page, offset, offset + SECTOR));
      }
    }
    old.set(first, end);
    dirty.set(first, end);
  }

  void force() {
    oldLength = length;
    old.andNot(dirty);
    dirty.clear();
    platter.keySet().removeIf(sector -> !old.get(sector));
  }

  /** A failed force: some sectors made it, and no later force will try the others again. */
  void failForce(Random random) {
    for (int sector = dirty.nextSetBit(0); sector >= 0; sector = dirty.nextSetBit(sector + 1)) {
      if (random.nextBoolean()) {
        old.clear(sector);
        platter.remove(sector);
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
        restore(sector);
      }
    }
    boolean keepLength = random.nextDouble() < keepChance;
    length = keepLength ? length : oldLength;
    // what lies beyond the end must read as zeros when the file grows again
    clear(length, (long) pages.length * PAGE);
    settle();
  }

  private void restore(int sector) {
    long start = (long) sector * SECTOR;
    byte[] before = platter.get(sector);
    if (before == null) {
      clear(start, start + SECTOR);
    } else {
      System.arraycopy(before, 0, own(start), (int) (start % PAGE), SECTOR);
    }
  }

  /** What there is now is what there is on the platter. */
  void settle() {
    old.clear();
    dirty.clear();
    platter.clear();
    oldLength = length;
  }

  void flipBit(long position, int bit) {
    own(position)[(int) (position % PAGE)] ^= (byte) (1 << bit);
    platter.computeIfPresent(
        (int) (position / SECTOR),
        (sector, before) -> {
          byte[] rotten = before.clone();
          rotten[(int) (position % SECTOR)] ^= (byte) (1 << bit);
          return rotten;
        });
  }
}
