package io.leasefs.cluster.demo;

import static org.assertj.core.api.Assertions.assertThat;

import io.leasefs.cluster.demo.Evidence.Acknowledged;
import io.leasefs.cluster.demo.Evidence.Copy;
import io.leasefs.cluster.demo.Evidence.Found;
import io.leasefs.cluster.demo.Evidence.Refused;
import io.leasefs.cluster.demo.Evidence.Unanswered;
import io.leasefs.cluster.demo.HistoryCheck.Unreadable;
import io.leasefs.cluster.demo.SeenFile.Look;
import io.leasefs.common.model.ChunkHandle;
import io.leasefs.common.model.ClusterEvent;
import io.leasefs.common.model.EventKind;
import io.leasefs.common.model.ServerId;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** What may not happen makes a torture fail; what proves nothing is void. */
class TortureVerdictTest {
  private static final long SECOND = 1_000_000_000;
  private static final long T_G = 3 * SECOND;
  private static final int BYTES = Writers.RECORD_BYTES;
  private static final String CHUNK = "0x51c";

  private final List<Acknowledged> acknowledged = new ArrayList<>();
  private final List<Refused> refused = new ArrayList<>();
  private final List<Unanswered> unanswered = new ArrayList<>();
  private final List<Unreadable> unreadable = new ArrayList<>();
  private final List<String> broken = new ArrayList<>();
  private final SeenFile seen = new SeenFile("/f", BYTES);
  private final Set<String> writesOn = new HashSet<>();
  private final List<Found> found = new ArrayList<>();
  private final List<Copy> copies = new ArrayList<>();
  private final List<ClusterEvent> events = new ArrayList<>();
  private final List<Harms.Death> deaths = new ArrayList<>();
  private Map<String, Integer> faults = Map.of("kill", 1);
  private long perSecond = 500;
  private boolean converged = true;

  /**
   * Three records, sent half a second before they are acknowledged, at 1, 2 and 3 s. cs1 holds the
   * lease until 12 s at the latest; cs2 is granted it at 12.5 s.
   */
  @BeforeEach
  void goodRun() {
    event("m1", EventKind.LEASE_GRANTED, "cs1", 8, SECOND, 0);
    event("cs1", EventKind.HOLDER_GRANTED, "cs1", 8, SECOND, 3 * SECOND);
    event("cs1", EventKind.HOLDER_RENEWED, "cs1", 0, 9 * SECOND, 3 * SECOND);
    event("m1", EventKind.LEASE_GRANTED, "cs2", 9, 12 * SECOND + SECOND / 2, 0);
    for (int n = 1; n <= 3; n++) {
      acknowledged.add(
          new Acknowledged("/f", 0, n, n * SECOND - SECOND / 2, place(n), CHUNK, 8, n, n * SECOND));
      found.add(record(n));
    }
    sees(ReaderKind.FRESH, 4 * SECOND, 3);
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
    assertThat(verdict().failures())
        .containsExactly(
            "1 acknowledged records are lost",
            "/f has lost what readers saw, 1 times: record 1 of client 0 at 0");

    found.add(0, first);
    found.add(new Found("/f", 0, 3, place(5)));
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
            "replicas differ: " + CHUNK,
            "not every file could be written and read again when healed");
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

  // ---- what readers saw --------------------------------------------------------------------

  @Test
  void readsArePartOfTheHistory() {
    HistoryCheck history = verdict().history();

    assertThat(history.failures()).isEmpty();
    assertThat(history.reads()).isEqualTo(1);
    assertThat(history.histories()).isEqualTo(1);
    assertThat(history.undecided()).isZero();
  }

  @Test
  void readThatMissesWhatWasAcknowledgedBeforeItBeganFails() {
    sees(ReaderKind.FRESH, 5 * SECOND, 2);

    fails("/f cannot have been as clients saw it: no order explains: ");
  }

  @Test
  void readThatLosesWhatAnEarlierOneSawFails() {
    sees(ReaderKind.STRICT, 27 * SECOND / 10, 3); // not acknowledged yet
    assertThat(verdict().failures()).isEmpty();

    sees(ReaderKind.FRESH, 29 * SECOND / 10, 2);
    fails("/f cannot have been as clients saw it: no order explains: ");
  }

  @Test
  void readThatSeesWhatNobodyHasSentYetFails() {
    sees(ReaderKind.STALE_OK, 2 * SECOND, 3);

    fails("/f cannot have been as clients saw it: no order explains: ");
  }

  @Test
  void afterAnEarlySealOneWithAnOlderLayoutMaySeeLessUntilTheGate() {
    sees(ReaderKind.KEPT, 5 * SECOND, 2); // the third was acknowledged two seconds before
    fails("/f cannot have been as clients saw it: no order explains: ");

    writesOn.add("/f");
    assertThat(verdict().failures()).isEmpty();
    assertThat(verdict().history().staleReads()).isEqualTo(1);

    sees(ReaderKind.KEPT, 3 * SECOND + T_G + SECOND / 2, 2);
    fails("/f cannot have been as clients saw it: no order explains: ");
  }

  @Test
  void readOfAnyAgeMaySeeAnyStateThatOnceWas() {
    sees(ReaderKind.STALE_OK, 60 * SECOND, 1);

    assertThat(verdict().failures()).isEmpty();
    assertThat(verdict().history().staleReads()).isZero();
  }

  @Test
  void otherRecordWhereOneWasSeenBeforeFails() {
    seen.saw(ReaderKind.STRICT, new Found("/f", 1, 1, place(2)));

    fails("/f showed what it cannot hold, 1 times: strict: ");
  }

  @Test
  void seenRecordThatIsNotThereInTheEndFails() {
    unanswered.add(new Unanswered("/f", 1, 1, SECOND));
    seen.saw(ReaderKind.KEPT, new Found("/f", 1, 1, place(4)));

    fails("/f has lost what readers saw, 1 times: record 1 of client 1 at 768");

    found.add(new Found("/f", 1, 1, place(4)));
    assertThat(verdict().failures()).isEmpty();
  }

  @Test
  void recordThatIsNotAppliedAndWasSeenFails() {
    refused.add(new Refused("/f", 0, 4));
    seen.saw(ReaderKind.KEPT, record(4));
    found.add(record(4));

    assertThat(verdict().failures())
        .containsExactly(
            "1 records are in the file more often than they may be",
            "/f showed records that are none of it, 1 times: record 4 of client 0 at 768");
  }

  @Test
  void recordAtAnotherOffsetThanAcknowledgedFails() {
    Acknowledged last = acknowledged.removeLast();
    acknowledged.add(
        new Acknowledged("/f", 0, 3, last.submittedNanos(), place(2), CHUNK, 8, 3, last.atNanos()));

    assertThat(verdict().failures())
        .containsExactly(
            "answers of chunk 0x51c contradict one another, 1 times: serial 3, Place[record=record"
                + " 3 of client 0, version=8, offset=256, length=256] comes after serial 2,"
                + " Place[record=record 2 of client 0, version=8, offset=256, length=256]",
            "/f acknowledged records where others lie, 1 times: record 3 of client 0 at 256, where"
                + " record 2 of client 0 lies");
  }

  @Test
  void moreThanOneInAHundredHistoriesUndecidedFails() {
    assertThat(TortureVerdict.of(evidence(), 0).failures())
        .containsExactly("1 of 1 pieces of histories could not be decided");
  }

  @Test
  void runWithoutReadsIsVoid() {
    SeenFile nothing = new SeenFile("/f", BYTES);

    assertThat(TortureVerdict.of(evidence(nothing), 1000).isVoid()).isTrue();
  }

  @Test
  void chunkThatCanBeReadNowhereInTheEndFailsAndIsNotCalledLost() {
    found.removeLast();
    unreadable.add(new Unreadable("/f", place(3), "chunk 51c: no replica can be reached now"));

    TortureVerdict verdict = verdict();
    assertThat(verdict.failures())
        .containsExactly(
            "/f cannot be read from byte 512 on, where 1 acknowledged records are: chunk 51c: no"
                + " replica can be reached now");
    assertThat(verdict.lost()).isZero();
    assertThat(verdict.passed()).isFalse();
  }

  @Test
  void whatCannotBeDoneWhenHealedFails() {
    broken.add("/f cannot be opened and closed when healed: too late");

    assertThat(verdict().failures()).isEqualTo(broken);
  }

  /** A reader is called, sees so many records, and has them a tenth of a second later. */
  private void sees(ReaderKind kind, long called, int records) {
    for (int n = 1; n <= records; n++) {
      seen.saw(kind, record(n));
    }
    seen.ended(new Look(kind, called, called + SECOND / 10, place(records + 1)));
  }

  private static Found record(int number) {
    return new Found("/f", 0, number, place(number));
  }

  private static long place(int number) {
    return (long) BYTES * (number - 1);
  }

  private void fails(String why) {
    assertThat(verdict().failures())
        .hasSize(1)
        .first()
        .satisfies(failure -> assertThat(failure).startsWith(why));
  }

  private TortureVerdict verdict() {
    return TortureVerdict.of(evidence());
  }

  private TortureVerdict.Evidence evidence() {
    return evidence(seen);
  }

  private TortureVerdict.Evidence evidence(SeenFile readers) {
    return new TortureVerdict.Evidence(
        perSecond,
        converged,
        broken,
        new HistoryCheck.Story(
            0,
            T_G,
            writesOn,
            acknowledged,
            refused,
            unanswered,
            found,
            unreadable,
            List.of(readers)),
        copies,
        events,
        deaths,
        faults,
        0);
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
