package io.leasefs.cluster.simulation;

import static io.leasefs.cluster.simulation.Script.FILE;
import static io.leasefs.cluster.simulation.Script.MILLI;
import static io.leasefs.cluster.simulation.Script.SECOND;
import static org.assertj.core.api.Assertions.assertThat;

import io.leasefs.chunkserver.replica.ReplicaImage;
import io.leasefs.cluster.simulation.Script.Appended;
import io.leasefs.cluster.simulation.Script.Writer;
import io.leasefs.cluster.simulation.SimulatedWorld.ChunkNode;
import io.leasefs.common.api.ChunkApi.ReadMode;
import io.leasefs.common.api.Frame;
import io.leasefs.common.error.ErrorCode;
import io.leasefs.common.model.ChunkHandle;
import io.leasefs.common.model.Durability;
import io.leasefs.common.model.Member;
import io.leasefs.master.state.ChunkEntry;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.Test;

/**
 * Every record once, where everything that this rests on plays together: floors, results that
 * travel with the chunk, questions that are asked again across failovers and ends of chunks, copies
 * that never saw the frame, sessions that are forgotten. The simulator holds that no two answers to
 * one frame differ (I9).
 */
class ExactlyOnceScenariosTest {
  /** Answers to these clients are lost, whoever gives them; what they send arrives. */
  private static void loseAnswers(Script script, Writer writer) {
    script
        .world
        .chunkNodes()
        .forEach(node -> script.world.wires().cut(node.host(), writer.life.host()));
  }

  private static void mend(Script script) {
    script.world.wires().mendAll();
  }

  private static ReplicaImage.Snapshot snapshot(Script script, ChunkNode node, ChunkHandle chunk) {
    return script.server(node).copies().stream()
        .filter(copy -> copy.stored().handle().equals(chunk))
        .findFirst()
        .orElseThrow()
        .core()
        .snapshot();
  }

  /** Kills the primary and waits until another is active; the dead one stays away. */
  private static ChunkNode failOver(Script script, ChunkHandle handle) {
    ChunkEntry before = script.chunk(handle);
    ChunkNode dead = script.primary(before);
    script.world.kill(dead.host());
    script.until(
        10 * SECOND,
        "the next primary",
        () -> {
          ChunkEntry now = script.chunk(handle);
          return now.active().version() > before.active().version()
              && now.active().primary().isPresent();
        });
    return dead;
  }

  /**
   * Records are applied and their answers lost; then two failovers follow each other, the second
   * before the client has heard anything. It is told the places that the first primary gave.
   */
  @Test
  void resultsOutliveTwoFailoversInARow() {
    try (Script script = new Script(101, 4, Durability.REPLICATED, false)) {
      Writer writer = script.writer(1);
      writer.appendAndWait(SECOND);
      ChunkEntry chunk = script.chunk();
      loseAnswers(script, writer);
      for (int i = 0; i < 10; i++) {
        writer.append(400);
      }
      script.pass(50 * MILLI);
      assertThat(writer.all.getLast().isAnswered()).isFalse();
      ChunkNode first = failOver(script, chunk.handle());
      script.restart(first);
      script.until(
          20 * SECOND,
          "three copies again",
          () -> script.chunk(chunk.handle()).active().members().size() == 3);
      failOver(script, chunk.handle());
      assertThat(script.chunk(chunk.handle()).active().version()).isGreaterThan(2);
      mend(script);
      script.until(10 * SECOND, "all is answered", writer::isAnswered);

      long offset = 300;
      for (Appended record : writer.all.subList(1, writer.all.size())) {
        assertThat(record.place().version()).isEqualTo(chunk.active().version());
        assertThat(record.place().fileOffset()).isEqualTo(offset);
        offset += 400;
      }
      script.atRest();
    }
  }

  /**
   * The chunk fills up in the middle of a window whose answers are lost, and its primary dies. What
   * fitted is in the first chunk and told from there; what did not goes to the next one, in order,
   * and nothing is in both.
   */
  @Test
  void windowThatCrossesTheEndOfAChunkAndAFailoverIsNeitherLostNorDoubled() {
    try (Script script = new Script(102, 4, Durability.REPLICATED, false)) {
      Writer writer = script.writer(1);
      for (int i = 0; i < 15; i++) {
        writer.append(60_000);
      }
      script.until(5 * SECOND, "the chunk is nearly full", writer::isAnswered);
      ChunkHandle first = script.chunk().handle();
      ChunkNode primary = script.primary(script.chunk());
      loseAnswers(script, writer);
      for (int i = 0; i < 8; i++) {
        writer.append(60_000);
      }
      script.pass(60 * MILLI);
      assertThat(script.chunks()).as("it waits for definite answers").hasSize(1);
      script.world.kill(primary.host());
      mend(script);
      script.until(15 * SECOND, "all is answered", writer::isAnswered);

      assertThat(script.chunks()).hasSize(2);
      long before = -1;
      Set<ChunkHandle> places = new HashSet<>();
      for (Appended record : writer.all.subList(15, 23)) {
        places.add(record.place().chunk());
        assertThat(record.place().fileOffset()).isGreaterThan(before);
        before = record.place().fileOffset();
      }
      assertThat(places).hasSize(2).contains(first);
      script.atRest();
    }
  }

  /**
   * Answers are lost; then every server that ever got the frames as such is replaced, one after the
   * other, by one that joined by copying. Those know the results all the same.
   */
  @Test
  void copiesThatJoinedByCopyingKnowTheResults() {
    try (Script script = new Script(103, 5, Durability.REPLICATED, false)) {
      Writer writer = script.writer(1);
      writer.appendAndWait(SECOND);
      ChunkEntry chunk = script.chunk();
      List<ChunkNode> originals = new ArrayList<>();
      for (Member member : chunk.active().members()) {
        originals.add(script.world.chunkNode(member.server()));
      }
      loseAnswers(script, writer);
      for (int i = 0; i < 6; i++) {
        writer.append(400);
      }
      script.pass(50 * MILLI);
      int left = originals.size();
      for (ChunkNode original : originals) {
        left--;
        int copies = left > 0 ? 3 : 2; // there are two others to take their places
        script.world.kill(original.host());
        script.until(
            40 * SECOND,
            "a primary and " + copies + " copies without " + original.id(),
            () -> {
              ChunkEntry now = script.chunk(chunk.handle());
              return now.active().members().size() == copies
                  && now.active().primary().isPresent()
                  && now.active().memberAt(original.id()).isEmpty()
                  && now.pending().isEmpty();
            });
      }
      assertThat(originals)
          .noneMatch(node -> script.chunk(chunk.handle()).active().memberAt(node.id()).isPresent());
      mend(script);
      script.until(10 * SECOND, "all is answered", writer::isAnswered);

      for (Appended record : writer.all) {
        assertThat(record.place().version()).isEqualTo(chunk.active().version());
      }
      writer.close();
      script.readWhole(FILE, ReadMode.DEFAULT, true);
    }
  }

  /**
   * A process has a record applied, never hears of it, and stands still until its session is not
   * only over but forgotten. When it asks again the result is gone: it is told that the outcome is
   * unknown, and the record is not applied a second time. A process that only rested, its session
   * alive, goes on as ever.
   */
  @Test
  void processThatSleptUntilItWasForgottenIsToldSoAndDoublesNothing() {
    try (Script script = new Script(104, 3, Durability.REPLICATED, false, 4_000 * SECOND)) {
      Writer resting = script.writer(1);
      Writer asleep = script.writer(2);
      Writer busy = script.writer(3);
      resting.appendAndWait(SECOND);
      asleep.appendAndWait(SECOND);
      ChunkHandle chunk = script.chunk().handle();
      loseAnswers(script, asleep);
      Appended lost = asleep.append(500);
      script.pass(50 * MILLI);
      asleep.life.host().freeze();
      script
          .world
          .chunkNodes()
          .forEach(node -> script.world.wires().reset(node.host(), asleep.life.host()));
      int rowsBefore = snapshot(script, script.primary(script.chunk()), chunk).rows().size();
      boolean[] goesOn = {true};
      busy.appendEvery(20 * SECOND, () -> goesOn[0]);
      script.until(
          900 * SECOND,
          "it is forgotten",
          () -> script.world.state().read(view -> view.newestForgetting()) > 0);
      script.pass(30 * SECOND);
      for (Member member : script.chunk(chunk).active().members()) {
        ReplicaImage.Snapshot kept =
            snapshot(script, script.world.chunkNode(member.server()), chunk);
        assertThat(kept.rows()).hasSize(rowsBefore); // busy has come, asleep has gone
        assertThat(kept.forgottenBelow()).isPositive();
      }

      mend(script);
      asleep.life.host().thaw();
      script.until(60 * SECOND, "it has an answer", lost::isAnswered);
      assertThat(lost.failure).isEqualTo(ErrorCode.OUTCOME_UNKNOWN);
      resting.appendAndWait(5 * SECOND);
      goesOn[0] = false;
      asleep.kill();
      script.pass(20 * SECOND);
      script.atRest();
    }
  }

  /**
   * Three hundred records are appended at once and no answer comes. No more than a window of them
   * is ever under way, so no table grows beyond it; across a failover each gets its one place, in
   * order.
   */
  @Test
  void moreThanTheTableHoldsWaitsAtTheClient() {
    try (Script script = new Script(105, 4, Durability.REPLICATED, false)) {
      Writer writer = script.writer(1);
      writer.appendAndWait(SECOND);
      ChunkEntry chunk = script.chunk();
      loseAnswers(script, writer);
      for (int i = 0; i < 300; i++) {
        writer.append(120);
      }
      script.pass(300 * MILLI);
      for (Member member : chunk.active().members()) {
        ReplicaImage.Snapshot table =
            snapshot(script, script.world.chunkNode(member.server()), chunk.handle());
        assertThat(table.rows()).hasSize(1);
        assertThat(table.rows().getFirst().results()).hasSizeBetween(50, Frame.WINDOW + 1);
      }
      failOver(script, chunk.handle());
      mend(script);
      script.until(20 * SECOND, "all is answered", writer::isAnswered);

      long offset = 300;
      for (Appended record : writer.all.subList(1, writer.all.size())) {
        assertThat(record.place().fileOffset()).isEqualTo(offset);
        offset += 120;
      }
      script.atRest();
    }
  }

  /**
   * A process is killed with records under way, and another begins with the same identity, so that
   * its requests and frames have numbers that were used already. Repeated, the same gets the result
   * of the first time or none; no record is there twice, and none is told another place.
   */
  @Test
  void secondProcessOfTheSameIdentityGetsTheFirstOnesResultsOrNone() {
    try (Script script = new Script(106, 3, Durability.REPLICATED, false)) {
      Writer first = script.writer(1);
      for (int i = 0; i < 5; i++) {
        first.appendAndWait(SECOND);
      }
      loseAnswers(script, first);
      for (int i = 0; i < 7; i++) {
        first.append(250);
      }
      script.pass(50 * MILLI);
      first.kill();
      mend(script);

      Writer second = script.sameAgain(first);
      script.until(60 * SECOND, "each has an answer", second::isAnswered);
      int told = 0;
      for (int i = 0; i < second.all.size(); i++) {
        Appended again = second.all.get(i);
        Appended once = first.all.get(i);
        if (again.isAcknowledged() && once.isAcknowledged()) {
          assertThat(again.place().fileOffset()).isEqualTo(once.place().fileOffset());
        }
        told += again.isAcknowledged() ? 1 : 0;
      }
      assertThat(told).as("those that the table still knows").isGreaterThanOrEqualTo(7);
      second.kill();
      script.pass(20 * SECOND);
      script.atRest();
    }
  }
}
