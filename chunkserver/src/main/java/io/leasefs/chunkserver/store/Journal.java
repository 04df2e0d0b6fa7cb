package io.leasefs.chunkserver.store;

import io.leasefs.chunkserver.store.JournalCodec.Watermark;
import io.leasefs.common.edge.DiskFile;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;

/**
 * A chunk's journal as a file: appends records, keeps the watermark. Written by the chunk's {@link
 * ActionQueue} alone; {@link #read} from any thread.
 */
final class Journal {
  private final DiskFile file;
  private long end;
  private Watermark written;

  /** Goes on at {@code end}. */
  Journal(DiskFile file, long end, Watermark written) {
    this.file = file;
    this.end = end;
    this.written = written;
  }

  /** Begins a new, empty file. */
  static Journal create(DiskFile file, JournalHeader header) throws IOException {
    Watermark none = Watermark.NONE;
    ByteBuffer empty = JournalCodec.watermark(none);
    file.write(new ByteBuffer[] {JournalCodec.header(header), empty, empty.duplicate()}, 0);
    return new Journal(file, JournalCodec.RECORDS_AT, none);
  }

  DiskFile file() {
    return file;
  }

  /** Bytes of the file. */
  long end() {
    return end;
  }

  Watermark watermark() {
    return written;
  }

  /** Writes it in turn to one of the two sectors, so that one of them is always whole. */
  void writeWatermark(long journalBytes, long dataSerial) throws IOException {
    Watermark mark = new Watermark(written.sequence() + 1, journalBytes, dataSerial);
    long at = JournalCodec.SECTOR * (1 + mark.sequence() % 2);
    file.write(JournalCodec.watermark(mark), at);
    written = mark;
  }

  /** A batch of records, written at once by {@link Batch#flush}. */
  Batch batch(ByteBuffer scratch) {
    return new Batch(scratch);
  }

  /** One record alone. */
  long append(JournalRecord entry) throws IOException {
    Batch batch = batch(ByteBuffer.allocate(JournalCodec.size(entry)));
    long position = batch.add(entry, EMPTY);
    batch.flush();
    return position;
  }

  private static final ByteBuffer EMPTY = ByteBuffer.allocate(0);

  /** Reads exactly these bytes. */
  static ByteBuffer read(DiskFile file, long position, int length) throws IOException {
    ByteBuffer bytes = ByteBuffer.allocate(length);
    readFully(file, position, bytes);
    return bytes.flip();
  }

  static void readFully(DiskFile file, long position, ByteBuffer bytes) throws IOException {
    long at = position;
    while (bytes.hasRemaining()) {
      int count = file.read(bytes, at);
      if (count < 0) {
        throw new IOException(file + ": ends at " + at + ", " + bytes.remaining() + " bytes short");
      }
      at += count;
    }
  }

  /** Collects records; payloads are not copied. */
  final class Batch {
    private ByteBuffer scratch;
    private int segmentStart;
    private final List<ByteBuffer> parts = new ArrayList<>();
    private long at = end;

    private Batch(ByteBuffer scratch) {
      this.scratch = scratch.clear();
    }

    /**
     * Adds a record; its payload, where it is inside, must stay as it is until {@link #flush}.
     *
     * @return where the record begins in the file
     */
    long add(JournalRecord entry, ByteBuffer payload) throws IOException {
      int size = JournalCodec.size(entry);
      if (scratch.remaining() < size) {
        flush();
        if (scratch.capacity() < size) {
          scratch = ByteBuffer.allocate(size);
        }
      }
      long position = at;
      JournalCodec.write(entry, scratch);
      at += size;
      int inside = JournalCodec.payloadInside(entry);
      if (inside > 0) {
        if (payload.remaining() != inside) {
          throw new IllegalArgumentException(payload.remaining() + " bytes, not " + inside);
        }
        endSegment();
        parts.add(payload.duplicate());
        at += inside;
      }
      return position;
    }

    private void endSegment() {
      if (scratch.position() > segmentStart) {
        parts.add(scratch.duplicate().limit(scratch.position()).position(segmentStart));
        segmentStart = scratch.position();
      }
    }

    /** Writes what has been added; nothing happens where nothing was. */
    void flush() throws IOException {
      endSegment();
      if (!parts.isEmpty()) {
        file.write(parts.toArray(new ByteBuffer[0]), end);
        end = at;
        parts.clear();
      }
      scratch.clear();
      segmentStart = 0;
    }
  }
}
