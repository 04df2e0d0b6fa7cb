package io.leasefs.chunkserver.session;

import static org.assertj.core.api.Assertions.assertThat;

import io.leasefs.common.api.Heartbeat;
import io.leasefs.common.api.Heartbeat.DiskReport;
import io.leasefs.common.api.Heartbeat.LeaseName;
import io.leasefs.common.api.Heartbeat.ReplicaReport;
import io.leasefs.common.api.Heartbeat.Status;
import io.leasefs.common.api.Registration;
import io.leasefs.common.error.ErrorCode;
import io.leasefs.common.lease.LeaseTerms;
import io.leasefs.common.model.ChunkHandle;
import io.leasefs.common.model.ChunkSpec;
import io.leasefs.common.model.Configuration;
import io.leasefs.common.model.DiskId;
import io.leasefs.common.model.Durability;
import io.leasefs.common.model.Endpoints;
import io.leasefs.common.model.FileId;
import io.leasefs.common.model.LeaseGrant;
import io.leasefs.common.model.Member;
import io.leasefs.common.model.ReplicaId;
import io.leasefs.common.model.ServerAddress;
import io.leasefs.common.model.ServerId;
import io.leasefs.common.model.SessionId;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

class SessionCoreTest {
  private static final long MILLI = 1_000_000;
  private static final LeaseTerms TERMS = LeaseTerms.ofTtl(2_000 * MILLI);
  private static final ServerId SELF = new ServerId("cs1");
  private static final ServerAddress M1 = ServerAddress.parse("m1:1");
  private static final ServerAddress M2 = ServerAddress.parse("m2:1");
  private static final Endpoints HERE = Endpoints.of(ServerAddress.parse("cs1:1"));
  private static final ChunkHandle CHUNK = new ChunkHandle(0x51c);

  private SessionCore core = coreFor(M1, M2);
  private long now = 1_000 * MILLI;
  private long responseNumber;
  private long appliedOrdinal;
  private final List<SessionAction> done = new ArrayList<>();

  private static SessionCore coreFor(ServerAddress... masters) {
    return coreFor(0, masters);
  }

  private static SessionCore coreFor(long term, ServerAddress... masters) {
    return new SessionCore(
        new SessionCore.Identity(SELF, "r1", "boot", List.of(new DiskId("d1")), List.of(masters)),
        "",
        term,
        0);
  }

  private void step(SessionEvent event) {
    List<SessionAction> actions = core.step(event, now);
    done.addAll(actions);
  }

  private <T extends SessionAction> List<T> all(Class<T> type) {
    return done.stream().filter(type::isInstance).map(type::cast).toList();
  }

  private <T extends SessionAction> T last(Class<T> type) {
    return all(type).getLast();
  }

  private Heartbeat.Request lastSent() {
    return last(SessionAction.Send.class).request();
  }

  private void pass(long millis) {
    now += millis * MILLI;
    step(new SessionEvent.Woken());
  }

  private void connect() {
    step(new SessionEvent.Start(HERE, List.of()));
    step(new SessionEvent.IncarnationRaised(7, 99));
    step(new SessionEvent.Registered(last(SessionAction.Register.class).attempt(), registered()));
    step(new SessionEvent.Collected(List.of()));
    pass(3);
    answer(Status.OK);
  }

  private static Registration.Response registered() {
    return new Registration.Response(
        "cluster",
        1,
        new SessionId(40),
        0,
        TERMS.ttlNanos(),
        TERMS.heartbeatNanos(),
        TERMS.rpcTimeoutNanos(),
        TERMS.driftPpm(),
        TERMS.readingErrorNanos(),
        TERMS.guardNanos(),
        TERMS.stallNanos());
  }

  private void answer(Status status) {
    answer(0, status, Optional.empty(), List.of());
  }

  private void answer(
      long term, Status status, Optional<ServerAddress> hint, List<LeaseGrant> grants) {
    step(
        new SessionEvent.Answered(
            last(SessionAction.Connect.class).connection(),
            new Heartbeat.Response(
                "cluster",
                term,
                new ServerId("m1"),
                ++responseNumber,
                lastSent().sequence(),
                status,
                hint,
                TERMS.ttlNanos(),
                grants,
                List.of(),
                List.of(),
                0,
                List.of(),
                appliedOrdinal)));
  }

  private static LeaseGrant grant(long version) {
    Member self = new Member(SELF, new DiskId("d1"), new ReplicaId(9));
    return new LeaseGrant(
        new ChunkSpec(CHUNK, new FileId(3), 1 << 20, Durability.REPLICATED),
        11,
        new Configuration(version, Optional.of(SELF), List.of(self), 0),
        Map.of());
  }

  @Test
  void registersOnlyWithAnIncarnationThatIsOnTheDisk() {
    step(new SessionEvent.Start(HERE, List.of()));
    assertThat(done).contains(new SessionAction.RaiseIncarnation(1));
    assertThat(all(SessionAction.Register.class)).isEmpty();

    step(new SessionEvent.IncarnationRaised(7, 99));
    assertThat(last(SessionAction.Register.class).request().incarnation()).isEqualTo(7);
  }

  @Test
  void retryOfARegistrationRepeatsIncarnationAndNonceAtTheNextMaster() {
    step(new SessionEvent.Start(HERE, List.of()));
    step(new SessionEvent.IncarnationRaised(7, 99));
    SessionAction.Register first = last(SessionAction.Register.class);
    step(
        new SessionEvent.RegistrationFailed(
            first.attempt(), ErrorCode.UNREACHABLE, Optional.empty(), "refused"));
    SessionAction.Register second = last(SessionAction.Register.class);
    assertThat(second.master()).isEqualTo(M2).isNotEqualTo(first.master());
    assertThat(second.request()).isEqualTo(first.request());
  }

  @Test
  void registrationWhoseSessionHasEndedMeanwhileIsMadeInANewIncarnation() {
    step(new SessionEvent.Start(HERE, List.of()));
    step(new SessionEvent.IncarnationRaised(7, 99));
    int raised = all(SessionAction.RaiseIncarnation.class).size();
    step(
        new SessionEvent.RegistrationFailed(
            last(SessionAction.Register.class).attempt(),
            ErrorCode.UNKNOWN_SESSION,
            Optional.empty(),
            "the session of incarnation 7 has ended"));
    assertThat(all(SessionAction.RaiseIncarnation.class)).hasSize(raised + 1);

    step(new SessionEvent.IncarnationRaised(8, 100));
    assertThat(last(SessionAction.Register.class).request().incarnation()).isEqualTo(8);
  }

  @Test
  void countOfAReplacedDiskSoonIsAboveTheOldOnesWhicheverThatWas() {
    step(new SessionEvent.Start(HERE, List.of()));
    long incarnation = 1;
    long tries = 0;
    while (incarnation <= 1_000) {
      step(new SessionEvent.IncarnationRaised(incarnation, 99));
      step(
          new SessionEvent.RegistrationFailed(
              last(SessionAction.Register.class).attempt(),
              ErrorCode.UNKNOWN_SESSION,
              Optional.empty(),
              "its disk is another one, and incarnation not above the logged 1000"));
      incarnation += last(SessionAction.RaiseIncarnation.class).by();
      tries++;
    }
    assertThat(tries).isLessThan(12);
    assertThat(incarnation).isLessThan(2_100);
  }

  @Test
  void pausesGrowAfterARoundOfSilentMasters() {
    step(new SessionEvent.Start(HERE, List.of()));
    step(new SessionEvent.IncarnationRaised(7, 99));
    for (int i = 0; i < 2; i++) {
      step(
          new SessionEvent.RegistrationFailed(
              last(SessionAction.Register.class).attempt(),
              ErrorCode.UNREACHABLE,
              Optional.empty(),
              "refused"));
    }
    int tries = all(SessionAction.Register.class).size();
    assertThat(last(SessionAction.WakeAt.class).nanos()).isGreaterThan(now);
    pass(1_000);
    assertThat(all(SessionAction.Register.class)).hasSize(tries + 1);
  }

  @Test
  void heartbeatGoesOutEveryIntervalAndCarriesTheFullReportUntilItIsAnswered() {
    connect();
    assertThat(lastSent().fullReport()).isTrue();
    int sent = all(SessionAction.Send.class).size();
    pass(199);
    assertThat(all(SessionAction.Send.class)).hasSize(sent);
    pass(1);
    assertThat(all(SessionAction.Send.class)).hasSize(sent + 1);
    assertThat(lastSent().fullReport()).isFalse();
  }

  @Test
  void newsGoOutAtOnceAndAreRepeatedUntilARequestThatHadThemIsAnswered() {
    connect();
    now += 50 * MILLI;
    step(new SessionEvent.Told(new News.Released(new LeaseName(CHUNK, 4))));
    assertThat(lastSent().released()).containsExactly(new LeaseName(CHUNK, 4));

    pass(200);
    assertThat(lastSent().released()).containsExactly(new LeaseName(CHUNK, 4));
    answer(Status.OK);
    pass(200);
    assertThat(lastSent().released()).isEmpty();
  }

  @Test
  void answerToAnEarlierRequestDoesNotSettleNews() {
    connect();
    pass(200);
    Heartbeat.Request before = lastSent();
    step(new SessionEvent.Told(new News.Released(new LeaseName(CHUNK, 4))));
    pass(3);
    assertThat(lastSent().released()).hasSize(1);
    step(
        new SessionEvent.Answered(
            last(SessionAction.Connect.class).connection(),
            new Heartbeat.Response(
                "cluster",
                0,
                new ServerId("m1"),
                ++responseNumber,
                before.sequence(),
                Status.OK,
                Optional.empty(),
                TERMS.ttlNanos(),
                List.of(),
                List.of(),
                List.of(),
                0,
                List.of(),
                appliedOrdinal)));
    pass(200);
    assertThat(lastSent().released()).hasSize(1);
  }

  @Test
  void higherTermIsOnTheDiskBeforeItsResponseIsObeyed() {
    connect();
    pass(200);
    answer(5, Status.OK, Optional.empty(), List.of(grant(8)));
    assertThat(done).contains(new SessionAction.StoreTerm(5));
    assertThat(all(SessionAction.Granted.class)).isEmpty();

    step(new SessionEvent.TermStored(5));
    assertThat(all(SessionAction.Granted.class)).hasSize(1);
    pass(200);
    assertThat(lastSent().highestTerm()).isEqualTo(5);
    assertThat(lastSent().heldInFull()).isPresent();
  }

  @Test
  @Tag("F11")
  void responseOfALowerTermIsDropped() {
    connect();
    pass(200);
    answer(5, Status.OK, Optional.empty(), List.of());
    step(new SessionEvent.TermStored(5));
    pass(200);
    answer(4, Status.UNKNOWN_SESSION, Optional.empty(), List.of(grant(8)));
    assertThat(all(SessionAction.Granted.class)).isEmpty();
    assertThat(all(SessionAction.RaiseIncarnation.class)).hasSize(1);
  }

  private static Heartbeat.Command commandOf(Class<?> kind) {
    Member self = new Member(SELF, new DiskId("d1"), new ReplicaId(9));
    ChunkSpec spec = grant(8).spec();
    return switch (kind.getSimpleName()) {
      case "SealCommand" -> new Heartbeat.SealCommand(spec, self, 9, Optional.empty());
      case "RecoverCommand" -> new Heartbeat.RecoverCommand(spec, 9, List.of(), false, false, 0);
      case "CopyCommand" -> new Heartbeat.CopyCommand(spec, self, 9, self, M1, Optional.empty());
      case "DeleteCommand" -> new Heartbeat.DeleteCommand(CHUNK, new ReplicaId(9), 8);
      case "CloseCommand" -> new Heartbeat.CloseCommand(CHUNK, 8);
      case "SettledCommand" -> new Heartbeat.SettledCommand(CHUNK, 8, 3);
      default -> throw new IllegalArgumentException("a kind that this test does not know: " + kind);
    };
  }

  private void answerWithEverything(long term, Heartbeat.Command command, long version) {
    step(
        new SessionEvent.Answered(
            last(SessionAction.Connect.class).connection(),
            new Heartbeat.Response(
                "cluster",
                term,
                new ServerId("m1"),
                ++responseNumber,
                lastSent().sequence(),
                Status.OK,
                Optional.empty(),
                TERMS.ttlNanos(),
                List.of(grant(version)),
                List.of(new LeaseName(CHUNK, version - 1)),
                List.of(command),
                77,
                List.of(),
                0)));
  }

  /**
   * A leader of an earlier term still speaks (Ozone HDDS-3988, HDDS-4632: one kind of command was
   * obeyed all the same, for it forgot to look at the term). Every kind of command that there is,
   * with a renewal, a grant, a revocation and news of dead sessions beside it, is dropped; in the
   * present term each is obeyed. A kind that is added later fails here until it is named.
   */
  @Test
  @Tag("F13")
  void everyKindOfCommandOfAnEarlierTermIsDropped() {
    Class<?>[] kinds = Heartbeat.Command.class.getPermittedSubclasses();
    assertThat(kinds).hasSizeGreaterThan(4);
    for (Class<?> kind : kinds) {
      // Restarted: it has the term from its disk, and no answer yet that would tell by its number.
      core = coreFor(5, M1, M2);
      done.clear();
      step(new SessionEvent.Start(HERE, List.of()));
      step(new SessionEvent.IncarnationRaised(7, 99));
      step(new SessionEvent.Registered(last(SessionAction.Register.class).attempt(), registered()));
      step(new SessionEvent.Collected(List.of()));
      pass(3);
      int before = done.size();
      answerWithEverything(4, commandOf(kind), 10);
      assertThat(done.subList(before, done.size()))
          .as("%s of term 4", kind.getSimpleName())
          .noneMatch(
              action ->
                  action instanceof SessionAction.Granted
                      || action instanceof SessionAction.Renewed
                      || action instanceof SessionAction.Over
                      || action instanceof SessionAction.Obey
                      || action instanceof SessionAction.SessionsDead);
      answerWithEverything(5, commandOf(kind), 10);
      assertThat(done.subList(before, done.size()))
          .as("%s of term 5", kind.getSimpleName())
          .anyMatch(SessionAction.Obey.class::isInstance)
          .anyMatch(SessionAction.Granted.class::isInstance)
          .anyMatch(SessionAction.SessionsDead.class::isInstance);
    }
  }

  /**
   * A grant comes again under the same version with other members (HDFS-17850: an equal generation
   * stamp was taken). The same again is nothing new; the other is refused, and said.
   */
  @Test
  @Tag("F43")
  void grantThatContradictsTheOneHeldIsRefusedAndSaid() {
    connect();
    pass(200);
    answer(0, Status.OK, Optional.empty(), List.of(grant(8)));
    pass(200);
    answer(0, Status.OK, Optional.empty(), List.of(grant(8)));
    assertThat(all(SessionAction.Granted.class)).hasSize(1);
    assertThat(all(SessionAction.Complain.class)).isEmpty();

    LeaseGrant held = grant(8);
    Member other = new Member(new ServerId("cs2"), new DiskId("d2"), new ReplicaId(9));
    List<Member> members = List.of(held.configuration().members().getFirst(), other);
    pass(200);
    answer(
        0,
        Status.OK,
        Optional.empty(),
        List.of(
            new LeaseGrant(
                held.spec(),
                held.token(),
                new Configuration(8, Optional.of(SELF), members, 0),
                Map.of())));
    assertThat(all(SessionAction.Granted.class)).hasSize(1);
    assertThat(all(SessionAction.Over.class)).isEmpty();
    assertThat(all(SessionAction.Complain.class)).hasSize(1);
  }

  @Test
  @Tag("F35")
  void unknownSessionEndsAllLeasesAndRaisesTheIncarnation() {
    connect();
    pass(200);
    answer(0, Status.OK, Optional.empty(), List.of(grant(8)));
    pass(200);
    answer(Status.UNKNOWN_SESSION);
    assertThat(all(SessionAction.Over.class))
        .extracting(SessionAction.Over::lease)
        .containsExactly(new LeaseName(CHUNK, 8));
    assertThat(all(SessionAction.RaiseIncarnation.class)).hasSize(2);
  }

  @Test
  void silentMasterIsLeftAfterTheRpcTimeout() {
    connect();
    pass(200);
    int connections = all(SessionAction.Connect.class).size();
    now += TERMS.rpcTimeoutNanos();
    step(new SessionEvent.Woken());
    assertThat(all(SessionAction.Connect.class)).hasSize(connections + 1);
    assertThat(last(SessionAction.Connect.class).master()).isEqualTo(M2);
  }

  @Test
  void onlyMasterIsBorneTwiceAsLong() {
    core = coreFor(M1);
    connect();
    pass(200);
    int connections = all(SessionAction.Connect.class).size();
    now += TERMS.rpcTimeoutNanos();
    step(new SessionEvent.Woken());
    assertThat(all(SessionAction.Connect.class)).hasSize(connections);
    now += TERMS.rpcTimeoutNanos();
    step(new SessionEvent.Woken());
    pass(100);
    assertThat(all(SessionAction.Connect.class)).hasSize(connections + 1);
  }

  @Test
  void mastersThatAreAllTooSlowAreBorneLongerAfterAWholeRound() {
    connect();
    pass(TERMS.heartbeatNanos() / MILLI + 1);
    leftAfter(TERMS.rpcTimeoutNanos(), M2);
    leftAfter(TERMS.rpcTimeoutNanos(), M1);
    leftAfter(2 * TERMS.rpcTimeoutNanos(), M2); // they may need longer than that

    answer(Status.OK); // at once
    pass(TERMS.heartbeatNanos() / MILLI + 1);
    leftAfter(TERMS.rpcTimeoutNanos(), M1);
  }

  @Test
  void masterThatHasAnsweredLateIsBorneAsLongTheNextTime() {
    connect();
    pass(TERMS.heartbeatNanos() / MILLI + 1);
    leftAfter(TERMS.rpcTimeoutNanos(), M2);
    leftAfter(TERMS.rpcTimeoutNanos(), M1);

    now += TERMS.rpcTimeoutNanos() + MILLI;
    answer(Status.OK); // the next request is due, and goes out at once
    leftAfter(2 * TERMS.rpcTimeoutNanos(), M2);
  }

  /** The master that was asked just now is left for that one after so long, and not before. */
  private void leftAfter(long nanos, ServerAddress next) {
    int connections = all(SessionAction.Connect.class).size();
    now += nanos - MILLI;
    step(new SessionEvent.Woken());
    assertThat(all(SessionAction.Connect.class)).hasSize(connections);
    now += MILLI;
    step(new SessionEvent.Woken());
    for (int i = 0; i < 200 && all(SessionAction.Connect.class).size() == connections; i++) {
      pass(1); // after a round there is a pause
    }
    assertThat(all(SessionAction.Connect.class)).hasSize(connections + 1);
    assertThat(last(SessionAction.Connect.class).master()).isEqualTo(next);
    pass(3); // it is asked no sooner
  }

  @Test
  void hintOfAFollowerIsTakenButNotRoundAndRound() {
    connect();
    for (int i = 0; i < 20; i++) {
      pass(3);
      if (core.isConnected()) {
        answer(0, Status.NOT_LEADER, Optional.of(i % 2 == 0 ? M2 : M1), List.of());
      }
    }
    assertThat(all(SessionAction.Connect.class).size()).isBetween(3, 12);
  }

  @Test
  void stoppingGivesAllLeasesBackInTheLastHeartbeat() {
    connect();
    pass(200);
    answer(0, Status.OK, Optional.empty(), List.of(grant(8)));
    now += 50 * MILLI;
    step(new SessionEvent.Stop());
    assertThat(lastSent().released()).containsExactly(new LeaseName(CHUNK, 8));
    assertThat(all(SessionAction.Stopped.class)).isEmpty();
    answer(Status.OK);
    assertThat(done).contains(new SessionAction.Stopped(true));
  }

  @Test
  void stoppingDoesNotWaitForASilentMaster() {
    connect();
    pass(200);
    answer(0, Status.OK, Optional.empty(), List.of(grant(8)));
    step(new SessionEvent.Stop());
    pass(150);
    assertThat(done).contains(new SessionAction.Stopped(false));
  }

  @Test
  @Tag("F52")
  void serverOfAnotherClusterGivesUpAtOnceAndSaysWhy() {
    step(new SessionEvent.Start(HERE, List.of()));
    step(new SessionEvent.IncarnationRaised(7, 99));
    step(
        new SessionEvent.RegistrationFailed(
            last(SessionAction.Register.class).attempt(),
            ErrorCode.WRONG_CLUSTER,
            Optional.empty(),
            "cs1 belongs to cluster a, not to b"));
    SessionAction.GiveUp told = last(SessionAction.GiveUp.class);
    assertThat(told.code()).isEqualTo(ErrorCode.WRONG_CLUSTER);
    assertThat(told.why()).isEqualTo("cs1 belongs to cluster a, not to b");
    assertThat(done).contains(new SessionAction.Stopped(false));
    int tries = all(SessionAction.Register.class).size();
    pass(60_000);
    assertThat(all(SessionAction.Register.class)).hasSize(tries);
  }

  @Test
  void serverThatHasJoinedGoesOnLookingForItsOwnMaster() {
    connect();
    answer(Status.UNKNOWN_SESSION);
    step(new SessionEvent.IncarnationRaised(8, 100));
    step(
        new SessionEvent.RegistrationFailed(
            last(SessionAction.Register.class).attempt(),
            ErrorCode.WRONG_CLUSTER,
            Optional.empty(),
            "another cluster listens here now"));
    int tries = all(SessionAction.Register.class).size();
    pass(2_000);
    pass(2_000);
    assertThat(all(SessionAction.GiveUp.class)).isEmpty();
    assertThat(all(SessionAction.Register.class).size()).isGreaterThan(tries);
  }

  @Test
  void diskThatTurnsFullIsToldAtOnce() {
    connect();
    pass(3);
    answer(Status.OK);
    DiskId disk = new DiskId("d1");
    step(new SessionEvent.Disks(List.of(new DiskReport(disk, 1L << 30, 1L << 31, false, false))));
    pass(3);
    int sent = all(SessionAction.Send.class).size();
    step(new SessionEvent.Disks(List.of(new DiskReport(disk, 1L << 29, 1L << 31, false, false))));
    pass(3);
    assertThat(all(SessionAction.Send.class)).hasSize(sent);
    step(new SessionEvent.Disks(List.of(new DiskReport(disk, 1_000, 1L << 31, true, false))));
    pass(3);
    assertThat(all(SessionAction.Send.class)).hasSize(sent + 1);
    assertThat(lastSent().disks().get(0).full()).isTrue();
  }

  @Test
  void lateWakeUpIsSeenAsAPause() {
    connect();
    pass(1_500);
    assertThat(all(SessionAction.PauseSeen.class)).hasSize(1);
    assertThat(lastSent().pausesSeen()).isEqualTo(1);
  }

  // ---- how far the masters' log was heard of ---------------------------------------------------

  @Test
  void registersAndBeatsWithTheHighestOrdinalThatItHasHeardOf() {
    core =
        new SessionCore(
            new SessionCore.Identity(SELF, "r1", "boot", List.of(new DiskId("d1")), List.of(M1)),
            "cluster",
            3,
            700);
    step(new SessionEvent.Start(HERE, List.of()));
    step(new SessionEvent.IncarnationRaised(7, 99));
    Registration.Request request = last(SessionAction.Register.class).request();
    assertThat(request.highestOrdinal()).isEqualTo(700);
    assertThat(request.highestTerm()).isEqualTo(3);
  }

  @Test
  void ordinalsComeFromMastersAndFromCopiesThatCanBeRead() {
    connect();
    assertThat(lastSent().highestOrdinal()).as("the session's").isEqualTo(40);
    appliedOrdinal = 50;
    answer(Status.OK);
    step(new SessionEvent.Told(new News.Changed(copy(60, 61))));
    step(new SessionEvent.Told(new News.Changed(copy(90, 0)))); // only its name says so
    pass(10);
    assertThat(lastSent().highestOrdinal()).isEqualTo(61);
  }

  @Test
  void ordinalGoesToTheDiskAtOnceAndThenSeldom() {
    connect();
    assertThat(all(SessionAction.StoreOrdinal.class))
        .containsExactly(new SessionAction.StoreOrdinal(40));
    for (int i = 1; i <= 25; i++) {
      pass(1000);
      appliedOrdinal = 100L + i;
      answer(Status.OK);
    }
    assertThat(all(SessionAction.StoreOrdinal.class)).hasSize(3);
  }

  // ---- copies ----------------------------------------------------------------------------------

  @Test
  void birthIsToldWithTheNextHeartbeatAndHurriesNone() {
    connect();
    pass(10);
    answer(Status.OK);
    long sent = all(SessionAction.Send.class).size();

    step(new SessionEvent.Told(new News.Born(copy(60, 60))));
    pass(20);
    assertThat(all(SessionAction.Send.class)).hasSize((int) sent);

    pass(TERMS.heartbeatNanos() / MILLI);
    assertThat(lastSent().replicas()).containsExactly(copy(60, 60));
  }

  /** The master takes in what is there before it strikes out what is gone. */
  @Test
  void copyThatWasMadeAnewIsNotToldToBeGone() {
    connect();
    step(new SessionEvent.Told(new News.Gone(new ChunkHandle(60), new ReplicaId(60))));
    step(new SessionEvent.Told(new News.Changed(copy(60, 75))));
    pass(10);

    assertThat(lastSent().replicas()).containsExactly(copy(60, 75));
    assertThat(lastSent().replicasGone()).isEmpty();
  }

  private static ReplicaReport copy(long chunk, long replica) {
    return new ReplicaReport(
        new ChunkSpec(new ChunkHandle(chunk), new FileId(3), 1 << 20, Durability.REPLICATED),
        new ReplicaId(replica),
        new DiskId("d1"),
        Heartbeat.ReplicaState.SEALED,
        0,
        1,
        1,
        1,
        1,
        Optional.empty());
  }
}
