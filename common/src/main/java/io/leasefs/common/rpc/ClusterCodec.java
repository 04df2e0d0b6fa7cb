package io.leasefs.common.rpc;

import static io.leasefs.common.rpc.ProtoCodec.each;

import io.leasefs.common.api.Heartbeat;
import io.leasefs.common.api.Registration;
import io.leasefs.common.error.ErrorCode;
import io.leasefs.common.error.LeaseFsException;
import io.leasefs.common.model.ChunkHandle;
import io.leasefs.common.model.DiskId;
import io.leasefs.common.model.ReplicaId;
import io.leasefs.common.model.ServerId;
import io.leasefs.common.model.SessionId;
import io.leasefs.proto.v1.CertaintyProto;
import io.leasefs.proto.v1.CloseCommandProto;
import io.leasefs.proto.v1.CommandProto;
import io.leasefs.proto.v1.CopyCommandProto;
import io.leasefs.proto.v1.DeleteCommandProto;
import io.leasefs.proto.v1.DiskReportProto;
import io.leasefs.proto.v1.FailedMemberProto;
import io.leasefs.proto.v1.HeartbeatRequest;
import io.leasefs.proto.v1.HeartbeatResponse;
import io.leasefs.proto.v1.HeartbeatStatusProto;
import io.leasefs.proto.v1.HeldLeaseProto;
import io.leasefs.proto.v1.HeldLeasesProto;
import io.leasefs.proto.v1.LeaseNameProto;
import io.leasefs.proto.v1.MemberFailureProto;
import io.leasefs.proto.v1.RecoverCommandProto;
import io.leasefs.proto.v1.RegisterRequest;
import io.leasefs.proto.v1.RegisterResponse;
import io.leasefs.proto.v1.ReplicaReportProto;
import io.leasefs.proto.v1.ReplicaStateProto;
import io.leasefs.proto.v1.SealAnswerProto;
import io.leasefs.proto.v1.SealCommandProto;
import io.leasefs.proto.v1.SettledCommandProto;
import io.leasefs.proto.v1.TargetProto;
import io.leasefs.proto.v1.VersionStartedProto;
import java.util.Optional;

/** Translates registration and heartbeats to protobuf and back. Any thread; no state. */
final class ClusterCodec {
  private static final EnumTable<Heartbeat.Certainty, CertaintyProto> CERTAINTY =
      new EnumTable<>(Heartbeat.Certainty.class, CertaintyProto.class, "CERTAINTY_");
  private static final EnumTable<Heartbeat.ReplicaState, ReplicaStateProto> REPLICA_STATE =
      new EnumTable<>(Heartbeat.ReplicaState.class, ReplicaStateProto.class, "REPLICA_STATE_");
  private static final EnumTable<Heartbeat.Status, HeartbeatStatusProto> STATUS =
      new EnumTable<>(Heartbeat.Status.class, HeartbeatStatusProto.class, "HEARTBEAT_STATUS_");

  private ClusterCodec() {}

  static RegisterRequest toProto(Registration.Request value) {
    return RegisterRequest.newBuilder()
        .setClusterId(value.clusterId())
        .setServer(value.server().name())
        .setEndpoints(ProtoCodec.toProto(value.endpoints()))
        .setRack(value.rack())
        .setIncarnation(value.incarnation())
        .setNonce(value.nonce())
        .setBootId(value.bootId())
        .addAllDisks(each(value.disks(), DiskId::text))
        .setHighestTerm(value.highestTerm())
        .setHighestOrdinal(value.highestOrdinal())
        .build();
  }

  static Registration.Request toModel(RegisterRequest value) {
    return new Registration.Request(
        value.getClusterId(),
        new ServerId(value.getServer()),
        ProtoCodec.toModel(value.getEndpoints()),
        value.getRack(),
        value.getIncarnation(),
        value.getNonce(),
        value.getBootId(),
        each(value.getDisksList(), DiskId::new),
        value.getHighestTerm(),
        value.getHighestOrdinal());
  }

  static RegisterResponse toProto(Registration.Response value) {
    return RegisterResponse.newBuilder()
        .setClusterId(value.clusterId())
        .setGeneration(value.generation())
        .setSession(value.session().value())
        .setTerm(value.term())
        .setTtlNanos(value.ttlNanos())
        .setHeartbeatNanos(value.heartbeatNanos())
        .setRpcTimeoutNanos(value.rpcTimeoutNanos())
        .setDriftPpm(value.driftPpm())
        .setReadingErrorNanos(value.readingErrorNanos())
        .setGuardNanos(value.guardNanos())
        .setStallNanos(value.stallNanos())
        .build();
  }

  static Registration.Response toModel(RegisterResponse value) {
    return new Registration.Response(
        value.getClusterId(),
        value.getGeneration(),
        new SessionId(value.getSession()),
        value.getTerm(),
        value.getTtlNanos(),
        value.getHeartbeatNanos(),
        value.getRpcTimeoutNanos(),
        value.getDriftPpm(),
        value.getReadingErrorNanos(),
        value.getGuardNanos(),
        value.getStallNanos());
  }

  static HeartbeatRequest toProto(Heartbeat.Request value) {
    HeartbeatRequest.Builder builder =
        HeartbeatRequest.newBuilder()
            .setClusterId(value.clusterId())
            .setServer(value.server().name())
            .setIncarnation(value.incarnation())
            .setSequence(value.sequence())
            .setHighestTerm(value.highestTerm())
            .setSession(value.session().value())
            .setHeldDigest(value.heldDigest())
            .addAllReleased(each(value.released(), ClusterCodec::toProto))
            .addAllRevocationsAcknowledged(
                each(value.revocationsAcknowledged(), ClusterCodec::toProto))
            .addAllSealAnswers(each(value.sealAnswers(), ClusterCodec::toProto))
            .addAllVersionStarts(each(value.versionStarts(), ClusterCodec::toProto))
            .addAllFailedMembers(each(value.failedMembers(), ClusterCodec::toProto))
            .setFullReport(value.fullReport())
            .addAllReplicas(each(value.replicas(), ClusterCodec::toProto))
            .addAllReplicasGone(each(value.replicasGone(), ChunkHandle::value))
            .addAllDisks(each(value.disks(), ClusterCodec::toProto))
            .setOpenChunks(value.openChunks())
            .setPausesSeen(value.pausesSeen())
            .setHighestOrdinal(value.highestOrdinal());
    value
        .heldInFull()
        .ifPresent(
            held ->
                builder.setHeldInFull(
                    HeldLeasesProto.newBuilder().addAllLeases(each(held, ClusterCodec::toProto))));
    return builder.build();
  }

  static Heartbeat.Request toModel(HeartbeatRequest value) {
    return new Heartbeat.Request(
        value.getClusterId(),
        new ServerId(value.getServer()),
        value.getIncarnation(),
        value.getSequence(),
        value.getHighestTerm(),
        new SessionId(value.getSession()),
        value.getHeldDigest(),
        value.hasHeldInFull()
            ? Optional.of(each(value.getHeldInFull().getLeasesList(), ClusterCodec::toModel))
            : Optional.empty(),
        each(value.getReleasedList(), ClusterCodec::toModel),
        each(value.getRevocationsAcknowledgedList(), ClusterCodec::toModel),
        each(value.getSealAnswersList(), ClusterCodec::toModel),
        each(value.getVersionStartsList(), ClusterCodec::toModel),
        each(value.getFailedMembersList(), ClusterCodec::toModel),
        value.getFullReport(),
        each(value.getReplicasList(), ClusterCodec::toModel),
        each(value.getReplicasGoneList(), ChunkHandle::new),
        each(value.getDisksList(), ClusterCodec::toModel),
        value.getOpenChunks(),
        value.getPausesSeen(),
        value.getHighestOrdinal());
  }

  static HeldLeaseProto toProto(Heartbeat.HeldLease value) {
    return HeldLeaseProto.newBuilder()
        .setChunk(value.chunk().value())
        .setVersion(value.version())
        .setToken(value.token())
        .build();
  }

  static Heartbeat.HeldLease toModel(HeldLeaseProto value) {
    return new Heartbeat.HeldLease(
        new ChunkHandle(value.getChunk()), value.getVersion(), value.getToken());
  }

  static LeaseNameProto toProto(Heartbeat.LeaseName value) {
    return LeaseNameProto.newBuilder()
        .setChunk(value.chunk().value())
        .setVersion(value.version())
        .build();
  }

  static Heartbeat.LeaseName toModel(LeaseNameProto value) {
    return new Heartbeat.LeaseName(new ChunkHandle(value.getChunk()), value.getVersion());
  }

  static SealAnswerProto toProto(Heartbeat.SealAnswer value) {
    return SealAnswerProto.newBuilder()
        .setChunk(value.chunk().value())
        .setReplica(value.replica().value())
        .setVersion(value.version())
        .setPromised(value.promised())
        .setAccepted(value.accepted())
        .setLastSerial(value.lastSerial())
        .setCommittedSerial(value.committedSerial())
        .setLengthBytes(value.lengthBytes())
        .setEndsInSeal(value.endsInSeal())
        .setOverwritesAboveCommitted(value.overwritesAboveCommitted())
        .setCertainty(CERTAINTY.toProto(value.certainty()))
        .build();
  }

  static Heartbeat.SealAnswer toModel(SealAnswerProto value) {
    return new Heartbeat.SealAnswer(
        new ChunkHandle(value.getChunk()),
        new ReplicaId(value.getReplica()),
        value.getVersion(),
        value.getPromised(),
        value.getAccepted(),
        value.getLastSerial(),
        value.getCommittedSerial(),
        value.getLengthBytes(),
        value.getEndsInSeal(),
        value.getOverwritesAboveCommitted(),
        CERTAINTY.toModel(value.getCertainty()));
  }

  static VersionStartedProto toProto(Heartbeat.VersionStarted value) {
    VersionStartedProto.Builder builder =
        VersionStartedProto.newBuilder()
            .setChunk(value.chunk().value())
            .setReplica(value.replica().value())
            .setVersion(value.version())
            .setSeed(value.seed().name())
            .setFirstSerial(value.firstSerial())
            .setLengthBytes(value.lengthBytes());
    value.seal().ifPresent(seal -> builder.setSeal(ProtoCodec.toProto(seal)));
    return builder.build();
  }

  static Heartbeat.VersionStarted toModel(VersionStartedProto value) {
    return new Heartbeat.VersionStarted(
        new ChunkHandle(value.getChunk()),
        new ReplicaId(value.getReplica()),
        value.getVersion(),
        new ServerId(value.getSeed()),
        value.getFirstSerial(),
        value.getLengthBytes(),
        value.hasSeal() ? Optional.of(ProtoCodec.toModel(value.getSeal())) : Optional.empty());
  }

  static FailedMemberProto toProto(Heartbeat.FailedMember value) {
    return FailedMemberProto.newBuilder()
        .setChunk(value.chunk().value())
        .setVersion(value.version())
        .setMember(value.member().name())
        .setWhy(value.why())
        .setFailure(
            switch (value.failure()) {
              case UNREACHABLE -> MemberFailureProto.MEMBER_FAILURE_UNREACHABLE;
              case NEEDS_COPY -> MemberFailureProto.MEMBER_FAILURE_NEEDS_COPY;
            })
        .build();
  }

  /** A server of an older version names no failure, a newer one perhaps one that is not known. */
  static Heartbeat.FailedMember toModel(FailedMemberProto value) {
    return new Heartbeat.FailedMember(
        new ChunkHandle(value.getChunk()),
        value.getVersion(),
        new ServerId(value.getMember()),
        value.getFailure() == MemberFailureProto.MEMBER_FAILURE_NEEDS_COPY
            ? Heartbeat.MemberFailure.NEEDS_COPY
            : Heartbeat.MemberFailure.UNREACHABLE,
        value.getWhy());
  }

  static ReplicaStateProto toProto(Heartbeat.ReplicaState value) {
    return REPLICA_STATE.toProto(value);
  }

  static Heartbeat.ReplicaState toModel(ReplicaStateProto value) {
    return REPLICA_STATE.toModel(value);
  }

  static ReplicaReportProto toProto(Heartbeat.ReplicaReport value) {
    ReplicaReportProto.Builder builder =
        ReplicaReportProto.newBuilder()
            .setSpec(ProtoCodec.toProto(value.spec()))
            .setReplica(value.replica().value())
            .setDisk(value.disk().text())
            .setState(toProto(value.state()))
            .setPromised(value.promised())
            .setAccepted(value.accepted())
            .setLastSerial(value.lastSerial())
            .setCommittedSerial(value.committedSerial())
            .setLengthBytes(value.lengthBytes());
    value.seal().ifPresent(seal -> builder.setSeal(ProtoCodec.toProto(seal)));
    return builder.build();
  }

  static Heartbeat.ReplicaReport toModel(ReplicaReportProto value) {
    return new Heartbeat.ReplicaReport(
        ProtoCodec.toModel(value.getSpec()),
        new ReplicaId(value.getReplica()),
        new DiskId(value.getDisk()),
        toModel(value.getState()),
        value.getPromised(),
        value.getAccepted(),
        value.getLastSerial(),
        value.getCommittedSerial(),
        value.getLengthBytes(),
        value.hasSeal() ? Optional.of(ProtoCodec.toModel(value.getSeal())) : Optional.empty());
  }

  static DiskReportProto toProto(Heartbeat.DiskReport value) {
    return DiskReportProto.newBuilder()
        .setDisk(value.disk().text())
        .setFreeBytes(value.freeBytes())
        .setTotalBytes(value.totalBytes())
        .setFull(value.full())
        .setStalled(value.stalled())
        .build();
  }

  static Heartbeat.DiskReport toModel(DiskReportProto value) {
    return new Heartbeat.DiskReport(
        new DiskId(value.getDisk()),
        value.getFreeBytes(),
        value.getTotalBytes(),
        value.getFull(),
        value.getStalled());
  }

  static HeartbeatResponse toProto(Heartbeat.Response value) {
    HeartbeatResponse.Builder builder =
        HeartbeatResponse.newBuilder()
            .setClusterId(value.clusterId())
            .setTerm(value.term())
            .setLeader(value.leader().name())
            .setNumber(value.number())
            .setAnswersSequence(value.answersSequence())
            .setStatus(STATUS.toProto(value.status()))
            .setTtlNanos(value.ttlNanos())
            .addAllGrants(each(value.grants(), ProtoCodec::toProto))
            .addAllRevocations(each(value.revocations(), ClusterCodec::toProto))
            .addAllCommands(each(value.commands(), ClusterCodec::toProto))
            .setDeadWatermark(value.deadWatermark())
            .addAllDeadExceptions(each(value.deadExceptions(), SessionId::value))
            .setAppliedOrdinal(value.appliedOrdinal());
    value.leaderHint().ifPresent(hint -> builder.setLeaderHint(ProtoCodec.toProto(hint)));
    return builder.build();
  }

  static Heartbeat.Response toModel(HeartbeatResponse value) {
    return new Heartbeat.Response(
        value.getClusterId(),
        value.getTerm(),
        new ServerId(value.getLeader()),
        value.getNumber(),
        value.getAnswersSequence(),
        STATUS.toModel(value.getStatus()),
        value.hasLeaderHint()
            ? Optional.of(ProtoCodec.toModel(value.getLeaderHint()))
            : Optional.empty(),
        value.getTtlNanos(),
        each(value.getGrantsList(), ProtoCodec::toModel),
        each(value.getRevocationsList(), ClusterCodec::toModel),
        each(value.getCommandsList(), ClusterCodec::toModel),
        value.getDeadWatermark(),
        each(value.getDeadExceptionsList(), SessionId::new),
        value.getAppliedOrdinal());
  }

  static CommandProto toProto(Heartbeat.Command value) {
    CommandProto.Builder builder = CommandProto.newBuilder();
    if (value instanceof Heartbeat.SealCommand seal) {
      builder.setSeal(toProto(seal));
    } else if (value instanceof Heartbeat.RecoverCommand recover) {
      builder.setRecover(toProto(recover));
    } else if (value instanceof Heartbeat.CopyCommand copy) {
      builder.setCopy(toProto(copy));
    } else if (value instanceof Heartbeat.DeleteCommand delete) {
      builder.setDelete(
          DeleteCommandProto.newBuilder()
              .setChunk(delete.chunk().value())
              .setReplica(delete.replica().value())
              .setHighestVersion(delete.highestVersion()));
    } else if (value instanceof Heartbeat.CloseCommand close) {
      builder.setClose(
          CloseCommandProto.newBuilder()
              .setChunk(close.chunk().value())
              .setVersion(close.version()));
    } else if (value instanceof Heartbeat.SettledCommand settled) {
      builder.setSettled(
          SettledCommandProto.newBuilder()
              .setChunk(settled.chunk().value())
              .setVersion(settled.version())
              .setSerial(settled.serial()));
    } else {
      throw new IllegalStateException("no message for " + value.getClass());
    }
    return builder.build();
  }

  private static SealCommandProto toProto(Heartbeat.SealCommand value) {
    SealCommandProto.Builder builder =
        SealCommandProto.newBuilder()
            .setSpec(ProtoCodec.toProto(value.spec()))
            .setMember(ProtoCodec.toProto(value.member()))
            .setVersion(value.version());
    value.birth().ifPresent(birth -> builder.setBirth(ProtoCodec.toProto(birth)));
    return builder.build();
  }

  private static RecoverCommandProto toProto(Heartbeat.RecoverCommand value) {
    return RecoverCommandProto.newBuilder()
        .setSpec(ProtoCodec.toProto(value.spec()))
        .setVersion(value.version())
        .addAllTargets(
            each(
                value.targets(),
                target ->
                    TargetProto.newBuilder()
                        .setMember(ProtoCodec.toProto(target.member()))
                        .setAddress(ProtoCodec.toProto(target.address()))
                        .build()))
        .setSeal(value.seal())
        .setReopen(value.reopen())
        .setFenceFloor(value.fenceFloor())
        .build();
  }

  private static CopyCommandProto toProto(Heartbeat.CopyCommand value) {
    CopyCommandProto.Builder builder =
        CopyCommandProto.newBuilder()
            .setSpec(ProtoCodec.toProto(value.spec()))
            .setLearner(ProtoCodec.toProto(value.learner()))
            .setVersion(value.version())
            .setSource(ProtoCodec.toProto(value.source()))
            .setSourceAddress(ProtoCodec.toProto(value.sourceAddress()));
    value.seal().ifPresent(seal -> builder.setSeal(ProtoCodec.toProto(seal)));
    return builder.build();
  }

  static Heartbeat.Command toModel(CommandProto value) {
    return switch (value.getCommandCase()) {
      case SEAL -> toModel(value.getSeal());
      case RECOVER -> toModel(value.getRecover());
      case COPY -> toModel(value.getCopy());
      case DELETE ->
          new Heartbeat.DeleteCommand(
              new ChunkHandle(value.getDelete().getChunk()),
              new ReplicaId(value.getDelete().getReplica()),
              value.getDelete().getHighestVersion());
      case CLOSE ->
          new Heartbeat.CloseCommand(
              new ChunkHandle(value.getClose().getChunk()), value.getClose().getVersion());
      case SETTLED ->
          new Heartbeat.SettledCommand(
              new ChunkHandle(value.getSettled().getChunk()),
              value.getSettled().getVersion(),
              value.getSettled().getSerial());
      case COMMAND_NOT_SET -> throw unknown("command");
    };
  }

  private static Heartbeat.SealCommand toModel(SealCommandProto value) {
    return new Heartbeat.SealCommand(
        ProtoCodec.toModel(value.getSpec()),
        ProtoCodec.toModel(value.getMember()),
        value.getVersion(),
        value.hasBirth() ? Optional.of(ProtoCodec.toModel(value.getBirth())) : Optional.empty());
  }

  private static Heartbeat.RecoverCommand toModel(RecoverCommandProto value) {
    return new Heartbeat.RecoverCommand(
        ProtoCodec.toModel(value.getSpec()),
        value.getVersion(),
        each(
            value.getTargetsList(),
            target ->
                new Heartbeat.Target(
                    ProtoCodec.toModel(target.getMember()),
                    ProtoCodec.toModel(target.getAddress()))),
        value.getSeal(),
        value.getReopen(),
        value.getFenceFloor());
  }

  private static Heartbeat.CopyCommand toModel(CopyCommandProto value) {
    return new Heartbeat.CopyCommand(
        ProtoCodec.toModel(value.getSpec()),
        ProtoCodec.toModel(value.getLearner()),
        value.getVersion(),
        ProtoCodec.toModel(value.getSource()),
        ProtoCodec.toModel(value.getSourceAddress()),
        value.hasSeal() ? Optional.of(ProtoCodec.toModel(value.getSeal())) : Optional.empty());
  }

  /** A message of a newer version, or a broken one. */
  static LeaseFsException unknown(String what) {
    return new LeaseFsException(
        ErrorCode.INVALID_ARGUMENT,
        "unknown or missing " + what + " in a message",
        "client and servers must run versions that go together");
  }
}
