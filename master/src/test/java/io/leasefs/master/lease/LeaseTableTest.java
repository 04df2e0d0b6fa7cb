package io.leasefs.master.lease;

import static org.assertj.core.api.Assertions.assertThat;

import io.leasefs.common.api.Heartbeat.HeldLease;
import io.leasefs.common.api.Heartbeat.LeaseName;
import io.leasefs.common.lease.LeaseDigest;
import io.leasefs.common.lease.LeaseTerms;
import io.leasefs.common.model.ChunkHandle;
import io.leasefs.common.model.SessionId;
import io.leasefs.master.lease.LeaseTable.Answer;
import io.leasefs.master.lease.LeaseTable.Lease;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

class LeaseTableTest {
  private static final long SECOND = 1_000_000_000;
  private static final SessionId S = new SessionId(5);
  private static final ChunkHandle C = new ChunkHandle(20);
  private static final ChunkHandle D = new ChunkHandle(30);
  private static final Lease C1 = new Lease(C, 1, 20, S);
  private static final Lease C2 = new Lease(C, 2, 20, S);
  private static final Lease D1 = new Lease(D, 1, 30, S);

  private final LeaseTerms terms = LeaseTerms.ofTtl(10 * SECOND);
  private final long grantorNanos = terms.grantorValidityNanos();
  private final LeaseTable table = new LeaseTable(terms);

  @Test
  void sessionEndsAfterItsValidityCountedFromTheNewestReceipt() {
    table.open(S, 10 * SECOND, 100);
    table.heard(S, 3 * SECOND);

    assertThat(table.expire(3 * SECOND + grantorNanos - 1)).isEmpty();
    assertThat(table.expire(3 * SECOND + grantorNanos)).containsExactly(S);
  }

  @Test
  @Tag("F23")
  void recordedTtlDecidesWhateverTheTermsAreNow() {
    table.open(S, 30 * SECOND, 0);

    assertThat(table.expire(grantorNanos)).isEmpty();
    assertThat(table.expire(terms.grantorValidityNanos(30 * SECOND))).containsExactly(S);
  }

  @Test
  void lostAnswerCountsAsDelivered() {
    table.open(S, 10 * SECOND, 0);
    table.heard(S, 5 * SECOND);
    // no answer was ever made for it

    assertThat(table.endOf(S)).isEqualTo(5 * SECOND + grantorNanos);
  }

  @Test
  void endingSessionIsNotRenewed() {
    table.open(S, 10 * SECOND, 0);
    table.expire(grantorNanos);

    assertThat(table.heard(S, grantorNanos + 1)).isFalse();
    assertThat(table.endOf(S)).isEqualTo(grantorNanos);
    assertThat(answer(0).ttlNanos()).isZero();
    assertThat(table.expire(grantorNanos + 2)).isEmpty();
  }

  @Test
  void endThatIsNeverAppliedGivesTheSessionBack() {
    table.open(S, 10 * SECOND, 0);
    table.expire(grantorNanos);
    table.notEnded(S);

    assertThat(table.heard(S, grantorNanos + 1)).isTrue();
  }

  @Test
  void newLeaderTakesEverySessionAsAliveFromReady() {
    table.adopt(S, 10 * SECOND, 50 * SECOND);

    assertThat(table.expire(50 * SECOND + grantorNanos - 1)).isEmpty();
  }

  @Test
  void grantIsRepeatedUntilTheDigestShowsIt() {
    table.open(S, 10 * SECOND, 0);
    table.granted(C1);

    assertThat(answer(0).grants()).containsExactly(C1);
    assertThat(answer(0).grants()).containsExactly(C1);
    Answer confirmed = answer(digest(C1));
    assertThat(confirmed.grants()).isEmpty();
    assertThat(confirmed.ttlNanos()).isEqualTo(10 * SECOND);
  }

  @Test
  void olderPartOfTheGrantsIsConfirmedByTheDigest() {
    table.open(S, 10 * SECOND, 0);
    table.granted(C1);
    table.granted(D1);

    Answer answer = answer(digest(C1));

    assertThat(answer.grants()).containsExactly(D1);
    assertThat(answer.ttlNanos()).isPositive();
  }

  @Test
  void strangeDigestRenewsNothing() {
    table.open(S, 10 * SECOND, 0);
    table.granted(C1);

    Answer answer = answer(12345);

    assertThat(answer.ttlNanos()).isZero();
    assertThat(answer.needFull()).isTrue();
  }

  @Test
  void fullListIsMadeEqualByTheAnswer() {
    table.open(S, 10 * SECOND, 0);
    table.granted(C1);

    Answer answer = table.answer(S, 12345, Optional.of(List.of(new HeldLease(D, 7, 3))));

    assertThat(answer.ttlNanos()).isPositive();
    assertThat(answer.grants()).containsExactly(C1);
    assertThat(answer.revocations()).containsExactly(new LeaseName(D, 7));
  }

  @Test
  void holderOfASealedChunksLeaseIsToldAndRenewedAllTheSame() {
    table.open(S, 10 * SECOND, 0);
    table.granted(C1);
    answer(digest(C1));
    table.sealed(C1);
    assertThat(table.hasUnsent(S)).isFalse();

    Answer answer = answer(digest(C1));

    assertThat(answer.ttlNanos()).isPositive();
    assertThat(answer.revocations()).containsExactly(C1.name());
    table.gone(S, C1.name()); // it has heard
    assertThat(answer(0).revocations()).isEmpty();
    assertThat(answer(0).ttlNanos()).isPositive();
  }

  @Test
  void nextVersionOfTheSamePrimaryNeedsNoFullList() {
    table.open(S, 10 * SECOND, 0);
    table.granted(C1);
    answer(0);
    answer(digest(C1));
    table.granted(C2);

    Answer still = answer(digest(C1));
    assertThat(still.ttlNanos()).isPositive();
    assertThat(still.grants()).containsExactly(C2);
    // it has promised version 2 and holds nothing until the grant arrives
    assertThat(answer(0).ttlNanos()).isPositive();
    assertThat(answer(digest(C2)).grants()).isEmpty();
  }

  @Test
  void revocationIsRepeatedAndItsGateIsTheEndWhenFirstPut() {
    table.open(S, 10 * SECOND, 0);
    table.granted(C1);
    answer(0);
    answer(digest(C1));
    table.heard(S, SECOND);
    table.revoked(C1, false);
    assertThat(table.gate(C1)).isEmpty();

    assertThat(answer(digest(C1)).revocations()).containsExactly(new LeaseName(C, 1));
    table.heard(S, 8 * SECOND);
    assertThat(answer(digest(C1)).revocations()).containsExactly(new LeaseName(C, 1));

    assertThat(table.gate(C1)).contains(SECOND + grantorNanos);
    assertThat(table.endOf(S)).isEqualTo(8 * SECOND + grantorNanos);
  }

  @Test
  void acknowledgementOpensTheGateAtOnce() {
    table.open(S, 10 * SECOND, 0);
    table.granted(C1);
    table.revoked(C1, false);
    answer(0);

    table.givenBack(S, new LeaseName(C, 1));

    assertThat(table.gate(C1)).contains(Long.MIN_VALUE);
    assertThat(answer(0).revocations()).isEmpty();
  }

  @Test
  void predecessorsRevocationCountsFromReady() {
    table.adopt(S, 10 * SECOND, 100 * SECOND);
    table.revoked(C1, true);
    table.heard(S, 105 * SECOND);

    assertThat(table.gate(C1)).contains(100 * SECOND + grantorNanos);
  }

  @Test
  void proofOfDeathOpensTheGateAtOnce() {
    table.open(S, 10 * SECOND, 0);
    table.granted(C1);
    assertThat(table.gate(C1)).isEmpty();

    table.ended(S);

    assertThat(table.gate(C1)).contains(Long.MIN_VALUE);
  }

  @Test
  @Tag("F28")
  void releasedLeaseIsNotGrantedAgainWhileTheLogStillHasIt() {
    table.open(S, 10 * SECOND, 0);
    table.granted(C1);
    answer(0);
    answer(digest(C1));
    table.givenBack(S, new LeaseName(C, 1));
    table.granted(C1);

    assertThat(answer(0).grants()).isEmpty();
  }

  @Test
  void newLeaderFindsALeaseThatWasNeverHeld() {
    table.adopt(S, 10 * SECOND, 0);
    table.granted(C1);
    table.granted(D1);

    List<Lease> never = table.neverHeld(S, List.of(new HeldLease(D, 1, 30)));

    assertThat(never).containsExactly(C1);
    assertThat(table.gate(C1)).contains(Long.MIN_VALUE);
    assertThat(answer(digest(D1)).grants()).doesNotContain(C1);
  }

  /** The leader before has logged his next version and could not tell him. */
  @Test
  void leaseWhoseHolderStillHoldsTheVersionBeforeIsNotCalledUnheld() {
    table.adopt(S, 10 * SECOND, 0);
    Lease next = new Lease(C, 2, C1.token(), S);
    table.granted(next);

    assertThat(table.neverHeld(S, List.of(new HeldLease(C, 1, C1.token())))).isEmpty();
    assertThat(table.gate(next)).isEmpty();
    assertThat(answer(digest(C1)).grants()).contains(next);
  }

  @Test
  void leaseThatThisLeaderPutIntoAResponseIsNeverCalledUnheld() {
    table.adopt(S, 10 * SECOND, 0);
    table.granted(C1);
    answer(0);

    assertThat(table.neverHeld(S, List.of())).isEmpty();
    assertThat(table.gate(C1)).isEmpty();
  }

  private Answer answer(long digest) {
    return table.answer(S, digest, Optional.empty());
  }

  private static long digest(Lease... leases) {
    long sum = 0;
    for (Lease lease : leases) {
      sum += LeaseDigest.of(lease.chunk(), lease.version(), lease.token());
    }
    return sum;
  }
}
