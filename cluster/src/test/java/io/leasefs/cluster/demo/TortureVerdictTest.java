package io.leasefs.cluster.demo;

import static org.assertj.core.api.Assertions.assertThat;

import io.leasefs.cluster.demo.Evidence.Acknowledged;
import io.leasefs.cluster.demo.Evidence.Copy;
import io.leasefs.cluster.demo.Evidence.Found;
import io.leasefs.common.model.ChunkHandle;
import io.leasefs.common.model.ClusterEvent;
import io.leasefs.common.model.EventKind;
import io.leasefs.common.model.ServerId;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** What may not happen makes a torture fail; what proves nothing is void. */
class TortureVerdictTest {
  private static final long SECOND = 1_000_000_000;
  private static final String CHUNK = "0x51c";

  private final List<Acknowledged> acknowledged = new ArrayList<>();
  private final List<Found> found = new ArrayList<>();
  private final List<Copy> copies = new ArrayList<>();
  private final List<ClusterEvent> events = new ArrayList<>();
  private final List<Harms.Death> deaths = new ArrayList<>();
  private Map<String, Integer> faults = Map.of("kill", 1);
  private long perSecond = 500;
  private boolean converged = true;

  /** cs1 holds the lease until 12 s at the latest; cs2 is granted it at 12.5 s. */
  @BeforeEach
  void goodRun() {
    event("m1", EventKind.LEASE_GRANTED, "cs1", 8, SECOND, 0);
    event("cs1", EventKind.HOLDER_GRANTED, "cs1", 8, SECOND, 3 * SECOND);
    event("cs1", EventKind.HOLDER_RENEWED, "cs1", 0, 9 * SECOND, 3 * SECOND);
    event("m1", EventKind.LEASE_GRANTED, "cs2", 9, 12 * SECOND + SECOND / 2, 0);
    for (int n = 1; n <= 3; n++) {
      acknowledged.add(new Acknowledged("/f", 0, n, CHUNK, 8, n * SECOND));
      found.add(new Found("/f", 0, n, 256L * n));
    }
    copies.add(new Copy(CHUNK, "cs2", 768, "abcd"));
    copies.add(new Copy(CHUNK, "cs3", 768, "abcd"));
  }

  @Test
  void goodRunIsPassedAndTellsItsClosestHandOver() {
    TortureVerdict verdict = verdict();

    assertThat(verdict.passed()).isTrue();
    assertThat(verdict.tenures()).isEqualTo(2);
    assertThat(verdict.closestMillis()).isEqualTo(500);
  }

  @Test
  void lostDoubledAndReorderedRecordsFail() {
    Found first = found.remove(0);
    assertThat(verdict().failures()).containsExactly("1 acknowledged records are lost");

    found.add(0, first);
    found.add(new Found("/f", 0, 3, 4000));
    assertThat(verdict().failures())
        .containsExactly("1 records are in the file more often than they may be");

    found.remove(3);
    found.add(1, found.remove(2));
    assertThat(verdict().failures()).containsExactly("1 records are out of order");
  }

  @Test
  void grantBeforeTheOldHoldersEndFailsUnlessThatHolderWasDead() {
    event("cs1", EventKind.HOLDER_RENEWED, "cs1", 0, 10 * SECOND, 3 * SECOND);
    assertThat(verdict().failures())
        .containsExactly("1 grants came before the old holder's end", "two primaries for 500 ms");

    deaths.add(new Harms.Death("cs1", 11 * SECOND));
    assertThat(verdict().failures()).isEmpty();
  }

  @Test
  void acknowledgementAfterTheNextPrimarysFirstFails() {
    event("cs2", EventKind.HOLDER_FIRST_ACKNOWLEDGEMENT, "cs2", 9, 13 * SECOND, 0);
    event("cs1", EventKind.HOLDER_LAST_ACKNOWLEDGEMENT, "cs1", 8, 14 * SECOND, 0);

    assertThat(verdict().failures()).containsExactly("two primaries for 1000 ms");
  }

  @Test
  void replicasThatDifferAndFilesThatStandStillFail() {
    copies.add(new Copy(CHUNK, "cs4", 768, "ffff"));
    converged = false;

    assertThat(verdict().failures())
        .containsExactly(
            "replicas differ: " + CHUNK, "not every file could be written again when healed");
  }

  @Test
  void idleClusterOrOneWithoutFaultsIsVoidAndNotPassed() {
    perSecond = 49;
    assertThat(verdict().isVoid()).isTrue();
    assertThat(verdict().passed()).isFalse();

    perSecond = 50;
    faults = Map.of();
    assertThat(verdict().passed()).isFalse();
  }

  @Test
  void recordOfEventsThatOutgrewItsFileFails() {
    ClusterEvent first = events.remove(1);
    assertThat(first.kind()).isEqualTo(EventKind.HOLDER_GRANTED);
    assertThat(verdict().failures())
        .containsExactly(
            "leases cannot be judged, records of events outgrew their files: cs1 begins at event"
                + " 2");
  }

  @Test
  void renewalAfterTheLeaseWasGivenBackIsOfOtherChunks() {
    event("cs1", EventKind.HOLDER_ENDED, "cs1", 8, 9 * SECOND + 1, 0);
    event("cs1", EventKind.HOLDER_RENEWED, "cs1", 0, 10 * SECOND, 3 * SECOND);
    assertThat(verdict().failures()).isEmpty();
  }

  private TortureVerdict verdict() {
    return TortureVerdict.of(
        new TortureVerdict.Evidence(
            perSecond, converged, acknowledged, found, copies, events, deaths, faults, 0));
  }

  private void event(
      String recorder, EventKind kind, String subject, long version, long at, long left) {
    events.add(
        new ClusterEvent(
            1 + events.stream().filter(e -> e.recorder().name().equals(recorder)).count(),
            new ServerId(recorder),
            at / 1_000_000,
            at,
            kind,
            Optional.of(new ServerId(subject)),
            version == 0 ? Optional.empty() : Optional.of(ChunkHandle.parse(CHUNK)),
            version,
            Map.of("leftNanos", Long.toString(left))));
  }
}
