package io.leasefs.chunkserver;

import io.leasefs.common.rpc.PayloadPool;
import java.nio.ByteBuffer;
import java.util.ArrayDeque;
import java.util.function.Consumer;

/**
 * Payloads of one chunk's records that are not committed, and which of them may be used again once
 * they are. One is given back only where nobody can read it any more: it was sent once at most, and
 * its commit tells that whoever it was sent to has it. What is sent again may lie in a peer's queue
 * a second time; what is pending when a version ends may lie in the queue of a server that has no
 * part in the next one. Both are left to the garbage collector (see {@link PayloadPool}).
 *
 * <p>On the chunk's executor.
 */
final class PayloadLedger {
  private record Row(long serial, ByteBuffer payload) {}

  private final Consumer<ByteBuffer> released;

  /** By serial. */
  private final ArrayDeque<Row> rows = new ArrayDeque<>();

  /** The highest serial that was sent on in this version. */
  private long sentThrough;

  /**
   * @param released is given each payload that nobody reads any more
   */
  PayloadLedger(Consumer<ByteBuffer> released) {
    this.released = released;
  }

  /** The disk is given this record. */
  void appended(long serial, ByteBuffer payload) {
    if (payload.hasRemaining()) {
      rows.addLast(new Row(serial, payload));
    }
  }

  /** The record goes to the next member of the chain. */
  void sent(long serial) {
    if (serial > sentThrough) {
      sentThrough = serial;
    } else {
      rows.removeIf(row -> row.serial == serial);
    }
  }

  /** All up to this serial is committed: on this disk, and at every member. */
  void committed(long serial) {
    while (!rows.isEmpty() && rows.getFirst().serial <= serial) {
      released.accept(rows.removeFirst().payload);
    }
  }

  /** All above this serial is dropped; disk and peers may be at one of them. */
  void cut(long serial) {
    while (!rows.isEmpty() && rows.getLast().serial > serial) {
      rows.removeLast();
    }
  }

  /** The version is over: what is pending may be committed without who was sent it. */
  void versionOver() {
    rows.clear();
    sentThrough = 0;
  }
}
