package io.leasefs.cluster.demo;

import io.leasefs.client.FileReader;
import io.leasefs.client.LeaseFs;
import io.leasefs.client.LeaseFsConfig;
import io.leasefs.common.error.LeaseFsException;
import io.leasefs.common.model.ServerAddress;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;

/**
 * Clients that read one file while it is being written: one of each {@link ReaderKind}, each on a
 * thread of its own. Each reads on from a little before where it has been, to the end of the file,
 * and now and then looks again at something that it has seen before.
 *
 * <p>All times are {@link System#nanoTime} of this one process, that is CLOCK_MONOTONIC: writers
 * and readers are its threads, so the intervals of all of them can be compared. Wrong clocks are
 * the servers' only, bent inside their own processes.
 */
final class Readers {
  /** So long for a read under harm; the next one may find a way. */
  private static final Duration TIMEOUT = Duration.ofSeconds(5);

  private static final long JOIN_MILLIS = 60_000;
  private static final int ROOM_BYTES = 256 * Writers.RECORD_BYTES;
  private static final int MOST_AGAIN = 8;
  private static final int LOOKS_BACK_ONE_IN = 8;
  private static final int LONG_RESTS_ONE_IN = 40;

  /** Times the rest between two reads, at most. */
  private static final int LONG_REST = 20;

  private final LeaseFsConfig config;
  private final SeenFile seen;
  private final long restNanos;
  private final List<Thread> threads = new ArrayList<>();
  private final CountDownLatch stopping = new CountDownLatch(1);
  private final Map<ReaderKind, Long> newestCall = new ConcurrentHashMap<>();

  /**
   * Starts.
   *
   * @param restNanos from an answer to the next read, in the middle of many
   * @param seed of where they look again
   */
  Readers(List<ServerAddress> masters, SeenFile seen, long restNanos, long seed) {
    this.config = LeaseFsConfig.of(masters).withTimeout(TIMEOUT);
    this.seen = seen;
    this.restNanos = restNanos;
    Random seeds = new Random(seed);
    for (ReaderKind kind : ReaderKind.values()) {
      Reader reader = new Reader(kind, new Random(seeds.nextLong()));
      Thread thread = new Thread(reader::run, "reader " + kind + " of " + seen.file());
      thread.start();
      threads.add(thread);
    }
  }

  /** True where every reader has got an answer to a read that it began since. */
  boolean haveReadSince(long from) {
    Map<ReaderKind, Long> calls = new EnumMap<>(ReaderKind.class);
    calls.putAll(newestCall);
    return calls.size() == ReaderKind.values().length
        && calls.values().stream().allMatch(called -> called - from > 0);
  }

  /** What they have seen so far. */
  SeenFile seen() {
    return seen;
  }

  /** Tells all to end after the read under way, and waits for them. */
  void stop() throws InterruptedException {
    stopping.countDown();
    for (Thread thread : threads) {
      thread.join(JOIN_MILLIS);
      if (thread.isAlive()) {
        seen.contradicts(thread.getName() + " does not end");
        thread.interrupt();
      }
    }
  }

  private final class Reader {
    private final ReaderKind kind;
    private final Random random;

    /** Up to here it has seen the file. */
    private long reached;

    Reader(ReaderKind kind, Random random) {
      this.kind = kind;
      this.random = random;
    }

    void run() {
      try {
        while (rested()) {
          readAsOneClient();
        }
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt();
      }
    }

    /**
     * False where it is over. Now and then it stays away so long that what it knows of the file's
     * chunks is old.
     */
    private boolean rested() throws InterruptedException {
      boolean isLong = random.nextInt(LONG_RESTS_ONE_IN) == 0;
      long most = isLong ? LONG_REST * restNanos : 3 * restNanos / 2;
      return !stopping.await((long) (random.nextDouble() * most), TimeUnit.NANOSECONDS);
    }

    private void readAsOneClient() throws InterruptedException {
      long called = System.nanoTime();
      try (LeaseFs client = LeaseFs.connect(config);
          FileReader reader = client.open(seen.file(), kind.mode())) {
        toTheEnd(reader, called);
        while (kind != ReaderKind.FRESH && rested()) {
          readOnce(reader);
        }
      } catch (LeaseFsException e) {
        seen.failed();
      }
    }

    private void readOnce(FileReader reader) {
      try {
        toTheEnd(reader, System.nanoTime());
        if (random.nextInt(LOOKS_BACK_ONE_IN) == 0) {
          again(reader);
        }
      } catch (LeaseFsException e) {
        seen.failed(); // its layout stays, as that of anybody who tries again
      }
    }

    /** From a little before where it has been: should that be gone, it is noticed. */
    private void toTheEnd(FileReader reader, long called) {
      long back = (1L + random.nextInt(MOST_AGAIN)) * Writers.RECORD_BYTES;
      long at = Math.max(0, reached - back);
      byte[] room = new byte[ROOM_BYTES];
      int got;
      do {
        got = read(reader, at, room);
        at += got;
      } while (got == room.length);
      ended(called, at);
      reached = Math.max(reached, at);
    }

    /** A place that it has seen before: one that ends too early has lost something. */
    private void again(FileReader reader) {
      long place = random.nextLong(Math.max(1, reached / Writers.RECORD_BYTES));
      long at = place * Writers.RECORD_BYTES;
      byte[] room = new byte[(int) Math.min(ROOM_BYTES, reached - at)];
      long called = System.nanoTime();
      int got = read(reader, at, room);
      if (got < room.length) {
        ended(called, at + got);
      }
    }

    /** Fewer bytes than there is room for: there the file ends. */
    private int read(FileReader reader, long at, byte[] room) {
      int got = Math.max(0, reader.read(at, ByteBuffer.wrap(room)));
      for (int from = 0; from + Writers.RECORD_BYTES <= got; from += Writers.RECORD_BYTES) {
        seen.saw(kind, Writers.parse(seen.file(), room, from, at + from));
      }
      if (got % Writers.RECORD_BYTES != 0) {
        seen.contradicts(kind + ": the file ends within a record, at " + (at + got));
      }
      return got;
    }

    private void ended(long called, long end) {
      seen.ended(new SeenFile.Look(kind, called, System.nanoTime(), end));
      newestCall.put(kind, called);
    }
  }
}
