package io.leasefs.master.log;

import com.google.protobuf.InvalidProtocolBufferException;
import io.leasefs.common.error.ErrorCode;
import io.leasefs.common.error.LeaseFsException;
import io.leasefs.common.model.ChunkHandle;
import io.leasefs.common.model.DiskId;
import io.leasefs.common.model.FileId;
import io.leasefs.common.model.FilePath;
import io.leasefs.common.model.ReplicaId;
import io.leasefs.common.model.RequestId;
import io.leasefs.common.model.SealedChunk;
import io.leasefs.common.model.ServerId;
import io.leasefs.common.model.SessionId;
import io.leasefs.common.rpc.ProtoCodec;
import io.leasefs.master.log.Operation.ChangeReason;
import io.leasefs.master.log.Operation.ClientCall;
import io.leasefs.master.log.Operation.LeaseId;
import io.leasefs.master.log.Operation.Participant;
import io.leasefs.master.log.Operation.Placement;
import io.leasefs.master.log.Operation.Seed;
import io.leasefs.proto.v1.OperationProto;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.function.Function;

/**
 * Operations as the bytes of the log ({@code log.proto}). What cannot be read is an error that must
 * stop the process: skipping it would let two masters differ.
 */
public final class OperationCodec {
  private static final String REASON = "CHANGE_REASON_";

  private OperationCodec() {}

  public static byte[] encode(Operation operation) {
    return toProto(operation).toByteArray();
  }

  /** Throws CORRUPT where this is no operation that this version knows. */
  public static Operation decode(byte[] bytes) {
    try {
      return toModel(OperationProto.parseFrom(bytes));
    } catch (InvalidProtocolBufferException | IllegalArgumentException e) {
      throw new LeaseFsException(ErrorCode.CORRUPT, "not an operation: " + e.getMessage(), null, e);
    }
  }

  private static OperationProto toProto(Operation operation) {
    OperationProto.Builder to = OperationProto.newBuilder();
    return switch (operation) {
      case Operation.FoundCluster o -> to.setFoundCluster(toProto(o)).build();
      case Operation.RaiseGeneration o -> to.setRaiseGeneration(toProto(o)).build();
      case Operation.RegisterServer o -> to.setRegisterServer(toProto(o)).build();
      case Operation.DrainServer o -> to.setDrainServer(toProto(o)).build();
      case Operation.RemoveServer o -> to.setRemoveServer(toProto(o)).build();
      case Operation.EndSessions o -> to.setEndSessions(toProto(o)).build();
      case Operation.ForgetClients o -> to.setForgetClients(toProto(o)).build();
      case Operation.CreateFile o -> to.setCreateFile(toProto(o)).build();
      case Operation.OpenForWrite o -> to.setOpenForWrite(toProto(o)).build();
      case Operation.AddChunk o -> to.setAddChunk(toProto(o)).build();
      case Operation.CloseFile o -> to.setCloseFile(toProto(o)).build();
      case Operation.Mkdir o -> to.setMkdir(toProto(o)).build();
      case Operation.Rename o -> to.setRename(toProto(o)).build();
      case Operation.Delete o -> to.setDelete(toProto(o)).build();
      case Operation.Restore o -> to.setRestore(toProto(o)).build();
      case Operation.SetAttributes o -> to.setSetAttributes(toProto(o)).build();
      case Operation.EmptyTrash o -> to.setEmptyTrash(toProto(o)).build();
      case Operation.PurgeFiles o -> to.setPurgeFiles(toProto(o)).build();
      case Operation.BeginChange o -> to.setBeginChange(toProto(o)).build();
      case Operation.RecoverChange o -> to.setRecoverChange(toProto(o)).build();
      case Operation.Activate o -> to.setActivate(toProto(o)).build();
      case Operation.SealChunk o -> to.setSealChunk(toProto(o)).build();
      case Operation.AbandonChange o -> to.setAbandonChange(toProto(o)).build();
      case Operation.RevokeLease o -> to.setRevokeLease(toProto(o)).build();
      case Operation.EndLeases o -> to.setEndLeases(toProto(o)).build();
      case Operation.ExpireRevocation o -> to.setExpireRevocation(toProto(o)).build();
      case Operation.OrderReplica o -> to.setOrderReplica(toProto(o)).build();
      case Operation.JoinReplica o -> to.setJoinReplica(toProto(o)).build();
      case Operation.RemoveReplica o -> to.setRemoveReplica(toProto(o)).build();
      case Operation.Barrier o ->
          to.setBarrier(OperationProto.Barrier.getDefaultInstance()).build();
    };
  }

  private static Operation toModel(OperationProto from) {
    return switch (from.getOperationCase()) {
      case FOUND_CLUSTER -> toModel(from.getFoundCluster());
      case RAISE_GENERATION -> toModel(from.getRaiseGeneration());
      case REGISTER_SERVER -> toModel(from.getRegisterServer());
      case DRAIN_SERVER -> toModel(from.getDrainServer());
      case REMOVE_SERVER -> toModel(from.getRemoveServer());
      case END_SESSIONS -> toModel(from.getEndSessions());
      case FORGET_CLIENTS -> toModel(from.getForgetClients());
      case CREATE_FILE -> toModel(from.getCreateFile());
      case OPEN_FOR_WRITE -> toModel(from.getOpenForWrite());
      case ADD_CHUNK -> toModel(from.getAddChunk());
      case CLOSE_FILE -> toModel(from.getCloseFile());
      case MKDIR -> toModel(from.getMkdir());
      case RENAME -> toModel(from.getRename());
      case DELETE -> toModel(from.getDelete());
      case RESTORE -> toModel(from.getRestore());
      case SET_ATTRIBUTES -> toModel(from.getSetAttributes());
      case EMPTY_TRASH -> toModel(from.getEmptyTrash());
      case PURGE_FILES -> toModel(from.getPurgeFiles());
      case BEGIN_CHANGE -> toModel(from.getBeginChange());
      case RECOVER_CHANGE -> toModel(from.getRecoverChange());
      case ACTIVATE -> toModel(from.getActivate());
      case SEAL_CHUNK -> toModel(from.getSealChunk());
      case ABANDON_CHANGE -> toModel(from.getAbandonChange());
      case REVOKE_LEASE -> toModel(from.getRevokeLease());
      case END_LEASES -> toModel(from.getEndLeases());
      case EXPIRE_REVOCATION -> toModel(from.getExpireRevocation());
      case ORDER_REPLICA -> toModel(from.getOrderReplica());
      case JOIN_REPLICA -> toModel(from.getJoinReplica());
      case REMOVE_REPLICA -> toModel(from.getRemoveReplica());
      case BARRIER -> new Operation.Barrier();
      case OPERATION_NOT_SET ->
          throw new IllegalArgumentException("of a kind that this version does not know");
    };
  }

  private static OperationProto.FoundCluster toProto(Operation.FoundCluster o) {
    return OperationProto.FoundCluster.newBuilder()
        .setClusterId(o.clusterId())
        .setWallMillis(o.wallMillis())
        .build();
  }

  private static Operation toModel(OperationProto.FoundCluster from) {
    return new Operation.FoundCluster(from.getClusterId(), from.getWallMillis());
  }

  private static OperationProto.RaiseGeneration toProto(Operation.RaiseGeneration o) {
    return OperationProto.RaiseGeneration.newBuilder().setGeneration(o.generation()).build();
  }

  private static Operation toModel(OperationProto.RaiseGeneration from) {
    return new Operation.RaiseGeneration(from.getGeneration());
  }

  private static OperationProto.RegisterServer toProto(Operation.RegisterServer o) {
    return OperationProto.RegisterServer.newBuilder()
        .setServer(o.server().name())
        .setEndpoints(ProtoCodec.toProto(o.endpoints()))
        .setRack(o.rack())
        .setIncarnation(o.incarnation())
        .setNonce(o.nonce())
        .setBootId(o.bootId())
        .setTtlNanos(o.ttlNanos())
        .addAllDisks(each(o.disks(), DiskId::text))
        .setWallMillis(o.wallMillis())
        .build();
  }

  private static Operation toModel(OperationProto.RegisterServer from) {
    return new Operation.RegisterServer(
        new ServerId(from.getServer()),
        ProtoCodec.toModel(from.getEndpoints()),
        from.getRack(),
        from.getIncarnation(),
        from.getNonce(),
        from.getBootId(),
        from.getTtlNanos(),
        each(from.getDisksList(), DiskId::new),
        from.getWallMillis());
  }

  private static OperationProto.DrainServer toProto(Operation.DrainServer o) {
    return OperationProto.DrainServer.newBuilder()
        .setServer(o.server().name())
        .setUndo(o.undo())
        .build();
  }

  private static Operation toModel(OperationProto.DrainServer from) {
    return new Operation.DrainServer(new ServerId(from.getServer()), from.getUndo());
  }

  private static OperationProto.RemoveServer toProto(Operation.RemoveServer o) {
    return OperationProto.RemoveServer.newBuilder().setServer(o.server().name()).build();
  }

  private static Operation toModel(OperationProto.RemoveServer from) {
    return new Operation.RemoveServer(new ServerId(from.getServer()));
  }

  private static OperationProto.EndSessions toProto(Operation.EndSessions o) {
    return OperationProto.EndSessions.newBuilder()
        .setTerm(o.term())
        .addAllSessions(each(o.sessions(), SessionId::value))
        .setWallMillis(o.wallMillis())
        .build();
  }

  private static Operation toModel(OperationProto.EndSessions from) {
    return new Operation.EndSessions(
        from.getTerm(), each(from.getSessionsList(), SessionId::new), from.getWallMillis());
  }

  private static OperationProto.ForgetClients toProto(Operation.ForgetClients o) {
    return OperationProto.ForgetClients.newBuilder()
        .setTerm(o.term())
        .setEndedThrough(o.endedThrough())
        .build();
  }

  private static Operation toModel(OperationProto.ForgetClients from) {
    return new Operation.ForgetClients(from.getTerm(), from.getEndedThrough());
  }

  private static OperationProto.CreateFile toProto(Operation.CreateFile o) {
    return OperationProto.CreateFile.newBuilder()
        .setCall(toProto(o.call()))
        .setPath(o.path().text())
        .setParents(o.parents())
        .setReplication(o.replication())
        .setChunkBytes(o.chunkBytes())
        .setDurability(ProtoCodec.toProto(o.durability()))
        .setMode(o.mode())
        .addAllFirstChunk(each(o.firstChunk(), OperationCodec::toProto))
        .setWallMillis(o.wallMillis())
        .setTerm(o.term())
        .build();
  }

  private static Operation toModel(OperationProto.CreateFile from) {
    return new Operation.CreateFile(
        toModel(from.getCall()),
        new FilePath(from.getPath()),
        from.getParents(),
        from.getReplication(),
        from.getChunkBytes(),
        ProtoCodec.toModel(from.getDurability()),
        from.getMode(),
        each(from.getFirstChunkList(), OperationCodec::toModel),
        from.getWallMillis(),
        from.getTerm());
  }

  private static OperationProto.OpenForWrite toProto(Operation.OpenForWrite o) {
    return OperationProto.OpenForWrite.newBuilder()
        .setCall(toProto(o.call()))
        .setPath(o.path().text())
        .setToken(o.token())
        .setWallMillis(o.wallMillis())
        .build();
  }

  private static Operation toModel(OperationProto.OpenForWrite from) {
    return new Operation.OpenForWrite(
        toModel(from.getCall()),
        new FilePath(from.getPath()),
        from.getToken(),
        from.getWallMillis());
  }

  private static OperationProto.AddChunk toProto(Operation.AddChunk o) {
    OperationProto.AddChunk.Builder to =
        OperationProto.AddChunk.newBuilder()
            .setCall(toProto(o.call()))
            .setFile(o.file().value())
            .setAfterIndex(o.afterIndex())
            .addAllPlacements(each(o.placements(), OperationCodec::toProto))
            .setWallMillis(o.wallMillis());
    o.seal().ifPresent(seal -> to.setSeal(ProtoCodec.toProto(seal)));
    return to.build();
  }

  private static Operation toModel(OperationProto.AddChunk from) {
    return new Operation.AddChunk(
        toModel(from.getCall()),
        new FileId(from.getFile()),
        from.getAfterIndex(),
        from.hasSeal() ? Optional.of(ProtoCodec.toModel(from.getSeal())) : Optional.empty(),
        each(from.getPlacementsList(), OperationCodec::toModel),
        from.getWallMillis());
  }

  private static OperationProto.CloseFile toProto(Operation.CloseFile o) {
    OperationProto.CloseFile.Builder to =
        OperationProto.CloseFile.newBuilder()
            .setCall(toProto(o.call()))
            .setFile(o.file().value())
            .setOpenNumber(o.openNumber())
            .setEndSession(o.endSession())
            .setWallMillis(o.wallMillis());
    o.sealed()
        .ifPresent(
            it -> to.setSealedChunk(it.chunk().value()).setSeal(ProtoCodec.toProto(it.seal())));
    o.publication().ifPresent(it -> to.setPublication(ProtoCodec.toProto(it)));
    return to.build();
  }

  private static Operation toModel(OperationProto.CloseFile from) {
    return new Operation.CloseFile(
        toModel(from.getCall()),
        new FileId(from.getFile()),
        from.getOpenNumber(),
        from.hasSeal()
            ? Optional.of(
                new SealedChunk(
                    new ChunkHandle(from.getSealedChunk()), ProtoCodec.toModel(from.getSeal())))
            : Optional.empty(),
        from.hasPublication()
            ? Optional.of(ProtoCodec.toModel(from.getPublication()))
            : Optional.empty(),
        from.getEndSession(),
        from.getWallMillis());
  }

  private static OperationProto.Mkdir toProto(Operation.Mkdir o) {
    return OperationProto.Mkdir.newBuilder()
        .setCall(toProto(o.call()))
        .setPath(o.path().text())
        .setParents(o.parents())
        .setMode(o.mode())
        .setWallMillis(o.wallMillis())
        .build();
  }

  private static Operation toModel(OperationProto.Mkdir from) {
    return new Operation.Mkdir(
        toModel(from.getCall()),
        new FilePath(from.getPath()),
        from.getParents(),
        from.getMode(),
        from.getWallMillis());
  }

  private static OperationProto.Rename toProto(Operation.Rename o) {
    return OperationProto.Rename.newBuilder()
        .setCall(toProto(o.call()))
        .setFrom(o.from().text())
        .setTo(o.to().text())
        .setReplace(o.replace())
        .setWallMillis(o.wallMillis())
        .build();
  }

  private static Operation toModel(OperationProto.Rename from) {
    return new Operation.Rename(
        toModel(from.getCall()),
        new FilePath(from.getFrom()),
        new FilePath(from.getTo()),
        from.getReplace(),
        from.getWallMillis());
  }

  private static OperationProto.Delete toProto(Operation.Delete o) {
    return OperationProto.Delete.newBuilder()
        .setCall(toProto(o.call()))
        .setPath(o.path().text())
        .setRecursive(o.recursive())
        .setSkipTrash(o.skipTrash())
        .setWallMillis(o.wallMillis())
        .build();
  }

  private static Operation toModel(OperationProto.Delete from) {
    return new Operation.Delete(
        toModel(from.getCall()),
        new FilePath(from.getPath()),
        from.getRecursive(),
        from.getSkipTrash(),
        from.getWallMillis());
  }

  private static OperationProto.Restore toProto(Operation.Restore o) {
    return OperationProto.Restore.newBuilder()
        .setCall(toProto(o.call()))
        .setPath(o.path().text())
        .setWallMillis(o.wallMillis())
        .build();
  }

  private static Operation toModel(OperationProto.Restore from) {
    return new Operation.Restore(
        toModel(from.getCall()), new FilePath(from.getPath()), from.getWallMillis());
  }

  private static OperationProto.SetAttributes toProto(Operation.SetAttributes o) {
    OperationProto.SetAttributes.Builder to =
        OperationProto.SetAttributes.newBuilder()
            .setCall(toProto(o.call()))
            .setPath(o.path().text())
            .setWallMillis(o.wallMillis());
    o.replication().ifPresent(to::setReplication);
    o.mode().ifPresent(to::setMode);
    o.modifiedMillis().ifPresent(to::setModifiedMillis);
    return to.build();
  }

  private static Operation toModel(OperationProto.SetAttributes from) {
    return new Operation.SetAttributes(
        toModel(from.getCall()),
        new FilePath(from.getPath()),
        from.hasReplication() ? Optional.of(from.getReplication()) : Optional.empty(),
        from.hasMode() ? Optional.of(from.getMode()) : Optional.empty(),
        from.hasModifiedMillis() ? Optional.of(from.getModifiedMillis()) : Optional.empty(),
        from.getWallMillis());
  }

  private static OperationProto.EmptyTrash toProto(Operation.EmptyTrash o) {
    OperationProto.EmptyTrash.Builder to =
        OperationProto.EmptyTrash.newBuilder().setDeletedBeforeMillis(o.deletedBeforeMillis());
    o.call().ifPresent(call -> to.setCall(toProto(call)));
    return to.build();
  }

  private static Operation toModel(OperationProto.EmptyTrash from) {
    return new Operation.EmptyTrash(
        from.hasCall() ? Optional.of(toModel(from.getCall())) : Optional.empty(),
        from.getDeletedBeforeMillis());
  }

  private static OperationProto.PurgeFiles toProto(Operation.PurgeFiles o) {
    return OperationProto.PurgeFiles.newBuilder()
        .addAllFiles(each(o.files(), FileId::value))
        .build();
  }

  private static Operation toModel(OperationProto.PurgeFiles from) {
    return new Operation.PurgeFiles(each(from.getFilesList(), FileId::new));
  }

  private static OperationProto.BeginChange toProto(Operation.BeginChange o) {
    OperationProto.BeginChange.Builder to =
        OperationProto.BeginChange.newBuilder()
            .setChunk(o.chunk().value())
            .setVersion(o.version())
            .setReason(OperationProto.ChangeReason.valueOf(REASON + o.reason().name()))
            .setRevoke(o.revoke())
            .setSeal(o.seal());
    o.seed().ifPresent(seed -> to.setSeed(toProto(seed)));
    return to.build();
  }

  private static Operation toModel(OperationProto.BeginChange from) {
    return new Operation.BeginChange(
        new ChunkHandle(from.getChunk()),
        from.getVersion(),
        reason(from.getReason()),
        from.getRevoke(),
        from.getSeal(),
        from.hasSeed() ? Optional.of(toModel(from.getSeed())) : Optional.empty());
  }

  private static OperationProto.RecoverChange toProto(Operation.RecoverChange o) {
    return OperationProto.RecoverChange.newBuilder()
        .setChunk(o.chunk().value())
        .setVersion(o.version())
        .setSeed(toProto(o.seed()))
        .addAllTargets(each(o.targets(), OperationCodec::toProto))
        .build();
  }

  private static Operation toModel(OperationProto.RecoverChange from) {
    return new Operation.RecoverChange(
        new ChunkHandle(from.getChunk()),
        from.getVersion(),
        toModel(from.getSeed()),
        each(from.getTargetsList(), OperationCodec::toModel));
  }

  private static OperationProto.Activate toProto(Operation.Activate o) {
    return OperationProto.Activate.newBuilder()
        .setChunk(o.chunk().value())
        .setVersion(o.version())
        .setPrimary(o.primary().value())
        .addAllMembers(each(o.members(), OperationCodec::toProto))
        .setFirstSerial(o.firstSerial())
        .setMinReplicas(o.minReplicas())
        .build();
  }

  private static Operation toModel(OperationProto.Activate from) {
    return new Operation.Activate(
        new ChunkHandle(from.getChunk()),
        from.getVersion(),
        new SessionId(from.getPrimary()),
        each(from.getMembersList(), OperationCodec::toModel),
        from.getFirstSerial(),
        from.getMinReplicas());
  }

  private static OperationProto.SealChunk toProto(Operation.SealChunk o) {
    return OperationProto.SealChunk.newBuilder()
        .setChunk(o.chunk().value())
        .setVersion(o.version())
        .setSeal(ProtoCodec.toProto(o.seal()))
        .addAllMembers(each(o.members(), OperationCodec::toProto))
        .setFirstSerial(o.firstSerial())
        .setMinReplicas(o.minReplicas())
        .setWallMillis(o.wallMillis())
        .build();
  }

  private static Operation toModel(OperationProto.SealChunk from) {
    return new Operation.SealChunk(
        new ChunkHandle(from.getChunk()),
        from.getVersion(),
        ProtoCodec.toModel(from.getSeal()),
        each(from.getMembersList(), OperationCodec::toModel),
        from.getFirstSerial(),
        from.getMinReplicas(),
        from.getWallMillis());
  }

  private static OperationProto.AbandonChange toProto(Operation.AbandonChange o) {
    return OperationProto.AbandonChange.newBuilder()
        .setChunk(o.chunk().value())
        .setVersion(o.version())
        .build();
  }

  private static Operation toModel(OperationProto.AbandonChange from) {
    return new Operation.AbandonChange(new ChunkHandle(from.getChunk()), from.getVersion());
  }

  private static OperationProto.RevokeLease toProto(Operation.RevokeLease o) {
    return OperationProto.RevokeLease.newBuilder().setLease(toProto(o.lease())).build();
  }

  private static Operation toModel(OperationProto.RevokeLease from) {
    return new Operation.RevokeLease(toModel(from.getLease()));
  }

  private static OperationProto.EndLeases toProto(Operation.EndLeases o) {
    return OperationProto.EndLeases.newBuilder()
        .addAllLeases(each(o.leases(), OperationCodec::toProto))
        .build();
  }

  private static Operation toModel(OperationProto.EndLeases from) {
    return new Operation.EndLeases(each(from.getLeasesList(), OperationCodec::toModel));
  }

  private static OperationProto.ExpireRevocation toProto(Operation.ExpireRevocation o) {
    return OperationProto.ExpireRevocation.newBuilder()
        .setTerm(o.term())
        .setLease(toProto(o.lease()))
        .build();
  }

  private static Operation toModel(OperationProto.ExpireRevocation from) {
    return new Operation.ExpireRevocation(from.getTerm(), toModel(from.getLease()));
  }

  private static OperationProto.OrderReplica toProto(Operation.OrderReplica o) {
    return OperationProto.OrderReplica.newBuilder()
        .setChunk(o.chunk().value())
        .setPlace(toProto(o.place()))
        .setReplaces(o.replaces().map(ReplicaId::value).orElse(0L))
        .build();
  }

  private static Operation toModel(OperationProto.OrderReplica from) {
    return new Operation.OrderReplica(
        new ChunkHandle(from.getChunk()),
        toModel(from.getPlace()),
        from.getReplaces() == 0
            ? Optional.empty()
            : Optional.of(new ReplicaId(from.getReplaces())));
  }

  private static OperationProto.JoinReplica toProto(Operation.JoinReplica o) {
    return OperationProto.JoinReplica.newBuilder()
        .setChunk(o.chunk().value())
        .setServer(o.server().name())
        .setReplica(o.replica().value())
        .setIncarnation(o.incarnation())
        .setLengthBytes(o.lengthBytes())
        .setChecksum(o.checksum())
        .build();
  }

  private static Operation toModel(OperationProto.JoinReplica from) {
    return new Operation.JoinReplica(
        new ChunkHandle(from.getChunk()),
        new ServerId(from.getServer()),
        new ReplicaId(from.getReplica()),
        from.getIncarnation(),
        from.getLengthBytes(),
        from.getChecksum());
  }

  private static OperationProto.RemoveReplica toProto(Operation.RemoveReplica o) {
    return OperationProto.RemoveReplica.newBuilder()
        .setChunk(o.chunk().value())
        .setServer(o.server().name())
        .setReplica(o.replica().value())
        .build();
  }

  private static Operation toModel(OperationProto.RemoveReplica from) {
    return new Operation.RemoveReplica(
        new ChunkHandle(from.getChunk()),
        new ServerId(from.getServer()),
        new ReplicaId(from.getReplica()));
  }

  // ---------------------------------------------------------------- parts

  private static OperationProto.ClientCall toProto(ClientCall call) {
    return OperationProto.ClientCall.newBuilder()
        .setId(ProtoCodec.toProto(call.id()))
        .setTtlNanos(call.ttlNanos())
        .build();
  }

  private static ClientCall toModel(OperationProto.ClientCall from) {
    RequestId id = ProtoCodec.toModel(from.getId());
    // entries of before the id carried it
    long newestForgetting = Math.max(id.newestForgetting(), from.getGreetedAt());
    return new ClientCall(
        new RequestId(id.client(), id.sequence(), id.floor(), newestForgetting),
        from.getTtlNanos());
  }

  private static OperationProto.Placement toProto(Placement place) {
    return OperationProto.Placement.newBuilder()
        .setServer(place.server().name())
        .setDisk(place.disk().text())
        .setIncarnation(place.incarnation())
        .setSession(place.session().value())
        .build();
  }

  private static Placement toModel(OperationProto.Placement from) {
    return new Placement(
        new ServerId(from.getServer()),
        new DiskId(from.getDisk()),
        from.getIncarnation(),
        new SessionId(from.getSession()));
  }

  private static OperationProto.Participant toProto(Participant participant) {
    return OperationProto.Participant.newBuilder()
        .setMember(ProtoCodec.toProto(participant.member()))
        .setIncarnation(participant.incarnation())
        .build();
  }

  private static Participant toModel(OperationProto.Participant from) {
    return new Participant(ProtoCodec.toModel(from.getMember()), from.getIncarnation());
  }

  private static OperationProto.Seed toProto(Seed seed) {
    return OperationProto.Seed.newBuilder()
        .setServer(seed.server().name())
        .setIncarnation(seed.incarnation())
        .build();
  }

  private static Seed toModel(OperationProto.Seed from) {
    return new Seed(new ServerId(from.getServer()), from.getIncarnation());
  }

  private static OperationProto.LeaseId toProto(LeaseId lease) {
    return OperationProto.LeaseId.newBuilder()
        .setChunk(lease.chunk().value())
        .setVersion(lease.version())
        .setSession(lease.session().value())
        .build();
  }

  private static LeaseId toModel(OperationProto.LeaseId from) {
    return new LeaseId(
        new ChunkHandle(from.getChunk()), from.getVersion(), new SessionId(from.getSession()));
  }

  private static ChangeReason reason(OperationProto.ChangeReason from) {
    return ChangeReason.valueOf(from.name().substring(REASON.length()));
  }

  private static <A, B> List<B> each(List<A> values, Function<? super A, ? extends B> translation) {
    List<B> result = new ArrayList<>(values.size());
    for (A value : values) {
      result.add(translation.apply(value));
    }
    return result;
  }
}
