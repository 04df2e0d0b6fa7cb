package io.leasefs.cluster.cli;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.Logger;
import io.leasefs.client.cli.ExitCode;
import io.leasefs.client.cli.Json;
import io.leasefs.client.cli.Verb;
import io.leasefs.client.cli.VersionVerb;
import io.leasefs.cluster.simulation.Outcome;
import io.leasefs.cluster.simulation.Simulation;
import io.leasefs.cluster.simulation.Violation;
import io.leasefs.common.error.ErrorCode;
import io.leasefs.common.error.LeaseFsException;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
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
      "Exit 10: not so; the seed, the invariant and the last events are printed, and for the first",
      "failures the smallest prefix of the run that still fails, with the command that repeats it.",
      "",
      "Examples:",
      "  leasefs simulate --seeds 1..100",
      "  leasefs simulate --seed 17 --trace    # every event",
      "  leasefs simulate --seeds 1..10000 --failed-only",
      "  leasefs simulate --seed 17 --faults 3 --events 4711    # the beginning of a run"
    })
public final class SimulateVerb extends Verb {
  /** Failures of a range that are made as short as they can be. */
  private static final int MOST_SHORTENED = 3;

  /** Runs begun before the oldest is printed, for each of those side by side. */
  private static final int AHEAD = 4;

  private static final Pattern RANGE = Pattern.compile("(\\d{1,18})\\.\\.(\\d{1,18})");

  @Option(names = "--seed", paramLabel = "N", description = "Run this seed. Default: 1.")
  private @Nullable Long seed;

  @Option(names = "--seeds", paramLabel = "A..B", description = "Run all of these.")
  private @Nullable String seeds;

  @Option(
      names = "--jobs",
      paramLabel = "N",
      description = "Run so many seeds side by side. Default: as many as there are processors.")
  private int jobs = Runtime.getRuntime().availableProcessors();

  @Option(
      names = "--faults",
      paramLabel = "N",
      description = "No fault after the first N. Default: all that the seed draws.")
  private int faults = Integer.MAX_VALUE;

  @Option(
      names = "--events",
      paramLabel = "N",
      description = "Stop after N events, and check what holds at any time. Default: to the end.")
  private long events = Long.MAX_VALUE;

  @Option(names = "--failed-only", description = "Print no seed that passes.")
  private boolean failedOnly;

  @Override
  protected int run() {
    // What servers log is part of their work here, not of ours.
    ((Logger) LoggerFactory.getLogger(org.slf4j.Logger.ROOT_LOGGER_NAME)).setLevel(Level.OFF);
    if (seed != null && seeds != null) {
      throw new LeaseFsException(
          ErrorCode.INVALID_ARGUMENT, "--seed and --seeds", "say which seeds with one of them");
    }
    long first = seed == null ? 1 : seed;
    long last = first;
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
    if (faults < 0 || events < 0) {
      throw new LeaseFsException(
          ErrorCode.INVALID_ARGUMENT, "--faults and --events cannot be below 0");
    }
    Sum sum = new Sum();
    if (trace() || jobs == 1) {
      for (long left = last - first; left >= 0; left--) {
        long each = last - left;
        Outcome outcome =
            Simulation.run(each, trace() ? line -> out().line(line) : null, faults, events);
        take(sum, outcome);
      }
    } else {
      sideBySide(first, last, sum);
    }
    if (!trace() && faults == Integer.MAX_VALUE && events == Long.MAX_VALUE) {
      sum.failures.forEach(this::shorten);
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
      long left = last - first + 1;
      while (left > 0 || !running.isEmpty()) {
        while (left > 0 && running.size() < AHEAD * jobs) {
          long each = next++;
          left--;
          running.addLast(workers.submit(() -> Simulation.run(each, null, faults, events)));
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

  /** Of a seed that fails: the shortest prefix that still does, and an easier run where one is. */
  private void shorten(Outcome whole) {
    Outcome prefix = Simulation.shortest(whole);
    Optional<Outcome> simpler = Simulation.simpler(prefix);
    out()
        .event(
            Json.object(
                "seed", whole.seed(),
                "commit", VersionVerb.commit(),
                "events", prefix.events(),
                "struck", prefix.struck(),
                "invariant", prefix.violation().map(Violation::invariant).orElse(null),
                "message", prefix.violation().map(Violation::message).orElse(null),
                "replay", replay(prefix, false),
                "simplerReplay", simpler.map(run -> replay(run, true)).orElse(null)),
            String.format(
                    "seed %d, commit %s: the smallest prefix that fails is its first %d events:"
                        + " %s%n  faults so far:%s%n  replay: %s",
                    whole.seed(),
                    VersionVerb.commit(),
                    prefix.events(),
                    prefix.violation().map(Object::toString).orElse(""),
                    struck(prefix),
                    replay(prefix, false))
                + simpler.map(SimulateVerb::told).orElse(""));
  }

  private static String told(Outcome simpler) {
    return String.format(
        "%n  another run of this seed breaks the same invariant with its first %d faults only:%s%n"
            + "  %s%n  replay: %s",
        simpler.struck().size(),
        struck(simpler),
        simpler.violation().map(Object::toString).orElse(""),
        replay(simpler, true));
  }

  private static String struck(Outcome outcome) {
    return outcome.struck().isEmpty() ? " none" : " " + String.join(" ", outcome.struck());
  }

  private static String replay(Outcome outcome, boolean fewerFaults) {
    return "leasefs simulate --seed "
        + outcome.seed()
        + (fewerFaults ? " --faults " + outcome.struck().size() : "")
        + " --events "
        + outcome.events();
  }

  private void print(Outcome outcome) {
    String line =
        String.format(
            Locale.ROOT,
            "seed %d %s digest %016x events %d simulated %.1fs acknowledged %d faults %d grants %d",
            outcome.seed(),
            !outcome.passed() ? "FAIL" : events == Long.MAX_VALUE ? "PASS" : "PASS so far:",
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
                "handOverNanos",
                    outcome.handOverNanos() == Outcome.NONE ? null : outcome.handOverNanos(),
                "earlyHandOverNanos",
                    outcome.earlyHandOverNanos() == Outcome.NONE
                        ? null
                        : outcome.earlyHandOverNanos(),
                "histories", outcome.histories(),
                "faults", outcome.faultsByKind(),
                "stoppedInside", outcome.stops(),
                "invariant", outcome.violation().map(Violation::invariant).orElse(null),
                "message", outcome.violation().map(Violation::message).orElse(null)),
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
    private long handOverNanos = Outcome.NONE;
    private long earlyHandOverNanos = Outcome.NONE;

    /** The first ones. */
    private final List<Outcome> failures = new ArrayList<>();

    private long histories;
    private long undecided;
    private final Map<String, Integer> faults = new TreeMap<>();
    private final Map<String, Integer> stops = new TreeMap<>();
    private long digest;

    void add(Outcome outcome) {
      runs++;
      if (!outcome.passed()) {
        failed++;
        if (failures.size() < MOST_SHORTENED) {
          failures.add(outcome);
        }
      }
      handOverNanos = Math.min(handOverNanos, outcome.handOverNanos());
      earlyHandOverNanos = Math.min(earlyHandOverNanos, outcome.earlyHandOverNanos());
      events += outcome.events();
      acknowledged += outcome.acknowledged();
      grants += outcome.grants();
      failovers += outcome.failovers();
      histories += outcome.histories();
      undecided += outcome.undecided();
      outcome.faultsByKind().forEach((kind, count) -> faults.merge(kind, count, Integer::sum));
      outcome.stops().forEach((point, count) -> stops.merge(point, count, Integer::sum));
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
          "handOverNanos", handOverNanos == Outcome.NONE ? null : handOverNanos,
          "earlyHandOverNanos", earlyHandOverNanos == Outcome.NONE ? null : earlyHandOverNanos,
          "histories", histories,
          "historiesUndecided", undecided,
          "faults", faults,
          "stoppedInside", stops,
          "digest", String.format("%016x", digest));
    }

    private static String gap(long nanos) {
      return nanos == Outcome.NONE ? "none" : String.format(Locale.ROOT, "%.6f s", nanos / 1e9);
    }

    String text() {
      StringBuilder kinds = new StringBuilder();
      faults.forEach((kind, count) -> kinds.append(' ').append(kind).append('=').append(count));
      kinds.append(String.format("%ntasks stopped in the middle:"));
      stops.forEach((point, count) -> kinds.append(' ').append(point).append('=').append(count));
      return String.format(
          "%d schedules, %d failed; events %d acknowledged %d grants %d failovers %d digest %016x"
              + "%nsmallest hand-over gap: %s after a lease ran out, %s after one ended earlier"
              + "%nhistories checked for linearizability: %d, undecided within the budget: %d"
              + "%nfaults:%s",
          runs,
          failed,
          events,
          acknowledged,
          grants,
          failovers,
          digest,
          gap(handOverNanos),
          gap(earlyHandOverNanos),
          histories,
          undecided,
          kinds);
    }
  }
}
