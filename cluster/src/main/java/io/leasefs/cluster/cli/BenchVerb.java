package io.leasefs.cluster.cli;

import io.leasefs.client.LeaseFs;
import io.leasefs.client.LeaseFsConfig;
import io.leasefs.client.cli.ExitCode;
import io.leasefs.client.cli.Quantities;
import io.leasefs.client.cli.Verb;
import io.leasefs.cluster.bench.Bench;
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
      "heap is what this process's working threads allocated per byte of payload.",
      "",
      "Examples:",
      "  leasefs bench w1 r1",
      "  leasefs bench a1 --operations 2000 --json"
    })
public final class BenchVerb extends Verb {
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

  @Option(names = "--replication", defaultValue = "0", description = "Copies.")
  private int replication;

  @Option(names = "--warm-up", description = "Run each once before, not counted.")
  private boolean warmUp;

  @Parameters(paramLabel = "WORKLOAD", arity = "0..*", description = "Which.")
  private List<String> workloads = new ArrayList<>();

  @Override
  protected int run() throws Exception {
    int mebibytes = (int) (Quantities.parseSize(size) >> 20);
    try (LeaseFs cluster = LeaseFs.connect(LeaseFsConfig.of(settings().masters()))) {
      new Bench(cluster, mebibytes, operations, files, replication)
          .runAll(
              workloads.isEmpty() ? Bench.ALL : workloads,
              warmUp,
              (json, line) -> out().event(json, line));
    }
    return ExitCode.DONE;
  }
}
