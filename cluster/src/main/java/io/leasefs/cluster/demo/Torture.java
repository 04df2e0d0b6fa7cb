package io.leasefs.cluster.demo;

import io.leasefs.client.CreateOptions;
import io.leasefs.client.FileWriter;
import io.leasefs.client.LeaseFs;
import io.leasefs.client.LeaseFsConfig;
import io.leasefs.cluster.demo.Evidence.Acknowledged;
import io.leasefs.cluster.demo.Evidence.Copy;
import io.leasefs.cluster.demo.Evidence.Found;
import io.leasefs.cluster.demo.Evidence.Refused;
import io.leasefs.cluster.demo.Evidence.Unanswered;
import io.leasefs.cluster.mini.MiniCluster;
import io.leasefs.cluster.mini.MiniConfig;
import io.leasefs.common.error.LeaseFsException;
import io.leasefs.common.lease.LeaseTerms;
import io.leasefs.common.model.ServerAddress;
import java.io.IOException;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;
import java.util.function.BiConsumer;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * Clients append records to several files and others read them while servers are killed, frozen,
 * cut off and starved of disk, for as long as asked; then all is healed, must work again in a
 * bounded time, and is read back. Real processes, so a seed gives the same harm in the same order,
 * not the same run.
 */
public final class Torture {
  private static final long SECOND = 1_000_000_000;
  private static final int NODES = 5;
  private static final long WARM_UP_NANOS = 5 * SECOND;
  private static final long MOST_WARM_UP_NANOS = 60 * SECOND;
  private static final int CLIENTS_PER_FILE = 3;

  /** A run no longer than this goes as fast as it can. */
  private static final long FAST_NANOS = 600 * SECOND;

  /** About 400 bytes of memory each, when they are judged. */
  private static final long MOST_RECORDS = 1_200_000;

  private static final long LEAST_READER_REST_NANOS = SECOND / 10;

  /** About 50 bytes of memory each. */
  private static final long MOST_READS = 1_000_000;

  private static final long CHUNK_BYTES = 1 << 20;
  private static final String FOLDER = "/torture";

  /** By file: true where appends may go on in a new chunk. */
  private static final Map<String, Boolean> FILES =
      new TreeMap<>(
          Map.of(
              FOLDER + "/appends-1", true,
              FOLDER + "/appends-2", true,
              FOLDER + "/staying", false));

  private final long durationNanos;
  private final LeaseTerms terms;
  private final long seed;
  private final Set<Harms.Kind> kinds;
  private final WrongClocks clocks;
  private final BiConsumer<Double, String> lines;
  private final long beganNanos = System.nanoTime();

  /**
   * Torture to come.
   *
   * @param faults names of what is done, see {@link #faults}; empty: all
   * @param lines gets seconds since the beginning and what has happened
   */
  public Torture(
      long durationNanos,
      long ttlNanos,
      long seed,
      List<String> faults,
      BiConsumer<Double, String> lines) {
    this.durationNanos = durationNanos;
    this.terms = LeaseTerms.ofTtl(ttlNanos);
    this.seed = seed;
    this.kinds = EnumSet.noneOf(Harms.Kind.class);
    for (Harms.Kind kind : Harms.Kind.values()) {
      if (faults.isEmpty() || faults.contains(kind.text())) {
        kinds.add(kind);
      }
    }
    this.clocks =
        kinds.contains(Harms.Kind.WRONG_CLOCKS)
            ? WrongClocks.draw(new Random(seed), terms.driftPpm(), NODES)
            : WrongClocks.none();
    this.lines = lines;
  }

  /** All that can be done to servers, by name. */
  public static List<String> faults() {
    return EnumSet.allOf(Harms.Kind.class).stream().map(Harms.Kind::text).toList();
  }

  /**
   * Runs it.
   *
   * @param keep whether the cluster's folder stays
   */
  public TortureVerdict run(boolean keep) throws IOException, InterruptedException {
    MiniConfig config =
        MiniConfig.inNewFolder(
                "leasefs-torture-",
                keep,
                NODES,
                Stream.concat(
                        MiniConfig.leaseTtl(terms.ttlNanos()).stream(), Stream.of("--allow-faults"))
                    .toList(),
                List.of("--allow-faults"))
            .withJvmFlags("-XX:TieredStopAtLevel=1")
            .withOwnFlags(clocks.flags());
    tell("starting 1 master and " + NODES + " chunkservers in " + config.folder());
    if (!clocks.driftPpm().isEmpty()) {
      tell("wrong clocks: " + clocks + "; wall clocks are off by up to a day");
    }
    try (MiniCluster cluster = MiniCluster.start(config)) {
      return runOn(cluster);
    }
  }

  private TortureVerdict runOn(MiniCluster cluster) throws IOException, InterruptedException {
    List<Writers> writers = new ArrayList<>();
    List<Readers> readers = new ArrayList<>();
    try (LeaseFs client = LeaseFs.connect(LeaseFsConfig.of(List.of(cluster.masterAddress())))) {
      var _ = client.mkdir(FOLDER, true, 0755);
      FILES.forEach((file, writesOn) -> start(cluster, client, file, writers, readers));
      boolean _ = awaitProgress(writers, readers, System.nanoTime());
      long perSecond = warmUp(writers);
      tell("before the first fault: " + perSecond + " appends a second");
      Harms harms = new Harms(cluster, terms, kinds, seed, this::tell);
      if (perSecond >= TortureVerdict.LEAST_PER_SECOND) {
        harms.run(System.nanoTime() + durationNanos);
        tell("all is healed");
      } else {
        tell("too few to prove anything: nothing is harmed");
      }
      boolean converged = awaitProgress(writers, readers, System.nanoTime());
      stop(writers, readers);
      tell("reading everything back");
      List<String> broken = new ArrayList<>();
      FILES.keySet().forEach(file -> seal(client, file, broken));
      ReadBack back = new ReadBack(client);
      HistoryCheck.Story story = story(writers, readers, back);
      List<Copy> copies = equalCopies(back);
      return TortureVerdict.of(
          new TortureVerdict.Evidence(
              perSecond,
              converged,
              broken,
              story,
              copies,
              clocks.trueTimes(MiniDemoCluster.readAll(cluster.folder())),
              harms.deaths(),
              counts(harms),
              writers.stream().mapToLong(each -> each.failures().size()).sum()));
    } finally {
      stop(writers, readers);
    }
  }

  /**
   * Appends a second, once there are enough, or when there should be: processes that have just
   * begun are slow, and on a machine that is busy for long.
   */
  private static long warmUp(List<Writers> writers) throws InterruptedException {
    long deadline = System.nanoTime() + MOST_WARM_UP_NANOS;
    long perSecond;
    do {
      long before = count(writers);
      TimeUnit.NANOSECONDS.sleep(WARM_UP_NANOS);
      perSecond = (count(writers) - before) * SECOND / WARM_UP_NANOS;
    } while (perSecond < TortureVerdict.LEAST_PER_SECOND && System.nanoTime() - deadline < 0);
    return perSecond;
  }

  private void start(
      MiniCluster cluster,
      LeaseFs client,
      String file,
      List<Writers> writers,
      List<Readers> readers) {
    List<ServerAddress> masters = List.of(cluster.masterAddress());
    create(client, file);
    writers.add(
        new Writers(
            masters,
            file,
            CLIENTS_PER_FILE,
            Boolean.TRUE.equals(FILES.get(file)),
            true,
            restNanos(durationNanos)));
    readers.add(
        new Readers(
            masters,
            new SeenFile(file, Writers.RECORD_BYTES),
            readerRestNanos(durationNanos),
            seed));
  }

  private static void stop(List<Writers> writers, List<Readers> readers)
      throws InterruptedException {
    for (Writers each : writers) {
      List<Acknowledged> _ = each.stop();
    }
    for (Readers each : readers) {
      each.stop();
    }
  }

  /** What clients were told, and what is there in the end. */
  private HistoryCheck.Story story(List<Writers> writers, List<Readers> readers, ReadBack back)
      throws InterruptedException {
    List<Acknowledged> acknowledged = new ArrayList<>();
    List<Refused> refused = new ArrayList<>();
    List<Unanswered> unanswered = new ArrayList<>();
    for (Writers each : writers) {
      acknowledged.addAll(each.stop());
      refused.addAll(each.refused());
      unanswered.addAll(each.unanswered());
    }
    List<Found> found = new ArrayList<>();
    List<HistoryCheck.Unreadable> unreadable = new ArrayList<>();
    for (String file : FILES.keySet()) {
      List<Found> inOrder = new ArrayList<>();
      try {
        back.records(file, inOrder);
      } catch (LeaseFsException e) {
        long readTo = (long) inOrder.size() * Writers.RECORD_BYTES;
        unreadable.add(new HistoryCheck.Unreadable(file, readTo, String.valueOf(e.getMessage())));
      }
      found.addAll(inOrder);
    }
    return new HistoryCheck.Story(
        beganNanos,
        terms.grantorValidityNanos(),
        FILES.keySet().stream()
            .filter(file -> Boolean.TRUE.equals(FILES.get(file)))
            .collect(Collectors.toSet()),
        acknowledged,
        refused,
        unanswered,
        found,
        unreadable,
        readers.stream().map(Readers::seen).toList());
  }

  /**
   * How long a client rests after each answer: in a long run so long that all records of it fit
   * into memory, when they are judged.
   */
  static long restNanos(long durationNanos) {
    int clients = FILES.size() * CLIENTS_PER_FILE;
    return durationNanos <= FAST_NANOS ? 0 : durationNanos / MOST_RECORDS * clients;
  }

  /** How long a reader rests after each answer. */
  static long readerRestNanos(long durationNanos) {
    int readers = FILES.size() * ReaderKind.values().length;
    return Math.max(LEAST_READER_REST_NANOS, durationNanos / MOST_READS * readers);
  }

  private Map<String, Integer> counts(Harms harms) {
    Map<String, Integer> counts = new TreeMap<>();
    harms.counts().forEach((kind, count) -> counts.put(kind.text(), count));
    if (!clocks.driftPpm().isEmpty()) {
      counts.put(Harms.Kind.WRONG_CLOCKS.text(), clocks.driftPpm().size());
    }
    return counts;
  }

  private void tell(String line) {
    lines.accept((System.nanoTime() - beganNanos) / 1e9, line);
  }

  private static void create(LeaseFs client, String file) {
    try (FileWriter writer =
        client.create(file, CreateOptions.DEFAULT.withChunkBytes(CHUNK_BYTES))) {
      writer.flush();
    }
  }

  /** Its last chunk is sealed, so that its replicas can be compared. */
  private static void seal(LeaseFs client, String file, List<String> broken) {
    try {
      client.append(file).close();
    } catch (LeaseFsException e) {
      broken.add(file + " cannot be opened and closed when healed: " + e.getMessage());
    }
  }

  private static long count(List<Writers> all) {
    return all.stream().mapToLong(Writers::count).sum();
  }

  /**
   * True where every file acknowledges again, and every reader of it is answered, within two
   * promises and a quarter of a minute.
   */
  private boolean awaitProgress(List<Writers> writers, List<Readers> readers, long from)
      throws InterruptedException {
    long deadline = from + 2 * terms.grantorValidityNanos() + 15 * SECOND;
    while (System.nanoTime() - deadline < 0) {
      if (writers.stream().allMatch(each -> each.newestAcknowledgementNanos() - from > 0)
          && readers.stream().allMatch(each -> each.haveReadSince(from))) {
        return true;
      }
      TimeUnit.MILLISECONDS.sleep(20);
    }
    return false;
  }

  /** Replicas as soon as they are equal, or as they are when that takes too long. */
  private List<Copy> equalCopies(ReadBack back) throws InterruptedException {
    long deadline = System.nanoTime() + 4 * terms.grantorValidityNanos() + 15 * SECOND;
    while (true) {
      List<Copy> copies = new ArrayList<>();
      boolean whole = true;
      for (String file : FILES.keySet()) {
        try {
          copies.addAll(back.copies(file));
        } catch (LeaseFsException e) {
          whole = false; // a copy is being replaced
        }
      }
      boolean equal = whole && RecordCheck.differing(copies).isEmpty();
      if (equal || System.nanoTime() - deadline > 0) {
        return copies;
      }
      TimeUnit.MILLISECONDS.sleep(200);
    }
  }
}
