package io.leasefs.client;

import io.leasefs.client.data.AsyncAppender;
import io.leasefs.client.data.Written;
import io.leasefs.client.edge.Futures;
import io.leasefs.common.api.Frame;
import io.leasefs.common.error.ErrorCode;
import io.leasefs.common.error.LeaseFsException;
import io.leasefs.common.model.AppendResult;
import io.leasefs.common.model.FileStatus;
import java.nio.ByteBuffer;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Phaser;
import java.util.concurrent.Semaphore;

/**
 * Appends records to a file that many may append to at once: each record whole, in one chunk,
 * exactly once, at a place that the file chooses. Any thread; records of one thread keep their
 * order. A failed append has the code OUTCOME_UNKNOWN where the record may be in the file.
 */
public final class RecordAppender implements AutoCloseable {
  /** The most bytes in a record. */
  public static final int MAX_RECORD_BYTES = Frame.MAX_PAYLOAD;

  /** The most records under way; one more waits. */
  private static final int MAX_UNDER_WAY = 4096;

  private static final int KIB = 1024;

  private final AsyncAppender appender;
  private final boolean endsSession;
  private final Semaphore records = new Semaphore(MAX_UNDER_WAY);
  private final Semaphore kibibytes;
  private final int allKibibytes;
  private final Phaser underWay = new Phaser(1);
  private boolean closed;

  RecordAppender(AsyncAppender appender, long maxBytesUnderWay, boolean endsSession) {
    this.appender = appender;
    this.endsSession = endsSession;
    this.allKibibytes = (int) Math.min(1 << 30, Math.max(1025, maxBytesUnderWay / KIB));
    this.kibibytes = new Semaphore(allKibibytes);
  }

  /** The file, as it was when opened. */
  public FileStatus status() {
    return appender.status();
  }

  /** Appends all remaining bytes as one record and waits for its place. */
  public AppendResult append(ByteBuffer record) {
    return Waits.join(appendAsync(record));
  }

  /**
   * The same without waiting, but for room: at most 4096 records and the write window's bytes are
   * under way.
   *
   * @param record its bytes must not change until the answer is there
   */
  public CompletableFuture<AppendResult> appendAsync(ByteBuffer record) {
    int length = record.remaining();
    if (length > MAX_RECORD_BYTES) {
      throw new LeaseFsException(
          ErrorCode.RECORD_TOO_LARGE,
          status().path() + ": a record of " + length + " bytes; at most " + MAX_RECORD_BYTES,
          "split it, or write a file");
    }
    int cost = 1 + length / KIB;
    acquire(records, 1);
    acquire(kibibytes, cost);
    CompletableFuture<Written> written;
    synchronized (this) {
      if (closed) {
        throw new LeaseFsException(
            ErrorCode.INVALID_ARGUMENT, status().path() + ": the appender is closed");
      }
      underWay.register();
      written = appender.append(record.slice());
    }
    CompletableFuture<AppendResult> result = new CompletableFuture<>();
    Futures.onDone(
        written,
        done -> {
          settled(cost);
          result.complete(done.result().orElseThrow());
        },
        failure -> {
          settled(cost);
          result.completeExceptionally(failure);
        });
    return result;
  }

  private void settled(int cost) {
    records.release();
    kibibytes.release(cost);
    underWay.arriveAndDeregister();
  }

  private static void acquire(Semaphore semaphore, int permits) {
    try {
      semaphore.acquire(permits);
    } catch (InterruptedException interrupted) {
      Thread.currentThread().interrupt();
      throw new LeaseFsException(ErrorCode.TIMED_OUT, "interrupted while waiting for room");
    }
  }

  /** Waits for all records under way, then closes. Closing again does nothing. */
  @Override
  public void close() {
    synchronized (this) {
      if (closed) {
        return;
      }
      closed = true;
    }
    int unused = underWay.arriveAndAwaitAdvance();
    FileStatus ignored = Waits.join(appender.close(Optional.empty(), endsSession));
  }
}
