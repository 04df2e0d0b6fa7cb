package io.leasefs.chunkserver.store;

import static io.leasefs.chunkserver.store.BlockTable.BLOCK;

import io.leasefs.common.api.ChunkApi.ReadPart;
import io.leasefs.common.api.MutationKind;
import io.leasefs.common.checksum.Checksums;
import io.leasefs.common.checksum.Crc32c;
import io.leasefs.common.edge.DiskFile;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.NavigableSet;
import java.util.function.IntFunction;

/**
 * The committed content of a chunk: the data file, with what is committed but not yet in its place
 * laid over it, and the checksum of every block of the result.
 *
 * <p><b>Writer</b>: one thread at a time (the chunk's queue). <b>Readers</b>: any thread, no lock
 * held while the disk works. A reader takes lengths, checksums and overlays at one moment, reads,
 * lays over, verifies. Applying an overlay to the file meanwhile changes only bytes that the
 * reader's own overlay covers; whatever else changed since is seen by the epoch, and the read is
 * done again. So a mismatch with an unchanged epoch is damage and nothing else.
 */
final class ChunkContent {
  private static final byte[] ZEROS = new byte[1 << 12];

  /** Committed bytes that are in the journal, or a cut, not yet carried out in the data file. */
  private record Overlay(long offset, int length, DiskFile journal, long position) {
    private static final int CUT = -1;

    boolean isCut() {
      return length == CUT;
    }
  }

  /** What a reader takes at one moment. */
  @SuppressWarnings("ArrayRecordComponent") // never compared
  private record View(long length, long epoch, int[] crcs, List<Overlay> overlays) {}

  private static final int MAX_TRIES = 100;

  private final DiskFile data;

  /** Guarded by this for readers; the writer reads it freely. */
  private final BlockTable table;

  private List<Overlay> overlays = List.of();

  /** How many overlays have been carried out: the next one's number is one more. Writer only. */
  private long overlaysApplied;

  private long epoch;
  private long serial;

  ChunkContent(DiskFile data, BlockTable table, long serial) {
    this.data = data;
    this.table = table;
    this.serial = serial;
  }

  /** The same state, to go on by itself without touching this one. Writer only. */
  ChunkContent fork() {
    ChunkContent fork = new ChunkContent(data, table.copy(), serial);
    fork.overlays = overlays;
    return fork;
  }

  /** True for the kinds that change a chunk's bytes. */
  static boolean changes(MutationKind kind) {
    return switch (kind) {
      case WRITE, APPEND, TRUNCATE -> true;
      case SEAL, ABORT, DEAD, FORGET, VERSION_START -> false;
    };
  }

  synchronized long length() {
    return table.length();
  }

  /** The serial up to which the content is published. */
  synchronized long serial() {
    return serial;
  }

  /** Changes with each overwrite and truncation; appends leave it. */
  synchronized long epoch() {
    return epoch;
  }

  synchronized boolean hasOverlays() {
    return !overlays.isEmpty();
  }

  synchronized BlockTable tableCopy() {
    return table.copy();
  }

  // ---------------------------------------------------------------- writer

  /**
   * Publishes one record.
   *
   * @param touched gets the blocks whose checksum was computed from overwritten content
   */
  void publish(Pending pending, DiskFile journal, NavigableSet<Integer> touched)
      throws IOException {
    if (pending.isInPlace()) {
      synchronized (this) {
        table.append(pending.length(), pending.fragments());
        serial = pending.serial();
      }
    } else if (pending.changesFile()) {
      overwrite(pending, journal, touched);
    } else {
      synchronized (this) {
        serial = pending.serial();
      }
    }
  }

  private void overwrite(Pending pending, DiskFile journal, NavigableSet<Integer> touched)
      throws IOException {
    boolean cut = pending.kind() == MutationKind.TRUNCATE;
    long newLength = pending.chunkLength();
    long from = Math.min(cut ? newLength : pending.offset(), table.length());
    long end = cut ? newLength : Math.max(pending.offset() + pending.length(), from);
    int first = (int) (from / BLOCK);
    int blocks = Math.max(0, BlockTable.blocks(end) - first);
    int[] crcs = new int[blocks];
    for (int i = 0; i < blocks; i++) {
      crcs[i] = crcAfter(pending, journal, first + i, cut, newLength);
    }
    Overlay overlay =
        cut
            ? new Overlay(newLength, Overlay.CUT, journal, 0)
            : new Overlay(pending.offset(), pending.length(), journal, pending.payloadAt());
    List<Overlay> more = new ArrayList<>(overlays);
    more.add(overlay);
    synchronized (this) {
      table.resize(newLength);
      for (int i = 0; i < blocks; i++) {
        table.set(first + i, crcs[i]);
      }
      overlays = List.copyOf(more);
      epoch++;
      serial = pending.serial();
    }
    touched.tailSet(BlockTable.blocks(newLength), true).clear();
    for (int i = 0; i < blocks; i++) {
      touched.add(first + i);
    }
  }

  /** The checksum that a block will have; what stays of its old bytes is verified first. */
  private int crcAfter(Pending pending, DiskFile journal, int block, boolean cut, long newLength)
      throws IOException {
    long start = (long) block * BLOCK;
    int newBytes = (int) Math.min(BLOCK, newLength - start);
    int oldBytes = block < table.blocks() ? table.lengthOf(block) : 0;
    ByteBuffer bytes = ByteBuffer.allocate(Math.max(newBytes, oldBytes));
    long payloadEnd = pending.offset() + pending.length();
    boolean covered = !cut && pending.offset() <= start && payloadEnd >= start + oldBytes;
    if (!covered && oldBytes > 0) {
      compose(start, bytes.slice(0, oldBytes), overlays);
      if (Crc32c.of(bytes.slice(0, oldBytes)) != table.crc(block)) {
        throw new CorruptBlockException(data + ": block " + block + " does not match");
      }
    }
    if (!cut) {
      long from = Math.max(start, pending.offset());
      int count = (int) (Math.min(start + newBytes, payloadEnd) - from);
      if (count > 0) {
        Journal.readFully(
            journal,
            pending.payloadAt() + (from - pending.offset()),
            bytes.slice((int) (from - start), count));
      }
    }
    return Crc32c.of(bytes.slice(0, newBytes));
  }

  /** Numbers the newest overlay: the argument of a later {@link #applyOverlays}. Writer only. */
  long newestOverlay() {
    return overlaysApplied + overlays.size();
  }

  /**
   * Carries out in the data file all overlays up to this number. The journal's records of them must
   * be durable.
   */
  void applyOverlays(long throughNumber) throws IOException {
    int count = (int) (throughNumber - overlaysApplied);
    if (count <= 0) {
      return;
    }
    for (Overlay overlay : overlays.subList(0, count)) {
      if (overlay.isCut()) {
        if (data.size() > overlay.offset()) {
          data.truncate(overlay.offset());
        }
      } else {
        data.write(
            Journal.read(overlay.journal(), overlay.position(), overlay.length()),
            overlay.offset());
      }
    }
    synchronized (this) {
      overlays = List.copyOf(overlays.subList(count, overlays.size()));
      overlaysApplied += count;
      epoch++;
    }
  }

  /** The journal that old overlays name is about to be closed. */
  synchronized void journalReplaced() {
    epoch++;
  }

  // ---------------------------------------------------------------- readers

  /**
   * Reads and verifies committed bytes.
   *
   * @param maxBytes most bytes wanted
   * @param limit no byte at or above it is read (the length that the reader was granted)
   * @param buffers gives an empty buffer of at least this capacity; what is returned is a view of
   *     it
   * @throws CorruptBlockException where a block does not match
   */
  ReadPart read(long offset, int maxBytes, long limit, IntFunction<ByteBuffer> buffers)
      throws IOException {
    for (int tries = 1; ; tries++) {
      View view = view(offset, maxBytes, limit);
      long end = Math.min(Math.min(view.length(), limit), offset + maxBytes);
      if (end <= offset) {
        return new ReadPart(offset, Checksums.NONE, ByteBuffer.allocate(0));
      }
      long start = offset / BLOCK * BLOCK;
      long blocksEnd = Math.min(view.length(), (end + BLOCK - 1) / BLOCK * BLOCK);
      int count = (int) (blocksEnd - start);
      ByteBuffer bytes = buffers.apply(count).clear().limit(count);
      try {
        compose(start, bytes.duplicate(), view.overlays());
        return verified(view, bytes, start, offset, end);
      } catch (IOException e) {
        if (epoch() == view.epoch() || tries == MAX_TRIES) {
          throw e;
        }
      }
    }
  }

  private synchronized View view(long offset, int maxBytes, long limit) {
    long end = Math.min(Math.min(table.length(), limit), offset + maxBytes);
    int first = (int) (offset / BLOCK);
    int[] crcs = new int[end <= offset ? 0 : BlockTable.blocks(end) - first];
    for (int i = 0; i < crcs.length; i++) {
      crcs[i] = table.crc(first + i);
    }
    return new View(table.length(), epoch, crcs, overlays);
  }

  /** One pass over the bytes, cut at blocks and at the pieces that are sent. */
  private ReadPart verified(View view, ByteBuffer bytes, long start, long offset, long end)
      throws IOException {
    int skip = (int) (offset - start);
    int sent = (int) (end - offset);
    int[] pieces = new int[(sent + BLOCK - 1) / BLOCK];
    int block = 0;
    int blockCrc = 0;
    int count = bytes.limit();
    for (int at = 0; at < count; ) {
      int next = Math.min(count, (at / BLOCK + 1) * BLOCK);
      if (at < skip) {
        next = Math.min(next, skip);
      } else if (at < skip + sent) {
        next = Math.min(next, skip + Math.min(sent, ((at - skip) / BLOCK + 1) * BLOCK));
      }
      int crc = Crc32c.of(bytes.duplicate().limit(next).position(at));
      blockCrc = at % BLOCK == 0 ? crc : Crc32c.combine(blockCrc, crc, next - at);
      if (at >= skip && at < skip + sent) {
        int piece = (at - skip) / BLOCK;
        boolean first = (at - skip) % BLOCK == 0;
        pieces[piece] = first ? crc : Crc32c.combine(pieces[piece], crc, next - at);
      }
      if (next % BLOCK == 0 || next == count) {
        if (blockCrc != view.crcs()[block]) {
          throw new CorruptBlockException(
              data + ": block " + (start / BLOCK + block) + " does not match");
        }
        block++;
      }
      at = next;
    }
    ByteBuffer payload = bytes.slice(skip, sent);
    return new ReadPart(offset, Checksums.owning(pieces), payload);
  }

  /** The file's bytes with the overlays over them; where there is nothing, zeros. */
  private void compose(long start, ByteBuffer into, List<Overlay> over) throws IOException {
    int base = into.position();
    int count = into.remaining();
    ByteBuffer file = into.slice();
    while (file.hasRemaining() && data.read(file, start + file.position()) >= 0) {
      // a read may be short; the end of the file is the end
    }
    zero(into, base + file.position(), base + count);
    for (Overlay overlay : over) {
      if (overlay.isCut()) {
        long from = Math.max(start, overlay.offset());
        if (from < start + count) {
          zero(into, base + (int) (from - start), base + count);
        }
        continue;
      }
      long from = Math.max(start, overlay.offset());
      long to = Math.min(start + count, overlay.offset() + overlay.length());
      if (from < to) {
        Journal.readFully(
            overlay.journal(),
            overlay.position() + (from - overlay.offset()),
            into.slice(base + (int) (from - start), (int) (to - from)));
      }
    }
  }

  private static void zero(ByteBuffer bytes, int from, int to) {
    for (int i = from; i < to; i += ZEROS.length) {
      bytes.put(i, ZEROS, 0, Math.min(ZEROS.length, to - i));
    }
  }
}
