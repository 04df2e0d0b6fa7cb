package io.leasefs.client.data;

import io.leasefs.client.edge.ClientEdges;
import io.leasefs.client.edge.Futures;
import io.leasefs.client.meta.LocationCache;
import io.leasefs.client.meta.MasterRouter;
import io.leasefs.client.retry.RetryPolicy;
import io.leasefs.common.api.ChunkApi.ReadEnd;
import io.leasefs.common.api.ChunkApi.ReadMode;
import io.leasefs.common.error.ErrorCode;
import io.leasefs.common.error.LeaseFsException;
import io.leasefs.common.model.ChunkLayout;
import io.leasefs.common.model.FileId;
import io.leasefs.common.model.FileLayout;
import io.leasefs.common.model.FilePath;
import java.nio.ByteBuffer;
import java.util.concurrent.CompletableFuture;

/**
 * Reads of one file, over all its chunks: the client without its blocking face. Any thread; never
 * blocks.
 */
public final class AsyncReader {
  private final FileId file;
  private final FilePath path;
  private final Source source;
  private final ReadMode mode;

  /** What all readers of a process share. */
  public record Source(
      ClientEdges edges,
      MasterRouter router,
      LocationCache cache,
      ChunkReads reads,
      RetryPolicy policy,
      long cachedNanos,
      long timeoutNanos) {}

  private AsyncReader(FileId file, FilePath path, Source source, ReadMode mode) {
    this.file = file;
    this.path = path;
    this.source = source;
    this.mode = mode;
  }

  /** Opens a file for reading; fails with NOT_FOUND or IS_A_DIRECTORY. */
  public static CompletableFuture<AsyncReader> open(FilePath path, Source source, ReadMode mode) {
    long askedAt = source.edges().clock().nanos();
    return source
        .router()
        .ask("open " + path, master -> master.layout(path, 0, LocationCache.PAGE))
        .thenApply(
            layout -> {
              if (layout.status().folder()) {
                throw new LeaseFsException(ErrorCode.IS_A_DIRECTORY, path + ": is a folder");
              }
              source.cache().put(layout, 0, askedAt);
              return new AsyncReader(layout.file(), path, source, mode);
            });
  }

  public FileId file() {
    return file;
  }

  /** The path it was opened by. */
  public FilePath path() {
    return path;
  }

  /**
   * Reads committed bytes from the position until the target is full or the file ends now; answers
   * how many, -1 where the position is at the end. The target's position moves as bytes come in and
   * is right once the future is done.
   */
  public CompletableFuture<Integer> read(long position, ByteBuffer target) {
    if (position < 0) {
      throw new IllegalArgumentException("negative position: " + position);
    }
    RangeRead read = new RangeRead(position, target);
    read.go();
    return read.result;
  }

  /** Where the sealed chunks end that are known now: up to there reading ahead is safe. */
  public long sealedEnd() {
    return source.cache().sealedLength(file);
  }

  /** The file's length now; an open last chunk's primary is asked. */
  public CompletableFuture<Long> length() {
    long started = now();
    RangeRead probe = new RangeRead(Long.MAX_VALUE, ByteBuffer.allocate(0));
    probe.notBefore = started;
    CompletableFuture<Long> result = new CompletableFuture<>();
    probe.length(result);
    return result;
  }

  private long now() {
    return source.edges().clock().nanos();
  }

  /** One read through all chunks and retries, one step at a time. */
  private final class RangeRead {
    private final ByteBuffer target;
    private final int start;
    private final long startedAt = now();
    private final CompletableFuture<Integer> result = new CompletableFuture<>();
    private final long from;
    private long notBefore = startedAt - source.cachedNanos();
    private int failures;

    RangeRead(long from, ByteBuffer target) {
      this.from = from;
      this.target = target;
      this.start = target.position();
    }

    private int total() {
      return target.position() - start;
    }

    void go() {
      if (!target.hasRemaining()) {
        result.complete(total());
        return;
      }
      long at = from + total();
      LocationCache.Found found = source.cache().find(file, at, notBefore);
      if (found.chunk().isPresent()) {
        readChunk(found.chunk().get(), found.askedAt(), at);
      } else if (!found.isEnd()) {
        fetch(found.missingPage(), this::go, result);
      } else {
        endsAsOf(found.askedAt());
      }
    }

    /**
     * What is known ends here. Where it was asked for before this read began, the file may have
     * gone on since, and records behind this end may have been acknowledged (protocol, section 7).
     */
    private void endsAsOf(long askedAt) {
      if (askedAt >= startedAt) {
        result.complete(total() > 0 ? total() : -1);
      } else {
        source.cache().forget(file);
        notBefore = startedAt;
        go();
      }
    }

    private void readChunk(ChunkLayout chunk, long askedAt, long at) {
      ByteBuffer part = target.duplicate();
      if (chunk.seal().isPresent()) {
        long left = chunk.fileOffset() + chunk.seal().get().lengthBytes() - at;
        part.limit((int) Math.min(part.limit(), part.position() + left));
      }
      Futures.onDone(
          source.reads().read(chunk, at - chunk.fileOffset(), part, mode),
          end -> {
            target.position(part.position());
            partRead(chunk, askedAt, end);
          },
          failure -> {
            target.position(part.position());
            failed(failure, this::go, result);
          });
    }

    private void partRead(ChunkLayout chunk, long askedAt, ReadEnd end) {
      failures = 0;
      if (chunk.seal().isPresent() || !target.hasRemaining()) {
        go();
      } else if (end.sealed()) {
        // The layout does not know of the seal. Where it was asked for since this read began, the
        // chunk had no successor then (its length is logged first), so there was an instant since
        // at which the file ended with it.
        endsAsOf(askedAt);
      } else {
        result.complete(total() > 0 ? total() : -1);
      }
    }

    /** Where the last chunk ends, by its seal or by its primary. */
    void length(CompletableFuture<Long> answer) {
      LocationCache.Found found = source.cache().find(file, Long.MAX_VALUE - 1, notBefore);
      if (found.chunk().isPresent()) {
        ChunkLayout last = found.chunk().get();
        Futures.onDone(
            source.reads().read(last, 0, target, mode),
            end -> answer.complete(last.fileOffset() + end.committedLength()),
            failure -> failed(failure, () -> length(answer), answer));
      } else if (!found.isEnd()) {
        fetch(found.missingPage(), () -> length(answer), answer);
      } else {
        answer.complete(source.cache().sealedLength(file));
      }
    }

    private void fetch(int page, Runnable then, CompletableFuture<?> answer) {
      long askedAt = now();
      Futures.onDone(
          source
              .router()
              .ask("layout of " + path, master -> master.layout(file, page, LocationCache.PAGE)),
          (FileLayout layout) -> {
            source.cache().put(layout, page, askedAt);
            then.run();
          },
          answer::completeExceptionally);
    }

    /** A fresh layout, a pause, once more; until it is final or too late. */
    private void failed(LeaseFsException failure, Runnable then, CompletableFuture<?> answer) {
      failures++;
      boolean isFinal =
          switch (failure.code().reaction()) {
            case TELL -> failure.code() != ErrorCode.NOT_FOUND;
            case OTHER_REPLICA -> failures > 2;
            case RETRY, REFRESH, BACK_OFF -> false;
          };
      long pause = source.policy().pauseNanos(failures, source.edges().random().nextLong());
      boolean late = now() + pause > startedAt + source.timeoutNanos();
      if (isFinal || late) {
        String what = path + ": " + failure.getMessage();
        answer.completeExceptionally(
            failure.code() == ErrorCode.NOT_FOUND
                // The file is there: a server that should have a copy has none, and no other
                // answers.
                ? new LeaseFsException(ErrorCode.TIMED_OUT, what, null, failure)
                : failure.saying(what));
        return;
      }
      source.cache().forget(file);
      notBefore = now();
      source.edges().scheduler().after(pause, then);
    }
  }
}
