package io.leasefs.cluster.bench;

import io.leasefs.client.cli.Json;
import io.leasefs.client.cli.Quantities;
import io.leasefs.cluster.demo.Demo;
import io.leasefs.cluster.demo.Demos;
import io.leasefs.cluster.demo.Verdict;
import io.leasefs.cluster.mini.MiniCluster;
import io.leasefs.cluster.mini.MiniConfig;
import java.io.IOException;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;

/**
 * What a lease time costs and gives: renewals of an idle cluster, and the gaps of a failover, each
 * measured on clusters of its own. One thread.
 */
public final class TtlTable {
  private static final int NODES = 4;
  private static final long LEAST_WINDOW_NANOS = 10_000_000_000L;

  private final Consumer<String> progress;

  /** The progress is for people. */
  public TtlTable(Consumer<String> progress) {
    this.progress = progress;
  }

  /** Lines before the rows. */
  public static List<String> heading() {
    return List.of(
        "| T | renewals per server and second | bytes per server and second"
            + " | gap of the same chunk | gap of appends |",
        "|---|---|---|---|---|");
  }

  /**
   * What was measured.
   *
   * @param ttlNanos T
   * @param renewalsPerSecond heartbeats answered, per chunkserver
   * @param bytesPerSecond both ways, per chunkserver: messages with gRPC's framing
   * @param failover verdict of the demo, with the gaps
   */
  public record Row(
      long ttlNanos, double renewalsPerSecond, double bytesPerSecond, Verdict failover) {
    /** As a row of a table. */
    public String markdown() {
      return String.format(
          Locale.ROOT,
          "| %s | %.2f | %.0f | %.2f s | %.2f s |%s",
          Quantities.duration(ttlNanos),
          renewalsPerSecond,
          bytesPerSecond,
          failover.gapMillis() / 1000.0,
          failover.appendGapMillis() / 1000.0,
          failover.passed() ? "" : " FAILED " + failover.failures());
    }

    /** The same for programs. */
    public Map<String, Object> json() {
      return Json.object(
          "ttlMillis", TimeUnit.NANOSECONDS.toMillis(ttlNanos),
          "renewalsPerSecond", renewalsPerSecond,
          "bytesPerSecond", bytesPerSecond,
          "gapMillis", failover.gapMillis(),
          "appendGapMillis", failover.appendGapMillis(),
          "passed", failover.passed());
    }
  }

  /** Measures for this T: takes about T and half a minute. */
  public Row row(long ttlNanos) throws IOException, InterruptedException {
    double[] load = renewals(ttlNanos);
    Verdict verdict =
        new Demos((seconds, line) -> progress.accept(line), null, null, false)
            .onOwn(Demo.Kind.FAILOVER, ttlNanos);
    return new Row(ttlNanos, load[0], load[1], verdict);
  }

  private double[] renewals(long ttlNanos) throws IOException, InterruptedException {
    long window = Math.max(LEAST_WINDOW_NANOS, ttlNanos);
    try (MiniCluster cluster =
        MiniCluster.start(
            MiniConfig.inNewFolder(
                "leasefs-bench-", false, NODES, MiniConfig.leaseTtl(ttlNanos), List.of()))) {
      ServerMeters meters = ServerMeters.of(cluster);
      progress.accept("counting renewals for " + Quantities.duration(window));
      double renewals = -meters.sum("leasefs_heartbeats_answered_total");
      double bytes = -meters.sum("leasefs_heartbeat_bytes_total");
      long begun = System.nanoTime();
      TimeUnit.NANOSECONDS.sleep(window);
      renewals += meters.sum("leasefs_heartbeats_answered_total");
      bytes += meters.sum("leasefs_heartbeat_bytes_total");
      double seconds = (System.nanoTime() - begun) / 1e9;
      return new double[] {renewals / NODES / seconds, bytes / NODES / seconds};
    }
  }
}
