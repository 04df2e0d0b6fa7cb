package io.leasefs.chunkserver.replica;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.Map;
import java.util.TreeMap;
import org.junit.jupiter.api.Test;

/** Seeded runs of {@link ReplicaSimulation}; a failure names its seed, which replays it. */
class ReplicaSimulationTest {
  private static final int RUNS = Integer.getInteger("leasefs.simulation.runs", 300);
  private static final long FIRST = Long.getLong("leasefs.simulation.seed", 1);

  @Test
  void nothingAcknowledgedIsLostDoubledOrReorderedWhateverTheNetworkAndTheDisksDo() {
    Map<String, Integer> counts = new TreeMap<>();
    for (long seed = FIRST; seed < FIRST + RUNS; seed++) {
      ReplicaSimulation simulation = new ReplicaSimulation(seed);
      try {
        simulation.run();
      } catch (AssertionError | RuntimeException e) {
        int lines = simulation.trace.size();
        throw new AssertionError(
            "seed "
                + seed
                + ": "
                + e.getMessage()
                + "\n"
                + String.join("\n", simulation.trace.subList(Math.max(0, lines - 60), lines)),
            e);
      }
      simulation.counts.forEach((what, times) -> counts.merge(what, times, Integer::sum));
    }
    // the runs did something, and went everywhere
    assertThat(counts)
        .as(counts.toString())
        .containsKeys(
            "activated new primary",
            "activated reopened",
            "activated same primary",
            "activated sealed",
            "answers ChunkFull",
            "answers NotApplied",
            "blames",
            "compactions",
            "cuts",
            "dead sessions",
            "kills",
            "power cuts",
            "reads of open",
            "reads of sealed");
    assertThat(counts.get("mutations at rest")).as(counts.toString()).isGreaterThan(10 * RUNS);
  }

  @Test
  void sameSeedRunsTheSame() {
    ReplicaSimulation one = new ReplicaSimulation(42);
    ReplicaSimulation other = new ReplicaSimulation(42);
    one.run();
    other.run();
    assertThat(one.trace).isEqualTo(other.trace);
  }
}
