package io.leasefs.client.data;

import static org.assertj.core.api.Assertions.assertThat;

import io.leasefs.client.fake.Layouts;
import io.leasefs.common.api.ChunkApi.NamedAnswer;
import io.leasefs.common.api.Frame;
import io.leasefs.common.api.FrameAnswer;
import io.leasefs.common.api.MutationKind;
import io.leasefs.common.checksum.Checksums;
import io.leasefs.common.error.ErrorCode;
import io.leasefs.common.error.LeaseFsException;
import io.leasefs.common.model.ChunkHandle;
import io.leasefs.common.model.ChunkLayout;
import io.leasefs.common.model.ChunkSeal;
import io.leasefs.common.model.SealedChunk;
import io.leasefs.common.model.SessionId;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

class WriteCoreTest {
  private static final long MIB = 1 << 20;
  private static final long SECOND = 1_000_000_000L;
  private static final SessionId SESSION = new SessionId(42);
  private static final List<Integer> MEMBERS = List.of(1, 2, 3);

  private long now = SECOND;
  private final List<WriteAction.Send<String>> sent = new ArrayList<>();
  private final List<WriteAction<String>> asked = new ArrayList<>();
  private final List<WriteAction.Completed<String>> completed = new ArrayList<>();
  private final List<WriteAction.Failed<String>> failed = new ArrayList<>();
  private final WriteCore<String> core = core(Optional.of(chunk(0, 0, 1, 1)));

  private static ChunkLayout chunk(int index, long fileOffset, long version, int primary) {
    return Layouts.chunk(index, fileOffset, 4 * MIB, version, primary, MEMBERS, Optional.empty());
  }

  private static ChunkLayout sealedChunk(int index, long version, ChunkSeal seal) {
    return Layouts.chunk(index, 0, 4 * MIB, version, 0, MEMBERS, Optional.of(seal));
  }

  private WriteCore<String> core(Optional<ChunkLayout> last) {
    return new WriteCore<>(
        Layouts.FILE, SESSION, 1, 0, WriteLimits.DEFAULT, last, Optional.empty(), now);
  }

  private void take(List<WriteAction<String>> actions) {
    for (WriteAction<String> action : actions) {
      if (action instanceof WriteAction.Send<String> send) {
        sent.add(send);
      } else if (action instanceof WriteAction.Completed<String> done) {
        completed.add(done);
      } else if (action instanceof WriteAction.Failed<String> fail) {
        failed.add(fail);
      } else {
        asked.add(action);
      }
    }
    core.invariant();
  }

  private void append(String name, int bytes) {
    ByteBuffer payload = ByteBuffer.allocate(bytes);
    take(core.append(name, payload, Checksums.of(payload, Frame.PIECE), false, now));
  }

  private void answer(int chunkIndex, long sequence, FrameAnswer answer) {
    take(
        core.answered(
            new NamedAnswer(
                new ChunkHandle(100 + chunkIndex), core.session().value(), sequence, answer),
            now));
  }

  private void applied(int chunkIndex, long sequence, long offset) {
    answer(chunkIndex, sequence, new FrameAnswer.Applied(offset, 1, sequence, Optional.empty()));
  }

  private void pass(long nanos) {
    now += nanos;
    if (now >= core.wakeAt()) {
      take(core.tick(now));
    }
  }

  private List<String> names() {
    return completed.stream().map(WriteAction.Completed::tag).toList();
  }

  private List<String> sendings() {
    return sent.stream()
        .map(
            send ->
                send.target().host()
                    + " v"
                    + send.frame().version()
                    + " #"
                    + send.frame().sequence()
                    + " after "
                    + send.frame().after())
        .toList();
  }

  private void clear() {
    sent.clear();
    asked.clear();
    completed.clear();
    failed.clear();
  }

  @Test
  void framesAreChainedBehindWhatIsStillOutstanding() {
    append("a", 10);
    append("b", 10);
    append("c", 10);
    assertThat(sendings())
        .containsExactly("cs1 v1 #1 after 0", "cs1 v1 #2 after 1", "cs1 v1 #3 after 2");
    assertThat(sent.get(2).frame().floor()).isEqualTo(1);
  }

  @Test
  void answersMayComeInAnyOrder() {
    append("a", 10);
    append("b", 10);
    applied(0, 2, 10);
    assertThat(names()).containsExactly("b");
    append("c", 10);
    assertThat(sent.get(2).frame().floor()).isEqualTo(1);
    assertThat(sent.get(2).frame().after()).isEqualTo(1);
    applied(0, 1, 0);
    append("d", 10);
    assertThat(sent.get(3).frame().floor()).isEqualTo(3);
    assertThat(completed.get(1).result().orElseThrow().fileOffset()).isEqualTo(0);
  }

  @Test
  void framesBeyondTheWindowWait() {
    for (int i = 0; i < 70; i++) {
      append("r" + i, 1);
    }
    assertThat(sent).hasSize(Frame.WINDOW);
    applied(0, 2, 1);
    assertThat(sent).hasSize(Frame.WINDOW);
    applied(0, 1, 0);
    assertThat(sent).hasSize(Frame.WINDOW + 2);
  }

  @Test
  void payloadBeyondTheByteLimitWaits() {
    WriteCore<String> small =
        new WriteCore<>(
            Layouts.FILE,
            SESSION,
            1,
            0,
            new WriteLimits(MIB, SECOND, true, 30 * SECOND),
            Optional.of(chunk(0, 0, 1, 1)),
            Optional.empty(),
            now);
    ByteBuffer payload = ByteBuffer.allocate((int) MIB);
    assertThat(small.append("a", payload, Checksums.of(payload, Frame.PIECE), false, now))
        .hasSize(1);
    assertThat(small.append("b", payload, Checksums.of(payload, Frame.PIECE), false, now))
        .isEmpty();
  }

  @Test
  void lostAnswerThenFailoverIsAskedForUnderTheSameSequence() {
    append("a", 10);
    append("b", 10);
    clear();
    take(core.broken(Layouts.address(1), true, now));
    assertThat(asked)
        .containsExactly(
            new WriteAction.ReportSilent<>(new ChunkHandle(100), 1, true),
            new WriteAction.FetchLayout<>(new ChunkHandle(100), 1, 50_000_000L));
    take(core.layoutArrived(chunk(0, 0, 2, 2), now));
    assertThat(sendings()).containsExactly("cs2 v2 #1 after 0", "cs2 v2 #2 after 1");
    answer(0, 1, new FrameAnswer.Applied(0, 1, 1, Optional.empty()));
    answer(0, 2, new FrameAnswer.Applied(10, 2, 3, Optional.empty()));
    assertThat(names()).containsExactly("a", "b");
    assertThat(completed.get(0).result().orElseThrow().version()).isEqualTo(1);
    assertThat(completed.get(0).sentOnce()).isFalse();
  }

  @Test
  void aLateAnswerOfTheOldPrimaryCountsOnce() {
    append("a", 10);
    take(core.broken(Layouts.address(1), true, now));
    take(core.layoutArrived(chunk(0, 0, 2, 2), now));
    applied(0, 1, 0);
    applied(0, 1, 0);
    assertThat(names()).containsExactly("a");
  }

  @Test
  void chunkFullInTheMiddleOfAWindowMovesTheRestInOrder() {
    append("a", 10);
    append("b", 10);
    append("c", 10);
    clear();
    ChunkSeal seal = new ChunkSeal(2, 10, 0);
    answer(0, 3, new FrameAnswer.ChunkFull(1, seal));
    answer(0, 2, new FrameAnswer.ChunkFull(1, seal));
    assertThat(asked).isEmpty();
    applied(0, 1, 0);
    assertThat(asked).containsExactly(new WriteAction.AddChunk<>(0, Optional.of(seal)));
    assertThat(sent).isEmpty();
    take(core.chunkAdded(chunk(1, 10, 1, 3), Optional.empty(), now));
    assertThat(sendings()).containsExactly("cs3 v1 #2 after 0", "cs3 v1 #3 after 2");
    applied(1, 2, 0);
    assertThat(completed.get(1).result().orElseThrow().fileOffset()).isEqualTo(10);
  }

  @Test
  void nothingGoesToTheNextChunkWhileAnAnswerOfTheLastIsMissing() {
    append("a", 10);
    append("b", 10);
    clear();
    answer(0, 2, new FrameAnswer.ChunkFull(1, new ChunkSeal(2, 10, 0)));
    append("c", 10);
    assertThat(asked).isEmpty();
    assertThat(sent).isEmpty();
  }

  @Test
  void afterAnEarlySealOutstandingOnesAreAskedForAtAMemberFirst() {
    append("a", 10);
    append("b", 10);
    append("c", 10);
    take(core.broken(Layouts.address(1), true, now));
    clear();
    ChunkSeal seal = new ChunkSeal(3, 20, 0);
    take(core.layoutArrived(sealedChunk(0, 2, seal), now));
    assertThat(sent).hasSize(3);
    assertThat(sent.get(0).frame().version()).isEqualTo(2);
    answer(0, 1, new FrameAnswer.Applied(0, 1, 1, Optional.empty()));
    answer(0, 2, new FrameAnswer.Applied(10, 1, 2, Optional.empty()));
    assertThat(asked).isEmpty();
    answer(0, 3, new FrameAnswer.NotApplied());
    assertThat(asked).containsExactly(new WriteAction.AddChunk<>(0, Optional.of(seal)));
    clear();
    take(core.chunkAdded(chunk(1, 20, 1, 2), Optional.empty(), now));
    assertThat(sendings()).containsExactly("cs2 v1 #3 after 0");
  }

  @Test
  void aSealedChunkThatSomebodyHasOpenedAgainIsWrittenOnIn() {
    append("a", 10);
    clear();
    answer(0, 1, new FrameAnswer.ChunkFull(1, new ChunkSeal(3, 20, 0)));
    clear();
    take(
        core.addFailed(new LeaseFsException(ErrorCode.STALE_VERSION, "older than version 2"), now));
    assertThat(asked)
        .containsExactly(new WriteAction.FetchLayout<>(new ChunkHandle(100), 1, 50_000_000L));
    take(core.layoutArrived(chunk(0, 0, 1, 1), now)); // from before the seal
    assertThat(sent).isEmpty();
    take(core.layoutArrived(chunk(0, 0, 2, 2), now));
    pass(SECOND / 10);
    assertThat(sendings()).containsExactly("cs2 v2 #1 after 0");
    answer(0, 1, new FrameAnswer.Applied(20, 2, 5, Optional.empty()));
    assertThat(names()).containsExactly("a");
  }

  /** Seed 3990. */
  @Test
  void whatTheSealKeptOutGoesAgainBeforeALaterOneInTheReopenedChunk() {
    append("a", 10);
    append("b", 10);
    take(core.sessionEnded(SESSION, now));
    answer(0, 1, new FrameAnswer.ChunkFull(1, new ChunkSeal(3, 20, 0)));
    answer(0, 2, new FrameAnswer.Refused(ErrorCode.STALE_VERSION, "version 2 is promised"));
    clear();
    take(core.layoutArrived(chunk(0, 0, 2, 2), now));
    pass(SECOND / 10);
    assertThat(sendings()).containsExactly("cs2 v2 #1 after 0", "cs2 v2 #2 after 1");
    answer(0, 1, new FrameAnswer.Applied(20, 2, 5, Optional.empty()));
    answer(0, 2, new FrameAnswer.NotApplied());
    assertThat(names()).containsExactly("a");
    assertThat(asked).contains(new WriteAction.Reopen<>());
  }

  @Test
  void aLateWordOfASealThatIsNoMoreKeepsNothingOut() {
    append("a", 10);
    append("b", 10);
    take(core.broken(Layouts.address(1), true, now));
    take(core.layoutArrived(chunk(0, 0, 2, 2), now));
    clear();
    answer(0, 1, new FrameAnswer.ChunkFull(1, new ChunkSeal(3, 20, 0)));
    take(core.broken(Layouts.address(2), true, now)); // neither has arrived there
    pass(SECOND / 10);
    assertThat(sendings()).isEmpty();
    take(core.layoutArrived(chunk(0, 0, 3, 3), now));
    pass(SECOND / 10);
    assertThat(sendings()).containsExactly("cs3 v3 #1 after 0", "cs3 v3 #2 after 1");
  }

  @Test
  void aSealedChunksNextMemberIsAskedWhereTheFirstIsSilent() {
    append("a", 10);
    take(core.broken(Layouts.address(1), true, now));
    clear();
    take(core.layoutArrived(sealedChunk(0, 2, new ChunkSeal(1, 0, 0)), now));
    assertThat(sent.get(0).target()).isEqualTo(Layouts.address(1));
    pass(SECOND);
    assertThat(sent.get(1).target()).isEqualTo(Layouts.address(2));
    assertThat(asked).isEmpty();
  }

  @Test
  void neverSentWritesNeedNoAnswerOfASealedChunk() {
    for (int i = 0; i < 9; i++) {
      append("m" + i, (int) MIB);
    }
    // Four fill the chunk, the last of them carrying the seal; the others wait for the next chunk.
    assertThat(sent).hasSize(4);
    assertThat(sent.get(3).frame().seals()).isTrue();
    ChunkSeal seal = new ChunkSeal(5, 4 * MIB, 0);
    for (int i = 1; i <= 3; i++) {
      applied(0, i, (i - 1) * MIB);
    }
    answer(0, 4, new FrameAnswer.Applied(3 * MIB, 1, 4, Optional.of(seal)));
    assertThat(asked).containsExactly(new WriteAction.AddChunk<>(0, Optional.of(seal)));
    take(core.chunkAdded(chunk(1, 4 * MIB, 1, 1), Optional.empty(), now));
    assertThat(sent).hasSize(8);
    assertThat(sent.get(4).frame().sequence()).isEqualTo(5);
    assertThat(sent.get(7).frame().seals()).isTrue();
  }

  @Test
  void outOfOrderIsSentAgainAfterItsPredecessor() {
    append("a", 10);
    append("b", 10);
    clear();
    answer(0, 1, new FrameAnswer.Refused(ErrorCode.BUSY, "full"));
    answer(0, 2, new FrameAnswer.OutOfOrder());
    assertThat(sent).isEmpty();
    pass(SECOND / 100);
    assertThat(sendings()).containsExactly("cs1 v1 #1 after 0", "cs1 v1 #2 after 1");
  }

  @Test
  void outOfOrderTellsThatTheFrameBeforeWasLost() {
    append("a", 10);
    append("b", 10);
    clear();
    for (int i = 0; i < 20; i++) {
      answer(0, 2, new FrameAnswer.OutOfOrder());
      pass(SECOND / 10);
    }
    assertThat(sendings()).contains("cs1 v1 #1 after 0");
  }

  @Test
  void refusedByAFormerPrimaryFetchesTheLayoutAndResends() {
    append("a", 10);
    append("b", 10);
    clear();
    answer(0, 1, new FrameAnswer.Refused(ErrorCode.STALE_VERSION, "version 2"));
    answer(0, 2, new FrameAnswer.Refused(ErrorCode.STALE_VERSION, "version 2"));
    assertThat(asked)
        .containsExactly(new WriteAction.FetchLayout<>(new ChunkHandle(100), 1, 50_000_000L));
    take(core.layoutArrived(chunk(0, 0, 2, 1), now));
    assertThat(sendings()).containsExactly("cs1 v2 #1 after 0", "cs1 v2 #2 after 1");
  }

  @Test
  void aSecondOfSilenceIsReportedAndTheFirstOutstandingIsSentAgain() {
    append("a", 10);
    append("b", 10);
    clear();
    pass(SECOND);
    assertThat(asked).contains(new WriteAction.ReportSilent<>(new ChunkHandle(100), 1, false));
    assertThat(sendings()).containsExactly("cs1 v1 #1 after 0");
  }

  @Test
  void aBrokenStreamWithNothingOutstandingIsNoEvidence() {
    append("a", 10);
    applied(0, 1, 0);
    clear();
    take(core.broken(Layouts.address(1), true, now));
    assertThat(asked).isEmpty();
    append("b", 10);
    assertThat(sendings()).containsExactly("cs1 v1 #2 after 0");
  }

  @Test
  void withoutProgressAWriteFailsAndSaysThatItsOutcomeIsUnknown() {
    append("a", 10);
    for (int i = 0; i < 40; i++) {
      pass(SECOND);
    }
    assertThat(failed).hasSize(1);
    LeaseFsException failure = failed.get(0).failure();
    assertThat(failure.code()).isEqualTo(ErrorCode.OUTCOME_UNKNOWN);
    assertThat(failure).hasMessageContaining("cs1:9100").hasMessageContaining("30000 ms");
    append("b", 10);
    assertThat(sent.get(sent.size() - 1).frame().floor()).isEqualTo(2);
  }

  /** What is in the file of a stream is its beginning: a hole would look like the whole of it. */
  @Test
  void aStreamOfWhichAPartIsGivenUpTakesNoLaterPart() {
    WriteStream stream = new WriteStream();
    part(stream, "a");
    pass(20 * SECOND);
    part(stream, "b");
    append("record", 10);
    for (int i = 0; i < 11; i++) {
      pass(SECOND);
    }
    assertThat(failed.stream().map(WriteAction.Failed::tag)).containsExactly("a", "b");
    clear();
    part(stream, "c");
    assertThat(failed.stream().map(WriteAction.Failed::tag)).containsExactly("c");
    take(core.layoutArrived(chunk(0, 0, 2, 2), now));
    assertThat(sent).extracting(send -> send.frame().sequence()).containsExactly(3L);
  }

  private void part(WriteStream stream, String name) {
    ByteBuffer payload = ByteBuffer.allocate(10);
    take(core.append(name, payload, Checksums.of(payload, Frame.PIECE), false, stream, now));
  }

  @Test
  void aChunkThatHasForgottenTheSessionHasTheFileOpenedAnewAndTheRecordSentAgain() {
    append("a", 10);
    answer(0, 1, new FrameAnswer.Refused(ErrorCode.OUTCOME_UNKNOWN, "the session is forgotten"));
    assertThat(failed).isEmpty();
    assertThat(asked).containsExactly(new WriteAction.Reopen<>());
  }

  @Test
  void aWriteThatWasNeverSentTimesOutWithACertainOutcome() {
    WriteCore<String> empty = core(Optional.empty());
    List<WriteAction<String>> actions =
        empty.append("a", ByteBuffer.allocate(1), Checksums.NONE, false, now);
    assertThat(actions).containsExactly(new WriteAction.AddChunk<>(-1, Optional.empty()));
    List<WriteAction<String>> late = empty.tick(now + 30 * SECOND);
    assertThat(late).hasSize(1);
    assertThat(((WriteAction.Failed<String>) late.get(0)).failure().code())
        .isEqualTo(ErrorCode.TIMED_OUT);
  }

  @Test
  void aWriteThatFindsNoSpaceSaysSoWhenItsTimeIsUp() {
    WriteCore<String> empty = core(Optional.empty());
    assertThat(empty.append("a", ByteBuffer.allocate(1), Checksums.NONE, false, now)).hasSize(1);
    LeaseFsException full =
        new LeaseFsException(ErrorCode.NO_SPACE, "1 of 2 servers have room for a chunk");
    assertThat(empty.addFailed(full, now)).isEmpty();
    List<WriteAction<String>> late = empty.tick(now + 30 * SECOND);
    assertThat(late)
        .filteredOn(WriteAction.Failed.class::isInstance)
        .singleElement()
        .satisfies(
            failed ->
                assertThat(((WriteAction.Failed<String>) failed).failure())
                    .hasMessageContaining("1 of 2 servers have room")
                    .extracting(LeaseFsException::code)
                    .isEqualTo(ErrorCode.NO_SPACE));
  }

  @Test
  void progressElsewhereInTheFileKeepsAWriteAlive() {
    append("a", 10);
    append("b", 10);
    for (int i = 0; i < 20; i++) {
      pass(SECOND);
    }
    applied(0, 1, 0);
    for (int i = 0; i < 20; i++) {
      pass(SECOND);
    }
    assertThat(failed).isEmpty();
    applied(0, 2, 10);
    assertThat(names()).containsExactly("a", "b");
  }

  /**
   * The answer to it would come in the midst of what is written in the new session, and would be
   * taken for leave to write that once more in the next chunk.
   */
  @Test
  void theFileIsNotOpenedAnewWhileAChunkIsBeingAdded() {
    append("a", 10);
    answer(0, 1, new FrameAnswer.ChunkFull(1, new ChunkSeal(1, 0, 77)));
    assertThat(asked).hasAtLeastOneElementOfType(WriteAction.AddChunk.class);
    clear();
    take(core.sessionEnded(SESSION, now));
    assertThat(asked).doesNotHaveAnyElementsOfTypes(WriteAction.Reopen.class);
    take(core.addFailed(new LeaseFsException(ErrorCode.UNKNOWN_SESSION, "over"), now));
    assertThat(asked).contains(new WriteAction.Reopen<>());
  }

  /** Somebody has opened the chunk again while the next one was being added. */
  @Test
  void aChunkThatWasAddedLateDoesNotDisplaceWhatIsOutstanding() {
    append("a", 10);
    answer(0, 1, new FrameAnswer.ChunkFull(1, new ChunkSeal(1, 0, 77)));
    take(core.layoutArrived(chunk(0, 0, 2, 2), now));
    assertThat(sendings()).last().isEqualTo("cs2 v2 #1 after 0");
    clear();
    take(core.chunkAdded(chunk(1, 10, 1, 3), Optional.empty(), now));
    assertThat(sent).isEmpty();
    applied(0, 1, 0);
    assertThat(names()).containsExactly("a");
  }

  @Test
  @Tag("F35")
  void aLostSessionIsReplacedOnlyAfterDefiniteAnswers() {
    append("a", 10);
    append("b", 10);
    take(core.sessionEnded(SESSION, now));
    clear();
    append("c", 10);
    assertThat(sent).isEmpty();
    assertThat(asked).isEmpty();
    applied(0, 1, 0);
    answer(0, 2, new FrameAnswer.NotApplied());
    assertThat(asked)
        .contains(new WriteAction.FetchLayout<>(new ChunkHandle(100), 1, 800_000_000L));
    assertThat(asked).contains(new WriteAction.Reopen<>());
    clear();
    take(
        core.reopened(new SessionId(43), 3, Optional.of(chunk(0, 0, 1, 1)), Optional.empty(), now));
    assertThat(sent.stream().map(s -> s.frame().session().value()).toList())
        .containsExactly(43L, 43L);
    assertThat(sendings()).containsExactly("cs1 v1 #3 after 0", "cs1 v1 #4 after 3");
    applied(0, 3, 10);
    applied(0, 4, 20);
    assertThat(names()).containsExactly("b", "c");
  }

  @Test
  void notAppliedByALivingChunkMeansThatTheSessionIsDead() {
    append("a", 10);
    clear();
    answer(0, 1, new FrameAnswer.NotApplied());
    assertThat(sent).isEmpty();
    take(core.layoutArrived(chunk(0, 0, 1, 1), now));
    pass(SECOND / 10);
    assertThat(asked).contains(new WriteAction.Reopen<>());
    assertThat(sent).isEmpty();
  }

  @Test
  void fencedIsFinalForAll() {
    append("a", 10);
    append("b", 10);
    answer(0, 1, new FrameAnswer.Refused(ErrorCode.FENCED, "token 3 < 9"));
    assertThat(failed).hasSize(2);
    assertThat(failed.get(0).failure().code()).isEqualTo(ErrorCode.FENCED);
    assertThat(core.isIdle()).isTrue();
    assertThat(core.wakeAt()).isEqualTo(WriteCore.NEVER);
  }

  @Test
  void aNewerOpeningOfTheSameProcessWritesOnWithItsToken() {
    append("a", 10);
    take(core.tokenRaised(5, now));
    answer(0, 1, new FrameAnswer.Refused(ErrorCode.FENCED, "a newer token is in force: 5"));
    assertThat(failed).isEmpty();
    pass(SECOND);
    take(core.tokenRaised(3, now));
    append("b", 10);

    assertThat(sent.stream().map(send -> send.frame().token())).containsExactly(0L, 5L, 5L);
    assertThat(sent.stream().map(send -> send.frame().sequence())).containsExactly(1L, 1L, 2L);

    answer(0, 1, new FrameAnswer.Refused(ErrorCode.FENCED, "a newer token is in force: 7"));
    assertThat(failed).hasSize(2);
  }

  @Test
  void sealRidesOnTheLastAppendOrGoesAlone() {
    ByteBuffer payload = ByteBuffer.allocate(5);
    take(core.append("a", payload, Checksums.of(payload, Frame.PIECE), true, now));
    assertThat(sent.get(0).frame().seals()).isTrue();
    ChunkSeal seal = new ChunkSeal(2, 5, 0);
    answer(0, 1, new FrameAnswer.Applied(0, 1, 1, Optional.of(seal)));
    assertThat(completed.get(0).seal().map(SealedChunk::seal)).contains(seal);
    clear();
    take(core.seal("s", now));
    assertThat(sent).isEmpty();
    assertThat(completed.get(0).seal().map(SealedChunk::seal)).contains(seal);
  }

  @Test
  void aSealAloneIsAFrameOfItsOwnBehindTheOthers() {
    append("a", 10);
    take(core.seal("s", now));
    assertThat(sent.get(1).frame().kind()).isEqualTo(MutationKind.SEAL);
    assertThat(sent.get(1).frame().after()).isEqualTo(1);
    ChunkSeal seal = new ChunkSeal(2, 10, 0);
    applied(0, 1, 0);
    answer(0, 2, new FrameAnswer.Applied(10, 1, 2, Optional.of(seal)));
    assertThat(names()).containsExactly("a", "s");
    assertThat(completed.get(1).seal().map(SealedChunk::seal)).contains(seal);
    assertThat(completed.get(1).result()).isEmpty();
  }

  @Test
  void aChunkThatSomebodyElseFilledIsLeftWithTheSealThatItAnswers() {
    append("a", (int) MIB);
    clear();
    ChunkSeal seal = new ChunkSeal(9, 4 * MIB - 5, 0);
    answer(0, 1, new FrameAnswer.ChunkFull(3, seal));
    assertThat(asked).containsExactly(new WriteAction.AddChunk<>(0, Optional.of(seal)));
  }

  @Test
  void aRefusedPayloadIsSentAgainAFewTimesOnly() {
    append("a", 10);
    for (int i = 0; i < 6; i++) {
      answer(0, 1, new FrameAnswer.Refused(ErrorCode.CORRUPT, "crc"));
      pass(SECOND / 2);
    }
    assertThat(failed).hasSize(1);
    assertThat(failed.get(0).failure().code()).isEqualTo(ErrorCode.CORRUPT);
  }
}
