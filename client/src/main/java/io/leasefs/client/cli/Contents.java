package io.leasefs.client.cli;

import io.leasefs.client.FileReader;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.ByteBuffer;
import java.util.function.LongConsumer;

/** Copies ranges of files to a stream, in large pieces and with one buffer. */
final class Contents {
  private static final int PIECE = 1 << 20;

  private Contents() {}

  /**
   * Copies up to {@code length} bytes from {@code offset}; fewer where the file ends.
   *
   * @return bytes copied
   */
  static long copy(FileReader reader, long offset, long length, OutputStream out, LongConsumer done)
      throws IOException {
    reader.seek(offset);
    byte[] piece = new byte[(int) Math.min(PIECE, Math.max(1, length))];
    long copied = 0;
    while (copied < length) {
      int wanted = (int) Math.min(piece.length, length - copied);
      int got = reader.read(piece, 0, wanted);
      if (got < 0) {
        break;
      }
      out.write(piece, 0, got);
      copied += got;
      done.accept(got);
    }
    return copied;
  }

  /** The offset at which the last {@code lines} lines begin. */
  static long startOfLastLines(FileReader reader, long lines) {
    long end = reader.length();
    long left = lines;
    ByteBuffer piece = ByteBuffer.allocate(1 << 16);
    boolean first = true;
    while (end > 0) {
      int size = (int) Math.min(piece.capacity(), end);
      piece.clear().limit(size);
      reader.readFully(end - size, piece);
      for (int i = size - 1; i >= 0; i--) {
        boolean lastByte = first && i == size - 1;
        if (piece.get(i) == '\n' && !lastByte && --left == 0) {
          return end - size + i + 1;
        }
      }
      first = false;
      end -= size;
    }
    return 0;
  }
}
