package io.leasefs.common.rpc;

import static io.leasefs.common.rpc.ProtoCodec.each;

import io.leasefs.common.api.ChunkApi;
import io.leasefs.common.api.Frame;
import io.leasefs.common.api.FrameAnswer;
import io.leasefs.common.api.Mutation;
import io.leasefs.common.api.MutationKind;
import io.leasefs.common.api.PeerMessage;
import io.leasefs.common.api.VersionStart;
import io.leasefs.common.checksum.Checksums;
import io.leasefs.common.model.ChunkHandle;
import io.leasefs.common.model.FileId;
import io.leasefs.common.model.ReplicaId;
import io.leasefs.common.model.ServerAddress;
import io.leasefs.common.model.ServerId;
import io.leasefs.common.model.SessionId;
import io.leasefs.proto.v1.AppliedProto;
import io.leasefs.proto.v1.ChainProgressProto;
import io.leasefs.proto.v1.ChunkFullProto;
import io.leasefs.proto.v1.CommittedAnswerProto;
import io.leasefs.proto.v1.CommittedProto;
import io.leasefs.proto.v1.CommittedQueryProto;
import io.leasefs.proto.v1.CopyEndProto;
import io.leasefs.proto.v1.CopyHeaderProto;
import io.leasefs.proto.v1.CopyRequestProto;
import io.leasefs.proto.v1.Done;
import io.leasefs.proto.v1.ForwardProto;
import io.leasefs.proto.v1.FrameHeaderProto;
import io.leasefs.proto.v1.HealthProto;
import io.leasefs.proto.v1.IntroductionProto;
import io.leasefs.proto.v1.MemberProgressProto;
import io.leasefs.proto.v1.MutationKindProto;
import io.leasefs.proto.v1.MutationProto;
import io.leasefs.proto.v1.NamedAnswerProto;
import io.leasefs.proto.v1.PartProto;
import io.leasefs.proto.v1.PeerAddressProto;
import io.leasefs.proto.v1.PeerHeaderProto;
import io.leasefs.proto.v1.PromiseAnswerProto;
import io.leasefs.proto.v1.PromiseQueryProto;
import io.leasefs.proto.v1.ReadEndProto;
import io.leasefs.proto.v1.ReadHeaderProto;
import io.leasefs.proto.v1.ReadModeProto;
import io.leasefs.proto.v1.ReadRequestProto;
import io.leasefs.proto.v1.ReconcileProto;
import io.leasefs.proto.v1.ReconcileRefusedProto;
import io.leasefs.proto.v1.ReconciledProto;
import io.leasefs.proto.v1.RecoveryProgressProto;
import io.leasefs.proto.v1.RecoveryProto;
import io.leasefs.proto.v1.RefusedProto;
import io.leasefs.proto.v1.ReplicaStatusProto;
import io.leasefs.proto.v1.VersionStartProto;
import java.nio.ByteBuffer;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;

/**
 * Translates what clients and peers exchange with a chunkserver. Payloads pass through untouched.
 * Any thread; no state.
 */
final class ChunkCodec {
  private static final EnumTable<MutationKind, MutationKindProto> MUTATION_KIND =
      new EnumTable<>(MutationKind.class, MutationKindProto.class, "MUTATION_KIND_");
  private static final EnumTable<ChunkApi.ReadMode, ReadModeProto> READ_MODE =
      new EnumTable<>(ChunkApi.ReadMode.class, ReadModeProto.class, "READ_MODE_");
  private static final EnumTable<PeerMessage.Health, HealthProto> HEALTH =
      new EnumTable<>(PeerMessage.Health.class, HealthProto.class, "HEALTH_");
  private static final Done DONE = Done.getDefaultInstance();

  private ChunkCodec() {}

  private static List<Integer> checksums(Checksums value) {
    Integer[] values = new Integer[value.size()];
    for (int i = 0; i < values.length; i++) {
      values[i] = value.at(i);
    }
    return List.of(values);
  }

  private static Checksums checksums(List<Integer> values) {
    int[] result = new int[values.size()];
    for (int i = 0; i < result.length; i++) {
      result[i] = values.get(i);
    }
    return Checksums.owning(result);
  }

  static Envelope<FrameHeaderProto> toProto(Frame value) {
    FrameHeaderProto.Builder builder =
        FrameHeaderProto.newBuilder()
            .setFile(value.file().value())
            .setChunk(value.chunk().value())
            .setVersion(value.version())
            .setToken(value.token())
            .setSession(value.session().value())
            .setSequence(value.sequence())
            .setFloor(value.floor())
            .setAfter(value.after())
            .setKind(MUTATION_KIND.toProto(value.kind()))
            .setOffset(value.offset())
            .setSeals(value.seals())
            .addAllChecksums(checksums(value.checksums()));
    value.birth().ifPresent(birth -> builder.setBirth(ProtoCodec.toProto(birth)));
    return new Envelope<>(builder.build(), value.payload());
  }

  static Frame toModelFrame(Envelope<FrameHeaderProto> value) {
    FrameHeaderProto header = value.header();
    return new Frame(
        new FileId(header.getFile()),
        new ChunkHandle(header.getChunk()),
        header.getVersion(),
        header.getToken(),
        new SessionId(header.getSession()),
        header.getSequence(),
        header.getFloor(),
        header.getAfter(),
        MUTATION_KIND.toModel(header.getKind()),
        header.getOffset(),
        header.getSeals(),
        checksums(header.getChecksumsList()),
        value.payload(),
        header.hasBirth() ? Optional.of(ProtoCodec.toModel(header.getBirth())) : Optional.empty());
  }

  static NamedAnswerProto toProto(ChunkApi.NamedAnswer value) {
    NamedAnswerProto.Builder builder =
        NamedAnswerProto.newBuilder()
            .setChunk(value.chunk().value())
            .setSession(value.session())
            .setSequence(value.sequence());
    FrameAnswer answer = value.answer();
    if (answer instanceof FrameAnswer.Applied applied) {
      builder.setApplied(toProto(applied));
    } else if (answer instanceof FrameAnswer.NotApplied) {
      builder.setNotApplied(DONE);
    } else if (answer instanceof FrameAnswer.ChunkFull full) {
      builder.setChunkFull(
          ChunkFullProto.newBuilder()
              .setVersion(full.version())
              .setSeal(ProtoCodec.toProto(full.seal())));
    } else if (answer instanceof FrameAnswer.OutOfOrder) {
      builder.setOutOfOrder(DONE);
    } else if (answer instanceof FrameAnswer.Expired) {
      builder.setExpired(DONE);
    } else if (answer instanceof FrameAnswer.Refused refused) {
      builder.setRefused(
          RefusedProto.newBuilder()
              .setCode(ProtoCodec.toProto(refused.code()))
              .setMessage(refused.message()));
    } else {
      throw new IllegalStateException("no message for " + answer.getClass());
    }
    return builder.build();
  }

  private static AppliedProto toProto(FrameAnswer.Applied value) {
    AppliedProto.Builder builder =
        AppliedProto.newBuilder()
            .setOffset(value.offset())
            .setVersion(value.version())
            .setSerial(value.serial());
    value.seal().ifPresent(seal -> builder.setSeal(ProtoCodec.toProto(seal)));
    return builder.build();
  }

  static ChunkApi.NamedAnswer toModel(NamedAnswerProto value) {
    return new ChunkApi.NamedAnswer(
        new ChunkHandle(value.getChunk()),
        value.getSession(),
        value.getSequence(),
        toModelAnswer(value));
  }

  private static FrameAnswer toModelAnswer(NamedAnswerProto value) {
    return switch (value.getAnswerCase()) {
      case APPLIED -> toModel(value.getApplied());
      case NOT_APPLIED -> new FrameAnswer.NotApplied();
      case CHUNK_FULL ->
          new FrameAnswer.ChunkFull(
              value.getChunkFull().getVersion(),
              ProtoCodec.toModel(value.getChunkFull().getSeal()));
      case OUT_OF_ORDER -> new FrameAnswer.OutOfOrder();
      case EXPIRED -> new FrameAnswer.Expired();
      case REFUSED ->
          new FrameAnswer.Refused(
              ProtoCodec.toModel(value.getRefused().getCode()), value.getRefused().getMessage());
      case ANSWER_NOT_SET -> throw ClusterCodec.unknown("answer");
    };
  }

  private static FrameAnswer toModel(AppliedProto value) {
    return new FrameAnswer.Applied(
        value.getOffset(),
        value.getVersion(),
        value.getSerial(),
        value.hasSeal() ? Optional.of(ProtoCodec.toModel(value.getSeal())) : Optional.empty());
  }

  static ReadRequestProto toProto(ChunkApi.ReadRequest value) {
    ReadRequestProto.Builder builder =
        ReadRequestProto.newBuilder()
            .setChunk(value.chunk().value())
            .setVersion(value.version())
            .setOffset(value.offset())
            .setLengthBytes(value.lengthBytes())
            .setMode(READ_MODE.toProto(value.mode()));
    value.seal().ifPresent(seal -> builder.setSeal(ProtoCodec.toProto(seal)));
    return builder.build();
  }

  static ChunkApi.ReadRequest toModel(ReadRequestProto value) {
    return new ChunkApi.ReadRequest(
        new ChunkHandle(value.getChunk()),
        value.getVersion(),
        value.hasSeal() ? Optional.of(ProtoCodec.toModel(value.getSeal())) : Optional.empty(),
        value.getOffset(),
        value.getLengthBytes(),
        READ_MODE.toModel(value.getMode()));
  }

  private static PartProto part(long offset, Checksums checksums) {
    return PartProto.newBuilder().setOffset(offset).addAllChecksums(checksums(checksums)).build();
  }

  static Envelope<ReadHeaderProto> toProto(ChunkApi.ReadPart value) {
    return new Envelope<>(
        ReadHeaderProto.newBuilder().setPart(part(value.offset(), value.checksums())).build(),
        value.payload());
  }

  static ChunkApi.ReadPart toModelPart(PartProto part, ByteBuffer payload) {
    return new ChunkApi.ReadPart(part.getOffset(), checksums(part.getChecksumsList()), payload);
  }

  static Envelope<ReadHeaderProto> toProto(ChunkApi.ReadEnd value) {
    return Envelope.of(
        ReadHeaderProto.newBuilder()
            .setEnd(
                ReadEndProto.newBuilder()
                    .setCommittedLength(value.committedLength())
                    .setVersion(value.version())
                    .setSealed(value.sealed()))
            .build());
  }

  static ChunkApi.ReadEnd toModel(ReadEndProto value) {
    return new ChunkApi.ReadEnd(value.getCommittedLength(), value.getVersion(), value.getSealed());
  }

  static CopyRequestProto toProto(ChunkApi.CopyRequest value) {
    return CopyRequestProto.newBuilder()
        .setChunk(value.chunk().value())
        .setVersion(value.version())
        .setLearner(value.learner().value())
        .setFromSerial(value.fromSerial())
        .build();
  }

  static ChunkApi.CopyRequest toModel(CopyRequestProto value) {
    return new ChunkApi.CopyRequest(
        new ChunkHandle(value.getChunk()),
        value.getVersion(),
        new ReplicaId(value.getLearner()),
        value.getFromSerial());
  }

  static Envelope<CopyHeaderProto> toProto(ChunkApi.CopyPart value) {
    PartProto part = part(value.offset(), value.checksums());
    CopyHeaderProto.Builder builder = CopyHeaderProto.newBuilder();
    return new Envelope<>(
        (value.image() ? builder.setImage(part) : builder.setData(part)).build(), value.payload());
  }

  static ChunkApi.CopyPart toModelCopyPart(boolean image, PartProto part, ByteBuffer payload) {
    return new ChunkApi.CopyPart(
        image, part.getOffset(), checksums(part.getChecksumsList()), payload);
  }

  static Envelope<CopyHeaderProto> toProto(ChunkApi.CopyEnd value) {
    CopyEndProto.Builder builder =
        CopyEndProto.newBuilder()
            .setCommittedSerial(value.committedSerial())
            .setLengthBytes(value.lengthBytes());
    value.seal().ifPresent(seal -> builder.setSeal(ProtoCodec.toProto(seal)));
    return Envelope.of(CopyHeaderProto.newBuilder().setEnd(builder).build());
  }

  static ChunkApi.CopyEnd toModel(CopyEndProto value) {
    return new ChunkApi.CopyEnd(
        value.getCommittedSerial(),
        value.getLengthBytes(),
        value.hasSeal() ? Optional.of(ProtoCodec.toModel(value.getSeal())) : Optional.empty());
  }

  static ReplicaStatusProto toProto(ChunkApi.ReplicaStatus value) {
    return ReplicaStatusProto.newBuilder()
        .setReport(ClusterCodec.toProto(value.report()))
        .setPrimary(value.primary())
        .setLeaseLeftNanos(value.leaseLeftNanos())
        .setChecksum(value.checksum())
        .addAllBadBlocks(value.badBlocks())
        .build();
  }

  static ChunkApi.ReplicaStatus toModel(ReplicaStatusProto value) {
    return new ChunkApi.ReplicaStatus(
        ClusterCodec.toModel(value.getReport()),
        value.getPrimary(),
        value.getLeaseLeftNanos(),
        value.getChecksum(),
        List.copyOf(value.getBadBlocksList()));
  }

  private static MutationProto toProto(Mutation value) {
    return MutationProto.newBuilder()
        .setVersion(value.version())
        .setSerial(value.serial())
        .setKind(MUTATION_KIND.toProto(value.kind()))
        .setOffset(value.offset())
        .setFile(value.file().value())
        .setSession(value.session().value())
        .setSequence(value.sequence())
        .setFloor(value.floor())
        .setChunkLength(value.chunkLength())
        .setDetail(value.detail())
        .addAllChecksums(checksums(value.checksums()))
        .setPayloadBytes(value.payloadBytes())
        .build();
  }

  private static Mutation toModel(MutationProto value, ByteBuffer payload) {
    return new Mutation(
        value.getVersion(),
        value.getSerial(),
        MUTATION_KIND.toModel(value.getKind()),
        value.getOffset(),
        new FileId(value.getFile()),
        new SessionId(value.getSession()),
        value.getSequence(),
        value.getFloor(),
        value.getChunkLength(),
        value.getDetail(),
        checksums(value.getChecksumsList()),
        payload,
        value.getPayloadBytes());
  }

  static Envelope<PeerHeaderProto> introduction(
      ServerId from, Map<ServerId, ServerAddress> listening) {
    IntroductionProto.Builder builder = IntroductionProto.newBuilder().setFrom(from.name());
    new TreeMap<>(listening)
        .forEach(
            (server, address) ->
                builder.addListening(
                    PeerAddressProto.newBuilder()
                        .setServer(server.name())
                        .setAddress(ProtoCodec.toProto(address))));
    return Envelope.of(PeerHeaderProto.newBuilder().setIntroduction(builder).build());
  }

  static Map<ServerId, ServerAddress> listening(IntroductionProto value) {
    Map<ServerId, ServerAddress> result = new TreeMap<>();
    for (PeerAddressProto peer : value.getListeningList()) {
      result.put(new ServerId(peer.getServer()), ProtoCodec.toModel(peer.getAddress()));
    }
    return result;
  }

  static Envelope<PeerHeaderProto> toProto(PeerMessage value) {
    PeerHeaderProto.Builder builder = PeerHeaderProto.newBuilder();
    if (value instanceof PeerMessage.Forward forward) {
      builder.setForward(
          ForwardProto.newBuilder()
              .setSpec(ProtoCodec.toProto(forward.spec()))
              .addAllChain(each(forward.chain(), ProtoCodec::toProto))
              .setCommittedSerial(forward.committedSerial())
              .setMutation(toProto(forward.mutation())));
      return new Envelope<>(builder.build(), forward.mutation().payload());
    }
    if (value instanceof PeerMessage.Recovery recovery) {
      builder.setRecovery(
          RecoveryProto.newBuilder()
              .setChunk(recovery.chunk().value())
              .setVersion(recovery.version())
              .setSeed(recovery.seed().name())
              .setMutation(toProto(recovery.mutation())));
      return new Envelope<>(builder.build(), recovery.mutation().payload());
    }
    if (value instanceof PeerMessage.Committed committed) {
      builder.setCommitted(
          CommittedProto.newBuilder()
              .setChunk(committed.chunk().value())
              .setVersion(committed.version())
              .setSerial(committed.serial()));
    } else if (value instanceof PeerMessage.ChainProgress progress) {
      builder.setChainProgress(
          ChainProgressProto.newBuilder()
              .setChunk(progress.chunk().value())
              .setVersion(progress.version())
              .addAllMembers(each(progress.members(), ChunkCodec::toProto)));
    } else if (value instanceof PeerMessage.Reconcile reconcile) {
      builder.setReconcile(toProto(reconcile));
    } else if (value instanceof PeerMessage.Reconciled reconciled) {
      builder.setReconciled(
          ReconciledProto.newBuilder()
              .setChunk(reconciled.chunk().value())
              .setTarget(reconciled.target().name())
              .setVersion(reconciled.version())
              .setCommonSerial(reconciled.commonSerial()));
    } else if (value instanceof PeerMessage.ReconcileRefused refused) {
      builder.setReconcileRefused(
          ReconcileRefusedProto.newBuilder()
              .setChunk(refused.chunk().value())
              .setTarget(refused.target().name())
              .setVersion(refused.version())
              .setPromised(refused.promised())
              .setDamaged(refused.damaged()));
    } else if (value instanceof PeerMessage.RecoveryProgress progress) {
      builder.setRecoveryProgress(
          RecoveryProgressProto.newBuilder()
              .setChunk(progress.chunk().value())
              .setTarget(progress.target().name())
              .setVersion(progress.version())
              .setLastSerial(progress.lastSerial()));
    } else if (value instanceof PeerMessage.CommittedQuery query) {
      builder.setCommittedQuery(
          CommittedQueryProto.newBuilder()
              .setChunk(query.chunk().value())
              .setFrom(query.from().name())
              .setVersion(query.version())
              .setQueryNumber(query.queryNumber()));
    } else if (value instanceof PeerMessage.CommittedAnswer answer) {
      builder.setCommittedAnswer(
          CommittedAnswerProto.newBuilder()
              .setChunk(answer.chunk().value())
              .setVersion(answer.version())
              .setQueryNumber(answer.queryNumber())
              .setValid(answer.valid())
              .setSerial(answer.serial())
              .setLength(answer.length()));
    } else if (value instanceof PeerMessage.PromiseQuery query) {
      builder.setPromiseQuery(
          PromiseQueryProto.newBuilder()
              .setChunk(query.chunk().value())
              .setVersion(query.version())
              .setQueryNumber(query.queryNumber())
              .addAllChain(each(query.chain(), ProtoCodec::toProto)));
    } else if (value instanceof PeerMessage.PromiseAnswer answer) {
      builder.setPromiseAnswer(
          PromiseAnswerProto.newBuilder()
              .setChunk(answer.chunk().value())
              .setVersion(answer.version())
              .setQueryNumber(answer.queryNumber())
              .setStanding(answer.standing()));
    } else {
      throw new IllegalStateException("no message for " + value.getClass());
    }
    return Envelope.of(builder.build());
  }

  private static MemberProgressProto toProto(PeerMessage.MemberProgress value) {
    return MemberProgressProto.newBuilder()
        .setServer(value.server().name())
        .setLastSerial(value.lastSerial())
        .setHealth(HEALTH.toProto(value.health()))
        .build();
  }

  private static ReconcileProto toProto(PeerMessage.Reconcile value) {
    return ReconcileProto.newBuilder()
        .setSpec(ProtoCodec.toProto(value.spec()))
        .setTarget(ProtoCodec.toProto(value.target()))
        .setVersion(value.version())
        .setSeed(value.seed().name())
        .addAllHistory(
            each(
                value.history(),
                start ->
                    VersionStartProto.newBuilder()
                        .setVersion(start.version())
                        .setFirstSerial(start.firstSerial())
                        .build()))
        .setLastSerial(value.lastSerial())
        .setCommittedSerial(value.committedSerial())
        .build();
  }

  /** Of any message but an introduction. */
  static PeerMessage toModelMessage(Envelope<PeerHeaderProto> envelope) {
    PeerHeaderProto value = envelope.header();
    return switch (value.getMessageCase()) {
      case FORWARD -> toModel(value.getForward(), envelope.payload());
      case COMMITTED -> toModel(value.getCommitted());
      case CHAIN_PROGRESS -> toModel(value.getChainProgress());
      case RECONCILE -> toModel(value.getReconcile());
      case RECONCILED -> toModel(value.getReconciled());
      case RECONCILE_REFUSED -> toModel(value.getReconcileRefused());
      case RECOVERY -> toModel(value.getRecovery(), envelope.payload());
      case RECOVERY_PROGRESS -> toModel(value.getRecoveryProgress());
      case COMMITTED_QUERY -> toModel(value.getCommittedQuery());
      case COMMITTED_ANSWER -> toModel(value.getCommittedAnswer());
      case PROMISE_QUERY -> toModel(value.getPromiseQuery());
      case PROMISE_ANSWER -> toModel(value.getPromiseAnswer());
      case INTRODUCTION, MESSAGE_NOT_SET -> throw ClusterCodec.unknown("peer message");
    };
  }

  private static PeerMessage toModel(ForwardProto value, ByteBuffer payload) {
    return new PeerMessage.Forward(
        ProtoCodec.toModel(value.getSpec()),
        each(value.getChainList(), ProtoCodec::toModel),
        value.getCommittedSerial(),
        toModel(value.getMutation(), payload));
  }

  private static PeerMessage toModel(CommittedProto value) {
    return new PeerMessage.Committed(
        new ChunkHandle(value.getChunk()), value.getVersion(), value.getSerial());
  }

  private static PeerMessage toModel(ChainProgressProto value) {
    return new PeerMessage.ChainProgress(
        new ChunkHandle(value.getChunk()),
        value.getVersion(),
        each(
            value.getMembersList(),
            member ->
                new PeerMessage.MemberProgress(
                    new ServerId(member.getServer()),
                    member.getLastSerial(),
                    HEALTH.toModel(member.getHealth()))));
  }

  private static PeerMessage toModel(ReconcileProto value) {
    return new PeerMessage.Reconcile(
        ProtoCodec.toModel(value.getSpec()),
        ProtoCodec.toModel(value.getTarget()),
        value.getVersion(),
        new ServerId(value.getSeed()),
        each(
            value.getHistoryList(),
            start -> new VersionStart(start.getVersion(), start.getFirstSerial())),
        value.getLastSerial(),
        value.getCommittedSerial());
  }

  private static PeerMessage toModel(ReconciledProto value) {
    return new PeerMessage.Reconciled(
        new ChunkHandle(value.getChunk()),
        new ServerId(value.getTarget()),
        value.getVersion(),
        value.getCommonSerial());
  }

  private static PeerMessage toModel(ReconcileRefusedProto value) {
    return new PeerMessage.ReconcileRefused(
        new ChunkHandle(value.getChunk()),
        new ServerId(value.getTarget()),
        value.getVersion(),
        value.getPromised(),
        value.getDamaged());
  }

  private static PeerMessage toModel(RecoveryProto value, ByteBuffer payload) {
    return new PeerMessage.Recovery(
        new ChunkHandle(value.getChunk()),
        value.getVersion(),
        new ServerId(value.getSeed()),
        toModel(value.getMutation(), payload));
  }

  private static PeerMessage toModel(RecoveryProgressProto value) {
    return new PeerMessage.RecoveryProgress(
        new ChunkHandle(value.getChunk()),
        new ServerId(value.getTarget()),
        value.getVersion(),
        value.getLastSerial());
  }

  private static PeerMessage toModel(CommittedQueryProto value) {
    return new PeerMessage.CommittedQuery(
        new ChunkHandle(value.getChunk()),
        new ServerId(value.getFrom()),
        value.getVersion(),
        value.getQueryNumber());
  }

  private static PeerMessage toModel(CommittedAnswerProto value) {
    return new PeerMessage.CommittedAnswer(
        new ChunkHandle(value.getChunk()),
        value.getVersion(),
        value.getQueryNumber(),
        value.getValid(),
        value.getSerial(),
        value.getLength());
  }

  private static PeerMessage toModel(PromiseQueryProto value) {
    return new PeerMessage.PromiseQuery(
        new ChunkHandle(value.getChunk()),
        value.getVersion(),
        value.getQueryNumber(),
        each(value.getChainList(), ProtoCodec::toModel));
  }

  private static PeerMessage toModel(PromiseAnswerProto value) {
    return new PeerMessage.PromiseAnswer(
        new ChunkHandle(value.getChunk()),
        value.getVersion(),
        value.getQueryNumber(),
        value.getStanding());
  }
}
