package io.leasefs.cluster.simulation;

import static io.leasefs.cluster.simulation.Script.FILE;
import static io.leasefs.cluster.simulation.Script.MILLI;
import static io.leasefs.cluster.simulation.Script.SECOND;
import static java.util.Objects.requireNonNull;
import static org.assertj.core.api.Assertions.assertThat;

import io.leasefs.cluster.simulation.Script.Appended;
import io.leasefs.cluster.simulation.Script.Writer;
import io.leasefs.cluster.simulation.SimulatedWorld.ChunkNode;
import io.leasefs.common.api.ChunkApi.ReadMode;
import io.leasefs.common.lease.LeaseTerms;
import io.leasefs.common.model.Durability;
import io.leasefs.master.state.ChunkEntry;
import io.leasefs.server.disk.simulated.SimulatedDisk;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;

/** Failures of other systems on the way of the data, played in a whole cluster, step by step. */
class DataPathScenariosTest {
  /**
   * All three servers of a chunk end at once, with records under way: killed, or by a power cut
   * where files are synced (HDFS-17863: acknowledged data was unreadable, for nobody knew the
   * length). All that was acknowledged is there, and what is committed reaches over it.
   */
  @ParameterizedTest
  @EnumSource(Durability.class)
  @Tag("F46")
  void whatWasAcknowledgedIsThereAfterAllThreeHaveRestarted(Durability durability) {
    try (Script script = new Script(46, 3, durability, false)) {
      Writer writer = script.writer(1);
      for (int i = 0; i < 40; i++) {
        writer.append(700);
        script.pass(3 * MILLI);
      }
      for (int i = 0; i < 8; i++) {
        writer.append(700);
      }
      script.pass(MILLI);
      ChunkEntry chunk = script.chunk();
      assertThat(writer.isAnswered()).as("some are under way").isFalse();
      long acknowledged = script.book.mustReach(FILE);
      assertThat(acknowledged).isPositive();
      for (ChunkNode node : script.world.chunkNodes()) {
        if (durability == Durability.SYNCED) {
          script.world.cutPower(node);
        } else {
          script.world.kill(node.host());
        }
      }
      script.pass(200 * MILLI);
      script.world.chunkNodes().forEach(script::restart);
      script.until(10 * SECOND, "all are acknowledged", writer::isAnswered);

      assertThat(writer.all).allMatch(Appended::isAcknowledged);
      ChunkEntry after = script.chunk(chunk.handle());
      assertThat(after.active().version()).isGreaterThan(chunk.active().version());
      for (ChunkNode node : script.world.chunkNodes()) {
        assertThat(script.report(node, chunk.handle()).lengthBytes())
            .isGreaterThanOrEqualTo(acknowledged);
      }
      script.atRest();
    }
  }

  /**
   * Both secondaries' virtual disks are put back to an older image while their machines are down,
   * and the primary is dead (Ozone HDDS-12232: two of three agreed, the third had more). They are
   * sure of nothing, so nothing starts from them; when the primary is back, all is there.
   */
  @Test
  @Tag("F49")
  void twoRolledBackDisksAreNoMajority() {
    try (Script script = new Script(49, 3, Durability.REPLICATED, false)) {
      Writer writer = script.writer(1);
      for (int i = 0; i < 5; i++) {
        writer.appendAndWait(SECOND);
      }
      ChunkEntry chunk = script.chunk();
      ChunkNode primary = script.primary(chunk);
      List<ChunkNode> secondaries = script.secondaries(chunk);
      List<SimulatedDisk.Image> images =
          secondaries.stream().map(node -> node.disk().image()).toList();
      for (int i = 0; i < 10; i++) {
        writer.appendAndWait(SECOND);
      }
      long acknowledged = script.book.mustReach(FILE);
      script.world.kill(primary.host());
      for (int i = 0; i < 2; i++) {
        script.world.cutPower(secondaries.get(i));
        secondaries.get(i).disk().restore(images.get(i));
        script.restart(secondaries.get(i));
      }
      Appended waiting = writer.append(300);
      script.pass(10 * SECOND);
      for (ChunkNode node : secondaries) {
        assertThat(script.report(node, chunk.handle()).lengthBytes()).isLessThan(acknowledged);
      }
      assertThat(script.chunk(chunk.handle()).active().version())
          .isEqualTo(chunk.active().version());
      assertThat(waiting.isAnswered()).isFalse();

      script.restart(primary);
      script.until(10 * SECOND, "it goes on", waiting::isAcknowledged);
      assertThat(waiting.place().fileOffset()).isEqualTo(acknowledged);
      script.atRest();
    }
  }

  /**
   * A secondary's disk is emptied while it is down; it comes back at the same address (BookKeeper
   * 4812: the new node took the old writer's entries). It takes nothing of the old configuration,
   * and the primary commits nothing before a configuration without it.
   */
  @Test
  @Tag("F50")
  void emptiedSecondaryAtTheSameAddressTakesNothingAndNothingCommitsBeforeItIsOut() {
    try (Script script = new Script(50, 3, Durability.REPLICATED, false)) {
      Writer writer = script.writer(1);
      writer.appendAndWait(SECOND);
      ChunkEntry chunk = script.chunk();
      ChunkNode emptied = script.secondaries(chunk).getFirst();
      script.world.kill(emptied.host());
      emptied.disk().wipe();
      script.restart(emptied);

      for (int i = 0; i < 20; i++) {
        writer.append(300);
      }
      script.until(
          10 * SECOND,
          "a configuration without it",
          () -> {
            boolean old = script.chunk(chunk.handle()).active().equals(chunk.active());
            assertThat(old && writer.all.getLast().isAnswered()).isFalse();
            return !old;
          });
      script.until(SECOND, "all are taken", writer::isAnswered);

      assertThat(writer.all).allMatch(Appended::isAcknowledged);
      assertThat(script.chunk(chunk.handle()).active().memberAt(emptied.id()))
          .isNotEqualTo(chunk.active().memberAt(emptied.id()));
      writer.close();
      script.readWhole(FILE, ReadMode.DEFAULT, true);
    }
  }

  /**
   * The primary reaches its first secondary no more, though the answers would come back and all
   * heartbeats flow (cockroach 92089, 49220, 84289). Within two write timeouts the secondary is
   * left behind or the primary moves.
   */
  @Test
  @Tag("F55")
  void oneWayCutFromPrimaryToSecondaryEndsInTwoWriteTimeouts() {
    try (Script script = new Script(55, 4, Durability.REPLICATED, false)) {
      Writer writer = script.writer(1);
      writer.appendAndWait(SECOND);
      ChunkEntry chunk = script.chunk();
      ChunkNode primary = script.primary(chunk);
      ChunkNode cut = script.secondaries(chunk).getFirst();

      script.world.wires().cut(primary.host(), cut.host());
      Appended record = writer.append(300);
      script.until(
          2 * LeaseTerms.WRITE_TIMEOUT_NANOS, "the record is taken", record::isAcknowledged);

      ChunkEntry after = script.chunk(chunk.handle());
      assertThat(after.active().version()).isGreaterThan(chunk.active().version());
      assertThat(script.primary(after) != primary || after.active().memberAt(cut.id()).isEmpty())
          .isTrue();
      assertThat(script.told("SESSION_ENDED")).isZero();
      script.heal();
      script.atRest();
    }
  }

  /**
   * The primary's disk hangs for a minute while its heartbeats flow (cockroach 81100, tarantool
   * 9399). It gives its chunks back after W; another takes over without waiting for the lease, and
   * what is committed can be read meanwhile. Then the same at a secondary: it is left behind.
   */
  @Test
  @Tag("F56")
  void hangingDiskOfThePrimaryThenOfASecondaryCostsNoMoreThanItsLimit() {
    try (Script script = new Script(56, 4, Durability.SYNCED, false)) {
      Writer writer = script.writer(1);
      writer.appendAndWait(SECOND);
      ChunkEntry chunk = script.chunk();
      ChunkNode first = script.primary(chunk);

      requireNonNull(first.host().life()).stallDisk(60 * SECOND);
      Appended record = writer.append(300);
      long stall = script.world.terms().stallNanos();
      script.readWhole(FILE, ReadMode.DEFAULT, false);
      script.until(stall + 500 * MILLI, "another primary has taken it", record::isAcknowledged);
      assertThat(script.primary(script.chunk(chunk.handle()))).isNotEqualTo(first);
      assertThat(script.told("SESSION_ENDED")).isZero();

      // One more than may be lacking: else a copy has to be made first.
      script.until(
          10 * SECOND,
          "three copies again",
          () -> script.chunk(chunk.handle()).active().members().size() == 3);
      ChunkEntry second = script.chunk(chunk.handle());
      ChunkNode secondary = script.secondaries(second).getLast();
      requireNonNull(secondary.host().life()).stallDisk(60 * SECOND);
      Appended other = writer.append(300);
      script.until(2 * SECOND, "it is left behind", other::isAcknowledged);
      assertThat(script.primary(script.chunk(chunk.handle()))).isEqualTo(script.primary(second));
      script.pass(62 * SECOND);
      script.atRest();
    }
  }

  /** A step of a change of primary, by what is told when it has been taken. */
  private enum Step {
    DEATH_IS_PROVEN(" says SERVER_REGISTERED ", 1),
    BEGUN(" says CHANGE_BEGUN ", 1),
    FIRST_PROMISED(" says REPLICA_PROMISED ", 1),
    FIRST_SEALED(" answers the seal ", 1),
    SECOND_PROMISED(" says REPLICA_PROMISED ", 2),
    SECOND_SEALED(" answers the seal ", 2),
    THIRD_PROMISED(" says REPLICA_PROMISED ", 3),
    THIRD_SEALED(" answers the seal ", 3),
    SEED_IS_NAMED(" says CHANGE_RECOVERING ", 1),
    SEED_STARTED(" says REPLICA_STARTED_VERSION ", 1),
    FIRST_TARGET_STARTED(" says REPLICA_STARTED_VERSION ", 2),
    SECOND_TARGET_STARTED(" says REPLICA_STARTED_VERSION ", 3),
    ACTIVATED(" says CHANGE_ACTIVATED ", 1),
    GRANT_IS_SENT("GRANT chunk ", 1),
    GRANT_IS_TAKEN(" says HOLDER_GRANTED ", 1),
    FIRST_ACKNOWLEDGEMENT(" says HOLDER_FIRST_ACKNOWLEDGEMENT ", 1);

    private final String line;
    private final int times;

    Step(String line, int times) {
      this.line = line;
      this.times = times;
    }

    /** Whether it has been taken, in what was told since. */
    boolean isIn(List<String> told) {
      return told.stream().filter(one -> one.contains(line)).count() >= times;
    }
  }

  /**
   * The master, or every chunkserver, or all of them crash right after each step of a
   * reconfiguration, from the proof of the old primary's death to the next one's first
   * acknowledgement (LizardFS 659: the master's version was ahead of every replica's, and the chunk
   * was lost). The chunk comes back each time, with everything in it.
   */
  @ParameterizedTest
  @CsvSource({"true, false", "false, true", "true, true"})
  @Tag("F53")
  void chunkRecoversWhereverMasterAndReplicasCrashInAReconfiguration(
      boolean master, boolean replicas) {
    for (Step step : Step.values()) {
      crashInReconfiguration(step, master, replicas);
    }
  }

  private static void crashInReconfiguration(Step step, boolean master, boolean replicas) {
    try (Script script = new Script(53, 4, Durability.REPLICATED, false)) {
      Writer writer = script.writer(1);
      writer.appendAndWait(SECOND);
      ChunkEntry chunk = script.chunk();
      ChunkNode primary = script.primary(chunk);
      int before = script.told.size();
      // Killed and back at once: a proof of death, and the change runs without a pause.
      script.world.kill(primary.host());
      script.restart(primary);
      Appended record = writer.append(300);
      script.until(
          10 * SECOND,
          step + " of a change",
          () -> step.isIn(script.told.subList(before, script.told.size())));
      if (master) {
        script.world.kill(script.world.masterHost());
      }
      if (replicas) {
        script.world.chunkNodes().forEach(node -> script.world.kill(node.host()));
      }
      script.pass(100 * MILLI);
      script.world.startAll();
      script.until(20 * SECOND, "the record is taken after " + step, record::isAcknowledged);
      ChunkEntry after = script.chunk(chunk.handle());
      assertThat(after.active().version()).isGreaterThan(chunk.active().version());
      writer.appendAndWait(20 * SECOND);
      script.atRest();
    }
  }
}
