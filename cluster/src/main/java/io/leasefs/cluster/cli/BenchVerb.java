package io.leasefs.cluster.cli;

import io.leasefs.client.LeaseFs;
import io.leasefs.client.LeaseFsConfig;
import io.leasefs.client.cli.ExitCode;
import io.leasefs.client.cli.Quantities;
import io.leasefs.client.cli.Verb;
import io.leasefs.cluster.bench.Bench;
import io.leasefs.cluster.bench.TtlTable;
import io.leasefs.cluster.mini.MiniCluster;
import io.leasefs.cluster.mini.MiniConfig;
import io.leasefs.common.error.ErrorCode;
import io.leasefs.common.error.LeaseFsException;
import io.leasefs.common.model.ServerAddress;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** {@code leasefs bench}. */
@Command(
    description = "Measure the cluster in use: rates, latencies, CPU seconds per GiB.",
    footer = {
      "",
      "Workloads: w1 w2 (write, 1 and 4 writers), r1 r2 (read), r3 (64 KiB positional reads),",
      "a1 a4 (1 KiB append and flush), s1 (4 KiB files), m1 (metadata). Default: all.",
      "cpu is the whole machine's busy time: client, servers and kernel.",
      "heap is what the client, and a chunkserver, allocated per byte of payload that it handled;",
      "servers tell theirs with --mini only.",
      "'ttl' is a table of its own: renewals and failover gaps for each T, on own clusters.",
      "",
      "Examples:",
      "  leasefs bench w1 r1",
      "  leasefs bench --mini --warm-up w1 r1  # on a cluster of its own",
      "  leasefs bench ttl                     # renewals and gaps for four T: some minutes",
      "  leasefs bench a1 --operations 2000 --json"
    })
public final class BenchVerb extends Verb {
  private static final String TTL = "ttl";
  private static final int NODES = 4;

  @Option(
      names = "--size",
      paramLabel = "SIZE",
      defaultValue = "1GiB",
      description = "Total of sequential writes and reads. Default: 1GiB.")
  private String size = "1GiB";

  @Option(
      names = "--operations",
      paramLabel = "N",
      defaultValue = "5000",
      description = "Positional reads and appends. Default: 5000.")
  private int operations = 5000;

  @Option(
      names = "--files",
      paramLabel = "N",
      defaultValue = "10000",
      description = "Small and empty files. Default: 10000.")
  private int files = 10_000;

  @Option(
      names = "--replication",
      paramLabel = "N",
      defaultValue = "0",
      description = "Copies. Default: the cluster's.")
  private int replication;

  @Option(names = "--warm-up", description = "Run each once before, not counted.")
  private boolean warmUp;

  @Option(names = "--mini", description = "On a mini-cluster of its own, removed at the end.")
  private boolean mini;

  @Option(
      names = "--ttls",
      paramLabel = "T",
      split = ",",
      defaultValue = "1s,3s,10s,30s",
      description = "Lease times for 'ttl'. Default: 1s,3s,10s,30s.")
  private List<String> ttls = new ArrayList<>();

  @Parameters(paramLabel = "WORKLOAD", arity = "0..*", description = "Which.")
  private List<String> workloads = new ArrayList<>();

  @Override
  protected int run() throws Exception {
    for (String workload : workloads) {
      if (!workload.equals(TTL) && !Bench.ALL.contains(workload)) {
        throw new LeaseFsException(
            ErrorCode.INVALID_ARGUMENT,
            "no workload named '" + workload + "'",
            "one of: " + String.join(" ", Bench.ALL) + " " + TTL);
      }
    }
    atLeastOne("--operations", operations);
    atLeastOne("--files", files);
    atLeastOne("--size in MiB", Quantities.parseSize(size) >> 20);
    if (replication < 0 || replication > 16) {
      throw new LeaseFsException(
          ErrorCode.INVALID_ARGUMENT, "--replication: 1 to 16, not " + replication);
    }
    if (workloads.contains(TTL)) {
      return ttlTable();
    }
    if (!mini) {
      return measure(settings().masters(), () -> -1);
    }
    try (MiniCluster own =
        MiniCluster.start(
            MiniConfig.inNewFolder("leasefs-bench-", false, NODES, List.of(), List.of()))) {
      return measure(List.of(own.masterAddress()), Bench.ServerHeap.of(own));
    }
  }

  private static void atLeastOne(String option, long value) {
    if (value < 1 || value > Integer.MAX_VALUE) {
      throw new LeaseFsException(
          ErrorCode.INVALID_ARGUMENT,
          option + ": " + value + " cannot be",
          "say how many, at least 1");
    }
  }

  private int ttlTable() throws IOException, InterruptedException {
    if (workloads.size() > 1) {
      throw new LeaseFsException(
          ErrorCode.INVALID_ARGUMENT, "'ttl' goes with no other workload", "run it alone");
    }
    List<Long> times = ttls.stream().map(ttl -> LeaseTimes.parse("--ttls", ttl)).toList();
    TtlTable table = new TtlTable(this::note);
    if (!out().isJson()) {
      TtlTable.heading().forEach(line -> out().line(line));
      out().flush();
    }
    boolean passed = true;
    for (long ttl : times) {
      TtlTable.Row row = table.row(ttl);
      out().event(row.json(), row.markdown());
      passed &= row.failover().passed();
    }
    return passed ? ExitCode.DONE : ExitCode.CHECK_FAILED;
  }

  private int measure(List<ServerAddress> masters, Bench.ServerHeap serverHeap)
      throws InterruptedException {
    int mebibytes = (int) (Quantities.parseSize(size) >> 20);
    try (LeaseFs cluster = LeaseFs.connect(LeaseFsConfig.of(masters))) {
      new Bench(cluster, mebibytes, operations, files, replication, serverHeap)
          .runAll(
              workloads.isEmpty() ? Bench.ALL : workloads,
              warmUp,
              (json, line) -> out().event(json, line));
    }
    return ExitCode.DONE;
  }
}
