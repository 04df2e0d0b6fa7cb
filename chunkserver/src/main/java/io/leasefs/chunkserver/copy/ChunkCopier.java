package io.leasefs.chunkserver.copy;

import io.leasefs.chunkserver.pipeline.PeerConnector;
import io.leasefs.chunkserver.replica.ReplicaImage.Snapshot;
import io.leasefs.chunkserver.store.ChunkInstall;
import io.leasefs.chunkserver.store.SnapshotCodec;
import io.leasefs.common.api.ChunkApi.CopyEnd;
import io.leasefs.common.api.ChunkApi.CopyPart;
import io.leasefs.common.api.ChunkApi.CopyRequest;
import io.leasefs.common.api.ChunkApi.Sink;
import io.leasefs.common.api.Heartbeat.CopyCommand;
import io.leasefs.common.checksum.Checksums;
import io.leasefs.common.edge.Clock;
import io.leasefs.common.edge.Scheduler;
import io.leasefs.common.error.ErrorCode;
import io.leasefs.common.error.LeaseFsException;
import io.leasefs.common.model.ChunkHandle;
import io.leasefs.common.model.ChunkSeal;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.ArrayDeque;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.concurrent.CompletionException;
import java.util.concurrent.Executor;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.slf4j.event.Level;

/**
 * Fetches the copies that the master orders. A sealed chunk's copy is checked against the logged
 * length and checksum and then counts at once. An open chunk is pulled again and again, each time
 * from where the last pull ended, until a pull brought less than {@value #NEAR_BYTES} bytes: then
 * the copy is a learner, and the next recovery hands it the rest (protocol, section 4).
 *
 * <p>At most so many copies at a time, each no faster than the given rate. Any thread.
 */
public final class ChunkCopier {
  private static final Logger logger = LoggerFactory.getLogger(ChunkCopier.class);

  /** A learner this near is near enough. */
  static final long NEAR_BYTES = 4L << 20;

  /** Pulls of one order before it is given up; the master asks again. */
  private static final int MOST_PULLS = 64;

  private static final long RETRY_NANOS = 200_000_000;
  private static final long MOST_WAITING_BYTES = 4L << 20;

  private final PeerConnector peers;
  private final CopyLanding landing;
  private final Function<ChunkHandle, Executor> executors;
  private final Scheduler scheduler;
  private final Clock clock;
  private final int mostAtATime;
  private final long bytesPerSecond;

  /** Guarded by itself: orders under way, and those that wait, oldest first. */
  private final Map<ChunkHandle, CopyCommand> underWay = new LinkedHashMap<>();

  /** Guarded by underWay. */
  private final CopyPauses pauses = new CopyPauses();

  /** Guarded by underWay. */
  private final ArrayDeque<CopyCommand> waiting = new ArrayDeque<>();

  /**
   * @param executors a serial executor for a chunk's copy; may wait for the disk
   * @param bytesPerSecond the most that one copy takes
   */
  public ChunkCopier(
      PeerConnector peers,
      CopyLanding landing,
      Function<ChunkHandle, Executor> executors,
      Scheduler scheduler,
      Clock clock,
      int mostAtATime,
      long bytesPerSecond) {
    this.peers = peers;
    this.landing = landing;
    this.executors = executors;
    this.scheduler = scheduler;
    this.clock = clock;
    this.mostAtATime = mostAtATime;
    this.bytesPerSecond = bytesPerSecond;
  }

  /**
   * Carries an order out, later; the same one twice is carried out once. One that has failed is
   * ignored for a while, longer each time.
   */
  public void copy(CopyCommand order) {
    synchronized (underWay) {
      boolean known =
          underWay.containsKey(order.chunk())
              || waiting.stream().anyMatch(w -> w.chunk().equals(order.chunk()));
      if (known || !pauses.mayBegin(order.chunk(), order.learner().replica(), clock.nanos())) {
        return;
      }
      if (underWay.size() >= mostAtATime) {
        waiting.addLast(order);
        return;
      }
      underWay.put(order.chunk(), order);
    }
    new Copying(order).begin();
  }

  private void done(CopyCommand order) {
    synchronized (underWay) {
      pauses.done(order.chunk());
    }
    over(order);
  }

  private void over(CopyCommand order) {
    CopyCommand next;
    synchronized (underWay) {
      underWay.remove(order.chunk());
      next = waiting.pollFirst();
      if (next != null) {
        underWay.put(next.chunk(), next);
      }
    }
    if (next != null) {
      new Copying(next).begin();
    }
  }

  /** One order. Everything runs on the chunk's executor, but for the sink's methods. */
  private final class Copying {
    private final CopyCommand order;
    private final Executor executor;
    private @Nullable ChunkInstall install;
    private long serial;
    private int pulls;

    Copying(CopyCommand order) {
      this.order = order;
      this.executor = executors.apply(order.chunk());
    }

    void begin() {
      executor.execute(
          () -> {
            try {
              install = landing.begin(order);
              pull();
            } catch (IOException | LeaseFsException e) {
              giveUp(e);
            }
          });
    }

    private void pull() {
      pulls++;
      Landing sink = new Landing(this);
      var _ =
          peers
              .connect(order.source().server(), order.sourceAddress())
              .copy(
                  new CopyRequest(
                      order.chunk(), order.version(), order.learner().replica(), serial),
                  sink)
              .whenComplete((end, failure) -> executor.execute(() -> pulled(sink, end, failure)));
    }

    private void pulled(Landing sink, @Nullable CopyEnd end, @Nullable Throwable failure) {
      ChunkInstall target = install;
      if (target == null) {
        return;
      }
      try {
        sink.throwIfBroken(); // the source knows only that nobody listened any more
        if (end == null) {
          failed(failure);
          return;
        }
        Snapshot state = SnapshotCodec.decode(sink.image());
        if (state.serial() != end.committedSerial()
            || state.lengthBytes() != target.length()
            || end.lengthBytes() != target.length()) {
          throw new LeaseFsException(
              ErrorCode.CORRUPT, "the copy of chunk " + order.chunk() + " is not whole");
        }
        serial = state.serial();
        if (order.seal().isPresent()) {
          finishSealed(target, state, order.seal().get());
        } else if (sink.bytes() <= NEAR_BYTES) {
          landing.landed(order, target.finish(order.version(), state, true), state);
          logger.info("learner is near chunk={} serial={} pulls={}", order.chunk(), serial, pulls);
          done(order);
        } else if (pulls >= MOST_PULLS) {
          throw new LeaseFsException(
              ErrorCode.BUSY, "chunk " + order.chunk() + " grows faster than it can be copied");
        } else {
          pull();
        }
      } catch (IOException | LeaseFsException e) {
        giveUp(e);
      }
    }

    private void finishSealed(ChunkInstall target, Snapshot state, ChunkSeal seal)
        throws IOException {
      if (target.length() != seal.lengthBytes()
          || target.checksum() != seal.checksum()
          || state.seal().isEmpty()) {
        throw new LeaseFsException(
            ErrorCode.CORRUPT,
            "the copy of chunk " + order.chunk() + " does not match its seal " + seal);
      }
      landing.landed(order, target.finish(order.version(), state, false), state);
      logger.info("copy done chunk={} bytes={}", order.chunk(), seal.lengthBytes());
      done(order);
    }

    /** Overwritten meanwhile: once more from the start. Anything else: the master asks again. */
    private void failed(@Nullable Throwable failure) throws IOException {
      Throwable cause =
          failure instanceof CompletionException && failure.getCause() != null
              ? failure.getCause()
              : failure;
      boolean again =
          cause instanceof LeaseFsException told
              && told.code() == ErrorCode.STALE_VERSION
              && pulls < MOST_PULLS;
      if (!again) {
        giveUp(cause);
        return;
      }
      ChunkInstall target = install;
      if (target != null) {
        target.abandon();
      }
      serial = 0;
      var _ =
          scheduler.after(
              RETRY_NANOS,
              () ->
                  executor.execute(
                      () -> {
                        try {
                          install = landing.begin(order);
                          pull();
                        } catch (IOException | LeaseFsException e) {
                          giveUp(e);
                        }
                      }));
    }

    private void giveUp(@Nullable Throwable why) {
      boolean done =
          why instanceof LeaseFsException told && told.code() == ErrorCode.ALREADY_EXISTS;
      long pause;
      synchronized (underWay) {
        pause = pauses.failed(order.chunk(), order.learner().replica(), clock.nanos());
      }
      logger
          .atLevel(done ? Level.DEBUG : Level.WARN)
          .log(
              "copy given up chunk={} source={} pauseMillis={} reason=\"{}\"",
              order.chunk(),
              order.source().server(),
              pause / 1_000_000,
              String.valueOf(why));
      ChunkInstall target = install;
      install = null;
      if (target != null) {
        try {
          target.abandon();
        } catch (IOException e) {
          logger.warn("copy not removed chunk={} reason=\"{}\"", order.chunk(), e.toString());
        }
      }
      over(order);
    }

    private void write(long offset, Checksums checksums, ByteBuffer payload) throws IOException {
      ChunkInstall target = install;
      if (target != null) {
        target.write(offset, checksums, payload);
      }
    }
  }

  /** Takes one pull's parts in, no faster than the disk and the rate allow. */
  private final class Landing implements Sink<CopyPart> {
    private final Copying copying;
    private final long begun = clock.nanos();
    private final ByteArrayOutputStream image = new ByteArrayOutputStream();
    private final AtomicLong waitingBytes = new AtomicLong();
    private final AtomicLong bytes = new AtomicLong();
    private volatile @Nullable Exception broken;
    private volatile Runnable listener = () -> {};

    Landing(Copying copying) {
      this.copying = copying;
    }

    @Override
    public void accept(CopyPart part) {
      ByteBuffer payload = ByteBuffer.allocate(part.payload().remaining());
      payload.put(part.payload().duplicate()).flip();
      waitingBytes.addAndGet(payload.remaining());
      copying.executor.execute(
          () -> {
            try {
              take(part, payload);
            } catch (IOException | RuntimeException e) {
              broken = e;
            }
            waitingBytes.addAndGet(-payload.remaining());
            listener.run();
          });
    }

    private void take(CopyPart part, ByteBuffer payload) throws IOException {
      if (broken != null) {
        return;
      }
      if (part.image()) {
        byte[] piece = new byte[payload.remaining()];
        payload.duplicate().get(piece);
        image.writeBytes(piece);
      } else {
        copying.write(part.offset(), part.checksums(), payload);
        bytes.addAndGet(payload.remaining());
      }
    }

    @Override
    public boolean isReady() {
      if (waitingBytes.get() > MOST_WAITING_BYTES) {
        return false;
      }
      long due = begun + bytes.get() * 1_000_000_000L / bytesPerSecond;
      long early = due - clock.nanos();
      if (early > 0) {
        var _ = scheduler.after(early, listener);
        return false;
      }
      return true;
    }

    @Override
    public boolean isOpen() {
      return broken == null;
    }

    @Override
    public void onReady(Runnable task) {
      listener = task;
    }

    long bytes() {
      return bytes.get();
    }

    ByteBuffer image() {
      return ByteBuffer.wrap(image.toByteArray());
    }

    void throwIfBroken() throws IOException {
      Exception failure = broken;
      if (failure instanceof IOException e) {
        throw e;
      }
      if (failure instanceof RuntimeException e) {
        throw e;
      }
    }
  }
}
