package io.leasefs.common.rpc;

import static io.leasefs.common.rpc.ProtoCodec.each;

import io.leasefs.common.api.AdminApi;
import io.leasefs.common.api.MasterApi;
import io.leasefs.common.model.ChunkHandle;
import io.leasefs.common.model.DiskId;
import io.leasefs.common.model.FileId;
import io.leasefs.common.model.FilePath;
import io.leasefs.common.model.ReplicaId;
import io.leasefs.common.model.ServerId;
import io.leasefs.common.model.SessionId;
import io.leasefs.proto.v1.AddedChunkProto;
import io.leasefs.proto.v1.ChunkStatusProto;
import io.leasefs.proto.v1.ClusterStatusProto;
import io.leasefs.proto.v1.CreateRequest;
import io.leasefs.proto.v1.FindingProto;
import io.leasefs.proto.v1.GreetingProto;
import io.leasefs.proto.v1.KnownReplicaProto;
import io.leasefs.proto.v1.LeaseStatusProto;
import io.leasefs.proto.v1.NodeStateProto;
import io.leasefs.proto.v1.NodeStatusProto;
import io.leasefs.proto.v1.OpenFileProto;
import io.leasefs.proto.v1.PendingChangeProto;
import io.leasefs.proto.v1.QuarantineReasonProto;
import io.leasefs.proto.v1.QuarantinedCopyProto;
import io.leasefs.proto.v1.SetAttributesRequest;
import io.leasefs.proto.v1.SeverityProto;
import io.leasefs.proto.v1.TrashedProto;
import io.leasefs.proto.v1.UsageProto;
import io.leasefs.proto.v1.WaitProto;
import java.util.Optional;

/** Translates what clients and operators exchange with the master. Any thread; no state. */
final class MasterCodec {
  private static final EnumTable<AdminApi.NodeState, NodeStateProto> NODE_STATE =
      new EnumTable<>(AdminApi.NodeState.class, NodeStateProto.class, "NODE_STATE_");
  private static final EnumTable<AdminApi.Severity, SeverityProto> SEVERITY =
      new EnumTable<>(AdminApi.Severity.class, SeverityProto.class, "SEVERITY_");
  private static final EnumTable<AdminApi.QuarantineReason, QuarantineReasonProto> QUARANTINE =
      new EnumTable<>(
          AdminApi.QuarantineReason.class, QuarantineReasonProto.class, "QUARANTINE_REASON_");

  private MasterCodec() {}

  static GreetingProto toProto(MasterApi.Greeting value) {
    return GreetingProto.newBuilder()
        .setClusterId(value.clusterId())
        .setVersion(value.version())
        .setLeader(value.leader().name())
        .setTerm(value.term())
        .setGeneration(value.generation())
        .setNewestForgetting(value.newestForgetting())
        .setLeaseTtlNanos(value.leaseTtlNanos())
        .setChunkBytes(value.chunkBytes())
        .setReplication(value.replication())
        .build();
  }

  static MasterApi.Greeting toModel(GreetingProto value) {
    return new MasterApi.Greeting(
        value.getClusterId(),
        value.getVersion(),
        new ServerId(value.getLeader()),
        value.getTerm(),
        value.getGeneration(),
        value.getNewestForgetting(),
        value.getLeaseTtlNanos(),
        value.getChunkBytes(),
        value.getReplication());
  }

  /** Without the request id, which travels beside it. */
  static CreateRequest.Builder toProto(MasterApi.CreateFile value) {
    return CreateRequest.newBuilder()
        .setPath(value.path().text())
        .setParents(value.parents())
        .setReplication(value.replication())
        .setChunkBytes(value.chunkBytes())
        .setDurability(ProtoCodec.toProto(value.durability()))
        .setMode(value.mode())
        .setFirstChunk(value.firstChunk());
  }

  static MasterApi.CreateFile toModel(CreateRequest value) {
    return new MasterApi.CreateFile(
        new FilePath(value.getPath()),
        value.getParents(),
        value.getReplication(),
        value.getChunkBytes(),
        ProtoCodec.toModel(value.getDurability()),
        value.getMode(),
        value.getFirstChunk());
  }

  static OpenFileProto toProto(MasterApi.OpenFile value) {
    OpenFileProto.Builder builder =
        OpenFileProto.newBuilder()
            .setStatus(ProtoCodec.toProto(value.status()))
            .setSession(value.session().value())
            .setOpenNumber(value.openNumber());
    value.last().ifPresent(last -> builder.setLast(ProtoCodec.toProto(last)));
    value.birth().ifPresent(birth -> builder.setBirth(ProtoCodec.toProto(birth)));
    return builder.build();
  }

  static MasterApi.OpenFile toModel(OpenFileProto value) {
    return new MasterApi.OpenFile(
        ProtoCodec.toModel(value.getStatus()),
        new SessionId(value.getSession()),
        value.getOpenNumber(),
        value.hasLast() ? Optional.of(ProtoCodec.toModel(value.getLast())) : Optional.empty(),
        value.hasBirth() ? Optional.of(ProtoCodec.toModel(value.getBirth())) : Optional.empty());
  }

  static AddedChunkProto toProto(MasterApi.AddedChunk value) {
    AddedChunkProto.Builder builder =
        AddedChunkProto.newBuilder().setLayout(ProtoCodec.toProto(value.layout()));
    value.birth().ifPresent(birth -> builder.setBirth(ProtoCodec.toProto(birth)));
    return builder.build();
  }

  static MasterApi.AddedChunk toModel(AddedChunkProto value) {
    return new MasterApi.AddedChunk(
        ProtoCodec.toModel(value.getLayout()),
        value.hasBirth() ? Optional.of(ProtoCodec.toModel(value.getBirth())) : Optional.empty());
  }

  /** Without the request id and the path, which travel beside it. */
  static SetAttributesRequest.Builder toProto(MasterApi.Attributes value) {
    SetAttributesRequest.Builder builder = SetAttributesRequest.newBuilder();
    value.replication().ifPresent(builder::setReplication);
    value.mode().ifPresent(builder::setMode);
    value.modifiedMillis().ifPresent(builder::setModifiedMillis);
    return builder;
  }

  static MasterApi.Attributes toModel(SetAttributesRequest value) {
    return new MasterApi.Attributes(
        value.hasReplication() ? Optional.of(value.getReplication()) : Optional.empty(),
        value.hasMode() ? Optional.of(value.getMode()) : Optional.empty(),
        value.hasModifiedMillis() ? Optional.of(value.getModifiedMillis()) : Optional.empty());
  }

  static TrashedProto toProto(MasterApi.Trashed value) {
    return TrashedProto.newBuilder()
        .setPath(value.path().text())
        .setId(value.id().value())
        .setFolder(value.folder())
        .setDeletedMillis(value.deletedMillis())
        .setLengthBytes(value.lengthBytes())
        .build();
  }

  static MasterApi.Trashed toModel(TrashedProto value) {
    return new MasterApi.Trashed(
        new FilePath(value.getPath()),
        new FileId(value.getId()),
        value.getFolder(),
        value.getDeletedMillis(),
        value.getLengthBytes());
  }

  static UsageProto toProto(MasterApi.Usage value) {
    return UsageProto.newBuilder()
        .setFiles(value.files())
        .setFolders(value.folders())
        .setLengthBytes(value.lengthBytes())
        .setStoredBytes(value.storedBytes())
        .setChunks(value.chunks())
        .build();
  }

  static MasterApi.Usage toModel(UsageProto value) {
    return new MasterApi.Usage(
        value.getFiles(),
        value.getFolders(),
        value.getLengthBytes(),
        value.getStoredBytes(),
        value.getChunks());
  }

  static ClusterStatusProto toProto(AdminApi.ClusterStatus value) {
    ClusterStatusProto.Builder builder =
        ClusterStatusProto.newBuilder()
            .setClusterId(value.clusterId())
            .setVersion(value.version())
            .setLeader(value.leader().name())
            .setTerm(value.term())
            .setLogIndex(value.logIndex())
            .setUpMillis(value.upMillis())
            .setReportsIn(value.reportsIn())
            .setNodesLive(value.nodesLive())
            .setNodesDraining(value.nodesDraining())
            .setNodesDead(value.nodesDead())
            .setUsedBytes(value.usedBytes())
            .setTotalBytes(value.totalBytes())
            .setFiles(value.files())
            .setFolders(value.folders())
            .setChunks(value.chunks())
            .setReplicas(value.replicas())
            .setUnderReplicated(value.underReplicated())
            .setStale(value.stale())
            .setDamaged(value.damaged())
            .setUnavailable(value.unavailable())
            .setLeasesHeld(value.leasesHeld())
            .setTrashEntries(value.trashEntries())
            .setQuarantined(value.quarantined())
            .setNodesSilent(value.nodesSilent());
    value
        .lastReassignment()
        .ifPresent(event -> builder.setLastReassignment(ProtoCodec.toProto(event)));
    return builder.build();
  }

  static AdminApi.ClusterStatus toModel(ClusterStatusProto value) {
    return new AdminApi.ClusterStatus(
        value.getClusterId(),
        value.getVersion(),
        new ServerId(value.getLeader()),
        value.getTerm(),
        value.getLogIndex(),
        value.getUpMillis(),
        value.getReportsIn(),
        value.getNodesLive(),
        value.getNodesDraining(),
        value.getNodesDead(),
        value.getUsedBytes(),
        value.getTotalBytes(),
        value.getFiles(),
        value.getFolders(),
        value.getChunks(),
        value.getReplicas(),
        value.getUnderReplicated(),
        value.getStale(),
        value.getDamaged(),
        value.getUnavailable(),
        value.getLeasesHeld(),
        value.getTrashEntries(),
        value.hasLastReassignment()
            ? Optional.of(ProtoCodec.toModel(value.getLastReassignment()))
            : Optional.empty(),
        value.getQuarantined(),
        value.getNodesSilent());
  }

  static NodeStatusProto toProto(AdminApi.NodeStatus value) {
    return NodeStatusProto.newBuilder()
        .setServer(value.server().name())
        .setState(NODE_STATE.toProto(value.state()))
        .setEndpoints(ProtoCodec.toProto(value.endpoints()))
        .setAddress(ProtoCodec.toProto(value.address()))
        .setRack(value.rack())
        .setSession(value.session().value())
        .setIncarnation(value.incarnation())
        .setSilentNanos(value.silentNanos())
        .setLeaseLeftNanos(value.leaseLeftNanos())
        .setLeases(value.leases())
        .setReplicas(value.replicas())
        .setFreeBytes(value.freeBytes())
        .setTotalBytes(value.totalBytes())
        .addAllDisks(each(value.disks(), DiskId::text))
        .build();
  }

  static AdminApi.NodeStatus toModel(NodeStatusProto value) {
    return new AdminApi.NodeStatus(
        new ServerId(value.getServer()),
        NODE_STATE.toModel(value.getState()),
        ProtoCodec.toModel(value.getEndpoints()),
        ProtoCodec.toModel(value.getAddress()),
        value.getRack(),
        new SessionId(value.getSession()),
        value.getIncarnation(),
        value.getSilentNanos(),
        value.getLeaseLeftNanos(),
        value.getLeases(),
        value.getReplicas(),
        value.getFreeBytes(),
        value.getTotalBytes(),
        each(value.getDisksList(), DiskId::new));
  }

  static LeaseStatusProto toProto(AdminApi.LeaseStatus value) {
    LeaseStatusProto.Builder builder =
        LeaseStatusProto.newBuilder()
            .setChunk(value.chunk().value())
            .setIndex(value.index())
            .setVersion(value.version())
            .setToken(value.token())
            .setHolder(value.holder().name())
            .setSession(value.session().value())
            .setGrantorLeftNanos(value.grantorLeftNanos())
            .setRevoked(value.revoked());
    value.path().ifPresent(path -> builder.setPath(path.text()));
    return builder.build();
  }

  static AdminApi.LeaseStatus toModel(LeaseStatusProto value) {
    return new AdminApi.LeaseStatus(
        new ChunkHandle(value.getChunk()),
        value.hasPath() ? Optional.of(new FilePath(value.getPath())) : Optional.empty(),
        value.getIndex(),
        value.getVersion(),
        value.getToken(),
        new ServerId(value.getHolder()),
        new SessionId(value.getSession()),
        value.getGrantorLeftNanos(),
        value.getRevoked());
  }

  static ChunkStatusProto toProto(AdminApi.ChunkStatus value) {
    ChunkStatusProto.Builder builder =
        ChunkStatusProto.newBuilder()
            .setLayout(ProtoCodec.toProto(value.layout()))
            .setFile(value.file().value())
            .setLastVersion(value.lastVersion())
            .setGoal(value.goal())
            .addAllReplicas(each(value.replicas(), MasterCodec::toProto));
    value.path().ifPresent(path -> builder.setPath(path.text()));
    value.pending().ifPresent(pending -> builder.setPending(toProto(pending)));
    value.lease().ifPresent(lease -> builder.setLease(toProto(lease)));
    return builder.build();
  }

  static AdminApi.ChunkStatus toModel(ChunkStatusProto value) {
    return new AdminApi.ChunkStatus(
        ProtoCodec.toModel(value.getLayout()),
        new FileId(value.getFile()),
        value.hasPath() ? Optional.of(new FilePath(value.getPath())) : Optional.empty(),
        value.getLastVersion(),
        value.getGoal(),
        value.hasPending() ? Optional.of(toModel(value.getPending())) : Optional.empty(),
        value.hasLease() ? Optional.of(toModel(value.getLease())) : Optional.empty(),
        each(value.getReplicasList(), MasterCodec::toModel));
  }

  static PendingChangeProto toProto(AdminApi.PendingChange value) {
    PendingChangeProto.Builder builder =
        PendingChangeProto.newBuilder()
            .setVersion(value.version())
            .setStep(value.step())
            .setReason(value.reason())
            .setForNanos(value.forNanos());
    value.seed().ifPresent(seed -> builder.setSeed(seed.name()));
    return builder.build();
  }

  static AdminApi.PendingChange toModel(PendingChangeProto value) {
    return new AdminApi.PendingChange(
        value.getVersion(),
        value.getStep(),
        value.getReason(),
        value.hasSeed() ? Optional.of(new ServerId(value.getSeed())) : Optional.empty(),
        value.getForNanos());
  }

  static KnownReplicaProto toProto(AdminApi.KnownReplica value) {
    return KnownReplicaProto.newBuilder()
        .setServer(value.server().name())
        .setReplica(value.replica().value())
        .setMember(value.member())
        .setState(ClusterCodec.toProto(value.state()))
        .setVersion(value.version())
        .setLengthBytes(value.lengthBytes())
        .build();
  }

  static AdminApi.KnownReplica toModel(KnownReplicaProto value) {
    return new AdminApi.KnownReplica(
        new ServerId(value.getServer()),
        new ReplicaId(value.getReplica()),
        value.getMember(),
        ClusterCodec.toModel(value.getState()),
        value.getVersion(),
        value.getLengthBytes());
  }

  static WaitProto toProto(AdminApi.Wait value) {
    WaitProto.Builder builder =
        WaitProto.newBuilder()
            .setChunk(value.chunk().value())
            .setWhat(value.what())
            .setUntilNanos(value.untilNanos());
    value.holder().ifPresent(holder -> builder.setHolder(holder.name()));
    return builder.build();
  }

  static AdminApi.Wait toModel(WaitProto value) {
    return new AdminApi.Wait(
        new ChunkHandle(value.getChunk()),
        value.getWhat(),
        value.hasHolder() ? Optional.of(new ServerId(value.getHolder())) : Optional.empty(),
        value.getUntilNanos());
  }

  static FindingProto toProto(AdminApi.Finding value) {
    FindingProto.Builder builder =
        FindingProto.newBuilder()
            .setPath(value.path().text())
            .setSeverity(SEVERITY.toProto(value.severity()))
            .setWhat(value.what());
    value.chunk().ifPresent(chunk -> builder.setChunk(chunk.value()));
    return builder.build();
  }

  static AdminApi.Finding toModel(FindingProto value) {
    return new AdminApi.Finding(
        new FilePath(value.getPath()),
        value.hasChunk() ? Optional.of(new ChunkHandle(value.getChunk())) : Optional.empty(),
        SEVERITY.toModel(value.getSeverity()),
        value.getWhat());
  }

  static QuarantinedCopyProto toProto(AdminApi.QuarantinedCopy value) {
    return QuarantinedCopyProto.newBuilder()
        .setServer(value.name().server().name())
        .setChunk(value.name().chunk().value())
        .setReplica(value.replica().value())
        .setFile(value.file().value())
        .setState(ClusterCodec.toProto(value.state()))
        .setVersion(value.version())
        .setLengthBytes(value.lengthBytes())
        .setReason(QUARANTINE.toProto(value.reason()))
        .setLeftNanos(value.leftNanos())
        .build();
  }

  static AdminApi.QuarantinedCopy toModel(QuarantinedCopyProto value) {
    return new AdminApi.QuarantinedCopy(
        new AdminApi.CopyName(new ServerId(value.getServer()), new ChunkHandle(value.getChunk())),
        new ReplicaId(value.getReplica()),
        new FileId(value.getFile()),
        ClusterCodec.toModel(value.getState()),
        value.getVersion(),
        value.getLengthBytes(),
        QUARANTINE.toModel(value.getReason()),
        value.getLeftNanos());
  }
}
