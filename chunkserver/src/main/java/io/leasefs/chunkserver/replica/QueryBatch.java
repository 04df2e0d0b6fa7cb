package io.leasefs.chunkserver.replica;

import java.util.ArrayList;
import java.util.List;
import java.util.function.LongConsumer;

/**
 * Reads that wait for one question to be answered. A read is answered only by a question that was
 * asked after the read arrived; so one is under way, and the next takes all that came meanwhile.
 */
final class QueryBatch {
  private static final long AGAIN_NANOS = 300_000_000;

  private final LongConsumer ask;
  private List<WaitingRead> asked = new ArrayList<>();
  private List<WaitingRead> next = new ArrayList<>();
  private long number;
  private long askedAt;

  /** Somebody's read. */
  record WaitingRead(long ticket, long since) {}

  /** {@code ask} sends the question with this number. */
  QueryBatch(LongConsumer ask) {
    this.ask = ask;
  }

  void add(long ticket, long now) {
    next.add(new WaitingRead(ticket, now));
    launch(now);
  }

  private void launch(long now) {
    if (asked.isEmpty() && !next.isEmpty()) {
      List<WaitingRead> free = asked;
      asked = next;
      next = free;
      number++;
      askedAt = now;
      ask.accept(number);
    }
  }

  /** The reads that this answer is for; none where it is late. */
  List<WaitingRead> answered(long answeredNumber, long now) {
    if (answeredNumber != number || asked.isEmpty()) {
      return List.of();
    }
    List<WaitingRead> done = asked;
    asked = new ArrayList<>();
    launch(now);
    return done;
  }

  /** Takes out all that wait. */
  List<WaitingRead> drain() {
    List<WaitingRead> all = new ArrayList<>(asked);
    all.addAll(next);
    asked.clear();
    next.clear();
    return all;
  }

  /** Takes out those that have waited too long; asks again where the question may be lost. */
  List<WaitingRead> tick(long now, long timeoutNanos) {
    List<WaitingRead> late = new ArrayList<>();
    takeLate(asked, late, now, timeoutNanos);
    takeLate(next, late, now, timeoutNanos);
    if (asked.isEmpty()) {
      launch(now);
    } else if (now - askedAt >= AGAIN_NANOS) {
      askedAt = now;
      ask.accept(number);
    }
    return late;
  }

  private static void takeLate(
      List<WaitingRead> from, List<WaitingRead> late, long now, long timeoutNanos) {
    from.removeIf(read -> now - read.since() >= timeoutNanos && late.add(read));
  }

  void drop(long ticket) {
    asked.removeIf(read -> read.ticket() == ticket);
    next.removeIf(read -> read.ticket() == ticket);
  }

  int size() {
    return asked.size() + next.size();
  }
}
