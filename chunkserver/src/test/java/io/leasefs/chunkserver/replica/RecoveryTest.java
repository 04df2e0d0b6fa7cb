package io.leasefs.chunkserver.replica;

import static io.leasefs.chunkserver.replica.TestChain.MILLI;
import static io.leasefs.chunkserver.replica.TestChain.SPEC;
import static io.leasefs.chunkserver.replica.TestChain.frame;
import static io.leasefs.chunkserver.replica.TestChain.member;
import static org.assertj.core.api.Assertions.assertThat;

import io.leasefs.chunkserver.replica.TestChain.Node;
import io.leasefs.chunkserver.replica.TestChain.Sent;
import io.leasefs.common.api.Frame;
import io.leasefs.common.api.FrameAnswer;
import io.leasefs.common.api.FrameAnswer.Applied;
import io.leasefs.common.api.FrameAnswer.ChunkFull;
import io.leasefs.common.api.FrameAnswer.NotApplied;
import io.leasefs.common.api.FrameAnswer.Refused;
import io.leasefs.common.api.Heartbeat;
import io.leasefs.common.api.Heartbeat.Certainty;
import io.leasefs.common.api.Heartbeat.MemberFailure;
import io.leasefs.common.api.Heartbeat.ReplicaState;
import io.leasefs.common.api.Heartbeat.SealAnswer;
import io.leasefs.common.api.Heartbeat.VersionStarted;
import io.leasefs.common.api.Mutation;
import io.leasefs.common.api.MutationKind;
import io.leasefs.common.api.PeerMessage;
import io.leasefs.common.api.VersionStart;
import io.leasefs.common.error.ErrorCode;
import io.leasefs.common.model.ChunkSeal;
import io.leasefs.common.model.ServerAddress;
import io.leasefs.common.model.ServerId;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 *
 *
 * <pre>
 *   client -> a (primary) -> b -> c        version 1; then one of them is lost
 * </pre>
 */
class RecoveryTest {
  private final TestChain chain = new TestChain("a", "b", "c");
  private final Node a = chain.node("a");
  private final Node b = chain.node("b");
  private final Node c = chain.node("c");

  @BeforeEach
  void grant() {
    chain.grantTo(1, 0, "a", "b", "c");
  }

  private static Optional<SealAnswer> sealed(Node node) {
    return node.all(ReplicaAction.ReportSeal.class).stream()
        .map(ReplicaAction.ReportSeal::answer)
        .reduce((first, second) -> second);
  }

  private static Optional<VersionStarted> started(Node node) {
    return node.all(ReplicaAction.ReportVersionStarted.class).stream()
        .map(ReplicaAction.ReportVersionStarted::started)
        .reduce((first, second) -> second);
  }

  private static FrameAnswer applied(long offset, long version, long serial) {
    return new Applied(offset, version, serial, Optional.empty());
  }

  private static void refused(FrameAnswer answer, ErrorCode code) {
    assertThat(answer)
        .isInstanceOfSatisfying(Refused.class, r -> assertThat(r.code()).isEqualTo(code));
  }

  // ---- seal --------------------------------------------------------------------------------

  @Test
  void promiseIsAnsweredOnlyWhenItAndEveryAppendBeforeItAreOnDisk() {
    b.diskRuns = false;
    chain.append("a", 1, 5, 1, "x");
    chain.deliverAll();
    chain.seal(2, "b");
    assertThat(sealed(b)).isEmpty();
    b.runOne(); // the append
    assertThat(sealed(b)).isEmpty();
    b.runOne(); // the promise
    assertThat(sealed(b))
        .hasValueSatisfying(
            s -> {
              assertThat(s.promised()).isEqualTo(2);
              assertThat(s.accepted()).isEqualTo(1);
              assertThat(s.lastSerial()).isEqualTo(1);
              assertThat(s.certainty()).isEqualTo(Certainty.CERTAIN);
            });
  }

  @Test
  void afterThePromiseNothingStampedLowerIsAppendedOrAcknowledged() {
    chain.append("a", 1, 5, 1, "x");
    chain.seal(2, "b");
    chain.deliverAll();
    assertThat(b.journal).isEmpty();
    assertThat(a.committed()).isZero();
    long next = chain.append("a", 1, 5, 2, "y");
    assertThat(a.answer(next))
        .hasValueSatisfying(r -> refused(r, ErrorCode.NOT_PRIMARY)); // it has heard of the promise
  }

  @Test
  void primaryThatPromisesHigherStopsAtOnce() {
    long pending = chain.append("a", 1, 5, 1, "x");
    a.diskRuns = false;
    chain.seal(2, "a");
    chain.deliverAll();
    assertThat(a.answer(pending)).isEmpty();
    long late = chain.append("a", 1, 5, 2, "y");
    assertThat(a.answer(late)).hasValueSatisfying(r -> refused(r, ErrorCode.STALE_VERSION));
    assertThat(a.committed()).isZero();
  }

  @Test
  void sameSealGetsTheSameAnswerAndALowerOneIsRefused() {
    chain.seal(3, "b");
    chain.seal(3, "b");
    assertThat(b.all(ReplicaAction.ReportSeal.class)).hasSize(2);
    assertThat(b.all(ReplicaAction.ReportSeal.class).get(0))
        .isEqualTo(b.all(ReplicaAction.ReportSeal.class).get(1));
    chain.seal(2, "b");
    assertThat(sealed(b))
        .hasValueSatisfying(
            s -> {
              assertThat(s.version()).isEqualTo(2);
              assertThat(s.promised()).isEqualTo(3);
            });
  }

  @Test
  void sealOfAnotherReplicaOfTheChunkIsIgnored() {
    b.step(
        new ReplicaEvent.Commanded(
            new Heartbeat.SealCommand(SPEC, member("z"), 2, Optional.empty())));
    assertThat(b.core.report().promised()).isEqualTo(1);
  }

  // ---- recover -----------------------------------------------------------------------------

  @Test
  void newPrimaryHasEverythingAcknowledgedAndAnswersRepeatedFrames() {
    long first = chain.append("a", 1, 5, 1, "hello");
    chain.deliverAll();
    assertThat(a.answer(first)).contains(applied(0, 1, 1));
    chain.cut.add("a");
    chain.seal(2, "b", "c");
    chain.recover("b", 2, false, false, "c");
    chain.deliverAll();
    assertThat(started(b)).map(VersionStarted::firstSerial).contains(2L);
    assertThat(started(c)).isEqualTo(Optional.of(withReplica(started(b), 'c')));
    chain.grantTo(2, 2, "b", "c");
    long again = chain.append("b", 2, 5, 1, "hello");
    long next = chain.append("b", 2, 5, 2, "!");
    chain.deliverAll();
    assertThat(b.answer(again)).contains(applied(0, 1, 1));
    assertThat(b.answer(next)).contains(applied(5, 2, 3));
  }

  private static VersionStarted withReplica(Optional<VersionStarted> of, char replica) {
    VersionStarted s = of.orElseThrow();
    return new VersionStarted(
        s.chunk(),
        new io.leasefs.common.model.ReplicaId(replica),
        s.version(),
        s.seed(),
        s.firstSerial(),
        s.lengthBytes(),
        s.seal());
  }

  /**
   * A client holds the layout of version 1, the chunk has gone on to version 2 with the same
   * members (HDFS-16598: a check that was too strict killed a healthy pipeline). The frame is
   * refused as stale; the same sequence under version 2 succeeds; no member is blamed or left out.
   */
  @Test
  @Tag("F44")
  void staleLayoutCostsTheClientOneRefusalAndTheChainNobody() {
    chain.append("a", 1, 5, 1, "x");
    chain.deliverAll();
    chain.seal(2, "a", "b", "c");
    chain.recover("a", 2, false, false, "b", "c");
    chain.deliverAll();
    chain.grantTo(2, 2, "a", "b", "c");

    long stale = chain.append("a", 1, 5, 2, "y");
    assertThat(a.answer(stale)).hasValueSatisfying(r -> refused(r, ErrorCode.STALE_VERSION));
    long again = chain.append("a", 2, 5, 2, "y");
    chain.deliverAll();
    assertThat(a.answer(again)).contains(applied(1, 2, 3));
    chain.pass(2_000 * MILLI);
    for (Node node : List.of(a, b, c)) {
      assertThat(node.all(ReplicaAction.ReportFailedMember.class)).isEmpty();
      assertThat(node.last()).isEqualTo(3);
    }
  }

  /**
   * The dead primary's last record has reached the next one only; that brings it to one more copy
   * and dies before the version is active; the following recovery seeds from a copy that has it, or
   * from one that has not (HDFS-16689: an edit that only one journal had was applied). Either fate
   * will do for a record that was never acknowledged; but it is the same everywhere, and nobody
   * could read it before it was decided.
   */
  @ParameterizedTest
  @ValueSource(strings = {"c", "d"})
  @Tag("F48")
  void unacknowledgedRecordHasOneFateWhoeverSeedsNext(String seed) {
    TestChain four = new TestChain("a", "b", "c", "d");
    four.grantTo(1, 0, "a", "b", "c", "d");
    long acknowledged = four.append("a", 1, 5, 1, "x");
    four.deliverAll();
    long unknown = four.append("a", 1, 5, 2, "y");
    Sent toFirst = four.network.remove();
    four.cut.add("c");
    four.deliver(toFirst);
    four.deliverAll();
    four.cut.clear();
    assertThat(four.node("a").answer(acknowledged)).contains(applied(0, 1, 1));
    assertThat(four.node("a").answer(unknown)).isEmpty();
    assertThat(four.node("b").last()).isEqualTo(2);
    assertThat(four.node("c").last()).isEqualTo(1);

    four.cut.add("a");
    four.cut.add("d"); // hears nothing of version 2's recovery
    four.seal(2, "b", "c", "d");
    four.recover("b", 2, false, false, "c", "d");
    four.deliverAll();
    assertThat(four.node("c").last()).isEqualTo(3); // the record, and the start of version 2
    assertThat(four.node("c").committed()).isLessThanOrEqualTo(1);
    assertThat(four.node("d").last()).isEqualTo(1);

    four.cut.clear();
    four.cut.add("a");
    four.cut.add("b");
    String target = seed.equals("c") ? "d" : "c";
    four.seal(3, "c", "d");
    four.recover(seed, 3, false, false, target);
    four.deliverAll();
    assertThat(four.node("c").committed()).isLessThanOrEqualTo(1);
    long first = started(four.node(seed)).orElseThrow().firstSerial();
    four.grantTo(3, first, seed, target);
    long again = four.append(seed, 3, 5, 2, "y");
    long next = four.append(seed, 3, 5, 3, "z");
    four.deliverAll();

    FrameAnswer fate = seed.equals("c") ? applied(1, 1, 2) : applied(1, 3, 3);
    assertThat(four.node(seed).answer(again)).contains(fate);
    assertThat(four.node(seed).answer(next))
        .hasValueSatisfying(answer -> assertThat(((Applied) answer).offset()).isEqualTo(2));
    four.pass(100 * MILLI);
    assertThat(four.node(target).core.snapshot()).isEqualTo(four.node(seed).core.snapshot());
  }

  /**
   * A second grant of the same version names other members (HDFS-17850: an equal generation stamp
   * was taken). The primary goes on with the configuration that it has.
   */
  @Test
  @Tag("F43")
  void otherConfigurationUnderTheSameVersionIsNotTaken() {
    chain.append("a", 1, 5, 1, "x");
    chain.deliverAll();
    chain.grantTo(1, 0, "a", "b");
    chain.cut.add("c");
    long ticket = chain.append("a", 1, 5, 2, "y");
    chain.deliverAll();
    assertThat(b.last()).isEqualTo(2);
    assertThat(a.answer(ticket)).isEmpty(); // it is acknowledged by all three, or not at all
  }

  @Test
  void whatTheSeedLacksIsCutAndItsResultsWithIt() {
    chain.append("a", 1, 5, 1, "x"); // reaches nobody
    chain.network.clear();
    chain.seal(2, "a", "b", "c");
    chain.recover("b", 2, false, false, "a", "c");
    chain.deliverAll();
    assertThat(a.journal).extracting(Mutation::kind).containsExactly(MutationKind.VERSION_START);
    chain.grantTo(2, 1, "b", "c", "a");
    long again = chain.append("b", 2, 5, 1, "x");
    chain.deliverAll();
    assertThat(b.answer(again)).contains(applied(0, 2, 2));
    assertThat(a.last()).isEqualTo(2);
  }

  @Test
  void samePrimaryGoesOnWithoutTheFailedSecondaryAndPendingMutationsKeepTheirSerials() {
    chain.cut.add("c");
    long pending = chain.append("a", 1, 5, 1, "x");
    chain.deliverAll();
    assertThat(a.answer(pending)).isEmpty();
    chain.seal(2, "a", "b");
    chain.recover("a", 2, false, false, "b");
    chain.deliverAll();
    assertThat(a.answer(pending)).isEmpty(); // history, not committed: no activation yet
    chain.grantTo(2, 2, "a", "b");
    assertThat(a.answer(pending)).contains(applied(0, 1, 1));
  }

  @Test
  void waiterIsTurnedAwayWhenNoActivationComes() {
    long pending = chain.append("a", 1, 5, 1, "x");
    chain.seal(2, "a");
    chain.pass(TestChain.TERMS.heartbeatNanos() + 100 * MILLI);
    assertThat(a.answer(pending)).hasValueSatisfying(r -> refused(r, ErrorCode.STALE_VERSION));
  }

  @Test
  void grantBelowThePromiseIsGivenBack() {
    chain.seal(2, "b");
    chain.grantTo(1, 0, "b", "c");
    assertThat(b.all(ReplicaAction.ReleaseLease.class))
        .containsExactly(
            new ReplicaAction.ReleaseLease(new Heartbeat.LeaseName(TestChain.CHUNK, 1)));
  }

  @Test
  void recoveryComesOnlyFromTheSeedAndNotAfterTheVersionStart() {
    chain.seal(2, "b", "c");
    chain.recover("b", 2, false, false, "c");
    chain.deliverAll();
    Mutation start = c.journal.get(0);
    c.step(
        new ReplicaEvent.PeerArrived(
            new ServerId("b"),
            new PeerMessage.Recovery(TestChain.CHUNK, 2, new ServerId("b"), after(start))));
    assertThat(c.journal).hasSize(1);
  }

  private static Mutation after(Mutation m) {
    return new Mutation(
        m.version(),
        m.serial() + 1,
        MutationKind.SEAL,
        0,
        m.file(),
        m.session(),
        0,
        0,
        m.chunkLength(),
        0,
        m.checksums(),
        m.payload());
  }

  @Test
  void recoveryFromAnotherThanTheSeedIsIgnored() {
    chain.seal(2, "b", "c");
    chain.recover("b", 2, false, false, "c");
    chain.network.removeIf(s -> s.message() instanceof PeerMessage.Recovery);
    Mutation start = b.journal.get(0);
    c.step(
        new ReplicaEvent.PeerArrived(
            new ServerId("a"),
            new PeerMessage.Recovery(TestChain.CHUNK, 2, new ServerId("a"), start)));
    assertThat(c.journal).isEmpty();
  }

  @Test
  void lostRecoveryMessagesAreSentAgain() {
    for (int i = 1; i <= 5; i++) {
      chain.append("a", 1, 5, i, "record " + i);
    }
    chain.network.removeIf(s -> s.to().name().equals("c"));
    chain.deliver(chain.network.remove());
    chain.network.clear();
    chain.cut.add("c");
    chain.seal(2, "a", "b");
    chain.recover("a", 2, false, false, "b", "c");
    chain.pass(400 * MILLI);
    chain.cut.remove("c");
    chain.pass(1000 * MILLI);
    assertThat(c.last()).isEqualTo(6);
    assertThat(started(c)).isPresent();
  }

  @Test
  void targetThatHasCommittedWhatTheSeedLacksRefusesAndKeepsIt() {
    chain.append("a", 1, 5, 1, "x");
    chain.pass(100 * MILLI);
    assertThat(c.committed()).isEqualTo(1);
    c.step(
        new ReplicaEvent.PeerArrived(
            new ServerId("b"),
            new PeerMessage.Reconcile(
                SPEC,
                member("c"),
                2,
                new ServerId("b"),
                List.of(new VersionStart(1, 0), new VersionStart(2, 1)),
                1,
                0)));
    assertThat(chain.network)
        .anySatisfy(
            s ->
                assertThat(s.message())
                    .isInstanceOfSatisfying(
                        PeerMessage.ReconcileRefused.class, r -> assertThat(r.damaged()).isTrue()));
    assertThat(c.journal).hasSize(1);
  }

  @Test
  void seedWhoseJournalDoesNotReachBackSaysThatACopyIsNeeded() {
    chain.append("a", 1, 5, 1, "x");
    chain.pass(100 * MILLI);
    Node d =
        chain.add(
            "d",
            new ReplicaImage(
                SPEC,
                member("d"),
                1,
                true,
                Certainty.CERTAIN,
                ReplicaImage.emptySnapshot(),
                0,
                List.of()),
            false);
    a.journal.clear(); // compacted
    chain.seal(2, "a", "b", "c");
    chain.recover("a", 2, false, false, "d");
    chain.deliverAll();
    assertThat(a.all(ReplicaAction.ReportFailedMember.class))
        .anySatisfy(
            r -> {
              assertThat(r.failed().member()).isEqualTo(new ServerId("d"));
              assertThat(r.failed().version()).isEqualTo(2);
              assertThat(r.failed().failure()).isEqualTo(MemberFailure.NEEDS_COPY);
            });
    assertThat(d.last()).isZero();
  }

  @Test
  void learnerBecomesAMemberByTheVersionStart() {
    chain.append("a", 1, 5, 1, "x");
    chain.pass(100 * MILLI);
    Node d =
        chain.add(
            "d",
            new ReplicaImage(
                SPEC,
                member("d"),
                1,
                true,
                Certainty.UNCERTAIN,
                ReplicaImage.emptySnapshot(),
                0,
                List.of()),
            false);
    assertThat(d.core.report().state()).isEqualTo(ReplicaState.LEARNER);
    chain.seal(2, "a", "b", "c");
    chain.recover("a", 2, false, false, "b", "c", "d");
    chain.deliverAll();
    assertThat(started(d)).map(VersionStarted::firstSerial).contains(2L);
    assertThat(d.core.report().state()).isEqualTo(ReplicaState.OPEN);
    chain.grantTo(2, 2, "a", "b", "c", "d");
    long ticket = chain.append("a", 2, 5, 2, "y");
    chain.deliverAll();
    assertThat(a.answer(ticket)).contains(applied(1, 2, 3));
    assertThat(d.last()).isEqualTo(3);
  }

  @Test
  void restartedMemberDoesNotGoOnInItsOldVersion() {
    chain.append("a", 1, 5, 1, "x");
    chain.deliverAll();
    Node again =
        chain.add(
            "b",
            new ReplicaImage(
                SPEC,
                member("b"),
                1,
                false,
                Certainty.CERTAIN,
                ReplicaImage.emptySnapshot(),
                0,
                b.journal.stream().map(Mutation::withoutPayload).toList()),
            false);
    assertThat(again.last()).isEqualTo(1);
    long next = chain.append("a", 1, 5, 2, "y");
    chain.deliverAll();
    assertThat(again.last()).isEqualTo(1);
    assertThat(a.answer(next)).isEmpty();
    assertThat(a.all(ReplicaAction.ReportFailedMember.class))
        .anySatisfy(r -> assertThat(r.failed().member()).isEqualTo(new ServerId("b")));
  }

  @Test
  void replayAfterARestartAnswersRepeatedFramesAlike() {
    long first = chain.append("a", 1, 5, 1, "x");
    chain.deliverAll();
    Node again =
        chain.add(
            "b",
            new ReplicaImage(
                SPEC,
                member("b"),
                2,
                false,
                Certainty.CERTAIN,
                ReplicaImage.emptySnapshot(),
                0,
                b.journal.stream().map(Mutation::withoutPayload).toList()),
            false);
    chain.recover("b", 2, false, false);
    assertThat(started(again)).map(VersionStarted::firstSerial).contains(2L);
    chain.grantTo(2, 2, "b");
    long repeated = chain.append("b", 2, 5, 1, "x");
    assertThat(again.answer(repeated)).isEqualTo(a.answer(first));
  }

  @Test
  void fenceFloorComesWithTheVersionStart() {
    chain.seal(2, "a");
    a.step(
        new ReplicaEvent.Commanded(
            new Heartbeat.RecoverCommand(SPEC, 2, List.of(), false, false, 9)));
    chain.grantTo(2, 1, "a");
    long none = chain.append("a", 2, 5, 1, "x");
    assertThat(a.answer(none)).hasValueSatisfying(r -> refused(r, ErrorCode.FENCED));
    Frame plain = frame(2, 5, 1, MutationKind.APPEND, 0, "x");
    long held =
        chain.frame(
            "a",
            new Frame(
                plain.file(),
                plain.chunk(),
                2,
                9,
                plain.session(),
                1,
                1,
                0,
                plain.kind(),
                0,
                false,
                plain.checksums(),
                plain.payload(),
                Optional.empty()));
    assertThat(a.answer(held)).contains(applied(0, 2, 2));
  }

  // ---- sealed chunks -----------------------------------------------------------------------

  @Test
  void earlySealIsTheVersionStartAndIsAnsweredByAnyMemberOnceSettled() {
    chain.append("a", 1, 5, 1, "hello");
    chain.deliverAll();
    chain.cut.add("a");
    chain.seal(2, "b", "c");
    chain.recover("b", 2, true, false, "c");
    chain.deliverAll();
    ChunkSeal seal = started(c).orElseThrow().seal().orElseThrow();
    assertThat(seal.serial()).isEqualTo(2);
    assertThat(seal.lengthBytes()).isEqualTo(5);
    assertThat(c.core.report().seal()).isEmpty(); // not committed before it is logged
    c.step(new ReplicaEvent.Commanded(new Heartbeat.SettledCommand(TestChain.CHUNK, 2, 2)));
    assertThat(c.core.report().seal()).contains(seal);
    long known = chain.append("c", 2, 5, 1, "hello");
    long unknown = chain.append("c", 2, 5, 2, "more");
    long abort = chain.frame("c", frame(2, 5, 4, MutationKind.ABORT, 3, ""));
    assertThat(c.answer(known)).contains(applied(0, 1, 1));
    assertThat(c.answer(unknown)).contains(new ChunkFull(2, seal));
    assertThat(c.answer(abort)).contains(new NotApplied());
  }

  @Test
  void versionStartReopensASealedChunkOnlyWhenToldSo() {
    Frame last = frame(1, 5, 1, MutationKind.SEAL, 0, "");
    chain.frame("a", last);
    chain.pass(100 * MILLI);
    assertThat(c.core.report().state()).isEqualTo(ReplicaState.SEALED);
    chain.seal(2, "a", "b", "c");
    chain.recover("a", 2, false, false, "b", "c");
    chain.deliverAll();
    assertThat(started(b).orElseThrow().seal()).map(ChunkSeal::serial).contains(1L);
    chain.seal(3, "a", "b", "c");
    chain.recover("a", 3, false, true, "b", "c");
    chain.deliverAll();
    assertThat(started(b).orElseThrow().seal()).isEmpty();
    chain.grantTo(3, 3, "a", "b", "c");
    long more = chain.append("a", 3, 5, 2, "more");
    chain.deliverAll();
    assertThat(a.answer(more)).contains(applied(0, 3, 4));
  }

  @Test
  void frameOfTheVersionThatReopensAChunkIsNotToldThatItIsSealed() {
    chain.frame("a", frame(1, 5, 1, MutationKind.SEAL, 0, ""));
    chain.pass(100 * MILLI);
    chain.seal(2, "a", "b", "c");
    chain.recover("a", 2, false, true, "b", "c");
    chain.deliverAll();
    long early = chain.append("a", 2, 5, 2, "more"); // the version start is not committed yet
    assertThat(a.answer(early)).isEmpty();
    chain.grantTo(2, 2, "a", "b", "c");
    chain.deliverAll();
    assertThat(a.answer(early)).contains(applied(0, 2, 3));
  }

  @Test
  void closeSealsInThePrimarysOrderAndReportsIt() {
    chain.append("a", 1, 5, 1, "hello");
    a.step(new ReplicaEvent.Commanded(new Heartbeat.CloseCommand(TestChain.CHUNK, 1)));
    assertThat(a.all(ReplicaAction.ReportReplica.class)).isEmpty();
    chain.deliverAll();
    assertThat(a.all(ReplicaAction.ReportReplica.class))
        .singleElement()
        .satisfies(r -> assertThat(r.report().seal().map(ChunkSeal::lengthBytes)).contains(5L));
  }

  @Test
  void restartFindsTheSealAndItsChecksum() {
    chain.append("a", 1, 5, 1, "hello");
    a.step(new ReplicaEvent.Commanded(new Heartbeat.CloseCommand(TestChain.CHUNK, 1)));
    chain.pass(100 * MILLI);
    Node again =
        chain.add(
            "c",
            new ReplicaImage(
                SPEC,
                member("c"),
                1,
                false,
                Certainty.CERTAIN,
                ReplicaImage.emptySnapshot(),
                2,
                c.journal.stream().map(Mutation::withoutPayload).toList()),
            false);
    again.tick();
    assertThat(again.core.report().seal()).isEqualTo(a.core.report().seal()).isPresent();
  }

  @Test
  void restartAsksForNoChecksumBelowWhatIsCommittedBehindTheSeal() {
    chain.append("a", 1, 5, 1, "hello");
    a.step(new ReplicaEvent.Commanded(new Heartbeat.CloseCommand(TestChain.CHUNK, 1)));
    chain.pass(100 * MILLI);
    chain.seal(2, "a", "b", "c");
    chain.recover("a", 2, false, false, "b", "c"); // sealed as before, with a member less or more
    chain.pass(100 * MILLI);
    assertThat(c.journal)
        .extracting(Mutation::kind)
        .containsExactly(MutationKind.APPEND, MutationKind.SEAL, MutationKind.VERSION_START);
    Node again =
        chain.add(
            "c",
            new ReplicaImage(
                SPEC,
                member("c"),
                2,
                false,
                Certainty.CERTAIN,
                ReplicaImage.emptySnapshot(),
                3,
                c.journal.stream().map(Mutation::withoutPayload).toList()),
            false);
    again.diskRuns = false;
    again.tick();
    assertThat(again.disk)
        .filteredOn(ReplicaAction.ComputeChecksum.class::isInstance)
        .extracting(work -> ((ReplicaAction.ComputeChecksum) work).serial())
        .containsExactly(3L);
  }

  @Test
  void seedIsNoTargetOfItsOwn() {
    Heartbeat.Target self = new Heartbeat.Target(member("a"), new ServerAddress("localhost", 1));
    chain.seal(2, "a");
    a.step(
        new ReplicaEvent.Commanded(
            new Heartbeat.RecoverCommand(SPEC, 2, List.of(self), false, false, 0)));
    assertThat(chain.network).isEmpty();
  }
}
