package io.leasefs.cluster.simulation;

import io.leasefs.common.api.ChunkApi.NamedAnswer;
import io.leasefs.common.api.Frame;
import io.leasefs.common.api.FrameAnswer;
import io.leasefs.common.api.MutationKind;
import io.leasefs.common.checksum.Checksums;
import io.leasefs.common.model.ChunkHandle;
import io.leasefs.common.model.ChunkLayout;
import io.leasefs.common.model.FilePath;
import io.leasefs.common.model.LeaseGrant;
import io.leasefs.common.model.SessionId;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import org.jspecify.annotations.Nullable;

/**
 * A file that one process after another writes to with mutations of every kind ({@link RawWriter}),
 * and its judge.
 *
 * <p>All bytes of a payload are drawn for that operation alone, so the bytes of the file tell which
 * operations wrote them. The order of operations is known from their answers: chunk by chunk, and
 * in a chunk by serial. Any byte that anybody reads must be of the last operation in that order
 * that covers it, counting those that were answered before the read began; or of one that comes
 * behind that, or that has no answer yet. What was answered not to be applied is never seen, nor
 * applied later.
 */
final class RawFile {
  /** Fewer bytes than these may be those of another operation by chance. */
  private static final int TELLING = 8;

  private static final int SERIAL_BITS = 40;

  /** So many of the newest are asked for once more at rest. */
  private static final int AUDITED = 6;

  /** Comes before all others, and writes nothing. */
  private static final Op NOTHING =
      new Op(
          MutationKind.SEAL,
          new ChunkHandle(0),
          0,
          0,
          new SessionId(0),
          0,
          0,
          new byte[0],
          false,
          0);

  /** What became of an operation, as far as anybody was told. */
  enum Fate {
    UNKNOWN,
    APPLIED,
    ABSENT
  }

  /** One mutation, of whichever kind, by its name: session and sequence. */
  static final class Op {
    private final MutationKind kind;
    private final ChunkHandle chunk;
    private final int chunkIndex;

    /** First byte of its chunk in the file. */
    private final long chunkStart;

    private final SessionId session;
    private final long sequence;
    private final long offset;
    private final byte[] bytes;
    private final Checksums checksums;
    private final boolean seals;

    /** What its frames named as the one before, 0 included. */
    private final Set<Long> afters = new TreeSet<>();

    /** The floor of its newest frame. */
    private long floorSent;

    private Fate fate = Fate.UNKNOWN;

    /** Its place in the order must be above this one. */
    private long above;

    /** Its place in the order, once it is told. */
    private long place;

    private long version;

    /** Where its first byte is in the file; -1: not known. */
    private long at;

    /** The highest floor that its session had sent when it was answered. */
    private long floorAtAnswer;

    /** A reader has seen bytes of it. */
    private boolean seen;

    private Op(
        MutationKind kind,
        ChunkHandle chunk,
        int chunkIndex,
        long chunkStart,
        SessionId session,
        long sequence,
        long offset,
        byte[] bytes,
        boolean seals,
        long above) {
      this.kind = kind;
      this.chunk = chunk;
      this.chunkIndex = chunkIndex;
      this.chunkStart = chunkStart;
      this.session = session;
      this.sequence = sequence;
      this.offset = offset;
      this.bytes = bytes;
      this.checksums = Checksums.of(ByteBuffer.wrap(bytes), Frame.PIECE);
      this.seals = seals;
      this.above = above;
      this.at = kind == MutationKind.APPEND ? -1 : chunkStart + offset;
    }

    MutationKind kind() {
      return kind;
    }

    ChunkHandle chunk() {
      return chunk;
    }

    SessionId session() {
      return session;
    }

    long sequence() {
      return sequence;
    }

    /** Of WRITE and TRUNCATE: bytes from the chunk's start; else 0. */
    long offset() {
      return offset;
    }

    int length() {
      return bytes.length;
    }

    boolean isKnown() {
      return fate != Fate.UNKNOWN;
    }

    boolean isApplied() {
      return fate == Fate.APPLIED;
    }

    long floorSent() {
      return floorSent;
    }

    /** What a frame of it named last, at least, as the one before. */
    long anyAfter() {
      return afters.isEmpty() ? 0 : afters.iterator().next();
    }

    /** Its frame. */
    Frame frame(RawFile file, ChunkLayout in, long floor, long after, Optional<LeaseGrant> birth) {
      afters.add(after);
      sends(file, floor);
      return new Frame(
          in.spec().file(),
          chunk,
          in.configuration().version(),
          0,
          session,
          sequence,
          floor,
          after,
          kind,
          offset,
          seals,
          checksums,
          ByteBuffer.wrap(bytes),
          birth);
    }

    private void sends(RawFile file, long floor) {
      floorSent = Math.max(floorSent, floor);
      file.floors.merge(session.value(), floor, Math::max);
    }

    /**
     * An ABORT of it: the way to ask for a definite answer.
     *
     * @param name the sequence of the ABORT
     */
    Frame abort(RawFile file, ChunkLayout in, long name, long floor, Optional<LeaseGrant> birth) {
      sends(file, floor);
      return abort(in, name, floor, birth);
    }

    private Frame abort(ChunkLayout in, long name, long floor, Optional<LeaseGrant> birth) {
      return new Frame(
          in.spec().file(),
          chunk,
          in.configuration().version(),
          0,
          session,
          name,
          floor,
          0,
          MutationKind.ABORT,
          sequence,
          false,
          Checksums.NONE,
          ByteBuffer.allocate(0),
          birth);
    }

    /** One for a sealed chunk, which it does not change. */
    Frame abort(ChunkLayout in) {
      return abort(in, sequence, floorSent == 0 ? sequence : floorSent, Optional.empty());
    }

    boolean isNamed(NamedAnswer named) {
      return named.chunk().equals(chunk)
          && named.session() == session.value()
          && named.sequence() == sequence;
    }

    private boolean writes() {
      return kind == MutationKind.WRITE || kind == MutationKind.APPEND;
    }

    private boolean covers(long position) {
      return writes() && at >= 0 && position >= at && position < at + bytes.length;
    }

    /** How many of the bytes that were read at a position can be of this one. */
    private int matches(byte[] read, long from, long position, long end) {
      if (!covers(position)) {
        return 0;
      }
      int own = (int) (position - at);
      int count = (int) (Math.min(end, at + bytes.length) - position);
      int there = (int) (position - from);
      int differ = Arrays.mismatch(bytes, own, own + count, read, there, there + count);
      return differ < 0 ? count : differ;
    }

    @Override
    public String toString() {
      return kind
          + " "
          + session
          + "/"
          + sequence
          + (writes() ? " of " + bytes.length + " bytes" : "")
          + (kind == MutationKind.APPEND ? "" : " at " + offset)
          + " of chunk "
          + chunk
          + (fate == Fate.APPLIED
              ? ", applied at " + (at - chunkStart) + " with serial " + serial()
              : ", " + fate);
    }

    private long serial() {
      return place & ((1L << SERIAL_BITS) - 1);
    }
  }

  /** What had been answered when a read began. */
  final class Look {
    private final TreeMap<Long, Op> tops;
    private final int answeredBefore;
    private final String reader;

    private Look(String reader) {
      this.reader = reader;
      this.tops = new TreeMap<>(RawFile.this.tops);
      this.answeredBefore = applied.size();
    }
  }

  private final EventLoop loop;
  private final FilePath path;
  private final List<Op> ops = new ArrayList<>();

  /** Those without an answer. */
  private final Set<Op> unknown = new LinkedHashSet<>();

  /** Those that are applied, in the order in which that was told. */
  private final List<Op> applied = new ArrayList<>();

  /** The same by their places. */
  private final TreeMap<Long, Op> order = new TreeMap<>();

  /**
   * From each position to the next: which of the operations that were told to be applied is the
   * last that covers it. Where none does, one of no effect.
   */
  private final TreeMap<Long, Op> tops = new TreeMap<>();

  /** Per session the highest floor that it has sent. */
  private final Map<Long, Long> floors = new LinkedHashMap<>();

  private long reach;
  private boolean made;

  RawFile(EventLoop loop, FilePath path) {
    this.loop = loop;
    this.path = path;
    tops.put(0L, NOTHING);
  }

  FilePath path() {
    return path;
  }

  /** It has been made, somebody was told. */
  boolean isMade() {
    return made;
  }

  void isThere() {
    made = true;
  }

  /** No byte is known at or above this position. */
  long reach() {
    return reach;
  }

  /** How many operations are known to be applied. */
  int acknowledged() {
    return applied.size();
  }

  /** Those of which somebody may still want to know, at rest: also the newest that are known. */
  List<Op> toAudit() {
    List<Op> audited = new ArrayList<>(unknown);
    for (Op op : ops.subList(Math.max(0, ops.size() - AUDITED), ops.size())) {
      if (op.isKnown()) {
        audited.add(op);
      }
    }
    return audited;
  }

  /** Those that nobody has got an answer to. */
  List<Op> unknown() {
    return List.copyOf(unknown);
  }

  // ---- what is asked, and told -------------------------------------------------------------

  /** An operation that is about to be sent for the first time. */
  Op submit(
      MutationKind kind,
      ChunkLayout chunk,
      SessionId session,
      long sequence,
      long offset,
      int length,
      boolean seals) {
    // What begins with neighbouring seeds is the same but for a shift.
    long seed = new Chance(path.hashCode() * 1_000_003L + ops.size()).nextLong();
    Chance content = new Chance(seed);
    ByteBuffer bytes = ByteBuffer.allocate(length);
    while (bytes.remaining() >= Long.BYTES) {
      bytes.putLong(content.nextLong());
    }
    while (bytes.hasRemaining()) {
      bytes.put((byte) content.nextLong());
    }
    long above = order.isEmpty() ? 0 : order.lastKey();
    Op op =
        new Op(
            kind,
            chunk.handle(),
            chunk.index(),
            chunk.fileOffset(),
            session,
            sequence,
            offset,
            bytes.array(),
            seals,
            above);
    ops.add(op);
    unknown.add(op);
    return op;
  }

  /** A server has told that it is applied. */
  void applied(Op op, FrameAnswer.Applied answer) {
    long at = op.chunkStart + answer.offset();
    long place = ((long) op.chunkIndex << SERIAL_BITS) + answer.serial();
    switch (op.fate) {
      case ABSENT ->
          loop.violated("I9", op + ": was told not to be applied, and then to be: " + answer);
      case APPLIED -> {
        if (place != op.place || at != op.at || answer.version() != op.version) {
          loop.violated("I9", op + ": told once more, otherwise: " + answer);
        }
      }
      case UNKNOWN -> {
        if (op.at >= 0 && op.kind != MutationKind.SEAL && op.at != at) {
          loop.violated("I5", op + " is told to be at another place: " + answer);
        }
        op.fate = Fate.APPLIED;
        op.at = at;
        op.place = place;
        op.version = answer.version();
        op.floorAtAnswer = floors.getOrDefault(op.session.value(), 0L);
        unknown.remove(op);
        applied.add(op);
        inOrder(op);
        cover(op);
        loop.mix(place);
        loop.remember(() -> "RAW " + op);
      }
    }
  }

  private void inOrder(Op op) {
    if (op.place <= op.above) {
      loop.violated("I8", op + " lies before what was told, or read, before it began");
    }
    Op other = order.put(op.place, op);
    Map.Entry<Long, Op> before = order.lowerEntry(op.place);
    Map.Entry<Long, Op> after = order.higherEntry(op.place);
    if (other != null) {
      loop.violated("I4", op + " has the place of " + other);
    } else if ((before != null && isLater(before.getValue(), op))
        || (after != null && isLater(op, after.getValue()))) {
      loop.violated("I4", op + " of version " + op.version + " lies between other versions");
    }
  }

  private static boolean isLater(Op first, Op second) {
    return first.chunkIndex == second.chunkIndex && first.version > second.version;
  }

  /** A server has told that it is not applied, and never will be. */
  void absent(Op op) {
    if (op.fate == Fate.APPLIED) {
      loop.violated("I9", op + ": told once more, and not to be applied");
    } else if (op.seen) {
      loop.violated("I9", op + " was read, and is told not to be applied");
    } else if (op.fate == Fate.UNKNOWN) {
      op.fate = Fate.ABSENT;
      op.floorAtAnswer = floors.getOrDefault(op.session.value(), 0L);
      unknown.remove(op);
      loop.remember(() -> "RAW " + op);
    }
  }

  /** It is the newest of all that is told now, wherever it covers anything. */
  private void cover(Op op) {
    boolean cuts = op.kind == MutationKind.TRUNCATE;
    if (!cuts && !(op.writes() && op.bytes.length > 0)) {
      return;
    }
    long end = cuts ? Long.MAX_VALUE : op.at + op.bytes.length;
    if (!cuts) {
      reach = Math.max(reach, end);
    }
    split(op.at);
    split(end);
    for (Map.Entry<Long, Op> each : tops.subMap(op.at, true, end, false).entrySet()) {
      if (each.getValue().place < op.place) {
        each.setValue(op);
      }
    }
  }

  private void split(long position) {
    tops.put(position, tops.floorEntry(position).getValue());
  }

  // ---- what is read ------------------------------------------------------------------------

  /** A read begins. */
  Look look(String reader) {
    return new Look(reader);
  }

  /** A read that began with this look has found these bytes. */
  void saw(Look look, long from, ByteBuffer content) {
    byte[] read = new byte[content.remaining()];
    content.duplicate().get(read);
    long limit = from + read.length;
    List<Op> recent = new ArrayList<>(unknown);
    recent.addAll(applied.subList(look.answeredBefore, applied.size()));
    long position = from;
    while (position < limit) {
      Op top = look.tops.floorEntry(position).getValue();
      Long next = look.tops.higherKey(position);
      long end = next == null ? limit : Math.min(limit, next);
      int count = explained(top, recent, read, from, position, end);
      if (count == 0) {
        if (end - position >= TELLING || unknown.stream().noneMatch(op -> op.at < 0)) {
          unexplained(look, top, read, from, position);
          return;
        }
        count = (int) (end - position); // a few bytes of an append whose place nobody knows
      }
      position += count;
    }
  }

  /** How many bytes from the position on are those of one operation that may be seen. */
  private int explained(Op top, List<Op> recent, byte[] read, long from, long position, long end) {
    int most = top.matches(read, from, position, end);
    if (position + most == end) {
      return most;
    }
    Op by = null;
    for (Op op : recent) {
      boolean mayBeSeen = op.fate == Fate.UNKNOWN || op.place > top.place;
      int count = mayBeSeen ? op.matches(read, from, position, end) : 0;
      if (count > most) {
        most = count;
        by = op;
      }
    }
    if (most < TELLING && end - position >= TELLING) {
      // It may be an append of which nobody knows yet where it is.
      for (Op op : recent) {
        if (op.at < 0 && op.fate == Fate.UNKNOWN && locate(op, read, from, position)) {
          most = op.matches(read, from, position, end);
          by = op;
          break;
        }
      }
    }
    if (most == 0) {
      // Or the last bytes of one, too few to tell where it is.
      for (Op op : recent) {
        if (op.at < 0 && op.fate == Fate.UNKNOWN) {
          most = Math.max(most, lastBytes(op, read, (int) (position - from)));
        }
      }
      return most;
    }
    if (by != null && most >= TELLING) {
      by.seen = true;
      if (by.fate == Fate.UNKNOWN) {
        by.above = Math.max(by.above, top.place);
      }
    }
    return most;
  }

  /** Whether what was read at a position is a part of this append; then its place is known. */
  private static boolean locate(Op op, byte[] read, long from, long position) {
    int there = (int) (position - from);
    for (int own = 0; own + TELLING <= op.bytes.length; own++) {
      if (Arrays.equals(op.bytes, own, own + TELLING, read, there, there + TELLING)) {
        op.at = position - own;
        return true;
      }
    }
    return false;
  }

  /** How many bytes that were read are the last of this one, where they are few. */
  private static int lastBytes(Op op, byte[] read, int there) {
    int length = op.bytes.length;
    for (int own = Math.max(0, length - TELLING + 1); own < length; own++) {
      int count = length - own;
      if (there + count <= read.length
          && Arrays.equals(op.bytes, own, length, read, there, there + count)) {
        return count;
      }
    }
    return 0;
  }

  private void unexplained(Look look, Op top, byte[] read, long from, long position) {
    Op by = null;
    int most = 0;
    for (Op op : ops) {
      int count = op.matches(read, from, position, from + read.length);
      if (count > most) {
        most = count;
        by = op;
      }
    }
    String what = path + " at " + position + ", read by " + look.reader + ": ";
    if (by == null) {
      loop.violated("I5", what + "no operation has written this; the last there is " + top);
    } else if (by.fate == Fate.ABSENT) {
      loop.violated("I9", what + most + " bytes of " + by);
    } else {
      loop.violated("I8", what + most + " bytes of " + by + "; the last there is " + top);
    }
  }

  // ---- at rest -----------------------------------------------------------------------------

  /** Checks the whole file, once nobody writes to it any more. */
  void check(ByteBuffer content) {
    if (!unknown.isEmpty()) {
      loop.note(path + ": " + unknown.size() + " operations of unknown fate");
      saw(look("the last reader"), 0, content);
      return;
    }
    byte[] is = new byte[content.remaining()];
    content.duplicate().get(is);
    byte[] must = new byte[is.length];
    long length = 0;
    for (Op op : order.values()) {
      if (op.at > length || (op.kind == MutationKind.APPEND && op.at != length)) {
        loop.violated("I9", op + " came when the file had " + length + " bytes");
        return;
      }
      switch (op.kind) {
        case APPEND, WRITE -> {
          int count = (int) Math.max(0, Math.min(op.bytes.length, must.length - op.at));
          System.arraycopy(op.bytes, 0, must, (int) Math.min(op.at, must.length), count);
          length = Math.max(length, op.at + op.bytes.length);
        }
        case TRUNCATE -> length = op.at;
        case SEAL, ABORT, DEAD, FORGET, VERSION_START -> {}
      }
    }
    if (length != is.length) {
      loop.violated("I6", path + " has " + is.length + " bytes, by its order " + length);
      return;
    }
    int differs = Arrays.mismatch(is, must);
    if (differs >= 0) {
      unexplained(
          look("the last reader"), tops.floorEntry((long) differs).getValue(), is, 0, differs);
      return;
    }
    ops.forEach(this::checkAfter);
  }

  /** I21: what was sent to come behind another one does. */
  private void checkAfter(Op op) {
    if (op.fate != Fate.APPLIED || op.afters.contains(0L)) {
      return;
    }
    for (long after : op.afters) {
      Op before = named(op.session, after);
      boolean came = before != null && before.fate == Fate.APPLIED && before.place < op.place;
      if (came || op.floorAtAnswer > after) {
        return;
      }
    }
    loop.violated("I21", op + " was to follow one of " + op.afters + ", and does not");
  }

  private @Nullable Op named(SessionId session, long sequence) {
    for (Op op : ops) {
      if (op.sequence == sequence && op.session.equals(session)) {
        return op;
      }
    }
    return null;
  }

  @Override
  public String toString() {
    return path + " applied=" + applied.size() + " of " + ops.size();
  }
}
