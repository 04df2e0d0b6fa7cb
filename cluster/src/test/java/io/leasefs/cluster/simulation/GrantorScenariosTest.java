package io.leasefs.cluster.simulation;

import static io.leasefs.cluster.simulation.Script.FILE;
import static io.leasefs.cluster.simulation.Script.MILLI;
import static io.leasefs.cluster.simulation.Script.SECOND;
import static org.assertj.core.api.Assertions.assertThat;

import io.leasefs.cluster.simulation.Script.Appended;
import io.leasefs.cluster.simulation.Script.Writer;
import io.leasefs.cluster.simulation.SimulatedWorld.ChunkNode;
import io.leasefs.common.model.Durability;
import io.leasefs.master.state.ChunkEntry;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/**
 * Failures of other systems at the grantor (restarts, stale authority), played in a whole cluster.
 */
class GrantorScenariosTest {
  /**
   * Everything is killed at once and starts in any order, but for the primary, which stays away
   * (PySyncObj 202: terms fell back and committed data was overwritten). No version or token is
   * ever below an earlier one, nothing acknowledged is gone, and the missing primary's lease counts
   * as alive for T_G from when the master is ready.
   */
  @Test
  @Tag("F08")
  void afterAllWereKilledAtOnceNothingFallsBackAndEveryLeaseCountsAsAlive() {
    try (Script script = new Script(8, 4, Durability.REPLICATED, false)) {
      Writer writer = script.writer(1);
      long version = 0;
      long token = 0;
      for (int round = 0; round < 3; round++) {
        writer.appendAndWait(10 * SECOND);
        ChunkEntry chunk = script.chunk();
        assertThat(chunk.active().version()).isGreaterThan(version);
        assertThat(chunk.lease().orElseThrow().token()).isGreaterThan(token);
        version = chunk.active().version();
        token = chunk.lease().orElseThrow().token();
        ChunkNode primary = script.primary(chunk);
        for (Host host : script.world.hosts()) {
          if (host != writer.life.host()) {
            script.world.kill(host);
          }
        }
        List<Runnable> starts = new ArrayList<>();
        starts.add(script::restartMaster);
        for (ChunkNode node : script.world.chunkNodes()) {
          if (node != primary) {
            starts.add(() -> script.restart(node));
          }
        }
        Collections.shuffle(starts, new Random(round));
        for (Runnable start : starts) {
          start.run();
          script.pass(50 * MILLI);
        }
        long before = version;
        long least = script.world.terms().grantorValidityNanos() - 300 * MILLI;
        script.pass(least);
        assertThat(script.chunk(chunk.handle()).active().version()).isEqualTo(version);
        script.until(
            SECOND,
            "the next version is active",
            () -> script.chunk(chunk.handle()).active().version() > before);
        assertThat(script.primary(script.chunk(chunk.handle()))).isNotEqualTo(primary);
        script.restart(primary);
        script.until(
            20 * SECOND, "three copies", () -> script.chunk().active().members().size() == 3);
      }
      script.atRest();
    }
  }

  /**
   * The primary is killed with records in the pipeline and is back after 300 ms, within its lease
   * (cockroach 23105: it resumed its lease though it no longer knew what was under way). The new
   * incarnation holds nothing, and a new version is active before the next mutation.
   */
  @Test
  @Tag("F15")
  void primaryThatIsBackWithinItsLeaseHoldsNothingBeforeANewVersion() {
    try (Script script = new Script(15, 3, Durability.REPLICATED, false)) {
      Writer writer = script.writer(1);
      writer.appendAndWait(SECOND);
      ChunkEntry chunk = script.chunk();
      ChunkNode primary = script.primary(chunk);
      for (int i = 0; i < 8; i++) {
        writer.append(500);
      }
      script.pass(MILLI);
      script.world.kill(primary.host());
      script.pass(300 * MILLI);
      script.restart(primary);
      Appended next = writer.append(500);
      script.until(
          5 * SECOND,
          "a new version",
          () -> {
            boolean old = script.chunk(chunk.handle()).active().equals(chunk.active());
            if (old) {
              assertThat(script.server(primary).validLeases()).isEmpty();
              assertThat(next.isAnswered()).isFalse();
            }
            return !old;
          });
      script.until(SECOND, "all is taken", writer::isAnswered);
      assertThat(next.place().version()).isGreaterThan(chunk.active().version());
      script.atRest();
    }
  }

  /**
   * The primary and a client are cut off from the master and both secondaries for 43 seconds, and
   * the other side goes on (GitHub, 21 October 2018: the cut-off side took writes that had to be
   * merged by hand). On the cut-off side nothing is acknowledged after the first missing answer of
   * a secondary; what lies there unacknowledged is cut when the cut is healed.
   */
  @Test
  @Tag("F18")
  void cutOffPrimaryAcknowledgesNothingAndItsTailIsCutAfterHealing() {
    try (Script script = new Script(18, 3, Durability.REPLICATED, false)) {
      Writer inside = script.writer(1);
      Writer outside = script.writer(2);
      inside.appendAndWait(SECOND);
      outside.appendAndWait(SECOND);
      ChunkEntry chunk = script.chunk();
      ChunkNode primary = script.primary(chunk);
      for (Host far : script.world.hosts()) {
        if (far != primary.host() && far != inside.life.host()) {
          script.cut(primary.host(), far);
          script.cut(inside.life.host(), far);
        }
      }
      long cutAt = script.loop.now();
      List<Appended> lost = new ArrayList<>();
      for (int i = 0; i < 10; i++) {
        lost.add(inside.append(400));
        script.pass(50 * MILLI);
      }
      long tail = script.report(primary, chunk.handle()).lastSerial();
      Appended other = outside.append(400);
      script.pass(43 * SECOND - (script.loop.now() - cutAt));

      assertThat(lost).noneMatch(Appended::isAcknowledged);
      assertThat(other.isAcknowledged()).isTrue();
      assertThat(other.place().version()).isGreaterThan(chunk.active().version());
      assertThat(script.report(primary, chunk.handle()).lastSerial()).isEqualTo(tail);
      assertThat(tail).isGreaterThan(script.report(primary, chunk.handle()).committedSerial());
      long committed = script.book.mustReach(FILE);
      script.heal();
      outside.appendAndWait(10 * SECOND);
      script.until(
          30 * SECOND, "old primary is back", () -> script.chunk().active().members().size() == 3);
      script.atRest();
      // what followed lies where the other side had ended: nothing was merged in between
      assertThat(outside.all.getLast().place().fileOffset()).isEqualTo(committed);
    }
  }
}
