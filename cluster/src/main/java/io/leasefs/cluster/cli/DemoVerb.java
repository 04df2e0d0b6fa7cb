package io.leasefs.cluster.cli;

import io.leasefs.client.cli.ExitCode;
import io.leasefs.client.cli.Json;
import io.leasefs.client.cli.Verb;
import io.leasefs.client.cli.VerbGroup;
import io.leasefs.cluster.demo.Demo;
import io.leasefs.cluster.demo.Demos;
import io.leasefs.cluster.demo.Verdict;
import java.nio.file.Path;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** {@code leasefs demo failover|pause|partition|drain|secondary|verify}. */
@Command(
    description = "Do harm to a cluster and check that nothing is lost.",
    subcommands = {
      DemoVerb.Failover.class,
      DemoVerb.Pause.class,
      DemoVerb.Partition.class,
      DemoVerb.Drain.class,
      DemoVerb.Secondary.class,
      DemoVerb.Verify.class
    },
    footer = {
      "",
      "Each runs on a cluster of its own, or with --here on the one in use if that allows faults:",
      "there it writes to /demo, and nobody starts a killed server again. Servers of that cluster",
      "must be on this machine: the verdict compares their clocks.",
      "Exit 0: nothing lost, doubled or out of order, never two primaries, gaps within bounds.",
      "Exit 10: not so.",
      "",
      "Examples:",
      "  leasefs demo failover --ttl 3s",
      "  leasefs demo pause --json --evidence /tmp/pause"
    })
public final class DemoVerb extends VerbGroup {
  /** What all demos share. */
  abstract static class Run extends Verb {
    @Option(
        names = "--ttl",
        paramLabel = "DURATION",
        defaultValue = "10s",
        description = "Lease time, T, of the demo's own cluster. Default: 10s.")
    private String ttl = "10s";

    @Option(names = "--file", paramLabel = "F", description = "Local file to write and read back.")
    private @Nullable Path file;

    @Option(
        names = "--evidence",
        paramLabel = "DIR",
        description = "Keep all records there, for 'demo verify'.")
    private @Nullable Path evidence;

    @Option(names = "--keep", description = "Keep the cluster's folder.")
    private boolean keep;

    @Option(names = "--here", description = "On the cluster in use, not on one of the demo's own.")
    private boolean here;

    /** What to do, one after another. */
    abstract List<Demo.Kind> kinds();

    @Override
    protected int run() throws Exception {
      long ttlNanos = LeaseTimes.parse("--ttl", ttl);
      boolean passed = true;
      for (Demo.Kind kind : kinds()) {
        Demos demos =
            new Demos(
                (seconds, line) -> {
                  if (!out().isJson()) {
                    out().line(String.format(Locale.ROOT, "[%5.1fs] %s", seconds, line));
                    out().flush();
                  } else if (!quiet()) {
                    streams().err().println(line);
                  }
                },
                file,
                kinds().size() > 1 && evidence != null
                    ? evidence.resolve(kind.name().toLowerCase(Locale.ROOT))
                    : evidence,
                keep);
        Verdict verdict =
            here
                ? demos.onRunning(kind, settings().masters(), settings().miniFolder().map(Path::of))
                : demos.onOwn(kind, ttlNanos);
        print(this, kind.name().toLowerCase(Locale.ROOT), verdict);
        passed &= verdict.passed();
      }
      return passed ? ExitCode.DONE : ExitCode.CHECK_FAILED;
    }
  }

  private static void print(Verb verb, String demo, Verdict verdict) {
    verb.out().event(json(demo, verdict), text(verdict));
  }

  private static Map<String, Object> json(String demo, Verdict verdict) {
    return Json.object(
        "demo", demo,
        "passed", verdict.passed(),
        "acknowledged", verdict.acknowledged(),
        "lost", verdict.lost(),
        "doubled", verdict.doubled(),
        "outOfOrder", verdict.outOfOrder(),
        "overlapMillis", verdict.overlapMillis(),
        "earlyGrants", verdict.earlyGrants(),
        "gapMillis", verdict.gapMillis(),
        "gapLimitMillis", verdict.gapLimitMillis(),
        "appendGapMillis", verdict.appendGapMillis(),
        "appendGapLimitMillis", verdict.appendGapLimitMillis(),
        "lateRefusals", verdict.lateRefusals(),
        "differing", verdict.differing(),
        "failures", verdict.failures());
  }

  private static String text(Verdict v) {
    StringBuilder text = new StringBuilder();
    text.append(
        String.format(
            "records acknowledged %d   lost %d   doubled %d   out of order %d%n",
            v.acknowledged(), v.lost(), v.doubled(), v.outOfOrder()));
    text.append(
        String.format(
            "two primaries %d ms   early grants %d   late mutations refused %d   replicas %s%n",
            v.overlapMillis(),
            v.earlyGrants(),
            v.lateRefusals(),
            v.differing().isEmpty() ? "equal" : "DIFFER " + v.differing()));
    text.append(
        String.format(
            Locale.ROOT,
            "gap of the chunk %.2f s (limit %.2f s)   gap of appends %.2f s (limit %.2f s)   %s",
            v.gapMillis() / 1000.0,
            v.gapLimitMillis() / 1000.0,
            v.appendGapMillis() / 1000.0,
            v.appendGapLimitMillis() / 1000.0,
            v.passed() ? "PASS" : "FAIL"));
    for (String failure : v.failures()) {
      text.append(System.lineSeparator()).append("  ").append(failure);
    }
    return text.toString();
  }

  @Command(
      name = "failover",
      description = "SIGKILL the primary of the chunk that is being written.",
      footer = {
        "",
        "Examples:",
        "  leasefs demo failover",
        "  leasefs demo failover --ttl 3s --json"
      })
  static final class Failover extends Run {
    @Override
    List<Demo.Kind> kinds() {
      return List.of(Demo.Kind.FAILOVER);
    }
  }

  @Command(
      name = "pause",
      description = "Freeze the primary past its lease and wake it up: it must refuse.",
      footer = {"", "Examples:", "  leasefs demo pause --ttl 3s", "  leasefs demo pause --json"})
  static final class Pause extends Run {
    @Override
    List<Demo.Kind> kinds() {
      return List.of(Demo.Kind.PAUSE);
    }
  }

  @Command(
      name = "partition",
      description = "Cut the primary off from the master only, then from its secondaries only.",
      footer = {
        "",
        "Examples:",
        "  leasefs demo partition --ttl 3s",
        "  leasefs demo partition --json"
      })
  static final class Partition extends Run {
    @Override
    List<Demo.Kind> kinds() {
      return List.of(Demo.Kind.PARTITION_MASTER, Demo.Kind.PARTITION_PEERS);
    }
  }

  @Command(
      name = "drain",
      description = "Have the primary hand its leases over.",
      footer = {"", "Examples:", "  leasefs demo drain", "  leasefs demo drain --json"})
  static final class Drain extends Run {
    @Override
    List<Demo.Kind> kinds() {
      return List.of(Demo.Kind.DRAIN);
    }
  }

  @Command(
      name = "secondary",
      description = "Kill a secondary, then freeze one.",
      footer = {"", "Examples:", "  leasefs demo secondary", "  leasefs demo secondary --json"})
  static final class Secondary extends Run {
    @Override
    List<Demo.Kind> kinds() {
      return List.of(Demo.Kind.SECONDARY_KILLED, Demo.Kind.SECONDARY_FROZEN);
    }
  }

  @Command(
      name = "verify",
      description = "Compute the verdict again, from kept evidence alone.",
      footer = {
        "",
        "Examples:",
        "  leasefs demo failover --evidence /tmp/e && leasefs demo verify /tmp/e",
        "  leasefs demo verify --json /tmp/e"
      })
  static final class Verify extends Verb {
    @Parameters(paramLabel = "DIR", description = "What --evidence was given.")
    private Path folder = Path.of(".");

    @Override
    protected int run() throws Exception {
      Optional<Demos.Judged> judged = Optional.of(Demos.judge(folder));
      print(this, judged.get().demo(), judged.get().verdict());
      return judged.get().verdict().passed() ? ExitCode.DONE : ExitCode.CHECK_FAILED;
    }
  }
}
