package io.leasefs.chunkserver.replica;

import static io.leasefs.chunkserver.replica.ReplicaImage.SealPoint;
import static io.leasefs.chunkserver.replica.ReplicaImage.Snapshot;
import static java.util.Objects.requireNonNull;

import io.leasefs.common.api.Mutation;
import io.leasefs.common.api.MutationKind;
import io.leasefs.common.api.VersionStart;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * The order of one chunk's mutations and the state they lead to: what is committed, and what is
 * pending above it and may still be cut. One path for live, recovered and replayed mutations.
 */
final class ChunkLog {
  private final DedupTable table;
  private final ArrayList<VersionStart> history;

  /** Pending mutations; the one with serial s is at index (s - committedSerial - 1) from head. */
  private @Nullable Mutation[] ring = new @Nullable Mutation[16];

  private int head;
  private int size;

  private long committedSerial;
  private long committedLength;
  private long committedFence;
  private @Nullable SealPoint committedSeal;

  private long lastLength;
  private long fence;
  private @Nullable SealPoint seal;
  private long pendingBytes;

  ChunkLog(ReplicaImage image) {
    Snapshot snapshot = image.snapshot();
    table = new DedupTable(snapshot);
    history = new ArrayList<>(snapshot.history());
    committedSerial = snapshot.serial();
    committedLength = snapshot.lengthBytes();
    committedFence = snapshot.fenceFloor();
    committedSeal = snapshot.seal().orElse(null);
    lastLength = committedLength;
    fence = committedFence;
    seal = committedSeal;
    image.tail().forEach(this::append);
    commit(image.committedSerial());
  }

  DedupTable table() {
    return table;
  }

  long committedSerial() {
    return committedSerial;
  }

  long committedLength() {
    return committedLength;
  }

  long lastSerial() {
    return committedSerial + size;
  }

  /** Length of the chunk after the last mutation. */
  long lastLength() {
    return lastLength;
  }

  /** Length of the chunk after the pending or last committed mutation with this serial. */
  long lengthAt(long serial) {
    return serial == committedSerial ? committedLength : pending(serial).chunkLength();
  }

  long fence() {
    return fence;
  }

  /** The seal in force, pending included. */
  @Nullable SealPoint seal() {
    return seal;
  }

  /** The seal in force as far as is committed. */
  @Nullable SealPoint committedSeal() {
    return committedSeal;
  }

  /** The seal in force is committed: no version start has opened the chunk again, or begun to. */
  boolean sealed() {
    return seal != null && committedSeal != null && seal.serial() == committedSeal.serial();
  }

  /** The version of the last version start in the order. */
  long version() {
    return history.get(history.size() - 1).version();
  }

  List<VersionStart> history() {
    return history;
  }

  long pendingBytes() {
    return pendingBytes;
  }

  /** The pending mutation with this serial. */
  Mutation pending(long serial) {
    long index = serial - committedSerial - 1;
    if (index < 0 || index >= size) {
      throw new IllegalStateException(
          "serial " + serial + " is not in " + committedSerial + "+1.." + lastSerial());
    }
    return requireNonNull(ring[(head + (int) index) & (ring.length - 1)]);
  }

  /** Takes in the next mutation. */
  void append(Mutation mutation) {
    if (mutation.serial() != lastSerial() + 1) {
      throw new IllegalStateException("serial " + mutation.serial() + " after " + lastSerial());
    }
    if (size == ring.length) {
      grow();
    }
    ring[(head + size) & (ring.length - 1)] = mutation;
    size++;
    lastLength = mutation.chunkLength();
    pendingBytes += mutation.payload().remaining();
    if (mutation.kind() == MutationKind.VERSION_START) {
      history.add(new VersionStart(mutation.version(), mutation.serial()));
      fence = Math.max(fence, mutation.detail());
    }
    seal = sealAfter(seal, mutation);
    table.append(mutation);
  }

  private static @Nullable SealPoint sealAfter(@Nullable SealPoint before, Mutation mutation) {
    if (mutation.reopens()) {
      return null;
    }
    return mutation.seals()
        ? new SealPoint(mutation.serial(), mutation.chunkLength(), Optional.empty())
        : before;
  }

  private void grow() {
    @Nullable Mutation[] larger = new @Nullable Mutation[ring.length * 2];
    for (int i = 0; i < size; i++) {
      larger[i] = ring[(head + i) & (ring.length - 1)];
    }
    ring = larger;
    head = 0;
  }

  /** Everything up to this serial is committed. */
  void commit(long serial) {
    if (serial > lastSerial()) {
      throw new IllegalStateException("commit of " + serial + " above " + lastSerial());
    }
    while (committedSerial < serial) {
      Mutation mutation = requireNonNull(ring[head]);
      ring[head] = null;
      head = (head + 1) & (ring.length - 1);
      size--;
      committedSerial++;
      committedLength = mutation.chunkLength();
      pendingBytes -= mutation.payload().remaining();
      if (mutation.kind() == MutationKind.VERSION_START) {
        committedFence = Math.max(committedFence, mutation.detail());
      }
      committedSeal = sealAfter(committedSeal, mutation);
      if (seal != null && committedSeal != null && seal.serial() == committedSeal.serial()) {
        committedSeal = seal;
      }
      table.commit(mutation);
    }
  }

  /** Takes back everything above this serial, which is committed or pending. */
  void cut(long serial) {
    if (serial < committedSerial) {
      throw new IllegalStateException("cut to " + serial + " below committed " + committedSerial);
    }
    SealPoint before = seal;
    while (lastSerial() > serial) {
      size--;
      int at = (head + size) & (ring.length - 1);
      pendingBytes -= requireNonNull(ring[at]).payload().remaining();
      ring[at] = null;
    }
    lastLength = lengthAt(serial);
    history.removeIf(start -> start.firstSerial() > serial);
    fence = committedFence;
    seal = committedSeal;
    List<Mutation> remaining = new ArrayList<>(size);
    for (long s = committedSerial + 1; s <= serial; s++) {
      Mutation mutation = pending(s);
      remaining.add(mutation);
      if (mutation.kind() == MutationKind.VERSION_START) {
        fence = Math.max(fence, mutation.detail());
      }
      seal = sealAfter(seal, mutation);
    }
    if (seal != null && before != null && seal.serial() == before.serial()) {
      seal = before;
    }
    table.cut(serial, remaining);
  }

  /** The checksum of the sealed content is known. */
  void sealChecksum(long serial, int checksum) {
    if (seal != null && seal.serial() == serial) {
      seal = new SealPoint(serial, seal.lengthBytes(), Optional.of(checksum));
      if (committedSeal != null && committedSeal.serial() == serial) {
        committedSeal = seal;
      }
    }
  }

  /** The version under whose start the mutation with this serial lies. */
  long versionAt(long serial) {
    for (int i = history.size() - 1; i > 0; i--) {
      if (history.get(i).firstSerial() <= serial) {
        return history.get(i).version();
      }
    }
    return history.get(0).version();
  }

  /** The serial of this version's start; it must be in the history. */
  long startOf(long version) {
    for (VersionStart start : history) {
      if (start.version() == version) {
        return start.firstSerial();
      }
    }
    throw new IllegalStateException("version " + version + " is not in " + history);
  }

  /** The last serial of this version here; -1 where it is not in the history. */
  long endOf(long version) {
    for (int i = 0; i < history.size(); i++) {
      if (history.get(i).version() == version) {
        return i + 1 < history.size() ? history.get(i + 1).firstSerial() - 1 : lastSerial();
      }
    }
    return -1;
  }

  /**
   * The last serial that this order and another one share. Per version one primary gives serials
   * densely and none twice, so two orders agree up to the shorter end of the last version that both
   * started at the same serial.
   */
  long commonWith(List<VersionStart> other, long otherLast) {
    int shared = 0;
    while (shared < history.size()
        && shared < other.size()
        && history.get(shared).equals(other.get(shared))) {
      shared++;
    }
    if (shared == 0) {
      return -1;
    }
    long own = shared < history.size() ? history.get(shared).firstSerial() - 1 : lastSerial();
    long theirs = shared < other.size() ? other.get(shared).firstSerial() - 1 : otherLast;
    return Math.min(own, theirs);
  }

  /** True where a WRITE or TRUNCATE is pending: the end of the order is not only appends. */
  boolean overwritesAboveCommitted() {
    for (long s = committedSerial + 1; s <= lastSerial(); s++) {
      MutationKind kind = pending(s).kind();
      if (kind == MutationKind.WRITE || kind == MutationKind.TRUNCATE) {
        return true;
      }
    }
    return false;
  }

  /** The state as of the committed serial. */
  Snapshot snapshot() {
    List<VersionStart> committedHistory = new ArrayList<>(history);
    committedHistory.removeIf(start -> start.firstSerial() > committedSerial);
    return new Snapshot(
        committedSerial,
        committedLength,
        committedHistory,
        table.rows(committedSerial),
        table.deadSessions(committedSerial),
        table.forgottenBelow(),
        table.forgottenExceptions(),
        committedFence,
        Optional.ofNullable(committedSeal));
  }

  void invariant() {
    if (lastLength != lengthAt(lastSerial())) {
      throw new IllegalStateException("length " + lastLength + " is not the last mutation's");
    }
    for (int i = 1; i < history.size(); i++) {
      if (history.get(i).version() <= history.get(i - 1).version()
          || history.get(i).firstSerial() <= history.get(i - 1).firstSerial()) {
        throw new IllegalStateException("history does not rise: " + history);
      }
    }
    if (history.get(history.size() - 1).firstSerial() > lastSerial()) {
      throw new IllegalStateException("history ends above " + lastSerial() + ": " + history);
    }
    table.invariant(lastSerial());
  }
}
