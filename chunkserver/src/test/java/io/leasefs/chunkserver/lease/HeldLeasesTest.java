package io.leasefs.chunkserver.lease;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.leasefs.chunkserver.lease.HeldLeases.Outcome;
import io.leasefs.common.api.Heartbeat.HeldLease;
import io.leasefs.common.api.Heartbeat.LeaseName;
import io.leasefs.common.api.Heartbeat.Response;
import io.leasefs.common.api.Heartbeat.Status;
import io.leasefs.common.lease.LeaseDigest;
import io.leasefs.common.lease.LeaseTerms;
import io.leasefs.common.model.ChunkHandle;
import io.leasefs.common.model.ChunkSpec;
import io.leasefs.common.model.Configuration;
import io.leasefs.common.model.Durability;
import io.leasefs.common.model.FileId;
import io.leasefs.common.model.LeaseGrant;
import io.leasefs.common.model.ServerId;
import io.leasefs.common.model.SessionId;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Random;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

class HeldLeasesTest {
  private static final long SECOND = 1_000_000_000L;
  private static final LeaseTerms TERMS = LeaseTerms.ofTtl(10 * SECOND);
  private static final ChunkHandle CHUNK = new ChunkHandle(1);
  private static final ServerId MASTER = new ServerId("m1");

  private final Map<ChunkHandle, Long> promised = new HashMap<>();
  private final HeldLeases leases =
      new HeldLeases(
          "cluster", new SessionId(9), TERMS, 3, chunk -> promised.getOrDefault(chunk, 0L));
  private long number;

  @AfterEach
  void invariant() {
    leases.invariant();
  }

  private static LeaseGrant grant(ChunkHandle chunk, long version) {
    return new LeaseGrant(
        new ChunkSpec(chunk, new FileId(2), 1 << 20, Durability.REPLICATED),
        100 + version,
        new Configuration(version, Optional.empty(), List.of(), 0),
        Map.of());
  }

  private Outcome answer(long sequence, LeaseGrant... grants) {
    return receive(
        "cluster", 3, ++number, sequence, Status.OK, TERMS.ttlNanos(), List.of(), grants);
  }

  private Outcome receive(
      String cluster,
      long term,
      long responseNumber,
      long sequence,
      Status status,
      long ttl,
      List<LeaseName> revocations,
      LeaseGrant... grants) {
    return leases.receive(
        new Response(
            cluster,
            term,
            MASTER,
            responseNumber,
            sequence,
            status,
            Optional.empty(),
            ttl,
            List.of(grants),
            revocations,
            List.of(),
            0,
            List.of(),
            0));
  }

  @Test
  void endCountsFromWhenTheHeartbeatWasSentAndStopsTheGuardBefore() {
    leases.sending(1, 50 * SECOND);
    answer(1, grant(CHUNK, 1));
    long end = 60 * SECOND - TERMS.guardNanos();
    assertThat(leases.endNanos()).isEqualTo(end);
    assertThat(leases.valid(CHUNK, 1, end - 1)).isTrue();
    assertThat(leases.valid(CHUNK, 1, end)).isFalse();
    assertThat(leases.valid(CHUNK, 2, end - 1)).isFalse();
  }

  @Test
  void lateAnswerToAnOlderHeartbeatMovesNothingBack() {
    leases.sending(1, 50 * SECOND);
    leases.sending(2, 51 * SECOND);
    answer(2);
    long end = leases.endNanos();
    assertThat(answer(1).accepted()).isFalse();
    assertThat(leases.endNanos()).isEqualTo(end);
  }

  @Test
  void newestHeartbeatMayBeAnsweredAgainByAHigherNumberOnly() {
    leases.sending(1, 50 * SECOND);
    answer(1);
    assertThat(receive("cluster", 3, number, 1, Status.OK, 1, List.of()).accepted()).isFalse();
    assertThat(answer(1, grant(CHUNK, 1)).granted()).hasSize(1);
  }

  @Test
  void answersThatAreNotOursAreDroppedWhole() {
    leases.sending(1, 50 * SECOND);
    long ttl = TERMS.ttlNanos();
    LeaseGrant one = grant(CHUNK, 1);
    assertThat(receive("other", 3, 1, 1, Status.OK, ttl, List.of(), one).accepted()).isFalse();
    assertThat(receive("cluster", 2, 1, 1, Status.OK, ttl, List.of(), one).accepted()).isFalse();
    assertThat(receive("cluster", 3, 1, 7, Status.OK, ttl, List.of(), one).accepted()).isFalse();
    assertThat(receive("cluster", 9, 1, 1, Status.NOT_LEADER, ttl, List.of(), one).accepted())
        .isFalse();
    assertThat(leases.heldInFull()).isEmpty();
    assertThat(leases.highestTerm()).isEqualTo(3);
  }

  @Test
  void higherTermStartsItsNumbersAnew() {
    leases.sending(1, 50 * SECOND);
    number = 40;
    answer(1);
    assertThat(receive("cluster", 4, 1, 1, Status.OK, 0, List.of()).accepted()).isTrue();
    assertThat(receive("cluster", 3, 50, 1, Status.OK, 0, List.of()).accepted()).isFalse();
  }

  @Test
  void answerWithoutTtlRenewsNothing() {
    leases.sending(1, 50 * SECOND);
    answer(1, grant(CHUNK, 1));
    long end = leases.endNanos();
    leases.sending(2, 55 * SECOND);
    receive("cluster", 3, ++number, 2, Status.OK, 0, List.of());
    assertThat(leases.endNanos()).isEqualTo(end);
  }

  @Test
  @Tag("F28")
  void releasedLeaseIsNeverTakenAgainAndIsToldUntilHeard() {
    leases.sending(1, 50 * SECOND);
    LeaseValidity validity = answer(1, grant(CHUNK, 4)).granted().get(0).validity();
    LeaseName name = new LeaseName(CHUNK, 4);
    leases.release(name);
    assertThat(validity.validAt(51 * SECOND)).isFalse();
    assertThat(leases.hasNews()).isTrue();
    answer(1, grant(CHUNK, 4), grant(CHUNK, 3));
    assertThat(leases.heldInFull()).isEmpty();
    assertThat(leases.sending(2, 51 * SECOND).released()).contains(name);
    assertThat(leases.hasNews()).isFalse();
    answer(1);
    assertThat(leases.sending(3, 52 * SECOND).released()).contains(name); // 2 is not answered yet
    answer(2);
    assertThat(leases.sending(4, 53 * SECOND).released()).isEmpty();
    assertThat(answer(4, grant(CHUNK, 5)).granted()).hasSize(1);
  }

  @Test
  void revocationEndsTheLeaseAndIsAcknowledgedUntilHeard() {
    leases.sending(1, 50 * SECOND);
    LeaseValidity validity = answer(1, grant(CHUNK, 4)).granted().get(0).validity();
    LeaseName name = new LeaseName(CHUNK, 4);
    Outcome outcome =
        receive(
            "cluster", 3, ++number, 1, Status.OK, TERMS.ttlNanos(), List.of(name), grant(CHUNK, 4));
    assertThat(outcome.over()).containsExactly(name);
    assertThat(outcome.granted()).isEmpty();
    assertThat(validity.validAt(51 * SECOND)).isFalse();
    assertThat(leases.sending(2, 51 * SECOND).revocationsAcknowledged()).containsExactly(name);
    answer(2);
    assertThat(leases.sending(3, 52 * SECOND).revocationsAcknowledged()).isEmpty();
  }

  @Test
  void grantBelowTheReplicasPromiseIsNotTakenAndTheMasterHearsSo() {
    promised.put(CHUNK, 5L);
    leases.sending(1, 50 * SECOND);
    assertThat(answer(1, grant(CHUNK, 4)).granted()).isEmpty();
    assertThat(leases.sending(2, 51 * SECOND).released()).containsExactly(new LeaseName(CHUNK, 4));
    assertThat(answer(2, grant(CHUNK, 5)).granted()).hasSize(1);
  }

  @Test
  void higherVersionReplacesTheLower() {
    leases.sending(1, 50 * SECOND);
    LeaseValidity old = answer(1, grant(CHUNK, 1)).granted().get(0).validity();
    Outcome outcome = answer(1, grant(CHUNK, 2));
    assertThat(outcome.over()).containsExactly(new LeaseName(CHUNK, 1));
    assertThat(old.validAt(51 * SECOND)).isFalse();
    assertThat(leases.heldInFull()).containsExactly(new HeldLease(CHUNK, 2, 102));
  }

  @Test
  void digestIsThatOfWhatIsHeld() {
    leases.sending(1, 50 * SECOND);
    assertThat(leases.sending(2, 50 * SECOND).digest()).isZero();
    ChunkHandle other = new ChunkHandle(2);
    answer(2, grant(CHUNK, 1), grant(other, 7));
    assertThat(leases.sending(3, 50 * SECOND).digest())
        .isEqualTo(LeaseDigest.of(CHUNK, 1, 101) + LeaseDigest.of(other, 7, 107));
    leases.release(new LeaseName(other, 7));
    assertThat(leases.sending(4, 50 * SECOND).digest()).isEqualTo(LeaseDigest.of(CHUNK, 1, 101));
  }

  /**
   * Nothing runs after the grant, neither a timer nor an answer (TiKV 964, etcd 13527: the thread
   * that should have noticed the end was blocked). Whoever asks is told by the clock.
   */
  @Test
  @Tag("F41")
  void leaseEndsByTheClockThoughNothingElseRuns() {
    leases.sending(1, 50 * SECOND);
    LeaseValidity validity = answer(1, grant(CHUNK, 4)).granted().get(0).validity();
    long end = leases.endNanos();
    assertThat(end).isBetween(50 * SECOND, 50 * SECOND + TERMS.ttlNanos() - 1);
    assertThat(validity.validAt(end - 1)).isTrue();
    assertThat(validity.validAt(end)).isFalse();
    assertThat(validity.validAt(end + SECOND)).isFalse();
  }

  @Test
  @Tag("F35")
  void unknownSessionDropsEveryLeaseAtOnce() {
    leases.sending(1, 50 * SECOND);
    LeaseValidity validity = answer(1, grant(CHUNK, 1)).granted().get(0).validity();
    Outcome outcome = receive("cluster", 3, ++number, 1, Status.UNKNOWN_SESSION, 0, List.of());
    assertThat(outcome.sessionLost()).isTrue();
    assertThat(outcome.over()).containsExactly(new LeaseName(CHUNK, 1));
    assertThat(validity.validAt(51 * SECOND)).isFalse();
    leases.newSession(new SessionId(10));
    leases.sending(2, 52 * SECOND);
    number = 0;
    assertThat(answer(2, grant(CHUNK, 2)).granted()).hasSize(1);
    assertThat(validity.validAt(53 * SECOND)).isFalse();
  }

  @Test
  void sequencesOnlyGoUp() {
    leases.sending(5, 50 * SECOND);
    assertThatThrownBy(() -> leases.sending(5, 51 * SECOND))
        .isInstanceOf(IllegalArgumentException.class);
  }

  /** E1, the holder's half: whatever is lost, doubled or late, it never acts past s_k + T - g. */
  @Test
  void holderNeverActsPastTheEndOfTheNewestAnswerItCouldHaveSeen() {
    for (int seed = 0; seed < 200; seed++) {
      Random random = new Random(seed);
      HeldLeases some = new HeldLeases("cluster", new SessionId(9), TERMS, 3, chunk -> 0);
      long now = SECOND;
      long bound = Long.MIN_VALUE;
      long responses = 0;
      long[] sent = new long[60];
      for (long sequence = 1; sequence < 60; sequence++) {
        now += random.nextLong(2 * SECOND);
        some.sending(sequence, now);
        sent[(int) sequence] = now;
        if (random.nextBoolean()) {
          long answered = 1 + random.nextLong(sequence);
          now += random.nextLong(3 * SECOND);
          long ttl = random.nextInt(5) == 0 ? 0 : TERMS.ttlNanos();
          Outcome outcome =
              some.receive(
                  new Response(
                      "cluster",
                      3,
                      MASTER,
                      random.nextInt(4) == 0 ? responses : ++responses,
                      answered,
                      Status.OK,
                      Optional.empty(),
                      ttl,
                      List.of(grant(CHUNK, 1)),
                      List.of(),
                      List.of(),
                      0,
                      List.of(),
                      0));
          if (outcome.accepted() && ttl > 0) {
            bound = Math.max(bound, sent[(int) answered] + ttl - TERMS.guardNanos());
          }
        }
        assertThat(some.endNanos()).as("seed %d", seed).isEqualTo(bound);
        long probe = now + random.nextLong(12 * SECOND);
        assertThat(some.valid(CHUNK, 1, probe) && probe >= bound).as("seed %d", seed).isFalse();
        some.invariant();
      }
    }
  }
}
