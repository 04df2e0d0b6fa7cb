package io.leasefs.chunkserver.store;

import io.leasefs.chunkserver.replica.ReplicaImage.Result;
import io.leasefs.chunkserver.replica.ReplicaImage.Row;
import io.leasefs.chunkserver.replica.ReplicaImage.SealPoint;
import io.leasefs.chunkserver.replica.ReplicaImage.Snapshot;
import io.leasefs.common.api.MutationKind;
import io.leasefs.common.api.VersionStart;
import io.leasefs.common.model.SessionId;
import java.io.IOException;
import java.nio.BufferUnderflowException;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/**
 * A chunk's {@link Snapshot} as bytes, big-endian, in journals and in copies for learners.
 *
 * <pre>
 * snapshot = serial:i64 length:i64 fenceFloor:i64 forgottenBelow:i64
 *            count:i32 (version:i64 firstSerial:i64)*          history
 *            count:i32 session:i64*                            dead sessions
 *            count:i32 session:i64*                            living exceptions
 *            sealed:u8 (serial:i64 length:i64 known:u8 crc:i32)?
 *            count:i32 row*
 * row      = session:i64 floor:i64 count:i32 result*
 * result   = sequence:i64 kind:u8 flags:u8 offset:i64 version:i64 serial:i64 length:i32 crc:i32
 *            flags: 1 = applied, 2 = seals
 * </pre>
 *
 * <p>It has no checksum of its own: whatever carries it has. Pure; any thread.
 */
public final class SnapshotCodec {
  private static final int RESULT_BYTES = 8 + 1 + 1 + 8 + 8 + 8 + 4 + 4;

  private SnapshotCodec() {}

  /** Bytes that {@link #write} will take. */
  static int size(Snapshot snapshot) {
    int size = 4 * 8 + 5 * 4;
    size += 16 * snapshot.history().size();
    size += 8 * snapshot.deadSessions().size();
    size += 8 * snapshot.forgottenExceptions().size();
    size += 1 + (snapshot.seal().isPresent() ? 8 + 8 + 1 + 4 : 0) - 4;
    for (Row row : snapshot.rows()) {
      size += 8 + 8 + 4 + RESULT_BYTES * row.results().size();
    }
    return size;
  }

  /** As bytes, ready to be read. */
  public static ByteBuffer encode(Snapshot snapshot) {
    ByteBuffer bytes = ByteBuffer.allocate(size(snapshot));
    write(snapshot, bytes);
    return bytes.flip();
  }

  /**
   * From bytes.
   *
   * @throws IOException where they are no snapshot
   */
  public static Snapshot decode(ByteBuffer bytes) throws IOException {
    try {
      return read(bytes.duplicate());
    } catch (BufferUnderflowException | IllegalArgumentException e) {
      throw new IOException("not a chunk's snapshot: " + e, e);
    }
  }

  static void write(Snapshot snapshot, ByteBuffer to) {
    to.putLong(snapshot.serial());
    to.putLong(snapshot.lengthBytes());
    to.putLong(snapshot.fenceFloor());
    to.putLong(snapshot.forgottenBelow());
    to.putInt(snapshot.history().size());
    for (VersionStart start : snapshot.history()) {
      to.putLong(start.version());
      to.putLong(start.firstSerial());
    }
    writeSessions(snapshot.deadSessions(), to);
    writeSessions(snapshot.forgottenExceptions(), to);
    to.put((byte) (snapshot.seal().isPresent() ? 1 : 0));
    if (snapshot.seal().isPresent()) {
      SealPoint seal = snapshot.seal().get();
      to.putLong(seal.serial());
      to.putLong(seal.lengthBytes());
      to.put((byte) (seal.checksum().isPresent() ? 1 : 0));
      to.putInt(seal.checksum().orElse(0));
    }
    to.putInt(snapshot.rows().size());
    for (Row row : snapshot.rows()) {
      writeRow(row, to);
    }
  }

  private static void writeSessions(List<SessionId> sessions, ByteBuffer to) {
    to.putInt(sessions.size());
    for (SessionId session : sessions) {
      to.putLong(session.value());
    }
  }

  private static void writeRow(Row row, ByteBuffer to) {
    to.putLong(row.session().value());
    to.putLong(row.floor());
    to.putInt(row.results().size());
    for (Result result : row.results()) {
      to.putLong(result.sequence());
      to.put(Codes.of(result.kind()));
      to.put((byte) ((result.applied() ? 1 : 0) | (result.seals() ? 2 : 0)));
      to.putLong(result.offset());
      to.putLong(result.version());
      to.putLong(result.serial());
      to.putInt(result.payloadBytes());
      to.putInt(result.payloadChecksum());
    }
  }

  static Snapshot read(ByteBuffer from) {
    long serial = from.getLong();
    long length = from.getLong();
    long fenceFloor = from.getLong();
    long forgottenBelow = from.getLong();
    int versions = count(from, 16);
    List<VersionStart> history = new ArrayList<>(versions);
    for (int i = 0; i < versions; i++) {
      history.add(new VersionStart(from.getLong(), from.getLong()));
    }
    List<SessionId> dead = readSessions(from);
    List<SessionId> exceptions = readSessions(from);
    Optional<SealPoint> seal = Optional.empty();
    if (from.get() != 0) {
      long sealSerial = from.getLong();
      long sealLength = from.getLong();
      boolean known = from.get() != 0;
      int crc = from.getInt();
      seal =
          Optional.of(
              new SealPoint(sealSerial, sealLength, known ? Optional.of(crc) : Optional.empty()));
    }
    int rowCount = count(from, 20);
    List<Row> rows = new ArrayList<>(rowCount);
    for (int i = 0; i < rowCount; i++) {
      rows.add(readRow(from));
    }
    return new Snapshot(
        serial, length, history, rows, dead, forgottenBelow, exceptions, fenceFloor, seal);
  }

  private static List<SessionId> readSessions(ByteBuffer from) {
    int count = count(from, 8);
    List<SessionId> sessions = new ArrayList<>(count);
    for (int i = 0; i < count; i++) {
      sessions.add(new SessionId(from.getLong()));
    }
    return sessions;
  }

  private static Row readRow(ByteBuffer from) {
    SessionId session = new SessionId(from.getLong());
    long floor = from.getLong();
    int count = count(from, RESULT_BYTES);
    List<Result> results = new ArrayList<>(count);
    for (int i = 0; i < count; i++) {
      long sequence = from.getLong();
      MutationKind kind = Codes.mutationKind(from.get());
      int flags = from.get();
      results.add(
          new Result(
              sequence,
              kind,
              (flags & 1) != 0,
              from.getLong(),
              from.getLong(),
              from.getLong(),
              (flags & 2) != 0,
              from.getInt(),
              from.getInt()));
    }
    return new Row(session, floor, results);
  }

  /** A count that the remaining bytes can hold, so that rotten ones allocate nothing. */
  static int count(ByteBuffer from, int bytesEach) {
    int count = from.getInt();
    if (count < 0 || (long) count * bytesEach > from.remaining()) {
      throw new IllegalArgumentException("a count of " + count);
    }
    return count;
  }
}
