package io.leasefs.common.rpc;

import static io.leasefs.common.rpc.ProtoCodec.each;

import io.grpc.ServerServiceDefinition;
import io.leasefs.common.api.ChunkApi;
import io.leasefs.common.api.Frame;
import io.leasefs.common.model.ChunkHandle;
import io.leasefs.common.model.ServerId;
import io.leasefs.proto.v1.ChunkServiceGrpc;
import io.leasefs.proto.v1.CopyHeaderProto;
import io.leasefs.proto.v1.CopyRequestProto;
import io.leasefs.proto.v1.EventsRequest;
import io.leasefs.proto.v1.EventsResponse;
import io.leasefs.proto.v1.FaultRequest;
import io.leasefs.proto.v1.FaultResponse;
import io.leasefs.proto.v1.FrameHeaderProto;
import io.leasefs.proto.v1.InspectRequest;
import io.leasefs.proto.v1.IntroductionProto;
import io.leasefs.proto.v1.NamedAnswerProto;
import io.leasefs.proto.v1.PeerHeaderProto;
import io.leasefs.proto.v1.ReadHeaderProto;
import io.leasefs.proto.v1.ReadRequestProto;
import io.leasefs.proto.v1.ReplicaStatusProto;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicLong;

/**
 * A chunkserver's service. The Api is called on the listener's threads and must return at once;
 * answers, parts and futures may come on any thread.
 *
 * <p>Frames that have no answer yet are bounded: {@value #STREAM_BYTES} bytes of payload per stream
 * and {@value #TOTAL_BYTES} for all, but one frame per stream in any case. Payloads of frames and
 * peers' messages belong to the Api, see {@link PayloadPool}.
 */
public final class ChunkServerEndpoint extends RpcService {
  static final long STREAM_BYTES = 8L << 20;
  static final long TOTAL_BYTES = 32L << 20;
  private static final int MAX_MESSAGE_BYTES = 4 << 20;
  private static final int MIN_FRAME_BYTES = 1 << 10; // what a frame without payload counts as

  private final ChunkApi chunks;
  private final AtomicLong unansweredBytes = new AtomicLong();

  public ChunkServerEndpoint(ChunkApi chunks) {
    this.chunks = chunks;
  }

  @Override
  int maxMessageBytes() {
    return MAX_MESSAGE_BYTES;
  }

  @Override
  List<ServerServiceDefinition> services() {
    return List.of(
        ServerServiceDefinition.builder(ChunkServiceGrpc.SERVICE_NAME)
            .addMethod(
                ChunkMethods.MUTATE,
                new ServerStream.Handler<Envelope<FrameHeaderProto>, NamedAnswerProto>(
                    "Mutate", FrameIntake::new))
            .addMethod(
                ChunkMethods.PEER,
                new ServerStream.Handler<Envelope<PeerHeaderProto>, Envelope<PeerHeaderProto>>(
                    "Peer", PeerIntake::new))
            .addMethod(
                ChunkMethods.READ,
                new ServedRead.Kind<
                    ReadRequestProto, ChunkApi.ReadPart, ChunkApi.ReadEnd, ReadHeaderProto>(
                    "Read",
                    (request, sink) -> chunks.read(ChunkCodec.toModel(request), sink),
                    ChunkCodec::toProto,
                    ChunkCodec::toProto))
            .addMethod(
                ChunkMethods.COPY,
                new ServedRead.Kind<
                    CopyRequestProto, ChunkApi.CopyPart, ChunkApi.CopyEnd, CopyHeaderProto>(
                    "Copy",
                    (request, sink) -> chunks.copy(ChunkCodec.toModel(request), sink),
                    ChunkCodec::toProto,
                    ChunkCodec::toProto))
            .addMethod(
                ChunkServiceGrpc.getInspectMethod(),
                UnaryReply.<InspectRequest, ChunkApi.ReplicaStatus, ReplicaStatusProto>handler(
                    "Inspect",
                    request ->
                        chunks.inspect(new ChunkHandle(request.getChunk()), request.getVerify()),
                    ChunkCodec::toProto))
            .addMethod(
                ChunkServiceGrpc.getServerEventsMethod(),
                UnaryReply
                    .<EventsRequest, List<io.leasefs.common.model.ClusterEvent>, EventsResponse>
                        handler(
                            "ServerEvents",
                            request -> chunks.events(request.getAfter(), request.getLimit()),
                            events ->
                                EventsResponse.newBuilder()
                                    .addAllEvents(each(events, ProtoCodec::toProto))
                                    .build()))
            .addMethod(
                ChunkServiceGrpc.getFaultMethod(),
                UnaryReply.<FaultRequest, List<String>, FaultResponse>handler(
                    "Fault",
                    request ->
                        chunks.fault(request.getCommand(), List.copyOf(request.getArgumentsList())),
                    on -> FaultResponse.newBuilder().addAllOn(on).build()))
            .build());
  }

  /** Names a frame. */
  private record FrameName(ChunkHandle chunk, long session, long sequence) {}

  /** A client's frames on their way in. */
  private final class FrameIntake implements ServerStream.Inbound<Envelope<FrameHeaderProto>> {
    private final ServerStream<Envelope<FrameHeaderProto>, NamedAnswerProto> stream;
    private final ChunkApi.FrameStream frames;
    // both guarded by unanswered
    private final Map<FrameName, Long> unanswered = new HashMap<>();
    private long streamBytes;

    FrameIntake(ServerStream<Envelope<FrameHeaderProto>, NamedAnswerProto> stream) {
      this.stream = stream;
      this.frames = chunks.mutate(this::answer, stream::end);
      frames.onReady(stream::pull);
    }

    @Override
    public void accept(Envelope<FrameHeaderProto> message) {
      Frame frame = ChunkCodec.toModelFrame(message);
      long bytes = Math.max(MIN_FRAME_BYTES, frame.payload().remaining());
      synchronized (unanswered) {
        // a frame sent twice may be answered once
        unanswered.merge(
            new FrameName(frame.chunk(), frame.session().value(), frame.sequence()),
            bytes,
            Long::sum);
        streamBytes += bytes;
      }
      unansweredBytes.addAndGet(bytes);
      frames.send(frame);
    }

    private void answer(ChunkApi.NamedAnswer answer) {
      Long bytes;
      synchronized (unanswered) {
        bytes =
            unanswered.remove(new FrameName(answer.chunk(), answer.session(), answer.sequence()));
        streamBytes -= bytes == null ? 0 : bytes;
      }
      unansweredBytes.addAndGet(bytes == null ? 0 : -bytes);
      stream.send(ChunkCodec.toProto(answer));
      stream.pull();
    }

    /** Whoever finds the total used up has a frame to be answered, which asks again. */
    @Override
    public boolean isReady() {
      long mine;
      synchronized (unanswered) {
        mine = streamBytes;
      }
      return frames.isReady()
          && (mine == 0 || (mine < STREAM_BYTES && unansweredBytes.get() < TOTAL_BYTES));
    }

    @Override
    public void close() {
      long bytes;
      synchronized (unanswered) {
        bytes = streamBytes;
        streamBytes = 0;
        unanswered.clear();
      }
      unansweredBytes.addAndGet(-bytes);
      frames.close();
    }
  }

  /** A peer's messages on their way in; how many bytes of them wait is the Api's to bound. */
  private final class PeerIntake implements ServerStream.Inbound<Envelope<PeerHeaderProto>> {
    private final ChunkApi.PeerStream messages;

    PeerIntake(ServerStream<Envelope<PeerHeaderProto>, Envelope<PeerHeaderProto>> stream) {
      this.messages = chunks.peer(answer -> stream.send(ChunkCodec.toProto(answer)), stream::end);
      messages.onReady(stream::pull);
    }

    @Override
    public void accept(Envelope<PeerHeaderProto> message) {
      if (message.header().hasIntroduction()) {
        IntroductionProto introduction = message.header().getIntroduction();
        messages.introduce(
            new ServerId(introduction.getFrom()), ChunkCodec.listening(introduction));
      } else {
        messages.send(ChunkCodec.toModelMessage(message));
      }
    }

    @Override
    public boolean isReady() {
      return messages.isReady();
    }

    @Override
    public void close() {
      messages.close();
    }
  }
}
