package io.leasefs.master.log.ratis;

import io.leasefs.common.error.ErrorCode;
import io.leasefs.common.error.LeaseFsException;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.OptionalInt;
import java.util.stream.Stream;
import java.util.zip.CRC32C;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Cuts off an append that a power cut left in pieces at the end of the log. It was never fsynced,
 * so it was never acknowledged. Everything else that does not read is damage, and refused.
 *
 * <p>Ratis has settings for all or nothing: with one, any damage ends the log silently there, with
 * the other a torn append stops the master for good. And where a damaged length points beyond the
 * end of the file, it takes valid entries for the rest of a torn one. So its open segment is looked
 * at before it is. Its form, of Ratis 3:
 *
 * <pre>
 * segment = "RaftLog1" frame* zero*      ; made larger with zeros ahead of what is written
 * frame   = length entry crc             ; length of the entry, 7 bits a byte, lowest first
 *                                        ; crc: u32, CRC32C of length and entry
 * entry   = 08 term 10 index ..          ; protobuf; the first one's index, 0, is left out
 * </pre>
 *
 * A frame that does not read is torn where none that reads comes after it, and a part of it was
 * never written: the file ends with what there is of it, or it is zero in all of a sector, the
 * least that a disk writes. A frame that is there in every sector, and wrong, is damaged: it may
 * have been acknowledged.
 */
public final class TornTail {
  private static final Logger logger = LoggerFactory.getLogger(TornTail.class);
  private static final byte[] HEADER = "RaftLog1".getBytes(StandardCharsets.US_ASCII);
  private static final int SECTOR = 512;
  private static final int CRC_BYTES = 4;

  private final byte[] bytes;

  private TornTail(byte[] bytes) {
    this.bytes = bytes;
  }

  /**
   * Looks at the newest segment below the log's folder, and cuts it where its end is torn; nobody
   * else may use the folder.
   *
   * @throws LeaseFsException CORRUPT for damage; nothing is changed then
   */
  public static void cut(Path folder) throws IOException {
    List<Path> open;
    try (Stream<Path> files = Files.walk(folder)) {
      open =
          files
              .filter(file -> String.valueOf(file.getFileName()).matches("log_inprogress_\\d+"))
              .sorted(Comparator.comparing(Path::toString))
              .toList();
    }
    for (Path segment : open) {
      cutSegment(segment);
    }
  }

  private static void cutSegment(Path segment) throws IOException {
    byte[] bytes = Files.readAllBytes(segment);
    OptionalInt end;
    try {
      end = tornAt(bytes);
    } catch (LeaseFsException e) {
      throw new LeaseFsException(
          ErrorCode.CORRUPT,
          "operation log in " + segment + " cannot be read: " + e.getMessage(),
          "nothing was changed; restore this folder from a backup",
          e);
    }
    if (end.isEmpty()) {
      return;
    }
    try (FileChannel file = FileChannel.open(segment, StandardOpenOption.WRITE)) {
      file.truncate(end.getAsInt());
      file.force(true);
    }
    logger.warn(
        "an append that was never acknowledged is cut off the log's end file={} at={} bytes={}",
        segment,
        end.getAsInt(),
        bytes.length - end.getAsInt());
  }

  /**
   * Where the torn frame begins; empty where the segment ends as it should, or before its header
   * does, which Ratis itself makes good.
   *
   * @throws LeaseFsException CORRUPT for damage
   */
  static OptionalInt tornAt(byte[] segment) {
    return new TornTail(segment).torn();
  }

  private OptionalInt torn() {
    if (bytes.length < HEADER.length
        || !Arrays.equals(bytes, 0, HEADER.length, HEADER, 0, HEADER.length)) {
      return OptionalInt.empty();
    }
    int at = HEADER.length;
    for (int next = frameEnd(at); next > 0; next = frameEnd(at)) {
      at = next;
    }
    if (isZero(at, bytes.length)) {
      return OptionalInt.empty();
    }
    for (int later = at + 1; later < bytes.length; later++) {
      if (mayBeFrame(later) && frameEnd(later) > 0) {
        throw damaged(at, "valid entries follow at byte " + later);
      }
    }
    if (!lacksAPart(at)) {
      throw damaged(at, "it is the last one, and all of it was written");
    }
    return OptionalInt.of(at);
  }

  private static LeaseFsException damaged(int at, String why) {
    return new LeaseFsException(
        ErrorCode.CORRUPT, "the entry at byte " + at + " is damaged: " + why);
  }

  /** Where the frame ends that begins here; 0 where none does. */
  private int frameEnd(int at) {
    int entry = numberEnd(at);
    if (entry == 0 || bytes[at] == 0) {
      return 0;
    }
    long end = entry + number(at, entry);
    if (end + CRC_BYTES > bytes.length) {
      return 0;
    }
    CRC32C crc = new CRC32C();
    crc.update(bytes, at, (int) end - at);
    return ByteBuffer.wrap(bytes).getInt((int) end) == (int) crc.getValue()
        ? (int) end + CRC_BYTES
        : 0;
  }

  /** Cheaper than a checksum at each byte of a file; of an entry that is not the log's first. */
  private boolean mayBeFrame(int at) {
    int entry = numberEnd(at);
    if (entry == 0 || entry >= bytes.length || bytes[entry] != 0x08) {
      return false;
    }
    int index = numberEnd(entry + 1);
    return index > 0 && index < bytes.length && bytes[index] == 0x10;
  }

  /** Where the number ends that begins here; 0 where none does. */
  private int numberEnd(int at) {
    for (int i = at; i < bytes.length && i < at + 10; i++) {
      if (bytes[i] >= 0) {
        return i + 1;
      }
    }
    return 0;
  }

  /** Of a length: more than four bytes of it are none, nor are some that do not end. */
  private long number(int at, int end) {
    long value = 0;
    for (int i = end - 1; i >= at; i--) {
      value = (value << 7) | (bytes[i] & 0x7f);
    }
    return end == 0 || end - at > 4 ? Integer.MAX_VALUE : value;
  }

  /** The frame does not read: whether a part of it is missing. */
  private boolean lacksAPart(int at) {
    int entry = numberEnd(at);
    long end = bytes[at] == 0 ? lastByte() + 1 : entry + number(at, entry) + CRC_BYTES;
    if (end > bytes.length) {
      return lastByte() == bytes.length - 1; // zeros after it: its length is what is wrong
    }
    if (!isZero((int) end, bytes.length)) {
      return false; // more was written, and it does not read either
    }
    for (int from = at; from < end; from = nextSector(from)) {
      if (isZero(from, (int) Math.min(end, nextSector(from)))) {
        return true;
      }
    }
    return false;
  }

  private static int nextSector(int at) {
    return (at / SECTOR + 1) * SECTOR;
  }

  private int lastByte() {
    int last = bytes.length - 1;
    while (last >= 0 && bytes[last] == 0) {
      last--;
    }
    return last;
  }

  private boolean isZero(int from, int to) {
    for (int i = from; i < to; i++) {
      if (bytes[i] != 0) {
        return false;
      }
    }
    return true;
  }
}
