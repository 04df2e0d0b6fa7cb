package io.leasefs.chunkserver.store;

import io.leasefs.chunkserver.replica.ReplicaImage.Snapshot;
import io.leasefs.chunkserver.store.JournalRecord.Applied;
import io.leasefs.chunkserver.store.JournalRecord.Checkpoint;
import io.leasefs.chunkserver.store.JournalRecord.Cut;
import io.leasefs.chunkserver.store.JournalRecord.Mutated;
import io.leasefs.chunkserver.store.JournalRecord.Place;
import io.leasefs.chunkserver.store.JournalRecord.Promised;
import io.leasefs.chunkserver.store.JournalRecord.Standing;
import io.leasefs.common.api.Mutation;
import io.leasefs.common.api.MutationKind;
import io.leasefs.common.checksum.Crc32c;
import io.leasefs.common.error.ErrorCode;
import io.leasefs.common.error.LeaseFsException;
import io.leasefs.common.model.ChunkHandle;
import io.leasefs.common.model.ChunkSpec;
import io.leasefs.common.model.DiskId;
import io.leasefs.common.model.Durability;
import io.leasefs.common.model.FileId;
import io.leasefs.common.model.Member;
import io.leasefs.common.model.ReplicaId;
import io.leasefs.common.model.ServerId;
import io.leasefs.common.model.SessionId;
import java.io.IOException;
import java.nio.BufferUnderflowException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;

/**
 * The journal's format, version 1; all numbers big-endian, all checksums CRC32C.
 *
 * <pre>
 * journal   = header watermark watermark record*
 * header    = "LFSJRNL" 0x0a  format:u16  handle:i64 file:i64 capacity:i64 durability:u8
 *             replica:i64 text(server) text(disk)  zeros  crc:u32      512 bytes
 * text      = length:u8 utf8
 * watermark = sequence:i64 journalBytes:i64 dataSerial:i64  zeros  crc:u32   512 bytes each
 * record    = length:u32 crc:u32 fields payload?
 *             length counts fields and payload; crc covers length and fields
 *             (the payload is covered by its fragments' checksums, which are fields)
 * fields    = 1 place:u8 version:i64 serial:i64 kind:u8 offset:i64 file:i64 session:i64
 *               sequence:i64 floor:i64 chunkLength:i64 detail:i64 committed:i64
 *               payloadBytes:u32 count:u16 fragment:u32*                          mutation
 *           | 2 version:i64                                                       promise
 *           | 3 serial:i64 length:i64                                             cut
 *           | 4 serial:i64 length:i64 count:u32 (block:u32 crc:u32)*              applied
 *           | 5 certainty:u8 learner:u8                                           standing
 *           | 6 count:u32 crc:u32* snapshot                                       checkpoint
 * </pre>
 *
 * <p>Place: 0 = the payload is in the data file, 1 = inside the journal, 2 = both (small forced
 * appends, so that one fsync is enough). The two watermarks are written in turn; the valid one with
 * the higher sequence counts: all of the journal below {@code journalBytes}, and all payload in
 * place up to {@code dataSerial}, was durable when it was written. What is broken below is damage;
 * the first broken record above ends the journal. The payload of WRITE over existing bytes is
 * inside; that of APPEND lies in the data file at its offset, and its fragments' checksums are
 * here. Example, a promise of version 7:
 *
 * <pre>
 * 00 00 00 09  08 8c 8b c5  02  00 00 00 00 00 00 00 07
 * </pre>
 *
 * Pure; any thread.
 */
final class JournalCodec {
  static final int FORMAT = 1;
  static final int SECTOR = 512;

  /** Where records begin: behind the header and the two watermarks. */
  static final int RECORDS_AT = 3 * SECTOR;

  /** Bytes of length and crc before a record's fields. */
  static final int PREFIX = 8;

  /** No record is longer; what says so is broken. */
  static final int MAX_RECORD = 1 << 28;

  private static final byte[] MAGIC = "LFSJRNL\n".getBytes(StandardCharsets.US_ASCII);
  private static final int MUTATED_BYTES = 1 + 1 + 8 + 8 + 1 + 8 * 8 + 4 + 2;

  private JournalCodec() {}

  /** What a watermark says. */
  record Watermark(long sequence, long journalBytes, long dataSerial) {
    static final Watermark NONE = new Watermark(0, 0, 0);
  }

  // ---------------------------------------------------------------- header and watermarks

  static ByteBuffer header(JournalHeader header) {
    ByteBuffer sector = ByteBuffer.allocate(SECTOR);
    ChunkSpec spec = header.spec();
    sector.put(MAGIC).putShort((short) FORMAT);
    sector.putLong(spec.handle().value());
    sector.putLong(spec.file().value());
    sector.putLong(spec.capacityBytes());
    sector.put(Codes.of(spec.durability()));
    sector.putLong(header.self().replica().value());
    putText(sector, header.self().server().name());
    putText(sector, header.self().disk().text());
    return sealed(sector);
  }

  /**
   * Reads the first sector.
   *
   * @param name of the file, for messages
   * @throws UnreadableJournalException where it is damaged
   * @throws LeaseFsException where it is of a newer format
   */
  static JournalHeader readHeader(ByteBuffer sector, String name) throws IOException {
    byte[] magic = new byte[MAGIC.length];
    if (sector.remaining() < SECTOR) {
      throw new UnreadableJournalException(name + ": the journal's header is cut off");
    }
    sector.get(magic);
    if (!java.util.Arrays.equals(magic, MAGIC)) {
      throw new UnreadableJournalException(name + ": not a chunk's journal");
    }
    // Before its format is believed: a rotten bit is no newer version, and stops no server.
    if (!isSealed(sector, 0)) {
      throw new UnreadableJournalException(name + ": the journal's header is damaged");
    }
    int format = Short.toUnsignedInt(sector.getShort());
    if (format > FORMAT) {
      throw new LeaseFsException(
          ErrorCode.INVALID_ARGUMENT,
          name + ": journal format " + format + " is newer than this server, which reads 1",
          "start the LeaseFS version that wrote it, or a newer one");
    }
    try {
      return readHeaderFields(sector);
    } catch (RuntimeException e) {
      throw new UnreadableJournalException(name + ": the journal's header is wrong: " + e);
    }
  }

  private static JournalHeader readHeaderFields(ByteBuffer sector) {
    ChunkHandle handle = new ChunkHandle(sector.getLong());
    FileId file = new FileId(sector.getLong());
    long capacity = sector.getLong();
    Durability durability = Codes.durability(sector.get());
    ReplicaId replica = new ReplicaId(sector.getLong());
    ServerId server = new ServerId(text(sector));
    DiskId disk = new DiskId(text(sector));
    return new JournalHeader(
        new ChunkSpec(handle, file, capacity, durability), new Member(server, disk, replica));
  }

  static ByteBuffer watermark(Watermark mark) {
    ByteBuffer sector = ByteBuffer.allocate(SECTOR);
    sector.putLong(mark.sequence()).putLong(mark.journalBytes()).putLong(mark.dataSerial());
    return sealed(sector);
  }

  /** The newer valid one of the two sectors; one of them may have been torn. */
  static Watermark readWatermarks(ByteBuffer sectors) throws IOException {
    Watermark newest = null;
    for (int at = 0; at + SECTOR <= sectors.limit(); at += SECTOR) {
      if (isSealed(sectors, at)) {
        Watermark mark =
            new Watermark(sectors.getLong(at), sectors.getLong(at + 8), sectors.getLong(at + 16));
        newest = newest == null || mark.sequence() > newest.sequence() ? mark : newest;
      }
    }
    if (newest == null && isZero(sectors)) {
      return Watermark.NONE; // a power cut before the first force took them
    }
    if (newest == null) {
      throw new IOException("both watermarks are damaged");
    }
    return newest;
  }

  private static boolean isZero(ByteBuffer bytes) {
    for (int at = 0; at < bytes.limit(); at++) {
      if (bytes.get(at) != 0) {
        return false;
      }
    }
    return true;
  }

  private static ByteBuffer sealed(ByteBuffer sector) {
    sector.position(0).limit(SECTOR - 4);
    int crc = Crc32c.of(sector);
    sector.limit(SECTOR);
    sector.putInt(SECTOR - 4, crc);
    return sector;
  }

  private static boolean isSealed(ByteBuffer sectors, int at) {
    ByteBuffer content = sectors.duplicate().limit(at + SECTOR - 4).position(at);
    return Crc32c.of(content) == sectors.getInt(at + SECTOR - 4);
  }

  private static void putText(ByteBuffer to, String text) {
    byte[] bytes = text.getBytes(StandardCharsets.UTF_8);
    to.put((byte) bytes.length).put(bytes);
  }

  private static String text(ByteBuffer from) {
    byte[] bytes = new byte[Byte.toUnsignedInt(from.get())];
    from.get(bytes);
    return new String(bytes, StandardCharsets.UTF_8);
  }

  // ---------------------------------------------------------------- records

  /** Bytes of the record without its payload. */
  static int size(JournalRecord entry) {
    return PREFIX
        + switch (entry) {
          case Mutated mutated -> MUTATED_BYTES + 4 * mutated.fragments().length;
          case Promised _ -> 1 + 8;
          case Cut _ -> 1 + 16;
          case Applied applied -> 1 + 16 + 4 + 8 * applied.blocks().length;
          case Standing _ -> 1 + 2;
          case Checkpoint checkpoint ->
              1 + 4 + 4 * checkpoint.blockCrcs().length + SnapshotCodec.size(checkpoint.snapshot());
        };
  }

  /** Bytes of payload inside the journal. */
  static int payloadInside(JournalRecord entry) {
    return entry instanceof Mutated mutated && mutated.inside()
        ? mutated.mutation().payloadBytes()
        : 0;
  }

  /** Writes all but the payload. */
  static void write(JournalRecord entry, ByteBuffer to) {
    int start = to.position();
    to.putInt(0).putInt(0);
    switch (entry) {
      case Mutated mutated -> writeMutated(mutated, to);
      case Promised promised -> to.put((byte) 2).putLong(promised.version());
      case Cut cut -> to.put((byte) 3).putLong(cut.serial()).putLong(cut.lengthBytes());
      case Applied applied -> writeApplied(applied, to);
      case Standing standing ->
          to.put((byte) 5)
              .put(Codes.of(standing.certainty()))
              .put((byte) (standing.learner() ? 1 : 0));
      case Checkpoint checkpoint -> writeCheckpoint(checkpoint, to);
    }
    to.putInt(start, to.position() - start - PREFIX + payloadInside(entry));
    to.putInt(start + 4, checksum(to, start, to.position()));
  }

  private static void writeMutated(Mutated mutated, ByteBuffer to) {
    Mutation mutation = mutated.mutation();
    to.put((byte) 1).put(Codes.of(mutated.place()));
    to.putLong(mutation.version()).putLong(mutation.serial());
    to.put(Codes.of(mutation.kind()));
    to.putLong(mutation.offset()).putLong(mutation.file().value());
    to.putLong(mutation.session().value()).putLong(mutation.sequence());
    to.putLong(mutation.floor()).putLong(mutation.chunkLength());
    to.putLong(mutation.detail()).putLong(mutated.committedSerial());
    to.putInt(mutation.payloadBytes()).putShort((short) mutated.fragments().length);
    for (int fragment : mutated.fragments()) {
      to.putInt(fragment);
    }
  }

  private static void writeApplied(Applied applied, ByteBuffer to) {
    to.put((byte) 4).putLong(applied.serial()).putLong(applied.lengthBytes());
    to.putInt(applied.blocks().length);
    for (int i = 0; i < applied.blocks().length; i++) {
      to.putInt(applied.blocks()[i]).putInt(applied.crcs()[i]);
    }
  }

  private static void writeCheckpoint(Checkpoint checkpoint, ByteBuffer to) {
    to.put((byte) 6).putInt(checkpoint.blockCrcs().length);
    for (int crc : checkpoint.blockCrcs()) {
      to.putInt(crc);
    }
    SnapshotCodec.write(checkpoint.snapshot(), to);
  }

  /** Of the length and the fields. */
  private static int checksum(ByteBuffer bytes, int start, int fieldsEnd) {
    int length = Crc32c.of(bytes.duplicate().limit(start + 4).position(start));
    int fields = Crc32c.of(bytes.duplicate().limit(fieldsEnd).position(start + PREFIX));
    return Crc32c.combine(length, fields, fieldsEnd - start - PREFIX);
  }

  /**
   * Reads one record, which the bytes hold wholly. The mutation's payload is a view of the bytes
   * where it is inside and wanted.
   *
   * @param bytes from the record's length on
   * @throws IOException where it is broken
   */
  static JournalRecord read(ByteBuffer bytes, boolean payloadWanted) throws IOException {
    ByteBuffer from = bytes.duplicate();
    int start = from.position();
    try {
      int length = from.getInt();
      int crc = from.getInt();
      from.limit(start + PREFIX + length);
      JournalRecord entry = readFields(from);
      int fieldsEnd = from.position();
      if (crc != checksum(bytes, start, fieldsEnd)) {
        throw new IOException("a record's checksum does not match");
      }
      if (from.remaining() != payloadInside(entry)) {
        throw new IOException("a record's length does not match");
      }
      if (entry instanceof Mutated mutated && mutated.inside()) {
        return withPayload(mutated, from, payloadWanted);
      }
      return entry;
    } catch (BufferUnderflowException | IllegalArgumentException e) {
      throw new IOException("a record is broken: " + e, e);
    }
  }

  private static Mutated withPayload(Mutated mutated, ByteBuffer payload, boolean wanted)
      throws IOException {
    Mutation mutation = mutated.mutation();
    if (!Fragments.match(mutation.offset(), payload, mutated.fragments())) {
      throw new IOException("a payload's checksum does not match");
    }
    boolean own = !ChunkContent.changes(mutation.kind());
    if (!wanted && !own) {
      return mutated;
    }
    ByteBuffer kept = wanted ? payload.slice() : copy(payload);
    return new Mutated(
        withPayload(mutation, kept),
        mutated.place(),
        mutated.committedSerial(),
        mutated.fragments());
  }

  private static ByteBuffer copy(ByteBuffer bytes) {
    return ByteBuffer.allocate(bytes.remaining()).put(bytes.duplicate()).flip();
  }

  static Mutation withPayload(Mutation mutation, ByteBuffer payload) {
    return new Mutation(
        mutation.version(),
        mutation.serial(),
        mutation.kind(),
        mutation.offset(),
        mutation.file(),
        mutation.session(),
        mutation.sequence(),
        mutation.floor(),
        mutation.chunkLength(),
        mutation.detail(),
        mutation.checksums(),
        payload);
  }

  private static JournalRecord readFields(ByteBuffer from) throws IOException {
    int kind = from.get();
    return switch (kind) {
      case 1 -> readMutated(from);
      case 2 -> new Promised(from.getLong());
      case 3 -> new Cut(from.getLong(), from.getLong());
      case 4 -> readApplied(from);
      case 5 -> new Standing(Codes.certainty(from.get()), from.get() != 0);
      case 6 -> readCheckpoint(from);
      default -> throw new IOException("no kind of record: " + kind);
    };
  }

  private static Mutated readMutated(ByteBuffer from) {
    Place place = Codes.place(from.get());
    long version = from.getLong();
    long serial = from.getLong();
    MutationKind kind = Codes.mutationKind(from.get());
    long offset = from.getLong();
    FileId file = new FileId(from.getLong());
    SessionId session = new SessionId(from.getLong());
    long sequence = from.getLong();
    long floor = from.getLong();
    long chunkLength = from.getLong();
    long detail = from.getLong();
    long committed = from.getLong();
    int payloadBytes = from.getInt();
    int count = Short.toUnsignedInt(from.getShort());
    if (payloadBytes < 0 || offset < 0 || count != Fragments.count(offset, payloadBytes)) {
      throw new IllegalArgumentException(count + " fragments for " + payloadBytes);
    }
    int[] fragments = count == 0 ? Fragments.NONE : new int[count];
    for (int i = 0; i < count; i++) {
      fragments[i] = from.getInt();
    }
    Mutation mutation =
        new Mutation(
                version,
                serial,
                kind,
                offset,
                file,
                session,
                sequence,
                floor,
                chunkLength,
                detail,
                Fragments.pieces(offset, payloadBytes, fragments),
                ByteBuffer.allocate(0),
                payloadBytes)
            .withoutPayload();
    return new Mutated(mutation, place, committed, fragments);
  }

  private static Applied readApplied(ByteBuffer from) {
    long serial = from.getLong();
    long length = from.getLong();
    int count = SnapshotCodec.count(from, 8);
    int[] blocks = new int[count];
    int[] crcs = new int[count];
    for (int i = 0; i < count; i++) {
      blocks[i] = from.getInt();
      crcs[i] = from.getInt();
    }
    return new Applied(serial, length, blocks, crcs);
  }

  private static Checkpoint readCheckpoint(ByteBuffer from) {
    int count = SnapshotCodec.count(from, 4);
    int[] crcs = new int[count];
    for (int i = 0; i < count; i++) {
      crcs[i] = from.getInt();
    }
    Snapshot snapshot = SnapshotCodec.read(from);
    return new Checkpoint(snapshot, crcs);
  }
}
