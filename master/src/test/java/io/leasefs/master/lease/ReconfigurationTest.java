package io.leasefs.master.lease;

import static org.assertj.core.api.Assertions.assertThat;

import io.leasefs.common.api.Heartbeat.Certainty;
import io.leasefs.common.api.Heartbeat.MemberFailure;
import io.leasefs.common.api.Heartbeat.RecoverCommand;
import io.leasefs.common.api.Heartbeat.SealAnswer;
import io.leasefs.common.api.Heartbeat.SealCommand;
import io.leasefs.common.api.Heartbeat.VersionStarted;
import io.leasefs.common.model.ChunkHandle;
import io.leasefs.common.model.ChunkSeal;
import io.leasefs.common.model.ChunkSpec;
import io.leasefs.common.model.Configuration;
import io.leasefs.common.model.DiskId;
import io.leasefs.common.model.Durability;
import io.leasefs.common.model.FileId;
import io.leasefs.common.model.Member;
import io.leasefs.common.model.ReplicaId;
import io.leasefs.common.model.ServerAddress;
import io.leasefs.common.model.ServerId;
import io.leasefs.common.model.SessionId;
import io.leasefs.master.lease.Reconfiguration.Plan;
import io.leasefs.master.lease.Reconfiguration.Settings;
import io.leasefs.master.log.Operation;
import io.leasefs.master.log.Operation.Activate;
import io.leasefs.master.log.Operation.BeginChange;
import io.leasefs.master.log.Operation.ChangeReason;
import io.leasefs.master.log.Operation.LeaseId;
import io.leasefs.master.log.Operation.Participant;
import io.leasefs.master.log.Operation.RecoverChange;
import io.leasefs.master.log.Operation.RevokeLease;
import io.leasefs.master.log.Operation.SealChunk;
import io.leasefs.master.log.Operation.Seed;
import io.leasefs.master.state.ChunkEntry;
import io.leasefs.master.state.ChunkEntry.Lease;
import io.leasefs.master.state.ChunkEntry.Pending;
import io.leasefs.master.state.ChunkEntry.Step;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Version 5 of a chunk with members p (primary at 4), x and y. */
class ReconfigurationTest {
  private static final long PATIENCE = Reconfiguration.PATIENCE_NANOS;
  private static final ChunkHandle CHUNK = new ChunkHandle(50);
  private static final Member P = member("p");
  private static final Member X = member("x");
  private static final Member Y = member("y");
  private static final ChunkSpec SPEC =
      new ChunkSpec(CHUNK, new FileId(40), 64 << 20, Durability.REPLICATED);
  private static final Settings TWO = new Settings(2, 3, 0, Set.of());

  private final Known servers = new Known("p", "x", "y");
  private Reconfiguration change = new Reconfiguration(5, Set.of(), 0);

  @Test
  void everyMemberIsToldToSealUntilItHasAnswered() {
    Plan plan = plan(begun(ChangeReason.PRIMARY_LOST), 0);
    assertThat(plan.commands()).containsOnlyKeys(id("p"), id("x"), id("y"));
    assertThat(plan.commands().values()).allMatch(command -> command instanceof SealCommand);

    sealed("x", 4, 10);
    assertThat(plan(begun(ChangeReason.PRIMARY_LOST), 0).commands())
        .containsOnlyKeys(id("p"), id("y"));
  }

  @Test
  void seedHasTheHighestAcceptedVersionThenTheHighestSerial() {
    sealed("p", 3, 99);
    sealed("x", 4, 10);
    sealed("y", 4, 12);

    assertThat(recover(plan(begun(ChangeReason.PRIMARY_LOST), 0)).seed())
        .isEqualTo(new Seed(id("y"), 1));
  }

  @Test
  void othersAreWaitedForAHundredMillisecondsAfterTheFirstUsableAnswer() {
    sealed("x", 4, 10);
    sealed("y", 4, 10);

    assertThat(plan(begun(ChangeReason.PRIMARY_LOST), 1000).proposal()).isEmpty();
    assertThat(plan(begun(ChangeReason.PRIMARY_LOST), 1000 + PATIENCE - 1).proposal()).isEmpty();
    assertThat(recover(plan(begun(ChangeReason.PRIMARY_LOST), 1000 + PATIENCE)).targets())
        .extracting(target -> target.member().server().name())
        .hasSize(1);
  }

  @Test
  void noMoreGoOnThanTheGoalAsksForAndWhoIsBeingEmptiedGoesFirst() {
    servers.draining.add(id("x"));
    sealed("p", 4, 12);
    sealed("x", 4, 10);
    sealed("y", 4, 11);
    Settings goalOfTwo = new Settings(2, 2, 0, Set.of());

    Plan plan = change.plan(begun(ChangeReason.PRIMARY_LOST), servers, goalOfTwo, 0);

    assertThat(recover(plan).seed().server()).isEqualTo(id("p"));
    assertThat(recover(plan).targets())
        .extracting(target -> target.member().server())
        .containsExactly(id("y"));
  }

  @Test
  @Tag("F47")
  void memberWithEvidenceAgainstItIsNotWaitedFor() {
    servers.suspects.add(id("p"));
    sealed("x", 4, 10);
    sealed("y", 4, 11);

    assertThat(recover(plan(begun(ChangeReason.PRIMARY_LOST), 0)).seed().server())
        .isEqualTo(id("y"));
  }

  @Test
  void memberWhoseDiskHasRoomAgainIsAskedAgain() {
    servers.suspects.add(id("p"));
    sealed("x", 4, 10);
    sealed("y", 3, 9, Certainty.DAMAGED, 0);
    Plan plan = plan(begun(ChangeReason.PRIMARY_LOST), 0);
    assertThat(plan.commands()).doesNotContainKey(id("y"));
    assertThat(plan.proposal()).isEmpty();

    assertThat(change.mended(id("x"), X.replica())).isFalse();
    assertThat(change.mended(id("y"), Y.replica())).isTrue();
    assertThat(plan(begun(ChangeReason.PRIMARY_LOST), 0).commands()).containsKey(id("y"));

    sealed("y", 3, 9);
    assertThat(recover(plan(begun(ChangeReason.PRIMARY_LOST), 0)).seed().server())
        .isEqualTo(id("x"));
  }

  @Test
  void memberWhoseDiskHadNoRoomForTheBirthIsAskedAgain() {
    servers.suspects.add(id("p"));
    ChunkEntry born = bornAndBegun(ChangeReason.EARLY_SEAL);
    sealed("x", 0, 0, Certainty.UNKNOWN_CHUNK, 0);
    sealed("y", 0, 0, Certainty.UNKNOWN_CHUNK, 0);
    Plan plan = plan(born, 0);
    assertThat(plan.proposal()).isEmpty();
    assertThat(plan.commands().get(id("x")))
        .isInstanceOfSatisfying(
            SealCommand.class, seal -> assertThat(seal.birth()).contains(born.active()));
    assertThat(plan.commands()).containsKey(id("y"));

    sealed("x", 1, 0);
    sealed("y", 1, 0);
    assertThat(recover(plan(born, 0)).seed().server()).isEqualTo(id("x"));
  }

  /** Its server makes a new copy: only that one is asked, counts, and is brought up. */
  @Test
  void memberThatIsReplacedAtItsServerIsNeitherAskedNorWaitedFor() {
    servers.suspects.add(id("p"));
    ChunkEntry born = bornAndBegun(ChangeReason.MEMBER_FAILED);
    Member copy = new Member(id("y"), new DiskId("disk-y"), new ReplicaId(70));
    ChunkEntry replacing =
        new ChunkEntry(
            born.spec(),
            born.index(),
            born.lastVersion(),
            born.active(),
            List.of(),
            born.pending(),
            born.lease(),
            born.seal(),
            false,
            List.of(new ChunkEntry.Learner(copy, 1, 1)),
            1);
    sealed("x", 1, 9);
    Settings caughtUp = new Settings(2, 3, 0, Set.of(copy.replica()));
    Plan plan = change.plan(replacing, servers, caughtUp, 0);
    assertThat(plan.proposal()).isEmpty();
    assertThat(plan.commands().get(id("y")))
        .isInstanceOfSatisfying(
            SealCommand.class, seal -> assertThat(seal.member()).isEqualTo(copy));

    change.sealed(
        id("y"),
        1,
        new SealAnswer(CHUNK, copy.replica(), 5, 5, 1, 9, 0, 0, false, false, Certainty.CERTAIN));
    RecoverChange recover = recover(change.plan(replacing, servers, caughtUp, 0));
    assertThat(recover.seed().server()).isEqualTo(id("x"));
    assertThat(recover.targets()).extracting(Participant::member).containsExactly(copy);
  }

  @Test
  void memberThatLostItsCopyIsNotAskedForItAgain() {
    sealed("x", 0, 0, Certainty.UNKNOWN_CHUNK, 0);
    assertThat(plan(begun(ChangeReason.PRIMARY_LOST), 0).commands()).doesNotContainKey(id("x"));
  }

  @Test
  void targetThatTheSeedsJournalDoesNotReachNeedsACopyAndIsNoTargetOfThatSeedAgain() {
    sealed("x", 4, 10);
    sealed("y", 4, 5);
    change.targetFailed(id("x"), Y, MemberFailure.NEEDS_COPY);
    assertThat(plan(recovering(ChangeReason.PRIMARY_LOST, "x", "y"), 0).proposal().orElseThrow())
        .isInstanceOf(BeginChange.class);
    assertThat(change.lacks(Y, servers)).isTrue();

    Reconfiguration before = change;
    change = new Reconfiguration(5, before, 0);
    sealed("x", 4, 10);
    sealed("y", 4, 5);
    Plan alone = plan(begun(ChangeReason.PRIMARY_LOST), 10 * PATIENCE);
    assertThat(alone.proposal()).isEmpty();
    assertThat(alone.waiting().orElseThrow().what()).contains("a copy is being made");

    sealed("p", 4, 9);
    RecoverChange recover = recover(plan(begun(ChangeReason.PRIMARY_LOST), 10 * PATIENCE));
    assertThat(recover.seed().server()).isEqualTo(id("x"));
    assertThat(recover.targets())
        .extracting(target -> target.member().server())
        .containsExactly(id("p"));
  }

  @Test
  @Tag("F51")
  void damageAndAnUnknownChunkNeverCountAsEmpty() {
    servers.suspects.add(id("p"));
    sealed("x", 0, 0, Certainty.UNKNOWN_CHUNK, 0);
    sealed("y", 0, 0, Certainty.DAMAGED, 0);

    Plan plan = plan(begun(ChangeReason.PRIMARY_LOST), 10 * PATIENCE);

    assertThat(plan.proposal()).isEmpty();
    assertThat(plan.waiting()).isPresent();
  }

  @Test
  void uncertainMemberSeedsOnlyWhenEveryMemberHasAnswered() {
    sealed("x", 4, 10, Certainty.UNCERTAIN, 5);
    sealed("y", 4, 11, Certainty.UNCERTAIN, 5);
    assertThat(plan(begun(ChangeReason.PRIMARY_LOST), 10 * PATIENCE).proposal()).isEmpty();

    sealed("p", 4, 9, Certainty.UNCERTAIN, 5);
    assertThat(recover(plan(begun(ChangeReason.PRIMARY_LOST), 10 * PATIENCE)).seed().server())
        .isEqualTo(id("y"));
  }

  @Test
  void certainMemberIsPreferredToAnUncertainOneThatHasMore() {
    sealed("p", 4, 20, Certainty.UNCERTAIN, 5);
    sealed("x", 4, 10);
    sealed("y", 4, 20, Certainty.UNCERTAIN, 5);

    assertThat(recover(plan(begun(ChangeReason.PRIMARY_LOST), 0)).seed().server())
        .isEqualTo(id("x"));
  }

  @Test
  @Tag("F51")
  void nothingStartsBelowWhatAnyoneKnowsToBeCommitted() {
    sealed("x", 4, 10, Certainty.CERTAIN, 0);
    sealed("y", 0, 0, Certainty.DAMAGED, 12);
    sealed("p", 4, 11, Certainty.CERTAIN, 0);

    Plan plan = plan(begun(ChangeReason.PRIMARY_LOST), 10 * PATIENCE);

    assertThat(plan.proposal()).isEmpty();
    assertThat(plan.waiting().orElseThrow().what()).contains("committed");
  }

  /** Two that were put back from an older state, while the third, which has all, is away. */
  @Test
  void whoHasLessThanTheLogKnowsToBeStoredDoesNotSeedHoweverCertainItIs() {
    servers.suspects.add(id("p"));
    sealed("x", 4, 10);
    sealed("y", 4, 12);
    ChunkEntry chunk = withSeal(begun(ChangeReason.REOPEN), new ChunkSeal(20, 4_000, 7));

    Plan plan = plan(chunk, 10 * PATIENCE);
    assertThat(plan.proposal()).isEmpty();
    assertThat(plan.waiting().orElseThrow().what()).contains("committed (serial 20)");

    sealed("p", 4, 20);
    assertThat(recover(plan(chunk, 10 * PATIENCE)).seed().server()).isEqualTo(id("p"));
  }

  /** What its policy allows to be lost with all its copies' memory keeps no chunk from going on. */
  @Test
  void uncertainMembersMayAllHaveLessThanTheLogKnows() {
    sealed("p", 4, 9, Certainty.UNCERTAIN, 5);
    sealed("x", 4, 10, Certainty.UNCERTAIN, 5);
    sealed("y", 4, 8, Certainty.UNCERTAIN, 5);
    ChunkEntry chunk = withSeal(begun(ChangeReason.REOPEN), new ChunkSeal(20, 4_000, 7));

    assertThat(recover(plan(chunk, 10 * PATIENCE)).seed().server()).isEqualTo(id("x"));
  }

  @Test
  void memberOfAChunkThatWasSealedOnceIsNotBornAgain() {
    ChunkEntry chunk = bornAndBegun(ChangeReason.REOPEN);
    assertThat(chunk.mayBeBorn(X)).isTrue();
    assertThat(withSeal(chunk, new ChunkSeal(20, 4_000, 7)).mayBeBorn(X)).isFalse();
  }

  private static ChunkEntry withSeal(ChunkEntry chunk, ChunkSeal seal) {
    return new ChunkEntry(
        chunk.spec(),
        chunk.index(),
        chunk.lastVersion(),
        chunk.active(),
        chunk.birth(),
        chunk.pending(),
        chunk.lease(),
        Optional.of(seal),
        chunk.sealedForEver(),
        chunk.learners(),
        chunk.references());
  }

  @Test
  void answerOfAnEarlierIncarnationDoesNotCount() {
    sealed("x", 4, 10);
    sealed("y", 4, 10);
    servers.incarnations.put(id("x"), 2L);

    assertThat(plan(begun(ChangeReason.PRIMARY_LOST), 10 * PATIENCE).commands())
        .containsKey(id("x"));
    assertThat(plan(begun(ChangeReason.PRIMARY_LOST), 10 * PATIENCE).proposal()).isEmpty();
  }

  @Test
  void answerToAnotherVersionIsIgnored() {
    assertThat(change.sealed(id("x"), 1, answer("x", 4, 4, 10, Certainty.CERTAIN, 0))).isFalse();
    assertThat(
            change.sealed(
                id("x"),
                1,
                new SealAnswer(
                    CHUNK, X.replica(), 5, 6, 4, 10, 0, 0, false, false, Certainty.CERTAIN)))
        .isFalse();
  }

  @Test
  void loneSeedIsNotNamedBelowMinReplicas() {
    servers.suspects.add(id("p"));
    servers.suspects.add(id("y"));
    sealed("x", 4, 10);

    Plan plan = plan(begun(ChangeReason.PRIMARY_LOST), 10 * PATIENCE);

    assertThat(plan.proposal()).isEmpty();
    assertThat(plan.waiting().orElseThrow().what()).contains("1 of at least 2");
  }

  @Test
  void seedIsToldToRecoverUntilAllHaveStarted() {
    ChunkEntry chunk = recovering(ChangeReason.PRIMARY_LOST, "x", "y");
    assertThat(plan(chunk, 0).commands().get(id("x"))).isInstanceOf(RecoverCommand.class);

    started("x", 11);
    assertThat(plan(chunk, 0).commands()).containsOnlyKeys(id("x"));
    started("y", 11);
    assertThat(plan(chunk, 0).commands()).isEmpty();
  }

  @Test
  void gateHoldsActivationBackUntilTheOldLeaseIsGone() {
    ChunkEntry chunk = recovering(ChangeReason.PRIMARY_LOST, "x", "y");
    started("x", 11);
    started("y", 11);
    ChunkEntry held = withLease(chunk, "p", true);

    assertThat(plan(held, 0).proposal()).isEmpty();
    assertThat(plan(held, 0).waiting().orElseThrow().whom()).contains(id("p"));
    Activate activate = (Activate) plan(withoutLease(held), 0).proposal().orElseThrow();
    assertThat(activate.members()).hasSize(2);
    assertThat(activate.firstSerial()).isEqualTo(11);
  }

  @Test
  void livePrimaryThatAnsweredTooLateToGoOnIsRevoked() {
    ChunkEntry chunk = withLease(recovering(ChangeReason.MEMBER_JOINS, "x", "y"), "p", false);
    started("x", 11);
    started("y", 11);

    RevokeLease revoke = (RevokeLease) plan(chunk, 0).proposal().orElseThrow();

    Lease lease = chunk.lease().orElseThrow();
    assertThat(revoke.lease()).isEqualTo(new LeaseId(CHUNK, lease.version(), lease.session()));
  }

  @Test
  void joiningCopyIsWaitedForLongerThanAMember() {
    ChunkEntry chunk = withLease(recovering(ChangeReason.MEMBER_JOINS, "p", "x", "y"), "p", false);
    started("p", 11);
    started("x", 11);

    assertThat(plan(chunk, 0).proposal()).isEmpty();
    assertThat(plan(chunk, 5 * PATIENCE).proposal()).isEmpty();
    started("y", 11);
    Activate activate = (Activate) plan(chunk, 5 * PATIENCE).proposal().orElseThrow();
    assertThat(activate.members()).hasSize(3);
  }

  @Test
  void joiningCopyThatNeverComesDoesNotHoldTheChunkBackForEver() {
    ChunkEntry chunk = withLease(recovering(ChangeReason.MEMBER_JOINS, "p", "x", "y"), "p", false);
    started("p", 11);
    started("x", 11);

    assertThat(plan(chunk, 0).proposal()).isEmpty();
    Plan late = plan(chunk, Reconfiguration.JOIN_PATIENCE_NANOS);
    assertThat(((Activate) late.proposal().orElseThrow()).members()).hasSize(2);
  }

  @Test
  void samePrimaryGoesOnWithoutWaiting() {
    ChunkEntry chunk = withLease(recovering(ChangeReason.MEMBER_FAILED, "p", "x"), "p", false);
    started("p", 11);
    started("x", 11);

    Activate activate = (Activate) plan(chunk, 0).proposal().orElseThrow();

    assertThat(activate.primary()).isEqualTo(servers.session(id("p")).orElseThrow());
    assertThat(activate.members().get(0).member()).isEqualTo(P);
  }

  @Test
  void primaryIsNotDrainingWhereAnotherCanBe() {
    ChunkEntry chunk = withoutLease(recovering(ChangeReason.HAND_OVER, "p", "x"));
    servers.draining.add(id("p"));
    started("p", 11);
    started("x", 11);

    Activate activate = (Activate) plan(chunk, 0).proposal().orElseThrow();

    assertThat(activate.members().get(0).member()).isEqualTo(X);
  }

  @Test
  void seedThatRegisteredAgainIsNoSeed() {
    ChunkEntry chunk = recovering(ChangeReason.PRIMARY_LOST, "x", "y");
    servers.incarnations.put(id("x"), 2L);

    BeginChange again = (BeginChange) plan(chunk, 0).proposal().orElseThrow();

    assertThat(again.version()).isEqualTo(6);
    assertThat(again.seed()).isEmpty();
  }

  @Test
  void seedThatTurnsOutDamagedIsNoSeed() {
    ChunkEntry chunk = recovering(ChangeReason.PRIMARY_LOST, "x", "y");
    sealed("x", 4, 10, Certainty.DAMAGED, 0);

    assertThat(plan(chunk, 0).proposal().orElseThrow()).isInstanceOf(BeginChange.class);
  }

  @Test
  void startOfAnEarlierIncarnationIsNotActivated() {
    ChunkEntry chunk = withoutLease(recovering(ChangeReason.PRIMARY_LOST, "x", "y"));
    started("x", 11);
    started("y", 11);
    servers.incarnations.put(id("y"), 2L);

    assertThat(plan(chunk, 0).proposal().orElseThrow()).isInstanceOf(BeginChange.class);
  }

  @Test
  void earlySealNeedsNoGate() {
    ChunkEntry chunk = withLease(recovering(ChangeReason.EARLY_SEAL, "x", "y"), "p", true);
    sealed("x", 4, 10);
    startedSealed("x", 11, 1000);
    startedSealed("y", 11, 1000);

    SealChunk seal = (SealChunk) plan(chunk, 0).proposal().orElseThrow();

    assertThat(seal.seal().lengthBytes()).isEqualTo(1000);
    assertThat(seal.members()).hasSize(2);
  }

  @Test
  void earlySealWaitsForTheGateWhereAnOverwriteIsNotCommitted() {
    ChunkEntry chunk = withLease(recovering(ChangeReason.EARLY_SEAL, "x", "y"), "p", true);
    change.sealed(
        id("x"),
        1,
        new SealAnswer(CHUNK, X.replica(), 5, 5, 4, 10, 8, 0, false, true, Certainty.CERTAIN));
    startedSealed("x", 11, 1000);
    startedSealed("y", 11, 1000);

    assertThat(plan(chunk, 0).proposal()).isEmpty();
    assertThat(plan(withoutLease(chunk), 0).proposal().orElseThrow()).isInstanceOf(SealChunk.class);
  }

  @Test
  void historyThatEndsInASealEndsAnyChangeAsSealed() {
    ChunkEntry chunk = withoutLease(recovering(ChangeReason.PRIMARY_LOST, "x", "y"));
    sealed("x", 4, 10);
    startedSealed("x", 11, 1000);
    startedSealed("y", 11, 1000);

    assertThat(plan(chunk, 0).proposal().orElseThrow()).isInstanceOf(SealChunk.class);
  }

  @Test
  void seedThatReachesNobodyIsPassedOverThoughItHasAcceptedMore() {
    change.blame(id("x")); // so p said
    ChunkEntry chunk = recovering(ChangeReason.MEMBER_FAILED, "p", "x", "y");
    started("p", 11);
    assertThat(plan(chunk, 0).proposal()).isEmpty();
    assertThat(plan(chunk, 1_900_000_000L).proposal()).isEmpty();
    assertThat(plan(chunk, 2_000_000_000L).proposal().orElseThrow())
        .isInstanceOf(BeginChange.class);
    assertThat(change.blamed()).containsExactly(id("p"));

    change = new Reconfiguration(5, Set.of(id("p")), 0);
    sealed("p", 5, 11);
    sealed("x", 4, 10);
    sealed("y", 4, 10);
    Seed next = recover(plan(begun(ChangeReason.MEMBER_FAILED), 0)).seed();
    assertThat(next.server()).isNotEqualTo(id("p"));
  }

  @Test
  void amongUncertainMembersTheOneThatHasMostSeedsThoughItIsBlamed() {
    change.blame(id("y"));
    sealed("x", 4, 10, Certainty.UNCERTAIN, 5);
    sealed("y", 4, 11, Certainty.UNCERTAIN, 5);
    sealed("p", 4, 9, Certainty.UNCERTAIN, 5);
    assertThat(recover(plan(begun(ChangeReason.PRIMARY_LOST), 10 * PATIENCE)).seed().server())
        .isEqualTo(id("y"));
  }

  @Test
  @Tag("F47")
  void recoveryThatStandsStillBeginsAnewWithoutTheLaggard() {
    change.blame(id("x")); // it was passed over already, and nobody else did better
    ChunkEntry chunk = recovering(ChangeReason.PRIMARY_LOST, "x", "y");
    started("x", 11);
    assertThat(plan(chunk, 0).proposal()).isEmpty();

    assertThat(plan(chunk, 6_000_000_000L).proposal().orElseThrow())
        .isInstanceOf(BeginChange.class);
    assertThat(change.blamed()).contains(id("y"));
  }

  @Test
  void memberThatNeedsACopyDoesNotBlameTheSeed() {
    servers.suspects.add(id("y"));
    sealed("x", 4, 8, Certainty.UNCERTAIN, 5);
    ChunkEntry chunk = recovering(ChangeReason.MEMBER_FAILED, "p", "x");
    started("p", 11);
    assertThat(plan(chunk, 0).proposal()).isEmpty();

    change.targetFailed(id("p"), X, MemberFailure.NEEDS_COPY);

    // p and x are not two that can go on: known at once, and nobody's fault
    assertThat(plan(chunk, 0).proposal().orElseThrow()).isInstanceOf(BeginChange.class);
    assertThat(change.blamed()).isEmpty();

    // the next version names no seed before there is a copy that can follow it
    change = new Reconfiguration(5, change, 0);
    sealed("p", 5, 11);
    sealed("x", 4, 8, Certainty.UNCERTAIN, 5);
    ChunkEntry next = begun(ChangeReason.MEMBER_FAILED);
    assertThat(plan(next, 60_000_000_000L).proposal()).isEmpty();
    assertThat(change.needsCopy(X)).isTrue();
    assertThat(change.loneSeed()).contains(id("p"));

    servers.suspects.clear();
    sealed("y", 4, 10);
    RecoverChange recover = recover(plan(next, 60_000_000_000L));
    assertThat(recover.seed().server()).isEqualTo(id("p"));
    assertThat(recover.targets()).extracting(Participant::member).containsExactly(Y);
    assertThat(change.loneSeed()).isEmpty();
  }

  @Test
  void whoNeedsACopyOfOneSeedMayFollowAnother() {
    sealed("x", 4, 8, Certainty.UNCERTAIN, 5);
    change.targetFailed(id("p"), X, MemberFailure.NEEDS_COPY);
    servers.suspects.add(id("p"));
    sealed("y", 4, 10);
    assertThat(change.lacks(X, servers)).isTrue();

    RecoverChange recover = recover(plan(begun(ChangeReason.PRIMARY_LOST), 0));

    assertThat(recover.seed().server()).isEqualTo(id("y"));
    assertThat(recover.targets()).extracting(Participant::member).containsExactly(X);
    assertThat(change.lacks(X, servers)).isFalse();

    servers.suspects.remove(id("p"));
    change.blame(id("y"));
    sealed("p", 4, 10);
    assertThat(recover(plan(begun(ChangeReason.PRIMARY_LOST), PATIENCE)).seed().server())
        .isEqualTo(id("p"));
    assertThat(change.lacks(X, servers)).isTrue();
  }

  @Test
  void copyThatHasTakenRecordsSinceIsTriedAgain() {
    sealed("x", 4, 8, Certainty.UNCERTAIN, 5);
    change.targetFailed(id("p"), X, MemberFailure.NEEDS_COPY);
    change = new Reconfiguration(5, change, 0);
    sealed("x", 4, 8, Certainty.UNCERTAIN, 5);
    assertThat(change.needsCopy(X)).isTrue();

    sealed("x", 5, 12);

    assertThat(change.needsCopy(X)).isFalse();
  }

  @Test
  void targetThatRefusesIsNotWaitedForOnceEnoughHaveStarted() {
    ChunkEntry chunk = withLease(recovering(ChangeReason.MEMBER_FAILED, "p", "x", "y"), "p", false);
    started("p", 11);
    started("x", 11);
    assertThat(plan(chunk, 0).proposal()).isEmpty();

    change.targetFailed(id("p"), Y, MemberFailure.UNREACHABLE);

    assertThat(plan(chunk, 0).proposal().orElseThrow()).isInstanceOf(Activate.class);
  }

  // ------------------------------------------------------------------ the chunk

  private Plan plan(ChunkEntry chunk, long now) {
    return change.plan(chunk, servers, TWO, now);
  }

  private static RecoverChange recover(Plan plan) {
    Operation operation = plan.proposal().orElseThrow();
    assertThat(operation).isInstanceOf(RecoverChange.class);
    return (RecoverChange) operation;
  }

  private void sealed(String server, long accepted, long serial) {
    sealed(server, accepted, serial, Certainty.CERTAIN, 0);
  }

  private void sealed(
      String server, long accepted, long serial, Certainty certainty, long committed) {
    change.sealed(id(server), 1, answer(server, 5, accepted, serial, certainty, committed));
  }

  private static SealAnswer answer(
      String server,
      long version,
      long accepted,
      long serial,
      Certainty certainty,
      long committed) {
    return new SealAnswer(
        CHUNK,
        member(server).replica(),
        version,
        version,
        accepted,
        serial,
        committed,
        0,
        false,
        false,
        certainty);
  }

  private void started(String server, long serial) {
    change.started(
        id(server),
        1,
        new VersionStarted(
            CHUNK, member(server).replica(), 5, id("x"), serial, 0, Optional.empty()));
  }

  private void startedSealed(String server, long serial, long length) {
    change.started(
        id(server),
        1,
        new VersionStarted(
            CHUNK,
            member(server).replica(),
            5,
            id("x"),
            serial,
            length,
            Optional.of(new ChunkSeal(serial, length, 77))));
  }

  private static ChunkEntry begun(ChangeReason reason) {
    return entry(
        new Pending(5, Step.BEGUN, reason, false, Optional.empty(), List.of(), 60),
        Optional.empty());
  }

  /** Nothing but the birth was active before. */
  private static ChunkEntry bornAndBegun(ChangeReason reason) {
    ChunkEntry later = begun(reason);
    return new ChunkEntry(
        SPEC,
        0,
        5,
        new Configuration(1, Optional.of(id("p")), List.of(P, X, Y), 0),
        List.of(new Participant(P, 1), new Participant(X, 1), new Participant(Y, 1)),
        later.pending(),
        Optional.empty(),
        Optional.empty(),
        false,
        List.of(),
        1);
  }

  private static ChunkEntry recovering(ChangeReason reason, String seed, String... targets) {
    List<Participant> participants =
        java.util.Arrays.stream(targets).map(name -> new Participant(member(name), 1)).toList();
    return entry(
        new Pending(
            5,
            Step.RECOVERING,
            reason,
            reason == ChangeReason.EARLY_SEAL,
            Optional.of(new Seed(id(seed), 1)),
            participants,
            60),
        Optional.empty());
  }

  private ChunkEntry withLease(ChunkEntry chunk, String holder, boolean revoked) {
    return entry(
        chunk.pending().orElseThrow(),
        Optional.of(
            new Lease(servers.session(id(holder)).orElseThrow(), id(holder), 4, 50, revoked)));
  }

  private static ChunkEntry withoutLease(ChunkEntry chunk) {
    return entry(chunk.pending().orElseThrow(), Optional.empty());
  }

  private static ChunkEntry entry(Pending pending, Optional<Lease> lease) {
    return new ChunkEntry(
        SPEC,
        0,
        5,
        new Configuration(4, Optional.of(id("p")), List.of(P, X, Y), 3),
        List.of(),
        Optional.of(pending),
        lease,
        Optional.empty(),
        false,
        List.of(),
        1);
  }

  private static ServerId id(String name) {
    return new ServerId(name);
  }

  private static Member member(String name) {
    return new Member(id(name), new DiskId("disk-" + name), new ReplicaId(50));
  }

  /** Servers that are all there, unless a test says otherwise. */
  private static final class Known implements Reconfiguration.Servers {
    final Map<ServerId, Long> incarnations = new TreeMap<>();
    final Set<ServerId> suspects = new TreeSet<>();
    final Set<ServerId> draining = new TreeSet<>();

    Known(String... names) {
      for (String name : names) {
        incarnations.put(id(name), 1L);
      }
    }

    @Override
    public Optional<SessionId> session(ServerId server) {
      return Optional.of(new SessionId(server.name().charAt(0)));
    }

    @Override
    public Optional<Long> incarnation(ServerId server) {
      return Optional.ofNullable(incarnations.get(server));
    }

    @Override
    public boolean suspect(ServerId server) {
      return suspects.contains(server);
    }

    @Override
    public boolean draining(ServerId server) {
      return draining.contains(server);
    }

    @Override
    public int leases(ServerId server) {
      return 0;
    }

    @Override
    public ServerAddress address(ServerId server) {
      return new ServerAddress(server.name(), 9000);
    }
  }
}
