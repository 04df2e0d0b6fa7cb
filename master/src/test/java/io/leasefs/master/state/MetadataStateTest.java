package io.leasefs.master.state;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.leasefs.common.api.MasterApi.Publication;
import io.leasefs.common.api.MasterApi.Usage;
import io.leasefs.common.error.ErrorCode;
import io.leasefs.common.error.LeaseFsException;
import io.leasefs.common.model.ChunkHandle;
import io.leasefs.common.model.ChunkSeal;
import io.leasefs.common.model.ClientId;
import io.leasefs.common.model.DiskId;
import io.leasefs.common.model.Durability;
import io.leasefs.common.model.Endpoints;
import io.leasefs.common.model.FileId;
import io.leasefs.common.model.FilePath;
import io.leasefs.common.model.FileStatus;
import io.leasefs.common.model.Member;
import io.leasefs.common.model.Ordinal;
import io.leasefs.common.model.RequestId;
import io.leasefs.common.model.SealedChunk;
import io.leasefs.common.model.ServerAddress;
import io.leasefs.common.model.ServerId;
import io.leasefs.common.model.SessionId;
import io.leasefs.master.log.Operation;
import io.leasefs.master.log.Operation.ChangeReason;
import io.leasefs.master.log.Operation.ClientCall;
import io.leasefs.master.log.Operation.LeaseId;
import io.leasefs.master.log.Operation.Participant;
import io.leasefs.master.log.Operation.Placement;
import io.leasefs.master.log.Operation.Seed;
import io.leasefs.master.log.OperationResult;
import io.leasefs.master.log.OperationResult.Added;
import io.leasefs.master.log.OperationResult.Opened;
import io.leasefs.master.log.OperationResult.Ordered;
import io.leasefs.master.log.OperationResult.Registered;
import io.leasefs.master.log.OperationResult.Rejected;
import io.leasefs.master.log.OperationResult.Value;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

class MetadataStateTest {
  private static final long TERM = 4;
  private static final ClientId WRITER = new ClientId(1, 1);
  private static final ClientId OTHER = new ClientId(1, 2);
  private static final ServerId A = new ServerId("a");
  private static final ServerId B = new ServerId("b");
  private static final ServerId C = new ServerId("c");
  private static final ServerId D = new ServerId("d");
  private static final FilePath FILE = new FilePath("/file");

  private final MetadataState state = new MetadataState();
  private long index;
  private long sequence;

  @BeforeEach
  void fourServers() {
    for (ServerId server : List.of(A, B, C, D)) {
      register(server, 1, 10);
    }
  }

  @AfterEach
  void consistent() {
    state.invariant();
  }

  // ---------------------------------------------------------------- fixture

  private OperationResult apply(Operation operation) {
    index++;
    return state.apply(Ordinal.of(state.generation(), index), TERM, operation);
  }

  private Value done(Operation operation) {
    return apply(operation).valueOrThrow();
  }

  private void refused(ErrorCode code, Operation operation) {
    assertThat(apply(operation))
        .isInstanceOfSatisfying(Rejected.class, r -> assertThat(r.code()).isEqualTo(code));
  }

  private OperationResult register(ServerId server, long incarnation, long nonce) {
    return apply(registration(server, server + "-disk", incarnation, nonce));
  }

  private static Operation registration(
      ServerId server, String disk, long incarnation, long nonce) {
    return new Operation.RegisterServer(
        server,
        Endpoints.of(new ServerAddress("127.0.0.1", 7001)),
        "rack",
        incarnation,
        nonce,
        "boot",
        10,
        List.of(new DiskId(disk)),
        0);
  }

  private SessionId session(ServerId server) {
    return state.server(server).orElseThrow().session().orElseThrow();
  }

  private Placement place(ServerId server) {
    return new Placement(
        server,
        new DiskId(server + "-disk"),
        state.server(server).orElseThrow().incarnation(),
        session(server));
  }

  private List<Placement> places(ServerId... servers) {
    List<Placement> places = new ArrayList<>();
    for (ServerId server : servers) {
      places.add(place(server));
    }
    return places;
  }

  private ClientCall call(ClientId client) {
    sequence++;
    return new ClientCall(new RequestId(client, sequence, sequence, state.lastApplied()), 60);
  }

  private Operation creation(ClientCall call, FilePath path, ServerId... servers) {
    return creation(call, path, TERM, servers);
  }

  private Operation creation(ClientCall call, FilePath path, long term, ServerId... servers) {
    return new Operation.CreateFile(
        call, path, false, 3, 1 << 20, Durability.REPLICATED, 0644, places(servers), 0, term);
  }

  private Opened create(FilePath path, ServerId... servers) {
    return (Opened) done(creation(call(WRITER), path, servers));
  }

  private ChunkHandle chunkAt(ServerId... servers) {
    return create(FILE, servers).chunk().orElseThrow();
  }

  private ChunkEntry chunk(ChunkHandle handle) {
    return state.chunk(handle).orElseThrow();
  }

  private static ChunkSeal seal(long serial, long length) {
    return new ChunkSeal(serial, length, 77);
  }

  private Participant participant(ChunkHandle handle, ServerId server) {
    Member member =
        chunk(handle)
            .active()
            .memberAt(server)
            .or(() -> chunk(handle).learnerAt(server).map(ChunkEntry.Learner::member))
            .orElseThrow();
    return new Participant(member, state.server(server).orElseThrow().incarnation());
  }

  private List<Participant> participants(ChunkHandle handle, ServerId... servers) {
    List<Participant> all = new ArrayList<>();
    for (ServerId server : servers) {
      all.add(participant(handle, server));
    }
    return all;
  }

  private void begin(ChunkHandle handle, ChangeReason reason, boolean revoke) {
    done(
        new Operation.BeginChange(
            handle, chunk(handle).lastVersion() + 1, reason, revoke, false, Optional.empty()));
  }

  private Operation recovery(ChunkHandle handle, ServerId seed, ServerId... targets) {
    return new Operation.RecoverChange(
        handle,
        chunk(handle).lastVersion(),
        new Seed(seed, state.server(seed).orElseThrow().incarnation()),
        participants(handle, targets));
  }

  private Operation activation(ChunkHandle handle, ServerId... members) {
    return new Operation.Activate(
        handle,
        chunk(handle).lastVersion(),
        session(members[0]),
        participants(handle, members),
        20,
        2);
  }

  private Operation sealing(ChunkHandle handle, long version, ChunkSeal seal, ServerId... members) {
    return new Operation.SealChunk(
        handle, version, seal, participants(handle, members), seal.serial() - 1, 2, 0);
  }

  private Operation closing(Opened opened, Optional<ChunkSeal> seal) {
    return closing(opened, opened.chunk().orElseThrow(), seal);
  }

  private Operation closing(Opened opened, ChunkHandle chunk, Optional<ChunkSeal> seal) {
    return new Operation.CloseFile(
        call(WRITER),
        opened.file(),
        opened.openNumber(),
        seal.map(it -> new SealedChunk(chunk, it)),
        Optional.empty(),
        false,
        0);
  }

  private Operation adding(FileId file, int after, Optional<ChunkSeal> seal) {
    return new Operation.AddChunk(call(WRITER), file, after, seal, places(B, C, D), 0);
  }

  private List<String> names(String folder) {
    return state.list(new FilePath(folder), "", 100).stream()
        .map(FileStatus::path)
        .map(FilePath::name)
        .toList();
  }

  // ---------------------------------------------------------------- servers and sessions

  @Test
  void newerIncarnationEndsTheOlderSessionAndItsLeasesInTheSameEntry() {
    ChunkHandle chunk = chunkAt(A, B, C);
    SessionId old = session(A);
    register(A, 2, 11);
    assertThat(state.session(old)).isEmpty();
    assertThat(chunk(chunk).lease()).isEmpty();
    assertThat(chunk(chunk).active().primary()).isEmpty();
    assertThat(state.leasesOf(old)).isEmpty();
  }

  @Test
  @Tag("F49")
  void olderIncarnationAndCloneAreRefusedAndARetryGetsTheSameSession() {
    register(A, 5, 50);
    SessionId session = session(A);
    refused(ErrorCode.INVALID_ARGUMENT, registration(A, "a-disk", 4, 40));
    refused(ErrorCode.INVALID_ARGUMENT, registration(A, "a-disk", 5, 51));
    assertThat(register(A, 5, 50).valueOrThrow()).isEqualTo(new Registered(session));
    done(new Operation.EndSessions(TERM, List.of(session), 0));
    refused(ErrorCode.UNKNOWN_SESSION, registration(A, "a-disk", 5, 50));
  }

  @Test
  void serverWithAReplacedDiskComesBackAfterItsSessionsEndWithAHigherIncarnation() {
    register(A, 5, 50);
    SessionId session = session(A);
    refused(ErrorCode.BUSY, registration(A, "new-disk", 1, 60));
    refused(ErrorCode.BUSY, registration(A, "new-disk", 9, 61)); // no proof of death
    assertThat(session(A)).isEqualTo(session);

    done(new Operation.EndSessions(TERM, List.of(session), 0));
    refused(ErrorCode.UNKNOWN_SESSION, registration(A, "new-disk", 5, 62));
    done(registration(A, "new-disk", 6, 63));
    assertThat(state.server(A).orElseThrow().disks()).containsExactly(new DiskId("new-disk"));
    refused(ErrorCode.BUSY, registration(A, "a-disk", 7, 64));
  }

  @Test
  void aDiskOfAnotherServerIsRefused() {
    refused(ErrorCode.INVALID_ARGUMENT, registration(new ServerId("e"), "a-disk", 1, 1));
  }

  @Test
  void clockDecisionReadInAnotherTermIsDropped() {
    SessionId session = session(A);
    refused(ErrorCode.NOT_LEADER, new Operation.EndSessions(TERM - 1, List.of(session), 0));
    assertThat(state.session(session)).isPresent();
    ChunkHandle chunk = chunkAt(A, B, C);
    LeaseId lease = new LeaseId(chunk, 1, session);
    done(new Operation.RevokeLease(lease));
    refused(ErrorCode.NOT_LEADER, new Operation.ExpireRevocation(TERM - 1, lease));
    done(new Operation.ExpireRevocation(TERM, lease));
    assertThat(chunk(chunk).lease()).isEmpty();
  }

  @Test
  void onlyADeadAndEmptyServerIsForgotten() {
    ChunkHandle chunk = chunkAt(A, B);
    refused(ErrorCode.NOT_EMPTY, new Operation.RemoveServer(A));
    done(new Operation.EndSessions(TERM, List.of(session(A)), 0));
    refused(ErrorCode.NOT_EMPTY, new Operation.RemoveServer(A));
    done(sealing(chunk, 1, seal(3, 30)));
    done(
        new Operation.RemoveReplica(
            chunk, A, chunk(chunk).active().memberAt(A).orElseThrow().replica()));
    done(new Operation.RemoveServer(A));
    assertThat(state.server(A)).isEmpty();
  }

  // ---------------------------------------------------------------- requests

  @Test
  void aRepeatedRequestGetsTheSameResultAndIsNotRepeated() {
    ClientCall call = call(WRITER);
    OperationResult first = apply(creation(call, FILE, A, B, C));
    done(new Operation.Rename(call(OTHER), FILE, new FilePath("/elsewhere"), false, 0));
    assertThat(apply(creation(call, FILE, A, B, C))).isEqualTo(first);
    assertThat(names("/")).containsExactly("elsewhere");
  }

  @Test
  void aRejectionThatTheClientMayOvercomeIsNotKept() {
    ClientCall call = call(WRITER);
    Operation stale = creation(call, FILE, A, B, C);
    register(A, 2, 12);
    assertThat(apply(stale))
        .isInstanceOfSatisfying(
            Rejected.class, r -> assertThat(r.code()).isEqualTo(ErrorCode.BUSY));
    assertThat(apply(creation(call, FILE, A, B, C)).isApplied()).isTrue();
  }

  /**
   * A later leader may have refused it for want of servers, which is no entry: its client believes
   * that there is no such file, and would never close it.
   */
  @Test
  void aFileIsMadeInTheTermOnlyInWhichItsPlacesWereChosen() {
    ClientCall call = call(WRITER);
    refused(ErrorCode.NOT_LEADER, creation(call, FILE, TERM - 1, A, B, C));
    assertThat(names("/")).isEmpty();
    done(creation(call, FILE, TERM, A, B, C)); // it may be asked for again
    done(creation(call(WRITER), new FilePath("/of-an-older-program"), 0, A, B, C));
  }

  @Test
  void aFinalRejectionIsKept() {
    create(FILE, A, B, C);
    ClientCall call = call(WRITER);
    refused(ErrorCode.ALREADY_EXISTS, creation(call, FILE, A, B, C));
    done(new Operation.Delete(call(OTHER), FILE, false, true, 0));
    refused(ErrorCode.ALREADY_EXISTS, creation(call, FILE, A, B, C));
  }

  @Test
  void resultsOutliveTheSessionUntilForgottenAndThenTheClientIsRefused() {
    ClientCall call = call(WRITER);
    OperationResult first = apply(creation(call, FILE, A, B, C));
    SessionId session = state.client(WRITER).orElseThrow().session().orElseThrow();
    done(new Operation.EndSessions(TERM, List.of(session), 0));
    assertThat(apply(creation(call, FILE, A, B, C))).isEqualTo(first);
    assertThat(state.endedClients()).hasSize(1);
    done(new Operation.ForgetClients(TERM, state.lastApplied()));
    assertThat(state.client(WRITER)).isEmpty();
    refused(ErrorCode.UNKNOWN_SESSION, creation(call, FILE, A, B, C));
    done(new Operation.Mkdir(call(OTHER), new FilePath("/new"), false, 0755, 0));
  }

  @Test
  void belowTheFloorNothingIsKnownAndNothingIsDone() {
    ClientCall call = call(WRITER);
    done(creation(call, FILE, A, B, C));
    done(new Operation.Mkdir(call(WRITER), new FilePath("/next"), false, 0755, 0));
    refused(ErrorCode.OUTCOME_UNKNOWN, creation(call, FILE, A, B, C));
  }

  // ---------------------------------------------------------------- changing a configuration

  @Test
  void createLogsFileChunkAndLeaseInOneEntry() {
    Opened opened = create(FILE, A, B, C);
    ChunkEntry chunk = chunk(opened.chunk().orElseThrow());
    assertThat(chunk.active().version()).isEqualTo(1);
    assertThat(chunk.active().primary()).contains(A);
    assertThat(chunk.lease().orElseThrow().session()).isEqualTo(session(A));
    assertThat(chunk.birth()).hasSize(3);
    assertThat(state.file(opened.file()).orElseThrow().openings()).hasSize(1);
    assertThat(state.unsealedChunks()).containsExactly(chunk.handle());
  }

  @Test
  void activationWaitsUntilTheOldLeaseHasEnded() {
    ChunkHandle chunk = chunkAt(A, B, C);
    begin(chunk, ChangeReason.PRIMARY_LOST, true);
    done(recovery(chunk, B, C));
    refused(ErrorCode.BUSY, activation(chunk, B, C));
    done(new Operation.EndSessions(TERM, List.of(session(A)), 0));
    done(activation(chunk, B, C));
    assertThat(chunk(chunk).active().primary()).contains(B);
    assertThat(chunk(chunk).active().version()).isEqualTo(2);
    assertThat(chunk(chunk).pending()).isEmpty();
    assertThat(state.chunksAt(A)).isEmpty();
  }

  @Test
  void theSamePrimaryGoesOnWithItsTokenWithoutWaiting() {
    ChunkHandle chunk = chunkAt(A, B, C);
    long token = chunk(chunk).lease().orElseThrow().token();
    begin(chunk, ChangeReason.MEMBER_FAILED, false);
    done(recovery(chunk, A, B));
    done(activation(chunk, A, B));
    assertThat(chunk(chunk).lease().orElseThrow().token()).isEqualTo(token);
    assertThat(chunk(chunk).lease().orElseThrow().version()).isEqualTo(2);
  }

  @Test
  void aVersionHasOneSeedForEver() {
    ChunkHandle chunk = chunkAt(A, B, C);
    begin(chunk, ChangeReason.PRIMARY_LOST, true);
    done(recovery(chunk, B, C));
    refused(ErrorCode.STALE_VERSION, recovery(chunk, C, B));
    done(recovery(chunk, B, C));
    begin(chunk, ChangeReason.PRIMARY_LOST, true);
    done(recovery(chunk, C, B));
  }

  @Test
  void aReplicaThatHasRegisteredAnewIsNotActivated() {
    ChunkHandle chunk = chunkAt(A, B, C);
    begin(chunk, ChangeReason.PRIMARY_LOST, true);
    done(recovery(chunk, B, C));
    done(new Operation.EndSessions(TERM, List.of(session(A)), 0));
    Operation activation = activation(chunk, B, C);
    register(C, 2, 30);
    refused(ErrorCode.STALE_VERSION, activation);
  }

  @Test
  void fewerThanTheLeastNumberAreNotActivated() {
    ChunkHandle chunk = chunkAt(A, B, C);
    begin(chunk, ChangeReason.PRIMARY_LOST, true);
    done(recovery(chunk, B, C));
    done(new Operation.EndSessions(TERM, List.of(session(A)), 0));
    refused(ErrorCode.TOO_FEW_SERVERS, activation(chunk, B));
  }

  @Test
  @Tag("F09")
  void versionsAreAllocatedOneAfterTheOther() {
    ChunkHandle chunk = chunkAt(A, B, C);
    refused(
        ErrorCode.STALE_VERSION,
        new Operation.BeginChange(
            chunk, 3, ChangeReason.NO_PRIMARY, true, false, Optional.empty()));
    begin(chunk, ChangeReason.NO_PRIMARY, true);
    begin(chunk, ChangeReason.NO_PRIMARY, true);
    assertThat(chunk(chunk).lastVersion()).isEqualTo(3);
    refused(ErrorCode.STALE_VERSION, new Operation.AbandonChange(chunk, 2));
    done(new Operation.AbandonChange(chunk, 3));
    begin(chunk, ChangeReason.NO_PRIMARY, true);
    assertThat(chunk(chunk).lastVersion()).isEqualTo(4);
  }

  @Test
  @Tag("F12")
  void aReleasedLeaseOfAnOldVersionOrSessionEndsNothing() {
    ChunkHandle chunk = chunkAt(A, B, C);
    done(
        new Operation.EndLeases(
            List.of(
                new LeaseId(chunk, 2, session(A)),
                new LeaseId(chunk, 1, session(B)),
                new LeaseId(new ChunkHandle(99), 1, session(A)))));
    assertThat(chunk(chunk).lease()).isPresent();
    done(new Operation.EndLeases(List.of(new LeaseId(chunk, 1, session(A)))));
    assertThat(chunk(chunk).lease()).isEmpty();
  }

  /**
   * The first holder's session has ended, and another server holds the next version, when the first
   * one's release arrives at last, whatever it names (KAFKA-6082: a late clean-up deleted the live
   * lock). It ends nothing; the second holder's own does.
   */
  @Test
  @Tag("F12")
  void aLateReleaseOfTheFirstHolderLeavesTheSecondOnesLease() {
    ChunkHandle chunk = chunkAt(A, B, C);
    SessionId expired = session(A);
    done(new Operation.EndSessions(TERM, List.of(expired), 0));
    begin(chunk, ChangeReason.PRIMARY_LOST, false);
    done(recovery(chunk, B, C));
    done(activation(chunk, B, C));
    ChunkEntry.Lease held = chunk(chunk).lease().orElseThrow();
    assertThat(held.session()).isEqualTo(session(B));
    register(A, 2, 11);

    done(
        new Operation.EndLeases(
            List.of(
                new LeaseId(chunk, 1, expired),
                new LeaseId(chunk, 2, expired),
                new LeaseId(chunk, 2, session(A)))));

    assertThat(chunk(chunk).lease()).contains(held);
    assertThat(chunk(chunk).active().primary()).contains(B);
    done(new Operation.EndLeases(List.of(new LeaseId(chunk, 2, session(B)))));
    assertThat(chunk(chunk).lease()).isEmpty();
  }

  // ---------------------------------------------------------------- seals and successors

  @Test
  void theLastCloseWithASealEndsTheLeaseAndAgainChangesNothing() {
    Opened opened = create(FILE, A, B, C);
    ChunkHandle chunk = opened.chunk().orElseThrow();
    done(closing(opened, Optional.of(seal(5, 500))));
    assertThat(chunk(chunk).isSealed()).isTrue();
    assertThat(chunk(chunk).lease()).isEmpty();
    assertThat(state.stat(FILE).lengthBytes()).isEqualTo(500);
    done(closing(opened, Optional.of(seal(5, 500))));
    done(sealing(chunk, 1, seal(5, 500)));
    refused(ErrorCode.STALE_VERSION, sealing(chunk, 1, seal(6, 600)));
  }

  @Test
  void aCloseWithTheSealOfAnEarlierChunkSealsNothing() {
    Opened opened = create(FILE, A, B, C);
    ChunkSeal seal = seal(5, 500);
    Added next = (Added) done(adding(opened.file(), 0, Optional.of(seal)));
    done(closing(opened, opened.chunk().orElseThrow(), Optional.of(seal)));
    assertThat(chunk(next.chunk()).isSealed()).isFalse();
    assertThat(state.chunksToClose()).containsExactly(next.chunk());
  }

  private Operation publishing(Opened opened, boolean replace, ChunkSeal seal) {
    return new Operation.CloseFile(
        call(WRITER),
        opened.file(),
        opened.openNumber(),
        Optional.of(new SealedChunk(opened.chunk().orElseThrow(), seal)),
        Optional.of(new Publication(FILE, replace, Optional.of(77L))),
        false,
        5);
  }

  @Test
  void aCloseThatPublishesSealsNamesAndDatesTheFileInOneEntry() {
    FilePath sibling = new FilePath("/" + FilePath.HIDDEN_PREFIX + "1");
    Opened opened = create(sibling, A, B, C);
    done(publishing(opened, false, seal(5, 500)));
    assertThat(chunk(opened.chunk().orElseThrow()).isSealed()).isTrue();
    assertThat(state.stat(FILE).lengthBytes()).isEqualTo(500);
    assertThat(state.stat(FILE).modifiedMillis()).isEqualTo(77);
    assertThat(state.stat(FILE).openWriters()).isZero();
    assertThat(names("/")).containsExactly(FILE.name());
  }

  @Test
  void aCloseThatCannotPublishChangesNothing() {
    Opened there = create(FILE, A, B, C);
    Opened opened = create(new FilePath("/" + FilePath.HIDDEN_PREFIX + "1"), A, B, C);
    refused(ErrorCode.ALREADY_EXISTS, publishing(opened, false, seal(5, 500)));
    assertThat(chunk(opened.chunk().orElseThrow()).isSealed()).isFalse();
    assertThat(state.stat(FILE).id()).isEqualTo(there.file());
    done(publishing(opened, true, seal(5, 500)));
    assertThat(state.stat(FILE).id()).isEqualTo(opened.file());
    refused(ErrorCode.UNKNOWN_SESSION, publishing(opened, true, seal(5, 500)));
  }

  @Test
  void aCloseOfFormat1MeansTheLastChunk() {
    Opened opened = create(FILE, A, B, C);
    done(closing(opened, new ChunkHandle(0), Optional.of(seal(5, 500))));
    assertThat(chunk(opened.chunk().orElseThrow()).isSealed()).isTrue();
  }

  @Test
  void aFileThatNobodyHasOpenIsListedUntilItsLastChunkIsSealed() {
    Opened opened = create(FILE, A, B, C);
    ChunkHandle chunk = opened.chunk().orElseThrow();
    assertThat(state.chunksToClose()).isEmpty();
    done(closing(opened, Optional.empty()));
    assertThat(state.chunksToClose()).containsExactly(chunk);
    done(sealing(chunk, 1, seal(5, 500)));
    assertThat(state.chunksToClose()).isEmpty();
  }

  @Test
  void noChunkHasASuccessorBeforeItsOwnLengthIsLogged() {
    Opened opened = create(FILE, A, B, C);
    refused(ErrorCode.STALE_VERSION, adding(opened.file(), 0, Optional.empty()));
    Added first = (Added) done(adding(opened.file(), 0, Optional.of(seal(5, 500))));
    assertThat(first.born()).isTrue();
    Added again = (Added) done(adding(opened.file(), 0, Optional.of(seal(5, 500))));
    assertThat(again).isEqualTo(new Added(first.chunk(), 1, false));
    assertThat(state.fileOffset(opened.file(), 1)).isEqualTo(500);
  }

  @Test
  void earlySealNeedsNoGateButReopeningDoes() {
    ChunkHandle chunk = chunkAt(A, B, C);
    begin(chunk, ChangeReason.EARLY_SEAL, true);
    done(recovery(chunk, B, C));
    done(sealing(chunk, 2, seal(9, 90), B, C));
    assertThat(chunk(chunk).isSealed()).isTrue();
    assertThat(chunk(chunk).active().primary()).isEmpty();
    assertThat(chunk(chunk).lease().orElseThrow().revoked()).isTrue();
    begin(chunk, ChangeReason.REOPEN, false);
    done(recovery(chunk, B, C));
    refused(ErrorCode.BUSY, activation(chunk, B, C));
    done(new Operation.EndSessions(TERM, List.of(session(A)), 0));
    done(activation(chunk, B, C));
    assertThat(chunk(chunk).isSealed()).isFalse();
  }

  @Test
  void theCommittedSealOfTheActiveVersionDropsAPendingChange() {
    ChunkHandle chunk = chunkAt(A, B, C);
    begin(chunk, ChangeReason.MEMBER_FAILED, false);
    done(recovery(chunk, A, B));
    done(sealing(chunk, 1, seal(5, 50)));
    assertThat(chunk(chunk).pending()).isEmpty();
    assertThat(chunk(chunk).lastVersion()).isEqualTo(2);
  }

  @Test
  void aSealFromBeforeTheReopeningIsRefused() {
    Opened opened = create(FILE, A, B, C);
    ChunkHandle chunk = opened.chunk().orElseThrow();
    done(sealing(chunk, 1, seal(5, 50)));
    begin(chunk, ChangeReason.REOPEN, false);
    done(recovery(chunk, A, B, C));
    refused(ErrorCode.BUSY, adding(opened.file(), 0, Optional.of(seal(5, 50))));
    done(activation(chunk, A, B, C));
    refused(ErrorCode.STALE_VERSION, adding(opened.file(), 0, Optional.of(seal(5, 50))));
    assertThat(chunk(chunk).isSealed()).isFalse();
  }

  @Test
  void aReopeningThatHadASeedOnceIsNotDropped() {
    Opened opened = create(FILE, A, B, C);
    ChunkHandle chunk = opened.chunk().orElseThrow();
    done(sealing(chunk, 1, seal(5, 50)));
    begin(chunk, ChangeReason.REOPEN, false);
    done(recovery(chunk, A, B, C));
    begin(chunk, ChangeReason.REOPEN, false);
    refused(ErrorCode.BUSY, adding(opened.file(), 0, Optional.of(seal(5, 50))));
    assertThat(chunk(chunk).pending()).isPresent();
  }

  @Test
  void aReopeningThatHadNoSeedIsDropped() {
    Opened opened = create(FILE, A, B, C);
    ChunkHandle chunk = opened.chunk().orElseThrow();
    done(sealing(chunk, 1, seal(5, 50)));
    begin(chunk, ChangeReason.REOPEN, false);
    done(adding(opened.file(), 0, Optional.of(seal(5, 50))));
    assertThat(chunk(chunk).pending()).isEmpty();
  }

  /** Its seed may be away for good, and nobody makes copies of what is deleted. */
  @Test
  void aReopeningThatHasASeedIsAbandonedOnlyWhereTheFileIsDeleted() {
    Opened opened = create(FILE, A, B, C);
    ChunkHandle chunk = opened.chunk().orElseThrow();
    done(sealing(chunk, 1, seal(5, 50)));
    begin(chunk, ChangeReason.REOPEN, false);
    done(recovery(chunk, A, B, C));
    refused(ErrorCode.STALE_VERSION, new Operation.AbandonChange(chunk, 2));

    done(new Operation.Delete(call(OTHER), FILE, false, true, 0));
    done(new Operation.AbandonChange(chunk, 2));

    assertThat(chunk(chunk).pending()).isEmpty();
    assertThat(chunk(chunk).isSealed()).isTrue();
  }

  @Test
  void aSealedChunkIsOnlyBegunToBeReopened() {
    ChunkHandle chunk = chunkAt(A, B, C);
    done(sealing(chunk, 1, seal(5, 50)));
    refused(
        ErrorCode.STALE_VERSION,
        new Operation.BeginChange(
            chunk, 2, ChangeReason.PRIMARY_LOST, true, false, Optional.empty()));
  }

  @Test
  void aSmallerTokenIsFenced() {
    Opened opened = create(FILE, A, B, C);
    done(new Operation.OpenForWrite(call(OTHER), FILE, 34, 0));
    refused(ErrorCode.FENCED, new Operation.OpenForWrite(call(OTHER), FILE, 33, 0));
    refused(ErrorCode.FENCED, adding(opened.file(), 0, Optional.of(seal(5, 50))));
  }

  // ---------------------------------------------------------------- replicas

  @Test
  void aCopyJoinsOnlyWithTheLoggedLengthAndChecksum() {
    ChunkHandle chunk = chunkAt(A, B, C);
    Ordered ordered = (Ordered) done(new Operation.OrderReplica(chunk, place(D), Optional.empty()));
    refused(
        ErrorCode.STALE_VERSION, new Operation.JoinReplica(chunk, D, ordered.replica(), 1, 50, 77));
    done(sealing(chunk, 1, seal(5, 50)));
    refused(
        ErrorCode.STALE_VERSION, new Operation.JoinReplica(chunk, D, ordered.replica(), 1, 50, 78));
    done(new Operation.JoinReplica(chunk, D, ordered.replica(), 1, 50, 77));
    assertThat(chunk(chunk).active().memberAt(D)).isPresent();
    assertThat(chunk(chunk).learners()).isEmpty();
    assertThat(chunk(chunk).active().version()).isEqualTo(1);
  }

  /**
   * A member of an open chunk that has nothing is replaced at its own server, as a learner that
   * joins with the next version; only where that version has no seed yet, which might need it, and
   * it is never born anew.
   */
  @Test
  void aMemberIsReplacedAtItsServerWhileNoSeedIsNamed() {
    ChunkHandle chunk = chunkAt(A, B, C);
    Member lost = chunk(chunk).active().memberAt(B).orElseThrow();
    Operation order = new Operation.OrderReplica(chunk, place(B), Optional.of(lost.replica()));
    refused(ErrorCode.STALE_VERSION, order);
    begin(chunk, ChangeReason.MEMBER_FAILED, false);
    refused(ErrorCode.STALE_VERSION, new Operation.OrderReplica(chunk, place(B), Optional.empty()));
    refused(
        ErrorCode.STALE_VERSION,
        new Operation.OrderReplica(chunk, place(D), Optional.of(lost.replica())));
    Ordered ordered = (Ordered) done(order);
    refused(ErrorCode.STALE_VERSION, order);
    assertThat(chunk(chunk).isReplaced(lost)).isTrue();
    assertThat(chunk(chunk).mayBeBorn(lost)).isFalse();
    assertThat(chunk(chunk).mayBeBorn(chunk(chunk).active().memberAt(C).orElseThrow())).isTrue();

    Member copy = chunk(chunk).learnerAt(B).orElseThrow().member();
    assertThat(copy.replica()).isEqualTo(ordered.replica());
    Participant joining = new Participant(copy, state.server(B).orElseThrow().incarnation());
    Seed seed = new Seed(A, state.server(A).orElseThrow().incarnation());
    done(new Operation.RecoverChange(chunk, 2, seed, List.of(joining)));
    done(
        new Operation.Activate(
            chunk, 2, session(A), List.of(participant(chunk, A), joining), 20, 2));
    assertThat(chunk(chunk).active().memberAt(B)).contains(copy);
    assertThat(chunk(chunk).active().members()).hasSize(2);
    assertThat(chunk(chunk).learners()).isEmpty();
  }

  @Test
  void aMemberIsNotReplacedOnceASeedIsNamed() {
    ChunkHandle chunk = chunkAt(A, B, C);
    Member lost = chunk(chunk).active().memberAt(B).orElseThrow();
    begin(chunk, ChangeReason.MEMBER_FAILED, false);
    done(recovery(chunk, A, C));
    refused(
        ErrorCode.STALE_VERSION,
        new Operation.OrderReplica(chunk, place(B), Optional.of(lost.replica())));
  }

  /**
   * A copy that was ordered long ago is ready at last, after its order was dropped, another was
   * given, and the chunk got newer versions (AWS, 19 October 2025: a slow worker applied an old
   * plan after newer ones). It is not taken in; the newer order stands.
   */
  @Test
  @Tag("F17")
  void aCopyOfAnOrderThatWasReplacedIsNotTakenIn() {
    ChunkHandle chunk = chunkAt(A, B);
    Ordered slow = (Ordered) done(new Operation.OrderReplica(chunk, place(D), Optional.empty()));
    begin(chunk, ChangeReason.MEMBER_FAILED, false);
    done(recovery(chunk, A, B));
    done(activation(chunk, A, B));
    done(new Operation.RemoveReplica(chunk, D, slow.replica()));
    Ordered newer = (Ordered) done(new Operation.OrderReplica(chunk, place(D), Optional.empty()));
    done(sealing(chunk, 2, seal(25, 50)));

    refused(
        ErrorCode.STALE_VERSION, new Operation.JoinReplica(chunk, D, slow.replica(), 1, 50, 77));
    refused(ErrorCode.STALE_VERSION, new Operation.RemoveReplica(chunk, D, slow.replica()));
    assertThat(chunk(chunk).learnerAt(D).orElseThrow().member().replica())
        .isEqualTo(newer.replica());
    done(new Operation.JoinReplica(chunk, D, newer.replica(), 1, 50, 77));
    assertThat(chunk(chunk).active().memberAt(D).orElseThrow().replica())
        .isEqualTo(newer.replica());
  }

  /**
   * A server's and a client's session end in one entry, with all that hangs on them, in every table
   * (zkconfig-resources 26: "expired" was seen before the ephemeral was gone; dittofs 2402: one
   * table was cleared, another not). Nothing is left, and nothing of others goes with it.
   */
  @Test
  @Tag("F36")
  @Tag("F64")
  void theEndOfASessionIsTheEndOfAllItHeldInEveryTable() {
    Opened mine = create(FILE, A, B, C);
    Opened put = create(new FilePath("/" + FilePath.HIDDEN_PREFIX + "7"), A, C, B);
    Opened other = (Opened) done(creation(call(OTHER), new FilePath("/other"), B, C, D));
    SessionId server = session(A);
    assertThat(state.leasesOf(server)).hasSize(2);
    assertThat(state.openFiles(mine.session())).hasSize(2);

    done(new Operation.EndSessions(TERM, List.of(server, mine.session()), 0));

    assertThat(state.session(server)).isEmpty();
    assertThat(state.session(mine.session())).isEmpty();
    assertThat(state.server(A).orElseThrow().session()).isEmpty();
    assertThat(state.leasesOf(server)).isEmpty();
    assertThat(state.leases()).containsExactly(other.chunk().orElseThrow());
    assertThat(chunk(mine.chunk().orElseThrow()).lease()).isEmpty();
    assertThat(state.openFiles(mine.session())).isEmpty();
    assertThat(state.stat(FILE).openWriters()).isZero();
    assertThat(state.file(put.file()).orElseThrow().place()).isEqualTo(FileEntry.Place.DOOMED);
    assertThat(state.client(WRITER).orElseThrow().session()).isEmpty();
    assertThat(state.chunksToClose()).contains(mine.chunk().orElseThrow());
    assertThat(state.openFiles(other.session())).hasSize(1);
    assertThat(state.session(other.session())).isPresent();
    // neither can be used as if it were still there
    refused(
        ErrorCode.UNKNOWN_SESSION,
        new Operation.AddChunk(
            call(WRITER), mine.file(), 0, Optional.of(seal(5, 50)), places(B, C, D), 0));
  }

  @Test
  @Tag("F52")
  void theLastCopyIsNeverTakenOut() {
    ChunkHandle chunk = chunkAt(A, B);
    done(sealing(chunk, 1, seal(5, 50)));
    done(removal(chunk, A));
    refused(ErrorCode.STALE_VERSION, removal(chunk, B));
  }

  private Operation removal(ChunkHandle chunk, ServerId server) {
    return new Operation.RemoveReplica(
        chunk, server, chunk(chunk).active().memberAt(server).orElseThrow().replica());
  }

  @Test
  void aMemberOfAnOpenChunkLeavesByANewVersionOnly() {
    ChunkHandle chunk = chunkAt(A, B, C);
    refused(ErrorCode.STALE_VERSION, removal(chunk, C));
  }

  @Test
  void aCaughtUpLearnerJoinsWithTheNextVersion() {
    ChunkHandle chunk = chunkAt(A, B);
    done(new Operation.OrderReplica(chunk, place(D), Optional.empty()));
    begin(chunk, ChangeReason.MEMBER_JOINS, false);
    done(recovery(chunk, A, B, D));
    done(activation(chunk, A, B, D));
    assertThat(chunk(chunk).active().members()).hasSize(3);
    assertThat(state.chunksWithLearners()).isEmpty();
  }

  // ---------------------------------------------------------------- the tree

  @Test
  void parentsAreMadeOnDemandOnly() {
    FilePath deep = new FilePath("/a/b/c");
    refused(ErrorCode.NOT_FOUND, new Operation.Mkdir(call(WRITER), deep, false, 0755, 0));
    done(new Operation.Mkdir(call(WRITER), deep, true, 0755, 0));
    done(new Operation.Mkdir(call(WRITER), deep, true, 0755, 0));
    refused(ErrorCode.ALREADY_EXISTS, new Operation.Mkdir(call(WRITER), deep, false, 0755, 0));
    assertThat(state.folderCount()).isEqualTo(3);
    create(FILE, A);
    refused(
        ErrorCode.NOT_A_DIRECTORY,
        new Operation.Mkdir(call(WRITER), new FilePath("/file/x"), true, 0755, 0));
  }

  @Test
  void anUnfinishedPutIsHiddenAndVanishesWithItsSession() {
    FilePath put = new FilePath("/" + FilePath.HIDDEN_PREFIX + "7");
    Opened opened = create(put, A, B, C);
    assertThat(names("/")).isEmpty();
    assertThat(state.stat(FilePath.ROOT).chunkCount()).isZero();
    done(new Operation.EndSessions(TERM, List.of(opened.session()), 0));
    assertThatThrownBy(() -> state.stat(put)).isInstanceOf(LeaseFsException.class);
    assertThat(state.file(opened.file()).orElseThrow().place()).isEqualTo(FileEntry.Place.DOOMED);
    assertThat(state.fileCount()).isZero();
  }

  @Test
  void namesOfUnfinishedPutsAreReserved() {
    FilePath reserved = new FilePath("/" + FilePath.HIDDEN_PREFIX + "mine");
    create(FILE, A, B, C);
    refused(ErrorCode.INVALID_PATH, new Operation.Rename(call(WRITER), FILE, reserved, false, 0));
    refused(ErrorCode.INVALID_PATH, new Operation.Mkdir(call(WRITER), reserved, false, 0755, 0));
    refused(
        ErrorCode.INVALID_PATH,
        new Operation.Mkdir(call(WRITER), reserved.child("below"), true, 0755, 0));
    assertThat(names("/")).containsExactly(FILE.name());
  }

  @Test
  void aFinishedPutReplacesTheOldFileAndStays() {
    create(FILE, A, B, C);
    FilePath put = new FilePath("/" + FilePath.HIDDEN_PREFIX + "7");
    Opened opened = create(put, A, B, C);
    refused(ErrorCode.ALREADY_EXISTS, new Operation.Rename(call(WRITER), put, FILE, false, 0));
    done(new Operation.Rename(call(WRITER), put, FILE, true, 0));
    done(new Operation.EndSessions(TERM, List.of(opened.session()), 0));
    assertThat(state.lookUp(FILE)).isEqualTo(opened.file());
    assertThat(state.trash()).hasSize(1);
  }

  @Test
  void aFolderIsNotMovedIntoItself() {
    done(new Operation.Mkdir(call(WRITER), new FilePath("/a/b"), true, 0755, 0));
    refused(
        ErrorCode.INVALID_ARGUMENT,
        new Operation.Rename(call(WRITER), new FilePath("/a"), new FilePath("/a/b/a"), false, 0));
    done(new Operation.Rename(call(WRITER), new FilePath("/a"), new FilePath("/ab"), false, 0));
    assertThat(names("/ab")).containsExactly("b");
  }

  @Test
  void aMoveThatWouldMakeAPathTooLongIsRefused() {
    FilePath deep = FilePath.ROOT.child("x");
    for (int i = 0; i < 15; i++) {
      deep = deep.child("n".repeat(255));
    }
    deep = deep.child("end");
    done(new Operation.Mkdir(call(WRITER), deep, true, 0755, 0));
    refused(
        ErrorCode.INVALID_PATH,
        new Operation.Rename(
            call(WRITER), new FilePath("/x"), new FilePath("/" + "y".repeat(255)), false, 0));
  }

  @Test
  void restoreBringsBackTheNewestAndTheOlderStays() {
    Opened first = create(FILE, A, B, C);
    done(new Operation.Delete(call(WRITER), FILE, false, false, 100));
    Opened second = create(FILE, A, B, C);
    done(new Operation.Delete(call(WRITER), FILE, false, false, 200));
    done(new Operation.Restore(call(WRITER), FILE, 0));
    assertThat(state.lookUp(FILE)).isEqualTo(second.file());
    assertThat(state.trash()).extracting(t -> t.id()).containsExactly(first.file());
    refused(ErrorCode.ALREADY_EXISTS, new Operation.Restore(call(WRITER), FILE, 0));
  }

  @Test
  void aWriterIsNotDisturbedByAMoveToTheTrash() {
    Opened opened = create(FILE, A, B, C);
    done(new Operation.Delete(call(OTHER), FILE, false, false, 0));
    done(adding(opened.file(), 0, Optional.of(seal(5, 50))));
  }

  @Test
  void aDoomedFileIsPurgedOnceSealedAndFree() {
    Opened opened = create(FILE, A, B, C);
    ChunkHandle chunk = opened.chunk().orElseThrow();
    done(new Operation.Delete(call(OTHER), FILE, false, true, 0));
    assertThat(state.purgeable(10)).isEmpty();
    assertThat(state.doomedChunksInUse(10)).containsExactly(chunk);
    refused(ErrorCode.NOT_FOUND, adding(opened.file(), 0, Optional.of(seal(5, 50))));
    begin(chunk, ChangeReason.DELETE, true);
    done(recovery(chunk, B, C));
    done(sealing(chunk, 2, seal(9, 90), B, C));
    assertThat(chunk(chunk).sealedForEver()).isTrue();
    assertThat(state.purgeable(10)).isEmpty();
    done(new Operation.EndLeases(List.of(new LeaseId(chunk, 1, session(A)))));
    assertThat(state.purgeable(10)).containsExactly(opened.file());
    done(new Operation.PurgeFiles(List.of(opened.file())));
    assertThat(state.chunkCount()).isZero();
    assertThat(state.file(opened.file())).isEmpty();
  }

  @Test
  void aDoomedFolderGoesChildrenFirst() {
    done(new Operation.Mkdir(call(WRITER), new FilePath("/a/b/c"), true, 0755, 0));
    refused(
        ErrorCode.NOT_EMPTY,
        new Operation.Delete(call(WRITER), new FilePath("/a"), false, true, 0));
    done(new Operation.Delete(call(WRITER), new FilePath("/a"), true, true, 0));
    int rounds = 0;
    while (!state.purgeable(10).isEmpty()) {
      done(new Operation.PurgeFiles(state.purgeable(10)));
      rounds++;
    }
    assertThat(rounds).isEqualTo(3);
    assertThat(state.folderCount()).isZero();
  }

  @Test
  void listsPageByName() {
    for (int i = 0; i < 1000; i++) {
      FilePath path = new FilePath("/d" + (i * 7919) % 1000);
      done(new Operation.Mkdir(call(WRITER), path, false, 0755, 0));
    }
    List<String> all = new ArrayList<>();
    String after = "";
    while (true) {
      List<FileStatus> page = state.list(FilePath.ROOT, after, 64);
      if (page.isEmpty()) {
        break;
      }
      page.forEach(status -> all.add(status.path().name()));
      after = all.getLast();
    }
    assertThat(all).hasSize(1000).isSorted().doesNotHaveDuplicates();
  }

  @Test
  void usageCountsWhatLiesBelow() {
    done(new Operation.Mkdir(call(WRITER), new FilePath("/a"), true, 0755, 0));
    Opened opened = create(new FilePath("/a/f"), A, B, C);
    done(closing(opened, Optional.of(seal(5, 500))));
    assertThat(state.usage(new FilePath("/a"))).isEqualTo(new Usage(1, 1, 500, 1500, 1));
  }

  @Test
  void aRaisedGenerationLeadsAllLaterOrdinals() {
    long before = state.lastApplied();
    done(new Operation.RaiseGeneration(3));
    refused(ErrorCode.INVALID_ARGUMENT, new Operation.RaiseGeneration(3));
    assertThat(state.lastApplied()).isGreaterThan(Ordinal.of(3, 0));
    for (ServerId server : List.of(A, B, C)) {
      register(server, 2, 20);
    }
    Opened opened = create(FILE, A, B, C);
    assertThat(Ordinal.generation(opened.file().value())).isEqualTo(3);
    assertThat(opened.session().value()).isGreaterThan(before);
  }

  /** What is missing in the log may have gone on with all of these. */
  @Test
  void aRaisedGenerationEndsServersSessionsAndLeadsTheVersionsOfOldChunks() {
    Opened opened = create(FILE, A, B, C);
    ChunkHandle chunk = opened.chunk().orElseThrow();
    done(
        new Operation.BeginChange(chunk, 2, ChangeReason.HAND_OVER, true, false, Optional.empty()));

    done(new Operation.RaiseGeneration(1));

    ChunkEntry raised = state.chunk(chunk).orElseThrow();
    assertThat(raised.pending()).isEmpty();
    assertThat(raised.lease()).isEmpty();
    assertThat(raised.active().version()).isEqualTo(1);
    assertThat(raised.lastVersion()).isEqualTo(Ordinal.of(1, 2));
    assertThat(state.servers()).allMatch(server -> server.session().isEmpty());
    assertThat(state.session(opened.session())).as("the client's").isPresent();
    refused(
        ErrorCode.STALE_VERSION,
        new Operation.BeginChange(
            chunk, 3, ChangeReason.HAND_OVER, false, false, Optional.empty()));
    done(
        new Operation.BeginChange(
            chunk, Ordinal.of(1, 3), ChangeReason.HAND_OVER, false, false, Optional.empty()));
  }
}
