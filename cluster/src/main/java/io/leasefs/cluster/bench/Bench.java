package io.leasefs.cluster.bench;

import com.google.common.primitives.ImmutableLongArray;
import com.sun.management.ThreadMXBean;
import io.leasefs.client.CreateOptions;
import io.leasefs.client.FileReader;
import io.leasefs.client.FileWriter;
import io.leasefs.client.LeaseFs;
import io.leasefs.cluster.mini.MiniCluster;
import io.leasefs.common.error.ErrorCode;
import io.leasefs.common.error.LeaseFsException;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.function.Consumer;

/**
 * The workloads: w1, w2 (sequential writes, 1 and 4 writers), r1, r2 (the same back), r3 (64 KiB
 * positional reads), a1, a4 (1 KiB append and flush, 1 and 4 files), s1 (small files), m1
 * (metadata). Everything lies below {@code /bench}, which is removed at the end. One thread; the
 * work itself runs on threads of its own.
 */
public final class Bench {
  /** Names of all, in a good order. */
  public static final List<String> ALL =
      List.of("w1", "w2", "r1", "r2", "r3", "a1", "a4", "s1", "m1");

  private static final int PIECE = 1 << 20;
  private static final int PREAD = 64 << 10;
  private static final int APPEND = 1 << 10;
  private static final int SMALL = 4 << 10;
  private static final int FOLDERS = 100;
  private static final int METADATA_THREADS = 8;
  private static final String BASE = "/bench";

  private final LeaseFs client;
  private final int mebibytes;
  private final int operations;
  private final int files;
  private final int replication;
  private final byte[] pattern = new byte[8 * PIECE];
  private final ServerHeap serverHeap;

  /** What the chunkservers have allocated since they started, all together; -1: nobody tells. */
  public interface ServerHeap {
    long bytes() throws InterruptedException;

    /** Of a cluster that was started by this process. */
    static ServerHeap of(MiniCluster cluster) {
      ServerMeters meters = ServerMeters.of(cluster);
      return () -> {
        try {
          return (long) meters.sum("leasefs_heap_allocated_bytes_total");
        } catch (IOException e) {
          return -1;
        }
      };
    }
  }

  /**
   * A bench on this cluster.
   *
   * @param mebibytes total size of sequential writes and reads
   * @param operations positional reads and appends
   * @param files small and empty files
   * @param replication copies; 0 = the cluster's default
   * @param serverHeap asked before and after each part
   */
  public Bench(
      LeaseFs client,
      int mebibytes,
      int operations,
      int files,
      int replication,
      ServerHeap serverHeap) {
    this.client = client;
    this.serverHeap = serverHeap;
    this.mebibytes = mebibytes;
    this.operations = operations;
    this.files = files;
    this.replication = replication == 0 ? client.greeting().replication() : replication;
    new Random(42).nextBytes(pattern);
  }

  /** Runs one workload; each result is told as it comes. */
  void run(String workload, Consumer<BenchResult> results) throws InterruptedException {
    var _ = client.mkdir(BASE, true, 0755);
    switch (workload) {
      case "w1" -> results.accept(write(1));
      case "w2" -> results.accept(write(4));
      case "r1" -> results.accept(read(1));
      case "r2" -> results.accept(read(4));
      case "r3" -> results.accept(pread());
      case "a1" -> results.accept(append(1));
      case "a4" -> results.accept(append(4));
      case "s1" -> small(results);
      case "m1" -> metadata(results);
      default ->
          throw new LeaseFsException(
              ErrorCode.INVALID_ARGUMENT,
              "no workload named '" + workload + "'",
              "one of: " + String.join(" ", ALL));
    }
  }

  /** Removes what was written. */
  void clean() {
    if (client.find(BASE).isPresent()) {
      client.delete(BASE, true, true);
    }
  }

  private CreateOptions options() {
    return CreateOptions.DEFAULT.withReplication(replication);
  }

  private static String sequential(int writers, int index) {
    return BASE + "/seq" + writers + "." + index;
  }

  private void removeIfThere(String path) {
    if (client.find(path).isPresent()) {
      client.delete(path, true, true);
    }
  }

  private BenchResult write(int writers) throws InterruptedException {
    for (int i = 0; i < writers; i++) {
      removeIfThere(sequential(writers, i));
    }
    int each = mebibytes / writers;
    return timed(
        "write",
        writers,
        each,
        (long) PIECE * each * writers,
        worker -> new WriteTask(worker, writers));
  }

  private final class WriteTask implements Task {
    private final FileWriter writer;

    WriteTask(int worker, int writers) {
      writer = client.create(sequential(writers, worker), options());
    }

    @Override
    public void run(int number) {
      writer.write(ByteBuffer.wrap(pattern, (number & 7) * PIECE, PIECE));
    }

    @Override
    public void close() {
      writer.close();
    }
  }

  private BenchResult read(int readers) throws InterruptedException {
    int each = mebibytes / readers;
    for (int i = 0; i < readers; i++) {
      if (client.find(sequential(readers, i)).isEmpty()) {
        BenchResult _ = write(readers);
      }
    }
    return timed(
        "read",
        readers,
        each,
        (long) PIECE * each * readers,
        worker -> {
          FileReader reader = client.open(sequential(readers, worker));
          byte[] piece = new byte[PIECE];
          return new Task() {
            @Override
            public void run(int number) {
              int filled = 0;
              while (filled < PIECE) {
                int got = reader.read(piece, filled, PIECE - filled);
                if (got < 0) {
                  throw new LeaseFsException(ErrorCode.CORRUPT, reader.path() + ": too short");
                }
                filled += got;
              }
            }

            @Override
            public void close() {
              reader.close();
            }
          };
        });
  }

  private BenchResult pread() throws InterruptedException {
    if (client.find(sequential(1, 0)).isEmpty()) {
      BenchResult _ = write(1);
    }
    return timed(
        "pread64k",
        1,
        operations,
        (long) PREAD * operations,
        worker -> {
          FileReader reader = client.open(sequential(1, 0));
          Random random = new Random(11L + worker);
          ByteBuffer target = ByteBuffer.allocate(PREAD);
          long limit = reader.length() - PREAD;
          return new Task() {
            @Override
            public void run(int number) {
              long at = (random.nextLong() >>> 1) % limit;
              reader.readFully(at, target.clear());
              if (target.get(0) != pattern[(int) (at % pattern.length)]) {
                throw new LeaseFsException(ErrorCode.CORRUPT, "wrong byte at " + at);
              }
            }

            @Override
            public void close() {
              reader.close();
            }
          };
        });
  }

  private BenchResult append(int count) throws InterruptedException {
    for (int i = 0; i < count; i++) {
      removeIfThere(BASE + "/log" + i);
    }
    return timed(
        "append1k+flush",
        count,
        operations,
        (long) APPEND * operations * count,
        worker -> {
          FileWriter writer = client.create(BASE + "/log" + worker, options());
          return new Task() {
            @Override
            public void run(int number) {
              writer.write(pattern, number & 0xfff, APPEND);
              writer.flush();
            }

            @Override
            public void close() {
              writer.close();
            }
          };
        });
  }

  private static String path(int number) {
    return BASE + "/meta/d" + number % FOLDERS + "/f" + number;
  }

  private void makeFolders() {
    removeIfThere(BASE + "/meta");
    for (int i = 0; i < FOLDERS; i++) {
      var _ = client.mkdir(BASE + "/meta/d" + i, true, 0755);
    }
  }

  private void small(Consumer<BenchResult> results) throws InterruptedException {
    makeFolders();
    int each = files / METADATA_THREADS;
    long bytes = (long) SMALL * each * METADATA_THREADS;
    results.accept(
        timed(
            "write4k",
            METADATA_THREADS,
            each,
            bytes,
            worker ->
                number -> {
                  try (FileWriter writer =
                      client.create(path(number * METADATA_THREADS + worker), options())) {
                    writer.write(pattern, number & 0xfff, SMALL);
                  }
                }));
    results.accept(
        timed(
            "read4k",
            METADATA_THREADS,
            each,
            bytes,
            worker -> {
              ByteBuffer target = ByteBuffer.allocate(SMALL);
              return number -> {
                try (FileReader reader = client.open(path(number * METADATA_THREADS + worker))) {
                  reader.readFully(0, target.clear());
                }
              };
            }));
    removeIfThere(BASE + "/meta");
  }

  private void metadata(Consumer<BenchResult> results) throws InterruptedException {
    makeFolders();
    int each = files / METADATA_THREADS;
    results.accept(
        timed(
            "create",
            METADATA_THREADS,
            each,
            0,
            worker ->
                number -> {
                  var _ = client.touch(path(number * METADATA_THREADS + worker), options(), 0);
                }));
    results.accept(
        timed(
            "stat",
            METADATA_THREADS,
            5 * each,
            0,
            worker -> {
              Random random = new Random(worker);
              return number -> {
                var _ = client.stat(path(random.nextInt(each * METADATA_THREADS)));
              };
            }));
    results.accept(
        timed(
            "list100",
            METADATA_THREADS,
            Math.max(1, each / 12),
            0,
            worker ->
                number -> {
                  Iterator<?> entries =
                      client.list(
                          BASE + "/meta/d" + (number * METADATA_THREADS + worker) % FOLDERS);
                  entries.forEachRemaining(entry -> {});
                }));
    results.accept(
        timed(
            "rename",
            METADATA_THREADS,
            each,
            0,
            worker ->
                number -> {
                  String from = path(number * METADATA_THREADS + worker);
                  var _ = client.rename(from, from + "r", false);
                }));
    results.accept(
        timed(
            "delete",
            METADATA_THREADS,
            each,
            0,
            worker ->
                number ->
                    client.delete(path(number * METADATA_THREADS + worker) + "r", false, true)));
    removeIfThere(BASE + "/meta");
  }

  /** What a worker does again and again. */
  private interface Task extends AutoCloseable {
    void run(int number);

    @Override
    default void close() {}
  }

  private interface Worker {
    Task begin(int worker);
  }

  private BenchResult timed(String what, int workers, int each, long bytes, Worker worker)
      throws InterruptedException {
    ThreadMXBean threads = (ThreadMXBean) ManagementFactory.getThreadMXBean();
    long serversBefore = serverHeap.bytes();
    long heapBefore = threads.getTotalThreadAllocatedBytes();
    long[][] latencies = new long[workers][each];
    List<Throwable> failures = new ArrayList<>();
    List<Thread> running = new ArrayList<>();
    double cpuBefore = busySeconds();
    long begun = System.nanoTime();
    for (int w = 0; w < workers; w++) {
      int number = w;
      Thread thread =
          new Thread(
              () -> {
                try (Task task = worker.begin(number)) {
                  for (int i = 0; i < each; i++) {
                    long from = System.nanoTime();
                    task.run(i);
                    latencies[number][i] = System.nanoTime() - from;
                  }
                } catch (RuntimeException e) {
                  synchronized (failures) {
                    failures.add(e);
                  }
                }
              },
              "bench " + w);
      thread.start();
      running.add(thread);
    }
    for (Thread thread : running) {
      thread.join();
    }
    long took = System.nanoTime() - begun;
    long heap = threads.getTotalThreadAllocatedBytes() - heapBefore;
    long servers = serversBefore < 0 ? -1 : serverHeap.bytes() - serversBefore;
    double cpu = cpuBefore < 0 ? -1 : busySeconds() - cpuBefore;
    if (!failures.isEmpty()) {
      Throwable first = failures.get(0);
      throw first instanceof LeaseFsException known
          ? known
          : new LeaseFsException(ErrorCode.INTERNAL, what + ": " + first, null, first);
    }
    long[] all = Arrays.stream(latencies).flatMapToLong(Arrays::stream).sorted().toArray();
    return new BenchResult(
        what,
        (long) each * workers,
        bytes,
        took,
        cpu,
        heap,
        servers,
        what.startsWith("write") || what.startsWith("append") ? replication : 1,
        ImmutableLongArray.copyOf(all));
  }

  /** Busy CPU seconds of the machine since it started; -1 where nobody tells. */
  private static double busySeconds() {
    try {
      String line = Files.readAllLines(Path.of("/proc/stat")).get(0);
      String[] words = line.trim().split(" +", -1);
      long busy = 0;
      for (int i = 1; i < words.length && i <= 8; i++) {
        if (i != 4 && i != 5) { // idle, iowait
          busy += Long.parseLong(words[i]);
        }
      }
      return busy / 100.0;
    } catch (IOException | NumberFormatException e) {
      return -1;
    }
  }

  /** Runs all these workloads, telling each result. */
  public void runAll(List<String> workloads, boolean warmUp, ResultSink sink)
      throws InterruptedException {
    try {
      for (String workload : workloads) {
        if (warmUp) {
          run(workload, result -> {});
        }
        run(workload, result -> sink.accept(result.json(workload), line(workload, result)));
      }
    } finally {
      clean();
    }
  }

  /** Takes one result, as JSON and as a line. */
  public interface ResultSink {
    void accept(Map<String, Object> json, String line);
  }

  private static String perByte(double value) {
    return Double.isNaN(value) ? "-" : String.format("%.3f B/B", value);
  }

  private static String line(String workload, BenchResult result) {
    String rate =
        result.bytes() >= (long) PREAD * result.operations()
            ? String.format("%9.1f MiB/s", result.mebibytesPerSecond())
            : String.format("%9.0f /s   ", result.perSecond());
    return String.format(
        "%-3s %-15s %s  p50 %8.3f ms  p99 %8.3f ms  cpu %s  heap %s client, %s server",
        workload,
        result.what(),
        rate,
        result.percentileMillis(50),
        result.percentileMillis(99),
        result.bytes() == 0
            ? String.format("%6.2f ms/op", result.cpuMillisPerOperation())
            : String.format("%6.2f s/GiB", result.cpuSecondsPerGibibyte()),
        perByte(result.clientHeapPerByte()),
        perByte(result.serverHeapPerByte()));
  }
}
