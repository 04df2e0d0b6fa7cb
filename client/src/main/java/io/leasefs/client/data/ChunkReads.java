package io.leasefs.client.data;

import io.leasefs.client.edge.ClientEdges;
import io.leasefs.client.edge.Futures;
import io.leasefs.client.meta.MasterRouter;
import io.leasefs.common.api.ChunkApi.ReadEnd;
import io.leasefs.common.api.ChunkApi.ReadMode;
import io.leasefs.common.api.ChunkApi.ReadPart;
import io.leasefs.common.api.ChunkApi.ReadRequest;
import io.leasefs.common.api.ChunkApi.Sink;
import io.leasefs.common.api.Frame;
import io.leasefs.common.checksum.Crc32c;
import io.leasefs.common.edge.Scheduler;
import io.leasefs.common.error.ErrorCode;
import io.leasefs.common.error.LeaseFsException;
import io.leasefs.common.model.ChunkLayout;
import io.leasefs.common.model.ChunkSeal;
import io.leasefs.common.model.Location;
import io.leasefs.common.model.ServerAddress;
import io.leasefs.common.model.ServerId;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;

/**
 * Reads ranges of chunks into the caller's buffers: chooses the replica, checks every piece's
 * checksum before a byte is handed on, and goes on elsewhere from where it stopped when a replica
 * is bad, silent or gone. A bad copy is reported to the master; past its bad block it may serve the
 * same read again, so that copies with different bad blocks are as good as a whole one together.
 *
 * <p>Any thread; never blocks.
 */
public final class ChunkReads {
  /** A replica that sends nothing for this long is left for another. */
  private static final long SILENT_NANOS = 2_000_000_000L;

  /** A server that failed is asked last for this long. */
  private static final long AVOID_NANOS = 10_000_000_000L;

  private final ClientEdges edges;
  private final MasterRouter router;
  private final int salt;
  private final Map<ServerAddress, Long> avoidUntil = new ConcurrentHashMap<>();

  public ChunkReads(ClientEdges edges, MasterRouter router) {
    this.edges = edges;
    this.router = router;
    this.salt = edges.random().nextInt(1 << 16);
  }

  /**
   * Reads from {@code offset} of the chunk until the target is full or the chunk ends; the target's
   * position moves by what came. With no room in the target it only tells the chunk's length. Fails
   * with CORRUPT where no replica is good, with STALE_VERSION where the layout does not hold any
   * more, with UNREACHABLE where nobody answers.
   */
  public CompletableFuture<ReadEnd> read(
      ChunkLayout chunk, long offset, ByteBuffer target, ReadMode mode) {
    Reading reading = new Reading(chunk, offset, target, mode, candidates(chunk, mode));
    reading.next();
    return reading.result;
  }

  /**
   * Any member of a sealed chunk, spread by chunk and process; of an open one the primary first.
   */
  private List<Location> candidates(ChunkLayout chunk, ReadMode mode) {
    List<Location> all = chunk.locations();
    List<Location> good = new ArrayList<>(all.size());
    List<Location> late = new ArrayList<>();
    int first = 0;
    boolean anywhere = chunk.seal().isPresent() || mode == ReadMode.STALE_OK;
    if (anywhere && !all.isEmpty()) {
      first = (int) Math.floorMod(chunk.handle().value() + salt, (long) all.size());
    }
    long now = edges.clock().nanos();
    for (int i = 0; i < all.size(); i++) {
      Location location = all.get((first + i) % all.size());
      Long until = avoidUntil.get(location.address());
      boolean avoided = until != null && now < until;
      (avoided ? late : good).add(location);
    }
    if (!anywhere) {
      chunk.primary().filter(good::remove).ifPresent(primary -> good.add(0, primary));
    }
    good.addAll(late);
    return good;
  }

  /** A replica has a bad block at this offset of the chunk. */
  private record BadAt(Location location, long offset) {}

  /** One read through all the replicas it needs, one at a time. */
  private final class Reading {
    private final ChunkLayout chunk;
    private final long offset;
    private final ByteBuffer target;
    private final int start;
    private final ReadMode mode;
    private final List<Location> candidates;
    private final CompletableFuture<ReadEnd> result = new CompletableFuture<>();

    /** Replicas that were left at a bad block: past it they are as good as any. */
    private final List<BadAt> bad = new ArrayList<>();

    private int turn;
    private Optional<LeaseFsException> worst = Optional.empty();

    Reading(
        ChunkLayout chunk,
        long offset,
        ByteBuffer target,
        ReadMode mode,
        List<Location> candidates) {
      this.chunk = chunk;
      this.offset = offset;
      this.target = target;
      this.start = target.position();
      this.mode = mode;
      this.candidates = candidates;
    }

    private long reached() {
      return offset + (target.position() - start);
    }

    void next() {
      if (turn >= candidates.size()) {
        takeBackThoseThatArePastTheirBadBlock();
      }
      if (turn >= candidates.size()) {
        result.completeExceptionally(nobody());
        return;
      }
      new Attempt(candidates.get(turn++)).begin();
    }

    /** Each needs to have been got past by another one, so this comes to an end. */
    private void takeBackThoseThatArePastTheirBadBlock() {
      long reached = reached();
      Iterator<BadAt> each = bad.iterator();
      while (each.hasNext()) {
        BadAt one = each.next();
        if (one.offset < reached) {
          each.remove();
          candidates.add(one.location);
        }
      }
    }

    private LeaseFsException nobody() {
      return worst.orElseGet(
          () ->
              new LeaseFsException(
                  ErrorCode.UNREACHABLE,
                  "chunk " + chunk.handle() + ": no replica can be reached now"));
    }

    /** Bad copies weigh most, then a layout that does not hold, then silence. */
    private void note(LeaseFsException failure) {
      if (worst.isEmpty() || weight(failure) > weight(worst.get())) {
        worst = Optional.of(failure);
      }
    }

    private static int weight(LeaseFsException failure) {
      return switch (failure.code().reaction()) {
        case REFRESH -> 3;
        case RETRY, BACK_OFF -> 2;
        case OTHER_REPLICA -> 1;
        case TELL -> failure.code() == ErrorCode.NOT_FOUND ? 3 : 0;
      };
    }

    /** One replica asked. What it sends after it was left is dropped. */
    private final class Attempt implements Sink<ReadPart> {
      private final Location location;
      private boolean left;
      private boolean heard;
      private Scheduler.Cancellable timer = () -> {};

      Attempt(Location location) {
        this.location = location;
      }

      void begin() {
        int filled = target.position() - start;
        ReadRequest request =
            new ReadRequest(
                chunk.handle(),
                chunk.configuration().version(),
                chunk.seal(),
                offset + filled,
                target.remaining(),
                mode);
        watch();
        CompletableFuture<ReadEnd> end;
        try {
          end = edges.network().chunkServer(location.address()).read(request, this);
        } catch (LeaseFsException refused) {
          failed(refused);
          return;
        }
        Futures.onDone(end, this::ended, this::failed);
      }

      private synchronized void watch() {
        if (!left) {
          heard = false;
          timer = edges.scheduler().after(SILENT_NANOS, this::wake);
        }
      }

      private void wake() {
        boolean silent;
        synchronized (this) {
          silent = !heard;
        }
        if (silent) {
          failed(
              new LeaseFsException(
                  ErrorCode.TIMED_OUT, location.address() + " sent nothing for 2 s"));
        } else {
          watch();
        }
      }

      @Override
      public synchronized boolean isOpen() {
        return !left;
      }

      private synchronized boolean leave() {
        if (left) {
          return false;
        }
        left = true;
        timer.cancel();
        return true;
      }

      /** Checks and copies; a bad piece ends the attempt with all good bytes before it kept. */
      @Override
      public void accept(ReadPart part) {
        long badPiece;
        synchronized (this) {
          if (left) {
            return;
          }
          heard = true;
          badPiece = take(part);
        }
        if (badPiece >= 0) {
          long block = badPiece / Frame.PIECE;
          ServerId server = location.member().server();
          failed(
              new LeaseFsException(
                  ErrorCode.CORRUPT,
                  "chunk " + chunk.handle() + ": bad block " + block + " from " + server));
        }
      }

      /** Answers the chunk offset of the first bad piece, -1 where all are good. */
      private long take(ReadPart part) {
        long expected = reached();
        ByteBuffer payload = part.payload().duplicate();
        int pieces = (payload.remaining() + Frame.PIECE - 1) / Frame.PIECE;
        if (part.offset() != expected || part.checksums().size() != pieces) {
          return expected;
        }
        int end = payload.limit();
        for (int i = 0; i < pieces; i++) {
          payload.limit(Math.min(end, payload.position() + Frame.PIECE));
          if (Crc32c.of(payload) != part.checksums().at(i)) {
            return reached();
          }
          if (payload.remaining() > target.remaining()) {
            payload.limit(payload.position() + target.remaining());
            target.put(payload);
            return -1;
          }
          target.put(payload);
        }
        return -1;
      }

      private void ended(ReadEnd end) {
        long got = reached();
        Optional<ChunkSeal> seal = chunk.seal();
        boolean missing =
            target.hasRemaining()
                && got < (seal.isPresent() ? seal.get().lengthBytes() : end.committedLength());
        if (missing) {
          failed(
              new LeaseFsException(
                  ErrorCode.STALE_VERSION,
                  "chunk " + chunk.handle() + ": " + location.address() + " ended at " + got));
        } else if (leave()) {
          result.complete(end);
        }
      }

      private void failed(LeaseFsException failure) {
        if (!leave()) {
          return;
        }
        if (failure.code() == ErrorCode.CORRUPT) {
          long at = reached();
          bad.add(new BadAt(location, at));
          Futures.ignore(
              router.ask(
                  "report of a bad copy",
                  master ->
                      master.reportDamaged(
                          chunk.handle(), location.member().server(), at / Frame.PIECE)));
        } else if (failure.code().reaction() == ErrorCode.Reaction.RETRY) {
          avoidUntil.put(location.address(), edges.clock().nanos() + AVOID_NANOS);
        }
        note(failure);
        next();
      }
    }
  }
}
