package io.leasefs.server.disk;

import io.leasefs.common.edge.Clock;
import io.leasefs.common.edge.DiskFile;
import java.io.IOException;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.concurrent.Executor;
import org.jspecify.annotations.Nullable;

/**
 * Group commit of one disk: one fsync answers everybody who asked for that file before it began.
 *
 * <p>Who asks while a file's fsync runs is answered by the next one, for that fsync may have begun
 * before the write. At most {@code parallel} files are forced at once; the file system's own
 * journal merges those into few commits. The queue is as long as its callers' (each chunk has at
 * most a few requests outstanding), so it needs no bound of its own.
 *
 * <p>Any thread asks; {@link Done} runs on the executor's thread, and must not block.
 */
public final class ForceQueue {
  /** Told once per request. */
  @FunctionalInterface
  public interface Done {
    /** Null: all that was written before the request is durable. */
    void forced(@Nullable IOException failure);
  }

  private static final class Batch {
    final DiskFile file;
    final long sinceNanos;
    List<Done> waiting = new ArrayList<>(2);
    List<Done> running = List.of();

    Batch(DiskFile file, long sinceNanos) {
      this.file = file;
      this.sinceNanos = sinceNanos;
    }
  }

  private final Executor executor;
  private final Clock clock;
  private final int parallel;

  /** Guarded by this, like the three below: files that wait or run. */
  private final IdentityHashMap<DiskFile, Batch> batches = new IdentityHashMap<>();

  private final ArrayDeque<Batch> ready = new ArrayDeque<>();
  private final IdentityHashMap<Batch, Long> begun = new IdentityHashMap<>();
  private long forces;

  /**
   * @param executor runs the blocking fsyncs
   * @param parallel most files forced at once
   */
  public ForceQueue(Executor executor, Clock clock, int parallel) {
    if (parallel < 1) {
      throw new IllegalArgumentException("parallel < 1: " + parallel);
    }
    this.executor = executor;
    this.clock = clock;
    this.parallel = parallel;
  }

  /** Makes all that has been written to the file durable, then tells {@code done}. */
  public void force(DiskFile file, Done done) {
    boolean start;
    synchronized (this) {
      Batch batch = batches.get(file);
      if (batch == null) {
        batch = new Batch(file, clock.nanos());
        batches.put(file, batch);
        ready.add(batch);
      }
      batch.waiting.add(done);
      start = startOne();
    }
    if (start) {
      executor.execute(this::run);
    }
  }

  /**
   * How long the oldest force has been running, nanoseconds; 0 where none is. A disk that stands
   * above W is stalled.
   */
  public synchronized long stalledNanos() {
    long now = clock.nanos();
    long longest = 0;
    for (long since : begun.values()) {
      longest = Math.max(longest, now - since);
    }
    for (Batch batch : ready) {
      longest = Math.max(longest, now - batch.sinceNanos);
    }
    return longest;
  }

  /** How many fsyncs were made: the requests per fsync are the gain of the group commit. */
  public synchronized long forces() {
    return forces;
  }

  /** Runs handed to the executor that have not begun. */
  private int starting;

  /** Under the lock: true where the caller must hand one run to the executor. */
  private boolean startOne() {
    if (ready.size() > starting && begun.size() + starting < parallel) {
      starting++;
      return true;
    }
    return false;
  }

  private void run() {
    Batch batch;
    synchronized (this) {
      starting--;
      batch = ready.remove();
      batch.running = batch.waiting;
      batch.waiting = new ArrayList<>(2);
      begun.put(batch, clock.nanos());
      forces++;
    }
    IOException failure = null;
    try {
      batch.file.force();
    } catch (IOException e) {
      failure = e;
    } catch (RuntimeException e) {
      failure = new IOException("force " + batch.file, e);
    }
    List<Done> answered;
    boolean start;
    synchronized (this) {
      answered = batch.running;
      begun.remove(batch);
      batches.remove(batch.file);
      if (!batch.waiting.isEmpty()) {
        Batch next = new Batch(batch.file, clock.nanos());
        next.waiting = batch.waiting;
        batches.put(batch.file, next);
        ready.add(next);
      }
      start = startOne();
    }
    if (start) {
      executor.execute(this::run);
    }
    for (Done done : answered) {
      done.forced(failure);
    }
  }
}
