package io.leasefs.server.disk.simulated;

import java.util.Arrays;
import java.util.Map;
import java.util.Random;
import java.util.TreeMap;

/**
 * The bytes of one simulated file, twice: as the kernel has them, and as the platter would give
 * them back after a power cut. Kept in sectors; a sector is either old or new, never mixed.
 *
 * <p>Not thread-safe: the disk's lock guards it.
 */
final class SimulatedContent {
  static final int SECTOR = 512;

  private static final byte[] ZEROS = new byte[SECTOR];

  /** Sectors as the kernel has them; absent: zeros. */
  private final TreeMap<Long, byte[]> current;

  /** What the platter has, only where it differs; zeros where it has nothing. */
  private final TreeMap<Long, byte[]> old;

  /** Sectors that the next force makes durable. After a failed force it forgets them. */
  private final TreeMap<Long, Boolean> dirty = new TreeMap<>();

  private long length;
  private long oldLength;

  SimulatedContent() {
    current = new TreeMap<>();
    old = new TreeMap<>();
  }

  private SimulatedContent(SimulatedContent that) {
    current = new TreeMap<>();
    old = new TreeMap<>();
    that.current.forEach((sector, bytes) -> current.put(sector, bytes.clone()));
    that.old.forEach((sector, bytes) -> old.put(sector, bytes.clone()));
    dirty.putAll(that.dirty);
    length = that.length;
    oldLength = that.oldLength;
  }

  SimulatedContent copy() {
    return new SimulatedContent(this);
  }

  long length() {
    return length;
  }

  void read(long position, byte[] target, int offset, int count) {
    int done = 0;
    while (done < count) {
      long at = position + done;
      int within = (int) (at % SECTOR);
      int part = Math.min(SECTOR - within, count - done);
      byte[] sector = current.getOrDefault(at / SECTOR, ZEROS);
      System.arraycopy(sector, within, target, offset + done, part);
      done += part;
    }
  }

  void write(long position, byte[] source, int offset, int count) {
    int done = 0;
    while (done < count) {
      long at = position + done;
      int within = (int) (at % SECTOR);
      int part = Math.min(SECTOR - within, count - done);
      System.arraycopy(source, offset + done, changing(at / SECTOR), within, part);
      done += part;
    }
    length = Math.max(length, position + count);
  }

  void truncate(long newLength) {
    if (newLength >= length) {
      return;
    }
    if (newLength % SECTOR != 0) {
      byte[] last = changing(newLength / SECTOR);
      Arrays.fill(last, (int) (newLength % SECTOR), SECTOR, (byte) 0);
    }
    long firstGone = (newLength + SECTOR - 1) / SECTOR;
    for (long sector : current.tailMap(firstGone, true).keySet().toArray(new Long[0])) {
      var _ = changing(sector);
      current.remove(sector);
    }
    length = newLength;
  }

  /** The kernel's sector, its platter's content remembered. */
  private byte[] changing(long sector) {
    byte[] bytes = current.get(sector);
    if (!old.containsKey(sector)) {
      old.put(sector, bytes == null ? new byte[SECTOR] : bytes.clone());
    }
    dirty.put(sector, true);
    if (bytes == null) {
      bytes = new byte[SECTOR];
      current.put(sector, bytes);
    }
    return bytes;
  }

  void force() {
    oldLength = length;
    for (long sector : dirty.keySet()) {
      old.remove(sector);
    }
    dirty.clear();
  }

  /** A failed force: some sectors made it, and no later force will try the others again. */
  void failForce(Random random) {
    for (long sector : dirty.keySet()) {
      if (random.nextBoolean()) {
        old.remove(sector);
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
    for (Map.Entry<Long, byte[]> sector : old.entrySet()) {
      long grain = sector.getKey() / sectorsInGrain;
      if (grain != lastGrain) {
        keep = random.nextDouble() < keepChance;
        lastGrain = grain;
      }
      if (!keep) {
        current.put(sector.getKey(), sector.getValue().clone());
      }
    }
    boolean keepLength = random.nextDouble() < keepChance;
    length = keepLength ? length : oldLength;
    cutBeyondLength();
    settle();
  }

  /** What lies beyond the end must read as zeros when the file grows again. */
  private void cutBeyondLength() {
    current.tailMap((length + SECTOR - 1) / SECTOR, true).clear();
    byte[] last = length % SECTOR == 0 ? null : current.get(length / SECTOR);
    if (last != null) {
      Arrays.fill(last, (int) (length % SECTOR), SECTOR, (byte) 0);
    }
  }

  /** What there is now is what there is on the platter. */
  void settle() {
    old.clear();
    dirty.clear();
    oldLength = length;
  }

  void flipBit(long position, int bit) {
    byte[] sector = current.computeIfAbsent(position / SECTOR, _ -> new byte[SECTOR]);
    sector[(int) (position % SECTOR)] ^= (byte) (1 << bit);
    byte[] before = old.get(position / SECTOR);
    if (before != null) {
      before[(int) (position % SECTOR)] ^= (byte) (1 << bit);
    }
  }
}
