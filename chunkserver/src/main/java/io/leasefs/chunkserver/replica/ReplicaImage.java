package io.leasefs.chunkserver.replica;

import io.leasefs.common.api.Heartbeat.Certainty;
import io.leasefs.common.api.Mutation;
import io.leasefs.common.api.MutationKind;
import io.leasefs.common.api.VersionStart;
import io.leasefs.common.model.ChunkSeal;
import io.leasefs.common.model.ChunkSpec;
import io.leasefs.common.model.Member;
import io.leasefs.common.model.SessionId;
import java.util.List;
import java.util.Optional;

/**
 * A copy of a chunk as its disk has it: a snapshot at a committed serial, and the headers of the
 * records that the journal holds above it. What the core needs to go on after a restart, and what a
 * learner is handed.
 *
 * @param spec what never changes
 * @param self this copy: server, disk, replica id
 * @param promised highest version promised; at least the accepted one
 * @param learner true until a version start has been taken from a seed
 * @param certainty CERTAIN, UNCERTAIN or DAMAGED
 * @param snapshot the chunk's state at a committed serial
 * @param committedSerial highest serial known to be committed; at least the snapshot's
 * @param tail records from the snapshot's serial + 1 on, without payload (FORGET keeps its own)
 */
public record ReplicaImage(
    ChunkSpec spec,
    Member self,
    long promised,
    boolean learner,
    Certainty certainty,
    Snapshot snapshot,
    long committedSerial,
    List<Mutation> tail) {
  public ReplicaImage {
    tail = List.copyOf(tail);
    long last = snapshot.serial() + tail.size();
    if (committedSerial < snapshot.serial() || committedSerial > last) {
      throw new IllegalArgumentException(
          "committed " + committedSerial + " not in " + snapshot.serial() + ".." + last);
    }
  }

  /**
   * The state of a chunk right after one serial: all that a journal may forget about the records
   * below it.
   *
   * @param serial the last mutation counted in
   * @param lengthBytes the chunk's length
   * @param history versions and where they start, oldest first; never empty
   * @param rows the table of results, by session
   * @param deadSessions sessions whose unknown sequences are refused, ascending
   * @param forgottenBelow sessions below are refused for ever, but for the exceptions
   * @param forgottenExceptions those below that lived when the rest was forgotten, ascending
   * @param fenceFloor the lowest token accepted
   * @param seal where the chunk is sealed
   */
  public record Snapshot(
      long serial,
      long lengthBytes,
      List<VersionStart> history,
      List<Row> rows,
      List<SessionId> deadSessions,
      long forgottenBelow,
      List<SessionId> forgottenExceptions,
      long fenceFloor,
      Optional<SealPoint> seal) {
    public Snapshot {
      history = List.copyOf(history);
      rows = List.copyOf(rows);
      deadSessions = List.copyOf(deadSessions);
      forgottenExceptions = List.copyOf(forgottenExceptions);
      if (history.isEmpty()) {
        throw new IllegalArgumentException("a chunk without history");
      }
    }

    /** The version of the last version start: the accepted one. */
    public long accepted() {
      return history.get(history.size() - 1).version();
    }
  }

  /**
   * Where a chunk was sealed.
   *
   * @param serial of the mutation that sealed it
   * @param lengthBytes the final length
   * @param checksum CRC32C of the whole content; empty until the store has computed it
   */
  public record SealPoint(long serial, long lengthBytes, Optional<Integer> checksum) {
    /** As the rest of the cluster knows a seal; empty until the checksum is known. */
    public Optional<ChunkSeal> seal() {
      return checksum.map(crc -> new ChunkSeal(serial, lengthBytes, crc));
    }
  }

  /**
   * What is remembered of one session.
   *
   * @param session the client's
   * @param floor the lowest sequence whose answer the client still awaited
   * @param results at and above the floor, by sequence
   */
  public record Row(SessionId session, long floor, List<Result> results) {
    public Row {
      results = List.copyOf(results);
    }
  }

  /**
   * The one true result of a sequence.
   *
   * @param sequence the client's number
   * @param kind what the frame asked for
   * @param applied false where it never takes effect (aborted)
   * @param offset where it was applied, bytes
   * @param version of the configuration in which it got its serial
   * @param serial its place in the order
   * @param seals true where it sealed the chunk as well
   * @param payloadBytes length of its payload
   * @param payloadChecksum CRC32C of its payload
   */
  public record Result(
      long sequence,
      MutationKind kind,
      boolean applied,
      long offset,
      long version,
      long serial,
      boolean seals,
      int payloadBytes,
      int payloadChecksum) {}

  /** A chunk at its birth: version 1, empty, promised nothing else. */
  public static ReplicaImage newborn(ChunkSpec spec, Member self, Certainty certainty) {
    return new ReplicaImage(spec, self, 1, false, certainty, emptySnapshot(), 0, List.of());
  }

  /** The state of a chunk at its birth. */
  public static Snapshot emptySnapshot() {
    return new Snapshot(
        0,
        0,
        List.of(new VersionStart(1, 0)),
        List.of(),
        List.of(),
        0,
        List.of(),
        0,
        Optional.empty());
  }
}
