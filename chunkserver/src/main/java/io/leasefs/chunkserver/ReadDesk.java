package io.leasefs.chunkserver;

import io.leasefs.chunkserver.read.BoundedExecutor;
import io.leasefs.chunkserver.read.BufferPool;
import io.leasefs.chunkserver.read.Pump;
import io.leasefs.chunkserver.replica.ReplicaAction;
import io.leasefs.chunkserver.replica.ReplicaEvent;
import io.leasefs.common.api.ChunkApi.ReadEnd;
import io.leasefs.common.api.ChunkApi.ReadPart;
import io.leasefs.common.api.ChunkApi.ReadRequest;
import io.leasefs.common.api.ChunkApi.Sink;
import io.leasefs.common.error.ErrorCode;
import io.leasefs.common.error.LeaseFsException;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicInteger;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Serves reads: the chunk's core decides whether and how far, a {@link Pump} moves the bytes. A
 * block that does not match is never sent: all before it is, then the read fails with CORRUPT, and
 * the copy counts as damaged from then on, which the master answers by having it made anew. Any
 * thread.
 */
final class ReadDesk {
  private static final Logger logger = LoggerFactory.getLogger(ReadDesk.class);

  /** Most bytes in a part. */
  static final int PART_BYTES = 512 << 10;

  /** A part's buffer: what the store reads around a part that begins inside a block. */
  static final int BUFFER_BYTES = PART_BYTES + (128 << 10);

  private static final int BLOCK = 64 << 10;

  private final ReplicaTable table;
  private final BoundedExecutor executor;
  private final BufferPool buffers;
  private final int mostOpen;
  private final AtomicInteger open = new AtomicInteger();

  ReadDesk(ReplicaTable table, BoundedExecutor executor, BufferPool buffers, int mostOpen) {
    this.table = table;
    this.executor = executor;
    this.buffers = buffers;
    this.mostOpen = mostOpen;
  }

  CompletableFuture<ReadEnd> read(ReadRequest request, Sink<ReadPart> parts) {
    if (request.offset() < 0 || request.lengthBytes() < 0) {
      return CompletableFuture.failedFuture(
          new LeaseFsException(
              ErrorCode.INVALID_ARGUMENT,
              "read of " + request.lengthBytes() + " bytes at " + request.offset()));
    }
    if (open.incrementAndGet() > mostOpen) {
      open.decrementAndGet();
      return CompletableFuture.failedFuture(
          new LeaseFsException(ErrorCode.BUSY, "more than " + mostOpen + " reads are under way"));
    }
    CompletableFuture<ReadEnd> future = new CompletableFuture<>();
    CompletableFuture<ReadEnd> counted =
        future.whenComplete((end, failure) -> open.decrementAndGet());
    table.stripe(request.chunk()).execute(() -> arrived(request, parts, future));
    return counted;
  }

  private void arrived(
      ReadRequest request, Sink<ReadPart> parts, CompletableFuture<ReadEnd> future) {
    ReplicaLoop loop = table.find(request.chunk());
    if (loop == null) {
      future.completeExceptionally(
          new LeaseFsException(
              ErrorCode.NOT_FOUND, "chunk " + request.chunk() + " is not at this server"));
      return;
    }
    long ticket =
        loop.admit(
            decision -> {
              switch (decision) {
                case ReplicaAction.ServeRead serve ->
                    whenPublished(loop, serve, () -> serve(loop, request, serve, parts, future));
                case ReplicaAction.RefuseRead refuse ->
                    future.completeExceptionally(
                        new LeaseFsException(refuse.code(), refuse.message()));
                default ->
                    future.completeExceptionally(
                        new LeaseFsException(ErrorCode.INTERNAL, "no answer to a read"));
              }
            });
    loop.step(new ReplicaEvent.ReadArrived(ticket, request));
  }

  /** The core is ahead of the disk: what it says is committed may be published a moment later. */
  private static void whenPublished(
      ReplicaLoop loop, ReplicaAction.ServeRead serve, Runnable task) {
    if (loop.stored().committedSerial() >= serve.serial()) {
      task.run();
    } else {
      loop.afterDisk(task);
    }
  }

  private void serve(
      ReplicaLoop loop,
      ReadRequest request,
      ReplicaAction.ServeRead serve,
      Sink<ReadPart> parts,
      CompletableFuture<ReadEnd> future) {
    long wanted = Math.min(request.lengthBytes(), serve.lengthBytes() - request.offset());
    new Pump<>(
            executor,
            new Source(loop, serve, request.offset(), request.offset() + Math.max(0, wanted)),
            parts,
            future)
        .start();
  }

  /** Committed bytes of one chunk, from an offset on. */
  private final class Source implements Pump.Source<ReadPart, ReadEnd> {
    private final ReplicaLoop loop;
    private final ReplicaAction.ServeRead serve;
    private final long end;
    private long offset;

    /** Bytes of a part; one block from the first bad one on, so that all before it is sent. */
    private int step = PART_BYTES;

    Source(ReplicaLoop loop, ReplicaAction.ServeRead serve, long offset, long end) {
      this.loop = loop;
      this.serve = serve;
      this.offset = offset;
      this.end = end;
    }

    @Override
    public boolean next(Sink<ReadPart> sink) throws IOException {
      if (offset >= end) {
        return false;
      }
      // Parts end at whole blocks, so that the next one need not read a block twice.
      long partEnd = Math.min(end, (offset + step) / BLOCK * BLOCK);
      ByteBuffer buffer = buffers.take();
      try {
        ReadPart part;
        try {
          part =
              loop.stored()
                  .read(offset, (int) (partEnd - offset), serve.lengthBytes(), n -> buffer);
        } catch (LeaseFsException e) {
          if (e.code() != ErrorCode.CORRUPT || step == BLOCK) {
            throw e;
          }
          step = BLOCK;
          return true;
        }
        int length = part.payload().remaining();
        if (length == 0) {
          throw new LeaseFsException(
              ErrorCode.STALE_VERSION, "the chunk was cut while it was read");
        }
        sink.accept(part);
        offset += length;
      } finally {
        buffers.give(buffer);
      }
      return offset < end;
    }

    @Override
    public ReadEnd end() {
      return new ReadEnd(serve.lengthBytes(), serve.version(), serve.sealed());
    }

    @Override
    public Throwable failed(Exception failure) {
      if (failure instanceof LeaseFsException told) {
        if (told.code() == ErrorCode.CORRUPT) {
          logger.error("damage found chunk={} reason=\"{}\"", loop.handle(), told.getMessage());
          loop.post(new ReplicaEvent.DamageFound(String.valueOf(told.getMessage())));
        }
        return told;
      }
      logger.error(
          "read failed chunk={} offset={} reason=\"{}\"",
          loop.handle(),
          offset,
          failure.toString());
      return new LeaseFsException(
          ErrorCode.CORRUPT, "chunk " + loop.handle() + " cannot be read here: " + failure);
    }
  }
}
