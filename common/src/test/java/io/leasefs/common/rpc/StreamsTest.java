package io.leasefs.common.rpc;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import io.leasefs.common.api.AdminApi;
import io.leasefs.common.api.ChunkApi;
import io.leasefs.common.api.ClusterApi;
import io.leasefs.common.api.Frame;
import io.leasefs.common.api.FrameAnswer;
import io.leasefs.common.api.Heartbeat;
import io.leasefs.common.api.MasterApi;
import io.leasefs.common.api.MutationKind;
import io.leasefs.common.api.PeerMessage;
import io.leasefs.common.api.Registration;
import io.leasefs.common.checksum.Checksums;
import io.leasefs.common.error.ErrorCode;
import io.leasefs.common.error.LeaseFsException;
import io.leasefs.common.model.ChunkHandle;
import io.leasefs.common.model.FileId;
import io.leasefs.common.model.ReplicaId;
import io.leasefs.common.model.ServerAddress;
import io.leasefs.common.model.ServerId;
import io.leasefs.common.model.SessionId;
import java.lang.reflect.Proxy;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Consumer;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

class StreamsTest {
  private static final ServerAddress ANY = new ServerAddress("127.0.0.1", 0);
  private static final long SECOND = TimeUnit.SECONDS.toNanos(1);
  private static final int MIB = 1 << 20;

  private final Servers servers = new Servers("test-server", 1);
  private final Channels channels = new Channels("test-client", 1);
  private final List<String> broken = new CopyOnWriteArrayList<>();

  @AfterEach
  void stop() {
    channels.close();
    servers.close();
  }

  private RemoteChunkServer remote(ChunkApi chunks) {
    return new RemoteChunkServer(
        channels, servers.listen(ANY, new ChunkServerEndpoint(chunks)), 10 * SECOND);
  }

  private static ByteBuffer bytes(int length, long seed) {
    byte[] content = new byte[length];
    new Random(seed).nextBytes(content);
    return ByteBuffer.allocateDirect(length).put(content).flip();
  }

  static Frame frame(long sequence, ByteBuffer payload) {
    return new Frame(
        new FileId(7),
        new ChunkHandle(8),
        1,
        0,
        new SessionId(9),
        sequence,
        1,
        sequence - 1,
        MutationKind.APPEND,
        0,
        false,
        Checksums.of(payload, Frame.PIECE),
        payload,
        Optional.empty());
  }

  @Test
  void framesArriveInOrderAndAnswersComeBackInAny() {
    FakeChunks chunks = new FakeChunks();
    List<ChunkApi.NamedAnswer> answers = new CopyOnWriteArrayList<>();
    ChunkApi.FrameStream stream = remote(chunks).mutate(answers::add, broken::add);
    List<Frame> sent = new ArrayList<>();
    for (int i = 1; i <= 20; i++) {
      sent.add(frame(i, bytes(i * 13_000, i)));
      stream.send(sent.get(i - 1));
    }
    Await.until(
        "all frames",
        () -> chunks.frameStreams.size() == 1 && chunks.frameStreams.get(0).received.size() == 20);
    assertThat(chunks.frameStreams.get(0).received).isEqualTo(sent);

    List<ChunkApi.NamedAnswer> given = new ArrayList<>();
    for (Frame frame : sent) {
      given.add(
          FakeChunks.answer(
              frame, new FrameAnswer.Applied(3, 1, frame.sequence(), Optional.empty())));
    }
    Collections.shuffle(given, new Random(1));
    given.forEach(chunks.frameStreams.get(0).answers);
    Await.until("all answers", () -> answers.size() == 20);
    assertThat(answers).isEqualTo(given);
    assertThat(broken).isEmpty();
  }

  @Test
  void aSentPayloadMayBeReusedAtOnceEvenBeforeTheConnectionStands() {
    FakeChunks chunks = new FakeChunks();
    ChunkApi.FrameStream stream = remote(chunks).mutate(answer -> {}, broken::add);
    ByteBuffer reused = ByteBuffer.allocateDirect(70_000);
    List<Checksums> sums = new ArrayList<>();
    for (int i = 1; i <= 10; i++) {
      reused.clear().put(bytes(70_000, i)).flip();
      Frame frame = frame(i, reused);
      sums.add(frame.checksums());
      stream.send(frame);
      reused.clear().put(new byte[70_000]);
    }
    Await.until(
        "all frames",
        () -> chunks.frameStreams.size() == 1 && chunks.frameStreams.get(0).received.size() == 10);
    for (Frame frame : chunks.frameStreams.get(0).received) {
      assertThat(frame.checksums()).isEqualTo(sums.get((int) frame.sequence() - 1));
      assertThat(frame.checksums().match(frame.payload(), Frame.PIECE)).isTrue();
    }
  }

  @Test
  void unansweredFramesAreBoundedAndAnswersLetMoreIn() {
    FakeChunks chunks = new FakeChunks();
    ChunkApi.FrameStream stream = remote(chunks).mutate(answer -> {}, broken::add);
    ByteBuffer payload = bytes(MIB, 1);
    for (int i = 1; i <= 30; i++) {
      stream.send(frame(i, payload));
    }
    int bound = (int) (ChunkServerEndpoint.STREAM_BYTES / MIB);
    Await.until(
        "the bound",
        () ->
            chunks.frameStreams.size() == 1 && chunks.frameStreams.get(0).received.size() == bound);
    // what a tenth would need is there, but nobody asks for it: a whole other call goes past it
    assertThat(remoteEvents(chunks)).isEmpty();
    assertThat(chunks.frameStreams.get(0).received).hasSize(bound);

    var server = chunks.frameStreams.get(0);
    server.answers.accept(FakeChunks.answer(server.received.get(3), new FrameAnswer.NotApplied()));
    Await.until("one more", () -> server.received.size() == bound + 1);
    for (int i = 0; i < 30; i++) {
      int next = i;
      Await.until("frame " + i, () -> server.received.size() > next);
      server.answers.accept(
          FakeChunks.answer(server.received.get(i), new FrameAnswer.NotApplied()));
    }
    assertThat(server.received).hasSize(30);
  }

  private List<?> remoteEvents(FakeChunks chunks) {
    return remote(chunks).events(0, 1).join();
  }

  @Test
  void aServerThatIsNotReadyIsSentNothingMore() {
    FakeChunks chunks = new FakeChunks();
    RemoteChunkServer remote = remote(chunks);
    ChunkApi.FrameStream stream = remote.mutate(answer -> {}, broken::add);
    stream.send(frame(1, bytes(10, 1)));
    Await.until("first", () -> !chunks.frameStreams.isEmpty());
    var server = chunks.frameStreams.get(0);
    Await.until("first frame", () -> server.received.size() == 1);
    server.ready = false;
    // the next message has been asked for already
    stream.send(frame(2, bytes(10, 2)));
    stream.send(frame(3, bytes(10, 3)));
    Await.until("second frame", () -> server.received.size() == 2);
    remote.events(0, 1).join();
    assertThat(server.received).hasSize(2);
    server.ready = true;
    server.readyTask.run();
    Await.until("third frame", () -> server.received.size() == 3);
  }

  @Test
  void theSenderIsToldWhenToWaitAndWhenToGoOn() {
    FakeChunks chunks = new FakeChunks();
    ChunkApi.FrameStream stream = remote(chunks).mutate(answer -> {}, broken::add);
    AtomicInteger told = new AtomicInteger();
    stream.onReady(told::incrementAndGet);
    Await.until("connected", stream::isReady);
    ByteBuffer payload = bytes(MIB, 1);
    int bound = (int) (ChunkServerEndpoint.STREAM_BYTES / MIB);
    // what the server takes, a window, and more than may be queued here
    for (int i = 1; i <= bound + 5; i++) {
      stream.send(frame(i, payload));
    }
    Await.until(
        "the bound",
        () ->
            chunks.frameStreams.size() == 1 && chunks.frameStreams.get(0).received.size() == bound);
    assertThat(stream.isReady()).isFalse();
    int before = told.get();
    var server = chunks.frameStreams.get(0);
    server.onReceived =
        frame -> server.answers.accept(FakeChunks.answer(frame, new FrameAnswer.NotApplied()));
    for (Frame frame : server.received) {
      server.answers.accept(FakeChunks.answer(frame, new FrameAnswer.NotApplied()));
    }
    Await.until("ready again", stream::isReady);
    Await.until("told so", () -> told.get() > before);
  }

  @Test
  void peersIntroduceThemselvesAndMessagesGoBothWays() {
    FakeChunks chunks = new FakeChunks();
    List<PeerMessage> answers = new CopyOnWriteArrayList<>();
    ChunkApi.PeerStream stream = remote(chunks).peer(answers::add, broken::add);
    Map<ServerId, ServerAddress> listening = Map.of(new ServerId("cs2"), new ServerAddress("h", 1));
    RandomValues random = new RandomValues(5);
    List<PeerMessage> sent = new ArrayList<>();
    stream.introduce(new ServerId("cs1"), listening);
    for (int i = 0; i < 30; i++) {
      sent.add(random.next(PeerMessage.class));
      stream.send(sent.get(i));
    }
    Await.until(
        "all messages",
        () -> chunks.peerStreams.size() == 1 && chunks.peerStreams.get(0).received.size() == 31);
    assertThat(chunks.peerStreams.get(0).received.get(0))
        .isEqualTo(Map.entry(new ServerId("cs1"), listening));
    assertThat(chunks.peerStreams.get(0).received.subList(1, 31)).isEqualTo(sent);
    sent.forEach(chunks.peerStreams.get(0).answers);
    Await.until("all answers", () -> answers.size() == 30);
    assertThat(answers).isEqualTo(sent);
  }

  @Test
  void closingIsToldToBothSidesOnce() {
    FakeChunks chunks = new FakeChunks();
    ChunkApi.FrameStream stream = remote(chunks).mutate(answer -> {}, broken::add);
    stream.send(frame(1, bytes(10, 1)));
    stream.close();
    stream.close();
    Await.until("broken is told", () -> !broken.isEmpty());
    Await.until("server is told", () -> chunks.frameStreams.get(0).closed.get() == 1);
    assertThat(broken).containsExactly("closed: by this side");
    assertThat(chunks.frameStreams.get(0).received).hasSize(1);
    stream.send(frame(2, bytes(10, 2)));
    assertThat(stream.isReady()).isFalse();
  }

  @Test
  void aServerThatEndsAStreamSaysWhy() {
    FakeChunks chunks = new FakeChunks();
    ChunkApi.FrameStream stream = remote(chunks).mutate(answer -> {}, broken::add);
    stream.send(frame(1, bytes(10, 1)));
    Await.until("opened", () -> !chunks.frameStreams.isEmpty());
    chunks.frameStreams.get(0).end.accept("lease lost");
    Await.until("broken is told", () -> !broken.isEmpty());
    assertThat(broken).hasSize(1);
    assertThat(broken.get(0)).startsWith("refused: ").contains("lease lost");
    Await.until("closed once", () -> chunks.frameStreams.get(0).closed.get() == 1);
  }

  @Test
  void aKilledServerIsAResetToldOnce() {
    FakeChunks chunks = new FakeChunks();
    ChunkApi.FrameStream stream = remote(chunks).mutate(answer -> {}, broken::add);
    stream.send(frame(1, bytes(10, 1)));
    Await.until("opened", () -> !chunks.frameStreams.isEmpty());
    servers.close();
    Await.until("broken is told", () -> !broken.isEmpty());
    assertThat(broken).hasSize(1);
    assertThat(broken.get(0)).startsWith("reset: 127.0.0.1:");
    Await.until("server's side is closed", () -> chunks.frameStreams.get(0).closed.get() == 1);
  }

  @Test
  void aStreamToNobodyIsAReset() throws Exception {
    ServerAddress nobody;
    try (java.net.ServerSocket socket =
        new java.net.ServerSocket(0, 1, java.net.InetAddress.getLoopbackAddress())) {
      nobody = new ServerAddress("127.0.0.1", socket.getLocalPort());
    }
    ChunkApi.PeerStream stream =
        new RemoteChunkServer(channels, nobody, SECOND).peer(answer -> {}, broken::add);
    stream.introduce(new ServerId("cs1"), Map.of());
    Await.until("broken is told", () -> !broken.isEmpty());
    assertThat(broken.get(0)).startsWith("reset: " + nobody).contains("refused");
  }

  @Test
  void aClientThatIsKilledClosesTheServersSide() {
    FakeChunks chunks = new FakeChunks();
    ChunkApi.FrameStream stream = remote(chunks).mutate(answer -> {}, broken::add);
    stream.send(frame(1, bytes(10, 1)));
    Await.until("opened", () -> !chunks.frameStreams.isEmpty());
    channels.close();
    Await.until("server's side is closed", () -> chunks.frameStreams.get(0).closed.get() == 1);
    Await.until("broken is told", () -> broken.size() == 1);
  }

  @Test
  void aFrameThatTheModelForbidsEndsTheStreamOnly() {
    FakeChunks chunks = new FakeChunks();
    RemoteChunkServer remote = remote(chunks);
    ChunkApi.PeerStream stream = remote.peer(answer -> {}, broken::add);
    stream.introduce(new ServerId("cs1"), Map.of());
    Await.until("opened", () -> !chunks.peerStreams.isEmpty());
    chunks.peerStreams.get(0).onReceived =
        message -> {
          throw new IllegalArgumentException("no such thing");
        };
    stream.send(new PeerMessage.Committed(new ChunkHandle(1), 1, 1));
    Await.until("broken is told", () -> !broken.isEmpty());
    assertThat(broken).containsExactly("refused: INVALID_ARGUMENT: no such thing");
    assertThat(remote.events(0, 1).join()).isEmpty();
  }

  // ---- reads

  private static ChunkApi.ReadRequest request(long length) {
    return new ChunkApi.ReadRequest(
        new ChunkHandle(8), 1, Optional.empty(), 0, length, ChunkApi.ReadMode.DEFAULT);
  }

  /** Serves zeros in parts of 1 MiB, as its sink allows. */
  private static final class Producer extends FakeChunks {
    final AtomicLong pushed = new AtomicLong();
    final CompletableFuture<Void> gaveUp = new CompletableFuture<>();

    @Override
    public CompletableFuture<ReadEnd> read(ReadRequest request, Sink<ReadPart> parts) {
      CompletableFuture<ReadEnd> end = new CompletableFuture<>();
      Runnable step = () -> push(request, parts, end);
      parts.onReady(step);
      step.run();
      return end;
    }

    private synchronized void push(
        ReadRequest request, Sink<ReadPart> parts, CompletableFuture<ReadEnd> end) {
      while (parts.isReady() && pushed.get() < request.lengthBytes()) {
        ByteBuffer payload = bytes(MIB, pushed.get());
        parts.accept(new ReadPart(pushed.get(), Checksums.of(payload, Frame.PIECE), payload));
        pushed.addAndGet(MIB);
      }
      if (!parts.isOpen()) {
        gaveUp.complete(null);
        end.completeExceptionally(new LeaseFsException(ErrorCode.OUTCOME_UNKNOWN, "gone"));
      } else if (pushed.get() >= request.lengthBytes()) {
        end.complete(new ReadEnd(pushed.get(), 1, false));
      }
    }
  }

  @Test
  void partsComeInOrderThenTheEnd() throws Exception {
    List<Long> offsets = new ArrayList<>();
    ChunkApi.ReadEnd end =
        remote(new Producer())
            .read(
                request(20L * MIB),
                part -> {
                  assertThat(part.checksums().match(part.payload(), Frame.PIECE)).isTrue();
                  offsets.add(part.offset());
                })
            .get(20, TimeUnit.SECONDS);
    assertThat(end).isEqualTo(new ChunkApi.ReadEnd(20L * MIB, 1, false));
    assertThat(offsets).hasSize(20).isSorted();
  }

  @Test
  void aReadsErrorArrivesAsSuch() throws Exception {
    ExecutionException e =
        catchThrowableOfType(
            ExecutionException.class,
            () -> remote(new FakeChunks()).read(request(1), part -> {}).get(10, TimeUnit.SECONDS));
    assertThat(e.getCause())
        .isInstanceOfSatisfying(
            LeaseFsException.class, told -> assertThat(told.code()).isEqualTo(ErrorCode.NOT_FOUND))
        .hasMessage("no chunk 0x8");
  }

  /** A reader that takes parts only when allowed. */
  private static final class SlowSink implements ChunkApi.Sink<ChunkApi.ReadPart> {
    final AtomicInteger taken = new AtomicInteger();
    volatile int allowed;
    volatile boolean open = true;
    volatile Runnable readyTask = () -> {};

    @Override
    public void accept(ChunkApi.ReadPart part) {
      taken.incrementAndGet();
    }

    @Override
    public boolean isReady() {
      return taken.get() < allowed;
    }

    @Override
    public boolean isOpen() {
      return open;
    }

    @Override
    public void onReady(Runnable task) {
      readyTask = task;
    }
  }

  @Test
  void aSlowReaderHoldsTheProducerBack() throws Exception {
    Producer producer = new Producer();
    SlowSink sink = new SlowSink();
    sink.allowed = 1;
    RemoteChunkServer remote = remote(producer);
    CompletableFuture<ChunkApi.ReadEnd> end = remote.read(request(64L * MIB), sink);
    Await.until("first part", () -> sink.taken.get() == 1);
    // two whole calls go past it on the same connection
    remote.events(0, 1).join();
    remote.events(0, 1).join();
    assertThat(producer.pushed.get()).isLessThan(8L * MIB);
    assertThat(end).isNotDone();
    sink.allowed = 1000;
    sink.readyTask.run();
    assertThat(end.get(20, TimeUnit.SECONDS).committedLength()).isEqualTo(64L * MIB);
    assertThat(sink.taken).hasValue(64);
  }

  @Test
  void aReaderThatGoesAwayStopsTheProducer() {
    Producer producer = new Producer();
    SlowSink sink = new SlowSink();
    sink.allowed = 1;
    CompletableFuture<ChunkApi.ReadEnd> end = remote(producer).read(request(64L * MIB), sink);
    Await.until("first part", () -> sink.taken.get() == 1);
    sink.open = false;
    sink.readyTask.run();
    Await.until("reader is told", end::isCompletedExceptionally);
    Await.until("producer is told", producer.gaveUp::isDone);
    assertThat(producer.pushed.get()).isLessThan(8L * MIB);
  }

  @Test
  void aProducerThatDoesNotWaitIsCutOff() {
    CompletableFuture<Integer> pushed = new CompletableFuture<>();
    FakeChunks flood =
        new FakeChunks() {
          @Override
          public CompletableFuture<ReadEnd> read(ReadRequest request, Sink<ReadPart> parts) {
            ByteBuffer payload = bytes(MIB, 1);
            int count = 0;
            while (parts.isOpen() && count < 1000) {
              parts.accept(new ReadPart(0, Checksums.NONE, payload));
              count++;
            }
            pushed.complete(count);
            return CompletableFuture.completedFuture(new ReadEnd(count, 1, false));
          }
        };
    SlowSink sink = new SlowSink();
    CompletableFuture<ChunkApi.ReadEnd> end = remote(flood).read(request(1), sink);
    Await.until("producer is stopped", pushed::isDone);
    assertThat(pushed.join()).isLessThan(20);
    sink.allowed = 1000;
    sink.readyTask.run();
    Await.until("cut", end::isDone);
    assertThat(end)
        .failsWithin(1, TimeUnit.SECONDS)
        .withThrowableOfType(ExecutionException.class)
        .withMessageContaining("Read was cut");
  }

  @Test
  void aReadOfASilentServerIsTimedOut() {
    FakeChunks silent =
        new FakeChunks() {
          @Override
          public CompletableFuture<ReadEnd> read(ReadRequest request, Sink<ReadPart> parts) {
            parts.accept(new ReadPart(0, Checksums.NONE, ByteBuffer.allocate(1)));
            return new CompletableFuture<>();
          }
        };
    ServerAddress at = servers.listen(ANY, new ChunkServerEndpoint(silent));
    List<ChunkApi.ReadPart> parts = new CopyOnWriteArrayList<>();
    CompletableFuture<ChunkApi.ReadEnd> end =
        new RemoteChunkServer(channels, at, SECOND / 5).read(request(9), parts::add);
    Await.until("given up", end::isDone);
    assertThat(parts).hasSize(1);
    assertThat(end)
        .failsWithin(1, TimeUnit.SECONDS)
        .withThrowableOfType(ExecutionException.class)
        .withMessageContaining(at + " sent no part of Read for 200 ms");
  }

  @Test
  void aReadOfAKilledServerIsUnreachable() {
    FakeChunks silent =
        new FakeChunks() {
          @Override
          public CompletableFuture<ReadEnd> read(ReadRequest request, Sink<ReadPart> parts) {
            parts.accept(new ReadPart(0, Checksums.NONE, ByteBuffer.allocate(1)));
            return new CompletableFuture<>();
          }
        };
    List<ChunkApi.ReadPart> parts = new CopyOnWriteArrayList<>();
    CompletableFuture<ChunkApi.ReadEnd> end = remote(silent).read(request(9), parts::add);
    Await.until("first part", () -> parts.size() == 1);
    servers.close();
    Await.until("failed", end::isDone);
    assertThat(end)
        .failsWithin(1, TimeUnit.SECONDS)
        .withThrowableOfType(ExecutionException.class)
        .withCauseInstanceOf(LeaseFsException.class)
        .withMessageContaining("cannot reach 127.0.0.1:");
  }

  @Test
  void aCopyBringsItsImageItsDataAndItsEnd() throws Exception {
    CopyServer server = new CopyServer();
    List<ChunkApi.CopyPart> parts = new CopyOnWriteArrayList<>();
    ChunkApi.CopyEnd end =
        remote(server)
            .copy(
                new ChunkApi.CopyRequest(new ChunkHandle(8), 2, new ReplicaId(3), 4),
                part ->
                    parts.add(
                        new ChunkApi.CopyPart(
                            part.image(), part.offset(), part.checksums(), copy(part.payload()))))
            .get(20, TimeUnit.SECONDS);
    assertThat(end).isEqualTo(server.end);
    assertThat(parts).isEqualTo(server.parts);
  }

  private static ByteBuffer copy(ByteBuffer source) {
    return ByteBuffer.allocate(source.remaining()).put(source.duplicate()).flip();
  }

  /** Gives a copy of two kinds of parts. */
  private static final class CopyServer extends FakeChunks {
    final CopyEnd end = new CopyEnd(5, 6, Optional.empty());
    final List<CopyPart> parts =
        List.of(
            new CopyPart(true, 0, Checksums.NONE, bytes(100, 1)),
            new CopyPart(false, 64, Checksums.owning(new int[] {1, 2}), bytes(70_000, 2)));

    @Override
    public CompletableFuture<CopyEnd> copy(CopyRequest request, Sink<CopyPart> sink) {
      parts.forEach(sink);
      return CompletableFuture.completedFuture(end);
    }
  }

  // ---- heartbeats

  /** A master that keeps its heartbeats. */
  private static final class FakeCluster implements ClusterApi {
    final List<Heartbeat.Request> requests = new CopyOnWriteArrayList<>();
    final AtomicInteger closed = new AtomicInteger();
    volatile Consumer<Heartbeat.Response> responses = response -> {};

    @Override
    public CompletableFuture<Registration.Response> register(Registration.Request request) {
      return new CompletableFuture<>();
    }

    @Override
    public HeartbeatStream heartbeat(
        Consumer<Heartbeat.Response> responses, Consumer<String> broken) {
      this.responses = responses;
      return new HeartbeatStream() {
        @Override
        public void send(Heartbeat.Request request) {
          requests.add(request);
        }

        @Override
        public void close() {
          closed.incrementAndGet();
        }
      };
    }
  }

  private ServerAddress master(ClusterApi cluster) {
    return servers.listen(
        ANY, new MasterServer(none(MasterApi.class), none(AdminApi.class), cluster));
  }

  private static <T> T none(Class<T> api) {
    return api.cast(
        Proxy.newProxyInstance(
            api.getClassLoader(),
            new Class<?>[] {api},
            (proxy, method, arguments) -> new CompletableFuture<>()));
  }

  @Test
  void heartbeatsAndTheirResponsesArriveUnchanged() {
    FakeCluster cluster = new FakeCluster();
    List<Heartbeat.Response> responses = new CopyOnWriteArrayList<>();
    ClusterApi.HeartbeatStream stream =
        new RemoteMaster(channels, master(cluster), SECOND).heartbeat(responses::add, broken::add);
    RandomValues random = new RandomValues(11);
    List<Heartbeat.Request> sent = new ArrayList<>();
    for (int i = 0; i < 20; i++) {
      sent.add(random.next(Heartbeat.Request.class));
      stream.send(sent.get(i));
    }
    Await.until("all requests", () -> cluster.requests.size() == 20);
    assertThat(cluster.requests).isEqualTo(sent);
    Consumer<Heartbeat.Response> back = cluster.responses;
    List<Heartbeat.Response> given = new ArrayList<>();
    for (int i = 0; i < 20; i++) {
      given.add(random.next(Heartbeat.Response.class));
      back.accept(given.get(i));
    }
    Await.until("all responses", () -> responses.size() == 20);
    assertThat(responses).isEqualTo(given);
    stream.close();
    Await.until("closed", () -> cluster.closed.get() == 1 && broken.size() == 1);
  }

  @Test
  void aKilledMasterBreaksTheHeartbeatAsAReset() {
    FakeCluster cluster = new FakeCluster();
    ClusterApi.HeartbeatStream stream =
        new RemoteMaster(channels, master(cluster), SECOND).heartbeat(response -> {}, broken::add);
    stream.send(new RandomValues(1).next(Heartbeat.Request.class));
    Await.until("a request", () -> cluster.requests.size() == 1);
    servers.close();
    Await.until("broken is told", () -> !broken.isEmpty());
    assertThat(broken).hasSize(1);
    assertThat(broken.get(0)).startsWith("reset: ");
  }
}
