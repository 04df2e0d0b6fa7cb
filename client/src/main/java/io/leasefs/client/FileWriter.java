package io.leasefs.client;

import io.leasefs.client.data.AsyncAppender;
import io.leasefs.client.data.BufferPool;
import io.leasefs.client.data.Written;
import io.leasefs.common.api.Frame;
import io.leasefs.common.api.MasterApi.Publication;
import io.leasefs.common.checksum.Checksums;
import io.leasefs.common.error.ErrorCode;
import io.leasefs.common.error.LeaseFsException;
import io.leasefs.common.model.FileId;
import io.leasefs.common.model.FileStatus;
import io.leasefs.common.model.SealedChunk;
import java.io.OutputStream;
import java.nio.ByteBuffer;
import java.util.ArrayDeque;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/**
 * Writes bytes to the end of a file. Small writes are gathered into frames of 1 MiB, several of
 * which are under way at a time. What {@link #flush} has returned for is at every replica (in the
 * kernel, or on disk where the file is {@code synced}) and visible to every reader.
 *
 * <p>For one thread at a time (a second one waits). Every failure is a {@link LeaseFsException};
 * after one nothing more can be written.
 */
public final class FileWriter extends OutputStream {
  private final AsyncAppender appender;
  private final BufferPool pool;
  private final int maxUnderWay;
  private final boolean sealsAtClose;
  private final boolean endsSession;

  private final ArrayDeque<UnderWay> underWay = new ArrayDeque<>();
  private @Nullable ByteBuffer current;
  private @Nullable LeaseFsException failure;
  private Optional<SealedChunk> seal = Optional.empty();
  private @Nullable FileStatus closedAs;
  private boolean closed;
  private boolean publishing;
  private long written;
  private long acknowledged;

  private record UnderWay(CompletableFuture<Written> future, @Nullable ByteBuffer buffer) {}

  FileWriter(
      AsyncAppender appender,
      BufferPool pool,
      int maxUnderWay,
      boolean sealsAtClose,
      boolean endsSession) {
    this.appender = appender;
    this.pool = pool;
    this.maxUnderWay = maxUnderWay;
    this.sealsAtClose = sealsAtClose;
    this.endsSession = endsSession;
  }

  /** The file, as it was when opened. */
  public FileStatus status() {
    return appender.status();
  }

  /** The file's identity, which outlives its name. */
  public FileId file() {
    return appender.status().id();
  }

  /** Bytes written through this writer, acknowledged or not. */
  public synchronized long written() {
    return written;
  }

  /** Bytes of this writer that are known to be in the file. */
  public synchronized long acknowledged() {
    return acknowledged;
  }

  @Override
  public synchronized void write(int b) {
    room().put((byte) b);
    written++;
  }

  @Override
  public synchronized void write(byte[] bytes, int from, int length) {
    Objects.checkFromIndexSize(from, length, bytes.length);
    int at = from;
    int left = length;
    while (left > 0) {
      ByteBuffer buffer = room();
      int part = Math.min(left, buffer.remaining());
      buffer.put(bytes, at, part);
      at += part;
      left -= part;
      written += part;
    }
  }

  @Override
  public void write(byte[] bytes) {
    write(bytes, 0, bytes.length);
  }

  /** Writes all remaining bytes. */
  public synchronized void write(ByteBuffer bytes) {
    while (bytes.hasRemaining()) {
      ByteBuffer buffer = room();
      int part = Math.min(bytes.remaining(), buffer.remaining());
      ByteBuffer slice = bytes.duplicate();
      slice.limit(slice.position() + part);
      buffer.put(slice);
      bytes.position(bytes.position() + part);
      written += part;
    }
  }

  /**
   * A buffer with room. A full one leaves only now, so that at close the last can carry the seal.
   */
  private ByteBuffer room() {
    check();
    ByteBuffer buffer = current;
    if (buffer != null && !buffer.hasRemaining()) {
      ship(buffer, false);
      buffer = null;
    }
    if (buffer == null) {
      while (underWay.size() >= maxUnderWay) {
        settleFirst();
      }
      check();
      buffer = pool.take();
      current = buffer;
    }
    return buffer;
  }

  private void ship(ByteBuffer buffer, boolean endsChunk) {
    current = null;
    buffer.flip();
    Checksums checksums = Checksums.of(buffer, Frame.PIECE);
    underWay.add(new UnderWay(appender.appendNext(buffer, checksums, endsChunk), buffer));
    while (!underWay.isEmpty() && underWay.peekFirst().future().isDone()) {
      settleFirst();
    }
  }

  private void settleFirst() {
    UnderWay first = underWay.removeFirst();
    try {
      Written done = Waits.join(first.future());
      seal = done.seal();
      ByteBuffer buffer = first.buffer();
      if (buffer != null) {
        acknowledged += buffer.limit();
        if (done.sentOnce()) {
          pool.giveBack(buffer);
        }
      }
    } catch (LeaseFsException failed) {
      if (failure == null) {
        failure = failed;
      }
    }
  }

  private void check() {
    if (closed) {
      throw new LeaseFsException(
          ErrorCode.INVALID_ARGUMENT, status().path() + ": the writer is closed");
    }
    throwFailure();
  }

  private void throwFailure() {
    if (failure != null) {
      throw failure.saying(String.valueOf(failure.getMessage()));
    }
  }

  /** Waits until all bytes written so far are at every replica and visible. */
  @Override
  public synchronized void flush() {
    check();
    ByteBuffer buffer = current;
    if (buffer != null && buffer.position() > 0) {
      ship(buffer, false);
    }
    while (!underWay.isEmpty()) {
      settleFirst();
    }
    throwFailure();
  }

  /**
   * As {@link #flush}. How much an acknowledgement survives is the file's own {@link
   * io.leasefs.common.model.Durability}: on a {@code synced} file every one is on disk.
   */
  public void sync() {
    flush();
  }

  /**
   * Waits for all bytes and closes. Closing again does nothing. Fails where a byte could not be
   * written; the file is closed in any case.
   */
  @Override
  public void close() {
    close(Optional.empty());
  }

  /** The same; the file gets its name with it. Where it cannot, it is closed without. */
  FileStatus publish(Publication publication) {
    close(Optional.of(publication));
    return closedAs().orElseThrow();
  }

  /** True once the master has been asked for the new name; only then it may have given it. */
  synchronized boolean isPublishing() {
    return publishing;
  }

  private synchronized void close(Optional<Publication> publication) {
    if (closed) {
      return;
    }
    closed = true;
    ByteBuffer last = current;
    if (failure == null && last != null && last.position() > 0) {
      ship(last, sealsAtClose);
    } else if (failure == null && sealsAtClose && written > 0) {
      underWay.add(new UnderWay(appender.seal(), null));
    }
    while (!underWay.isEmpty()) {
      settleFirst();
    }
    if (failure != null || !sealsAtClose) {
      seal = Optional.empty();
    }
    publishing = failure == null && publication.isPresent();
    try {
      closedAs = closeOpening(publishing ? publication : Optional.empty());
    } catch (LeaseFsException failed) {
      if (failure == null) {
        failure = failed;
      }
    }
    throwFailure();
  }

  /** Where another writer has reopened the chunk that we sealed, its seal is no more. */
  private FileStatus closeOpening(Optional<Publication> publication) {
    try {
      return Waits.join(appender.close(seal, publication, endsSession));
    } catch (LeaseFsException failed) {
      if (seal.isPresent() && failed.code() == ErrorCode.STALE_VERSION) {
        seal = Optional.empty();
        return closeOpening(publication);
      }
      if (publication.isPresent()) {
        try {
          FileStatus unused = closeOpening(Optional.empty());
        } catch (LeaseFsException again) {
          failed.addSuppressed(again); // the session's end closes it
        }
      }
      throw failed;
    }
  }

  /** Gives up: what is not acknowledged may or may not be in the file. Never fails. */
  public synchronized void abort() {
    if (closed) {
      return;
    }
    closed = true;
    underWay.clear();
    try {
      closedAs = Waits.join(appender.close(Optional.empty(), endsSession));
    } catch (LeaseFsException ignored) {
      // The session's end closes it.
    }
  }

  /** The file as it was closed, with its length; empty while open. */
  public synchronized Optional<FileStatus> closedAs() {
    return Optional.ofNullable(closedAs);
  }
}
