package io.leasefs.cluster.containers;

import static org.assertj.core.api.Assertions.assertThat;

import io.leasefs.client.LeaseFs;
import io.leasefs.common.api.AdminApi.LeaseStatus;
import io.leasefs.common.error.LeaseFsException;
import io.leasefs.common.model.ChunkLayout;
import io.leasefs.common.model.ClusterEvent;
import io.leasefs.common.model.EventKind;
import io.leasefs.common.model.Location;
import io.leasefs.common.model.Member;
import java.io.IOException;
import java.io.OutputStream;
import java.time.Duration;
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
  }

  @AfterEach
  void stopWriting() {
    writers.close();
  }

  @Test
  void primaryIsKilled() {
    long version = writers.version();
    String primary = primary();
    cluster.kill(primary);
    writers.awaitVersionAbove(version, PATIENCE);
    writers.awaitMore(100, PATIENCE);
    assertThat(primary()).isNotEqualTo(primary);
    cluster.restart(primary);
    writers.stopAndVerify();
    awaitAllLive();
  }

  @Test
  void primaryIsFrozenPastItsLeaseAndWokenUp() {
    long version = writers.version();
    String primary = primary();
    cluster.pause(primary);
    writers.awaitVersionAbove(version, PATIENCE);
    writers.awaitMore(100, PATIENCE);
    cluster.unpause(primary);
    writers.awaitMore(100, PATIENCE);
    writers.stopAndVerify();
    awaitAllLive();
  }

  @Test
  void primaryIsCutFromEverybodyAndComesBack() {
    long version = writers.version();
    String primary = primary();
    cluster.cut(primary);
    writers.awaitVersionAbove(version, PATIENCE);
    writers.awaitMore(100, PATIENCE);
    cluster.heal(primary);
    writers.awaitMore(100, PATIENCE);
    writers.stopAndVerify();
    awaitAllLive();
  }

  @Test
  void secondaryIsKilled() {
    String secondary = secondaries().get(0);
    cluster.kill(secondary);
    writers.awaitMore(100, PATIENCE);
    cluster.restart(secondary);
    writers.stopAndVerify();
    awaitAllLive();
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
   * of a, while a, b and c still see one another. There are never two primaries: b takes over only
   * after a's lease has run out, by the records of both; and nothing is written twice.
   */
  @Test
  void judgeLosesSightOfThePrimaryWhichStillSeesItsSecondaries() {
    long version = writers.version();
    String a = primary();
    cluster.cutFromMaster(a);
    writers.awaitVersionAbove(version, PATIENCE);
    writers.awaitMore(100, PATIENCE);
    String b = primary();
    assertThat(b).isNotEqualTo(a);
    writers.stopAndVerify();

    ChunkLayout chunk = lastChunk();
    long lastOfA =
        events(EventKind.HOLDER_LAST_ACKNOWLEDGEMENT, a, chunk).stream()
            .mapToLong(ClusterEvent::monotonicNanos)
            .max()
            .orElseThrow();
    long firstOfB =
        events(EventKind.HOLDER_FIRST_ACKNOWLEDGEMENT, b, chunk).stream()
            .mapToLong(ClusterEvent::monotonicNanos)
            .max()
            .orElseThrow();
    assertThat(firstOfB).isGreaterThan(lastOfA);
    cluster.joinMaster(a);
    awaitAllLive();
  }

  private static List<ClusterEvent> events(EventKind kind, String server, ChunkLayout chunk) {
    Location location =
        chunk.locations().stream()
            .filter(candidate -> candidate.member().server().name().equals(server))
            .findFirst()
            .orElseThrow();
    return LeaseFs.join(fs.chunkServer(location.address()).events(0, 10_000)).stream()
        .filter(event -> event.kind() == kind && event.chunk().equals(Optional.of(chunk.handle())))
        .toList();
  }

  private ChunkLayout lastChunk() {
    List<ChunkLayout> chunks = fs.layout(path).chunks();
    return chunks.get(chunks.size() - 1);
  }

  /** Who holds the lease of the file's last chunk. */
  private String primary() {
    ChunkLayout chunk = lastChunk();
    return LeaseFs.join(fs.admin().leases(Optional.empty())).stream()
        .filter(lease -> lease.chunk().equals(chunk.handle()))
        .map(LeaseStatus::holder)
        .findFirst()
        .orElseThrow(() -> new AssertionError("nobody holds " + chunk.handle()))
        .name();
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
