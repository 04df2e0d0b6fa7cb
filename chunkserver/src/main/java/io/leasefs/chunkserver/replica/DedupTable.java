package io.leasefs.chunkserver.replica;

import static io.leasefs.chunkserver.replica.ReplicaImage.Result;
import static io.leasefs.chunkserver.replica.ReplicaImage.Row;

import io.leasefs.common.api.Frame;
import io.leasefs.common.api.Mutation;
import io.leasefs.common.api.MutationKind;
import io.leasefs.common.model.SessionId;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.TreeSet;
import org.jspecify.annotations.Nullable;

/**
 * The table of results: what became of each session's sequences in this chunk (protocol, section
 * 5). A chunk belongs to one file, so the session alone is the key.
 *
 * <p>It runs ahead of what is committed: {@link #append} takes in a mutation as soon as it is in
 * the journal, {@link #cut} takes it back, {@link #commit} makes it final. Only a commit forgets
 * (results below a floor, dead sessions' rows), so a cut can always restore what was. Committed, it
 * depends on the committed mutations alone: at rest it is the same at every member.
 */
final class DedupTable {
  private final TreeMap<Long, SessionRow> rows = new TreeMap<>();

  /** Session to the serial of its DEAD. */
  private final TreeMap<Long, Long> dead = new TreeMap<>();

  private long forgottenBelow;
  private final TreeSet<Long> forgottenExceptions = new TreeSet<>();

  private static final class SessionRow {
    long committedFloor;

    /** Counts pending mutations in. */
    long floor;

    final TreeMap<Long, Result> results = new TreeMap<>();
  }

  DedupTable(ReplicaImage.Snapshot snapshot) {
    for (Row row : snapshot.rows()) {
      SessionRow own = new SessionRow();
      own.committedFloor = row.floor();
      own.floor = row.floor();
      row.results().forEach(r -> own.results.put(r.sequence(), r));
      rows.put(row.session().value(), own);
    }
    snapshot.deadSessions().forEach(s -> dead.put(s.value(), snapshot.serial()));
    forgottenBelow = snapshot.forgottenBelow();
    snapshot.forgottenExceptions().forEach(s -> forgottenExceptions.add(s.value()));
  }

  /** What became of it, pending included. */
  @Nullable Result find(SessionId session, long sequence) {
    SessionRow row = rows.get(session.value());
    return row == null ? null : row.results.get(sequence);
  }

  /** The lowest sequence whose answer the client still awaits, pending mutations counted in. */
  long floor(SessionId session) {
    SessionRow row = rows.get(session.value());
    return row == null ? 0 : row.floor;
  }

  /** The serial of the session's DEAD; 0 where there is none. */
  long deadSince(SessionId session) {
    return dead.getOrDefault(session.value(), 0L);
  }

  /** True where the session's rows are gone: nothing about it can be told any more. */
  boolean forgotten(SessionId session) {
    return session.value() < forgottenBelow && !forgottenExceptions.contains(session.value());
  }

  /**
   * True where forgetting would drop anything, or raise the watermark over a session known here.
   */
  boolean worthForgetting(long watermark, List<SessionId> living) {
    for (long session : rows.headMap(watermark).keySet()) {
      if (!living.contains(new SessionId(session))) {
        return true;
      }
    }
    for (long session : dead.headMap(watermark).keySet()) {
      if (!living.contains(new SessionId(session))) {
        return true;
      }
    }
    return false;
  }

  /** Takes in a mutation that has been given its place. */
  void append(Mutation mutation) {
    switch (mutation.kind()) {
      case WRITE, APPEND, TRUNCATE, SEAL -> appendOfClient(mutation, true);
      case ABORT -> appendAbort(mutation);
      case DEAD -> dead.putIfAbsent(mutation.detail(), mutation.serial());
      case FORGET, VERSION_START -> {}
    }
  }

  private void appendAbort(Mutation mutation) {
    SessionRow row = row(mutation);
    long target = mutation.offset();
    row.results.put(
        target,
        new Result(
            target,
            MutationKind.ABORT,
            false,
            0,
            mutation.version(),
            mutation.serial(),
            false,
            0,
            0));
    if (target != mutation.sequence()) {
      appendOfClient(mutation, true);
    }
  }

  private void appendOfClient(Mutation mutation, boolean applied) {
    if (mutation.session().value() == 0) {
      return;
    }
    row(mutation)
        .results
        .put(
            mutation.sequence(),
            new Result(
                mutation.sequence(),
                mutation.kind(),
                applied,
                mutation.offset(),
                mutation.version(),
                mutation.serial(),
                mutation.seals(),
                mutation.payloadBytes(),
                mutation.checksums().combined(mutation.payloadBytes(), Frame.PIECE)));
  }

  private SessionRow row(Mutation mutation) {
    SessionRow row = rows.computeIfAbsent(mutation.session().value(), s -> new SessionRow());
    row.floor = Math.max(row.floor, mutation.floor());
    return row;
  }

  /** Makes a mutation final, in the order of serials. */
  void commit(Mutation mutation) {
    if (mutation.kind() == MutationKind.FORGET) {
      forget(mutation);
      return;
    }
    if (mutation.session().value() == 0) {
      return;
    }
    SessionRow row = rows.get(mutation.session().value());
    if (row != null && mutation.floor() > row.committedFloor) {
      row.committedFloor = mutation.floor();
      row.results.headMap(mutation.floor()).clear();
    }
  }

  private void forget(Mutation mutation) {
    TreeSet<Long> living = new TreeSet<>(decodeSessions(mutation.payload()));
    long watermark = mutation.offset();
    if (watermark < forgottenBelow) {
      return;
    }
    // who was forgotten before stays so, whoever the list names now
    living.removeIf(s -> forgotten(new SessionId(s)));
    rows.headMap(watermark).keySet().removeIf(s -> !living.contains(s));
    // One that was declared dead after this is so in every copy, whenever it learns what is
    // committed.
    dead.headMap(watermark)
        .entrySet()
        .removeIf(e -> e.getValue() <= mutation.serial() && !living.contains(e.getKey()));
    forgottenBelow = watermark;
    forgottenExceptions.clear();
    forgottenExceptions.addAll(living.headSet(watermark));
  }

  /**
   * Takes back all mutations above this serial.
   *
   * @param remaining the pending ones that stay, in order
   */
  void cut(long serial, Iterable<Mutation> remaining) {
    dead.values().removeIf(s -> s > serial);
    for (SessionRow row : rows.values()) {
      row.results.values().removeIf(r -> r.serial() > serial);
      row.floor = row.committedFloor;
    }
    for (Mutation mutation : remaining) {
      SessionRow row = rows.get(mutation.session().value());
      if (row != null && mutation.session().value() != 0) {
        row.floor = Math.max(row.floor, mutation.floor());
      }
    }
    rows.values().removeIf(r -> r.committedFloor == 0 && r.floor == 0 && r.results.isEmpty());
  }

  /** The rows as of a committed serial: what lies above it is left out. */
  List<Row> rows(long committedSerial) {
    List<Row> out = new ArrayList<>(rows.size());
    for (Map.Entry<Long, SessionRow> entry : rows.entrySet()) {
      SessionRow row = entry.getValue();
      List<Result> results = new ArrayList<>(row.results.size());
      for (Result result : row.results.values()) {
        if (result.serial() <= committedSerial) {
          results.add(result);
        }
      }
      if (!results.isEmpty() || row.committedFloor > 0) {
        out.add(new Row(new SessionId(entry.getKey()), row.committedFloor, results));
      }
    }
    return out;
  }

  /** Sessions with a committed DEAD, ascending. */
  List<SessionId> deadSessions(long committedSerial) {
    List<SessionId> out = new ArrayList<>();
    dead.forEach(
        (session, serial) -> {
          if (serial <= committedSerial) {
            out.add(new SessionId(session));
          }
        });
    return out;
  }

  long forgottenBelow() {
    return forgottenBelow;
  }

  List<SessionId> forgottenExceptions() {
    return forgottenExceptions.stream().map(SessionId::new).toList();
  }

  /** The payload of a FORGET: the living exceptions, eight bytes each, big-endian. */
  static ByteBuffer encodeSessions(List<SessionId> sessions) {
    ByteBuffer bytes = ByteBuffer.allocate(sessions.size() * Long.BYTES);
    sessions.forEach(s -> bytes.putLong(s.value()));
    return bytes.flip();
  }

  private static List<Long> decodeSessions(ByteBuffer payload) {
    ByteBuffer bytes = payload.duplicate();
    List<Long> sessions = new ArrayList<>(bytes.remaining() / Long.BYTES);
    while (bytes.remaining() >= Long.BYTES) {
      sessions.add(bytes.getLong());
    }
    return sessions;
  }

  /** Checks what must hold after each step. */
  void invariant(long lastSerial) {
    for (Map.Entry<Long, SessionRow> entry : rows.entrySet()) {
      SessionRow row = entry.getValue();
      if (row.floor < row.committedFloor) {
        throw new IllegalStateException("session " + entry.getKey() + ": floor went down");
      }
      Iterator<Result> results = row.results.values().iterator();
      while (results.hasNext()) {
        Result result = results.next();
        if (result.serial() > lastSerial || result.sequence() < row.committedFloor) {
          throw new IllegalStateException("session " + entry.getKey() + ": stray " + result);
        }
      }
    }
  }
}
