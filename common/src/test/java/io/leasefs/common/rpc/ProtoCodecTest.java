package io.leasefs.common.rpc;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.google.protobuf.MessageLite;
import com.google.protobuf.Parser;
import io.leasefs.common.api.AdminApi;
import io.leasefs.common.api.ChunkApi;
import io.leasefs.common.api.Frame;
import io.leasefs.common.api.Heartbeat;
import io.leasefs.common.api.MasterApi;
import io.leasefs.common.api.MutationKind;
import io.leasefs.common.api.PeerMessage;
import io.leasefs.common.api.Registration;
import io.leasefs.common.error.ErrorCode;
import io.leasefs.common.error.LeaseFsException;
import io.leasefs.common.model.ChunkLayout;
import io.leasefs.common.model.ClusterEvent;
import io.leasefs.common.model.Endpoints;
import io.leasefs.common.model.EventKind;
import io.leasefs.common.model.FileLayout;
import io.leasefs.common.model.LeaseGrant;
import io.leasefs.common.model.RequestId;
import io.leasefs.proto.v1.CommandProto;
import io.leasefs.proto.v1.CopyHeaderProto;
import io.leasefs.proto.v1.DurabilityProto;
import io.leasefs.proto.v1.FailedMemberProto;
import io.leasefs.proto.v1.FrameHeaderProto;
import io.leasefs.proto.v1.FrameProto;
import io.leasefs.proto.v1.MutationKindProto;
import io.leasefs.proto.v1.PeerHeaderProto;
import io.leasefs.proto.v1.ReadHeaderProto;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.List;
import java.util.function.UnaryOperator;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

class ProtoCodecTest {
  private static final PayloadPool POOL = new PayloadPool(4 << 20, 8 << 20);

  /** A type, and a way of its values over the wire and back. */
  record RoundTrip<T>(Class<T> type, UnaryOperator<T> way) {
    @Override
    public String toString() {
      return type.getSimpleName();
    }

    void check(long seed) {
      T value = new RandomValues(seed).next(type);
      assertThat(way.apply(value)).as("seed %s", seed).isEqualTo(value);
    }
  }

  static Stream<RoundTrip<?>> roundTrips() {
    return Stream.of(
        new RoundTrip<>(RequestId.class, v -> ProtoCodec.toModel(bytes(ProtoCodec.toProto(v)))),
        new RoundTrip<>(Endpoints.class, v -> ProtoCodec.toModel(bytes(ProtoCodec.toProto(v)))),
        new RoundTrip<>(ChunkLayout.class, v -> ProtoCodec.toModel(bytes(ProtoCodec.toProto(v)))),
        new RoundTrip<>(FileLayout.class, v -> ProtoCodec.toModel(bytes(ProtoCodec.toProto(v)))),
        new RoundTrip<>(LeaseGrant.class, v -> ProtoCodec.toModel(bytes(ProtoCodec.toProto(v)))),
        new RoundTrip<>(ClusterEvent.class, v -> ProtoCodec.toModel(bytes(ProtoCodec.toProto(v)))),
        new RoundTrip<>(
            Registration.Request.class, v -> ClusterCodec.toModel(bytes(ClusterCodec.toProto(v)))),
        new RoundTrip<>(
            Registration.Response.class, v -> ClusterCodec.toModel(bytes(ClusterCodec.toProto(v)))),
        new RoundTrip<>(
            Heartbeat.Request.class, v -> ClusterCodec.toModel(bytes(ClusterCodec.toProto(v)))),
        new RoundTrip<>(
            Heartbeat.Response.class, v -> ClusterCodec.toModel(bytes(ClusterCodec.toProto(v)))),
        new RoundTrip<>(
            Heartbeat.Command.class, v -> ClusterCodec.toModel(bytes(ClusterCodec.toProto(v)))),
        new RoundTrip<>(
            MasterApi.Greeting.class, v -> MasterCodec.toModel(bytes(MasterCodec.toProto(v)))),
        new RoundTrip<>(
            MasterApi.CreateFile.class,
            v -> MasterCodec.toModel(bytes(MasterCodec.toProto(v).build()))),
        new RoundTrip<>(
            MasterApi.OpenFile.class, v -> MasterCodec.toModel(bytes(MasterCodec.toProto(v)))),
        new RoundTrip<>(
            MasterApi.AddedChunk.class, v -> MasterCodec.toModel(bytes(MasterCodec.toProto(v)))),
        new RoundTrip<>(
            MasterApi.Attributes.class,
            v -> MasterCodec.toModel(bytes(MasterCodec.toProto(v).build()))),
        new RoundTrip<>(
            MasterApi.Trashed.class, v -> MasterCodec.toModel(bytes(MasterCodec.toProto(v)))),
        new RoundTrip<>(
            MasterApi.Usage.class, v -> MasterCodec.toModel(bytes(MasterCodec.toProto(v)))),
        new RoundTrip<>(
            AdminApi.ClusterStatus.class, v -> MasterCodec.toModel(bytes(MasterCodec.toProto(v)))),
        new RoundTrip<>(
            AdminApi.NodeStatus.class, v -> MasterCodec.toModel(bytes(MasterCodec.toProto(v)))),
        new RoundTrip<>(
            AdminApi.ChunkStatus.class, v -> MasterCodec.toModel(bytes(MasterCodec.toProto(v)))),
        new RoundTrip<>(
            AdminApi.Wait.class, v -> MasterCodec.toModel(bytes(MasterCodec.toProto(v)))),
        new RoundTrip<>(
            AdminApi.Finding.class, v -> MasterCodec.toModel(bytes(MasterCodec.toProto(v)))),
        new RoundTrip<>(
            ChunkApi.NamedAnswer.class, v -> ChunkCodec.toModel(bytes(ChunkCodec.toProto(v)))),
        new RoundTrip<>(
            ChunkApi.ReadRequest.class, v -> ChunkCodec.toModel(bytes(ChunkCodec.toProto(v)))),
        new RoundTrip<>(
            ChunkApi.CopyRequest.class, v -> ChunkCodec.toModel(bytes(ChunkCodec.toProto(v)))),
        new RoundTrip<>(
            ChunkApi.ReplicaStatus.class, v -> ChunkCodec.toModel(bytes(ChunkCodec.toProto(v)))),
        new RoundTrip<>(
            ChunkApi.ReadEnd.class,
            v -> ChunkCodec.toModel(bytes(ChunkCodec.toProto(v).header()).getEnd())),
        new RoundTrip<>(
            ChunkApi.CopyEnd.class,
            v -> ChunkCodec.toModel(bytes(ChunkCodec.toProto(v).header()).getEnd())),
        new RoundTrip<>(
            Frame.class,
            v ->
                ChunkCodec.toModelFrame(
                    wire(ChunkCodec.toProto(v), FrameHeaderProto.getDefaultInstance()))),
        new RoundTrip<>(
            PeerMessage.class,
            v ->
                ChunkCodec.toModelMessage(
                    wire(ChunkCodec.toProto(v), PeerHeaderProto.getDefaultInstance()))),
        new RoundTrip<>(ChunkApi.ReadPart.class, ProtoCodecTest::readPart),
        new RoundTrip<>(ChunkApi.CopyPart.class, ProtoCodecTest::copyPart));
  }

  @ParameterizedTest
  @MethodSource("roundTrips")
  void everyValueComesBackFromTheWireUnchanged(RoundTrip<?> roundTrip) {
    for (long seed = 1; seed <= 60; seed++) {
      roundTrip.check(seed);
    }
  }

  @Test
  void whatIsMarshalledByHandIsPlainProtobuf() throws IOException {
    for (long seed = 1; seed <= 30; seed++) {
      Frame frame = new RandomValues(seed).next(Frame.class);
      FrameProto parsed =
          FrameProto.parseFrom(
              written(ChunkCodec.toProto(frame), FrameHeaderProto.getDefaultInstance()));
      assertThat(parsed.getHeader()).isEqualTo(ChunkCodec.toProto(frame).header());
      assertThat(parsed.getPayload().asReadOnlyByteBuffer()).isEqualTo(frame.payload());
    }
  }

  @Test
  void whatProtobufWritesIsReadByHand() {
    Frame frame = new RandomValues(7).next(Frame.class);
    Envelope<FrameHeaderProto> envelope = ChunkCodec.toProto(frame);
    byte[] bytes =
        FrameProto.newBuilder()
            .setHeader(envelope.header())
            .setPayload(com.google.protobuf.ByteString.copyFrom(frame.payload().duplicate()))
            .build()
            .toByteArray();
    assertThat(
            ChunkCodec.toModelFrame(
                marshaller(FrameHeaderProto.getDefaultInstance())
                    .parse(new ByteArrayInputStream(bytes))))
        .isEqualTo(frame);
  }

  @Test
  void everyTruncationOfAMessageIsRefused() throws IOException {
    Frame frame = new RandomValues(3).next(Frame.class);
    byte[] bytes = written(ChunkCodec.toProto(frame), FrameHeaderProto.getDefaultInstance());
    int headerEnd = bytes.length - frame.payload().remaining();
    for (int length : List.of(1, 2, 5, headerEnd, bytes.length - 1)) {
      if (length < bytes.length && frame.payload().hasRemaining()) {
        assertThatThrownBy(
                () ->
                    marshaller(FrameHeaderProto.getDefaultInstance())
                        .parse(new ByteArrayInputStream(bytes, 0, length)))
            .as("cut to %s of %s", length, bytes.length)
            .isInstanceOf(io.grpc.StatusRuntimeException.class)
            .hasMessageContaining("malformed");
      }
    }
  }

  @Test
  void unknownConstantsAndCommandsAreRefused() {
    assertThatThrownBy(() -> ProtoCodec.toModel(DurabilityProto.DURABILITY_UNSPECIFIED))
        .isInstanceOfSatisfying(
            LeaseFsException.class,
            e -> assertThat(e.code()).isEqualTo(ErrorCode.INVALID_ARGUMENT));
    assertThatThrownBy(() -> ClusterCodec.toModel(CommandProto.getDefaultInstance()))
        .isInstanceOf(LeaseFsException.class);
  }

  @Test
  void failureOfAMemberThatIsNotKnownCountsAsUnreachable() {
    FailedMemberProto older =
        FailedMemberProto.newBuilder().setChunk(7).setVersion(2).setMember("cs1").build();
    FailedMemberProto newer = older.toBuilder().setFailureValue(99).build();

    assertThat(ClusterCodec.toModel(older).failure())
        .isEqualTo(Heartbeat.MemberFailure.UNREACHABLE);
    assertThat(ClusterCodec.toModel(newer).failure())
        .isEqualTo(Heartbeat.MemberFailure.UNREACHABLE);
  }

  @Test
  void theJournalsOrderOfMutationKindsIsTheWires() {
    int number = 1;
    for (MutationKind kind : MutationKind.values()) {
      assertThat(MutationKindProto.forNumber(number++).name())
          .isEqualTo("MUTATION_KIND_" + kind.name());
    }
  }

  @Test
  void everyEventKindAndErrorCodeHasATwin() {
    for (EventKind kind : EventKind.values()) {
      assertThat(ProtoCodec.toModel(ProtoCodec.toProto(kind))).isEqualTo(kind);
    }
    for (ErrorCode code : ErrorCode.values()) {
      assertThat(ProtoCodec.toModel(ProtoCodec.toProto(code))).isEqualTo(code);
    }
  }

  private static ChunkApi.ReadPart readPart(ChunkApi.ReadPart value) {
    Envelope<ReadHeaderProto> read =
        wire(ChunkCodec.toProto(value), ReadHeaderProto.getDefaultInstance());
    return ChunkCodec.toModelPart(read.header().getPart(), read.payload());
  }

  private static ChunkApi.CopyPart copyPart(ChunkApi.CopyPart value) {
    Envelope<CopyHeaderProto> read =
        wire(ChunkCodec.toProto(value), CopyHeaderProto.getDefaultInstance());
    return read.header().hasImage()
        ? ChunkCodec.toModelCopyPart(true, read.header().getImage(), read.payload())
        : ChunkCodec.toModelCopyPart(false, read.header().getData(), read.payload());
  }

  /** The same message, written and read. */
  @SuppressWarnings("unchecked")
  private static <M extends MessageLite> M bytes(M message) {
    try {
      return (M) message.getParserForType().parseFrom(message.toByteArray());
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private static <H extends MessageLite> Envelope<H> wire(Envelope<H> envelope, H none) {
    try {
      return marshaller(none).parse(new ByteArrayInputStream(written(envelope, none)));
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private static <H extends MessageLite> byte[] written(Envelope<H> envelope, H none)
      throws IOException {
    ByteArrayOutputStream out = new ByteArrayOutputStream();
    var in = marshaller(none).stream(envelope);
    int announced = in.available();
    ((io.grpc.Drainable) in).drainTo(out);
    assertThat(out.size()).isEqualTo(announced);
    return out.toByteArray();
  }

  @SuppressWarnings("unchecked")
  private static <H extends MessageLite> ZeroCopy<H> marshaller(H none) {
    return new ZeroCopy<>((Parser<H>) none.getParserForType(), none, POOL);
  }
}
