package io.leasefs.cluster.containers;

import static org.assertj.core.api.Assertions.assertThat;

import io.leasefs.client.LeaseFs;
import io.leasefs.common.error.LeaseFsException;
import io.leasefs.common.model.ChunkHandle;
import io.leasefs.common.model.ChunkLayout;
import io.leasefs.common.model.ClusterEvent;
import io.leasefs.common.model.EventKind;
import io.leasefs.common.model.Location;
import io.leasefs.common.model.Member;
import io.leasefs.common.model.ServerAddress;
import java.io.IOException;
import java.io.OutputStream;
import java.time.Duration;
import java.util.Collections;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInfo;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.extension.ExtensionContext;
import org.junit.jupiter.api.extension.TestWatcher;

/** Servers die, freeze and lose sight of one another while clients append records. */
@ExtendWith(FailoverContainersIT.LogsOfAFailure.class)
class FailoverContainersIT {
  /** Longer than any hand-over at this TTL on a busy machine. */
  private static final Duration PATIENCE = Duration.ofSeconds(45);

  private static ContainerCluster cluster;
  private static LeaseFs fs;

  private String path = "";
  private RecordWriters writers;

  /** What the servers said, when it matters. */
  static final class LogsOfAFailure implements TestWatcher {
    @Override
    public void testFailed(ExtensionContext context, Throwable cause) {
      System.err.println(context.getDisplayName() + " failed; the servers' last lines:");
      System.err.println(cluster.logs());
      try {
        List<ClusterEvent> events = LeaseFs.join(fs.admin().events(0, 10_000, 0));
        events.stream().skip(Math.max(0, events.size() - 60)).forEach(System.err::println);
      } catch (LeaseFsException e) {
        System.err.println("the master's events cannot be had: " + e.getMessage());
      }
    }
  }

  @BeforeAll
  static void startCluster() throws IOException {
    cluster = ContainerCluster.start(4, "3s");
    fs = cluster.connect();
  }

  @AfterAll
  static void stopCluster() {
    fs.close();
    cluster.close();
  }

  @BeforeEach
  void startWriting(TestInfo test) throws IOException {
    path = "/" + test.getTestMethod().orElseThrow().getName();
    try (OutputStream file = fs.create(path)) {
      file.flush();
    }
    writers = new RecordWriters(cluster, path, 3);
    writers.awaitMore(100, PATIENCE);
    // one failure at a time: what the test before left behind must have been mended
    ContainerCluster.await(
        PATIENCE,
        "the last chunk has three members",
        () -> lastChunk().configuration().members().size() == 3);
  }

  @AfterEach
  void stopWritingAndHeal() {
    writers.close();
    cluster.heal();
    awaitAllLive();
  }

  @Test
  void primaryIsKilled() {
    String primary = primary();
    cluster.kill(primary);
    awaitAnotherPrimary(primary);
    writers.awaitMore(100, PATIENCE);
    cluster.restart(primary);
    writers.stopAndVerify();
  }

  @Test
  void primaryIsFrozenPastItsLeaseAndWokenUp() {
    String primary = primary();
    cluster.pause(primary);
    awaitAnotherPrimary(primary);
    writers.awaitMore(100, PATIENCE);
    cluster.unpause(primary);
    writers.awaitMore(100, PATIENCE);
    writers.stopAndVerify();
  }

  @Test
  void primaryIsCutFromEverybodyAndComesBack() {
    String primary = primary();
    cluster.cut(primary);
    awaitAnotherPrimary(primary);
    writers.awaitMore(100, PATIENCE);
    cluster.heal();
    writers.awaitMore(100, PATIENCE);
    writers.stopAndVerify();
  }

  @Test
  void secondaryIsKilled() {
    String secondary = secondaries().get(0);
    cluster.kill(secondary);
    writers.awaitMore(100, PATIENCE);
    cluster.restart(secondary);
    writers.stopAndVerify();
  }

  @Test
  void masterIsKilledAndStartedAgain() {
    cluster.kill("master");
    cluster.restart("master");
    awaitAllLive();
    writers.awaitMore(100, PATIENCE);
    writers.stopAndVerify();
  }

  /**
   * The textbook story: a, b and c hold copies, a is primary; the judge q (the master) loses sight
   * of a, while a, b and c still see one another. There are never two primaries: b acknowledges for
   * the first time after a has for the last, by the records of both; and nothing is written twice.
   */
  @Test
  void judgeLosesSightOfThePrimaryWhichStillSeesItsSecondaries() {
    String a = primary();
    ServerAddress addressOfA = lastChunk().primary().orElseThrow().address();
    cluster.cutFromMaster(a);
    awaitAnotherPrimary(a);
    writers.awaitMore(100, PATIENCE);
    ChunkLayout chunk = lastChunk();
    ServerAddress addressOfB = chunk.primary().orElseThrow().address();
    writers.stopAndVerify();

    List<Long> acknowledgedByA =
        times(EventKind.HOLDER_LAST_ACKNOWLEDGEMENT, addressOfA, Optional.empty());
    List<Long> acknowledgedByB =
        times(EventKind.HOLDER_FIRST_ACKNOWLEDGEMENT, addressOfB, Optional.of(chunk.handle()));
    assertThat(acknowledgedByA).isNotEmpty();
    assertThat(acknowledgedByB).isNotEmpty();
    assertThat(Collections.max(acknowledgedByB)).isGreaterThan(Collections.max(acknowledgedByA));
  }

  /** When a server recorded such events, on the clock that all processes of this machine share. */
  private static List<Long> times(
      EventKind kind, ServerAddress server, Optional<ChunkHandle> chunk) {
    return LeaseFs.join(fs.chunkServer(server).events(0, 10_000)).stream()
        .filter(event -> event.kind() == kind)
        .filter(event -> chunk.isEmpty() || event.chunk().equals(chunk))
        .map(ClusterEvent::monotonicNanos)
        .toList();
  }

  private ChunkLayout lastChunk() {
    List<ChunkLayout> chunks = fs.layout(path).chunks();
    return chunks.get(chunks.size() - 1);
  }

  /** Who holds the lease of the file's last chunk. */
  private String primary() {
    ContainerCluster.await(PATIENCE, "the last chunk has a primary", () -> holder().isPresent());
    return holder().orElseThrow();
  }

  private Optional<String> holder() {
    ChunkLayout chunk = lastChunk();
    return LeaseFs.join(fs.admin().leases(Optional.empty())).stream()
        .filter(lease -> lease.chunk().equals(chunk.handle()))
        .map(lease -> lease.holder().name())
        .findFirst();
  }

  /** Of the same chunk, or of the next one, where the writers have gone on. */
  private void awaitAnotherPrimary(String old) {
    try {
      ContainerCluster.await(
          PATIENCE,
          "another primary than " + old,
          () -> holder().filter(name -> !name.equals(old)).isPresent());
    } catch (AssertionError e) {
      ChunkHandle chunk = lastChunk().handle();
      throw new AssertionError(
          e.getMessage()
              + "; why: "
              + LeaseFs.join(fs.admin().why(chunk))
              + "; chunk: "
              + LeaseFs.join(fs.admin().chunk(chunk)),
          e);
    }
  }

  private List<String> secondaries() {
    String primary = primary();
    return lastChunk().locations().stream()
        .map(Location::member)
        .map(Member::server)
        .map(server -> server.name())
        .filter(name -> !name.equals(primary))
        .toList();
  }

  private static void awaitAllLive() {
    ContainerCluster.await(
        PATIENCE,
        "all chunkservers are live again",
        () -> {
          try {
            return LeaseFs.join(fs.admin().status()).nodesLive() == 4;
          } catch (LeaseFsException e) {
            return false; // the master is on its way
          }
        });
  }
}
