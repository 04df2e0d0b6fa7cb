package io.leasefs.cluster.demo;

import io.leasefs.client.CreateOptions;
import io.leasefs.client.FileWriter;
import io.leasefs.client.LeaseFs;
import io.leasefs.client.LeaseFsConfig;
import io.leasefs.cluster.demo.Evidence.Acknowledged;
import io.leasefs.cluster.demo.Evidence.Copy;
import io.leasefs.cluster.demo.Evidence.Found;
import io.leasefs.cluster.mini.MiniCluster;
import io.leasefs.cluster.mini.MiniConfig;
import io.leasefs.common.error.LeaseFsException;
import io.leasefs.common.lease.LeaseTerms;
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
import java.util.stream.Stream;

/**
 * Clients append records to several files while servers are killed, frozen, cut off and starved of
 * disk, for as long as asked; then all is healed, must work again in a bounded time, and is read
 * back. Real processes, so a seed gives the same harm in the same order, not the same run.
 */
public final class Torture {
  private static final long SECOND = 1_000_000_000;
  private static final int NODES = 5;
  private static final long WARM_UP_NANOS = 5 * SECOND;
  private static final int CLIENTS_PER_FILE = 3;

  /** A run no longer than this goes as fast as it can. */
  private static final long FAST_NANOS = 600 * SECOND;

  /** About 200 bytes of memory each. */
  private static final long MOST_RECORDS = 1_200_000;

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
    List<Writers> all = new ArrayList<>();
    try (LeaseFs client = LeaseFs.connect(LeaseFsConfig.of(List.of(cluster.masterAddress())))) {
      var _ = client.mkdir(FOLDER, true, 0755);
      FILES.forEach(
          (file, writesOn) -> {
            create(client, file);
            all.add(
                new Writers(
                    List.of(cluster.masterAddress()),
                    file,
                    CLIENTS_PER_FILE,
                    writesOn,
                    true,
                    restNanos(durationNanos)));
          });
      boolean _ = awaitProgress(all, System.nanoTime());
      long before = count(all);
      TimeUnit.NANOSECONDS.sleep(WARM_UP_NANOS);
      long perSecond = (count(all) - before) * SECOND / WARM_UP_NANOS;
      tell("before the first fault: " + perSecond + " appends a second");
      Harms harms = new Harms(cluster, terms, kinds, seed, this::tell);
      harms.run(System.nanoTime() + durationNanos);
      tell("all is healed");
      boolean converged = awaitProgress(all, System.nanoTime());
      List<Acknowledged> acknowledged = new ArrayList<>();
      List<String> failures = new ArrayList<>();
      for (Writers writers : all) {
        acknowledged.addAll(writers.stop());
        failures.addAll(writers.failures());
      }
      tell("reading everything back");
      ReadBack back = new ReadBack(client);
      List<Found> found = new ArrayList<>();
      for (String file : FILES.keySet()) {
        seal(client, file);
        found.addAll(back.records(file));
      }
      List<Copy> copies = equalCopies(back);
      return TortureVerdict.of(
          new TortureVerdict.Evidence(
              perSecond,
              converged,
              acknowledged,
              found,
              copies,
              clocks.trueTimes(MiniDemoCluster.readAll(cluster.folder())),
              harms.deaths(),
              counts(harms),
              failures.size()));
    } finally {
      for (Writers writers : all) {
        List<Acknowledged> _ = writers.stop();
      }
    }
  }

  /**
   * How long a client rests after each answer: in a long run so long that all records of it fit
   * into memory, when they are judged.
   */
  static long restNanos(long durationNanos) {
    int clients = FILES.size() * CLIENTS_PER_FILE;
    return durationNanos <= FAST_NANOS ? 0 : durationNanos / MOST_RECORDS * clients;
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
  private static void seal(LeaseFs client, String file) {
    client.append(file).close();
  }

  private static long count(List<Writers> all) {
    return all.stream().mapToLong(Writers::count).sum();
  }

  /** True where every file acknowledges again within two promises and a quarter of a minute. */
  private boolean awaitProgress(List<Writers> all, long from) throws InterruptedException {
    long deadline = from + 2 * terms.grantorValidityNanos() + 15 * SECOND;
    while (System.nanoTime() - deadline < 0) {
      if (all.stream().allMatch(writers -> writers.newestAcknowledgementNanos() - from > 0)) {
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
