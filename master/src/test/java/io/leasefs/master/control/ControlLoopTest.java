package io.leasefs.master.control;

import static io.leasefs.master.control.World.MILLIS;
import static io.leasefs.master.control.World.SECOND;
import static java.util.Objects.requireNonNull;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.leasefs.common.api.AdminApi;
import io.leasefs.common.api.Heartbeat;
import io.leasefs.common.api.Heartbeat.DeleteCommand;
import io.leasefs.common.api.Heartbeat.LeaseName;
import io.leasefs.common.api.MasterApi.CreateFile;
import io.leasefs.common.api.MasterApi.OpenFile;
import io.leasefs.common.error.LeaseFsException;
import io.leasefs.common.model.ChunkHandle;
import io.leasefs.common.model.ChunkLayout;
import io.leasefs.common.model.ChunkSeal;
import io.leasefs.common.model.Durability;
import io.leasefs.common.model.EventKind;
import io.leasefs.common.model.FilePath;
import io.leasefs.common.model.Member;
import io.leasefs.common.model.ReplicaId;
import io.leasefs.common.model.RequestId;
import io.leasefs.common.model.SealedChunk;
import io.leasefs.common.model.ServerId;
import io.leasefs.common.model.SessionId;
import io.leasefs.master.control.World.FakeServer;
import io.leasefs.master.log.Operation;
import io.leasefs.master.log.Operation.BeginChange;
import io.leasefs.master.log.Operation.ChangeReason;
import io.leasefs.master.log.OperationLog.Role;
import io.leasefs.master.state.ChunkEntry;
import java.util.List;
import java.util.Optional;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class ControlLoopTest {
  @Test
  void newFileHasItsPrimaryAtOnce() {
    World world = World.with("cs1", "cs2", "cs3", "cs4");

    OpenFile open = world.create("/a/b", 3);

    ChunkHandle chunk = open.last().orElseThrow().handle();
    assertThat(open.birth()).isPresent();
    assertThat(open.last().orElseThrow().configuration().members()).hasSize(3);
    world.settle();
    assertThat(primary(world, chunk).isValid(chunk)).isTrue();
    assertThat(world.get(world.client.stat(FilePath.parse("/a/b"))).openWriters()).isEqualTo(1);
  }

  @Test
  @Tag("F31")
  void killedPrimaryIsReplacedWhenItsLeaseHasRunOut() {
    World world = World.with("cs1", "cs2", "cs3", "cs4");
    ChunkHandle chunk = world.create("/f", 3).last().orElseThrow().handle();
    world.pass(3 * SECOND);
    FakeServer old = primary(world, chunk);
    long lastSent = old.sentNanos;

    old.kill();
    long end = lastSent + world.terms.grantorValidityNanos();
    world.pass(end - world.now - MILLIS);
    assertThat(world.chunk(chunk).active().version()).isEqualTo(1);
    for (FakeServer server : world.servers.values()) {
      assertThat(server != old && server.holds(chunk)).isFalse();
    }

    world.pass(100 * MILLIS);
    assertThat(world.chunk(chunk).active().version()).isEqualTo(2);
    assertThat(primary(world, chunk)).isNotEqualTo(old);
    assertThat(primary(world, chunk).isValid(chunk)).isTrue();
  }

  @Test
  @Tag("F31")
  void restartedPrimaryIsProofOfDeath() {
    World world = World.with("cs1", "cs2", "cs3");
    ChunkHandle chunk = world.create("/f", 3).last().orElseThrow().handle();
    world.pass(SECOND);
    FakeServer old = primary(world, chunk);
    old.kill();
    world.pass(300 * MILLIS);

    old.start();
    world.pass(500 * MILLIS);

    assertThat(world.chunk(chunk).active().version()).isEqualTo(2);
    assertThat(world.chunk(chunk).active().members()).hasSize(3);
    assertThat(primary(world, chunk).isValid(chunk)).isTrue();
  }

  @Test
  void failedSecondaryIsLeftBehindWithoutWaiting() {
    World world = World.with("cs1", "cs2", "cs3");
    ChunkHandle chunk = world.create("/f", 3).last().orElseThrow().handle();
    world.pass(SECOND);
    FakeServer primary = primary(world, chunk);
    FakeServer dead = secondary(world, chunk);
    long token = world.chunk(chunk).lease().orElseThrow().token();
    dead.kill();

    primary.blame(chunk, 1, dead);
    world.pass(100 * MILLIS);

    assertThat(world.chunk(chunk).active().version()).isEqualTo(2);
    assertThat(primary(world, chunk)).isEqualTo(primary);
    assertThat(world.chunk(chunk).lease().orElseThrow().token()).isEqualTo(token);
    assertThat(world.chunk(chunk).active().members())
        .extracting(Member::server)
        .doesNotContain(dead.id)
        .hasSize(2);
  }

  @Test
  void appendingWriterGoesOnInANewChunkBeforeTheLeaseEnds() {
    World world = World.with("cs1", "cs2", "cs3", "cs4");
    ChunkHandle chunk = world.create("/f", 3).last().orElseThrow().handle();
    world.pass(SECOND);
    FakeServer old = primary(world, chunk);
    old.kill();

    world.get(world.client.reportSilent(chunk, 1, true));
    world.pass(200 * MILLIS);

    assertThat(world.chunk(chunk).seal()).isPresent();
    assertThat(world.chunk(chunk).lease()).isPresent();
    assertThat(world.chunk(chunk).lease().orElseThrow().revoked()).isTrue();
  }

  @Test
  void newLeaderWaitsForEveryLeaseItFinds() {
    World world = World.with("cs1", "cs2", "cs3", "cs4");
    ChunkHandle chunk = world.create("/f", 3).last().orElseThrow().handle();
    world.pass(3 * SECOND);
    FakeServer old = primary(world, chunk);
    old.freeze();
    world.pass(6 * SECOND);

    world.log.lead();
    long ready = world.now;
    world.pass(world.terms.grantorValidityNanos() - MILLIS);
    assertThat(world.chunk(chunk).active().version()).isEqualTo(1);

    world.pass(100 * MILLIS);
    assertThat(world.chunk(chunk).active().version()).isEqualTo(2);
    assertThat(world.now - ready).isLessThan(11 * SECOND);
  }

  /** A grant of the last term may still be on its way to a server that has not heard of this. */
  @Test
  void listFromAnOlderTermDoesNotSayThatALeaseWasNeverHeld() {
    World world = World.with("cs1", "cs2", "cs3");
    world.pass(SECOND);
    world.servers.values().forEach(server -> server.dropsResponses = true);
    ChunkHandle chunk = world.create("/f", 3).last().orElseThrow().handle();
    FakeServer primary = primary(world, chunk);

    world.log.lead();
    primary.sendInFull();
    assertThat(world.chunk(chunk).lease()).isPresent();

    world.log.lead();
    primary.highestTerm = world.log.role().term();
    primary.sendInFull();
    assertThat(world.chunk(chunk).lease()).isEmpty();
  }

  /** Another may lead already, and have logged more. */
  @Test
  void lookUpOfOneOfSeveralMastersWaitsForABarrier() {
    World world = World.with("cs1", "cs2", "cs3");
    world.create("/f", 3);
    world.log.alone = false;

    var status = world.client.stat(FilePath.parse("/f"));
    world.settle();
    assertThat(status).isNotDone();

    world.log.endBarriers();
    world.settle();
    assertThat(status).isCompleted();
  }

  /** The session may be in the log of another, which leads already. */
  @Test
  void serverIsToldThatItsSessionIsUnknownOnlyAfterABarrier() {
    World world = World.with("cs1", "cs2", "cs3");
    world.pass(SECOND);
    FakeServer server = world.servers.values().iterator().next();
    server.session = Optional.of(new SessionId(Long.MAX_VALUE));
    server.dropsResponses = true;
    server.responses.clear();
    world.log.alone = false;

    server.sendInFull();
    assertThat(server.responses).isEmpty();

    world.log.endBarriers();
    world.settle();
    assertThat(server.responses)
        .extracting(Heartbeat.Response::status)
        .contains(Heartbeat.Status.UNKNOWN_SESSION);
  }

  @Test
  void livePrimaryGoesOnAcrossAChangeOfLeaders() {
    World world = World.with("cs1", "cs2", "cs3");
    ChunkHandle chunk = world.create("/f", 3).last().orElseThrow().handle();
    world.pass(3 * SECOND);
    FakeServer primary = primary(world, chunk);

    world.log.lead();
    for (int i = 0; i < 300; i++) {
      world.pass(100 * MILLIS);
      assertThat(primary.isValid(chunk)).isTrue();
    }
    assertThat(world.chunk(chunk).active().version()).isEqualTo(1);
  }

  @ParameterizedTest
  @ValueSource(longs = {2, 3, 4, 5, 6, 7, 8, 9})
  void onlyOneServerEverActsAsPrimary(long seed) {
    World world = World.with("cs1", "cs2", "cs3", "cs4");
    OpenFile open = world.create("/f", 3);
    ChunkHandle chunk = open.last().orElseThrow().handle();
    Random random = new Random(seed);
    for (int i = 0; i < 1500; i++) {
      trouble(world, random);
      world.pass(random.nextInt(400) * MILLIS);
      var _ = world.client.renew(world.clientId, open.session());
      assertThat(world.servers.values().stream().filter(s -> s.isValid(chunk)).count())
          .as("holders after step %s", i)
          .isLessThanOrEqualTo(1);
    }
    heal(world);
    for (int i = 0; i < 20; i++) {
      world.pass(SECOND);
      var _ = world.client.renew(world.clientId, open.session());
    }
    assertThat(world.get(world.client.chunkLayout(chunk, 0, 10 * SECOND)).primary()).isPresent();
    world.pass(SECOND);
    assertThat(world.chunk(chunk).active().version()).isGreaterThan(3);
    assertThat(primary(world, chunk).isValid(chunk)).isTrue();
  }

  private static void trouble(World world, Random random) {
    FakeServer server = world.server("cs" + (1 + random.nextInt(4)));
    switch (random.nextInt(40)) {
      case 0 -> server.freeze();
      case 1, 2 -> {
        if (!server.running && !server.dead) {
          server.thaw();
        }
      }
      case 3 -> {
        if (server.running) {
          server.kill();
        }
      }
      case 4, 5 -> {
        if (server.dead) {
          server.start();
        }
      }
      case 6 -> server.dropsResponses = true;
      case 7, 8 -> server.dropsResponses = false;
      case 9 -> world.log.lead();
      default -> {}
    }
  }

  private static void heal(World world) {
    for (FakeServer server : world.servers.values()) {
      server.dropsResponses = false;
      if (server.dead) {
        server.start();
      } else if (!server.running) {
        server.thaw();
      }
    }
  }

  @Test
  void heartbeatWithoutABarrierRenewsNothing() {
    World world = World.with("cs1", "cs2", "cs3");
    FakeServer server = world.server("cs1");
    world.pass(SECOND);
    world.log.alone = false;
    server.responses.clear();

    world.pass(3 * SECOND);

    assertThat(server.responses).isEmpty();
  }

  @Test
  void requestsThatComeFasterThanBarriersAreRenewedAllTheSame() {
    World world = World.with("cs1", "cs2", "cs3");
    FakeServer server = world.server("cs1");
    world.pass(SECOND);
    world.log.alone = false;

    for (int i = 0; i < 200; i++) {
      server.send();
      world.pass(60 * MILLIS); // its barrier has begun
      server.send();
      world.settle();
      world.log.endBarriers();
      world.settle();
    }

    assertThat(server.validUntil).isGreaterThan(world.now);
    assertThat(server.responses.get(server.responses.size() - 1).answersSequence())
        .isLessThan(server.beat);
  }

  @Test
  void leaseOfASealedChunkIsTakenBackWithoutAFullReport() {
    World world = World.with("cs1", "cs2", "cs3");
    ChunkHandle chunk = world.create("/f", 3).last().orElseThrow().handle();
    world.pass(SECOND);
    FakeServer holder = primary(world, chunk);
    holder.responses.clear();
    OpenFile open = world.get(world.client.openForWrite(world.request(), FilePath.parse("/f"), 0));

    world.get(
        world.client.close(
            world.request(),
            open.status().id(),
            open.openNumber(),
            Optional.empty(),
            Optional.empty(),
            false));
    world.pass(75 * SECOND); // the first writer's session runs out: the last close

    assertThat(world.chunk(chunk).seal()).isPresent();
    assertThat(holder.holds(chunk)).isFalse();
    assertThat(holder.responses)
        .noneMatch(response -> response.status() == Heartbeat.Status.NEED_FULL_REPORT);
  }

  @Test
  void mastersOwnPauseEndsNobody() {
    World world = World.with("cs1", "cs2", "cs3");
    ChunkHandle chunk = world.create("/f", 3).last().orElseThrow().handle();
    world.pass(SECOND);

    world.stall(15 * SECOND);
    world.pass(2 * SECOND);

    assertThat(world.events)
        .extracting(event -> event.kind())
        .doesNotContain(EventKind.SESSION_ENDED);
    assertThat(world.chunk(chunk).active().version()).isEqualTo(1);
  }

  @Test
  void drainedPrimaryHandsOverWithinTwoHundredMilliseconds() {
    World world = World.with("cs1", "cs2", "cs3", "cs4");
    ChunkHandle chunk = world.create("/f", 3).last().orElseThrow().handle();
    world.pass(SECOND);
    FakeServer old = primary(world, chunk);

    world.get(world.operator.drain(old.id, false));
    world.pass(200 * MILLIS);

    assertThat(world.chunk(chunk).active().version()).isEqualTo(2);
    assertThat(primary(world, chunk)).isNotEqualTo(old);
    assertThat(primary(world, chunk).isValid(chunk)).isTrue();
  }

  @Test
  void drainedServerEndsUpEmpty() {
    World world = World.with("cs1", "cs2", "cs3", "cs4");
    ChunkHandle chunk = closed(world, "/f");
    FakeServer leaving = secondary(world, chunk);

    world.get(world.operator.drain(leaving.id, false));
    world.pass(10 * SECOND);

    assertThat(world.state.chunksAt(leaving.id)).isEmpty();
    assertThat(leaving.copies).isEmpty();
    assertThat(world.chunk(chunk).active().members()).hasSize(3);
    assertThat(world.get(world.operator.nodes()))
        .filteredOn(node -> node.server().equals(leaving.id))
        .extracting(node -> node.state())
        .containsExactly(AdminApi.NodeState.DRAINED);
  }

  @Test
  void whySaysWhereNoServerIsLeftForACopyThatIsToMove() {
    World world = World.with("cs1", "cs2", "cs3");
    ChunkHandle chunk = closed(world, "/f");
    world.pass(SECOND);
    assertThat(world.get(world.operator.why(chunk))).isEmpty();

    world.get(world.operator.drain(secondary(world, chunk).id, false));
    world.pass(5 * SECOND);

    assertThat(world.get(world.operator.why(chunk)))
        .singleElement()
        .satisfies(
            wait ->
                assertThat(wait.what())
                    .startsWith("a copy waits: 2 of 3 are good")
                    .contains("no other server that takes copies has room"));
  }

  @Test
  void whySaysWhoseCopyIsWaitedForAndForHowLong() {
    World world = World.with("cs1", "cs2", "cs3", "cs4");
    ChunkHandle chunk = closed(world, "/f");
    FakeServer away = secondary(world, chunk);
    away.kill();
    world.pass(15 * SECOND);

    List<AdminApi.Wait> waits = world.get(world.operator.why(chunk));

    assertThat(waits).hasSize(1);
    assertThat(waits.get(0).what()).contains(away.id + " is away");
    assertThat(waits.get(0).holder()).contains(away.id);
    assertThat(waits.get(0).untilNanos()).isBetween(SECOND, 30 * SECOND);
    world.pass(waits.get(0).untilNanos() + 10 * SECOND);
    assertThat(world.get(world.operator.why(chunk))).isEmpty();
  }

  @Test
  void lastCloseSealsTheChunkThroughItsPrimary() {
    World world = World.with("cs1", "cs2", "cs3");

    ChunkHandle chunk = closed(world, "/f");

    assertThat(world.chunk(chunk).seal()).isPresent();
    assertThat(world.chunk(chunk).lease()).isEmpty();
    world.pass(SECOND);
    assertThat(world.servers.values()).noneMatch(server -> server.holds(chunk));
    assertThat(world.events)
        .filteredOn(event -> event.chunk().equals(Optional.of(chunk)))
        .extracting(event -> event.kind())
        .containsOnlyOnce(EventKind.CHUNK_SEALED);
  }

  @Test
  void allMembersHearOfTheSealOfTheirVersion() {
    World world = World.with("cs1", "cs2", "cs3");

    ChunkHandle chunk = closed(world, "/f");

    ChunkEntry sealed = world.chunk(chunk);
    assertThat(world.servers.values())
        .allSatisfy(
            server ->
                assertThat(server.commands)
                    .contains(
                        new Heartbeat.SettledCommand(
                            chunk,
                            sealed.active().version(),
                            sealed.seal().orElseThrow().serial())));
  }

  @Test
  void deadClientsFileIsSealed() {
    World world = World.with("cs1", "cs2", "cs3");
    ChunkHandle chunk = world.create("/f", 3).last().orElseThrow().handle();

    world.pass(75 * SECOND);

    assertThat(world.chunk(chunk).seal()).isPresent();
    assertThat(world.get(world.client.stat(FilePath.parse("/f"))).openWriters()).isZero();
  }

  @Test
  void lostCopyOfASealedChunkIsMadeElsewhere() {
    World world = World.with("cs1", "cs2", "cs3", "cs4");
    ChunkHandle chunk = closed(world, "/f");
    FakeServer dead = secondary(world, chunk);
    dead.kill();

    world.pass(60 * SECOND);

    assertThat(world.chunk(chunk).active().members())
        .extracting(Member::server)
        .hasSize(3)
        .doesNotContain(dead.id);
    assertThat(world.chunk(chunk).learners()).isEmpty();
  }

  @Test
  void finishedCopyOfAServerThatRegistersAnewBeforeItJoinedIsMadeAnew() {
    World world = World.with("cs1", "cs2", "cs3", "cs4");
    ChunkHandle chunk = closed(world, "/f");
    FakeServer fourth = outsider(world, chunk);
    fourth.makesCopies = false;
    FakeServer dead = secondary(world, chunk);
    dead.kill();
    world.pass(60 * SECOND);
    Member learner = world.chunk(chunk).learners().get(0).member();
    World.Copy finished = new World.Copy(world.chunk(chunk).spec());
    World.Copy source = dead.copy(chunk);
    finished.replica = learner.replica();
    finished.lastSerial = source.lastSerial;
    finished.committedSerial = source.committedSerial;
    finished.seal = source.seal;
    finished.sealed = true;
    finished.state = Heartbeat.ReplicaState.SEALED;
    fourth.copies.put(chunk, finished);
    fourth.kill();
    fourth.makesCopies = true;
    fourth.start();

    world.pass(60 * SECOND);

    assertThat(world.chunk(chunk).learners()).isEmpty();
    assertThat(world.chunk(chunk).active().members())
        .extracting(Member::server)
        .hasSize(3)
        .contains(fourth.id);
  }

  @Test
  void copyOfAPurgedFileIsOrderedNoMore() {
    World world = World.with("cs1", "cs2", "cs3", "cs4");
    ChunkHandle chunk = closed(world, "/f");
    FakeServer fourth = outsider(world, chunk);
    fourth.makesCopies = false;
    secondary(world, chunk).kill();
    world.pass(60 * SECOND);
    assertThat(fourth.commands).anyMatch(Heartbeat.CopyCommand.class::isInstance);

    world.get(world.client.delete(world.request(), FilePath.parse("/f"), false, true));
    world.pass(5 * SECOND);
    fourth.commands.clear();
    world.pass(20 * SECOND);

    assertThat(fourth.commands).noneMatch(Heartbeat.CopyCommand.class::isInstance);
  }

  @Test
  void deletedFileIsPurgedThoughTooFewOfItsCopiesAreLeftToWriteIt() {
    World world = World.with("cs1", "cs2");
    ChunkHandle chunk = world.create("/f", 2).last().orElseThrow().handle();
    world.pass(SECOND);
    secondary(world, chunk).kill();
    primary(world, chunk).kill();
    primary(world, chunk).start();
    world.pass(2 * SECOND);
    assertThat(world.chunk(chunk).pending()).isPresent();

    world.get(world.client.delete(world.request(), FilePath.parse("/f"), false, true));
    world.pass(15 * SECOND);

    assertThat(world.state.chunk(chunk)).isEmpty();
  }

  @Test
  void copyThatNobodyCanBeCopiedFromIsOrderedNoMore() {
    World world = World.with("cs1", "cs2", "cs3", "cs4");
    ChunkHandle chunk = closed(world, "/f");
    FakeServer fourth = outsider(world, chunk);
    fourth.makesCopies = false;
    secondary(world, chunk).kill();
    world.pass(60 * SECOND);

    for (FakeServer server : world.servers.values()) {
      if (server.running && server.copies.containsKey(chunk)) {
        server.copy(chunk).state = Heartbeat.ReplicaState.DAMAGED;
      }
    }
    world.pass(5 * SECOND);
    fourth.commands.clear();
    int members = world.chunk(chunk).active().members().size();
    world.pass(60 * SECOND);

    assertThat(fourth.commands).noneMatch(Heartbeat.CopyCommand.class::isInstance);
    assertThat(world.chunk(chunk).active().members()).hasSize(members);
  }

  @Test
  void copyThatCannotBeReadAtAllIsDeletedAndMadeAnewAtTheSameServer() {
    World world = World.with("cs1", "cs2", "cs3");
    ChunkHandle chunk = closed(world, "/f");
    FakeServer lost = secondary(world, chunk);
    World.Copy dead = lost.copy(chunk);
    dead.state = Heartbeat.ReplicaState.DAMAGED;
    dead.replica = Heartbeat.ReplicaReport.UNKNOWN;
    lost.kill();
    lost.start();

    world.pass(20 * SECOND);

    assertThat(lost.commands)
        .anyMatch(
            command ->
                command instanceof Heartbeat.DeleteCommand delete
                    && delete.replica().equals(Heartbeat.ReplicaReport.UNKNOWN));
    assertThat(lost.copy(chunk).state).isEqualTo(Heartbeat.ReplicaState.SEALED);
    assertThat(world.chunk(chunk).active().members()).hasSize(3);
  }

  @Test
  void sealedCopyThatIsGoneIsMadeAnewThoughTheOthersOfItsBirthAreThere() {
    World world = World.with("cs1", "cs2", "cs3");
    ChunkHandle chunk = closed(world, "/f");
    FakeServer emptied = secondary(world, chunk);
    emptied.copies.remove(chunk); // all three have one replica id
    emptied.kill();
    emptied.start();

    world.pass(60 * SECOND);

    assertThat(emptied.copy(chunk).state).isEqualTo(Heartbeat.ReplicaState.SEALED);
    assertThat(world.chunk(chunk).active().members()).hasSize(3);
    assertThat(world.chunk(chunk).learners()).isEmpty();
  }

  @Test
  void sealedCopyThatIsReportedAMomentLaterIsNotReplaced() {
    World world = World.with("cs1", "cs2", "cs3", "cs4");
    ChunkHandle chunk = closed(world, "/f");
    FakeServer late = secondary(world, chunk);
    World.Copy copy = requireNonNull(late.copies.remove(chunk));
    late.kill();
    late.start(); // its full report lacks the copy
    world.pass(2 * SECOND);

    late.copies.put(chunk, copy);
    world.pass(20 * SECOND);

    assertThat(outsider(world, chunk).commands)
        .noneMatch(command -> command instanceof Heartbeat.CopyCommand);
    assertThat(world.servers.values())
        .filteredOn(server -> server.copies.containsKey(chunk))
        .hasSize(3);
  }

  /** Of a {@code replicated} file a power cut may take the seal, and records before it. */
  @Test
  void memberThatLostTheSealOfItsChunkIsMadeAnew() {
    World world = World.with("cs1", "cs2", "cs3");
    ChunkHandle chunk = closed(world, "/f");
    FakeServer cut = secondary(world, chunk);
    World.Copy behind = cut.copy(chunk);
    behind.lastSerial = 0;
    behind.committedSerial = 0;
    behind.sealed = false;
    behind.seal = Optional.empty();
    behind.state = Heartbeat.ReplicaState.OPEN;
    behind.certainty = Heartbeat.Certainty.UNCERTAIN;
    cut.kill();
    cut.start();

    world.pass(9 * SECOND);
    assertThat(cut.copies).as("it may be told yet").containsEntry(chunk, behind);
    world.pass(20 * SECOND);

    assertThat(cut.copy(chunk).state).isEqualTo(Heartbeat.ReplicaState.SEALED);
    assertThat(world.chunk(chunk).active().members()).hasSize(3);
    assertThat(world.chunk(chunk).learners()).isEmpty();
  }

  /** One good copy, one that lost its version start, and an old one in the place of the third. */
  @Test
  void memberThatLostItsVersionStartMakesRoomForAGoodCopy() {
    World world = World.with("cs1", "cs2", "cs3");
    OpenFile open = world.create("/f", 3);
    ChunkHandle chunk = open.last().orElseThrow().handle();
    world.pass(SECOND);
    FakeServer away = secondary(world, chunk);
    away.kill();
    primary(world, chunk).blame(chunk, 1, away);
    world.pass(SECOND);
    var _ = world.get(close(world, open, Optional.empty()));
    world.pass(2 * SECOND);
    FakeServer cut = secondary(world, chunk);
    World.Copy lost = cut.copy(chunk);
    lost.accepted = 1;
    lost.lastSerial = 0;
    lost.committedSerial = 0;
    lost.sealed = false;
    lost.seal = Optional.empty();
    lost.state = Heartbeat.ReplicaState.OPEN;
    cut.kill();
    cut.start();
    away.start();

    world.pass(60 * SECOND);

    assertThat(world.chunk(chunk).active().members()).hasSize(3);
    assertThat(cut.copy(chunk).state).isEqualTo(Heartbeat.ReplicaState.SEALED);
    assertThat(away.copy(chunk).state).isEqualTo(Heartbeat.ReplicaState.SEALED);
  }

  @Test
  void openCopyThatIsGoneIsMadeAnewThoughNobodyWrites() {
    World world = World.with("cs1", "cs2", "cs3");
    ChunkHandle chunk = world.create("/f", 3).last().orElseThrow().handle();
    world.pass(SECOND);
    FakeServer first = primary(world, chunk);
    first.kill();
    first.start(); // version 2: no birth comes late any more
    world.pass(SECOND);
    FakeServer emptied = secondary(world, chunk);
    emptied.copies.remove(chunk);
    emptied.kill();
    emptied.start();

    world.pass(30 * SECOND);

    assertThat(emptied.copies).containsKey(chunk);
    assertThat(world.chunk(chunk).active().members()).hasSize(3);
    assertThat(world.chunk(chunk).pending()).isEmpty();
    assertThat(world.chunk(chunk).learners()).isEmpty();
  }

  @Test
  void openChunkThatAMemberHasLostGoesOnElsewhere() {
    World world = World.with("cs1", "cs2", "cs3");
    ChunkHandle chunk = world.create("/f", 2).last().orElseThrow().handle();
    FakeServer holder = primary(world, chunk);
    FakeServer other = secondary(world, chunk);
    other.copies.remove(chunk);
    world.servers.values().forEach(server -> server.tellsUnknown = true);
    holder.kill();
    holder.start();

    world.pass(20 * SECOND);

    assertThat(world.chunk(chunk).pending()).isEmpty();
    assertThat(world.chunk(chunk).active().members())
        .extracting(Member::server)
        .hasSize(2)
        .contains(holder.id)
        .doesNotContain(other.id);
  }

  @Test
  void damagedMemberOfAnOpenChunkThatNobodyWritesIsMadeAnewAtTheSameServer() {
    World world = World.with("cs1", "cs2", "cs3");
    ChunkHandle chunk = world.create("/f", 3).last().orElseThrow().handle();
    world.pass(SECOND);
    FakeServer primary = primary(world, chunk);
    FakeServer rotten = secondary(world, chunk);
    World.Copy damaged = rotten.copy(chunk);
    damaged.state = Heartbeat.ReplicaState.DAMAGED;
    damaged.certainty = Heartbeat.Certainty.DAMAGED;

    world.pass(10 * SECOND);

    assertThat(rotten.copy(chunk)).isNotSameAs(damaged);
    assertThat(world.chunk(chunk).active().members())
        .extracting(Member::server)
        .hasSize(3)
        .contains(rotten.id);
    assertThat(primary(world, chunk)).isEqualTo(primary);
    assertThat(begun(world, chunk)).as("without it, and with its new copy").isEqualTo(2);
  }

  @Test
  void damagedMemberOfAnOpenChunkStaysWhereTooFewOthersAreHeard() {
    World world = World.with("cs1", "cs2", "cs3");
    ChunkHandle chunk = world.create("/f", 3).last().orElseThrow().handle();
    world.pass(SECOND);
    FakeServer primary = primary(world, chunk);
    FakeServer rotten = secondary(world, chunk);
    world.servers.values().stream()
        .filter(server -> server != primary && server != rotten)
        .forEach(FakeServer::freeze);
    world.pass(3 * SECOND);
    rotten.copy(chunk).state = Heartbeat.ReplicaState.DAMAGED;

    world.pass(5 * SECOND);

    assertThat(begun(world, chunk)).as("reads go on").isZero();
    assertThat(primary.isValid(chunk)).isTrue();
  }

  @Test
  void learnerOfAChunkThatIsSealedWithoutItIsMadeAnew() {
    World world = World.with("cs1", "cs2", "cs3", "cs4");
    ChunkHandle chunk = closed(world, "/f");
    FakeServer fourth = outsider(world, chunk);
    fourth.makesCopies = false;
    secondary(world, chunk).kill();
    world.pass(60 * SECOND);
    ReplicaId late = world.chunk(chunk).learners().get(0).member().replica();
    World.Copy copy = new World.Copy(world.chunk(chunk).spec());
    copy.replica = late;
    copy.state = Heartbeat.ReplicaState.LEARNER; // the copy of before the seal
    fourth.copies.put(chunk, copy);
    fourth.makesCopies = true;

    world.pass(60 * SECOND);

    assertThat(world.chunk(chunk).learners()).isEmpty();
    assertThat(fourth.copy(chunk).replica).isNotEqualTo(late);
    assertThat(world.chunk(chunk).active().members())
        .extracting(Member::server)
        .hasSize(3)
        .contains(fourth.id);
  }

  /** Copied while the chunk was sealed; since then somebody has reopened it and written more. */
  @Test
  void learnerOfAnEarlierSealIsMadeAnew() {
    World world = World.with("cs1", "cs2", "cs3", "cs4");
    ChunkHandle chunk = closed(world, "/f");
    FakeServer fourth = outsider(world, chunk);
    fourth.makesCopies = false;
    secondary(world, chunk).kill();
    world.pass(60 * SECOND);
    ReplicaId early = world.chunk(chunk).learners().get(0).member().replica();
    World.Copy copy = new World.Copy(world.chunk(chunk).spec());
    copy.replica = early;
    copy.accepted = world.chunk(chunk).active().version() - 1;
    copy.seal = Optional.of(new ChunkSeal(0, 0, 7));
    copy.state = Heartbeat.ReplicaState.SEALED;
    fourth.copies.put(chunk, copy);
    fourth.makesCopies = true;

    world.pass(60 * SECOND);

    assertThat(world.chunk(chunk).learners()).isEmpty();
    assertThat(fourth.copy(chunk).replica).isNotEqualTo(early);
    assertThat(world.chunk(chunk).active().members())
        .extracting(Member::server)
        .hasSize(3)
        .contains(fourth.id);
  }

  /** Its copy of before was under way when it registered anew, and was given up for that. */
  @Test
  void learnerWhoseServerHasAnOlderFinishedCopyKeepsNobodyFromMakingAnother() {
    World world = World.with("cs1", "cs2", "cs3");
    ChunkHandle chunk = closed(world, "/f");
    FakeServer third = secondary(world, chunk);
    third.makesCopies = false;
    third.copy(chunk).state = Heartbeat.ReplicaState.DAMAGED;
    world.pass(10 * SECOND);
    assertThat(world.chunk(chunk).learners()).hasSize(1);
    FakeServer emptied = secondary(world, chunk);
    World.Copy sound = requireNonNull(emptied.copies.remove(chunk));
    World.Copy finished = new World.Copy(world.chunk(chunk).spec());
    finished.replica = new ReplicaId(1);
    finished.accepted = world.chunk(chunk).active().version();
    finished.seal = sound.seal;
    finished.state = Heartbeat.ReplicaState.SEALED;
    third.copies.put(chunk, finished);
    emptied.kill();
    emptied.start();

    world.pass(60 * SECOND);

    assertThat(emptied.copy(chunk).state).isEqualTo(Heartbeat.ReplicaState.SEALED);
    assertThat(world.chunk(chunk).active().members())
        .extracting(Member::server)
        .contains(emptied.id);
    third.makesCopies = true;
    world.pass(20 * SECOND);
    assertThat(world.chunk(chunk).active().members()).hasSize(3);
  }

  @Test
  void learnerThatIsDamagedIsMadeAnew() {
    World world = World.with("cs1", "cs2", "cs3");
    ChunkHandle chunk = world.create("/f", 2).last().orElseThrow().handle();
    FakeServer lost = secondary(world, chunk);
    FakeServer third = learnerThatTheChunkWaitsFor(world, chunk);
    ReplicaId damaged = third.copy(chunk).replica;
    lost.kill(); // else the next copy is made there

    third.makesCopies = true;
    world.pass(20 * SECOND);

    assertThat(world.chunk(chunk).pending()).isEmpty();
    assertThat(third.copy(chunk).replica).isNotEqualTo(damaged);
    assertThat(world.chunk(chunk).active().members()).extracting(Member::server).contains(third.id);
  }

  /** No other server is left: the one that lost its copy gets a new one. */
  @Test
  void memberWithoutItsCopyIsReplacedAtItsServerWhereNoOtherIsLeft() {
    World world = World.with("cs1", "cs2");
    ChunkHandle chunk = world.create("/f", 2).last().orElseThrow().handle();
    FakeServer holder = primary(world, chunk);
    FakeServer loser = secondary(world, chunk);
    Member lost = world.chunk(chunk).active().memberAt(loser.id).orElseThrow();
    loser.kill();
    loser.copies.remove(chunk);
    loser.tellsUnknown = true;
    loser.start();
    holder.kill();
    holder.start();

    world.pass(20 * SECOND);

    assertThat(world.chunk(chunk).pending()).isEmpty();
    assertThat(world.chunk(chunk).active().members()).hasSize(2).doesNotContain(lost);
    assertThat(loser.copy(chunk).replica).isNotEqualTo(lost.replica());
  }

  @Test
  void learnerThatIsDamagedNoMoreIsAskedAgain() {
    World world = World.with("cs1", "cs2", "cs3");
    ChunkHandle chunk = world.create("/f", 2).last().orElseThrow().handle();
    FakeServer third = learnerThatTheChunkWaitsFor(world, chunk);
    World.Copy copy = third.copy(chunk);
    copy.state = Heartbeat.ReplicaState.LEARNER; // its disk has room again
    copy.certainty = Heartbeat.Certainty.CERTAIN;
    third.send();

    world.pass(500 * MILLIS);

    assertThat(world.chunk(chunk).pending()).isEmpty();
    assertThat(world.chunk(chunk).active().members()).extracting(Member::server).contains(third.id);
  }

  /** A chunk of two of which one has been lost; the copy that is to replace it is damaged. */
  private static FakeServer learnerThatTheChunkWaitsFor(World world, ChunkHandle chunk) {
    FakeServer holder = primary(world, chunk);
    FakeServer third = outsider(world, chunk);
    third.makesCopies = false;
    secondary(world, chunk).copies.remove(chunk);
    world.servers.values().forEach(server -> server.tellsUnknown = true);
    holder.kill();
    holder.start();
    for (int i = 0; i < 100 && world.chunk(chunk).learners().isEmpty(); i++) {
      world.pass(100 * MILLIS);
    }
    World.Copy copy = new World.Copy(world.chunk(chunk).spec());
    copy.replica = world.chunk(chunk).learners().get(0).member().replica();
    copy.state = Heartbeat.ReplicaState.DAMAGED;
    copy.certainty = Heartbeat.Certainty.DAMAGED;
    third.copies.put(chunk, copy);
    third.commands.clear();
    for (int i = 0;
        i < 100 && third.commands.stream().noneMatch(Heartbeat.SealCommand.class::isInstance);
        i++) {
      world.pass(10 * MILLIS);
    }
    assertThat(third.commands).anyMatch(Heartbeat.SealCommand.class::isInstance);
    return third;
  }

  @Test
  void memberThatDoesNotKnowThatItsSealIsCommittedIsTold() {
    World world = World.with("cs1", "cs2", "cs3");
    ChunkHandle chunk = closed(world, "/f");
    FakeServer late = secondary(world, chunk);
    World.Copy copy = requireNonNull(late.copies.get(chunk));
    copy.state = Heartbeat.ReplicaState.OPEN;
    copy.committedSerial = world.chunk(chunk).seal().orElseThrow().serial() - 1;
    late.kill();
    late.start();

    world.pass(SECOND);

    assertThat(late.commands)
        .contains(
            new Heartbeat.SettledCommand(
                chunk,
                world.chunk(chunk).active().version(),
                world.chunk(chunk).seal().orElseThrow().serial()));
  }

  @Test
  void silentServerIsNotCountedAsLiveThoughItsSessionStands() {
    World world = World.with("cs1", "cs2", "cs3");
    world.server("cs2").freeze();
    world.pass(world.terms.evidenceNanos() + SECOND);
    AdminApi.ClusterStatus status = world.get(world.operator.status());
    assertThat(status.nodesLive()).isEqualTo(2);
    assertThat(status.nodesSilent()).isEqualTo(1);
    assertThat(status.nodesDead()).isZero();

    world.pass(world.terms.grantorValidityNanos());
    status = world.get(world.operator.status());
    assertThat(status.nodesSilent()).isZero();
    assertThat(status.nodesDead()).isEqualTo(1);
  }

  @Test
  void returnedServersOldCopyIsDeleted() {
    World world = World.with("cs1", "cs2", "cs3", "cs4");
    ChunkHandle chunk = closed(world, "/f");
    FakeServer dead = secondary(world, chunk);
    dead.kill();
    world.pass(60 * SECOND);

    dead.start();
    world.pass(5 * SECOND);

    assertThat(dead.copies).doesNotContainKey(chunk);
    assertThat(world.chunk(chunk).active().members()).hasSize(3);
  }

  @Test
  void openChunkThatLostAMemberGetsALearnerThatJoins() {
    World world = World.with("cs1", "cs2", "cs3", "cs4");
    ChunkHandle chunk = world.create("/f", 3).last().orElseThrow().handle();
    world.pass(SECOND);
    FakeServer primary = primary(world, chunk);
    FakeServer dead = secondary(world, chunk);
    dead.kill();
    primary.blame(chunk, 1, dead);

    world.pass(5 * SECOND);

    assertThat(world.chunk(chunk).active().members())
        .extracting(Member::server)
        .hasSize(3)
        .doesNotContain(dead.id);
    assertThat(primary(world, chunk)).isEqualTo(primary);
    assertThat(world.chunk(chunk).learners()).isEmpty();
  }

  /** Its server lost power, and records with it that the others have compacted. */
  private static void loseRecords(FakeServer server, ChunkHandle chunk) {
    server.copy(chunk).certainty = Heartbeat.Certainty.UNCERTAIN;
    server.copy(chunk).needsCopy = true;
    server.kill();
    server.start();
  }

  private static long begun(World world, ChunkHandle chunk) {
    return world.log.appended.stream()
        .filter(one -> one instanceof Operation.BeginChange begin && begin.chunk().equals(chunk))
        .count();
  }

  @Test
  void memberThatLacksRecordsIsReplacedAtItsServerWhereNoOtherIsLeft() {
    World world = World.with("cs1", "cs2");
    ChunkHandle chunk = world.create("/f", 2).last().orElseThrow().handle();
    world.pass(SECOND);
    FakeServer primary = primary(world, chunk);
    FakeServer behind = secondary(world, chunk);
    Member lost = world.chunk(chunk).active().memberAt(behind.id).orElseThrow();
    loseRecords(behind, chunk);
    primary.blame(chunk, 1, behind);

    world.pass(20 * SECOND);

    // No change is tried again and again: it waits, sealed, for the copy.
    assertThat(begun(world, chunk)).isEqualTo(2);
    assertThat(world.chunk(chunk).pending()).isEmpty();
    assertThat(world.chunk(chunk).active().members()).hasSize(2).doesNotContain(lost);
    assertThat(behind.copy(chunk).replica).isNotEqualTo(lost.replica());
  }

  @Test
  void strangersCopyIsDeletedWhileAChangeLacksMembers() {
    World world = World.with("cs1", "cs2", "cs3");
    ChunkHandle chunk = world.create("/f", 3).last().orElseThrow().handle();
    world.pass(SECOND);
    FakeServer primary = primary(world, chunk);
    FakeServer behind = secondary(world, chunk);
    FakeServer stranger = third(world, primary, behind);
    stranger.kill();
    primary.blame(chunk, 1, stranger);
    world.pass(SECOND);
    assertThat(world.chunk(chunk).active().members()).hasSize(2);
    loseRecords(behind, chunk);
    primary.blame(chunk, 2, behind);
    world.pass(SECOND);
    assertThat(world.chunk(chunk).pending()).isPresent();
    assertThat(stranger.copies).containsKey(chunk);

    stranger.start();
    world.pass(5 * SECOND);

    assertThat(stranger.commands).anyMatch(command -> command instanceof DeleteCommand);
    assertThat(world.chunk(chunk).pending()).isEmpty();
    world.pass(10 * SECOND);
    assertThat(world.chunk(chunk).active().members())
        .extracting(Member::server)
        .containsExactlyInAnyOrder(primary.id, behind.id, stranger.id);
    assertThat(behind.copy(chunk).needsCopy).isFalse();
  }

  @Test
  void strangersCopyIsDeletedWhileAPrimaryHasNobodyLeft() {
    World world = World.with("cs1", "cs2", "cs3");
    ChunkHandle chunk = world.create("/f", 3).last().orElseThrow().handle();
    world.pass(SECOND);
    FakeServer primary = primary(world, chunk);
    FakeServer dead = secondary(world, chunk);
    FakeServer stranger = third(world, primary, dead);
    stranger.kill();
    primary.blame(chunk, 1, stranger);
    world.pass(SECOND);
    dead.kill();
    primary.blame(chunk, 2, dead);
    world.pass(SECOND);
    assertThat(world.chunk(chunk).pending()).isEmpty(); // it could not go on with anybody

    stranger.start();
    world.pass(10 * SECOND);

    assertThat(stranger.commands).anyMatch(command -> command instanceof DeleteCommand);
    assertThat(world.chunk(chunk).active().members())
        .extracting(Member::server)
        .containsExactly(primary.id, stranger.id);
  }

  @Test
  void strangersCopyIsDeletedWhileASealedChunkIsReopened() {
    World world = World.with("cs1", "cs2", "cs3");
    ChunkHandle chunk = closedWithoutItsThird(world);
    FakeServer behind = world.server(memberNames(world, chunk).get(1));
    FakeServer stranger = outsider(world, chunk);
    behind.copy(chunk).needsCopy = true;
    var _ = world.client.openForWrite(world.request(), FilePath.parse("/f"), 0);
    world.pass(5 * SECOND);
    assertThat(world.chunk(chunk).pending()).isPresent();
    assertThat(world.chunk(chunk).seal()).isPresent();

    stranger.start();
    world.pass(5 * SECOND);

    assertThat(stranger.commands).anyMatch(command -> command instanceof DeleteCommand);
    assertThat(world.chunk(chunk).pending()).isEmpty();
    assertThat(world.chunk(chunk).seal()).isEmpty();
  }

  @Test
  void strangersCopyThatHoldsTheSealStaysWhileTheChunkIsReopened() {
    World world = World.with("cs1", "cs2", "cs3");
    ChunkHandle chunk = closedWithoutItsThird(world);
    FakeServer behind = world.server(memberNames(world, chunk).get(1));
    FakeServer stranger = outsider(world, chunk);
    behind.copy(chunk).needsCopy = true;
    stranger.copy(chunk).seal = world.chunk(chunk).seal();
    stranger.copy(chunk).state = Heartbeat.ReplicaState.SEALED;
    var _ = world.client.openForWrite(world.request(), FilePath.parse("/f"), 0);
    world.pass(5 * SECOND);

    stranger.start();
    world.pass(5 * SECOND);

    assertThat(stranger.commands).noneMatch(command -> command instanceof DeleteCommand);
    assertThat(stranger.copies).containsKey(chunk);
  }

  @Test
  void oldCopyOfASealedChunkMakesRoomThoughOnlyOneMemberIsHeard() {
    World world = World.with("cs1", "cs2", "cs3");
    ChunkHandle chunk = closedWithoutItsThird(world);
    FakeServer lost = world.server(memberNames(world, chunk).get(1));
    FakeServer third = outsider(world, chunk);
    ReplicaId old = third.copy(chunk).replica;
    lost.kill();
    world.pass(SECOND);

    third.start();
    world.pass(10 * SECOND);

    assertThat(third.copy(chunk).replica).isNotEqualTo(old);
    assertThat(world.chunk(chunk).active().memberAt(third.id)).isPresent();
  }

  /** Its seed was damaged; the next attempt was abandoned before it had one. */
  @Test
  void damagedSeedOfAnAbandonedReopeningMakesRoomOnceAllMembersAreKnownToHoldTheSeal() {
    World world = World.with("cs1", "cs2", "cs3");
    ChunkHandle chunk = closedWithoutItsThird(world);
    FakeServer silent = world.server(memberNames(world, chunk).get(1));
    FakeServer third = outsider(world, chunk);
    ReplicaId old = third.copy(chunk).replica;
    long started = world.chunk(chunk).lastVersion() + 1;
    for (long version = started; version <= started + 1; version++) {
      var _ =
          world.log.append(
              new BeginChange(chunk, version, ChangeReason.REOPEN, false, false, Optional.empty()));
    }
    var _ = world.log.append(new Operation.AbandonChange(chunk, started + 1));
    assertThat(world.chunk(chunk).pending()).isEmpty();
    assertThat(world.chunk(chunk).lastVersion()).isEqualTo(started + 1);
    third.copy(chunk).promised = started + 1;
    third.copy(chunk).accepted = started;

    third.start();
    world.pass(5 * SECOND);
    assertThat(third.copy(chunk).replica).as("sound").isEqualTo(old);

    silent.kill();
    world.pass(2 * SECOND);
    third.copy(chunk).state = Heartbeat.ReplicaState.DAMAGED;
    third.copy(chunk).certainty = Heartbeat.Certainty.DAMAGED;
    world.pass(5 * SECOND);
    assertThat(third.copy(chunk).replica).as("a member is silent").isEqualTo(old);

    silent.start();
    world.pass(10 * SECOND);
    assertThat(third.copy(chunk).replica).isNotEqualTo(old);
    assertThat(world.chunk(chunk).active().memberAt(third.id)).isPresent();
  }

  /** Two members hold the seal; the third server is down, with a copy of before. */
  private static ChunkHandle closedWithoutItsThird(World world) {
    OpenFile open = world.create("/f", 3);
    ChunkHandle chunk = open.last().orElseThrow().handle();
    world.pass(SECOND);
    FakeServer primary = primary(world, chunk);
    FakeServer third = third(world, primary, secondary(world, chunk));
    third.copy(chunk).promised = 100; // so it is not deleted as long as two are good
    world.pass(SECOND);
    third.kill();
    primary.blame(chunk, 1, third);
    world.pass(SECOND);
    world.get(
        world.client.close(
            world.request(),
            open.status().id(),
            open.openNumber(),
            Optional.empty(),
            Optional.empty(),
            false));
    world.pass(2 * SECOND);
    assertThat(world.chunk(chunk).seal()).isPresent();
    assertThat(world.chunk(chunk).active().members()).hasSize(2);
    third.copy(chunk).promised = 0;
    return chunk;
  }

  private static List<String> memberNames(World world, ChunkHandle chunk) {
    return world.chunk(chunk).active().members().stream()
        .map(member -> member.server().name())
        .toList();
  }

  @Test
  void oldCopyThatIsInALearnersWayIsDeletedWhileAChangeWaitsForThat() {
    World world = World.with("cs1", "cs2", "cs3");
    world.servers.values().forEach(server -> server.reportsSeldom = true);
    ChunkHandle chunk = world.create("/f", 3).last().orElseThrow().handle();
    world.pass(SECOND);
    FakeServer primary = primary(world, chunk);
    FakeServer lost = secondary(world, chunk);
    FakeServer old = third(world, primary, lost);
    old.startsUnheard = true; // it takes the next version's start, and is not in that version
    primary.blame(chunk, 1, old);
    world.pass(SECOND);
    assertThat(world.chunk(chunk).active().members()).hasSize(2);
    assertThat(old.copy(chunk).accepted).isEqualTo(2);
    old.startsUnheard = false;
    lost.kill();
    primary.kill();
    primary.start();
    world.pass(2 * SECOND);
    assertThat(world.chunk(chunk).pending()).isPresent();

    world.pass(10 * SECOND);

    assertThat(old.commands).anyMatch(command -> command instanceof DeleteCommand);
    assertThat(world.chunk(chunk).pending()).isEmpty();
    assertThat(world.chunk(chunk).active().members())
        .extracting(Member::server)
        .containsExactlyInAnyOrder(primary.id, old.id);
  }

  @Test
  void copyThatIsNewerThanItsOrderToBeDeletedIsReportedAndDeletedAllTheSame() {
    World world = World.with("cs1", "cs2", "cs3");
    ChunkHandle chunk = world.create("/f", 3).last().orElseThrow().handle();
    world.pass(SECOND); // what each has is reported: version 1
    world.servers.values().forEach(server -> server.reportsSeldom = true);
    FakeServer primary = primary(world, chunk);
    FakeServer lost = secondary(world, chunk);
    FakeServer old = third(world, primary, lost);
    old.startsUnheard = true;
    primary.blame(chunk, 1, old);
    world.pass(500 * MILLIS);
    old.startsUnheard = false;
    lost.kill();
    primary.blame(chunk, 2, lost);

    world.pass(15 * SECOND);

    assertThat(world.chunk(chunk).active().members())
        .extracting(Member::server)
        .containsExactly(primary.id, old.id);
  }

  @Test
  void readersOfAnOpenChunkWithoutAPrimaryGetOne() {
    World world = World.with("cs1", "cs2", "cs3");
    ChunkHandle chunk = world.create("/f", 3).last().orElseThrow().handle();
    world.pass(SECOND);
    FakeServer primary = primary(world, chunk);
    primary.released.add(new LeaseName(chunk, 1)); // nobody has used it for long
    primary.held.remove(chunk);
    primary.send();
    world.pass(SECOND);
    assertThat(world.chunk(chunk).lease()).isEmpty();
    assertThat(world.chunk(chunk).pending()).isEmpty();

    var _ = world.get(world.client.layout(FilePath.parse("/f"), 0, 10));
    world.pass(SECOND);

    assertThat(
            world
                .get(world.client.layout(FilePath.parse("/f"), 0, 10))
                .chunks()
                .getLast()
                .primary())
        .isPresent();
  }

  @Test
  void learnerThatTheJournalLeftBehindIsMadeAnew() {
    World world = World.with("cs1", "cs2", "cs3", "cs4");
    ChunkHandle chunk = world.create("/f", 3).last().orElseThrow().handle();
    world.pass(SECOND);
    FakeServer primary = primary(world, chunk);
    FakeServer dead = secondary(world, chunk);
    world.servers.values().forEach(server -> server.copiesLeftBehind = 1);
    dead.kill();
    primary.blame(chunk, 1, dead);

    world.pass(10 * SECOND);

    assertThat(world.chunk(chunk).active().members())
        .extracting(Member::server)
        .hasSize(3)
        .doesNotContain(dead.id);
    assertThat(world.chunk(chunk).learners()).isEmpty();
  }

  @Test
  void oldCopyIsDeletedThoughItsServersReportIsOlder() {
    World world = World.with("cs1", "cs2", "cs3");
    ChunkHandle chunk = world.create("/f", 3).last().orElseThrow().handle();
    world.pass(SECOND);
    FakeServer primary = primary(world, chunk);
    FakeServer left = secondary(world, chunk);
    world.servers.values().forEach(server -> server.reportsSeldom = true);
    FakeServer other = third(world, primary, left);
    other.kill();
    primary.blame(chunk, 1, other);
    other.start();
    world.pass(10 * SECOND);
    long version = world.chunk(chunk).active().version();
    assertThat(left.copy(chunk).accepted).isEqualTo(version).isGreaterThan(1); // reported: 1
    left.answersSeals = false;
    primary.blame(chunk, version, left);
    world.pass(500 * MILLIS);
    assertThat(world.chunk(chunk).active().memberAt(left.id)).isEmpty();
    left.answersSeals = true;

    world.pass(10 * SECOND);

    assertThat(left.commands).anyMatch(command -> command instanceof DeleteCommand);
    assertThat(world.chunk(chunk).active().members()).hasSize(3);
  }

  @Test
  void strangersCopyStaysWhereNoCertainMemberIsHeard() {
    World world = World.with("cs1", "cs2", "cs3");
    ChunkHandle chunk = world.create("/f", 3).last().orElseThrow().handle();
    world.pass(SECOND);
    FakeServer primary = primary(world, chunk);
    FakeServer behind = secondary(world, chunk);
    FakeServer stranger = third(world, primary, behind);
    stranger.kill();
    primary.blame(chunk, 1, stranger);
    world.pass(SECOND);
    loseRecords(behind, chunk);
    primary.blame(chunk, 2, behind);
    world.pass(SECOND);
    assertThat(world.chunk(chunk).pending()).isPresent();
    primary.kill(); // only it has all that was acknowledged

    stranger.start();
    world.pass(60 * SECOND);

    assertThat(world.chunk(chunk).pending()).isPresent();
    assertThat(stranger.commands).noneMatch(command -> command instanceof DeleteCommand);
    assertThat(stranger.copies).containsKey(chunk);
  }

  private static FakeServer third(World world, FakeServer one, FakeServer other) {
    return world.servers.values().stream()
        .filter(server -> server != one && server != other)
        .findFirst()
        .orElseThrow();
  }

  @Test
  void learnerThatStartedAVersionTooLateJoinsWithALaterOne() {
    World world = World.with("cs1", "cs2", "cs3", "cs4");
    ChunkHandle chunk = world.create("/f", 3).last().orElseThrow().handle();
    world.pass(SECOND);
    FakeServer primary = primary(world, chunk);
    FakeServer dead = secondary(world, chunk);
    FakeServer fourth = outsider(world, chunk);
    fourth.startsUnheard = true;
    dead.kill();
    primary.blame(chunk, 1, dead);
    world.pass(5 * SECOND);
    assertThat(world.chunk(chunk).active().members()).hasSize(2);
    assertThat(fourth.copy(chunk).state).isEqualTo(Heartbeat.ReplicaState.OPEN);

    fourth.startsUnheard = false;
    world.pass(20 * SECOND);

    assertThat(world.chunk(chunk).active().members())
        .extracting(Member::server)
        .hasSize(3)
        .contains(fourth.id);
  }

  @Test
  void revokedLeaseIsAcknowledgedAndTheNextPrimaryGoesOn() {
    World world = World.with("cs1", "cs2", "cs3");
    ChunkHandle chunk = world.create("/f", 3).last().orElseThrow().handle();
    world.pass(SECOND);
    FakeServer primary = primary(world, chunk);
    primary.blame(
        chunk,
        1,
        world.server(world.chunk(chunk).active().members().get(1).server().name()),
        world.server(world.chunk(chunk).active().members().get(2).server().name()));

    world.pass(SECOND);

    assertThat(world.chunk(chunk).active().version()).isGreaterThan(1);
    assertThat(primary(world, chunk).isValid(chunk)).isTrue();
    assertThat(world.servers.values().stream().filter(server -> server.holds(chunk)).count())
        .isEqualTo(1);
  }

  /**
   * The loop was behind: the log takes what it asked for when it has looked at all in a new reign.
   */
  @Test
  void changeThatAnEarlierReignHasAskedForIsTakenUpByTheOneInWhichItIsLogged() {
    World world = World.with("cs1", "cs2", "cs3", "cs4");
    ChunkHandle chunk = world.create("/f", 3).last().orElseThrow().handle();
    world.pass(SECOND);
    FakeServer primary = primary(world, chunk);
    world.log.loseQuorum();
    primary.blame(
        chunk, 1, world.server(world.chunk(chunk).active().members().get(1).server().name()));
    world.pass(20 * MILLIS);
    assertThat(world.log.appended).anyMatch(BeginChange.class::isInstance);
    long term = world.log.role().term();
    world.log.become(new Role(term + 1, false, false, Optional.empty()));
    world.log.become(new Role(term + 2, true, true, Optional.of(new ServerId("m1"))));
    world.settle();
    assertThat(world.chunk(chunk).pending()).isEmpty();

    world.log.regainQuorum();
    world.pass(3 * SECOND);

    assertThat(world.chunk(chunk).pending()).isEmpty();
    assertThat(world.chunk(chunk).active().version()).isGreaterThan(1);
  }

  @Test
  void waitingLookUpIsAnsweredWhenTheNextPrimaryIsThere() {
    World world = World.with("cs1", "cs2", "cs3", "cs4");
    ChunkHandle chunk = world.create("/f", 3).last().orElseThrow().handle();
    world.pass(SECOND);
    primary(world, chunk).kill();

    CompletableFuture<ChunkLayout> layout = world.client.chunkLayout(chunk, 1, 30 * SECOND);
    world.pass(5 * SECOND);
    assertThat(layout).isNotDone();
    world.pass(7 * SECOND);

    assertThat(layout).isCompleted();
    assertThat(layout.join().configuration().version()).isEqualTo(2);
    assertThat(layout.join().primary()).isPresent();
  }

  @Test
  void waitingLookUpIsAnsweredAtItsDeadline() {
    World world = World.with("cs1", "cs2", "cs3");
    ChunkHandle chunk = world.create("/f", 3).last().orElseThrow().handle();

    CompletableFuture<ChunkLayout> layout = world.client.chunkLayout(chunk, 1, SECOND);
    world.pass(1100 * MILLIS);

    assertThat(layout).isCompleted();
    assertThat(layout.join().configuration().version()).isEqualTo(1);
  }

  @Test
  @Tag("F60")
  void releasedLeaseGetsANewPrimaryWhenTheChunkIsUsedAgain() {
    World world = World.with("cs1", "cs2", "cs3");
    ChunkHandle chunk = world.create("/f", 3).last().orElseThrow().handle();
    world.pass(SECOND);
    FakeServer primary = primary(world, chunk);
    primary.held.remove(chunk);
    primary.released.add(new LeaseName(chunk, 1));
    primary.send();
    world.pass(SECOND);
    assertThat(world.chunk(chunk).lease()).isEmpty();
    assertThat(world.chunk(chunk).active().version()).isEqualTo(1);

    ChunkLayout layout = world.get(world.client.chunkLayout(chunk, 1, 10 * SECOND));

    assertThat(layout.configuration().version()).isEqualTo(2);
    assertThat(layout.primary()).isPresent();
  }

  @Test
  void reassignmentThatStatusTellsIsOneToAnotherServer() {
    World world = World.with("cs1", "cs2", "cs3");
    ChunkHandle chunk = world.create("/f", 3).last().orElseThrow().handle();
    world.pass(SECOND);
    FakeServer first = primary(world, chunk);
    first.held.remove(chunk);
    first.released.add(new LeaseName(chunk, 1));
    first.send();
    world.pass(SECOND);
    ChunkLayout again = world.get(world.client.chunkLayout(chunk, 1, 10 * SECOND));
    assertThat(again.configuration().version()).isEqualTo(2);
    assertThat(again.configuration().primary()).contains(first.id);
    assertThat(world.get(world.operator.status()).lastReassignment()).isEmpty();

    first.kill();
    world.pass(15 * SECOND);
    var _ = world.client.chunkLayout(chunk, 2, 10 * SECOND);
    world.pass(5 * SECOND);

    assertThat(world.get(world.operator.status()).lastReassignment())
        .hasValueSatisfying(
            event -> {
              assertThat(event.chunk()).contains(chunk);
              assertThat(event.subject()).isEqualTo(world.chunk(chunk).active().primary());
              assertThat(event.subject()).isNotEqualTo(Optional.of(first.id));
            });
  }

  @Test
  void whyNamesThePromiseThatBlocksAndItsEnd() {
    World world = World.with("cs1", "cs2", "cs3", "cs4");
    ChunkHandle chunk = world.create("/f", 3).last().orElseThrow().handle();
    world.pass(SECOND);
    FakeServer old = primary(world, chunk);
    old.kill();
    world.pass(4 * SECOND);

    List<AdminApi.Wait> waits = world.get(world.operator.why(chunk));

    assertThat(waits).isNotEmpty();
    assertThat(waits.get(0).holder()).contains(old.id);
    assertThat(waits.get(0).untilNanos()).isBetween(5 * SECOND, 7 * SECOND);
  }

  @Test
  void repeatedRequestIsAnsweredAndNotRepeated() {
    World world = World.with("cs1", "cs2", "cs3");
    RequestId request = world.request();
    CreateFile file =
        new CreateFile(FilePath.parse("/f"), false, 3, 0, Durability.REPLICATED, 0644, true);

    OpenFile first = world.get(world.client.create(request, file));
    world.servers.values().forEach(FakeServer::kill);
    OpenFile again = world.get(world.client.create(request, file));

    assertThat(again.openNumber()).isEqualTo(first.openNumber());
    assertThat(again.status().id()).isEqualTo(first.status().id());
  }

  @Test
  void fewerServersThanMinReplicasIsAnError() {
    World world = World.with("cs1");

    assertThatThrownBy(() -> world.create("/f", 3))
        .hasCauseInstanceOf(LeaseFsException.class)
        .hasMessageContaining("at least 2");
    assertThat(world.create("/g", 1).last()).isPresent();
  }

  @Test
  void fewerServersThanTheGoalIsRepairedLater() {
    World world = World.with("cs1", "cs2");
    ChunkHandle chunk = world.create("/f", 3).last().orElseThrow().handle();
    assertThat(world.chunk(chunk).active().members()).hasSize(2);

    world.server("cs3").start();
    world.pass(5 * SECOND);

    assertThat(world.chunk(chunk).active().members()).hasSize(3);
  }

  @Test
  void nothingIsCopiedBeforeAllServersHaveReported() {
    World world = World.with("cs1", "cs2", "cs3", "cs4");
    ChunkHandle chunk = closed(world, "/f");
    world.servers.values().forEach(FakeServer::freeze);
    world.log.lead();
    world.pass(5 * SECOND);

    assertThat(world.chunk(chunk).learners()).isEmpty();
    assertThat(world.get(world.operator.status()).reportsIn()).isFalse();
    assertThat(world.get(world.client.layout(FilePath.parse("/f"), 0, 10)).chunks()).hasSize(1);
  }

  @Test
  void purgedFilesCopiesAreDeleted() {
    World world = World.with("cs1", "cs2", "cs3");
    ChunkHandle chunk = closed(world, "/f");

    world.get(world.client.delete(world.request(), FilePath.parse("/f"), false, true));
    world.pass(6 * SECOND);

    assertThat(world.state.chunk(chunk)).isEmpty();
    assertThat(world.servers.values()).allMatch(server -> server.copies.isEmpty());
  }

  @Test
  void shortClosedChunkIsReopenedForAppending() {
    World world = World.with("cs1", "cs2", "cs3");
    ChunkHandle chunk = closed(world, "/f");
    long version = world.chunk(chunk).active().version();

    OpenFile open = world.get(world.client.openForWrite(world.request(), FilePath.parse("/f"), 0));

    assertThat(open.last().orElseThrow().handle()).isEqualTo(chunk);
    assertThat(open.last().orElseThrow().seal()).isEmpty();
    assertThat(open.last().orElseThrow().configuration().version()).isGreaterThan(version);
    assertThat(open.last().orElseThrow().primary()).isPresent();
  }

  /** While it waits, a member without a copy is not given up, and its server takes no other. */
  @Test
  void reopeningThatWaitsForAMemberWithoutACopyIsAbandonedAndAskedForAgain() {
    World world = World.with("cs1", "cs2", "cs3");
    ChunkHandle chunk = closed(world, "/f");
    FakeServer emptied = world.server("cs2");
    emptied.copies.remove(chunk);
    emptied.tellsUnknown = true;
    emptied.kill();
    emptied.start();
    FakeServer mute = world.server("cs3");
    mute.answersSeals = false;

    var open = world.client.openForWrite(world.request(), FilePath.parse("/f"), 0);
    world.pass(500 * MILLIS);
    assertThat(world.chunk(chunk).pending()).isPresent();
    world.pass(SECOND);
    assertThat(world.chunk(chunk).pending()).isEmpty();
    assertThat(world.get(open).last().orElseThrow().seal()).isPresent();
    world.pass(30 * SECOND);
    assertThat(emptied.copy(chunk).state).isEqualTo(Heartbeat.ReplicaState.SEALED);

    mute.answersSeals = true;
    OpenFile again = world.get(world.client.openForWrite(world.request(), FilePath.parse("/f"), 0));
    assertThat(again.last().orElseThrow().handle()).isEqualTo(chunk);
    assertThat(again.last().orElseThrow().primary()).isPresent();
  }

  @Test
  void shortChunkStaysSealedWhereTooFewOfItsCopiesAreThere() {
    World world = World.with("cs1", "cs2", "cs3", "cs4");
    ChunkHandle chunk = closed(world, "/f");
    List<Member> members = world.chunk(chunk).active().members();
    world.server(members.get(1).server().name()).kill();
    world.server(members.get(2).server().name()).kill();
    world.pass(SECOND);

    OpenFile open = world.get(world.client.openForWrite(world.request(), FilePath.parse("/f"), 0));

    assertThat(open.last().orElseThrow().seal()).as("the writer adds a chunk").isPresent();
    assertThat(world.chunk(chunk).pending()).isEmpty();
  }

  private static CompletableFuture<?> close(
      World world, OpenFile open, Optional<SealedChunk> sealed) {
    return world.client.close(
        world.request(), open.status().id(), open.openNumber(), sealed, Optional.empty(), false);
  }

  /**
   * The primary has sealed the chunk itself and is then not heard any more: its seal gave the lease
   * up, so whoever appends next does not wait for its end.
   */
  @Test
  void holderThatHasSealedIsNotWaitedForByWhoOpensTheFileAgain() {
    World world = World.with("cs1", "cs2", "cs3");
    OpenFile open = world.create("/f", 3);
    ChunkHandle chunk = open.last().orElseThrow().handle();
    world.pass(3 * SECOND);
    FakeServer holder = primary(world, chunk);
    holder.dropsResponses = true; // from now on it hears nothing
    ChunkSeal seal = new ChunkSeal(1, 0, 5);
    for (FakeServer server : world.servers.values()) {
      World.Copy copy = server.copy(chunk);
      copy.lastSerial = seal.serial();
      copy.committedSerial = seal.serial();
      copy.seal = Optional.of(seal);
      copy.sealed = true;
      copy.state = Heartbeat.ReplicaState.SEALED;
    }
    var _ = world.get(close(world, open, Optional.of(new SealedChunk(chunk, seal))));
    assertThat(world.chunk(chunk).isSealed()).isTrue();
    assertThat(world.chunk(chunk).lease()).isEmpty();
    assertThat(holder.isValid(chunk)).as("by its own count the lease runs on").isTrue();
    holder.freeze();

    var _ = world.client.openForWrite(world.request(), FilePath.parse("/f"), 0);
    world.pass(300 * MILLIS);

    assertThat(world.chunk(chunk).isSealed()).isFalse();
    assertThat(primary(world, chunk)).isNotEqualTo(holder);
  }

  /**
   * The primary is silent and has sealed nothing, the writer closes: the file is closed without it,
   * by a seal in a version of the others. But its lease stands, and whoever appends next waits.
   */
  @Test
  void holderThatHasNotSealedIsWaitedForByWhoOpensTheFileAgain() {
    World world = World.with("cs1", "cs2", "cs3");
    OpenFile open = world.create("/f", 3);
    ChunkHandle chunk = open.last().orElseThrow().handle();
    world.pass(3 * SECOND);
    FakeServer holder = primary(world, chunk);
    holder.freeze();
    long lastHeard = holder.sentNanos;
    world.pass(3 * SECOND); // evidence against it
    var _ = world.get(close(world, open, Optional.empty()));
    world.pass(SECOND);
    assertThat(world.chunk(chunk).isSealed()).isTrue();
    assertThat(world.chunk(chunk).lease().orElseThrow().revoked()).isTrue();

    var _ = world.client.openForWrite(world.request(), FilePath.parse("/f"), 0);
    long gate = lastHeard + world.terms.grantorValidityNanos();
    world.pass(gate - world.now - 10 * MILLIS);
    assertThat(world.chunk(chunk).isSealed()).isTrue();
    assertThat(holder.isValid(chunk)).isFalse();

    world.pass(200 * MILLIS);
    assertThat(world.chunk(chunk).isSealed()).isFalse();
    assertThat(primary(world, chunk)).isNotEqualTo(holder);
  }

  @Test
  void sealOfTheVersionBeforeIsNoNewsOfAReopenedChunk() {
    World world = World.with("cs1", "cs2", "cs3");
    ChunkHandle chunk = closed(world, "/f");
    OpenFile open = world.get(world.client.openForWrite(world.request(), FilePath.parse("/f"), 0));
    long first = open.last().orElseThrow().configuration().firstSerial();
    FakeServer secondary = secondary(world, chunk);
    World.Copy copy = secondary.copy(chunk);
    copy.state = Heartbeat.ReplicaState.SEALED;
    copy.seal = Optional.of(new ChunkSeal(first, copy.length, 5));
    copy.committedSerial = first;
    long logged = world.log.lastApplied();

    world.pass(SECOND);

    assertThat(world.chunk(chunk).seal()).isEmpty();
    assertThat(world.log.lastApplied()).isEqualTo(logged);
  }

  @Test
  void sealThatAReopenedChunkHadBeforeDoesNotKeepItFromItsNextVersion() {
    World world = World.with("cs1", "cs2", "cs3");
    ChunkHandle chunk = closed(world, "/f");
    ChunkSeal old = world.chunk(chunk).seal().orElseThrow();
    var _ = world.get(world.client.openForWrite(world.request(), FilePath.parse("/f"), 0));
    long version = world.chunk(chunk).active().version();
    for (FakeServer server : world.servers.values()) {
      World.Copy copy = server.copy(chunk);
      copy.state = Heartbeat.ReplicaState.SEALED;
      copy.seal = Optional.of(old);
      copy.committedSerial = old.serial();
    }
    FakeServer holder = primary(world, chunk);
    holder.kill();
    holder.start();

    world.pass(2 * SECOND);

    assertThat(world.chunk(chunk).active().version()).isGreaterThan(version);
    assertThat(world.chunk(chunk).lease()).isPresent();
  }

  @Test
  void memberThatDoesNotKnowThatItsVersionIsActiveIsTold() {
    World world = World.with("cs1", "cs2", "cs3");
    ChunkHandle chunk = closed(world, "/f");
    var _ = world.get(world.client.openForWrite(world.request(), FilePath.parse("/f"), 0));
    world.pass(10 * SECOND);
    long first = world.chunk(chunk).active().firstSerial();
    FakeServer late = secondary(world, chunk);
    late.copy(chunk).committedSerial = first - 1;
    late.commands.clear();
    late.kill();
    late.start();

    world.pass(SECOND);

    assertThat(late.commands)
        .contains(
            new Heartbeat.SettledCommand(chunk, world.chunk(chunk).active().version(), first));
  }

  /** A file that was created and closed, its chunk sealed. */
  private static ChunkHandle closed(World world, String path) {
    OpenFile open = world.create(path, 3);
    world.pass(SECOND);
    var _ = world.get(close(world, open, Optional.empty()));
    world.pass(2 * SECOND);
    return open.last().orElseThrow().handle();
  }

  /** A server that hears nothing leaves its stream; the first that it sent there may come yet. */
  @Test
  void requestThatComesAfterNewerOnesByAnotherStreamIsNoNews() {
    World world = World.with("cs1", "cs2", "cs3");
    ChunkHandle chunk = closed(world, "/f");
    FakeServer server = secondary(world, chunk);
    World.Copy damaged = server.copy(chunk);
    server.sendsLate = true;
    server.reconnect(); // it is sound
    damaged.state = Heartbeat.ReplicaState.DAMAGED;
    server.reconnect(); // it is damaged
    server.reportsSeldom = true;

    server.late.run();
    world.settle();
    assertThat(server.streamBroken).isFalse();
    world.pass(10 * SECOND);

    assertThat(server.copy(chunk)).isNotSameAs(damaged);
    assertThat(world.chunk(chunk).active().members()).hasSize(3);
  }

  private static FakeServer primary(World world, ChunkHandle chunk) {
    ServerId id = world.chunk(chunk).active().primary().orElseThrow();
    return world.server(id.name());
  }

  private static FakeServer outsider(World world, ChunkHandle chunk) {
    return world.servers.values().stream()
        .filter(server -> world.chunk(chunk).active().memberAt(server.id).isEmpty())
        .findFirst()
        .orElseThrow();
  }

  private static FakeServer secondary(World world, ChunkHandle chunk) {
    return world.server(world.chunk(chunk).active().members().get(1).server().name());
  }
}
