package io.leasefs.master.control;

import static io.leasefs.master.control.World.SECOND;
import static java.util.Objects.requireNonNull;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.tuple;

import io.leasefs.common.api.AdminApi.CopyName;
import io.leasefs.common.api.AdminApi.QuarantineReason;
import io.leasefs.common.api.AdminApi.QuarantinedCopy;
import io.leasefs.common.api.Heartbeat.ReplicaState;
import io.leasefs.common.api.MasterApi.OpenFile;
import io.leasefs.common.error.ErrorCode;
import io.leasefs.common.error.LeaseFsException;
import io.leasefs.common.model.ChunkHandle;
import io.leasefs.common.model.ChunkSeal;
import io.leasefs.common.model.ChunkSpec;
import io.leasefs.common.model.Durability;
import io.leasefs.common.model.FileId;
import io.leasefs.common.model.FilePath;
import io.leasefs.common.model.Ordinal;
import io.leasefs.common.model.ReplicaId;
import io.leasefs.master.control.World.Copy;
import io.leasefs.master.control.World.FakeServer;
import io.leasefs.master.state.ChunkEntry;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import org.junit.jupiter.api.Test;

/** A master on an older log, and copies that its log does not know. */
class ShortLogTest {
  /** A copy of a chunk that some other log had. */
  private static ChunkHandle strange(World world, FakeServer server, long handle) {
    ChunkHandle chunk = new ChunkHandle(handle);
    Copy copy = new Copy(new ChunkSpec(chunk, new FileId(77), 1 << 20, Durability.REPLICATED));
    copy.replica = new ReplicaId(handle);
    copy.state = ReplicaState.SEALED;
    copy.length = 100;
    server.copies.put(chunk, copy);
    server.sendInFull();
    world.settle();
    return chunk;
  }

  private static ChunkHandle closed(World world, String path) {
    OpenFile open = world.create(path, 3);
    world.pass(SECOND);
    world.get(
        world.client.close(
            world.request(),
            open.status().id(),
            open.openNumber(),
            Optional.empty(),
            Optional.empty(),
            false));
    world.pass(3 * SECOND);
    return open.last().orElseThrow().handle();
  }

  private static ErrorCode refusal(World world, CompletableFuture<?> future) {
    try {
      world.get(future);
      throw new AssertionError("not refused");
    } catch (CompletionException e) {
      return ((LeaseFsException) requireNonNull(e.getCause())).code();
    }
  }

  /** As if the end of the log were gone: its servers have heard of so many entries more. */
  private static void loseTheEnd(World world, long entries) {
    for (FakeServer server : world.servers.values()) {
      server.highestOrdinal = world.state.lastApplied() + entries;
    }
    world.log.lead();
    world.pass(2 * SECOND);
  }

  @Test
  void masterOnAnOlderLogGivesAndDeletesNothing() {
    World world = World.with("cs1", "cs2", "cs3");
    closed(world, "/known");
    FakeServer first = world.server("cs1");
    ChunkHandle lost = strange(world, first, world.state.lastApplied() + 50);
    loseTheEnd(world, 100);
    long end = world.state.lastApplied();

    assertThat(refusal(world, world.client.mkdir(world.request(), new FilePath("/d"), false, 0755)))
        .isEqualTo(ErrorCode.LOG_SHORT);
    assertThat(refusal(world, world.operator.status())).isEqualTo(ErrorCode.LOG_SHORT);
    assertThat(world.loop.shortage().orElseThrow())
        .contains("it ends at entry " + end, " has heard of entry ");
    first.start(); // registers anew
    world.pass(10 * SECOND);

    assertThat(world.state.lastApplied()).as("nothing is named").isEqualTo(end);
    assertThat(first.copies).containsKey(lost);
    assertThat(world.get(world.client.stat(FilePath.parse("/known"))).folder()).isFalse();
  }

  @Test
  void logIsShortAlsoWhereOnlyTheTermTellsIt() {
    World world = World.with("cs1", "cs2", "cs3");
    world.server("cs2").highestTerm = 100;
    world.pass(2 * SECOND);
    assertThat(world.loop.shortage().orElseThrow()).contains("cs2 has heard of term 100");
  }

  @Test
  void serverThatRegistersIsListenedToBeforeItIsGivenANumber() {
    World world = World.with("cs1", "cs2");
    long end = world.state.lastApplied();
    world.server("cs3").highestOrdinal = end + 1;
    world.server("cs3").start();
    world.pass(2 * SECOND);
    assertThat(world.loop.shortage()).isPresent();
    assertThat(world.state.lastApplied()).isEqualTo(end);
  }

  @Test
  void generationIsRaisedOnlyOnceNoLostLeaseCanBeHeld() {
    World world = World.with("cs1", "cs2", "cs3");
    assertThat(refusal(world, world.operator.raiseGeneration()))
        .as("nothing is missing")
        .isEqualTo(ErrorCode.INVALID_ARGUMENT);
    loseTheEnd(world, 100);
    assertThat(refusal(world, world.operator.raiseGeneration())).isEqualTo(ErrorCode.BUSY);
    world.pass(world.terms.grantorValidityNanos());
    assertThat(world.get(world.operator.raiseGeneration())).isEqualTo(1);
    assertThat(world.loop.shortage()).isEmpty();
  }

  @Test
  void raisedGenerationLeadsAllThatWasLostAndServesAgain() {
    World world = World.with("cs1", "cs2", "cs3");
    ChunkHandle known = closed(world, "/known");
    loseTheEnd(world, 100);
    long heard = world.server("cs1").highestOrdinal;
    world.pass(world.terms.grantorValidityNanos());
    world.get(world.operator.raiseGeneration());
    world.pass(3 * SECOND);

    OpenFile open = world.create("/new", 3);
    ChunkEntry born = world.chunk(open.last().orElseThrow().handle());
    assertThat(born.handle().value()).isGreaterThan(heard);
    assertThat(born.lease().orElseThrow().token()).isGreaterThan(heard);
    for (FakeServer server : world.servers.values()) {
      assertThat(server.session.orElseThrow().value()).isGreaterThan(heard);
      assertThat(server.copies).containsKey(known);
    }
    assertThat(world.chunk(known).lastVersion()).isGreaterThan(Ordinal.of(1, 0));
    assertThat(world.get(world.operator.status()).unavailable()).isZero();
  }

  @Test
  void sealedChunkThatWentOnInTheLostPartIsReopenedWithAllThatItsCopiesHave() {
    World world = World.with("cs1", "cs2", "cs3");
    ChunkHandle chunk = closed(world, "/known");
    long sealed = world.chunk(chunk).seal().orElseThrow().lengthBytes();
    for (FakeServer server : world.servers.values()) {
      Copy copy = requireNonNull(server.copies.get(chunk));
      copy.promised = 3;
      copy.accepted = 3;
      copy.lastSerial += 5;
      copy.committedSerial = copy.lastSerial;
      copy.length = sealed + 500;
      copy.seal = Optional.of(new ChunkSeal(copy.lastSerial, copy.length, 0x600d));
    }
    loseTheEnd(world, 100);
    world.pass(world.terms.grantorValidityNanos());
    world.get(world.operator.raiseGeneration());
    world.pass(20 * SECOND);

    ChunkEntry now = world.chunk(chunk);
    assertThat(now.active().version()).isGreaterThan(3);
    assertThat(now.seal().orElseThrow().lengthBytes()).isEqualTo(sealed + 500);
    assertThat(world.get(world.operator.status()).quarantined()).isZero();
  }

  @Test
  void copiesThatOnlyTheLostPartKnewAreKeptForEverAndGoByOrder() {
    World world = World.with("cs1", "cs2", "cs3", "cs4");
    ChunkHandle known = closed(world, "/known");
    FakeServer outside =
        world.servers.values().stream()
            .filter(server -> !server.copies.containsKey(known))
            .findFirst()
            .orElseThrow();
    FakeServer first = world.server("cs1");
    ChunkHandle lost = strange(world, first, world.state.lastApplied() + 50);
    loseTheEnd(world, 100);
    world.pass(world.terms.grantorValidityNanos());
    world.get(world.operator.raiseGeneration());
    // it was made a member in the lost part, with a version that the log never gave
    Copy ahead = new Copy(world.chunk(known).spec());
    ahead.replica = new ReplicaId(world.state.lastApplied() + 60);
    ahead.accepted = 5;
    outside.copies.put(known, ahead);
    world.pass(2 * World.QUARANTINE);

    assertThat(first.copies).containsKey(lost);
    assertThat(outside.copies).containsKey(known);
    List<QuarantinedCopy> all = world.get(world.operator.quarantined(Optional.empty(), 10));
    assertThat(all)
        .extracting(QuarantinedCopy::name, QuarantinedCopy::reason, QuarantinedCopy::leftNanos)
        .containsExactlyInAnyOrder(
            tuple(new CopyName(first.id, lost), QuarantineReason.LOST, -1L),
            tuple(new CopyName(outside.id, known), QuarantineReason.AHEAD, -1L));
    assertThat(world.get(world.operator.status()).quarantined()).isEqualTo(2);
    assertThat(world.get(world.operator.quarantined(Optional.of(all.get(0).name()), 10)))
        .containsExactly(all.get(1));

    for (QuarantinedCopy copy : all) {
      world.get(world.operator.deleteQuarantined(copy.name(), copy.replica()));
    }
    world.pass(3 * SECOND);
    assertThat(first.copies).doesNotContainKey(lost);
    assertThat(outside.copies).doesNotContainKey(known);
    assertThat(
            refusal(
                world, world.operator.deleteQuarantined(all.get(0).name(), all.get(0).replica())))
        .isEqualTo(ErrorCode.NOT_FOUND);
  }

  @Test
  void copyOfAnUnknownChunkIsKeptForATime() {
    World world = World.with("cs1", "cs2", "cs3");
    FakeServer first = world.server("cs1");
    ChunkHandle unknown = strange(world, first, 1); // no chunk was made by that entry
    world.pass(World.QUARANTINE - 10 * SECOND);
    assertThat(first.copies).containsKey(unknown);
    QuarantinedCopy copy = world.get(world.operator.quarantined(Optional.empty(), 10)).get(0);
    assertThat(copy.reason()).isEqualTo(QuarantineReason.UNKNOWN);
    assertThat(copy.leftNanos()).isBetween(SECOND, 15 * SECOND);
    world.pass(20 * SECOND);
    assertThat(first.copies).doesNotContainKey(unknown);
  }

  @Test
  void copiesOfAPurgedFileGoAtOnce() {
    World world = World.with("cs1", "cs2", "cs3");
    ChunkHandle chunk = closed(world, "/f");
    world.get(world.client.delete(world.request(), FilePath.parse("/f"), false, true));
    world.pass(10 * SECOND);
    assertThat(world.state.chunk(chunk)).isEmpty();
    assertThat(world.servers.values()).noneMatch(server -> server.copies.containsKey(chunk));
    assertThat(world.get(world.operator.quarantined(Optional.empty(), 10))).isEmpty();
  }

  @Test
  void orderToDeleteWhatIsCountedIsRefused() {
    World world = World.with("cs1", "cs2", "cs3");
    ChunkHandle chunk = closed(world, "/f");
    FakeServer member = world.server("cs1");
    ReplicaId replica = requireNonNull(member.copies.get(chunk)).replica;
    assertThatThrownBy(
            () ->
                world.get(
                    world.operator.deleteQuarantined(new CopyName(member.id, chunk), replica)))
        .hasMessageContaining("no such copy in quarantine");
  }
}
