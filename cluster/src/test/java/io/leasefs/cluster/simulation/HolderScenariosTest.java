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
import io.leasefs.common.error.ErrorCode;
import io.leasefs.common.model.Durability;
import io.leasefs.master.state.ChunkEntry;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Failures of other systems at the holder of a right (pauses, partitions, clocks), played in a
 * whole cluster.
 */
class HolderScenariosTest {
  /**
   * A writer that opened with token 33 is cut off from the master, not from the chunkservers (etcd
   * 10811, redisson 3636: a holder cut off from the lock service goes on writing). Another opens
   * with 34. After that open every write with 33 is refused: all that the file gets from then on is
   * the other's.
   */
  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  @Tag("F21")
  @Tag("F38")
  void afterAnOpenWithAHigherTokenNoByteOfTheLowerOneGetsIn(boolean cutOff) {
    try (Script script = new Script(21, 3)) {
      Writer first = script.writer(1, FILE, 33);
      first.appendAndWait(SECOND);
      if (cutOff) {
        script.cut(first.life.host(), script.world.masterHost());
      }
      first.appendEvery(7 * MILLI, () -> true);
      script.pass(200 * MILLI);
      long before = first.all.stream().filter(Appended::isAcknowledged).count();
      assertThat(before).as("it writes while it is cut off").isGreaterThan(10);

      Writer second = script.writer(2, FILE, 34);
      int submittedBefore = first.all.size();
      second.appendAndWait(5 * SECOND);
      second.appendEvery(5 * MILLI, () -> second.all.size() < 200);
      script.pass(3 * SECOND);
      List<Appended> late = first.all.subList(submittedBefore, first.all.size());
      assertThat(late).hasSizeGreaterThan(100).noneMatch(Appended::isAcknowledged);
      if (!cutOff) {
        assertThat(late.getFirst().failure).isEqualTo(ErrorCode.FENCED);
      }
      // one after another, nothing in between, and nothing behind
      long end = second.all.getFirst().place().fileOffset();
      for (Appended record : second.all) {
        assertThat(record.place().fileOffset()).isEqualTo(end);
        end += record.record.length();
      }
      first.kill();
      second.close();
      script.pass(20 * SECOND); // the first one's session runs out
      assertThat(script.book.mustReach(FILE)).isEqualTo(end);
      assertThat(script.chunk().seal().orElseThrow().lengthBytes()).isEqualTo(end);
      script.readWhole(FILE, ReadMode.DEFAULT, true);
    }
  }

  /**
   * For five minutes half of the heartbeats are lost, in stretches of less than T/2, and their
   * streams are reset (redisson 3194, consul 912, etcd 13156: one error ended the renewing). No
   * session ends, no chunk changes its version.
   */
  @Test
  @Tag("F27")
  void lostHeartbeatsAndResetStreamsCostNoLease() {
    try (Script script = new Script(27, 3)) {
      Writer writer = script.writer(1);
      writer.appendAndWait(SECOND);
      ChunkEntry chunk = script.chunk();
      ChunkNode primary = script.primary(chunk);
      Host master = script.world.masterHost();
      long half = script.world.terms().ttlNanos() / 4;
      for (int i = 0; i < 300; i++) {
        ChunkNode node = script.world.chunkNodes().get(i % 3);
        if (i % 2 == 0) {
          script.world.wires().cut(node.host(), master);
        } else {
          script.world.wires().cut(master, node.host());
        }
        script.pass(half);
        assertThat(script.server(primary).validLeases()).isNotEmpty();
        script.world.wires().mend(node.host(), master);
        script.world.wires().mend(master, node.host());
        script.world.wires().reset(node.host(), master);
        writer.append(100);
        script.pass(half);
      }
      assertThat(script.told("SESSION_ENDED")).isZero();
      assertThat(writer.all).allMatch(Appended::isAcknowledged);
      assertThat(script.chunk(chunk.handle()).active()).isEqualTo(chunk.active());
      script.atRest();
    }
  }

  /**
   * Three writers write without a pause while all disks hang again and again for three times T, and
   * the lines between the chunkservers are slow (redisson 5698, etcd 7617: renewals waited behind
   * load and slow disks). No session ends and no lease runs out, for renewing waits for no chunk
   * and for no disk; a primary whose own disk hangs gives its lease back.
   */
  @Test
  @Tag("F29")
  void hangingDisksAndSaturatedLinesCostNoSession() {
    try (Script script = Script.withTtl(29, 3, SECOND)) {
      boolean[] goesOn = {true};
      for (int i = 1; i <= 3; i++) {
        Writer writer = script.writer(i);
        writer.appendAndWait(SECOND);
        writer.appendEvery(50 * MILLI, () -> goesOn[0]);
      }
      List<ChunkNode> nodes = script.world.chunkNodes();
      for (ChunkNode from : nodes) {
        for (ChunkNode to : nodes) {
          script.world.wires().slow(from.host(), to.host(), 200 * MILLI);
        }
      }
      for (int i = 0; i < 12; i++) {
        for (ChunkNode node : nodes) {
          requireNonNull(node.host().life()).stallDisk(3 * SECOND);
        }
        script.pass(6 * SECOND);
      }
      goesOn[0] = false;
      script.world.wires().mendAll();
      assertThat(script.told("why=session over")).isZero();
      assertThat(script.told("SESSION_ENDED")).isZero();
      assertThat(script.told("LEASE_EXPIRED")).isZero();
      assertThat(script.told("LEASE_RELEASED")).isPositive();
      script.atRest();
      assertThat(script.book.acknowledged()).isGreaterThan(1_000);
    }
  }

  /**
   * A chunkserver is told to stop while a write hangs in its disk (patroni 3639: the watchdog was
   * disarmed before the workers had stopped). The lease is given back only after that write has
   * ended, or, as of any disk that stalls, after W.
   */
  @ParameterizedTest
  @ValueSource(longs = {600, 20_000})
  @Tag("F39")
  void stoppingServerGivesItsLeaseBackOnlyAfterItsLastDiskWrite(long hangsMillis) {
    try (Script script = new Script(39, 3, Durability.SYNCED, false)) {
      Writer writer = script.writer(1);
      writer.appendAndWait(SECOND);
      ChunkEntry chunk = script.chunk();
      ChunkNode primary = script.primary(chunk);
      long began = script.loop.now();
      long earliest =
          began + Math.min(hangsMillis * MILLI, script.world.terms().stallNanos() * 99 / 100);
      requireNonNull(primary.host().life()).stallDisk(hangsMillis * MILLI);
      writer.append(300);
      script.pass(5 * MILLI);

      CompletableFuture<Boolean> stopped = script.server(primary).stop();
      script.until(
          10 * SECOND,
          "the lease is over",
          () -> {
            boolean over = script.chunk(chunk.handle()).lease().isEmpty();
            assertThat(over && script.loop.now() < earliest).isFalse();
            return over;
          });
      script.until(30 * SECOND, "it has stopped", stopped::isDone);
      script.world.kill(primary.host());
      script.restart(primary);
      script.atRest();
    }
  }

  /**
   * The primary stands still for half of T, T, and three times T, at points of the pipeline that
   * the seed draws (Jepsen on Aerospike 3.99: a pause lost committed writes). Nothing acknowledged
   * is lost, nothing is there twice.
   */
  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  @Tag("F40")
  void primaryThatPausesAnywhereInThePipelineLosesNothing(boolean writesOn) {
    try (Script script = new Script(40, 4, Durability.REPLICATED, writesOn)) {
      Writer writer = script.writer(1);
      Writer other = script.writer(2);
      boolean[] goesOn = {true};
      writer.appendEvery(9 * MILLI, () -> goesOn[0] && writer.all.size() < 4_000);
      other.appendEvery(31 * MILLI, () -> goesOn[0]);
      Random points = new Random(40);
      long ttl = script.world.terms().ttlNanos();
      int moved = 0;
      for (int i = 0; i < 24; i++) {
        script.steps(points.nextInt(400));
        script.until(20 * SECOND, "a primary", () -> script.chunk().active().primary().isPresent());
        ChunkNode primary = script.primary(script.chunk());
        primary.host().freeze();
        script.pass(new long[] {ttl / 2, ttl, 3 * ttl}[i % 3]);
        primary.host().thaw();
        boolean another =
            script.chunk().active().primary().filter(id -> !id.equals(primary.id())).isPresent();
        moved += another ? 1 : 0;
      }
      goesOn[0] = false;
      assertThat(moved).as("pauses that cost the lease").isGreaterThan(3);
      assertThat(writer.all.stream().filter(Appended::isAcknowledged).count()).isGreaterThan(500);
      script.atRest();
    }
  }

  /**
   * Wall clocks of all machines are set an hour forth and back, again and again, restarts included
   * (valkey 2651, cockroach 23104, client-go 448: expiry judged by wall time). The run is the very
   * same, to the nanosecond, as without.
   */
  @Test
  @Tag("F14")
  @Tag("F24")
  @Tag("F42")
  void wallClocksHaveNoPartInAnyExpiry() {
    List<String> calm = failoverWithWallSteps(0);
    List<String> stepped = failoverWithWallSteps(3_600_000);
    assertThat(calm).anyMatch(line -> line.contains("LEASE_EXPIRED"));
    assertThat(stepped).isEqualTo(calm);
  }

  private static List<String> failoverWithWallSteps(long millis) {
    try (Script script = new Script(42, 4, Durability.REPLICATED, false)) {
      Random draws = new Random(42);
      Writer writer = script.writer(1);
      for (int i = 0; i < 6; i++) {
        for (Host host : script.world.hosts()) {
          host.setWallStep((draws.nextInt(3) - 1) * millis);
        }
        writer.appendAndWait(10 * SECOND);
        ChunkNode primary = script.primary(script.chunk());
        script.world.kill(primary.host());
        if (i % 2 == 0) {
          script.world.kill(script.world.masterHost());
          script.pass(100 * MILLI);
          script.restartMaster();
        }
        script.pass(4 * SECOND);
        script.restart(primary);
        script.pass(3 * SECOND);
      }
      script.atRest();
      return new ArrayList<>(script.told);
    }
  }

  /**
   * A client's session has ended at the master while it still reaches the chunkservers, and the
   * file is open elsewhere (ceph 14610: an evicted client still wrote). Once its primary has heard
   * of it, which takes one heartbeat, nothing of the dead session is taken any more.
   */
  @Test
  @Tag("F61")
  void evictedClientGetsNothingInOnceThePrimaryHasHeardOfIt() {
    try (Script script = new Script(61, 3)) {
      Writer evicted = script.writer(1);
      Writer other = script.writer(2);
      evicted.appendAndWait(SECOND);
      other.appendAndWait(SECOND);
      script.cut(evicted.life.host(), script.world.masterHost());
      evicted.appendEvery(20 * MILLI, () -> true);
      script.until(
          40 * SECOND,
          "the master ends its session",
          () -> script.world.state().read(view -> view.endedClients()).size() == 1);
      assertThat(evicted.all.getLast().isAnswered() || evicted.all.size() > 100).isTrue();
      script.pass(3 * script.world.terms().heartbeatNanos());
      int fencedFrom = evicted.all.size();
      script.pass(5 * SECOND);

      List<Appended> late = evicted.all.subList(fencedFrom, evicted.all.size());
      assertThat(late).hasSizeGreaterThan(100).noneMatch(Appended::isAcknowledged);
      assertThat(evicted.all.subList(0, fencedFrom)).anyMatch(Appended::isAcknowledged);
      other.appendAndWait(SECOND);
      evicted.kill();
      script.atRest();
    }
  }

  /**
   * A client's session has ended at the master while it writes on through a primary that does not
   * hear of it (ceph 14610, see above), for less time than its lease lasts, and for more. What the
   * master does for the dead client, closing its file, is done only once the primary has fenced the
   * session, or a next one: whatever was taken until then is in the sealed file, and nothing is
   * taken afterwards.
   */
  @ParameterizedTest
  @ValueSource(longs = {1_000, 4_000})
  @Tag("F61")
  void fileOfAnEvictedClientIsClosedOnlyOnceThePrimaryHasFencedIt(long unheardMillis) {
    try (Script script = new Script(62, 3, Durability.REPLICATED, false)) {
      Writer evicted = script.writer(1);
      evicted.appendAndWait(SECOND);
      ChunkEntry chunk = script.chunk();
      Host primary = script.primary(chunk).host();
      Host master = script.world.masterHost();
      script.cut(evicted.life.host(), master);
      evicted.appendEvery(20 * MILLI, () -> true);
      script.until(
          40 * SECOND,
          "the master ends its session",
          () -> script.world.state().read(view -> view.endedClients()).size() == 1);
      script.world.wires().clog(master, primary);
      long endedAt = script.loop.now();
      boolean lasts = unheardMillis * MILLI < script.world.terms().ttlNanos();
      script.pass(unheardMillis * MILLI);
      long taken = takenSince(evicted, endedAt);
      assertThat(taken).as("taken by a primary that has not heard of it").isGreaterThan(10);
      if (lasts) {
        assertThat(script.chunk(chunk.handle()).isSealed()).isFalse();
      }
      script.world.wires().unclog(master, primary, false);
      script.until(
          10 * SECOND, "its file is closed", () -> script.chunk(chunk.handle()).isSealed());
      long closedAt = script.loop.now();
      long acknowledged = script.book.mustReach(FILE);
      long length = script.chunk(chunk.handle()).seal().orElseThrow().lengthBytes();
      assertThat(length).isGreaterThanOrEqualTo(acknowledged);

      script.pass(5 * SECOND);
      assertThat(takenSince(evicted, closedAt)).isZero();
      evicted.kill();
      script.atRest();
    }
  }

  private static long takenSince(Writer writer, long time) {
    return writer.all.stream()
        .filter(record -> record.isAcknowledged() && record.answeredAt > time)
        .count();
  }

  /**
   * A client has a file open and is idle: its close never comes, but its session lives (FLUME-3080:
   * a failed close kept the right to write until the hard limit). Another writes at once beside it.
   * When nobody writes, the lease is given back after a minute, and the next writer waits no longer
   * than T_G.
   */
  @Test
  @Tag("F60")
  void idleClientThatNeverClosesKeepsNobodyWaiting() {
    try (Script script = new Script(60, 3, Durability.REPLICATED, false)) {
      long validity = script.world.terms().grantorValidityNanos();
      Writer idle = script.writer(1);
      idle.appendAndWait(SECOND);
      Writer beside = script.writer(2);
      beside.appendAndWait(validity);
      beside.close();
      ChunkEntry chunk = script.chunk();
      long usedAt = script.loop.now();
      script.until(
          65 * SECOND,
          "the lease is given back",
          () -> script.chunk(chunk.handle()).lease().isEmpty());
      assertThat(script.loop.now() - usedAt).isGreaterThan(59 * SECOND);
      assertThat(script.told("LEASE_RELEASED")).isPositive();
      script.pass(30 * SECOND);
      assertThat(script.told("SESSION_ENDED")).isZero();
      assertThat(script.world.state().read(view -> view.endedClients()).size()).isZero();

      Writer next = script.writer(3);
      Appended record = next.append(300);
      script.until(validity, "it is taken", record::isAcknowledged);
      assertThat(record.place().version()).isGreaterThan(chunk.active().version());
      idle.appendAndWait(validity);
      script.atRest();
    }
  }

  /**
   * A primary's heartbeats get through, their answers do not, until 50 ms after its own end; the
   * next one is answered, and the master's end has not come (kubernetes 44887: a holder that had
   * missed its deadline renewed and went on). In between it takes nothing; then it goes on under
   * the same version and token, for nobody else can have had them.
   */
  @Test
  @Tag("F26")
  void primaryThatMissedItsEndTakesNothingAndGoesOnUnderTheSameVersionWhenRenewed() {
    try (Script script = new Script(26, 3, Durability.REPLICATED, false)) {
      Writer writer = script.writer(1);
      writer.appendAndWait(SECOND);
      ChunkEntry chunk = script.chunk();
      ChunkNode primary = script.primary(chunk);
      script.world.wires().cut(script.world.masterHost(), primary.host());
      script.until(
          script.world.terms().ttlNanos(),
          "its own end",
          () -> script.server(primary).validLeases().isEmpty());
      long missedAt = script.loop.now();
      Appended late = writer.append(300);
      script.pass(50 * MILLI);
      assertThat(script.server(primary).validLeases()).isEmpty();
      script.world.wires().mendAll();
      script.until(
          SECOND,
          "it is renewed",
          () -> {
            boolean valid = !script.server(primary).validLeases().isEmpty();
            assertThat(!valid && late.isAnswered()).isFalse();
            return valid;
          });
      assertThat(script.loop.now() - missedAt).isGreaterThan(50 * MILLI);

      script.until(5 * SECOND, "the late record is taken", late::isAcknowledged);
      assertThat(late.place().version()).isEqualTo(chunk.active().version());
      assertThat(script.chunk(chunk.handle()).active()).isEqualTo(chunk.active());
      assertThat(script.chunk(chunk.handle()).lease()).isEqualTo(chunk.lease());
      assertThat(script.told("SESSION_ENDED")).isZero();
      assertThat(script.told("LEASE_EXPIRED")).isZero();
      script.atRest();
    }
  }
}
