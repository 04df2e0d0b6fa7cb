package io.leasefs.cluster.simulation;

import static io.leasefs.cluster.simulation.Script.FILE;
import static io.leasefs.cluster.simulation.Script.MILLI;
import static io.leasefs.cluster.simulation.Script.SECOND;
import static org.assertj.core.api.Assertions.assertThat;

import io.leasefs.client.edge.ClientEdges;
import io.leasefs.client.edge.Futures;
import io.leasefs.client.meta.ClientSession;
import io.leasefs.client.meta.MasterRouter;
import io.leasefs.client.retry.RetryPolicy;
import io.leasefs.cluster.simulation.Script.Appended;
import io.leasefs.cluster.simulation.Script.Writer;
import io.leasefs.cluster.simulation.SimulatedWorld.ChunkNode;
import io.leasefs.common.api.ChunkApi.ReadMode;
import io.leasefs.common.api.MasterApi;
import io.leasefs.common.api.MasterApi.CreateFile;
import io.leasefs.common.error.ErrorCode;
import io.leasefs.common.error.LeaseFsException;
import io.leasefs.common.model.ClientId;
import io.leasefs.common.model.Durability;
import io.leasefs.common.model.FilePath;
import io.leasefs.common.model.FileStatus;
import io.leasefs.common.model.ServerAddress;
import io.leasefs.master.state.ChunkEntry;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.function.Function;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Failures of other systems while one leading master took the place of another: three masters. */
class SeveralMastersScenariosTest {
  private static final FilePath LATE = FilePath.parse("/late");

  private static Host leader(Script script) {
    return script.world.group().leaderHost().orElseThrow();
  }

  private static List<Host> otherMasters(Script script, Host one) {
    List<Host> others = new ArrayList<>(script.world.masterHosts());
    others.remove(one);
    return others;
  }

  private static ServerAddress address(Host master) {
    return new ServerAddress(master.name(), 9800);
  }

  /** What one master alone says to a question, as long as nobody asks another one instead. */
  private static <T> CompletableFuture<T> ask(
      Script script, Life from, Host master, Function<MasterApi, CompletableFuture<T>> question) {
    return question.apply(script.world.network(from).master(address(master)));
  }

  private static boolean isAnswered(CompletableFuture<?> asked) {
    return asked.isDone() && !asked.isCompletedExceptionally();
  }

  /** A client process that asks whichever master answers. */
  private static MasterRouter router(Script script, Life life) {
    return new MasterRouter(
        script.world.masters(),
        new ClientId(7, 7),
        new ClientEdges(life, life, life, script.world.network(life)),
        RetryPolicy.DEFAULT,
        20 * SECOND);
  }

  /**
   * The leader is cut off together with a client that reaches nothing else, and goes on believing
   * that it leads (hashicorp/raft 108, consul 54: its successor did not wait for the old one's
   * lease on reads; sofa-jraft 15, 25, 26: a read asked only "am I leader", by a wall clock). From
   * the moment at which the next leader has acknowledged a write, the old one answers no strict
   * read: it would have to commit a barrier. Its wall clock, set back by an hour, is nothing to it.
   */
  @ParameterizedTest
  @ValueSource(longs = {0, -3_600_000})
  @Tag("F03")
  @Tag("F04")
  void replacedLeaderThatBelievesInItselfAnswersNoStrictRead(long wallStepMillis) {
    try (Script script = Script.withThreeMasters(3, 3)) {
      Writer writer = script.writer(1);
      writer.appendAndWait(SECOND);
      Host old = leader(script);
      Host readers = script.clientHost(3);
      script.world.group().trust(old, 600 * SECOND);
      for (Host far : script.world.hosts()) {
        if (far != old && far != readers) {
          script.cut(old, far);
          script.cut(readers, far);
        }
      }
      old.setWallStep(wallStepMillis);
      script.until(5 * SECOND, "another is elected", () -> leader(script) != old);
      writer.appendAndWait(10 * SECOND);
      script.writer(2, LATE, 0).appendAndWait(10 * SECOND);

      Life life = readers.begin(script);
      List<CompletableFuture<?>> answers =
          List.of(
              ask(script, life, old, master -> master.layout(FILE, 0, 10)),
              ask(script, life, old, master -> master.stat(FILE)),
              ask(script, life, old, master -> master.stat(LATE)),
              ask(script, life, old, master -> master.list(FilePath.parse("/"), "", 10)));
      boolean[] read = {false};
      new SimulatedClient(script.loop, script.world, life, script.swarm, script.book, 900)
          .read(FILE, ReadMode.STRICT, false, () -> read[0] = true);
      script.pass(4 * SECOND);

      assertThat(script.world.group().leads(old)).as("it has not learnt of it").isTrue();
      assertThat(answers).noneMatch(SeveralMastersScenariosTest::isAnswered);
      assertThat(read[0]).isFalse();
      script.world.kill(readers);
      old.setWallStep(0);
      script.heal();
      script.until(10 * SECOND, "it learns of it", () -> !script.world.group().leads(old));
      script.atRest();
    }
  }

  /**
   * A master that is behind is made leader, and is asked before the first entry of its own term is
   * in the log (TiKV 9208, 9351: it served reads of an index that was too old). It answers nothing
   * of what it knows so far; whoever asks on is answered after that entry, with everything that was
   * acknowledged before the transfer.
   */
  @Test
  @Tag("F05")
  void newLeaderAnswersNothingBeforeTheFirstEntryOfItsTerm() {
    try (Script script = Script.withThreeMasters(5, 3)) {
      SimulatedGroup group = script.world.group();
      Writer writer = script.writer(1);
      writer.appendAndWait(SECOND);
      Host old = leader(script);
      Host next = otherMasters(script, old).getFirst();
      script.cut(old, next);
      Writer late = script.writer(2, LATE, 0);
      late.appendAndWait(SECOND);
      late.close();
      script.pass(SECOND); // until the log has the length
      long length = script.book.mustReach(LATE);
      assertThat(group.behind(next)).as("entries that it does not have").isPositive();
      script.world.wires().mendAll();

      group.hold(true);
      group.elect(next);
      Life life = script.clientHost(3).begin(script);
      CompletableFuture<FileStatus> direct = ask(script, life, next, master -> master.stat(LATE));
      CompletableFuture<FileStatus> patient =
          router(script, life).ask("stat", master -> master.stat(LATE));
      script.pass(2 * SECOND);
      assertThat(group.leads(next)).isTrue();
      assertThat(group.isReady(next)).isFalse();
      assertThat(isAnswered(direct)).isFalse();
      if (direct.isDone()) {
        assertThat(direct.handle((status, failure) -> code(failure)).join())
            .isIn(ErrorCode.STARTING, ErrorCode.NOT_LEADER);
      }
      assertThat(patient.isDone()).isFalse();

      group.hold(false);
      script.until(5 * SECOND, "an answer", patient::isDone);
      assertThat(group.isReady(next)).isTrue();
      assertThat(patient.join().lengthBytes()).isEqualTo(length);
      script.world.kill(script.clientHost(3));
      script.atRest();
    }
  }

  private static ErrorCode code(Throwable failure) {
    Throwable cause = failure instanceof CompletionException ? failure.getCause() : failure;
    if (cause instanceof LeaseFsException refused) {
      return refused.code();
    }
    throw new AssertionError(failure);
  }

  /**
   * Two masters lead in one term (camunda 5356, CCF 8094, nebula 2405, cornerstone 65: a voter
   * voted twice), for half a minute in which a primary dies and files are made. Versions and tokens
   * are what the log says, so none is given twice, and nothing that was acknowledged is lost.
   */
  @Test
  @Tag("F07")
  void twoLeadersOfOneTermGiveNoVersionAndNoTokenTwice() {
    try (Script script = Script.withThreeMasters(7, 4)) {
      SimulatedGroup group = script.world.group();
      Writer writer = script.writer(1);
      writer.appendAndWait(SECOND);
      Host one = leader(script);
      Host other = otherMasters(script, one).getFirst();
      otherMasters(script, one).forEach(master -> script.cut(one, master));
      group.trust(one, 600 * SECOND);
      group.electInTheSameTerm(other);
      script.until(5 * SECOND, "the other is ready", () -> group.isReady(other));
      assertThat(group.termOf(one)).isEqualTo(group.termOf(other));

      writer.appendEvery(100 * MILLI, () -> writer.all.size() < 200);
      Writer second = script.writer(2, LATE, 0);
      second.appendAndWait(10 * SECOND);
      ChunkNode primary = script.primary(script.chunk());
      script.world.kill(primary.host());
      script.pass(15 * SECOND);
      script.restart(primary);
      second.appendAndWait(15 * SECOND);
      script.pass(5 * SECOND);

      assertThat(group.leads(one)).isTrue();
      assertThat(group.leads(other)).isTrue();
      assertThat(group.termOf(one)).isEqualTo(group.termOf(other));
      assertEachVersionAndTokenIsGivenOnce(script);
      script.heal();
      script.until(10 * SECOND, "one leads no more", () -> !group.leads(one));
      script.atRest();
      assertEachVersionAndTokenIsGivenOnce(script);
    }
  }

  private static void assertEachVersionAndTokenIsGivenOnce(Script script) {
    Pattern granted =
        Pattern.compile("LEASE_GRANTED (\\S+) chunk (\\S+) version (\\d+) \\{token=(\\d+)\\}");
    Set<String> versions = new HashSet<>();
    Set<String> holders = new HashSet<>();
    Set<String> tokens = new HashSet<>();
    for (String line : script.told) {
      Matcher match = granted.matcher(line);
      if (match.find()) {
        assertThat(versions.add(match.group(2) + " " + match.group(3))).as(line).isTrue();
        // a holder that goes on in the next version keeps its token
        if (holders.add(match.group(1) + " " + match.group(2) + " " + match.group(4))) {
          assertThat(tokens.add(match.group(4))).as(line).isTrue();
        }
      }
    }
    assertThat(tokens).hasSizeGreaterThan(2);
  }

  /**
   * The link between the leader and one other master is lost, the third sees both, for a hundred
   * times T (Cloudflare, 2 November 2020). Where the leader stays, nothing happens. Where the two
   * that do not see each other take the lead from one another again and again, no session ends and
   * no chunk changes its primary, and more than 95 of a hundred files are made, and records
   * written, within a second.
   */
  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  @Tag("F19")
  void oneLostLinkAmongThreeMastersCostsNoLease(boolean leadersChange) {
    try (Script script = Script.withThreeMasters(19, 3)) {
      SimulatedGroup group = script.world.group();
      Writer writer = script.writer(1);
      writer.appendAndWait(SECOND);
      ChunkEntry chunk = script.chunk();
      Host first = leader(script);
      Host third = otherMasters(script, first).getLast();
      script.cut(first, third);
      int elections = script.world.elections();
      Life life = script.clientHost(3).begin(script);
      Maker maker = new Maker(script, life);
      int rounds = 200;
      List<Appended> records = new ArrayList<>();
      List<Long> submitted = new ArrayList<>();
      for (int i = 0; i < rounds; i++) {
        if (leadersChange && i % 20 == 10) {
          group.elect(leader(script) == first ? third : first);
        }
        records.add(writer.append(100));
        submitted.add(script.loop.now());
        maker.make(FilePath.parse("/made-" + i));
        script.pass(SECOND);
      }
      script.pass(5 * SECOND);

      int written = 0;
      for (int i = 0; i < rounds; i++) {
        Appended record = records.get(i);
        assertThat(record.isAcknowledged()).isTrue();
        written += record.answeredAt - submitted.get(i) <= SECOND ? 1 : 0;
      }
      assertThat(script.world.elections() - elections).isEqualTo(leadersChange ? 10 : 0);
      assertThat(script.told("SESSION_ENDED")).isZero();
      assertThat(script.chunk(chunk.handle()).active()).isEqualTo(chunk.active());
      assertThat(written).isGreaterThan(rounds * 95 / 100);
      assertThat(maker.inTime).isGreaterThan(rounds * 95 / 100);
      script.world.kill(script.clientHost(3));
      script.heal();
      script.atRest();
    }
  }

  /** A client process that makes files, each with a chunk and a lease, and closes them. */
  private static final class Maker {
    private final Script script;
    private final MasterRouter router;
    private final ClientSession session;

    /** Files that were there within a second. */
    private int inTime;

    Maker(Script script, Life life) {
      this.script = script;
      this.router = router(script, life);
      this.session =
          new ClientSession(new ClientEdges(life, life, life, script.world.network(life)), router);
    }

    void make(FilePath path) {
      long asked = script.loop.now();
      CreateFile file = new CreateFile(path, true, 3, 1 << 20, Durability.REPLICATED, 0644, true);
      Futures.onDone(
          router.change("create", (master, id) -> master.create(id, file)),
          open -> {
            inTime += script.loop.now() - asked <= SECOND ? 1 : 0;
            session.seen(open.session());
            Futures.ignore(
                router.change(
                    "close",
                    (master, id) ->
                        master.close(
                            id,
                            open.status().id(),
                            open.openNumber(),
                            Optional.empty(),
                            Optional.empty(),
                            false)));
          },
          failure -> {});
    }
  }
}
