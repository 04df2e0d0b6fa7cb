package io.leasefs.server.events;

import io.leasefs.common.model.ChunkHandle;
import io.leasefs.common.model.ClusterEvent;
import io.leasefs.common.model.EventKind;
import io.leasefs.common.model.ServerId;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.Consumer;
import java.util.function.LongSupplier;

/**
 * The events that one server recorded, numbered from 1: the newest are kept in memory, and each is
 * handed on once, in order (to a file as {@link EventLines}, to whoever waits for one). Any thread.
 */
public final class EventLog implements EventSink {
  /** How many events a server keeps in memory unless told otherwise. */
  public static final int DEFAULT_CAPACITY = 20_000;

  private final ServerId recorder;
  private final LongSupplier monotonicNanos;
  private final LongSupplier wallMillis;
  private final int capacity;
  private final Consumer<ClusterEvent> listener;

  /** Guarded by this. */
  private final ArrayDeque<ClusterEvent> newest = new ArrayDeque<>();

  /** Guarded by this. */
  private long lastNumber;

  /**
   * @param monotonicNanos CLOCK_MONOTONIC ({@code System::nanoTime} on Linux), so that events of
   *     several processes of one machine can be compared
   * @param wallMillis for people
   * @param capacity most events kept in memory
   * @param listener told of each, in order, under this log's lock: it must be quick, must not
   *     throw, and must not call back
   */
  public EventLog(
      ServerId recorder,
      LongSupplier monotonicNanos,
      LongSupplier wallMillis,
      int capacity,
      Consumer<ClusterEvent> listener) {
    if (capacity < 1) {
      throw new IllegalArgumentException("capacity >= 1: " + capacity);
    }
    this.recorder = recorder;
    this.monotonicNanos = monotonicNanos;
    this.wallMillis = wallMillis;
    this.capacity = capacity;
    this.listener = listener;
  }

  @Override
  public synchronized void record(
      EventKind kind,
      Optional<ServerId> subject,
      Optional<ChunkHandle> chunk,
      long version,
      Map<String, String> fields) {
    ClusterEvent event =
        new ClusterEvent(
            ++lastNumber,
            recorder,
            wallMillis.getAsLong(),
            monotonicNanos.getAsLong(),
            kind,
            subject,
            chunk,
            version,
            fields);
    if (newest.size() == capacity) {
      newest.removeFirst();
    }
    newest.addLast(event);
    listener.accept(event);
  }

  /** Events with a number above {@code after}, oldest first, at most {@code limit}. */
  public synchronized List<ClusterEvent> after(long after, int limit) {
    List<ClusterEvent> found = new ArrayList<>();
    Iterator<ClusterEvent> backwards = newest.descendingIterator();
    while (backwards.hasNext()) {
      ClusterEvent event = backwards.next();
      if (event.number() <= after) {
        break;
      }
      found.add(event);
    }
    List<ClusterEvent> oldestFirst = found.reversed();
    return List.copyOf(oldestFirst.subList(0, Math.min(Math.max(0, limit), oldestFirst.size())));
  }

  /** Number of the newest event; 0 where there is none. */
  public synchronized long lastNumber() {
    return lastNumber;
  }
}
