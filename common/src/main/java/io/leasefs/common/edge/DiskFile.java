package io.leasefs.common.edge;

import java.io.Closeable;
import java.io.IOException;
import java.nio.ByteBuffer;

/** An open file of a {@link Disk}; its contract of threads, failure and durability holds here. */
public interface DiskFile extends Closeable {
  /**
   * Reads up to {@code target.remaining()} bytes from the position.
   *
   * @return bytes read, -1 at or past the end
   */
  int read(ByteBuffer target, long position) throws IOException;

  /** Writes all remaining bytes at the position; a gap reads as zeros. */
  void write(ByteBuffer source, long position) throws IOException;

  /** Writes all buffers, one after another, from the position. */
  default void write(ByteBuffer[] sources, long position) throws IOException {
    long at = position;
    for (ByteBuffer source : sources) {
      int length = source.remaining();
      write(source, at);
      at += length;
    }
  }

  /** Length in bytes. */
  long size() throws IOException;

  /** Cuts the file to at most this length. */
  void truncate(long length) throws IOException;

  /** Makes what was written, and the length, durable. */
  void force() throws IOException;

  @Override
  void close() throws IOException;
}
