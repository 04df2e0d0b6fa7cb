package io.leasefs.common.rpc;

import static io.leasefs.common.rpc.ProtoCodec.each;

import io.leasefs.common.api.ChunkApi;
import io.leasefs.common.api.Frame;
import io.leasefs.common.api.PeerMessage;
import io.leasefs.common.model.ChunkHandle;
import io.leasefs.common.model.ClusterEvent;
import io.leasefs.common.model.ServerAddress;
import io.leasefs.common.model.ServerId;
import io.leasefs.proto.v1.ChunkServiceGrpc;
import io.leasefs.proto.v1.CopyHeaderProto;
import io.leasefs.proto.v1.EventsRequest;
import io.leasefs.proto.v1.FaultRequest;
import io.leasefs.proto.v1.FrameHeaderProto;
import io.leasefs.proto.v1.InspectRequest;
import io.leasefs.proto.v1.NamedAnswerProto;
import io.leasefs.proto.v1.PeerHeaderProto;
import io.leasefs.proto.v1.ReadHeaderProto;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;

/**
 * A chunkserver at an address, over gRPC. Any thread; never blocks; futures and callbacks come on
 * the channel's threads.
 *
 * <p>Payloads: what is sent may be reused as soon as {@code send} has returned; of parts that
 * arrive see {@link PayloadPool}. Why a stream is broken is told as {@code reset: ...} (the process
 * or its port is gone), {@code timeout: ...} (silence), {@code refused: CODE: ...} or {@code
 * closed: ...}.
 */
public final class RemoteChunkServer implements ChunkApi {
  private static final int MAX_MESSAGE_BYTES = 4 << 20;
  private static final int READY_BYTES = 1 << 20;
  private static final long VERIFY_NANOS = TimeUnit.SECONDS.toNanos(60);

  private final RemoteCalls calls;

  /**
   * @param timeoutNanos for each call, and for the silence before the next part of a read
   */
  public RemoteChunkServer(Channels channels, ServerAddress address, long timeoutNanos) {
    this.calls = new RemoteCalls(channels, address, timeoutNanos, MAX_MESSAGE_BYTES);
  }

  public ServerAddress address() {
    return calls.address();
  }

  @Override
  public FrameStream mutate(Consumer<NamedAnswer> answers, Consumer<String> broken) {
    ClientStream<Envelope<FrameHeaderProto>, NamedAnswerProto> stream =
        calls.stream(
            ChunkMethods.MUTATE,
            READY_BYTES,
            answer -> answers.accept(ChunkCodec.toModel(answer)),
            broken);
    return new FrameStream() {
      @Override
      public void send(Frame frame) {
        stream.send(ChunkCodec.toProto(frame));
      }

      @Override
      public boolean isReady() {
        return stream.isReady();
      }

      @Override
      public void onReady(Runnable task) {
        stream.onReady(task);
      }

      @Override
      public void close() {
        stream.close();
      }
    };
  }

  @Override
  public CompletableFuture<ReadEnd> read(ReadRequest request, Sink<ReadPart> parts) {
    return RemoteRead.start(
        calls,
        ChunkMethods.READ,
        ChunkCodec.toProto(request),
        parts,
        RemoteChunkServer::readPart,
        header -> ChunkCodec.toModel(header.getEnd()));
  }

  private static Optional<ReadPart> readPart(Envelope<ReadHeaderProto> message) {
    return message.header().hasEnd()
        ? Optional.empty()
        : Optional.of(ChunkCodec.toModelPart(message.header().getPart(), message.payload()));
  }

  @Override
  public PeerStream peer(Consumer<PeerMessage> answers, Consumer<String> broken) {
    ClientStream<Envelope<PeerHeaderProto>, Envelope<PeerHeaderProto>> stream =
        calls.stream(
            ChunkMethods.PEER,
            READY_BYTES,
            message -> answers.accept(ChunkCodec.toModelMessage(message)),
            broken);
    return new PeerStream() {
      @Override
      public void introduce(ServerId from, Map<ServerId, ServerAddress> listening) {
        stream.send(ChunkCodec.introduction(from, listening));
      }

      @Override
      public void send(PeerMessage message) {
        stream.send(ChunkCodec.toProto(message));
      }

      @Override
      public boolean isReady() {
        return stream.isReady();
      }

      @Override
      public void onReady(Runnable task) {
        stream.onReady(task);
      }

      @Override
      public void close() {
        stream.close();
      }
    };
  }

  @Override
  public CompletableFuture<CopyEnd> copy(CopyRequest request, Sink<CopyPart> parts) {
    return RemoteRead.start(
        calls,
        ChunkMethods.COPY,
        ChunkCodec.toProto(request),
        parts,
        RemoteChunkServer::copyPart,
        header -> ChunkCodec.toModel(header.getEnd()));
  }

  private static Optional<CopyPart> copyPart(Envelope<CopyHeaderProto> message) {
    CopyHeaderProto header = message.header();
    if (header.hasEnd()) {
      return Optional.empty();
    }
    return Optional.of(
        header.hasImage()
            ? ChunkCodec.toModelCopyPart(true, header.getImage(), message.payload())
            : ChunkCodec.toModelCopyPart(false, header.getData(), message.payload()));
  }

  @Override
  public CompletableFuture<ReplicaStatus> inspect(ChunkHandle chunk, boolean verify) {
    return calls.unary(
        ChunkServiceGrpc.getInspectMethod(),
        InspectRequest.newBuilder().setChunk(chunk.value()).setVerify(verify).build(),
        verify ? VERIFY_NANOS : 0,
        ChunkCodec::toModel);
  }

  @Override
  public CompletableFuture<List<ClusterEvent>> events(long after, int limit) {
    return calls.unary(
        ChunkServiceGrpc.getServerEventsMethod(),
        EventsRequest.newBuilder().setAfter(after).setLimit(limit).build(),
        0,
        response -> each(response.getEventsList(), ProtoCodec::toModel));
  }

  @Override
  public CompletableFuture<List<String>> fault(String command, List<String> arguments) {
    return calls.unary(
        ChunkServiceGrpc.getFaultMethod(),
        FaultRequest.newBuilder().setCommand(command).addAllArguments(arguments).build(),
        0,
        response -> List.copyOf(response.getOnList()));
  }
}
