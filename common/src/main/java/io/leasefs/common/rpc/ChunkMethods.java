package io.leasefs.common.rpc;

import io.grpc.MethodDescriptor;
import io.leasefs.proto.v1.ChunkServiceGrpc;
import io.leasefs.proto.v1.CopyHeaderProto;
import io.leasefs.proto.v1.CopyRequestProto;
import io.leasefs.proto.v1.FrameHeaderProto;
import io.leasefs.proto.v1.NamedAnswerProto;
import io.leasefs.proto.v1.PeerHeaderProto;
import io.leasefs.proto.v1.ReadHeaderProto;
import io.leasefs.proto.v1.ReadRequestProto;

/** The methods of the data path: as generated, but with payloads marshalled by {@link ZeroCopy}. */
final class ChunkMethods {
  private static final ZeroCopy<PeerHeaderProto> PEER_MESSAGES =
      new ZeroCopy<>(
          PeerHeaderProto.parser(), PeerHeaderProto.getDefaultInstance(), PayloadPool.SHARED);

  static final MethodDescriptor<Envelope<FrameHeaderProto>, NamedAnswerProto> MUTATE =
      ChunkServiceGrpc.getMutateMethod().toBuilder(
              new ZeroCopy<>(
                  FrameHeaderProto.parser(),
                  FrameHeaderProto.getDefaultInstance(),
                  PayloadPool.SHARED),
              ChunkServiceGrpc.getMutateMethod().getResponseMarshaller())
          .build();

  static final MethodDescriptor<ReadRequestProto, Envelope<ReadHeaderProto>> READ =
      ChunkServiceGrpc.getReadMethod().toBuilder(
              ChunkServiceGrpc.getReadMethod().getRequestMarshaller(),
              new ZeroCopy<>(
                  ReadHeaderProto.parser(),
                  ReadHeaderProto.getDefaultInstance(),
                  PayloadPool.SHARED))
          .build();

  static final MethodDescriptor<Envelope<PeerHeaderProto>, Envelope<PeerHeaderProto>> PEER =
      ChunkServiceGrpc.getPeerMethod().toBuilder(PEER_MESSAGES, PEER_MESSAGES).build();

  static final MethodDescriptor<CopyRequestProto, Envelope<CopyHeaderProto>> COPY =
      ChunkServiceGrpc.getCopyMethod().toBuilder(
              ChunkServiceGrpc.getCopyMethod().getRequestMarshaller(),
              new ZeroCopy<>(
                  CopyHeaderProto.parser(),
                  CopyHeaderProto.getDefaultInstance(),
                  PayloadPool.SHARED))
          .build();

  private ChunkMethods() {}
}
