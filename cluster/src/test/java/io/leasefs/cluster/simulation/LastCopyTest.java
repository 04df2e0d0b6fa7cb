package io.leasefs.cluster.simulation;

import static org.assertj.core.api.Assertions.assertThat;

import io.leasefs.cluster.simulation.Script.Writer;
import io.leasefs.cluster.simulation.SimulatedWorld.ChunkNode;
import io.leasefs.common.model.ChunkHandle;
import io.leasefs.common.model.Durability;
import java.util.List;
import org.junit.jupiter.api.Test;

/**
 * Three servers and no fourth: two of them lose a chunk that is written to, and the third has it
 * whole. What was acknowledged is there, the chunk is written to again, and gets its copies back at
 * the servers that lost theirs.
 */
class LastCopyTest {
  private static final long MILLI = 1_000_000;
  private static final long SECOND = 1_000 * MILLI;

  /** The files of a young chunk were never flushed: after a power cut they are empty or gone. */
  @Test
  void twoOfThreeLosePowerBeforeAYoungChunkWasFlushed() {
    for (long seed = 1; seed <= 8; seed++) {
      loseTwo(seed, 30 * MILLI, (script, node) -> script.world.cutPower(node));
    }
  }

  /** They come back with other, empty disks. */
  @Test
  void twoOfThreeComeBackWithEmptyDisks() {
    for (long seed = 1; seed <= 4; seed++) {
      loseTwo(seed, 3 * SECOND, (script, node) -> script.world.wipe(node));
    }
  }

  private interface Harm {
    void to(Script script, ChunkNode node);
  }

  private static void loseTwo(long seed, long age, Harm harm) {
    try (Script script = new Script(seed, 3, Durability.REPLICATED, false)) {
      script.pass(SECOND); // until the master knows of all disks
      Writer writer = script.writer(1);
      script.pass(age);
      writer.appendAndWait(5 * SECOND);
      ChunkHandle chunk = script.chunk().handle();
      List<ChunkNode> lose = script.secondaries(script.chunk());
      assertThat(lose).hasSize(2);
      for (ChunkNode node : lose) {
        harm.to(script, node);
      }
      script.pass(50 * MILLI);
      lose.forEach(script::restart);

      writer.appendAndWait(script.world.terms().grantorValidityNanos() + 10 * SECOND);

      script.until(
          30 * SECOND,
          "three copies",
          () ->
              script.chunk(chunk).active().members().size() == 3
                  && script.chunk(chunk).pending().isEmpty()
                  && script.chunk(chunk).learners().isEmpty());
      assertThat(script.chunks()).hasSize(1);
      script.atRest();
    }
  }
}
