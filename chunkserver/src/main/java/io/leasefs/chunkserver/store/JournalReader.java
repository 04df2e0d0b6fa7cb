package io.leasefs.chunkserver.store;

import io.leasefs.common.edge.DiskFile;
import java.io.IOException;
import java.nio.ByteBuffer;

/** Reads a journal from front to back through one window. Not thread-safe. */
final class JournalReader {
  private static final int WINDOW = 64 << 10;

  private final DiskFile file;
  private final long fileSize;
  private ByteBuffer window = ByteBuffer.allocate(0);
  private long windowAt;

  JournalReader(DiskFile file, long fileSize) {
    this.file = file;
    this.fileSize = fileSize;
  }

  /**
   * Length of the whole record that begins at the position.
   *
   * @throws CorruptBlockException where there is no such record in the file
   */
  int size(long position) throws IOException {
    if (fileSize - position < JournalCodec.PREFIX) {
      throw new CorruptBlockException("the file ends in a record's first bytes");
    }
    int length = bytes(position, JournalCodec.PREFIX).getInt();
    if (length <= 0
        || length > JournalCodec.MAX_RECORD
        || length > fileSize - position - JournalCodec.PREFIX) {
      throw new CorruptBlockException("a record of " + length + " bytes");
    }
    return length + JournalCodec.PREFIX;
  }

  /** True where the file ends before the record that begins here does: the write was cut short. */
  boolean runsPastTheEnd(long position) throws IOException {
    if (fileSize - position < JournalCodec.PREFIX) {
      return true;
    }
    int length = bytes(position, JournalCodec.PREFIX).getInt();
    return length > fileSize - position - JournalCodec.PREFIX;
  }

  /**
   * The record, without payload but for what is no content.
   *
   * @throws CorruptBlockException where it is broken
   */
  JournalRecord read(long position, int size) throws IOException {
    ByteBuffer bytes = bytes(position, size);
    try {
      return JournalCodec.read(bytes, false);
    } catch (IOException e) {
      throw new CorruptBlockException(String.valueOf(e.getMessage()));
    }
  }

  /** A view of these bytes, which the file has. */
  private ByteBuffer bytes(long position, int count) throws IOException {
    boolean inside = position >= windowAt && position + count <= windowAt + window.limit();
    if (!inside) {
      int wanted = (int) Math.min(Math.max(count, WINDOW), fileSize - position);
      window = Journal.read(file, position, wanted);
      windowAt = position;
    }
    return window.slice((int) (position - windowAt), count);
  }
}
