package io.leasefs.master.control;

import static io.leasefs.master.control.World.MILLIS;
import static io.leasefs.master.control.World.SECOND;
import static org.assertj.core.api.Assertions.assertThat;

import io.leasefs.common.api.MasterApi.OpenFile;
import io.leasefs.common.model.ChunkHandle;
import io.leasefs.common.model.EventKind;
import io.leasefs.common.model.FilePath;
import io.leasefs.common.model.Member;
import io.leasefs.common.model.ServerId;
import io.leasefs.master.control.World.FakeServer;
import org.junit.jupiter.api.Test;

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

  private static FakeServer primary(World world, ChunkHandle chunk) {
    ServerId id = world.chunk(chunk).active().primary().orElseThrow();
    return world.server(id.name());
  }

  private static FakeServer secondary(World world, ChunkHandle chunk) {
    return world.server(world.chunk(chunk).active().members().get(1).server().name());
  }
}
