package io.leasefs.cluster.demo;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.leasefs.cluster.demo.Evidence.Acknowledged;
import io.leasefs.cluster.demo.Evidence.Copy;
import io.leasefs.cluster.demo.Evidence.Facts;
import io.leasefs.cluster.demo.Evidence.Found;
import io.leasefs.cluster.demo.Evidence.Refused;
import io.leasefs.common.error.LeaseFsException;
import io.leasefs.common.lease.LeaseTerms;
import io.leasefs.common.model.ChunkHandle;
import io.leasefs.common.model.ClusterEvent;
import io.leasefs.common.model.EventKind;
import io.leasefs.common.model.ServerId;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A good failover is passed; each thing that may not happen makes it fail. */
class VerdictTest {
  private static final long SECOND = 1_000_000_000;
  private static final String CHUNK = "0x51c";
  private static final String NEXT = "0x51d";
  private static final LeaseTerms TERMS = LeaseTerms.ofTtl(3 * SECOND);
  private static final Bounds BOUNDS = Bounds.of(Demo.Kind.FAILOVER, TERMS);
  private static final Facts FACTS =
      new Facts(
          "failover",
          CHUNK,
          "cs1",
          10 * SECOND,
          TERMS.ttlNanos(),
          TERMS.heartbeatNanos(),
          TERMS.grantorValidityNanos(),
          BOUNDS.gapNanos(),
          BOUNDS.appendGapNanos(),
          BOUNDS.newPrimary());

  private final List<Acknowledged> acknowledged = new ArrayList<>();
  private final List<Refused> refused = new ArrayList<>();
  private final List<Found> found = new ArrayList<>();
  private final List<Copy> copies = new ArrayList<>();
  private final List<ClusterEvent> events = new ArrayList<>();

  /** cs1 is primary from 1 s, renewed at 9.5 s to 12.4 s, killed at 10 s; cs2 from 12.6 s. */
  private void goodFailover() {
    event(1, "m1", EventKind.LEASE_GRANTED, "cs1", 8, 1 * SECOND, Map.of());
    event(1, "cs1", EventKind.HOLDER_GRANTED, "cs1", 8, 1 * SECOND, left(2_900_000_000L));
    event(2, "cs1", EventKind.HOLDER_RENEWED, "cs1", 0, 9_500_000_000L, left(2_900_000_000L));
    event(2, "m1", EventKind.LEASE_EXPIRED, "cs1", 8, 12_600_000_000L, Map.of());
    event(3, "m1", EventKind.LEASE_GRANTED, "cs2", 9, 12_610_000_000L, Map.of());
    event(1, "cs2", EventKind.HOLDER_GRANTED, "cs2", 9, 12_620_000_000L, left(2_900_000_000L));
    for (String file : List.of(Evidence.APPENDS, Evidence.STAYING)) {
      boolean appends = file.equals(Evidence.APPENDS); // they go on elsewhere, and need not wait
      for (int n = 1; n <= 4; n++) {
        long at = 4L * n * SECOND + 3 * SECOND / 2;
        if (n > 2) {
          at = appends ? (7L + n) * SECOND + SECOND / 5 : (10L + n) * SECOND - SECOND / 3;
        }
        String chunk = appends && n > 2 ? NEXT : CHUNK;
        long version = n <= 2 ? 8 : appends ? 1 : 9;
        acknowledged.add(acknowledged(file, n, chunk, version, at));
        found.add(new Found(file, 0, n, 100L * n));
      }
    }
    for (String chunk : List.of(CHUNK, NEXT)) {
      copies.add(new Copy(chunk, "cs2", 400, "abcd"));
      copies.add(new Copy(chunk, "cs3", 400, "abcd"));
    }
  }

  private static Map<String, String> left(long nanos) {
    return Map.of("leftNanos", Long.toString(nanos));
  }

  private void event(
      long number,
      String recorder,
      EventKind kind,
      String subject,
      long version,
      long at,
      Map<String, String> fields) {
    events.add(
        new ClusterEvent(
            number,
            new ServerId(recorder),
            at / 1_000_000,
            at,
            kind,
            Optional.of(new ServerId(subject)),
            version == 0 ? Optional.empty() : Optional.of(ChunkHandle.parse(CHUNK)),
            version,
            fields));
  }

  private Evidence evidence() {
    return new Evidence(FACTS, acknowledged, refused, found, copies, events);
  }

  private void failsWith(String why) {
    Verdict verdict = Verdict.of(evidence());
    assertThat(verdict.passed()).isFalse();
    assertThat(verdict.failures()).anySatisfy(line -> assertThat(line).contains(why));
  }

  @Test
  void goodFailoverIsPassedWithItsGap() {
    goodFailover();
    Verdict verdict = Verdict.of(evidence());
    assertThat(verdict.failures()).isEmpty();
    assertThat(verdict.gapMillis()).isEqualTo(3166);
    assertThat(verdict.appendGapMillis()).isEqualTo(1000);
    assertThat(verdict.acknowledged()).isEqualTo(8);
  }

  @Test
  void appendsThatWaitForTheLeaseFail() {
    goodFailover();
    acknowledged.replaceAll(
        a ->
            a.file().equals(Evidence.APPENDS) && a.chunk().equals(NEXT)
                ? acknowledged(a.file(), a.number(), NEXT, 1, a.atNanos() + 2 * SECOND)
                : a);
    failsWith("appends: a gap of 2700 ms, more than 1300 ms");
  }

  @Test
  void lostRecordFails() {
    goodFailover();
    found.remove(2);
    failsWith("lost");
    assertThat(Verdict.of(evidence()).lost()).isEqualTo(1);
  }

  @Test
  void doubledRecordFails() {
    goodFailover();
    found.add(new Found(Evidence.APPENDS, 0, 4, 900));
    failsWith("more often");
    assertThat(Verdict.of(evidence()).doubled()).isEqualTo(1);
  }

  @Test
  void refusedRecordThatIsInTheFileFails() {
    goodFailover();
    found.add(new Found(Evidence.APPENDS, 0, 5, 900));
    refused.add(new Refused(Evidence.APPENDS, 0, 5));
    failsWith("more often");
  }

  @Test
  void reorderedRecordFails() {
    goodFailover();
    Found third = found.remove(2);
    found.add(3, third);
    failsWith("out of order");
    assertThat(Verdict.of(evidence()).outOfOrder()).isEqualTo(1);
  }

  @Test
  void earlyGrantFails() {
    goodFailover();
    events.removeIf(e -> e.kind() == EventKind.LEASE_GRANTED && e.version() == 9);
    event(3, "m1", EventKind.LEASE_GRANTED, "cs2", 9, 12 * SECOND, Map.of());
    failsWith("before the old holder's end");
    assertThat(Verdict.of(evidence()).overlapMillis()).isEqualTo(400);
  }

  @Test
  void acknowledgementByTheOldPrimaryAfterTheNewOneFails() {
    goodFailover();
    EventKind first = EventKind.HOLDER_FIRST_ACKNOWLEDGEMENT;
    EventKind last = EventKind.HOLDER_LAST_ACKNOWLEDGEMENT;
    event(2, "cs2", first, "cs2", 9, 12_700_000_000L, Map.of());
    event(3, "cs1", last, "cs1", 8, 14 * SECOND, Map.of("agoNanos", "1000000000"));
    failsWith("two primaries");
    assertThat(Verdict.of(evidence()).overlapMillis()).isEqualTo(300);
  }

  @Test
  void differingReplicasFail() {
    goodFailover();
    copies.add(new Copy(CHUNK, "cs4", 399, "abce"));
    failsWith("replicas differ");
  }

  @Test
  void gapOverTheLimitFails() {
    goodFailover();
    acknowledged.removeIf(r -> r.number() == 3);
    found.removeIf(r -> r.number() == 3);
    failsWith("a gap of");
  }

  @Test
  void chunkThatNeverComesBackFails() {
    goodFailover();
    acknowledged.removeIf(r -> r.number() > 2);
    failsWith("nothing was acknowledged again");
  }

  @Test
  void limitsThatTheEvidenceGivesItselfDoNotCount() {
    goodFailover();
    acknowledged.removeIf(r -> r.number() == 3);
    found.removeIf(r -> r.number() == 3);
    Facts lenient =
        new Facts(
            "failover",
            CHUNK,
            "cs1",
            10 * SECOND,
            TERMS.ttlNanos(),
            TERMS.heartbeatNanos(),
            TERMS.grantorValidityNanos(),
            0,
            0,
            false);
    Verdict verdict =
        Verdict.of(new Evidence(lenient, acknowledged, refused, found, copies, events));
    assertThat(verdict.failures()).anyMatch(line -> line.contains("a gap of"));
  }

  @Test
  void primaryWithoutRecordsOfItsOwnFails() {
    goodFailover();
    events.removeIf(e -> e.recorder().name().equals("cs1"));
    failsWith("the primary before the hit has no records of its own");
  }

  @Test
  void nextPrimaryWithoutRecordsOfItsOwnFails() {
    goodFailover();
    events.removeIf(e -> e.recorder().name().equals("cs2"));
    failsWith("no second primary");
  }

  @Test
  void chunkOfWhichOneReplicaWasComparedFails() {
    goodFailover();
    copies.removeLast();
    failsWith("fewer than two replicas were compared of " + NEXT);
  }

  @Test
  void recordThatNobodySentFails() {
    goodFailover();
    found.add(new Found(Evidence.APPENDS, 7, 2, 900));
    failsWith("none that a client can have sent");
  }

  @Test
  void tornRecordFails() {
    goodFailover();
    found.add(new Found(Evidence.APPENDS, -1, 900, 900));
    failsWith("none that a client can have sent");
  }

  @Test
  void offsetsThatDoNotRiseFail() {
    goodFailover();
    Found last = found.removeLast();
    found.add(new Found(last.file(), last.client(), last.number(), 100));
    failsWith("out of order");
  }

  @Test
  void evidenceThatIsNoneIsRefusedWithFileAndLine(@TempDir Path folder) throws IOException {
    goodFailover();
    new EvidenceFolder(folder).write(evidence());
    String events = Files.readString(folder.resolve("events.jsonl"));
    for (String line : List.of("", "garbage}", "{}", "{\"kind\":\"FOO\"}", "[]")) {
      Files.writeString(folder.resolve("events.jsonl"), events + line + "\n");
      assertThatThrownBy(() -> new EvidenceFolder(folder).read())
          .isInstanceOf(LeaseFsException.class)
          .hasMessageContaining("events.jsonl:7: cannot be read: ");
    }
    Files.writeString(folder.resolve("events.jsonl"), events);
    Files.writeString(folder.resolve("facts.json"), "{}\n");
    assertThatThrownBy(() -> new EvidenceFolder(folder).read())
        .isInstanceOf(LeaseFsException.class)
        .hasMessageContaining("facts.json:1: cannot be read: demo");
    new EvidenceFolder(folder.resolve("again")).write(evidence());
    Files.write(folder.resolve("again/copies.jsonl"), new byte[] {(byte) 0xff, 10});
    assertThatThrownBy(() -> new EvidenceFolder(folder.resolve("again")).read())
        .isInstanceOf(LeaseFsException.class)
        .hasMessageContaining("copies.jsonl:1: cannot be read: not UTF-8 text");
  }

  @Test
  void evidenceOnDiskGivesTheSameVerdict(@TempDir Path folder) throws IOException {
    goodFailover();
    found.add(new Found(Evidence.APPENDS, 0, 4, 900));
    Evidence evidence = evidence();
    new EvidenceFolder(folder).write(evidence);
    Evidence read = new EvidenceFolder(folder).read();
    assertThat(read).isEqualTo(evidence);
    assertThat(Verdict.of(read)).isEqualTo(Verdict.of(evidence));
  }

  private static Acknowledged acknowledged(
      String file, long number, String chunk, long version, long at) {
    return new Acknowledged(file, 0, number, at - 1, 100 * number, chunk, version, number, at);
  }
}
