package io.leasefs.cluster.cli;

import com.google.common.base.Splitter;
import io.leasefs.client.cli.ExitCode;
import io.leasefs.client.cli.Json;
import io.leasefs.client.cli.Quantities;
import io.leasefs.client.cli.Verb;
import io.leasefs.cluster.demo.HistoryCheck;
import io.leasefs.cluster.demo.Torture;
import io.leasefs.cluster.demo.TortureVerdict;
import io.leasefs.common.error.ErrorCode;
import io.leasefs.common.error.LeaseFsException;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** {@code leasefs torture}. */
@Command(
    description = "Harm real servers at random while clients append and read; check all they saw.",
    footer = {
      "",
      "Runs on a cluster of its own: one master, five chunkservers. Faults: kill, freeze, cut,",
      "delay, slow-disk, full-disk, master-kill, master-freeze, wrong-clocks (each server's clock",
      "is fast or slow from the start, up to the bound that leases allow for, and its wall clock",
      "is off by up to a day). A seed gives the same harm in the same order; processes are real,",
      "so it is not the same run.",
      "Exit 0: nothing lost, doubled or out of order, what readers saw meanwhile can have happened",
      "in one order, never two primaries, replicas equal, and all can be written and read again",
      "when healed. Exit 10: not so; or, a minute after the start, fewer than 50 appends a second:",
      "then nothing is harmed, and it is void, which proves nothing. In more than ten minutes"
          + " clients rest between their",
      "records: about 1,200,000 are written, however long it lasts.",
      "",
      "Examples:",
      "  leasefs torture 2m",
      "  leasefs torture 10m --seed 7 --faults kill,cut --ttl 2s"
    })
public final class TortureVerb extends Verb {
  private static final long LEAST_NANOS = 1_000_000_000L;

  @Parameters(paramLabel = "DURATION", description = "How long harm is done.")
  private String duration = "";

  @Option(names = "--seed", paramLabel = "N", description = "Of the harm. Default: 1.")
  private long seed = 1;

  @Option(
      names = "--ttl",
      paramLabel = "DURATION",
      defaultValue = "3s",
      description = "Lease time, T. Default: 3s.")
  private String ttl = "3s";

  @Option(
      names = "--faults",
      paramLabel = "FAULT[,FAULT...]",
      description = "Which are done. Default: all.")
  private @Nullable String faults;

  @Option(names = "--keep", description = "Keep the cluster's folder.")
  private boolean keep;

  @Override
  protected int run() throws Exception {
    List<String> chosen =
        faults == null
            ? List.of()
            : Splitter.on(',').trimResults().omitEmptyStrings().splitToList(faults);
    for (String fault : chosen) {
      if (!Torture.faults().contains(fault)) {
        throw new LeaseFsException(
            ErrorCode.INVALID_ARGUMENT,
            "--faults: there is no fault '" + fault + "'",
            "known: " + String.join(", ", Torture.faults()));
      }
    }
    long harmNanos = Quantities.parseDuration(duration);
    if (harmNanos < LEAST_NANOS) {
      throw new LeaseFsException(
          ErrorCode.INVALID_ARGUMENT,
          "DURATION: " + duration + " is too short for any harm",
          "say at least 1s, such as 2m");
    }
    Torture torture =
        new Torture(
            harmNanos,
            LeaseTimes.parse("--ttl", ttl),
            seed,
            chosen,
            (seconds, line) -> {
              if (!out().isJson()) {
                out().line(String.format(Locale.ROOT, "[%5.1fs] %s", seconds, line));
                out().flush();
              } else if (!quiet()) {
                streams().err().println(line);
              }
            });
    TortureVerdict verdict = torture.run(keep);
    out().event(json(verdict), text(verdict));
    return verdict.passed() ? ExitCode.DONE : ExitCode.CHECK_FAILED;
  }

  private Map<String, Object> json(TortureVerdict v) {
    return Json.object(
        "passed", v.passed(),
        "void", v.isVoid(),
        "seed", seed,
        "acknowledged", v.acknowledged(),
        "lost", v.lost(),
        "doubled", v.doubled(),
        "outOfOrder", v.outOfOrder(),
        "clientsEnded", v.clientsEnded(),
        "chunks", v.chunks(),
        "tenures", v.tenures(),
        "earlyGrants", v.earlyGrants(),
        "overlapMillis", v.overlapMillis(),
        "closestMillis", v.closestMillis() < 0 ? null : v.closestMillis(),
        "lateRefusals", v.lateRefusals(),
        "reads", v.history().reads(),
        "readsFailed", v.history().failedReads(),
        "readsStale", v.history().staleReads(),
        "histories", v.history().histories(),
        "historiesUndecided", v.history().undecided(),
        "perSecondBefore", v.perSecond(),
        "faults", v.faults(),
        "differing", v.differing(),
        "failures", v.failures());
  }

  private String text(TortureVerdict v) {
    StringBuilder text = new StringBuilder();
    text.append(
        String.format(
            "records acknowledged %d   lost %d   doubled %d   out of order %d   clients ended %d%n",
            v.acknowledged(), v.lost(), v.doubled(), v.outOfOrder(), v.clientsEnded()));
    HistoryCheck history = v.history();
    text.append(
        String.format(
            "reads %d   without an answer %d   stale as they may be %d   pieces of histories"
                + " checked %d   undecided %d%n",
            history.reads(),
            history.failedReads(),
            history.staleReads(),
            history.histories(),
            history.undecided()));
    text.append(
        String.format(
            "chunks %d   tenures %d   two primaries %d ms   early grants %d   closest hand-over %s"
                + "   late mutations refused %d   replicas %s%n",
            v.chunks(),
            v.tenures(),
            v.overlapMillis(),
            v.earlyGrants(),
            v.closestMillis() < 0 ? "none" : v.closestMillis() + " ms",
            v.lateRefusals(),
            v.differing().isEmpty() ? "equal" : "DIFFER " + v.differing()));
    text.append("faults:");
    v.faults().forEach((kind, count) -> text.append(' ').append(kind).append('=').append(count));
    text.append("   seed ").append(seed).append("   ");
    text.append(v.passed() ? "PASS" : v.failures().isEmpty() ? "VOID" : "FAIL");
    if (v.isVoid()) {
      text.append(System.lineSeparator()).append("  ").append(whyVoid(v));
    }
    for (String failure : v.failures()) {
      text.append(System.lineSeparator()).append("  ").append(failure);
    }
    return text.toString();
  }

  private static String whyVoid(TortureVerdict v) {
    String why =
        v.perSecond() < TortureVerdict.LEAST_PER_SECOND
            ? v.perSecond()
                + " appends a second within a minute of the start, fewer than "
                + TortureVerdict.LEAST_PER_SECOND
            : v.faults().isEmpty() ? "no harm was done" : "nobody has read";
    return why + ": this proves nothing";
  }
}
