package io.leasefs.chunkserver.pipeline;

import io.leasefs.common.api.PeerMessage;
import java.util.ArrayDeque;
import java.util.function.BooleanSupplier;
import java.util.function.Consumer;

/**
 * Messages on their way into one stream: keeps their order whoever puts them, without holding a
 * lock while it sends, and holds them back while the stream is not ready.
 */
final class Outlet {
  private final Consumer<PeerMessage> stream;
  private final BooleanSupplier ready;
  private final long maxQueuedBytes;

  /** Guarded by this. */
  private final ArrayDeque<PeerMessage> queue = new ArrayDeque<>();

  /** Guarded by this. */
  private long queuedBytes;

  /** Guarded by this: some thread is sending; nobody else may. */
  private boolean sending;

  /** Guarded by this. */
  private boolean closed;

  Outlet(Consumer<PeerMessage> stream, BooleanSupplier ready, long maxQueuedBytes) {
    this.stream = stream;
    this.ready = ready;
    this.maxQueuedBytes = maxQueuedBytes;
  }

  /** False where it was dropped: closed, or more is queued than the bound allows. */
  boolean put(PeerMessage message) {
    synchronized (this) {
      if (closed || queuedBytes > maxQueuedBytes) {
        return false;
      }
      queue.addLast(message);
      queuedBytes += bytes(message);
    }
    drain();
    return true;
  }

  /** Sends what the stream takes now. */
  void drain() {
    while (true) {
      PeerMessage next;
      synchronized (this) {
        if (sending || closed || queue.isEmpty() || !ready.getAsBoolean()) {
          return;
        }
        sending = true;
        next = queue.removeFirst();
        queuedBytes -= bytes(next);
      }
      try {
        stream.accept(next);
      } finally {
        synchronized (this) {
          sending = false;
        }
      }
    }
  }

  /** Drops what is queued and everything to come. */
  synchronized void close() {
    closed = true;
    queue.clear();
    queuedBytes = 0;
  }

  /** What a message weighs in memory, roughly. */
  static long bytes(PeerMessage message) {
    return 256 + payloadBytes(message);
  }

  /** The payload that a message carries, bytes. */
  static long payloadBytes(PeerMessage message) {
    return switch (message) {
      case PeerMessage.Forward forward -> forward.mutation().payload().remaining();
      case PeerMessage.Recovery recovery -> recovery.mutation().payload().remaining();
      case PeerMessage.Committed committed -> 0;
      case PeerMessage.ChainProgress progress -> 0;
      case PeerMessage.Reconcile reconcile -> 0;
      case PeerMessage.Reconciled reconciled -> 0;
      case PeerMessage.ReconcileRefused refused -> 0;
      case PeerMessage.RecoveryProgress progress -> 0;
      case PeerMessage.CommittedQuery query -> 0;
      case PeerMessage.CommittedAnswer answer -> 0;
      case PeerMessage.PromiseQuery query -> 0;
      case PeerMessage.PromiseAnswer answer -> 0;
    };
  }
}
