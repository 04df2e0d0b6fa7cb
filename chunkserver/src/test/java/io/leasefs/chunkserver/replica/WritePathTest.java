package io.leasefs.chunkserver.replica;

import static io.leasefs.chunkserver.replica.TestChain.MILLI;
import static io.leasefs.chunkserver.replica.TestChain.frame;
import static org.assertj.core.api.Assertions.assertThat;

import io.leasefs.chunkserver.replica.TestChain.Node;
import io.leasefs.chunkserver.replica.TestChain.Sent;
import io.leasefs.common.api.Frame;
import io.leasefs.common.api.FrameAnswer;
import io.leasefs.common.api.FrameAnswer.Applied;
import io.leasefs.common.api.FrameAnswer.ChunkFull;
import io.leasefs.common.api.FrameAnswer.Expired;
import io.leasefs.common.api.FrameAnswer.NotApplied;
import io.leasefs.common.api.FrameAnswer.OutOfOrder;
import io.leasefs.common.api.FrameAnswer.Refused;
import io.leasefs.common.api.MutationKind;
import io.leasefs.common.api.PeerMessage;
import io.leasefs.common.api.PeerMessage.Health;
import io.leasefs.common.error.ErrorCode;
import io.leasefs.common.model.ServerId;
import io.leasefs.common.model.SessionId;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/**
 *
 *
 * <pre>
 *   client -> a (primary) -> b -> c        version 1, all granted
 * </pre>
 */
class WritePathTest {
  private final TestChain chain = new TestChain("a", "b", "c");
  private final Node a = chain.node("a");
  private final Node b = chain.node("b");
  private final Node c = chain.node("c");

  @BeforeEach
  void grant() {
    chain.grantTo(1, 0, "a", "b", "c");
  }

  private static FrameAnswer applied(long offset, long serial) {
    return new Applied(offset, 1, serial, Optional.empty());
  }

  @Test
  void appendIsAnsweredOnceAllMembersHaveIt() {
    c.diskRuns = false;
    long ticket = chain.append("a", 1, 5, 1, "hello");
    chain.deliverAll();
    assertThat(a.answer(ticket)).isEmpty();
    assertThat(a.committed()).isZero();
    c.runDisk();
    chain.deliverAll();
    assertThat(a.answer(ticket)).contains(applied(0, 1));
    assertThat(a.core.report().lengthBytes()).isEqualTo(5);
  }

  @Test
  void commitRidesOnTheNextFrame() {
    chain.append("a", 1, 5, 1, "x");
    chain.deliverAll();
    assertThat(c.committed()).isZero();
    chain.append("a", 1, 5, 2, "y");
    chain.deliverAll();
    assertThat(c.committed()).isEqualTo(1);
  }

  @Test
  void commitTravelsAloneAfterTwentyMillis() {
    chain.append("a", 1, 5, 1, "x");
    chain.pass(100 * MILLI);
    assertThat(b.committed()).isEqualTo(1);
    assertThat(c.committed()).isEqualTo(1);
    assertThat(a.core.wakeAt()).isGreaterThan(chain.now + 1000 * MILLI);
  }

  @Test
  void chainAtRestIsSilentWhateverWasHeardTwice() {
    chain.append("a", 1, 5, 1, "x");
    chain.pass(100 * MILLI);
    for (Node from : List.of(b, c)) {
      ServerId to = from == b ? a.self.server() : b.self.server();
      PeerMessage again =
          new PeerMessage.ChainProgress(
              TestChain.SPEC.handle(),
              1,
              List.of(new PeerMessage.MemberProgress(from.self.server(), 1, Health.GOOD)));
      chain.deliver(new Sent(from.self.server(), to, again));
    }
    chain.pass(1000 * MILLI);
    for (Node node : List.of(a, b, c)) {
      assertThat(node.core.wakeAt()).isGreaterThan(chain.now + 1000 * MILLI);
    }
  }

  @Test
  void repeatedFrameGetsTheStoredAnswer() {
    long first = chain.append("a", 1, 5, 1, "hello");
    chain.deliverAll();
    long second = chain.append("a", 1, 5, 1, "hello");
    chain.deliverAll();
    assertThat(a.answer(second)).isEqualTo(a.answer(first)).contains(applied(0, 1));
    assertThat(a.last()).isEqualTo(1);
  }

  @Test
  void repeatedFrameJoinsThePendingOne() {
    long first = chain.append("a", 1, 5, 1, "hello");
    long second = chain.append("a", 1, 5, 1, "hello");
    assertThat(a.answer(second)).isEmpty();
    chain.deliverAll();
    assertThat(a.answer(first)).contains(applied(0, 1));
    assertThat(a.answer(second)).contains(applied(0, 1));
    assertThat(a.last()).isEqualTo(1);
  }

  @Test
  void sameSequenceWithOtherBytesIsRefused() {
    chain.append("a", 1, 5, 1, "hello");
    long other = chain.append("a", 1, 5, 1, "HELLO");
    assertThat(a.answer(other)).hasValueSatisfying(r -> refused(r, ErrorCode.INVALID_ARGUMENT));
    assertThat(a.last()).isEqualTo(1);
  }

  private static void refused(FrameAnswer answer, ErrorCode code) {
    assertThat(answer)
        .isInstanceOfSatisfying(Refused.class, r -> assertThat(r.code()).isEqualTo(code));
  }

  @Test
  void belowTheFloorIsExpired() {
    chain.frame("a", frame(1, 5, 10, 10, 0, MutationKind.APPEND, 0, "x"));
    long late = chain.frame("a", frame(1, 5, 9, 9, 0, MutationKind.APPEND, 0, "y"));
    assertThat(a.answer(late)).contains(new Expired());
    assertThat(a.last()).isEqualTo(1);
  }

  @Test
  void floorDropsResultsOnlyWhenCommitted() {
    chain.append("a", 1, 5, 1, "x");
    chain.deliverAll();
    chain.frame("a", frame(1, 5, 2, 2, 0, MutationKind.APPEND, 0, "y"));
    long again = chain.append("a", 1, 5, 1, "x");
    assertThat(a.answer(again)).contains(applied(0, 1));
    chain.deliverAll();
    long late = chain.append("a", 1, 5, 1, "x");
    assertThat(a.answer(late)).contains(new Expired());
  }

  @Test
  void frameWhosePredecessorIsNotHereIsOutOfOrder() {
    long early = chain.frame("a", frame(1, 5, 2, 1, 1, MutationKind.APPEND, 0, "y"));
    assertThat(a.answer(early)).contains(new OutOfOrder());
    chain.append("a", 1, 5, 1, "x");
    long now = chain.frame("a", frame(1, 5, 2, 1, 1, MutationKind.APPEND, 0, "y"));
    chain.deliverAll();
    assertThat(a.answer(now)).contains(applied(1, 2));
  }

  @Test
  void appendThatDoesNotFitSealsTheChunkAndIsToldWhenThatHasCommitted() {
    String half = "x".repeat(600_000);
    chain.append("a", 1, 5, 1, half);
    long full = chain.append("a", 1, 5, 2, half);
    assertThat(a.answer(full)).isEmpty();
    long behind = chain.append("a", 1, 6, 1, "small");
    assertThat(a.answer(behind)).isEmpty();
    chain.deliverAll();
    assertThat(a.answer(full))
        .hasValueSatisfying(
            r ->
                assertThat(r)
                    .isInstanceOfSatisfying(
                        ChunkFull.class,
                        f -> {
                          assertThat(f.seal().serial()).isEqualTo(2);
                          assertThat(f.seal().lengthBytes()).isEqualTo(600_000);
                        }));
    assertThat(a.answer(behind)).isEqualTo(a.answer(full));
    chain.pass(100 * MILLI);
    assertThat(c.core.report().seal()).isEqualTo(a.core.report().seal()).isPresent();
    long known = chain.append("a", 1, 5, 1, half);
    assertThat(a.answer(known)).contains(applied(0, 1));
  }

  @Test
  void sealRidesOnAFrameAndIsTheSameMutation() {
    Frame plain = frame(1, 5, 1, MutationKind.APPEND, 0, "last");
    long ticket = chain.frame("a", sealing(plain));
    chain.deliverAll();
    assertThat(a.answer(ticket))
        .hasValueSatisfying(
            r ->
                assertThat(r)
                    .isInstanceOfSatisfying(
                        Applied.class,
                        f -> {
                          assertThat(f.serial()).isEqualTo(1);
                          assertThat(f.seal().orElseThrow().lengthBytes()).isEqualTo(4);
                        }));
    assertThat(a.last()).isEqualTo(1);
  }

  private static Frame sealing(Frame frame) {
    return new Frame(
        frame.file(),
        frame.chunk(),
        frame.version(),
        frame.token(),
        frame.session(),
        frame.sequence(),
        frame.floor(),
        frame.after(),
        frame.kind(),
        frame.offset(),
        true,
        frame.checksums(),
        frame.payload(),
        frame.birth());
  }

  @Test
  void abortOfAnUnknownSequenceMakesItNeverApply() {
    long abort = chain.frame("a", frame(1, 5, 2, 1, 0, MutationKind.ABORT, 1, ""));
    assertThat(a.answer(abort)).isEmpty();
    chain.deliverAll();
    assertThat(a.answer(abort)).contains(new NotApplied());
    long late = chain.append("a", 1, 5, 1, "x");
    assertThat(a.answer(late)).contains(new NotApplied());
    assertThat(a.core.report().lengthBytes()).isZero();
  }

  @Test
  void abortOfAnAppliedSequenceGetsItsResult() {
    chain.append("a", 1, 5, 1, "x");
    long abort = chain.frame("a", frame(1, 5, 2, 1, 0, MutationKind.ABORT, 1, ""));
    chain.deliverAll();
    assertThat(a.answer(abort)).contains(applied(0, 1));
  }

  @Test
  void unknownSequenceOfADeadSessionIsRefusedForEverOnceDeadHasCommitted() {
    chain.append("a", 1, 5, 1, "x");
    a.step(new ReplicaEvent.SessionsDead(6, List.of(), false));
    long known = chain.append("a", 1, 5, 1, "x");
    long unknown = chain.append("a", 1, 5, 2, "y");
    assertThat(a.answer(unknown)).isEmpty();
    chain.pass(100 * MILLI);
    assertThat(a.answer(known)).contains(applied(0, 1));
    assertThat(a.answer(unknown)).contains(new NotApplied());
    assertThat(c.core.snapshot().deadSessions()).containsExactly(new SessionId(5));
    long living = chain.append("a", 1, 6, 1, "z");
    chain.deliverAll();
    assertThat(a.answer(living)).contains(applied(1, 3));
  }

  @Test
  void forgettingDropsRowsEverywhereAndTheOutcomeIsUnknown() {
    chain.append("a", 1, 5, 1, "x");
    chain.append("a", 1, 6, 1, "y");
    a.step(new ReplicaEvent.SessionsDead(7, List.of(new SessionId(6)), true));
    chain.pass(100 * MILLI);
    assertThat(c.core.snapshot().rows()).extracting(r -> r.session().value()).containsExactly(6L);
    assertThat(c.core.snapshot()).isEqualTo(a.core.snapshot());
    long asked = chain.append("a", 1, 5, 1, "x");
    assertThat(a.answer(asked)).hasValueSatisfying(r -> refused(r, ErrorCode.OUTCOME_UNKNOWN));
  }

  @Test
  void secondaryHoldsBackMutationAfterGap() {
    chain.append("a", 1, 5, 1, "x");
    Sent first = chain.network.remove();
    chain.append("a", 1, 5, 2, "y");
    Sent second = chain.network.remove();
    chain.deliver(second);
    assertThat(b.last()).isZero();
    chain.deliver(first);
    assertThat(b.last()).isEqualTo(2);
  }

  /**
   * Eight frames are under way, and the second one's forward is lost (xtdb 6088: records behind a
   * lost one landed). What follows is held back, the cumulative acknowledgement stays before the
   * gap, and nothing behind it commits; then all of it comes, once and in order.
   */
  @Test
  @Tag("F58")
  void nothingBehindALostForwardIsAcknowledgedOrCommitted() {
    long[] tickets = new long[8];
    for (int i = 0; i < 8; i++) {
      tickets[i] = chain.append("a", 1, 5, i + 1, "r" + i);
    }
    List<Sent> forwards = List.copyOf(chain.network);
    chain.network.clear();
    List<Long> acknowledged = new ArrayList<>();
    for (Sent forward : forwards) {
      if (!(forward.message() instanceof PeerMessage.Forward one) || one.mutation().serial() != 2) {
        chain.deliver(forward);
      }
      for (Sent back : List.copyOf(chain.network)) {
        if (back.message() instanceof PeerMessage.ChainProgress progress
            && back.to().equals(new ServerId("a"))) {
          acknowledged.add(progress.members().getFirst().lastSerial());
        }
      }
      chain.deliverAll();
    }
    assertThat(acknowledged).isNotEmpty().allMatch(serial -> serial <= 1);
    assertThat(b.last()).isEqualTo(1);
    assertThat(a.committed()).isLessThanOrEqualTo(1);
    for (int i = 1; i < 8; i++) {
      assertThat(a.answer(tickets[i])).isEmpty();
    }
    chain.pass(500 * MILLI);
    for (int i = 0; i < 8; i++) {
      assertThat(a.answer(tickets[i])).contains(applied(2L * i, i + 1));
    }
    assertThat(b.last()).isEqualTo(8);
  }

  @Test
  void secondaryAcknowledgesADoubleAgain() {
    chain.append("a", 1, 5, 1, "x");
    Sent first = chain.network.remove();
    chain.deliver(first);
    chain.network.clear();
    chain.deliver(first);
    assertThat(chain.network)
        .anySatisfy(
            s -> {
              assertThat(s.to()).isEqualTo(new ServerId("a"));
              assertThat(((PeerMessage.ChainProgress) s.message()).members().get(0).lastSerial())
                  .isEqualTo(1);
            });
  }

  @Test
  void otherContentUnderTheSameSerialIsRefusedAndReported() {
    chain.append("a", 1, 5, 1, "x");
    Sent first = chain.network.remove();
    chain.deliver(first);
    chain.network.clear();
    PeerMessage.Forward forward = (PeerMessage.Forward) first.message();
    TestChain other = new TestChain("a", "b", "c");
    other.grantTo(1, 0, "a", "b", "c");
    other.append("a", 1, 5, 1, "Z");
    chain.deliver(new Sent(first.from(), first.to(), other.network.remove().message()));
    assertThat(b.journal).hasSize(1);
    assertThat(b.journal.get(0).checksums()).isEqualTo(forward.mutation().checksums());
    chain.deliverAll();
    assertThat(a.all(ReplicaAction.ReportFailedMember.class))
        .anySatisfy(r -> assertThat(r.failed().member()).isEqualTo(new ServerId("b")));
  }

  @Test
  void lostForwardIsSentAgain() {
    long ticket = chain.append("a", 1, 5, 1, "x");
    chain.network.clear();
    chain.pass(500 * MILLI);
    assertThat(a.answer(ticket)).contains(applied(0, 1));
  }

  @Test
  void lostAcknowledgementIsSentAgain() {
    long ticket = chain.append("a", 1, 5, 1, "x");
    chain.deliver(chain.network.remove());
    chain.network.removeIf(s -> s.to().name().equals("a"));
    chain.pass(500 * MILLI);
    assertThat(a.answer(ticket)).contains(applied(0, 1));
  }

  @Test
  void resetConnectionIsReportedAtOnce() {
    a.step(new ReplicaEvent.PeerBroken(new ServerId("b")));
    assertThat(a.all(ReplicaAction.ReportFailedMember.class))
        .singleElement()
        .satisfies(r -> assertThat(r.failed().member()).isEqualTo(new ServerId("b")));
  }

  @Test
  void resetFurtherDownIsPassedUpAtOnce() {
    chain.append("a", 1, 5, 1, "x");
    chain.deliverAll();
    b.step(new ReplicaEvent.PeerBroken(new ServerId("c")));
    chain.deliverAll();
    assertThat(a.all(ReplicaAction.ReportFailedMember.class))
        .singleElement()
        .satisfies(r -> assertThat(r.failed().member()).isEqualTo(new ServerId("c")));
  }

  @Test
  void frozenLastMemberIsTheOneReported() {
    chain.append("a", 1, 5, 1, "x");
    chain.deliverAll();
    chain.cut.add("c");
    chain.append("a", 1, 5, 2, "y");
    chain.pass(900 * MILLI);
    assertThat(a.all(ReplicaAction.ReportFailedMember.class)).isEmpty();
    chain.pass(300 * MILLI);
    assertThat(a.all(ReplicaAction.ReportFailedMember.class))
        .isNotEmpty()
        .allSatisfy(r -> assertThat(r.failed().member()).isEqualTo(new ServerId("c")));
  }

  @Test
  void frozenMiddleMemberIsTheOneReported() {
    chain.append("a", 1, 5, 1, "x");
    chain.deliverAll();
    chain.cut.add("b");
    chain.append("a", 1, 5, 2, "y");
    chain.pass(1200 * MILLI);
    assertThat(a.all(ReplicaAction.ReportFailedMember.class))
        .isNotEmpty()
        .allSatisfy(r -> assertThat(r.failed().member()).isEqualTo(new ServerId("b")));
  }

  @Test
  void primaryWhoseDiskStallsGivesItsLeaseBack() {
    a.diskRuns = false;
    chain.append("a", 1, 5, 1, "x");
    chain.pass(TestChain.TERMS.stallNanos() + 100 * MILLI);
    assertThat(a.all(ReplicaAction.ReleaseLease.class)).hasSize(1);
    long late = chain.append("a", 1, 5, 2, "y");
    assertThat(a.answer(late)).hasValueSatisfying(r -> refused(r, ErrorCode.NOT_PRIMARY));
  }

  @Test
  void failedDiskReleasesAndIsDamage() {
    a.step(new ReplicaEvent.DiskFailed("I/O error"));
    assertThat(a.all(ReplicaAction.ReleaseLease.class)).hasSize(1);
    assertThat(a.all(ReplicaAction.ReportReplica.class))
        .anySatisfy(
            r ->
                assertThat(r.report().state())
                    .isEqualTo(io.leasefs.common.api.Heartbeat.ReplicaState.DAMAGED));
  }

  @Test
  @Tag("F41")
  void afterTheLeaseOnlyJournalledMutationsCommit() {
    boolean[] valid = {true};
    TestChain own = new TestChain("a", "b");
    own.node("a").step(new ReplicaEvent.Granted(TestChain.grant(1, 0, "a", "b"), at -> valid[0]));
    long before = own.append("a", 1, 5, 1, "x");
    valid[0] = false;
    long after = own.append("a", 1, 5, 2, "y");
    assertThat(own.node("a").answer(after))
        .hasValueSatisfying(r -> refused(r, ErrorCode.NOT_PRIMARY));
    own.deliverAll();
    assertThat(own.node("a").answer(before)).contains(applied(0, 1));
  }

  @Test
  void frameThatIsAheadOfItsGrantWaitsForIt() {
    TestChain own = new TestChain("a");
    long ticket = own.append("a", 1, 5, 1, "x");
    assertThat(own.node("a").answer(ticket)).isEmpty();
    own.grantTo(1, 0, "a");
    assertThat(own.node("a").answer(ticket)).contains(applied(0, 1));
  }

  @Test
  void frameWhoseGrantNeverComesIsRefusedAfterAHeartbeat() {
    TestChain own = new TestChain("a");
    long ticket = own.append("a", 1, 5, 1, "x");
    own.pass(TestChain.TERMS.heartbeatNanos() + 100 * MILLI);
    assertThat(own.node("a").answer(ticket))
        .hasValueSatisfying(r -> refused(r, ErrorCode.NOT_PRIMARY));
  }

  @Test
  @Tag("F60")
  void idleLeaseIsGivenBack() {
    chain.append("a", 1, 5, 1, "x");
    chain.pass(59_000 * MILLI);
    assertThat(a.all(ReplicaAction.ReleaseLease.class)).isEmpty();
    chain.pass(2_000 * MILLI);
    assertThat(a.all(ReplicaAction.ReleaseLease.class)).hasSize(1);
  }

  @Test
  void writeMayNotLeaveAGapNorTheChunk() {
    long gap = chain.frame("a", frame(1, 5, 1, MutationKind.WRITE, 1, "x"));
    assertThat(a.answer(gap)).hasValueSatisfying(r -> refused(r, ErrorCode.INVALID_ARGUMENT));
    long fits = chain.frame("a", frame(1, 5, 1, MutationKind.WRITE, 0, "abc"));
    long cut = chain.frame("a", frame(1, 5, 2, MutationKind.TRUNCATE, 1, ""));
    long over = chain.frame("a", frame(1, 5, 3, MutationKind.WRITE, 0, "XY"));
    chain.deliverAll();
    assertThat(a.answer(fits)).contains(applied(0, 1));
    assertThat(a.answer(cut)).contains(applied(1, 2));
    assertThat(a.answer(over)).contains(applied(0, 3));
    assertThat(a.core.report().lengthBytes()).isEqualTo(2);
  }

  @Test
  void frameOfAVersionThatNeverComesIsStale() {
    long other = chain.frame("a", frame(2, 5, 1, MutationKind.APPEND, 0, "x"));
    assertThat(a.answer(other)).isEmpty(); // perhaps its grant is under way
    chain.pass(TestChain.TERMS.heartbeatNanos() + 100 * MILLI);
    assertThat(a.answer(other)).hasValueSatisfying(r -> refused(r, ErrorCode.STALE_VERSION));
  }
}
