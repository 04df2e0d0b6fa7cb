package io.leasefs.client.cli;

import io.leasefs.client.AtomicPut;
import io.leasefs.client.CreateOptions;
import io.leasefs.client.FileWriter;
import io.leasefs.client.LeaseFs;
import io.leasefs.common.error.LeaseFsException;
import io.leasefs.common.model.FileStatus;
import java.io.IOException;
import java.io.InputStream;
import java.nio.ByteBuffer;
import java.nio.channels.Channels;
import java.nio.channels.ReadableByteChannel;
import java.util.LinkedHashSet;
import java.util.Optional;
import java.util.Queue;
import java.util.Set;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.function.LongConsumer;

/**
 * Puts that are under way: when the process is told to end, their hidden siblings are removed. Any
 * thread.
 */
final class Puts {
  private static final int PIECE = 1 << 20;

  /** Who presses Ctrl-C does not wait for a cluster that does not answer. */
  private static final long PATIENCE_MILLIS = 3_000;

  /** Not in use at the moment: to make one costs more than a small file. */
  private static final Queue<ByteBuffer> PIECES = new ConcurrentLinkedQueue<>();

  private final LeaseFs client;
  private final Set<AutoCloseable> underWay = new LinkedHashSet<>();
  private boolean ended;

  Puts(LeaseFs client) {
    this.client = client;
    Runtime.getRuntime().addShutdownHook(new Thread(this::abortInTime, "end puts"));
  }

  /** Writes the file whole or not at all. */
  long put(
      ReadableByteChannel in,
      String path,
      CreateOptions options,
      boolean replace,
      Optional<Long> modifiedMillis,
      LongConsumer done)
      throws IOException {
    try (AtomicPut put = client.put(path, options, replace)) {
      begin(put);
      try {
        long written = written(in, put, done);
        FileStatus unused = put.commit(modifiedMillis);
        return written;
      } finally {
        end(put);
      }
    }
  }

  private static long written(ReadableByteChannel in, AtomicPut put, LongConsumer done)
      throws IOException {
    try {
      return copy(in, put.writer(), done);
    } catch (LeaseFsException e) {
      throw put.notPut(e);
    }
  }

  /** Writes in place: what is there when it fails, stays. */
  long putDirectly(ReadableByteChannel in, String path, CreateOptions options, LongConsumer done)
      throws IOException {
    try (FileWriter writer = client.create(path, options)) {
      return copy(in, writer, done);
    }
  }

  static long copy(InputStream in, FileWriter writer, LongConsumer done) throws IOException {
    return copy(Channels.newChannel(in), writer, done);
  }

  static long copy(ReadableByteChannel in, FileWriter writer, LongConsumer done)
      throws IOException {
    ByteBuffer piece = PIECES.poll();
    if (piece == null) {
      piece = ByteBuffer.allocateDirect(PIECE);
    }
    try {
      long written = 0;
      while (in.read(piece.clear()) >= 0) {
        piece.flip();
        int length = piece.remaining();
        writer.write(piece);
        written += length;
        done.accept(length);
      }
      return written;
    } finally {
      PIECES.add(piece);
    }
  }

  private synchronized void begin(AutoCloseable put) {
    if (ended) {
      throw new IllegalStateException("the process is ending");
    }
    underWay.add(put);
  }

  private synchronized void end(AutoCloseable put) {
    underWay.remove(put);
  }

  /** What is not removed in time goes with the end of the client's session. */
  private void abortInTime() {
    Thread aborting = new Thread(this::abortAll, "abort puts");
    aborting.setDaemon(true);
    aborting.start();
    try {
      aborting.join(PATIENCE_MILLIS);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  private synchronized void abortAll() {
    ended = true;
    for (AutoCloseable put : underWay) {
      try {
        put.close();
      } catch (LeaseFsException e) {
        // the end of the session removes it
      } catch (Exception e) {
        throw new IllegalStateException(e);
      }
    }
  }
}
