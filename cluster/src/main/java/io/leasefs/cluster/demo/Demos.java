package io.leasefs.cluster.demo;

import io.leasefs.cluster.mini.MiniCluster;
import io.leasefs.cluster.mini.MiniConfig;
import io.leasefs.common.model.ServerAddress;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.function.BiConsumer;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/** Sets a demo up, runs it, keeps its evidence and judges. One thread. */
public final class Demos {
  private static final int NODES = 4;

  private final long beganNanos = System.nanoTime();
  private final BiConsumer<Double, String> lines;
  private final @Nullable Path file;
  private final @Nullable Path evidence;
  private final boolean keep;

  /**
   * What all demos of one command share.
   *
   * @param lines gets seconds since the beginning and what has happened
   * @param file local file to write and read back; null: a random one
   * @param evidence where to keep the evidence; null: nowhere
   * @param keep whether the own cluster's folder stays
   */
  public Demos(
      BiConsumer<Double, String> lines,
      @Nullable Path file,
      @Nullable Path evidence,
      boolean keep) {
    this.lines = lines;
    this.file = file;
    this.evidence = evidence;
    this.keep = keep;
  }

  /** A verdict and which demo it is of. */
  public record Judged(String demo, Verdict verdict) {}

  /** Judges kept evidence. */
  public static Judged judge(Path folder) throws IOException {
    Evidence read = new EvidenceFolder(folder).read();
    return new Judged(read.facts().demo(), Verdict.of(read));
  }

  /** On a cluster of its own: one master, four chunkservers. */
  public Verdict onOwn(Demo.Kind kind, long ttlNanos) throws IOException, InterruptedException {
    MiniConfig config =
        MiniConfig.inNewFolder(
                "leasefs-demo-",
                keep,
                NODES,
                Stream.concat(MiniConfig.leaseTtl(ttlNanos).stream(), Stream.of("--allow-faults"))
                    .toList(),
                List.of("--allow-faults"))
            .withJvmFlags("-XX:TieredStopAtLevel=1");
    lines.accept(0.0, "starting 1 master and " + NODES + " chunkservers in " + config.folder());
    try (MiniCluster cluster = MiniCluster.start(config)) {
      return run(new Demo(kind, new MiniDemoCluster(cluster), beganNanos, lines, file));
    }
  }

  /** On a cluster that runs already. */
  public Verdict onRunning(Demo.Kind kind, List<ServerAddress> masters, Optional<Path> folder)
      throws IOException, InterruptedException {
    try (RunningDemoCluster cluster = new RunningDemoCluster(masters, folder)) {
      return run(new Demo(kind, cluster, beganNanos, lines, file));
    }
  }

  private Verdict run(Demo demo) throws IOException, InterruptedException {
    Evidence gathered = demo.run();
    if (evidence != null) {
      new EvidenceFolder(evidence).write(gathered);
    }
    return Verdict.of(gathered);
  }
}
