package io.leasefs.chunkserver.read;

import io.leasefs.common.api.ChunkApi.Sink;
import io.leasefs.common.error.ErrorCode;
import io.leasefs.common.error.LeaseFsException;
import java.io.IOException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import org.jspecify.annotations.Nullable;

/**
 * Moves parts from a source into a sink while the sink is ready, and stops, holding neither thread
 * nor buffer, while it is not. Ends its future after the last part, or when the source fails or
 * nobody listens any more.
 *
 * @param <T> a part
 * @param <R> what is told at the end
 */
public final class Pump<T, R> {
  /** Where parts come from. Called by one thread at a time; may block on the disk. */
  public interface Source<T, R> {
    /**
     * Hands the next part to the sink.
     *
     * @return false where there was none left
     */
    boolean next(Sink<T> sink) throws IOException;

    /** What is told after the last part. */
    R end();

    /** {@link #next} failed: what whoever asked is told. */
    Throwable failed(Exception failure);
  }

  private enum State {
    IDLE,
    RUNNING,
    /** The sink called while the pump ran: it looks once more. */
    AGAIN,
    OVER
  }

  private final Executor executor;
  private final Source<T, R> source;
  private final Sink<T> sink;
  private final CompletableFuture<R> future;

  /** Guarded by this. */
  private State state = State.IDLE;

  /**
   * @param executor runs it; may wait for the disk
   * @param future completed by this pump
   */
  public Pump(Executor executor, Source<T, R> source, Sink<T> sink, CompletableFuture<R> future) {
    this.executor = executor;
    this.source = source;
    this.sink = sink;
    this.future = future;
  }

  /** Begins. Any thread; returns at once. */
  public void start() {
    sink.onReady(this::kick);
    kick();
  }

  private void kick() {
    synchronized (this) {
      switch (state) {
        case OVER, AGAIN -> {
          return;
        }
        case RUNNING -> {
          state = State.AGAIN;
          return;
        }
        case IDLE -> state = State.RUNNING;
      }
    }
    executor.execute(this::run);
  }

  private void run() {
    @Nullable Throwable failure = null;
    boolean over = false;
    try {
      do {
        over = pumpWhileReady();
      } while (!over && again());
    } catch (IOException | RuntimeException e) {
      failure = source.failed(e);
    }
    if (failure != null || over) {
      synchronized (this) {
        state = State.OVER;
      }
    }
    // Outside of every lock: whoever waits may do anything.
    if (failure != null) {
      future.completeExceptionally(failure);
    } else if (over) {
      future.complete(source.end());
    }
  }

  /** True where the last part has been handed on. */
  private boolean pumpWhileReady() throws IOException {
    while (true) {
      if (!sink.isOpen()) {
        throw new LeaseFsException(ErrorCode.UNREACHABLE, "nobody listens to the read any more");
      }
      if (!sink.isReady()) {
        return false;
      }
      if (!source.next(sink)) {
        return true;
      }
    }
  }

  private synchronized boolean again() {
    boolean again = state == State.AGAIN;
    state = again ? State.RUNNING : State.IDLE;
    return again;
  }
}
