package io.leasefs.chunkserver;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.leasefs.chunkserver.fault.Faults;
import io.leasefs.chunkserver.fault.Harm;
import io.leasefs.chunkserver.session.ServerRecord;
import io.leasefs.chunkserver.store.ChunkStore;
import io.leasefs.common.api.ChunkApi;
import io.leasefs.common.api.ChunkApi.NamedAnswer;
import io.leasefs.common.api.ChunkApi.ReadEnd;
import io.leasefs.common.api.ChunkApi.ReadMode;
import io.leasefs.common.api.Frame;
import io.leasefs.common.api.FrameAnswer;
import io.leasefs.common.api.Heartbeat;
import io.leasefs.common.api.MutationKind;
import io.leasefs.common.checksum.Checksums;
import io.leasefs.common.edge.Disk;
import io.leasefs.common.edge.DiskFile;
import io.leasefs.common.error.LeaseFsException;
import io.leasefs.common.lease.LeaseTerms;
import io.leasefs.common.model.ChunkHandle;
import io.leasefs.common.model.ChunkSeal;
import io.leasefs.common.model.ChunkSpec;
import io.leasefs.common.model.ClusterEvent;
import io.leasefs.common.model.Configuration;
import io.leasefs.common.model.DiskId;
import io.leasefs.common.model.Durability;
import io.leasefs.common.model.Endpoints;
import io.leasefs.common.model.EventKind;
import io.leasefs.common.model.FileId;
import io.leasefs.common.model.LeaseGrant;
import io.leasefs.common.model.Member;
import io.leasefs.common.model.ReplicaId;
import io.leasefs.common.model.ServerAddress;
import io.leasefs.common.model.ServerId;
import io.leasefs.common.model.SessionId;
import io.leasefs.server.disk.simulated.SimulatedDisk;
import io.leasefs.server.events.EventLog;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Random;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Three servers, a scripted master and no network: the whole shell on one deterministic loop. */
class ChunkServerTest {
  private static final LeaseTerms TERMS = LeaseTerms.ofTtl(2_000_000_000);
  private static final ChunkHandle CHUNK = new ChunkHandle(0x51c);
  private static final FileId FILE = new FileId(3);
  private static final ChunkSpec SPEC = new ChunkSpec(CHUNK, FILE, 8 << 20, Durability.REPLICATED);
  private static final SessionId CLIENT = new SessionId(77);
  private static final ServerId CS1 = new ServerId("cs1");
  private static final ServerId CS2 = new ServerId("cs2");
  private static final ServerId CS3 = new ServerId("cs3");

  private final VirtualTime time = new VirtualTime();
  private final FakeMaster master = new FakeMaster(time, TERMS);
  private final Map<ServerId, ChunkServer> servers = new TreeMap<>();
  private final Map<ServerId, Disk> disks = new TreeMap<>();
  private final Map<ServerId, DiskId> diskIds = new TreeMap<>();
  private final TestNetwork network = new TestNetwork(servers);
  private final List<NamedAnswer> answers = new ArrayList<>();
  private final List<ClusterEvent> events = new ArrayList<>();
  private long sequence;

  @BeforeEach
  void startThree() throws IOException {
    for (ServerId id : List.of(CS1, CS2, CS3)) {
      disks.put(id, new SimulatedDisk(id.name().charAt(2), 1L << 30));
      start(id);
    }
    time.pass(50);
  }

  private void start(ServerId id) throws IOException {
    ServerAddress address = new ServerAddress(id.name(), 1);
    Random random = new Random(id.name().hashCode());
    ChunkStore store =
        ChunkStore.open(
            new ChunkStore.Surroundings(
                Objects.requireNonNull(disks.get(id)),
                id,
                time,
                tasks -> tasks.forEach(Runnable::run),
                time,
                time,
                random::nextLong,
                "boot",
                100,
                4));
    diskIds.put(id, store.diskId());
    ChunkServer server =
        new ChunkServer(
            ChunkServerConfig.of(id, "rack-" + id, "boot", List.of(ServerAddress.parse("m1:1"))),
            new ChunkServer.Edges(
                time,
                time,
                time,
                time,
                time,
                random::nextLong,
                network.from(id),
                network.masters(id, master),
                payload -> {}),
            store,
            ServerRecord.open(Objects.requireNonNull(disks.get(id))),
            new EventLog(id, time::nanos, time::wallMillis, 1_000, events::add),
            Optional.of(new Faults()));
    servers.put(id, server);
    server.start(Endpoints.of(address));
  }

  private Member member(ServerId id) {
    return new Member(
        id, Objects.requireNonNull(diskIds.get(id)), new ReplicaId(10 + id.name().charAt(2) - '0'));
  }

  private LeaseGrant grant(long version, long firstSerial, ServerId... chain) {
    List<Member> members = new ArrayList<>();
    Map<ServerId, ServerAddress> peers = new TreeMap<>();
    for (ServerId id : chain) {
      members.add(member(id));
      peers.put(id, new ServerAddress(id.name(), 1));
    }
    return new LeaseGrant(
        SPEC,
        1_000 + version,
        new Configuration(version, Optional.of(chain[0]), members, firstSerial),
        peers);
  }

  private Frame append(long version, String text) {
    return frame(version, MutationKind.APPEND, 0, text, false);
  }

  private Frame frame(long version, MutationKind kind, long offset, String text, boolean seals) {
    ByteBuffer payload = ByteBuffer.wrap(text.getBytes(StandardCharsets.UTF_8));
    return new Frame(
        FILE,
        CHUNK,
        version,
        0,
        CLIENT,
        ++sequence,
        1,
        0,
        kind,
        offset,
        seals,
        Checksums.of(payload, Frame.PIECE),
        payload,
        Optional.empty());
  }

  private ChunkApi.FrameStream stream(ServerId id) {
    return server(id).mutate(answers::add, why -> {});
  }

  private ChunkServer server(ServerId id) {
    ChunkServer server = servers.get(id);
    if (server == null) {
      throw new IllegalStateException(id + " does not run");
    }
    return server;
  }

  private FrameAnswer answerTo(Frame frame) {
    assertThat(
            time.passUntil(
                () -> answers.stream().anyMatch(a -> a.sequence() == frame.sequence()), 5_000))
        .as("answer to sequence %s", frame.sequence())
        .isTrue();
    return answers.stream()
        .filter(a -> a.sequence() == frame.sequence())
        .reduce((a, b) -> b)
        .orElseThrow()
        .answer();
  }

  private String read(ServerId id, long version, ReadMode mode) {
    ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    CompletableFuture<ReadEnd> end =
        server(id)
            .read(
                new ChunkApi.ReadRequest(CHUNK, version, Optional.empty(), 0, 1 << 20, mode),
                part -> {
                  assertThat(part.checksums().match(part.payload(), Frame.PIECE)).isTrue();
                  byte[] payload = new byte[part.payload().remaining()];
                  part.payload().get(payload);
                  bytes.writeBytes(payload);
                });
    assertThat(time.passUntil(end::isDone, 5_000)).as("read at " + id).isTrue();
    end.join();
    return bytes.toString(StandardCharsets.UTF_8);
  }

  @Test
  void registersWithAnIncarnationThatGrowsWithEveryStart() throws IOException {
    long first = master.incarnations.getOrDefault(CS1, 0L);
    assertThat(first).isPositive();
    kill(CS1);
    start(CS1);
    time.pass(50);
    assertThat(master.incarnations.getOrDefault(CS1, 0L)).isGreaterThan(first);
  }

  @Test
  void appendGoesThroughTheChainAndIsReadFromEveryMember() {
    master.grant(CS1, grant(1, 0, CS1, CS2, CS3));
    time.pass(20);
    Frame first = append(1, "hello ");
    Frame second = append(1, "world");
    ChunkApi.FrameStream stream = stream(CS1);
    stream.send(first);
    stream.send(second);
    assertThat(answerTo(first)).isEqualTo(new FrameAnswer.Applied(0, 1, 1, Optional.empty()));
    assertThat(answerTo(second)).isEqualTo(new FrameAnswer.Applied(6, 1, 2, Optional.empty()));

    for (ServerId id : servers.keySet()) {
      assertThat(read(id, 1, ReadMode.DEFAULT)).as("at " + id).isEqualTo("hello world");
    }
    assertThat(server(CS1).flightBytes()).isZero();
    assertThat(server(CS3).flightBytes()).isZero();
  }

  @Test
  void frameThatComesBeforeItsGrantWaitsForIt() {
    LeaseGrant grant = grant(1, 0, CS1, CS2, CS3);
    Frame early = append(1, "early");
    Frame born =
        new Frame(
            early.file(),
            early.chunk(),
            early.version(),
            early.token(),
            early.session(),
            early.sequence(),
            early.floor(),
            early.after(),
            early.kind(),
            early.offset(),
            early.seals(),
            early.checksums(),
            early.payload(),
            Optional.of(grant));
    stream(CS1).send(born);
    time.pass(20);
    assertThat(answers).isEmpty();
    master.grant(CS1, grant);
    assertThat(answerTo(born)).isInstanceOf(FrameAnswer.Applied.class);
  }

  @Test
  void brokenPayloadIsRefusedAndNothingIsDone() {
    master.grant(CS1, grant(1, 0, CS1, CS2, CS3));
    time.pass(20);
    Frame good = append(1, "abc");
    Frame broken =
        new Frame(
            FILE,
            CHUNK,
            1,
            0,
            CLIENT,
            ++sequence,
            1,
            0,
            MutationKind.APPEND,
            0,
            false,
            Checksums.owning(new int[] {1}),
            good.payload(),
            Optional.empty());
    stream(CS1).send(broken);
    assertThat(answerTo(broken).toString()).contains("CORRUPT");
    assertThat(read(CS1, 1, ReadMode.DEFAULT)).isEmpty();
  }

  /** Cuts a server off from everybody, as SIGKILL does. */
  private void kill(ServerId id) {
    servers.remove(id);
    network.killed(id);
  }

  private void recover(long version, ServerId seed, ServerId... targets) {
    List<Heartbeat.Target> list = new ArrayList<>();
    for (ServerId target : targets) {
      list.add(new Heartbeat.Target(member(target), new ServerAddress(target.name(), 1)));
    }
    master.order(seed, new Heartbeat.RecoverCommand(SPEC, version, list, false, false, 0));
  }

  private void seal(long version, ServerId... members) {
    for (ServerId id : members) {
      master.order(id, new Heartbeat.SealCommand(SPEC, member(id), version, Optional.empty()));
    }
    assertThat(
            time.passUntil(
                () ->
                    master.sealAnswers.stream()
                            .filter(a -> a.version() == version && a.promised() == version)
                            .count()
                        >= members.length,
                2_000))
        .as("seal answers")
        .isTrue();
  }

  private Heartbeat.VersionStarted started(long version, int count) {
    assertThat(
            time.passUntil(
                () ->
                    master.versionStarts.stream().filter(s -> s.version() == version).count()
                        >= count,
                2_000))
        .as("version starts")
        .isTrue();
    return master.versionStarts.stream()
        .filter(s -> s.version() == version)
        .findFirst()
        .orElseThrow();
  }

  @Test
  void everyAcknowledgedAppendSurvivesTheDeathOfThePrimary() {
    master.grant(CS1, grant(1, 0, CS1, CS2, CS3));
    time.pass(20);
    Frame first = append(1, "kept;");
    stream(CS1).send(first);
    assertThat(answerTo(first)).isInstanceOf(FrameAnswer.Applied.class);

    kill(CS1);
    seal(2, CS2, CS3);
    recover(2, CS2, CS2, CS3);
    Heartbeat.VersionStarted start = started(2, 2);
    master.grant(CS2, grant(2, start.firstSerial(), CS2, CS3));
    time.pass(20);
    Frame second = append(2, "new");
    stream(CS2).send(second);
    assertThat(answerTo(second)).isInstanceOf(FrameAnswer.Applied.class);
    assertThat(read(CS2, 2, ReadMode.DEFAULT)).isEqualTo("kept;new");
    assertThat(read(CS3, 2, ReadMode.DEFAULT)).isEqualTo("kept;new");

    Frame again =
        new Frame(
            first.file(),
            first.chunk(),
            2,
            0,
            first.session(),
            first.sequence(),
            1,
            0,
            first.kind(),
            0,
            false,
            first.checksums(),
            first.payload(),
            Optional.empty());
    answers.clear();
    stream(CS2).send(again);
    assertThat(answerTo(again)).isEqualTo(new FrameAnswer.Applied(0, 1, 1, Optional.empty()));
  }

  @Test
  void killedSecondaryIsReportedAtOnce() {
    master.grant(CS1, grant(1, 0, CS1, CS2, CS3));
    time.pass(20);
    Frame first = append(1, "one;");
    stream(CS1).send(first);
    assertThat(answerTo(first)).isInstanceOf(FrameAnswer.Applied.class);
    kill(CS2);
    stream(CS1).send(append(1, "two;"));
    assertThat(
            time.passUntil(
                () -> master.failedMembers.stream().anyMatch(f -> f.member().equals(CS2)), 300))
        .isTrue();
  }

  @Test
  void restartedServerActsInNoOldVersionAndTakesPartInTheNext() throws IOException {
    master.grant(CS1, grant(1, 0, CS1, CS2, CS3));
    time.pass(20);
    Frame first = append(1, "one;");
    stream(CS1).send(first);
    assertThat(answerTo(first)).isInstanceOf(FrameAnswer.Applied.class);

    kill(CS1);
    start(CS1);
    time.pass(300);
    assertThat(master.fullReports.get(CS1))
        .extracting(Heartbeat.ReplicaReport::lastSerial)
        .containsExactly(1L);
    Frame refused = append(1, "refused");
    stream(CS1).send(refused);
    assertThat(answerTo(refused)).isInstanceOf(FrameAnswer.Refused.class);

    seal(2, CS1, CS2, CS3);
    recover(2, CS2, CS1, CS2, CS3);
    Heartbeat.VersionStarted start = started(2, 3);
    master.grant(CS2, grant(2, start.firstSerial(), CS2, CS1, CS3));
    time.pass(20);
    Frame second = append(2, "two;");
    stream(CS2).send(second);
    assertThat(answerTo(second)).isInstanceOf(FrameAnswer.Applied.class);
    assertThat(read(CS1, 2, ReadMode.DEFAULT)).isEqualTo("one;two;");
  }

  /**
   * A member restarts after its chunk's birth was logged, and the first mutation reaches it before
   * it has registered anew: simulation seed 5639. It used to make a copy, acknowledge 74 records,
   * and put a second core over the same files when it registered, which knew of none of them: as
   * the seed of a later version it would have taken them back.
   */
  @Test
  void serverThatHasNotRegisteredGivesBirthToNothing() throws IOException {
    long before = master.incarnations.getOrDefault(CS3, 0L);
    kill(CS3);
    master.registers = false;
    master.skipSessionsTo(CHUNK.value());
    start(CS3);
    master.grant(CS1, grant(1, 0, CS1, CS2, CS3));
    time.pass(20);
    Frame first = append(1, "first");
    stream(CS1).send(first);
    assertThat(
            time.passUntil(
                () -> master.failedMembers.stream().anyMatch(f -> f.member().equals(CS3)), 500))
        .as("the member is reported")
        .isTrue();
    assertThat(server(CS3).copies()).isEmpty();

    master.registers = true;
    time.pass(1_500);

    assertThat(master.incarnations.getOrDefault(CS3, 0L)).isGreaterThan(before);
    assertThat(server(CS3).copies()).isEmpty();
    assertThat(answers).noneMatch(a -> a.sequence() == first.sequence());
    seal(2, CS1, CS2);
    recover(2, CS1, CS2);
    started(2, 2);
    master.grant(CS1, grant(2, 2, CS1, CS2));
    assertThat(answerTo(first)).isInstanceOf(FrameAnswer.Applied.class);
  }

  /**
   * A birth names its members in their incarnations of then: after a restart that life may have
   * acknowledged the first mutation, and lost it.
   */
  @Test
  void firstMutationGivesBirthToNothingInALaterLifeOfItsMember() throws IOException {
    master.skipSessionsTo(CHUNK.value());
    kill(CS3);
    start(CS3);
    time.pass(50);
    master.grant(CS1, grant(1, 0, CS1, CS2, CS3));
    time.pass(20);

    stream(CS1).send(append(1, "first"));

    assertThat(
            time.passUntil(
                () -> master.failedMembers.stream().anyMatch(f -> f.member().equals(CS3)), 500))
        .as("the member is reported")
        .isTrue();
    assertThat(server(CS3).copies()).isEmpty();
    assertThat(server(CS2).copies()).hasSize(1);
  }

  @Test
  void memberThatHasRestartedIsReportedThoughNobodyWrites() throws IOException {
    master.grant(CS1, grant(1, 0, CS1, CS2, CS3));
    time.pass(20);
    Frame first = append(1, "one;");
    stream(CS1).send(first);
    assertThat(answerTo(first)).isInstanceOf(FrameAnswer.Applied.class);
    time.pass(20_000);
    assertThat(master.failedMembers).isEmpty();
    kill(CS3);
    start(CS3);
    assertThat(
            time.passUntil(
                () -> master.failedMembers.stream().anyMatch(f -> f.member().equals(CS3)), 5_000))
        .isTrue();
  }

  @Test
  void stopGivesTheLeaseBackBeforeItEnds() {
    master.grant(CS1, grant(1, 0, CS1, CS2, CS3));
    time.pass(20);
    Frame first = append(1, "one;");
    stream(CS1).send(first);
    assertThat(answerTo(first)).isInstanceOf(FrameAnswer.Applied.class);
    long before = time.nanos();
    CompletableFuture<Boolean> stopped = server(CS1).stop();
    assertThat(time.passUntil(stopped::isDone, 1_000)).isTrue();
    assertThat(stopped.join()).isTrue();
    assertThat(time.nanos() - before).isLessThan(200_000_000);
    assertThat(master.released).contains(new Heartbeat.LeaseName(CHUNK, 1));
  }

  @Test
  void chunkThatIsNotHereIsNotFound() {
    CompletableFuture<ReadEnd> end =
        server(CS1)
            .read(
                new ChunkApi.ReadRequest(CHUNK, 1, Optional.empty(), 0, 10, ReadMode.STALE_OK),
                part -> {});
    time.settle();
    assertThat(end)
        .failsWithin(Duration.ZERO)
        .withThrowableThat()
        .havingCause()
        .isInstanceOf(LeaseFsException.class)
        .withMessageContaining("0x51c");
  }

  private Heartbeat.CopyCommand copyOrder(
      long version, ServerId source, ServerId target, Optional<ChunkSeal> seal) {
    return copyOrder(version, source, target, seal, new ReplicaId(50));
  }

  private Heartbeat.CopyCommand copyOrder(
      long version, ServerId source, ServerId target, Optional<ChunkSeal> seal, ReplicaId replica) {
    return new Heartbeat.CopyCommand(
        SPEC,
        new Member(target, Objects.requireNonNull(diskIds.get(target)), replica),
        version,
        member(source),
        new ServerAddress(source.name(), 1),
        seal);
  }

  private Heartbeat.ReplicaReport awaitReport(Heartbeat.ReplicaState state, ReplicaId replica) {
    assertThat(
            time.passUntil(
                () ->
                    master.replicas.stream()
                        .anyMatch(r -> r.state() == state && r.replica().equals(replica)),
                10_000))
        .as("report of replica %s as %s", replica, state)
        .isTrue();
    return master.replicas.stream()
        .filter(r -> r.state() == state && r.replica().equals(replica))
        .findFirst()
        .orElseThrow();
  }

  /** Else nobody would know why no copy comes about, and the next would be asked of it again. */
  @Test
  void damageThatACopyFindsIsReported() throws IOException {
    master.grant(CS1, grant(1, 0, CS1, CS2));
    time.pass(20);
    Frame first = append(1, "one;");
    stream(CS1).send(first);
    assertThat(answerTo(first)).isInstanceOf(FrameAnswer.Applied.class);
    time.pass(100);
    ((SimulatedDisk) Objects.requireNonNull(disks.get(CS1))).flipBit("chunks/1c/51c.data", 1, 3);

    master.order(CS3, copyOrder(1, CS1, CS3, Optional.empty()));

    awaitReport(Heartbeat.ReplicaState.DAMAGED, member(CS1).replica());
  }

  @Test
  void copyThatWasOrderedForADiskThatIsGoneIsNotMade() {
    master.grant(CS1, grant(1, 0, CS1, CS2));
    time.pass(20);
    Frame first = append(1, "one;");
    stream(CS1).send(first);
    assertThat(answerTo(first)).isInstanceOf(FrameAnswer.Applied.class);
    Heartbeat.CopyCommand order = copyOrder(1, CS1, CS3, Optional.empty());

    master.order(
        CS3,
        new Heartbeat.CopyCommand(
            order.spec(),
            new Member(CS3, new DiskId("gone"), new ReplicaId(49)),
            order.version(),
            order.source(),
            order.sourceAddress(),
            order.seal()));
    time.pass(2_000);
    assertThat(server(CS3).copies()).isEmpty();

    master.order(CS3, order);
    awaitReport(Heartbeat.ReplicaState.LEARNER, new ReplicaId(50));
  }

  /** It would promise anew, and lower, what it has promised before. */
  @Test
  void lateOrderDoesNotMakeADeletedCopyOnceMore() {
    master.grant(CS1, grant(1, 0, CS1, CS2));
    time.pass(20);
    Frame first = append(1, "one;");
    stream(CS1).send(first);
    assertThat(answerTo(first)).isInstanceOf(FrameAnswer.Applied.class);
    Heartbeat.CopyCommand order = copyOrder(1, CS1, CS3, Optional.empty());
    master.order(CS3, order);
    awaitReport(Heartbeat.ReplicaState.LEARNER, new ReplicaId(50));
    master.order(CS3, new Heartbeat.SealCommand(SPEC, order.learner(), 2, Optional.empty()));
    master.order(CS3, new Heartbeat.DeleteCommand(CHUNK, new ReplicaId(50), 2));
    time.pass(500);
    assertThat(server(CS3).copies()).isEmpty();

    master.order(CS3, order);
    time.pass(2_000);
    assertThat(server(CS3).copies()).isEmpty();

    master.order(CS3, copyOrder(1, CS1, CS3, Optional.empty(), new ReplicaId(51)));
    awaitReport(Heartbeat.ReplicaState.LEARNER, new ReplicaId(51));
  }

  /** Only who knows of a copy can have it deleted; of an open one nothing else is ever told. */
  @Test
  void bornCopyIsToldOfWithTheNextHeartbeat() {
    master.grant(CS1, grant(1, 0, CS1, CS2));
    time.pass(20);
    Frame first = append(1, "one;");
    stream(CS1).send(first);
    assertThat(answerTo(first)).isInstanceOf(FrameAnswer.Applied.class);
    time.pass(TERMS.heartbeatNanos() / 1_000_000 + 20);

    assertThat(master.replicas)
        .extracting(Heartbeat.ReplicaReport::replica)
        .contains(member(CS1).replica(), member(CS2).replica());
  }

  /** Its chunk is gone, and what would give birth to it was long on its way. */
  @Test
  void nothingIsBornAfterAnOrderToDeleteItThoughItWasNotHere() {
    master.order(CS2, new Heartbeat.DeleteCommand(CHUNK, member(CS2).replica(), 1));
    time.pass(50);

    Configuration birth = grant(1, 0, CS1, CS2).configuration();
    master.order(CS2, new Heartbeat.SealCommand(SPEC, member(CS2), 2, Optional.of(birth)));
    time.pass(500);

    assertThat(server(CS2).copies()).isEmpty();
  }

  /** Its files may have been deleted by somebody: it must not outvote who has them. */
  @Test
  void whoHasRestartedSinceTheBirthIsNotCertainThatThereWasNothingOfASyncedChunkEither()
      throws IOException {
    kill(CS2);
    master.skipSessionsTo(CHUNK.value());
    start(CS2);
    time.pass(500);
    ChunkSpec synced = new ChunkSpec(CHUNK, FILE, 8 << 20, Durability.SYNCED);
    Configuration birth = grant(1, 0, CS1, CS2).configuration();

    master.order(CS2, new Heartbeat.SealCommand(synced, member(CS2), 2, Optional.of(birth)));
    time.pass(500);

    assertThat(master.sealAnswers)
        .extracting(Heartbeat.SealAnswer::certainty)
        .contains(Heartbeat.Certainty.UNCERTAIN)
        .doesNotContain(Heartbeat.Certainty.CERTAIN);
  }

  @Test
  void learnerPullsUntilItIsNearAndJoinsWithTheNextRecovery() {
    master.grant(CS1, grant(1, 0, CS1, CS2));
    time.pass(20);
    ChunkApi.FrameStream stream = stream(CS1);
    Frame last = append(1, "");
    StringBuilder all = new StringBuilder();
    for (int i = 0; i < 20; i++) {
      String text = ("record " + i + " ").repeat(5_000);
      all.append(text);
      last = append(1, text);
      stream.send(last);
    }
    assertThat(answerTo(last)).isInstanceOf(FrameAnswer.Applied.class);

    master.order(CS3, copyOrder(1, CS1, CS3, Optional.empty()));
    Heartbeat.ReplicaReport learner =
        awaitReport(Heartbeat.ReplicaState.LEARNER, new ReplicaId(50));
    assertThat(learner.lastSerial()).isEqualTo(20);

    Frame later = append(1, "later");
    stream.send(later);
    assertThat(answerTo(later)).isInstanceOf(FrameAnswer.Applied.class);
    Member joiner = new Member(CS3, Objects.requireNonNull(diskIds.get(CS3)), new ReplicaId(50));
    for (ServerId id : List.of(CS1, CS2)) {
      master.order(id, new Heartbeat.SealCommand(SPEC, member(id), 2, Optional.empty()));
    }
    time.pass(50);
    List<Heartbeat.Target> targets = new ArrayList<>();
    for (Member member : List.of(member(CS1), member(CS2), joiner)) {
      targets.add(new Heartbeat.Target(member, new ServerAddress(member.server().name(), 1)));
    }
    master.order(CS1, new Heartbeat.RecoverCommand(SPEC, 2, targets, false, false, 0));
    Heartbeat.VersionStarted start = started(2, 3);
    Map<ServerId, ServerAddress> peers = new TreeMap<>();
    targets.forEach(t -> peers.put(t.member().server(), t.address()));
    master.grant(
        CS1,
        new LeaseGrant(
            SPEC,
            1_002,
            new Configuration(
                2,
                Optional.of(CS1),
                List.of(member(CS1), member(CS2), joiner),
                start.firstSerial()),
            peers));
    time.pass(20);
    Frame after = append(2, "!");
    stream(CS1).send(after);
    assertThat(answerTo(after)).isInstanceOf(FrameAnswer.Applied.class);
    assertThat(read(CS3, 2, ReadMode.DEFAULT)).isEqualTo(all + "later!");

    // the order comes again, as it does until the master has heard of the copy; so does an older
    // one
    int told = master.replicas.size();
    master.order(CS3, copyOrder(1, CS1, CS3, Optional.empty()));
    master.order(CS3, copyOrder(9, CS1, CS3, Optional.empty(), new ReplicaId(49)));
    time.pass(2_000);
    assertThat(master.replicas.stream().skip(told))
        .isNotEmpty()
        .allMatch(r -> r.state() == Heartbeat.ReplicaState.OPEN)
        .allMatch(r -> r.replica().equals(new ReplicaId(50)));
    Frame more = append(2, "more");
    stream(CS1).send(more);
    assertThat(answerTo(more)).isInstanceOf(FrameAnswer.Applied.class);
    assertThat(read(CS3, 2, ReadMode.DEFAULT)).isEqualTo(all + "later!more");
    assertThat(master.failedMembers).isEmpty();
  }

  @Test
  void sealedChunkIsCopiedAndCheckedAgainstItsSeal() {
    master.grant(CS1, grant(1, 0, CS1, CS2));
    time.pass(20);
    Frame only = frame(1, MutationKind.APPEND, 0, "sealed content", true);
    stream(CS1).send(only);
    FrameAnswer answer = answerTo(only);
    assertThat(answer).isInstanceOf(FrameAnswer.Applied.class);
    ChunkSeal seal = ((FrameAnswer.Applied) answer).seal().orElseThrow();

    ChunkSeal wrong = new ChunkSeal(seal.serial(), seal.lengthBytes(), seal.checksum() + 1);
    master.order(CS3, copyOrder(1, CS2, CS3, Optional.of(wrong)));
    time.pass(500);
    assertThat(master.replicas).noneMatch(r -> r.replica().equals(new ReplicaId(50)));

    master.order(CS3, copyOrder(1, CS2, CS3, Optional.of(seal)));
    Heartbeat.ReplicaReport copy = awaitReport(Heartbeat.ReplicaState.SEALED, new ReplicaId(50));
    assertThat(copy.seal()).contains(seal);
    assertThat(inspect(CS3).badBlocks()).isEmpty();
    assertThat(inspect(CS3).checksum()).isEqualTo(seal.checksum());
    assertThat(read(CS3, 1, ReadMode.STALE_OK)).isEqualTo("sealed content");
  }

  private ChunkApi.ReplicaStatus inspect(ServerId id) {
    CompletableFuture<ChunkApi.ReplicaStatus> status = server(id).inspect(CHUNK, true);
    assertThat(time.passUntil(status::isDone, 1_000)).isTrue();
    return status.join();
  }

  @Test
  @Tag("F17")
  @Tag("F45")
  void deleteAppliesOnlyToTheReplicaAndVersionThatItNames() {
    master.grant(CS1, grant(1, 0, CS1, CS2, CS3));
    time.pass(20);
    Frame first = append(1, "one;");
    stream(CS1).send(first);
    assertThat(answerTo(first)).isInstanceOf(FrameAnswer.Applied.class);

    master.order(CS3, new Heartbeat.DeleteCommand(CHUNK, new ReplicaId(99), 9));
    master.order(CS3, new Heartbeat.DeleteCommand(CHUNK, member(CS3).replica(), 0));
    time.pass(500);
    assertThat(inspect(CS3).report().lengthBytes()).isEqualTo(4);

    master.order(CS3, new Heartbeat.DeleteCommand(CHUNK, member(CS3).replica(), 1));
    time.pass(500);
    CompletableFuture<ChunkApi.ReplicaStatus> gone = server(CS3).inspect(CHUNK, false);
    time.settle();
    assertThat(gone).isCompletedExceptionally();
  }

  @Test
  void damagedBlockIsNeverServedAndTheCopyIsReported() throws IOException {
    master.grant(CS1, grant(1, 0, CS1, CS2, CS3));
    time.pass(20);
    Frame first = append(1, "good bytes");
    stream(CS1).send(first);
    assertThat(answerTo(first)).isInstanceOf(FrameAnswer.Applied.class);
    time.pass(100);
    try (DiskFile data =
        disks.getOrDefault(CS3, new SimulatedDisk(0, 0)).open("chunks/1c/51c.data", false)) {
      data.write(ByteBuffer.wrap(new byte[] {'X'}), 3);
    }
    CompletableFuture<ReadEnd> end =
        server(CS3)
            .read(
                new ChunkApi.ReadRequest(CHUNK, 1, Optional.empty(), 0, 100, ReadMode.DEFAULT),
                part -> {
                  throw new AssertionError("bad bytes were served");
                });
    assertThat(time.passUntil(end::isDone, 2_000)).isTrue();
    assertThat(end).failsWithin(Duration.ZERO).withThrowableThat().withMessageContaining("damaged");
    awaitReport(Heartbeat.ReplicaState.DAMAGED, member(CS3).replica());
    assertThat(read(CS2, 1, ReadMode.DEFAULT)).isEqualTo("good bytes");
  }

  @Test
  @Tag("F26")
  void primaryThatIsCutOffFromTheMasterStopsBeforeItsEndAndGoesOnWhenHealed() {
    master.grant(CS1, grant(1, 0, CS1, CS2, CS3));
    time.pass(20);
    Frame first = append(1, "one;");
    stream(CS1).send(first);
    assertThat(answerTo(first)).isInstanceOf(FrameAnswer.Applied.class);

    assertThat(server(CS1).fault("cut", List.of("master"))).isCompleted();
    time.pass(2_000);
    long promisedEnd =
        events.stream()
            .filter(e -> e.recorder().equals(CS1) && e.kind() == EventKind.HOLDER_RENEWED)
            .mapToLong(
                e -> e.monotonicNanos() + Long.parseLong(e.fields().getOrDefault("leftNanos", "0")))
            .max()
            .orElseThrow();
    assertThat(time.nanos()).isGreaterThanOrEqualTo(promisedEnd);
    Frame late = append(1, "late;");
    stream(CS1).send(late);
    assertThat(answerTo(late).toString()).contains("NOT_PRIMARY");

    assertThat(server(CS1).fault("heal", List.of())).isCompleted();
    time.pass(1_000);
    Frame after = append(1, "two;");
    stream(CS1).send(after);
    assertThat(answerTo(after)).isInstanceOf(FrameAnswer.Applied.class);
    assertThat(read(CS3, 1, ReadMode.DEFAULT)).isEqualTo("one;two;");
  }

  @Test
  void oneWayCutToASecondaryIsBlamedOnItWithinTheWriteTimeout() {
    master.grant(CS1, grant(1, 0, CS1, CS2, CS3));
    time.pass(20);
    Frame first = append(1, "one;");
    stream(CS1).send(first);
    assertThat(answerTo(first)).isInstanceOf(FrameAnswer.Applied.class);

    assertThat(server(CS1).fault("cut", List.of("cs2", "out"))).isCompleted();
    stream(CS1).send(append(1, "two;"));
    assertThat(
            time.passUntil(
                () -> master.failedMembers.stream().anyMatch(f -> f.member().equals(CS2)), 1_500))
        .isTrue();
  }

  @Test
  void cutClientsLoseFramesAnswersAndReadsUntilTheHealingBreaksTheirStreams() {
    master.grant(CS1, grant(1, 0, CS1, CS2, CS3));
    time.pass(20);
    List<String> broken = new ArrayList<>();
    ChunkApi.FrameStream client = server(CS1).mutate(answers::add, broken::add);
    Frame first = append(1, "one;");
    client.send(first);
    assertThat(answerTo(first)).isInstanceOf(FrameAnswer.Applied.class);

    assertThat(server(CS1).fault("cut", List.of("clients")).join())
        .containsExactly("cut clients in", "cut clients out");
    client.send(append(1, "lost;"));
    CompletableFuture<ReadEnd> lostRead =
        server(CS1)
            .read(
                new ChunkApi.ReadRequest(CHUNK, 1, Optional.empty(), 0, 100, ReadMode.STALE_OK),
                part -> {
                  throw new AssertionError("bytes got through");
                });
    time.pass(3_000);
    assertThat(answers).hasSize(1);
    assertThat(lostRead).isNotDone();
    assertThat(broken).isEmpty();
    assertThat(read(CS2, 1, ReadMode.DEFAULT)).isEqualTo("one;");

    assertThat(server(CS1).fault("heal", List.of()).join()).isEmpty();
    assertThat(broken).hasSize(1);
    assertThat(lostRead).isCompletedExceptionally();
    Frame after = append(1, "two;");
    stream(CS1).send(after);
    assertThat(answerTo(after)).isInstanceOf(FrameAnswer.Applied.class);
    assertThat(read(CS3, 1, ReadMode.DEFAULT)).isEqualTo("one;two;");
  }

  @Test
  void answerThatTheCutTookIsNotMadeUpForByLaterOnes() {
    master.grant(CS1, grant(1, 0, CS1, CS2, CS3));
    time.pass(20);
    List<String> broken = new ArrayList<>();
    ChunkApi.FrameStream client = server(CS1).mutate(answers::add, broken::add);
    assertThat(server(CS1).fault("cut", List.of("clients", "out"))).isCompleted();
    Frame applied = append(1, "one;");
    client.send(applied);
    time.pass(200);
    assertThat(answers).isEmpty();
    assertThat(server(CS1).fault("heal", List.of("clients"))).isCompleted();
    assertThat(broken).hasSize(1);
    stream(CS1).send(applied);
    assertThat(answerTo(applied)).isInstanceOf(FrameAnswer.Applied.class);
    assertThat(read(CS1, 1, ReadMode.DEFAULT)).isEqualTo("one;");
  }

  @Test
  void delayedClientsWaitBothWaysAndNothingOvertakesWhenTheDelayEnds() {
    master.grant(CS1, grant(1, 0, CS1, CS2, CS3));
    time.pass(20);
    assertThat(server(CS1).fault("delay", List.of("clients", "300")).join())
        .containsExactly("delay clients 300 in", "delay clients 300 out");
    ChunkApi.FrameStream client = stream(CS1);
    Frame first = append(1, "one;");
    client.send(first);
    time.pass(595);
    assertThat(answers).isEmpty();
    assertThat(answerTo(first)).isInstanceOf(FrameAnswer.Applied.class);
    long asked = time.nanos();
    assertThat(read(CS1, 1, ReadMode.DEFAULT)).isEqualTo("one;");
    assertThat(time.nanos() - asked).isBetween(600_000_000L, 650_000_000L);

    Frame second = append(1, "two;");
    client.send(second);
    assertThat(server(CS1).fault("heal", List.of()).join()).isEmpty();
    Frame third = append(1, "three;");
    client.send(third);
    time.pass(200);
    assertThat(answers).hasSize(1);
    assertThat(answerTo(third)).isInstanceOf(FrameAnswer.Applied.class);
    assertThat(read(CS1, 1, ReadMode.DEFAULT)).isEqualTo("one;two;three;");
  }

  @Test
  void delayedMessagesThatACutMeetsAreLost() {
    master.grant(CS1, grant(1, 0, CS1, CS2, CS3));
    time.pass(20);
    List<String> broken = new ArrayList<>();
    ChunkApi.FrameStream client = server(CS1).mutate(answers::add, broken::add);
    assertThat(server(CS1).fault("delay", List.of("clients", "300", "in"))).isCompleted();
    client.send(append(1, "lost;"));
    time.pass(100);
    assertThat(server(CS1).fault("cut", List.of("clients", "in"))).isCompleted();
    time.pass(500);
    assertThat(server(CS1).fault("heal", List.of("clients")).join()).isEmpty();
    time.pass(500);
    assertThat(broken).hasSize(1);
    assertThat(answers).isEmpty();
    assertThat(read(CS1, 1, ReadMode.DEFAULT)).isEmpty();
  }

  @Test
  void clientOfALongLineIsHeldBackBeforeItFillsTheServersMemory() {
    master.grant(CS1, grant(1, 0, CS1, CS2, CS3));
    time.pass(20);
    assertThat(server(CS1).fault("delay", List.of("clients", "300", "in"))).isCompleted();
    ChunkApi.FrameStream client = stream(CS1);
    List<Long> ready = new ArrayList<>();
    client.onReady(() -> ready.add(time.nanos()));
    String text = "x".repeat(1 << 19);
    int sent = 0;
    for (; client.isReady(); sent++) {
      client.send(append(1, text));
    }
    assertThat(sent).isEqualTo(8);
    long full = time.nanos();
    time.pass(400);
    assertThat(ready).isNotEmpty();
    assertThat(ready.get(0) - full).isEqualTo(300_000_000);
    assertThat(client.isReady()).isTrue();
  }

  @Test
  void leaseRunsOutWhereTheWayToTheMasterTakesLongerThanItLasts() {
    master.grant(CS1, grant(1, 0, CS1, CS2, CS3));
    time.pass(20);
    Frame first = append(1, "one;");
    stream(CS1).send(first);
    assertThat(answerTo(first)).isInstanceOf(FrameAnswer.Applied.class);

    assertThat(server(CS1).fault("delay", List.of("master", "1500"))).isCompleted();
    time.pass(2_500);
    Frame late = append(1, "late;");
    stream(CS1).send(late);
    assertThat(answerTo(late).toString()).contains("NOT_PRIMARY");

    assertThat(server(CS1).fault("delay", List.of("master", "0")).join()).isEmpty();
    time.pass(4_000);
    Frame after = append(1, "two;");
    stream(CS1).send(after);
    assertThat(answerTo(after)).isInstanceOf(FrameAnswer.Applied.class);
    assertThat(read(CS3, 1, ReadMode.DEFAULT)).isEqualTo("one;two;");
  }

  @Test
  void recordsKeepTheirOrderOnALongWayBetweenMembers() {
    master.grant(CS1, grant(1, 0, CS1, CS2, CS3));
    time.pass(20);
    assertThat(server(CS1).fault("delay", List.of("cs2", "200", "out"))).isCompleted();
    assertThat(server(CS3).fault("delay", List.of("cs2", "100", "in"))).isCompleted();
    ChunkApi.FrameStream client = stream(CS1);
    long began = time.nanos();
    Frame last = append(1, "0;");
    client.send(last);
    for (int i = 1; i < 20; i++) {
      last = append(1, i + ";");
      client.send(last);
    }
    assertThat(answerTo(last)).isInstanceOf(FrameAnswer.Applied.class);
    assertThat(time.nanos() - began).isBetween(300_000_000L, 350_000_000L);
    assertThat(read(CS1, 1, ReadMode.DEFAULT)).startsWith("0;1;2;3;").endsWith("18;19;");
  }

  @Test
  void delayThatMakesNoSenseIsRefused() {
    for (List<String> bad :
        List.of(
            List.of("clients"),
            List.of("clients", "-1"),
            List.of("clients", "soon"),
            List.of("clients", "5", "sideways"),
            List.of("clients", "5", "in", "more"))) {
      assertThat(server(CS1).fault("delay", bad))
          .as("%s", bad)
          .failsWithin(Duration.ZERO)
          .withThrowableThat()
          .withMessageContaining("fault: ");
    }
    assertThat(server(CS1).fault("ls", List.of()).join()).isEmpty();
  }

  @Test
  void killAndFreezeAreRefusedWhereTheProcessIsSharedAndPassedOnWhereItIsNot() {
    assertThat(server(CS1).fault("kill", List.of()))
        .failsWithin(Duration.ZERO)
        .withThrowableThat()
        .withMessageContaining("shares its process");
    List<String> harm = new ArrayList<>();
    Faults own =
        new Faults(
            Optional.of(
                new Harm() {
                  @Override
                  public void kill() {
                    harm.add("kill");
                  }

                  @Override
                  public void freeze(long nanos) {
                    harm.add("freeze " + nanos);
                  }
                }));
    own.command("kill", List.of());
    own.command("freeze", List.of("250"));
    assertThat(harm).containsExactly("kill", "freeze 250000000");
    assertThatThrownBy(() -> own.command("freeze", List.of("soon")))
        .isInstanceOf(LeaseFsException.class)
        .hasMessageContaining("milliseconds");
  }

  /** Leaves so much room on a server's disk. */
  private void room(ServerId id, long bytes) throws IOException {
    SimulatedDisk disk = (SimulatedDisk) Objects.requireNonNull(disks.get(id));
    disk.setTotalBytes(disk.totalBytes() - disk.freeBytes() + bytes);
  }

  @Test
  @Tag("F56")
  void nearlyFullDiskOfAnyMemberHasTheChunkSealedBeforeAnyWriteFails() throws IOException {
    master.grant(CS1, grant(1, 0, CS1, CS2, CS3));
    time.pass(20);
    Frame first = append(1, "one;");
    stream(CS1).send(first);
    assertThat(answerTo(first)).isInstanceOf(FrameAnswer.Applied.class);

    room(CS3, 8 << 20);
    time.pass(1_500);
    Frame tells = append(1, "two;"); // its acknowledgement says how CS3 is
    stream(CS1).send(tells);
    assertThat(answerTo(tells)).isInstanceOf(FrameAnswer.Applied.class);
    Frame next = append(1, "three;");
    stream(CS1).send(next);
    assertThat(answerTo(next))
        .isInstanceOfSatisfying(
            FrameAnswer.ChunkFull.class,
            full -> assertThat(full.seal().lengthBytes()).isEqualTo("one;two;".length()));
    assertThat(master.failedMembers).isEmpty();
    for (ServerId id : servers.keySet()) {
      assertThat(read(id, 1, ReadMode.DEFAULT)).as("at " + id).isEqualTo("one;two;");
    }
  }

  @Test
  void overwriteOnANearlyFullDiskIsRefusedWithNoSpace() throws IOException {
    master.grant(CS1, grant(1, 0, CS1, CS2, CS3));
    time.pass(20);
    Frame first = append(1, "one;");
    stream(CS1).send(first);
    assertThat(answerTo(first)).isInstanceOf(FrameAnswer.Applied.class);
    room(CS1, 8 << 20);
    time.pass(1_500);
    Frame over = frame(1, MutationKind.WRITE, 0, "ONE;", false);
    stream(CS1).send(over);
    assertThat(answerTo(over).toString()).contains("NO_SPACE");
    room(CS1, 512 << 20);
    time.pass(1_500);
    stream(CS1).send(over);
    assertThat(answerTo(over)).isInstanceOf(FrameAnswer.Applied.class);
  }

  @Test
  void copyThatRanOutOfRoomLosesNothingAndGoesOnOnceThereIsRoom() throws IOException {
    master.grant(CS1, grant(1, 0, CS1, CS2, CS3));
    time.pass(20);
    Frame first = append(1, "one;");
    stream(CS1).send(first);
    assertThat(answerTo(first)).isInstanceOf(FrameAnswer.Applied.class);

    room(CS3, 10);
    Frame second = append(1, "two;");
    stream(CS1).send(second);
    awaitReport(Heartbeat.ReplicaState.DAMAGED, member(CS3).replica());
    assertThat(
            time.passUntil(
                () -> master.failedMembers.stream().anyMatch(f -> f.member().equals(CS3)), 1_500))
        .isTrue();
    assertThat(answers).hasSize(1);

    time.pass(3_000);
    int told = master.replicas.size();
    room(CS3, 512 << 20);
    assertThat(
            time.passUntil(
                () ->
                    master.replicas.stream()
                        .skip(told)
                        .anyMatch(
                            r ->
                                r.replica().equals(member(CS3).replica())
                                    && r.state() == Heartbeat.ReplicaState.OPEN
                                    && r.lastSerial() >= 1),
                2_500))
        .isTrue();
    seal(2, CS1, CS2, CS3);
    recover(2, CS1, CS2, CS3);
    Heartbeat.VersionStarted started = started(2, 3);
    master.grant(CS1, grant(2, started.firstSerial(), CS1, CS2, CS3));
    time.pass(100);
    Frame again =
        new Frame(
            second.file(),
            second.chunk(),
            2,
            0,
            second.session(),
            second.sequence(),
            1,
            0,
            second.kind(),
            0,
            false,
            second.checksums(),
            second.payload(),
            Optional.empty());
    stream(CS1).send(again);
    assertThat(answerTo(again)).isInstanceOf(FrameAnswer.Applied.class);
    Frame third = append(2, "three;");
    stream(CS1).send(third);
    assertThat(answerTo(third)).isInstanceOf(FrameAnswer.Applied.class);
    assertThat(read(CS3, 2, ReadMode.DEFAULT)).isEqualTo("one;two;three;");
  }

  @Test
  void everyTenureLeavesItsFirstAndLastAcknowledgementInTheEvents() {
    master.grant(CS1, grant(1, 0, CS1, CS2, CS3));
    time.pass(20);
    Frame first = append(1, "one;");
    stream(CS1).send(first);
    assertThat(answerTo(first)).isInstanceOf(FrameAnswer.Applied.class);
    CompletableFuture<Boolean> stopped = server(CS1).stop();
    assertThat(time.passUntil(stopped::isDone, 1_000)).isTrue();
    assertThat(events)
        .filteredOn(e -> e.recorder().equals(CS1))
        .extracting(ClusterEvent::kind)
        .contains(
            EventKind.HOLDER_GRANTED,
            EventKind.HOLDER_RENEWED,
            EventKind.HOLDER_FIRST_ACKNOWLEDGEMENT,
            EventKind.HOLDER_LAST_ACKNOWLEDGEMENT,
            EventKind.HOLDER_ENDED);
  }
}
