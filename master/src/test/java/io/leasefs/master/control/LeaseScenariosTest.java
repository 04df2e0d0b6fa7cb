package io.leasefs.master.control;

import static io.leasefs.master.control.World.MILLIS;
import static io.leasefs.master.control.World.SECOND;
import static java.util.Objects.requireNonNull;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.leasefs.common.api.Heartbeat;
import io.leasefs.common.api.MasterApi.CreateFile;
import io.leasefs.common.api.MasterApi.OpenFile;
import io.leasefs.common.model.ChunkHandle;
import io.leasefs.common.model.ClientId;
import io.leasefs.common.model.Durability;
import io.leasefs.common.model.FilePath;
import io.leasefs.common.model.LeaseGrant;
import io.leasefs.common.model.Member;
import io.leasefs.common.model.RequestId;
import io.leasefs.common.model.ServerId;
import io.leasefs.common.model.SessionId;
import io.leasefs.master.control.World.FakeServer;
import io.leasefs.master.log.Operation;
import io.leasefs.master.log.OperationLog;
import io.leasefs.master.log.OperationResult;
import java.util.List;
import java.util.Optional;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Failures that other lock services and file systems had with their leases, each as the order of
 * events that brought it about, against the whole control loop.
 */
class LeaseScenariosTest {
  /**
   * The primary is dead, and the leader changes every six seconds, five times (etcd 9888: each
   * change began all timers anew, so a dead holder's lease never ended). No early grant; a new
   * primary one undisturbed T_G after the last change.
   */
  @Test
  @Tag("F01")
  void deadPrimarysLeaseEndsOneValidityAfterTheLastChangeOfLeaders() {
    World world = World.with("cs1", "cs2", "cs3", "cs4");
    ChunkHandle chunk = world.create("/f", 3).last().orElseThrow().handle();
    world.pass(3 * SECOND);
    primary(world, chunk).kill();
    for (int i = 0; i < 5; i++) {
      world.pass(6 * SECOND);
      world.log.lead();
    }
    world.pass(world.terms.grantorValidityNanos() - MILLIS);
    assertThat(world.chunk(chunk).active().version()).isEqualTo(1);
    world.pass(100 * MILLIS);
    assertThat(world.chunk(chunk).active().version()).isEqualTo(2);
    assertThat(primary(world, chunk).isValid(chunk)).isTrue();
  }

  /** The same, but the primary's death is proven: its next incarnation has registered. */
  @Test
  @Tag("F01")
  void provenDeathNeedsNoWaitHoweverOftenTheLeaderChanged() {
    World world = World.with("cs1", "cs2", "cs3", "cs4");
    ChunkHandle chunk = world.create("/f", 3).last().orElseThrow().handle();
    world.pass(3 * SECOND);
    FakeServer dead = primary(world, chunk);
    dead.kill();
    for (int i = 0; i < 5; i++) {
      world.pass(6 * SECOND);
      world.log.lead();
    }
    dead.start();
    // the others hear of the new leader's orders with their next heartbeat
    world.pass(world.terms.heartbeatNanos() + 500 * MILLIS);
    assertThat(world.chunk(chunk).active().version()).isEqualTo(2);
    assertThat(primary(world, chunk).isValid(chunk)).isTrue();
  }

  /**
   * A master follows for 30 seconds while another leads and grants, and is then elected (yugabyte
   * 18121: the new leader trusted what it remembered of the lease). By its own memory every session
   * ran out long ago; it waits a full T_G from when it is ready, also for the lease that it has
   * never seen granted.
   */
  @Test
  @Tag("F06")
  void electedFollowerWaitsInFullWhateverItRemembers() {
    World world = World.with("cs1", "cs2", "cs3", "cs4");
    ChunkHandle chunk = world.create("/f", 3).last().orElseThrow().handle();
    world.pass(2 * SECOND);
    world.log.become(new OperationLog.Role(5, false, false, Optional.of(new ServerId("m2"))));
    world.pass(15 * SECOND);
    Operation.CreateFile first =
        world.log.appended.stream()
            .filter(Operation.CreateFile.class::isInstance)
            .map(Operation.CreateFile.class::cast)
            .findFirst()
            .orElseThrow();
    OperationResult.Opened foreign =
        (OperationResult.Opened)
            world
                .log
                .follow(
                    new Operation.CreateFile(
                        new Operation.ClientCall(world.request(), first.call().ttlNanos()),
                        FilePath.parse("/by-another"),
                        false,
                        3,
                        1 << 20,
                        Durability.REPLICATED,
                        0644,
                        first.firstChunk(),
                        0,
                        0))
                .valueOrThrow();
    world.pass(15 * SECOND);
    for (FakeServer server : world.servers.values()) {
      if (server == primary(world, chunk)) {
        server.kill();
      }
    }

    world.log.lead();
    world.pass(world.terms.grantorValidityNanos() - MILLIS);
    ChunkHandle other = foreign.chunk().orElseThrow();
    assertThat(world.chunk(chunk).active().version()).isEqualTo(1);
    assertThat(world.chunk(chunk).lease()).isPresent();
    assertThat(world.chunk(other).active().version()).isEqualTo(1);
    assertThat(world.chunk(other).lease()).isPresent();

    world.pass(100 * MILLIS);
    assertThat(world.chunk(chunk).active().version()).isEqualTo(2);
  }

  /**
   * The masters have no majority for an hour while clients ask for a new primary again and again
   * (KAFKA-9666: fencing attempts that failed burnt epochs). Versions are allocated by committed
   * entries alone, and few are proposed.
   */
  @Test
  @Tag("F10")
  void versionsAdvanceByCommittedEntriesAloneWhileThereIsNoQuorum() {
    World world = World.with("cs1", "cs2", "cs3", "cs4");
    ChunkHandle chunk = world.create("/f", 3).last().orElseThrow().handle();
    world.pass(2 * SECOND);
    primary(world, chunk).kill();
    world.log.loseQuorum();
    int proposedBefore = begun(world);
    for (int minute = 0; minute < 60; minute++) {
      var _ = world.client.chunkLayout(chunk, 1, 30 * SECOND);
      var _ = world.client.reportSilent(chunk, 1, true);
      world.pass(60 * SECOND);
      assertThat(world.chunk(chunk).lastVersion()).isEqualTo(1);
    }
    assertThat(begun(world) - proposedBefore).isLessThanOrEqualTo(1);

    world.log.regainQuorum();
    world.pass(20 * SECOND);
    long allocated = world.chunk(chunk).lastVersion();
    assertThat(allocated).isEqualTo(1 + begun(world) - proposedBefore).isBetween(2L, 4L);
  }

  private static int begun(World world) {
    return (int)
        world.log.appended.stream().filter(Operation.BeginChange.class::isInstance).count();
  }

  /**
   * Primaries are killed at a thousand random moments (consul 1172: a lease lived twice its TTL).
   * The next one gets the chunk no earlier than T after the dead one's last heartbeat was sent, and
   * no later than T_G + h after the last one was received.
   */
  @ParameterizedTest
  @ValueSource(longs = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10})
  @Tag("F30")
  void chunkGoesToTheNextWithinTheBoundsOfTheLease(long seed) {
    Random random = new Random(seed);
    for (int i = 0; i < 100; i++) {
      World world = World.with("cs1", "cs2", "cs3", "cs4");
      ChunkHandle chunk = world.create("/f", 3).last().orElseThrow().handle();
      world.pass(random.nextInt(3_000) * MILLIS + random.nextInt(1_000_000));
      FakeServer dead = primary(world, chunk);
      dead.kill();
      // the network takes no time here: what was sent was received in the same instant
      long least = dead.sentNanos + world.terms.ttlNanos();
      long most =
          dead.sentNanos + world.terms.grantorValidityNanos() + world.terms.heartbeatNanos();
      world.pass(least - world.now);
      assertThat(world.servers.values()).noneMatch(s -> s != dead && s.holds(chunk));
      world.pass(most - world.now);
      assertThat(primary(world, chunk)).isNotEqualTo(dead);
      assertThat(primary(world, chunk).isValid(chunk)).isTrue();
    }
  }

  /**
   * A primary is cut off until its session has ended, and nobody could take its chunk over; it
   * comes back in a new session and finds its own name (CURATOR-696: the old holder took its old
   * node for its own). Under the new session it holds nothing until the next version is granted to
   * it; the old version never acts again.
   */
  @Test
  @Tag("F32")
  void serverThatIsBackInANewSessionDoesNotTakeItsOldLeaseForItsOwn() {
    World world = World.with("cs1", "cs2", "cs3");
    ChunkHandle chunk = world.create("/f", 3).last().orElseThrow().handle();
    world.pass(2 * SECOND);
    FakeServer holder = primary(world, chunk);
    SessionId old = holder.session.orElseThrow();
    for (FakeServer server : world.servers.values()) {
      if (server != holder) {
        server.answersRecover = false;
        server.answersSeals = false;
      }
    }
    holder.freeze();
    world.pass(15 * SECOND);
    holder.responses.clear();

    holder.thaw();
    world.pass(5 * SECOND);
    assertThat(holder.session).isPresent().isNotEqualTo(Optional.of(old));
    assertThat(holder.holds(chunk)).isFalse();
    assertThat(holder.responses).allMatch(response -> response.grants().isEmpty());

    world.servers.values().forEach(server -> server.answersSeals = server.answersRecover = true);
    world.pass(10 * SECOND);
    assertThat(world.chunk(chunk).active().version()).isGreaterThan(1);
    assertThat(held(primary(world, chunk), chunk).version()).isGreaterThan(1);
  }

  /**
   * The answer to an opening is lost, and the client asks again (CURATOR-202: the lost answer left
   * an orphan that nobody used). The same request gets the same opening and the same token, once;
   * what nobody uses ends with its session.
   */
  @Test
  @Tag("F34")
  void lostAnswerLeavesNoOrphanAndTheOpeningEndsWithItsSession() {
    World world = World.with("cs1", "cs2", "cs3");
    RequestId request = world.request();
    CreateFile file =
        new CreateFile(FilePath.parse("/f"), false, 3, 0, Durability.REPLICATED, 0644, true);
    CompletableFuture<OpenFile> lost = world.client.create(request, file);
    world.pass(SECOND);
    assertThat(lost).isCompleted();

    OpenFile again = world.get(world.client.create(request, file));

    assertThat(again.session()).isEqualTo(lost.join().session());
    assertThat(again.openNumber()).isEqualTo(lost.join().openNumber());
    assertThat(again.birth().orElseThrow().token())
        .isEqualTo(lost.join().birth().orElseThrow().token());
    assertThat(world.get(world.client.stat(FilePath.parse("/f"))).openWriters()).isEqualTo(1);
    world.pass(75 * SECOND);
    assertThat(world.state.session(again.session())).isEmpty();
    assertThat(world.get(world.client.stat(FilePath.parse("/f"))).openWriters()).isZero();
    assertThat(world.chunk(again.last().orElseThrow().handle()).seal()).isPresent();
  }

  /**
   * A lease is renewed for minutes, over a change of leaders and a lost secondary
   * (amazon-kinesis-client 537: renewing raised the counter that the holder used as its token). The
   * token is the same throughout; only the next primary gets a higher one.
   */
  @Test
  @Tag("F37")
  void tokenIsConstantWithinATenure() {
    World world = World.with("cs1", "cs2", "cs3", "cs4");
    OpenFile open = world.create("/f", 3);
    ChunkHandle chunk = open.last().orElseThrow().handle();
    world.pass(SECOND);
    FakeServer holder = primary(world, chunk);
    long token = held(holder, chunk).token();
    for (int i = 0; i < 1_200; i++) {
      world.pass(100 * MILLIS);
      var _ = world.client.renew(world.clientId, open.session());
      if (i == 400) {
        world.log.lead();
      }
      if (i == 800) {
        FakeServer second =
            world.server(world.chunk(chunk).active().members().get(1).server().name());
        second.kill();
        holder.blame(chunk, 1, second);
      }
      assertThat(holder.isValid(chunk)).isTrue();
      assertThat(held(holder, chunk).token()).isEqualTo(token);
      assertThat(world.chunk(chunk).lease().orElseThrow().token()).isEqualTo(token);
    }
    assertThat(world.chunk(chunk).active().version()).isGreaterThan(1);
    holder.kill();
    world.pass(15 * SECOND);
    assertThat(world.chunk(chunk).lease().orElseThrow().token()).isGreaterThan(token);
  }

  /**
   * A server that was long away comes back with a copy that claims newer versions and more bytes
   * than the log knows of (LizardFS 819: the good copies were purged). The log decides: no member
   * is touched, and the claimant is neither believed nor deleted.
   */
  @Test
  @Tag("F52")
  void copyThatClaimsANewerVersionThanTheLogPurgesNobody() {
    World world = World.with("cs1", "cs2", "cs3", "cs4");
    OpenFile open = world.create("/f", 3);
    ChunkHandle chunk = open.last().orElseThrow().handle();
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
    List<Member> members = world.chunk(chunk).active().members();
    FakeServer claimant =
        world.servers.values().stream()
            .filter(server -> world.chunk(chunk).active().memberAt(server.id).isEmpty())
            .findFirst()
            .orElseThrow();
    World.Copy claim = new World.Copy(open.birth().orElseThrow().spec());
    claim.replica = members.getFirst().replica();
    claim.promised = 9;
    claim.accepted = 9;
    claim.lastSerial = 1_000;
    claim.length = 1 << 20;
    claimant.kill();
    claimant.copies.put(chunk, claim);
    claimant.start();
    world.pass(120 * SECOND);

    assertThat(world.chunk(chunk).active().members()).isEqualTo(members);
    assertThat(world.servers.values())
        .flatExtracting(server -> server.commands)
        .noneMatch(Heartbeat.DeleteCommand.class::isInstance);
    assertThat(world.get(world.client.layout(FilePath.parse("/f"), 0, 1)).chunks())
        .first()
        .satisfies(layout -> assertThat(layout.configuration().members()).isEqualTo(members));
  }

  /**
   * A server's old copy is of no use to a chunk that has gone on without it, but a change of that
   * chunk is under way (accumulo 866: garbage was collected while recovery listed what there was).
   * It is deleted only after the change.
   */
  @Test
  @Tag("F59")
  void oldCopyIsNotDeletedWhileItsChunkIsBeingChanged() {
    World world = World.with("cs1", "cs2", "cs3", "cs4");
    ChunkHandle chunk = world.create("/f", 3).last().orElseThrow().handle();
    world.pass(SECOND);
    FakeServer first = primary(world, chunk);
    FakeServer left = world.server(world.chunk(chunk).active().members().get(2).server().name());
    left.kill();
    first.blame(chunk, 1, left);
    world.pass(60 * MILLIS);
    assertThat(world.chunk(chunk).active().memberAt(left.id)).isEmpty();
    world.servers.values().forEach(server -> server.answersRecover = false);
    first.kill();
    first.start();
    world.pass(2 * SECOND);
    assertThat(world.chunk(chunk).pending()).isPresent();

    left.start();
    world.pass(30 * SECOND);
    assertThat(world.chunk(chunk).pending()).isPresent();
    assertThat(left.commands).noneMatch(Heartbeat.DeleteCommand.class::isInstance);
    assertThat(left.copies).containsKey(chunk);

    world.servers.values().forEach(server -> server.answersRecover = true);
    world.pass(20 * SECOND);
    assertThat(world.chunk(chunk).pending()).isEmpty();
    assertThat(left.copies).doesNotContainKey(chunk);
  }

  /**
   * A second writer opens with a higher token while the chunk is open, and while a change of it is
   * under way that left before the token was known. The opening is answered only when a version is
   * active that carries the token; so the first writer's smaller one gets in nowhere afterwards.
   */
  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  @Tag("F21")
  void openingWithATokenIsAnsweredWhenSmallerOnesAreShutOut(boolean changeUnderWay) {
    World world = World.with("cs1", "cs2", "cs3", "cs4");
    ChunkHandle chunk = world.create("/f", 3).last().orElseThrow().handle();
    world.pass(SECOND);
    FakeServer holder = primary(world, chunk);
    // What is recovered from now on is recovered, and nobody hears of it.
    world.servers.values().forEach(server -> server.startsUnheard = true);
    if (changeUnderWay) {
      FakeServer dead = world.server(world.chunk(chunk).active().members().get(1).server().name());
      dead.kill();
      holder.blame(chunk, 1, dead);
      world.pass(150 * MILLIS);
      assertThat(world.chunk(chunk).pending()).isPresent();
    }
    CompletableFuture<OpenFile> open =
        world.client.openForWrite(world.request(), FilePath.parse("/f"), 34);
    world.pass(SECOND);
    assertThat(open).isNotDone();

    world.servers.values().forEach(server -> server.startsUnheard = false);
    world.pass(1_500 * MILLIS);
    assertThat(open).isCompleted();
    long active = world.chunk(chunk).active().version();
    // the start of the one under way had left before the token was known
    assertThat(active).isGreaterThan(changeUnderWay ? 2 : 1);
    assertThat(open.join().last().orElseThrow().configuration().version()).isEqualTo(active);
    assertThat(world.servers.values())
        .flatExtracting(server -> server.commands)
        .anyMatch(
            command ->
                command instanceof Heartbeat.RecoverCommand recover
                    && recover.version() == active
                    && recover.fenceFloor() == 34);
    assertThat(primary(world, chunk)).isEqualTo(holder);

    long before = world.log.lastApplied();
    var _ = world.get(world.client.openForWrite(world.request(), FilePath.parse("/f"), 34));
    assertThat(world.chunk(chunk).active().version()).isEqualTo(active);
    assertThat(world.log.lastApplied()).isGreaterThan(before);
  }

  @Test
  @Tag("F21")
  void anOpeningThatIsAskedAgainUnderALargerTokenIsToldNoChunk() {
    World world = World.with("cs1", "cs2", "cs3", "cs4");
    var _ = world.create("/f", 3);
    world.pass(SECOND);
    FilePath file = FilePath.parse("/f");
    RequestId first = world.request();
    var _ = world.get(world.client.openForWrite(first, file, 7));
    RequestId other = new RequestId(new ClientId(8, 9), 1, 1, world.state.newestForgetting());
    var _ = world.get(world.client.openForWrite(other, file, 10));

    // its first answer was lost; by now the file may go on in a chunk that was born under token 10
    CompletableFuture<OpenFile> again = world.client.openForWrite(first, file, 7);

    assertThatThrownBy(() -> world.get(again)).hasMessageContaining("token 7 is below 10");
  }

  private static LeaseGrant held(FakeServer server, ChunkHandle chunk) {
    return requireNonNull(server.held.get(chunk));
  }

  private static FakeServer primary(World world, ChunkHandle chunk) {
    ServerId id = world.chunk(chunk).active().primary().orElseThrow();
    return world.server(id.name());
  }
}
