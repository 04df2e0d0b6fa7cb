package io.leasefs.cluster.simulation;

import static io.leasefs.cluster.simulation.Script.FILE;
import static io.leasefs.cluster.simulation.Script.SECOND;
import static org.assertj.core.api.Assertions.assertThat;

import io.leasefs.chunkserver.ChunkServer;
import io.leasefs.cluster.simulation.Script.Appended;
import io.leasefs.cluster.simulation.Script.Writer;
import io.leasefs.cluster.simulation.SimulatedWorld.ChunkNode;
import io.leasefs.common.api.ChunkApi.ReadEnd;
import io.leasefs.common.api.ChunkApi.ReadMode;
import io.leasefs.common.api.ChunkApi.ReadRequest;
import io.leasefs.common.api.Heartbeat;
import io.leasefs.common.model.Durability;
import io.leasefs.master.state.ChunkEntry;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;

/** A primary whose chunk is sealed and opened again elsewhere, before it hears of either. */
class SealedHolderTest {
  /**
   * Seeds 1737, 5524 and 9642: the primary seals its chunk for a writer that closes, and hears
   * nothing of the master from then on. The master ends the lease with the seal, and the next
   * writer is given the chunk at another server while the old primary's lease has seconds left.
   * That one must not tell anybody that the chunk ends where it ended for it.
   */
  @Test
  void sealedHolderThatHearsNothingHidesNothingOfWhatIsWrittenElsewhere() {
    try (Script script = new Script(1737, 3, Durability.REPLICATED, false)) {
      Writer first = script.writer(1);
      first.appendAndWait(SECOND);
      first.appendAndWait(SECOND);
      ChunkEntry chunk = script.chunk();
      ChunkNode holder = script.primary(chunk);
      ChunkServer server = script.server(holder);
      script.pass(SECOND);
      first.close();
      script.until(
          SECOND,
          "the primary has sealed",
          () -> script.report(holder, chunk.handle()).state() == Heartbeat.ReplicaState.SEALED);
      script.world.wires().cut(script.world.masterHost(), holder.host());
      script.until(
          SECOND, "the master has it", () -> script.chunk(chunk.handle()).seal().isPresent());
      assertThat(script.chunk(chunk.handle()).lease()).isEmpty();
      long sealedAt = script.chunk(chunk.handle()).seal().orElseThrow().lengthBytes();
      Appended next = script.writer(2).appendAndWait(SECOND);

      assertThat(next.place().version()).isGreaterThan(chunk.active().version());
      assertThat(script.primary(script.chunk(chunk.handle()))).isNotEqualTo(holder);
      assertThat(server.validLeases())
          .as("by the old holder's own count its lease runs on")
          .extracting(Heartbeat.HeldLease::chunk)
          .containsExactly(chunk.handle());
      assertThat(server.copy(chunk.handle()).orElseThrow().core().leads(holder.host().nanos()))
          .isFalse();
      CompletableFuture<ReadEnd> asked =
          server.read(
              new ReadRequest(
                  chunk.handle(),
                  chunk.active().version(),
                  Optional.empty(),
                  0,
                  1 << 20,
                  ReadMode.DEFAULT),
              part -> {});
      script.until(SECOND, "an answer", asked::isDone);
      assertThat(asked.join().sealed()).as("so whoever asks, asks the master again").isTrue();
      assertThat(asked.join().committedLength()).isEqualTo(sealedAt);
      script.readWhole(FILE, ReadMode.DEFAULT, false);
      script.heal();
      script.until(
          20 * SECOND, "three copies", () -> script.chunk().active().members().size() == 3);
      script.atRest();
    }
  }
}
