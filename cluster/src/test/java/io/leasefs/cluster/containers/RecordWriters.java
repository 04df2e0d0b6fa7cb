package io.leasefs.cluster.containers;

import static java.nio.charset.StandardCharsets.US_ASCII;
import static org.assertj.core.api.Assertions.assertThat;

import io.leasefs.client.FileReader;
import io.leasefs.client.LeaseFs;
import io.leasefs.client.RecordAppender;
import io.leasefs.common.model.AppendResult;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;

/**
 * Some clients that append numbered records of one size to one file, each record after the answer
 * to the one before, until told to stop; and the count of what became of them.
 */
final class RecordWriters implements AutoCloseable {
  private static final int RECORD_BYTES = 64;

  private final String path;
  private final Map<String, AppendResult> acknowledged = new ConcurrentHashMap<>();
  private final AtomicLong count = new AtomicLong();
  private final ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor();
  private final List<Future<?>> writers = new ArrayList<>();
  private final List<LeaseFs> clients = new ArrayList<>();
  private volatile boolean stopped;

  RecordWriters(ContainerCluster cluster, String path, int writerCount) {
    this.path = path;
    for (int i = 0; i < writerCount; i++) {
      LeaseFs fs = cluster.connect();
      clients.add(fs);
      String name = "writer" + i;
      writers.add(threads.submit(() -> write(fs, name)));
    }
  }

  private void write(LeaseFs fs, String name) {
    try (RecordAppender appender = fs.recordAppender(path)) {
      for (long n = 0; !stopped; n++) {
        String record = record(name, n);
        acknowledged.put(record, appender.append(ByteBuffer.wrap(record.getBytes(US_ASCII))));
        count.incrementAndGet();
      }
    }
  }

  /** 64 bytes, unlike any other record's. */
  private static String record(String name, long n) {
    return String.format("%-" + (RECORD_BYTES - 1) + "s\n", name + " " + n);
  }

  /** Records acknowledged up to now. */
  long count() {
    return count.get();
  }

  /** Waits until so many more have been acknowledged. */
  void awaitMore(long more, Duration limit) {
    long goal = count() + more;
    ContainerCluster.await(
        limit,
        more + " more records are acknowledged",
        () -> {
          writers.stream().filter(Future::isDone).forEach(RecordWriters::throwFailure);
          return count() >= goal;
        });
  }

  private static void throwFailure(Future<?> writer) {
    try {
      writer.get(60, TimeUnit.SECONDS);
    } catch (Exception e) {
      throw new AssertionError("a writer failed", e);
    }
  }

  /**
   * Stops the writers and reads everything back: each acknowledged record is there exactly once, at
   * the place that it was told, and there is no other record twice.
   */
  void stopAndVerify() {
    stopped = true;
    writers.forEach(RecordWriters::throwFailure);
    try (FileReader reader = clients.get(0).open(path)) {
      ByteBuffer content = ByteBuffer.allocate((int) reader.length());
      reader.readFully(0, content);
      assertThat(content.capacity() % RECORD_BYTES).isZero();
      Map<String, Long> found = new HashMap<>();
      for (int at = 0; at < content.capacity(); at += RECORD_BYTES) {
        String record = new String(content.array(), at, RECORD_BYTES, US_ASCII);
        assertThat(found.put(record, (long) at)).as("twice: %s", record).isNull();
      }
      acknowledged.forEach(
          (record, result) ->
              assertThat(found.get(record))
                  .as("place of %s", record)
                  .isEqualTo(result.fileOffset()));
    }
  }

  @Override
  public void close() {
    stopped = true;
    threads.shutdownNow();
    clients.forEach(LeaseFs::close);
    threads.close();
  }
}
