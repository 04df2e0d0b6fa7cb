package io.leasefs.client;

import io.leasefs.client.data.AsyncReader;
import io.leasefs.client.data.BufferPool;
import io.leasefs.client.edge.Futures;
import io.leasefs.common.api.Frame;
import io.leasefs.common.error.ErrorCode;
import io.leasefs.common.error.LeaseFsException;
import io.leasefs.common.model.FileId;
import io.leasefs.common.model.FilePath;
import java.io.InputStream;
import java.nio.ByteBuffer;
import java.util.ArrayDeque;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;

/**
 * Reads a file: in sequence with read-ahead, or at any position. Every byte has been checked
 * against its checksum. Positional reads may run on many threads at once; the sequential ones take
 * turns.
 */
public final class FileReader implements AutoCloseable {
  private static final int PART = Frame.MAX_PAYLOAD;

  private final AsyncReader reader;
  private final BufferPool pool;
  private final int maxParts;

  private final ArrayDeque<Part> ahead = new ArrayDeque<>();
  private long position;
  private int wantedParts = 1;
  private volatile boolean closed;

  /** Bytes asked for ahead; the buffer is filled once the future is done. */
  private record Part(long from, int bytes, ByteBuffer buffer, CompletableFuture<Integer> filled) {}

  FileReader(AsyncReader reader, BufferPool pool, int readAheadParts) {
    this.reader = reader;
    this.pool = pool;
    this.maxParts = 1 + readAheadParts;
  }

  public FilePath path() {
    return reader.path();
  }

  public FileId file() {
    return reader.file();
  }

  /** The file's length now, bytes; of a file that is being written, what is committed. */
  public long length() {
    return Waits.join(reader.length());
  }

  // positional

  /**
   * Reads at a position, whatever the sequential reads do.
   *
   * @return bytes read, fewer than the target has room for only at the end of the file; -1 at it
   */
  public int read(long at, ByteBuffer target) {
    checkOpen();
    if (!target.hasRemaining()) {
      return 0;
    }
    return Waits.join(reader.read(at, target));
  }

  /** Fills the target from the position; fails with INVALID_ARGUMENT where the file ends before. */
  public void readFully(long at, ByteBuffer target) {
    int wanted = target.remaining();
    int got = 0;
    while (got < wanted) {
      int part = read(at + got, target);
      if (part < 0) {
        throw new LeaseFsException(
            ErrorCode.INVALID_ARGUMENT,
            path() + ": ends before " + (at + wanted) + ": at " + (at + got));
      }
      got += part;
    }
  }

  // sequential

  /** Where the next sequential read begins. */
  public synchronized long position() {
    return position;
  }

  /** Moves the sequential position; any place, past the end too. */
  public synchronized void seek(long to) {
    if (to < 0) {
      throw new IllegalArgumentException("negative position: " + to);
    }
    if (to != position) {
      position = to;
    }
  }

  /** Reads on; answers how many bytes came, -1 at the end of the file. */
  public synchronized int read(ByteBuffer target) {
    checkOpen();
    if (!target.hasRemaining()) {
      return 0;
    }
    Part part = partAtPosition();
    int filled;
    try {
      filled = Waits.join(part.filled());
    } catch (LeaseFsException failed) {
      dropAhead();
      throw failed;
    }
    int skip = (int) (position - part.from());
    if (filled <= skip) {
      dropAhead();
      return -1;
    }
    int count = Math.min(target.remaining(), filled - skip);
    ByteBuffer bytes = part.buffer().duplicate();
    bytes.position(skip).limit(skip + count);
    target.put(bytes);
    position += count;
    if (skip + count == filled) {
      consumed(part, filled);
    }
    return count;
  }

  public int read(byte[] bytes, int from, int length) {
    Objects.checkFromIndexSize(from, length, bytes.length);
    return read(ByteBuffer.wrap(bytes, from, length));
  }

  /** The first part ahead, which holds the position; those behind it are under way too. */
  private Part partAtPosition() {
    Part first = ahead.peekFirst();
    if (first != null && (position < first.from() || position >= first.from() + first.bytes())) {
      dropAhead();
      wantedParts = 1;
    }
    askAhead();
    return Objects.requireNonNull(ahead.peekFirst());
  }

  private void askAhead() {
    long sealedEnd = reader.sealedEnd();
    while (ahead.size() < wantedParts) {
      Part last = ahead.peekLast();
      long from = last == null ? position : last.from() + last.bytes();
      if (last != null && from >= sealedEnd) {
        return;
      }
      int bytes = (int) Math.min(PART, sealedEnd > from ? sealedEnd - from : PART);
      ByteBuffer buffer = pool.take();
      buffer.limit(bytes);
      ahead.addLast(new Part(from, bytes, buffer, reader.read(from, buffer)));
    }
  }

  private void consumed(Part part, int filled) {
    ahead.removeFirst();
    pool.giveBack(part.buffer());
    if (filled < part.bytes()) {
      // What follows was asked for from beyond a gap.
      dropAhead();
    }
    wantedParts = Math.min(maxParts, wantedParts * 2);
    if (position < reader.sealedEnd()) {
      askAhead();
    }
  }

  private void dropAhead() {
    for (Part part : ahead) {
      // Its buffer is in use until the answer is there.
      Futures.onDone(part.filled(), count -> pool.giveBack(part.buffer()), failure -> {});
    }
    ahead.clear();
  }

  /** The sequential reads as a stream; closing it closes this reader. */
  public InputStream stream() {
    return new InputStream() {
      private final byte[] one = new byte[1];

      @Override
      public int read() {
        return FileReader.this.read(one, 0, 1) < 0 ? -1 : one[0] & 0xff;
      }

      @Override
      public int read(byte[] bytes, int from, int length) {
        return FileReader.this.read(bytes, from, length);
      }

      @Override
      public void close() {
        FileReader.this.close();
      }
    };
  }

  private void checkOpen() {
    if (closed) {
      throw new LeaseFsException(ErrorCode.INVALID_ARGUMENT, path() + ": the reader is closed");
    }
  }

  @Override
  public synchronized void close() {
    closed = true;
    dropAhead();
  }
}
