package io.leasefs.cluster.cli;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.Logger;
import io.leasefs.client.cli.ExitCode;
import io.leasefs.client.cli.Json;
import io.leasefs.client.cli.Verb;
import io.leasefs.cluster.simulation.Outcome;
import io.leasefs.cluster.simulation.Simulation;
import io.leasefs.common.error.ErrorCode;
import io.leasefs.common.error.LeaseFsException;
import java.util.ArrayDeque;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;
import org.slf4j.LoggerFactory;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;

/** {@code leasefs simulate}. */
@Command(
    description = "Run whole clusters in a deterministic world full of faults.",
    footer = {
      "",
      "The same seed of the same program is the same run, event for event: its digest says so.",
      "Exit 0: every acknowledged record is there, once, in its place; no invariant was broken.",
      "Exit 10: not so; the seed, the invariant and the last events are printed.",
      "",
      "Examples:",
      "  leasefs simulate --seeds 1..100",
      "  leasefs simulate --seed 17 --trace    # every event",
      "  leasefs simulate --seeds 1..10000 --jobs 2 --failed-only"
    })
public final class SimulateVerb extends Verb {
  /** Runs begun before the oldest is printed, for each of those side by side. */
  private static final int AHEAD = 4;

  private static final Pattern RANGE = Pattern.compile("(\\d{1,18})\\.\\.(\\d{1,18})");

  @Option(names = "--seed", paramLabel = "N", description = "Run this seed. Default: 1.")
  private long seed = 1;

  @Option(names = "--seeds", paramLabel = "A..B", description = "Run all of these.")
  private @Nullable String seeds;

  @Option(
      names = "--jobs",
      paramLabel = "N",
      description = "Run so many seeds side by side. Default: 1.")
  private int jobs = 1;

  @Option(names = "--failed-only", description = "Print no seed that passes.")
  private boolean failedOnly;

  @Override
  protected int run() {
    // What servers log is part of their work here, not of ours.
    ((Logger) LoggerFactory.getLogger(org.slf4j.Logger.ROOT_LOGGER_NAME)).setLevel(Level.OFF);
    long first = seed;
    long last = seed;
    if (seeds != null) {
      Matcher range = RANGE.matcher(seeds);
      if (!range.matches()) {
        throw new LeaseFsException(
            ErrorCode.INVALID_ARGUMENT,
            "--seeds '" + seeds + "' is not a range",
            "write it as --seeds 1..100");
      }
      first = Long.parseLong(range.group(1));
      last = Long.parseLong(range.group(2));
    }
    if (last < first) {
      throw new LeaseFsException(
          ErrorCode.INVALID_ARGUMENT,
          "--seeds " + seeds + " holds no seed",
          "write the smaller number first: --seeds " + last + ".." + first);
    }
    if (jobs < 1) {
      throw new LeaseFsException(ErrorCode.INVALID_ARGUMENT, "--jobs " + jobs + " is below 1");
    }
    Sum sum = new Sum();
    if (trace() || jobs == 1) {
      for (long each = first; each <= last; each++) {
        Outcome outcome =
            trace() ? Simulation.run(each, line -> out().line(line)) : Simulation.run(each);
        take(sum, outcome);
      }
    } else {
      sideBySide(first, last, sum);
    }
    if (first == last && sum.failed > 0 && !trace()) {
      shorten(first);
    }
    if (last > first) {
      out().event(sum.json(), sum.text());
    }
    return sum.failed == 0 && sum.isDecided() ? ExitCode.DONE : ExitCode.CHECK_FAILED;
  }

  /** What is printed, and its order, does not depend on how many run at once. */
  private void sideBySide(long first, long last, Sum sum) {
    try (ExecutorService workers = Executors.newFixedThreadPool(jobs)) {
      ArrayDeque<Future<Outcome>> running = new ArrayDeque<>();
      long next = first;
      while (next <= last || !running.isEmpty()) {
        while (next <= last && running.size() < AHEAD * jobs) {
          long each = next++;
          running.addLast(workers.submit(() -> Simulation.run(each)));
        }
        take(sum, running.removeFirst().get());
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new LeaseFsException(ErrorCode.OUTCOME_UNKNOWN, "interrupted");
    } catch (ExecutionException e) {
      throw new IllegalStateException(e.getCause());
    }
  }

  private void take(Sum sum, Outcome outcome) {
    sum.add(outcome);
    if (!failedOnly || !outcome.passed()) {
      print(outcome);
    }
  }

  /** A single seed that fails is made as short as it can be. */
  private void shorten(long failed) {
    Outcome whole = Simulation.run(failed);
    Outcome shortest = Simulation.shortest(whole);
    out()
        .event(
            Json.object(
                "seed", failed,
                "shortestPrefix", shortest.struck(),
                "ofFaults", whole.struck().size(),
                "events", shortest.events()),
            String.format(
                "the first %d of its %d faults are enough, in %d events:%s%n%s",
                shortest.struck().size(),
                whole.struck().size(),
                shortest.events(),
                shortest.struck().stream().map(kind -> " " + kind).reduce("", String::concat),
                shortest.violation().map(Object::toString).orElse("")));
  }

  private void print(Outcome outcome) {
    String line =
        String.format(
            Locale.ROOT,
            "seed %d %s digest %016x events %d simulated %.1fs acknowledged %d faults %d grants %d",
            outcome.seed(),
            outcome.passed() ? "PASS" : "FAIL",
            outcome.digest(),
            outcome.events(),
            outcome.simulatedNanos() / 1e9,
            outcome.acknowledged(),
            outcome.faults(),
            outcome.grants());
    if (outcome.masters() > 1) {
      line +=
          String.format(
              Locale.ROOT, " masters %d elections %d", outcome.masters(), outcome.elections());
    }
    StringBuilder text = new StringBuilder(line);
    outcome
        .violation()
        .ifPresent(
            violation -> {
              text.append(String.format("%n  drawn: %s%n  last events:", outcome.drawn()));
              outcome.newest().forEach(event -> text.append(System.lineSeparator()).append(event));
              text.append(String.format("%nseed %d breaks %s", outcome.seed(), violation));
            });
    out()
        .event(
            Json.object(
                "seed", outcome.seed(),
                "passed", outcome.passed(),
                "digest", String.format("%016x", outcome.digest()),
                "events", outcome.events(),
                "simulatedMillis", outcome.simulatedNanos() / 1_000_000,
                "acknowledged", outcome.acknowledged(),
                "unknown", outcome.unknown(),
                "grants", outcome.grants(),
                "tenures", outcome.tenures(),
                "failovers", outcome.failovers(),
                "faults", outcome.faultsByKind(),
                "invariant",
                    outcome.violation().map(violation -> violation.invariant()).orElse(null),
                "message", outcome.violation().map(violation -> violation.message()).orElse(null)),
            text.toString());
    out().flush();
  }

  /** Of all runs. */
  private static final class Sum {
    private long runs;
    private long failed;
    private long events;
    private long acknowledged;
    private long grants;
    private long failovers;
    private long histories;
    private long undecided;
    private final Map<String, Integer> faults = new TreeMap<>();
    private long digest;

    void add(Outcome outcome) {
      runs++;
      failed += outcome.passed() ? 0 : 1;
      events += outcome.events();
      acknowledged += outcome.acknowledged();
      grants += outcome.grants();
      failovers += outcome.failovers();
      histories += outcome.histories();
      undecided += outcome.undecided();
      outcome.faultsByKind().forEach((kind, count) -> faults.merge(kind, count, Integer::sum));
      digest = 31 * digest + outcome.digest();
    }

    /** So few histories are left open that the others tell something. */
    boolean isDecided() {
      return undecided * 100 <= histories;
    }

    Map<String, Object> json() {
      return Json.object(
          "runs", runs,
          "failed", failed,
          "events", events,
          "acknowledged", acknowledged,
          "grants", grants,
          "failovers", failovers,
          "histories", histories,
          "historiesUndecided", undecided,
          "faults", faults,
          "digest", String.format("%016x", digest));
    }

    String text() {
      StringBuilder kinds = new StringBuilder();
      faults.forEach((kind, count) -> kinds.append(' ').append(kind).append('=').append(count));
      return String.format(
          "%d runs, %d failed; events %d acknowledged %d grants %d failovers %d digest %016x"
              + "%nhistories checked for linearizability: %d, undecided within the budget: %d"
              + "%nfaults:%s",
          runs,
          failed,
          events,
          acknowledged,
          grants,
          failovers,
          digest,
          histories,
          undecided,
          kinds);
    }
  }
}
