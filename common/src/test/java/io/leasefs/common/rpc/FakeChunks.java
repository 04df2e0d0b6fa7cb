package io.leasefs.common.rpc;

import io.leasefs.common.api.ChunkApi;
import io.leasefs.common.api.Frame;
import io.leasefs.common.api.FrameAnswer;
import io.leasefs.common.api.PeerMessage;
import io.leasefs.common.error.ErrorCode;
import io.leasefs.common.error.LeaseFsException;
import io.leasefs.common.model.ChunkHandle;
import io.leasefs.common.model.ClusterEvent;
import io.leasefs.common.model.ServerAddress;
import io.leasefs.common.model.ServerId;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Consumer;

/** A chunkserver that keeps what it is told, and does what a test sets. */
class FakeChunks implements ChunkApi {
  /** A client's or peer's stream, as this side sees it. */
  static final class Stream<I, O> {
    final List<I> received = new CopyOnWriteArrayList<>();
    final Consumer<O> answers;
    final Consumer<String> end;
    volatile Consumer<I> onReceived = message -> {};
    volatile boolean ready = true;
    volatile Runnable readyTask = () -> {};
    final AtomicInteger closed = new AtomicInteger();

    Stream(Consumer<O> answers, Consumer<String> end) {
      this.answers = answers;
      this.end = end;
    }

    void receive(I message) {
      received.add(message);
      onReceived.accept(message);
    }
  }

  final List<Stream<Frame, NamedAnswer>> frameStreams = new CopyOnWriteArrayList<>();
  final List<Stream<Object, PeerMessage>> peerStreams = new CopyOnWriteArrayList<>();
  volatile boolean answersAtOnce;

  static NamedAnswer answer(Frame frame, FrameAnswer answer) {
    return new NamedAnswer(frame.chunk(), frame.session().value(), frame.sequence(), answer);
  }

  @Override
  public FrameStream mutate(Consumer<NamedAnswer> answers, Consumer<String> broken) {
    Stream<Frame, NamedAnswer> stream = new Stream<>(answers, broken);
    if (answersAtOnce) {
      stream.onReceived = frame -> answers.accept(answer(frame, new FrameAnswer.NotApplied()));
    }
    frameStreams.add(stream);
    return new FrameStream() {
      @Override
      public void send(Frame frame) {
        stream.receive(frame);
      }

      @Override
      public boolean isReady() {
        return stream.ready;
      }

      @Override
      public void onReady(Runnable task) {
        stream.readyTask = task;
      }

      @Override
      public void close() {
        stream.closed.incrementAndGet();
      }
    };
  }

  @Override
  public PeerStream peer(Consumer<PeerMessage> answers, Consumer<String> broken) {
    Stream<Object, PeerMessage> stream = new Stream<>(answers, broken);
    peerStreams.add(stream);
    return new PeerStream() {
      @Override
      public void introduce(ServerId from, Map<ServerId, ServerAddress> listening) {
        stream.receive(Map.entry(from, listening));
      }

      @Override
      public void send(PeerMessage message) {
        stream.receive(message);
      }

      @Override
      public boolean isReady() {
        return stream.ready;
      }

      @Override
      public void onReady(Runnable task) {
        stream.readyTask = task;
      }

      @Override
      public void close() {
        stream.closed.incrementAndGet();
      }
    };
  }

  @Override
  public CompletableFuture<ReadEnd> read(ReadRequest request, Sink<ReadPart> parts) {
    throw new LeaseFsException(ErrorCode.NOT_FOUND, "no chunk " + request.chunk());
  }

  @Override
  public CompletableFuture<CopyEnd> copy(CopyRequest request, Sink<CopyPart> parts) {
    throw new LeaseFsException(ErrorCode.NOT_FOUND, "no chunk " + request.chunk());
  }

  @Override
  public CompletableFuture<ReplicaStatus> inspect(ChunkHandle chunk, boolean verify) {
    throw new LeaseFsException(ErrorCode.NOT_FOUND, "no chunk " + chunk);
  }

  @Override
  public CompletableFuture<List<ClusterEvent>> events(long after, int limit) {
    return CompletableFuture.completedFuture(List.of());
  }

  @Override
  public CompletableFuture<List<String>> fault(String command, List<String> arguments) {
    throw new LeaseFsException(ErrorCode.PERMISSION, "no faults here");
  }
}
