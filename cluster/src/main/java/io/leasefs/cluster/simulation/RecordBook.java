package io.leasefs.cluster.simulation;

import io.leasefs.cluster.history.FileHistory;
import io.leasefs.cluster.history.OrderCertificate;
import io.leasefs.common.error.ErrorCode;
import io.leasefs.common.model.AppendResult;
import io.leasefs.common.model.ChunkHandle;
import io.leasefs.common.model.FilePath;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import org.jspecify.annotations.Nullable;

/**
 * Every record that clients have appended, and what became of it. A file is nothing but its
 * records, one after another: reading it says which there are, where, and how often.
 */
final class RecordBook {
  /** Magic, writer, number in the writer's order, length. */
  static final int HEADER_BYTES = 16;

  private static final int MAGIC = 0x4c664673;

  /** One record. */
  static final class Entry {
    private final FilePath file;
    private final int writer;
    private final int number;
    private final ByteBuffer bytes;
    private final long submitted;

    /** The fencing token with which it is written; 0 = none. */
    private final long token;

    /** The highest token with which the file had been opened before. */
    private final long fence;

    /** Its number in the file's history. */
    private final int append;

    private long acknowledged = Long.MAX_VALUE;
    private long offset = -1;
    private boolean absent;

    /** Where a reader has seen it: from then on it is there. */
    private long seen = -1;

    /** The number of the newest check that has found it. */
    private long foundIn;

    private Entry(
        FilePath file,
        int writer,
        int number,
        ByteBuffer bytes,
        long submitted,
        long token,
        long fence,
        FileHistory history) {
      this.file = file;
      this.writer = writer;
      this.number = number;
      this.bytes = bytes;
      this.submitted = submitted;
      this.token = token;
      this.fence = fence;
      this.append = history.append(this, length());
    }

    ByteBuffer bytes() {
      return bytes.duplicate();
    }

    int length() {
      return bytes.remaining();
    }

    boolean isAcknowledged() {
      return offset >= 0;
    }

    @Override
    public String toString() {
      return file + " writer " + writer + " record " + number + " of " + length() + " bytes";
    }
  }

  private final EventLoop loop;

  /** By chunk: what shows the order of its acknowledged records. */
  private final Map<ChunkHandle, OrderCertificate> orders = new HashMap<>();

  private final Map<FilePath, List<Entry>> records = new TreeMap<>();
  private final Map<FilePath, FileHistory> histories = new TreeMap<>();

  /** By writer and number. */
  private final Map<Long, Entry> byName = new HashMap<>();

  /** Per file the highest token that somebody has drawn. */
  private final Map<FilePath, Long> tokens = new TreeMap<>();

  /** Per file the highest token with which an opening was told to be done. */
  private final Map<FilePath, Long> fences = new TreeMap<>();

  /** Somebody has asked for their deletion, and has not got them back. */
  private final Set<FilePath> gone = new TreeSet<>();

  private long checks;
  private long acknowledged;
  private long unknown;
  private long refused;

  RecordBook(EventLoop loop) {
    this.loop = loop;
  }

  long acknowledged() {
    return acknowledged;
  }

  long unknown() {
    return unknown;
  }

  long refused() {
    return refused;
  }

  /** All that are there for certain. */
  List<FilePath> files() {
    return records.keySet().stream().filter(file -> !gone.contains(file)).toList();
  }

  /** Its deletion is asked for: nothing of it counts as lost. */
  void mayBeGone(FilePath file) {
    gone.add(file);
  }

  /** It has come back from the trash, with all that it ever had. */
  void isBack(FilePath file) {
    gone.remove(file);
  }

  /** A token above all that were drawn for this file. */
  long drawToken(FilePath file) {
    return tokens.merge(file, 1L, Long::sum);
  }

  /** The file is open with this token: whatever is submitted with a smaller one is refused. */
  void opened(FilePath file, long token) {
    fences.merge(file, token, Math::max);
  }

  /** A record that is going to be appended, without a token. */
  Entry submit(FilePath file, int writer, int number, int length) {
    return submit(file, writer, number, length, 0);
  }

  /**
   * A record that is going to be appended.
   *
   * @param token the fencing token of its writer's opening; 0 = none
   */
  Entry submit(FilePath file, int writer, int number, int length, long token) {
    ByteBuffer bytes = ByteBuffer.allocate(length);
    bytes.putInt(MAGIC).putInt(writer).putInt(number).putInt(length);
    Chance content = new Chance(writer * 1_000_003L + number);
    while (bytes.remaining() >= Long.BYTES) {
      bytes.putLong(content.nextLong());
    }
    while (bytes.hasRemaining()) {
      bytes.put((byte) content.nextLong());
    }
    bytes.flip();
    Entry record =
        new Entry(
            file,
            writer,
            number,
            bytes,
            loop.now(),
            token,
            fences.getOrDefault(file, 0L),
            history(file));
    records.computeIfAbsent(file, f -> new ArrayList<>()).add(record);
    byName.put(name(writer, number), record);
    return record;
  }

  void acknowledged(Entry record, AppendResult result) {
    acknowledged++;
    checkFence(record, "was acknowledged");
    record.acknowledged = loop.now();
    record.offset = result.fileOffset();
    history(record.file).placed(record.append, record.offset);
    orders
        .computeIfAbsent(result.chunk(), chunk -> new OrderCertificate())
        .acknowledged(
            record,
            result.version(),
            result.serial(),
            result.fileOffset(),
            record.length(),
            record.submitted,
            loop.now())
        .ifPresent(why -> loop.violated("I8", "chunk " + result.chunk() + ": " + why));
    loop.mix(result.fileOffset());
    loop.mix(result.serial());
    loop.remember(
        () ->
            "ACKNOWLEDGED "
                + record
                + " at "
                + result.fileOffset()
                + " chunk "
                + result.chunk()
                + " version "
                + result.version()
                + " serial "
                + result.serial());
  }

  /** I16: once an opening is told to be done, nothing is taken any more with a smaller token. */
  private void checkFence(Entry record, String how) {
    if (record.token < record.fence) {
      loop.violated(
          "I16",
          record
              + " "
              + how
              + ", with token "
              + record.token
              + ", and was submitted when the file had been opened with "
              + record.fence);
    }
  }

  void failed(Entry record, ErrorCode code) {
    // TIMED_OUT is said only of a record that no server can have.
    record.absent = code == ErrorCode.TIMED_OUT;
    if (record.absent) {
      history(record.file).refused(record.append);
      refused++;
    } else {
      unknown++;
    }
    loop.note("FAILED " + code + " " + record);
  }

  // ---- what a file must be -----------------------------------------------------------------

  private FileHistory history(FilePath file) {
    return histories.computeIfAbsent(file, f -> new FileHistory(loop::sinceTheBeginning));
  }

  /** What was done with each file, and told of it. */
  Collection<FileHistory> histories() {
    return histories.values();
  }

  /**
   * A read of a whole file begins; answers its number.
   *
   * @param mayBeOld nothing is promised but a state that once was
   */
  int readBegins(FilePath file, Object reader, boolean mayBeOld) {
    return history(file).read(reader, mayBeOld);
  }

  /** The acknowledged records of a file that a read begun now must see: the file reaches so far. */
  long mustReach(FilePath file) {
    long end = 0;
    if (gone.contains(file)) {
      return end;
    }
    for (Entry record : records.getOrDefault(file, List.of())) {
      if (record.isAcknowledged()) {
        end = Math.max(end, record.offset + record.length());
      }
    }
    return end;
  }

  /**
   * Checks a file's bytes, from its start.
   *
   * @param read the number of the read that has seen them
   * @param whole true where nothing is being written any more
   */
  void check(FilePath file, int read, ByteBuffer content, boolean whole) {
    List<Entry> found = new ArrayList<>();
    checks++;
    int at = 0;
    while (at < content.limit()) {
      Entry record = recordAt(file, content, at);
      if (record == null) {
        loop.violated("I5", file + " has at " + at + " of " + content.limit() + " no record");
        return;
      }
      if (record.foundIn == checks) {
        loop.violated("I9", record + " is there twice: at " + record.seen + " and at " + at);
        return;
      }
      record.foundIn = checks;
      if (record.seen >= 0 && record.seen != at) {
        loop.violated("I8", record + " was read at " + record.seen + " and then at " + at);
        return;
      }
      checkFence(record, "is there");
      record.seen = at;
      found.add(record);
      at += record.length();
    }
    for (Entry record : records.getOrDefault(file, List.of())) {
      boolean isThere = record.foundIn == checks;
      if (record.isAcknowledged()
          && (whole || record.offset < content.limit())
          && !(isThere && record.seen == record.offset)) {
        loop.violated(
            "I6",
            record
                + " acknowledged at "
                + record.offset
                + " is "
                + (isThere ? "at " + record.seen : "lost")
                + ", file of "
                + content.limit()
                + " bytes");
        return;
      }
      if (record.seen >= 0 && !isThere && (whole || record.seen < content.limit())) {
        loop.violated("I8", record + " was read at " + record.seen + " and is gone");
        return;
      }
      if (record.absent && isThere) {
        loop.violated("I9", record + " was said not to be there and is, at " + record.seen);
        return;
      }
    }
    checkOrder(found);
    history(file).saw(read, found.stream().map(record -> record.append).toList());
  }

  private static long name(int writer, int number) {
    return ((long) writer << Integer.SIZE) + number;
  }

  private @Nullable Entry recordAt(FilePath file, ByteBuffer content, int at) {
    if (content.limit() - at < HEADER_BYTES || content.getInt(at) != MAGIC) {
      return null;
    }
    Entry record = byName.get(name(content.getInt(at + 4), content.getInt(at + 8)));
    if (record == null || !record.file.equals(file) || content.limit() - at < record.length()) {
      return null;
    }
    ByteBuffer there = content.duplicate().position(at).limit(at + record.length());
    return there.equals(record.bytes()) ? record : null;
  }

  /**
   * Each writer's records in its order, and none before what was acknowledged before it began; and
   * no token behind a larger one.
   */
  private void checkOrder(List<Entry> inPlace) {
    Map<Integer, Entry> newest = new TreeMap<>();
    long token = 0;
    for (Entry record : inPlace) {
      if (record.token < token) {
        loop.violated(
            "I16", record + " with token " + record.token + " lies behind one with " + token);
        return;
      }
      token = record.token;
      Entry before = newest.put(record.writer, record);
      if (before != null && before.number > record.number) {
        loop.violated("I21", record + " comes after " + before);
        return;
      }
    }
    Entry earliest = null;
    for (int i = inPlace.size() - 1; i >= 0; i--) {
      Entry record = inPlace.get(i);
      if (earliest != null && earliest.acknowledged < record.submitted) {
        loop.violated(
            "I8", earliest + " was acknowledged before " + record + " began, and lies behind it");
        return;
      }
      if (earliest == null || record.acknowledged < earliest.acknowledged) {
        earliest = record;
      }
    }
  }
}
