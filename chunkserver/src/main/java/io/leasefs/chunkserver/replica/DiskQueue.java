package io.leasefs.chunkserver.replica;

import io.leasefs.common.api.Heartbeat.Certainty;
import io.leasefs.common.api.Mutation;
import java.util.ArrayDeque;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * The disk actions of one chunk that are under way, in their one order. Because the store carries
 * them out in that order, whoever waits for one has waited for all before it: so does a promise for
 * every append accepted before it.
 */
final class DiskQueue {
  private static final long NO_SERIAL = -1;

  private final Consumer<ReplicaAction> out;
  private final ArrayDeque<UnderWay> underWay = new ArrayDeque<>();
  private long lastId;
  private long durableSerial;
  private boolean failed;

  /**
   * One action.
   *
   * @param since when it was given out, nanoseconds
   * @param serial of an append that counts; else {@link #NO_SERIAL}
   */
  private record UnderWay(long id, long since, long serial, @Nullable Runnable whenDone) {}

  DiskQueue(Consumer<ReplicaAction> out, long durableSerial) {
    this.out = out;
    this.durableSerial = durableSerial;
  }

  /** The last serial that the journal holds under the chunk's durability. */
  long durableSerial() {
    return durableSerial;
  }

  /** After a failure nothing is given out any more. */
  void fail() {
    failed = true;
    underWay.clear();
  }

  void append(Mutation mutation, boolean force, long now, @Nullable Runnable whenDone) {
    give(new ReplicaAction.Append(nextId(), mutation, force), now, mutation.serial(), whenDone);
  }

  void commit(long serial, long lengthBytes, long now) {
    give(new ReplicaAction.Commit(nextId(), serial, lengthBytes), now, NO_SERIAL, null);
  }

  void promise(long version, long now, Runnable whenDone) {
    give(new ReplicaAction.StorePromise(nextId(), version), now, NO_SERIAL, whenDone);
  }

  /** Appends above the cut that are still under way count no more. */
  void cut(long serial, long lengthBytes, long now) {
    for (int i = underWay.size(); i > 0; i--) {
      UnderWay each = underWay.remove();
      underWay.add(
          each.serial() > serial ? new UnderWay(each.id(), each.since(), NO_SERIAL, null) : each);
    }
    durableSerial = Math.min(durableSerial, serial);
    give(new ReplicaAction.Cut(nextId(), serial, lengthBytes), now, NO_SERIAL, null);
  }

  void standing(Certainty certainty, boolean learner, long now) {
    give(new ReplicaAction.StoreStanding(nextId(), certainty, learner), now, NO_SERIAL, null);
  }

  /** Answers the id, by which the checksum comes back. */
  long checksum(long serial, long lengthBytes, long now) {
    long id = nextId();
    give(new ReplicaAction.ComputeChecksum(id, serial, lengthBytes), now, NO_SERIAL, null);
    return id;
  }

  /** Answers the id, by which the records come back. */
  long readBack(long fromSerial, long maxBytes, long now) {
    long id = nextId();
    give(new ReplicaAction.ReadBack(id, fromSerial, maxBytes), now, NO_SERIAL, null);
    return id;
  }

  void compact(ReplicaImage.Snapshot snapshot, long now) {
    give(new ReplicaAction.Compact(nextId(), snapshot), now, NO_SERIAL, null);
  }

  /** Runs it once all that is under way now is done; at once where nothing is. */
  void whenQuiet(Runnable task) {
    UnderWay last = underWay.pollLast();
    if (last == null) {
      task.run();
      return;
    }
    Runnable first = last.whenDone();
    Runnable both =
        first == null
            ? task
            : () -> {
              first.run();
              task.run();
            };
    underWay.add(new UnderWay(last.id(), last.since(), last.serial(), both));
  }

  private long nextId() {
    return ++lastId;
  }

  private void give(ReplicaAction action, long now, long serial, @Nullable Runnable whenDone) {
    if (!failed) {
      underWay.add(new UnderWay(lastId, now, serial, whenDone));
      out.accept(action);
    }
  }

  /** The store is done with all up to this id. */
  void done(long throughId) {
    while (!underWay.isEmpty() && underWay.peek().id() <= throughId) {
      UnderWay each = underWay.remove();
      if (each.serial() != NO_SERIAL) {
        durableSerial = each.serial();
      }
      if (each.whenDone() != null) {
        each.whenDone().run();
      }
    }
  }

  /** When the oldest action under way was given out; {@code Long.MAX_VALUE} where none is. */
  long oldestSince() {
    return underWay.isEmpty() ? Long.MAX_VALUE : underWay.peek().since();
  }

  boolean idle() {
    return underWay.isEmpty();
  }
}
