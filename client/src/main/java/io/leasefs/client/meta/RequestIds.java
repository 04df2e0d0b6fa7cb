package io.leasefs.client.meta;

import io.leasefs.common.model.ClientId;
import io.leasefs.common.model.RequestId;
import java.util.ArrayDeque;
import java.util.Queue;
import java.util.TreeSet;
import java.util.function.Consumer;

/**
 * Numbers a client's changes and keeps the floor: the lowest number whose answer is still awaited.
 * The master remembers results of at most {@value #WINDOW} numbers from the floor on, so a change
 * further up waits here.
 *
 * <p>Any thread; waiters are called outside the lock.
 */
final class RequestIds {
  /** What the master remembers above a client's floor. */
  static final int WINDOW = 64;

  private final ClientId client;
  private final TreeSet<Long> awaited = new TreeSet<>();
  private final Queue<Consumer<RequestId>> waiting = new ArrayDeque<>();
  private long next = 1;
  private long newestForgetting;

  RequestIds(ClientId client) {
    this.client = client;
  }

  /** What ids name from now on: never less than before. */
  synchronized void told(long forgetting) {
    newestForgetting = Math.max(newestForgetting, forgetting);
  }

  /** Gives the next id to the taker: at once, or when an older one has been answered. */
  void take(Consumer<RequestId> taker) {
    RequestId id;
    synchronized (this) {
      if (!waiting.isEmpty() || !hasRoom()) {
        waiting.add(taker);
        return;
      }
      id = draw();
    }
    taker.accept(id);
  }

  /** The answer has come, or nobody waits for it any more. */
  void done(RequestId id) {
    synchronized (this) {
      awaited.remove(id.sequence());
    }
    while (true) {
      Consumer<RequestId> taker;
      RequestId drawn;
      synchronized (this) {
        if (waiting.isEmpty() || !hasRoom()) {
          return;
        }
        taker = waiting.remove();
        drawn = draw();
      }
      taker.accept(drawn);
    }
  }

  private boolean hasRoom() {
    return awaited.isEmpty() || next < awaited.first() + WINDOW;
  }

  private RequestId draw() {
    long sequence = next++;
    awaited.add(sequence);
    return new RequestId(client, sequence, awaited.first(), newestForgetting);
  }
}
