package io.leasefs.cluster.demo;

import io.leasefs.client.LeaseFs;
import io.leasefs.client.LeaseFsConfig;
import io.leasefs.client.RecordAppender;
import io.leasefs.cluster.demo.Evidence.Acknowledged;
import io.leasefs.cluster.demo.Evidence.Found;
import io.leasefs.cluster.demo.Evidence.Refused;
import io.leasefs.cluster.demo.Evidence.Unanswered;
import io.leasefs.common.error.ErrorCode;
import io.leasefs.common.error.LeaseFsException;
import io.leasefs.common.model.AppendResult;
import io.leasefs.common.model.ServerAddress;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * Clients that append records to one file, each on a thread and with a session of its own, each
 * sending the next record when the one before is answered and it has rested. One that fails (its
 * outcome unknown) has ended; where they are to carry on, another client takes its thread, under a
 * number of its own.
 */
final class Writers {
  /** Bytes of a record. */
  static final int RECORD_BYTES = 256;

  /** The highest number that a record has room for. */
  private static final int MAX_CLIENT = 999;

  private static final long JOIN_MILLIS = 120_000;

  private final String file;
  private final List<Thread> threads = new ArrayList<>();
  private final List<Acknowledged> acknowledged = Collections.synchronizedList(new ArrayList<>());
  private final List<Refused> refused = Collections.synchronizedList(new ArrayList<>());
  private final List<Unanswered> unanswered = Collections.synchronizedList(new ArrayList<>());
  private final List<String> failures = Collections.synchronizedList(new ArrayList<>());
  private final boolean carriesOn;
  private final long restNanos;
  private final AtomicInteger nextClient;
  private final CountDownLatch stopping = new CountDownLatch(1);
  private volatile long newestAcknowledgementNanos;

  /**
   * Starts.
   *
   * @param writesOn false: they wait for the chunk's next primary instead of asking for a new chunk
   * @param carriesOn true: another client goes on where one has failed
   * @param restNanos from an answer to the next record
   */
  Writers(
      List<ServerAddress> masters,
      String file,
      int clients,
      boolean writesOn,
      boolean carriesOn,
      long restNanos) {
    this.file = file;
    this.carriesOn = carriesOn;
    this.restNanos = restNanos;
    this.nextClient = new AtomicInteger(clients);
    for (int i = 0; i < clients; i++) {
      int client = i;
      Thread thread =
          new Thread(() -> write(masters, client, writesOn), "writer " + i + " of " + file);
      thread.start();
      threads.add(thread);
    }
  }

  private void write(List<ServerAddress> masters, int first, boolean writesOn) {
    run(masters, first, writesOn);
    while (carriesOn && stopping.getCount() > 0) {
      int next = nextClient.getAndIncrement();
      if (next > MAX_CLIENT) {
        failures.add(file + ": more than " + MAX_CLIENT + " clients have failed");
        return;
      }
      run(masters, next, writesOn);
    }
  }

  private void run(List<ServerAddress> masters, int client, boolean writesOn) {
    try (LeaseFs files = LeaseFs.connect(LeaseFsConfig.of(masters).withWritesOn(writesOn));
        RecordAppender appender = files.recordAppender(file)) {
      boolean stopped = false;
      String chunk = ""; // one text for all records of a chunk: an hour of them has to fit
      for (long number = 1; !stopped; number++) {
        long submitted = System.nanoTime();
        AppendResult result = append(appender, client, number, submitted);
        long now = System.nanoTime();
        String name = result.chunk().toString();
        chunk = chunk.equals(name) ? chunk : name;
        acknowledged.add(
            new Acknowledged(
                file,
                client,
                number,
                submitted,
                result.fileOffset(),
                chunk,
                result.version(),
                result.serial(),
                now));
        newestAcknowledgementNanos = now;
        stopped = stopping.await(restNanos, TimeUnit.NANOSECONDS);
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      failures.add(file + ", client " + client + ": interrupted");
    } catch (LeaseFsException e) {
      failures.add(file + ", client " + client + ": " + e.getMessage());
    }
  }

  private AppendResult append(RecordAppender appender, int client, long number, long submitted) {
    try {
      return appender.append(record(client, number));
    } catch (LeaseFsException e) {
      // TIMED_OUT is said only of a record that no server can have; here, or of one that was
      // interrupted.
      if (e.code() == ErrorCode.TIMED_OUT && !Thread.currentThread().isInterrupted()) {
        refused.add(new Refused(file, client, number));
      } else {
        unanswered.add(new Unanswered(file, client, number, submitted));
      }
      throw e;
    }
  }

  /** {@code c03 n000000042 ....\n}. */
  static ByteBuffer record(int client, long number) {
    StringBuilder text =
        new StringBuilder(String.format(Locale.ROOT, "c%03d n%09d ", client, number));
    while (text.length() < RECORD_BYTES - 1) {
      text.append((char) ('a' + (number + text.length()) % 26));
    }
    return ByteBuffer.wrap(text.append('\n').toString().getBytes(StandardCharsets.UTF_8));
  }

  /** Reads records back; what is no whole, right record is told as one of client -1. */
  static Found parse(String file, byte[] bytes, int from, long offset) {
    String text = new String(bytes, from, RECORD_BYTES, StandardCharsets.UTF_8);
    try {
      int client = Integer.parseInt(text.substring(1, 4));
      long number = Long.parseLong(text.substring(6, 15));
      if (StandardCharsets.UTF_8.decode(record(client, number)).toString().equals(text)) {
        return new Found(file, client, number, offset);
      }
    } catch (NumberFormatException e) {
      // falls through
    }
    return new Found(file, -1, offset, offset);
  }

  long newestAcknowledgementNanos() {
    return newestAcknowledgementNanos;
  }

  int count() {
    return acknowledged.size();
  }

  /** Tells all to end after the record under way, and waits for them. */
  List<Acknowledged> stop() throws InterruptedException {
    stopping.countDown();
    for (Thread thread : threads) {
      thread.join(JOIN_MILLIS);
      if (thread.isAlive()) {
        failures.add(thread.getName() + " does not end");
        thread.interrupt();
      }
    }
    return List.copyOf(acknowledged);
  }

  /** Records that are not in the file, and never will be. */
  List<Refused> refused() {
    return List.copyOf(refused);
  }

  List<Unanswered> unanswered() {
    return List.copyOf(unanswered);
  }

  List<String> failures() {
    return List.copyOf(failures);
  }
}
