package io.leasefs.common.rpc;

import static io.leasefs.common.rpc.ProtoCodec.each;

import io.leasefs.common.api.AdminApi;
import io.leasefs.common.api.ClusterApi;
import io.leasefs.common.api.Heartbeat;
import io.leasefs.common.api.MasterApi;
import io.leasefs.common.api.Registration;
import io.leasefs.common.model.ChunkHandle;
import io.leasefs.common.model.ChunkLayout;
import io.leasefs.common.model.ChunkSeal;
import io.leasefs.common.model.ClientId;
import io.leasefs.common.model.ClusterEvent;
import io.leasefs.common.model.FileId;
import io.leasefs.common.model.FileLayout;
import io.leasefs.common.model.FilePath;
import io.leasefs.common.model.FileStatus;
import io.leasefs.common.model.ReplicaId;
import io.leasefs.common.model.RequestId;
import io.leasefs.common.model.SealedChunk;
import io.leasefs.common.model.ServerAddress;
import io.leasefs.common.model.ServerId;
import io.leasefs.common.model.SessionId;
import io.leasefs.proto.v1.AddChunkRequest;
import io.leasefs.proto.v1.AdminServiceGrpc;
import io.leasefs.proto.v1.CheckRequest;
import io.leasefs.proto.v1.ChunkLayoutRequest;
import io.leasefs.proto.v1.ChunkRequest;
import io.leasefs.proto.v1.CloseRequest;
import io.leasefs.proto.v1.ClusterServiceGrpc;
import io.leasefs.proto.v1.DeleteQuarantinedRequest;
import io.leasefs.proto.v1.DeleteRequest;
import io.leasefs.proto.v1.Done;
import io.leasefs.proto.v1.DrainRequest;
import io.leasefs.proto.v1.EmptyTrashRequest;
import io.leasefs.proto.v1.EmptyTrashResponse;
import io.leasefs.proto.v1.EventsRequest;
import io.leasefs.proto.v1.GreetRequest;
import io.leasefs.proto.v1.HeartbeatRequest;
import io.leasefs.proto.v1.HeartbeatResponse;
import io.leasefs.proto.v1.LayoutRequest;
import io.leasefs.proto.v1.LeasesRequest;
import io.leasefs.proto.v1.ListRequest;
import io.leasefs.proto.v1.MasterServiceGrpc;
import io.leasefs.proto.v1.MkdirRequest;
import io.leasefs.proto.v1.NodesRequest;
import io.leasefs.proto.v1.OpenForWriteRequest;
import io.leasefs.proto.v1.QuarantinedRequest;
import io.leasefs.proto.v1.RaiseGenerationRequest;
import io.leasefs.proto.v1.RaiseGenerationResponse;
import io.leasefs.proto.v1.RemoveNodeRequest;
import io.leasefs.proto.v1.RenameRequest;
import io.leasefs.proto.v1.RenewRequest;
import io.leasefs.proto.v1.RenewResponse;
import io.leasefs.proto.v1.ReportDamagedRequest;
import io.leasefs.proto.v1.ReportSilentRequest;
import io.leasefs.proto.v1.RestoreRequest;
import io.leasefs.proto.v1.StatRequest;
import io.leasefs.proto.v1.StatusRequest;
import io.leasefs.proto.v1.TrashRequest;
import io.leasefs.proto.v1.UsageRequest;
import io.leasefs.proto.v1.WhyRequest;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.function.Consumer;

/**
 * A master at an address, over gRPC. Every call has a deadline: the timeout given here, plus what
 * the caller lets the master wait. Any thread; never blocks; futures and callbacks complete on the
 * channel's threads.
 */
public final class RemoteMaster implements MasterApi, AdminApi, ClusterApi {
  private static final int MAX_MESSAGE_BYTES = 16 << 20;
  private static final int READY_BYTES = 64 << 10;

  private final RemoteCalls calls;

  /**
   * @param channels what carries the calls; a chunkserver's heartbeat has an instance of its own
   * @param timeoutNanos for each call
   */
  public RemoteMaster(Channels channels, ServerAddress address, long timeoutNanos) {
    this.calls = new RemoteCalls(channels, address, timeoutNanos, MAX_MESSAGE_BYTES);
  }

  public ServerAddress address() {
    return calls.address();
  }

  // Errors are futures here, too; a missing Void is null by its type.
  @SuppressWarnings("NullAway")
  private static Void nothing(Done done) {
    return null;
  }

  // ---- MasterApi

  @Override
  public CompletableFuture<Greeting> greet(ClientId client) {
    return calls.unary(
        MasterServiceGrpc.getGreetMethod(),
        GreetRequest.newBuilder().setClient(ProtoCodec.toProto(client)).build(),
        0,
        MasterCodec::toModel);
  }

  @Override
  public CompletableFuture<OpenFile> create(RequestId id, CreateFile request) {
    return calls.unary(
        MasterServiceGrpc.getCreateMethod(),
        MasterCodec.toProto(request).setId(ProtoCodec.toProto(id)).build(),
        0,
        MasterCodec::toModel);
  }

  @Override
  public CompletableFuture<OpenFile> openForWrite(RequestId id, FilePath path, long token) {
    return calls.unary(
        MasterServiceGrpc.getOpenForWriteMethod(),
        OpenForWriteRequest.newBuilder()
            .setId(ProtoCodec.toProto(id))
            .setPath(path.text())
            .setToken(token)
            .build(),
        0,
        MasterCodec::toModel);
  }

  @Override
  public CompletableFuture<AddedChunk> addChunk(
      RequestId id, FileId file, int afterIndex, Optional<ChunkSeal> seal) {
    AddChunkRequest.Builder request =
        AddChunkRequest.newBuilder()
            .setId(ProtoCodec.toProto(id))
            .setFile(file.value())
            .setAfterIndex(afterIndex);
    seal.ifPresent(value -> request.setSeal(ProtoCodec.toProto(value)));
    return calls.unary(
        MasterServiceGrpc.getAddChunkMethod(), request.build(), 0, MasterCodec::toModel);
  }

  @Override
  public CompletableFuture<FileStatus> close(
      RequestId id,
      FileId file,
      long openNumber,
      Optional<SealedChunk> sealed,
      Optional<Publication> publication,
      boolean endSession) {
    CloseRequest.Builder request =
        CloseRequest.newBuilder()
            .setId(ProtoCodec.toProto(id))
            .setFile(file.value())
            .setOpenNumber(openNumber)
            .setEndSession(endSession);
    sealed.ifPresent(
        it -> request.setSealedChunk(it.chunk().value()).setSeal(ProtoCodec.toProto(it.seal())));
    publication.ifPresent(it -> request.setPublication(ProtoCodec.toProto(it)));
    return calls.unary(MasterServiceGrpc.getCloseMethod(), request.build(), 0, ProtoCodec::toModel);
  }

  @Override
  public CompletableFuture<FileLayout> layout(FilePath path, int fromIndex, int limit) {
    return layout(LayoutRequest.newBuilder().setPath(path.text()), fromIndex, limit);
  }

  @Override
  public CompletableFuture<FileLayout> layout(FileId file, int fromIndex, int limit) {
    return layout(LayoutRequest.newBuilder().setFile(file.value()), fromIndex, limit);
  }

  private CompletableFuture<FileLayout> layout(
      LayoutRequest.Builder request, int fromIndex, int limit) {
    return calls.unary(
        MasterServiceGrpc.getLayoutMethod(),
        request.setFromIndex(fromIndex).setLimit(limit).build(),
        0,
        ProtoCodec::toModel);
  }

  @Override
  public CompletableFuture<ChunkLayout> chunkLayout(
      ChunkHandle chunk, long knownVersion, long waitNanos) {
    return calls.unary(
        MasterServiceGrpc.getChunkLayoutMethod(),
        ChunkLayoutRequest.newBuilder()
            .setChunk(chunk.value())
            .setKnownVersion(knownVersion)
            .setWaitNanos(waitNanos)
            .build(),
        waitNanos,
        ProtoCodec::toModel);
  }

  @Override
  public CompletableFuture<Void> reportSilent(
      ChunkHandle chunk, long version, boolean connectionReset) {
    return calls.unary(
        MasterServiceGrpc.getReportSilentMethod(),
        ReportSilentRequest.newBuilder()
            .setChunk(chunk.value())
            .setVersion(version)
            .setConnectionReset(connectionReset)
            .build(),
        0,
        RemoteMaster::nothing);
  }

  @Override
  public CompletableFuture<Void> reportDamaged(ChunkHandle chunk, ServerId server, long block) {
    return calls.unary(
        MasterServiceGrpc.getReportDamagedMethod(),
        ReportDamagedRequest.newBuilder()
            .setChunk(chunk.value())
            .setServer(server.name())
            .setBlock(block)
            .build(),
        0,
        RemoteMaster::nothing);
  }

  @Override
  public CompletableFuture<Long> renew(ClientId client, SessionId session) {
    return calls.unary(
        MasterServiceGrpc.getRenewMethod(),
        RenewRequest.newBuilder()
            .setClient(ProtoCodec.toProto(client))
            .setSession(session.value())
            .build(),
        0,
        RenewResponse::getTtlNanos);
  }

  @Override
  public CompletableFuture<FileStatus> stat(FilePath path) {
    return calls.unary(
        MasterServiceGrpc.getStatMethod(),
        StatRequest.newBuilder().setPath(path.text()).build(),
        0,
        ProtoCodec::toModel);
  }

  @Override
  public CompletableFuture<List<FileStatus>> list(FilePath path, String after, int limit) {
    return calls.unary(
        MasterServiceGrpc.getListMethod(),
        ListRequest.newBuilder().setPath(path.text()).setAfter(after).setLimit(limit).build(),
        0,
        response -> each(response.getEntriesList(), ProtoCodec::toModel));
  }

  @Override
  public CompletableFuture<FileStatus> mkdir(
      RequestId id, FilePath path, boolean parents, int mode) {
    return calls.unary(
        MasterServiceGrpc.getMkdirMethod(),
        MkdirRequest.newBuilder()
            .setId(ProtoCodec.toProto(id))
            .setPath(path.text())
            .setParents(parents)
            .setMode(mode)
            .build(),
        0,
        ProtoCodec::toModel);
  }

  @Override
  public CompletableFuture<FileStatus> rename(
      RequestId id, FilePath from, FilePath to, boolean replace) {
    return calls.unary(
        MasterServiceGrpc.getRenameMethod(),
        RenameRequest.newBuilder()
            .setId(ProtoCodec.toProto(id))
            .setFrom(from.text())
            .setTo(to.text())
            .setReplace(replace)
            .build(),
        0,
        ProtoCodec::toModel);
  }

  @Override
  public CompletableFuture<Void> delete(
      RequestId id, FilePath path, boolean recursive, boolean skipTrash) {
    return calls.unary(
        MasterServiceGrpc.getDeleteMethod(),
        DeleteRequest.newBuilder()
            .setId(ProtoCodec.toProto(id))
            .setPath(path.text())
            .setRecursive(recursive)
            .setSkipTrash(skipTrash)
            .build(),
        0,
        RemoteMaster::nothing);
  }

  @Override
  public CompletableFuture<FileStatus> restore(RequestId id, FilePath path) {
    return calls.unary(
        MasterServiceGrpc.getRestoreMethod(),
        RestoreRequest.newBuilder().setId(ProtoCodec.toProto(id)).setPath(path.text()).build(),
        0,
        ProtoCodec::toModel);
  }

  @Override
  public CompletableFuture<FileStatus> setAttributes(
      RequestId id, FilePath path, Attributes attributes) {
    return calls.unary(
        MasterServiceGrpc.getSetAttributesMethod(),
        MasterCodec.toProto(attributes).setId(ProtoCodec.toProto(id)).setPath(path.text()).build(),
        0,
        ProtoCodec::toModel);
  }

  @Override
  public CompletableFuture<List<Trashed>> trash() {
    return calls.unary(
        MasterServiceGrpc.getTrashMethod(),
        TrashRequest.getDefaultInstance(),
        0,
        response -> each(response.getEntriesList(), MasterCodec::toModel));
  }

  @Override
  public CompletableFuture<Integer> emptyTrash(RequestId id, long olderThanMillis) {
    return calls.unary(
        MasterServiceGrpc.getEmptyTrashMethod(),
        EmptyTrashRequest.newBuilder()
            .setId(ProtoCodec.toProto(id))
            .setOlderThanMillis(olderThanMillis)
            .build(),
        0,
        EmptyTrashResponse::getCount);
  }

  @Override
  public CompletableFuture<Usage> usage(FilePath path) {
    return calls.unary(
        MasterServiceGrpc.getUsageMethod(),
        UsageRequest.newBuilder().setPath(path.text()).build(),
        0,
        MasterCodec::toModel);
  }

  // ---- AdminApi

  @Override
  public CompletableFuture<ClusterStatus> status() {
    return calls.unary(
        AdminServiceGrpc.getStatusMethod(),
        StatusRequest.getDefaultInstance(),
        0,
        MasterCodec::toModel);
  }

  @Override
  public CompletableFuture<List<NodeStatus>> nodes() {
    return calls.unary(
        AdminServiceGrpc.getNodesMethod(),
        NodesRequest.getDefaultInstance(),
        0,
        response -> each(response.getNodesList(), MasterCodec::toModel));
  }

  @Override
  public CompletableFuture<Void> drain(ServerId server, boolean undo) {
    return calls.unary(
        AdminServiceGrpc.getDrainMethod(),
        DrainRequest.newBuilder().setServer(server.name()).setUndo(undo).build(),
        0,
        RemoteMaster::nothing);
  }

  @Override
  public CompletableFuture<Void> removeNode(ServerId server) {
    return calls.unary(
        AdminServiceGrpc.getRemoveNodeMethod(),
        RemoveNodeRequest.newBuilder().setServer(server.name()).build(),
        0,
        RemoteMaster::nothing);
  }

  @Override
  public CompletableFuture<List<LeaseStatus>> leases(Optional<ServerId> server) {
    LeasesRequest.Builder request = LeasesRequest.newBuilder();
    server.ifPresent(value -> request.setServer(value.name()));
    return calls.unary(
        AdminServiceGrpc.getLeasesMethod(),
        request.build(),
        0,
        response -> each(response.getLeasesList(), MasterCodec::toModel));
  }

  @Override
  public CompletableFuture<ChunkStatus> chunk(ChunkHandle chunk) {
    return calls.unary(
        AdminServiceGrpc.getChunkMethod(),
        ChunkRequest.newBuilder().setChunk(chunk.value()).build(),
        0,
        MasterCodec::toModel);
  }

  @Override
  public CompletableFuture<List<Wait>> why(ChunkHandle chunk) {
    return calls.unary(
        AdminServiceGrpc.getWhyMethod(),
        WhyRequest.newBuilder().setChunk(chunk.value()).build(),
        0,
        response -> each(response.getWaitsList(), MasterCodec::toModel));
  }

  @Override
  public CompletableFuture<List<ClusterEvent>> events(long after, int limit, long waitNanos) {
    return calls.unary(
        AdminServiceGrpc.getEventsMethod(),
        EventsRequest.newBuilder().setAfter(after).setLimit(limit).setWaitNanos(waitNanos).build(),
        waitNanos,
        response -> each(response.getEventsList(), ProtoCodec::toModel));
  }

  @Override
  public CompletableFuture<List<Finding>> check(FilePath path, String after, int limit) {
    return calls.unary(
        AdminServiceGrpc.getCheckMethod(),
        CheckRequest.newBuilder().setPath(path.text()).setAfter(after).setLimit(limit).build(),
        0,
        response -> each(response.getFindingsList(), MasterCodec::toModel));
  }

  @Override
  public CompletableFuture<Integer> raiseGeneration() {
    return calls.unary(
        AdminServiceGrpc.getRaiseGenerationMethod(),
        RaiseGenerationRequest.getDefaultInstance(),
        0,
        RaiseGenerationResponse::getGeneration);
  }

  @Override
  public CompletableFuture<List<QuarantinedCopy>> quarantined(Optional<CopyName> after, int limit) {
    QuarantinedRequest.Builder request = QuarantinedRequest.newBuilder().setLimit(limit);
    after.ifPresent(
        copy -> request.setAfterServer(copy.server().name()).setAfterChunk(copy.chunk().value()));
    return calls.unary(
        AdminServiceGrpc.getQuarantinedMethod(),
        request.build(),
        0,
        response -> each(response.getCopiesList(), MasterCodec::toModel));
  }

  @Override
  public CompletableFuture<Void> deleteQuarantined(CopyName copy, ReplicaId replica) {
    return calls.unary(
        AdminServiceGrpc.getDeleteQuarantinedMethod(),
        DeleteQuarantinedRequest.newBuilder()
            .setServer(copy.server().name())
            .setChunk(copy.chunk().value())
            .setReplica(replica.value())
            .build(),
        0,
        RemoteMaster::nothing);
  }

  // ---- ClusterApi

  @Override
  public CompletableFuture<Registration.Response> register(Registration.Request request) {
    return calls.unary(
        ClusterServiceGrpc.getRegisterMethod(),
        ClusterCodec.toProto(request),
        0,
        ClusterCodec::toModel);
  }

  @Override
  public HeartbeatStream heartbeat(
      Consumer<Heartbeat.Response> responses, Consumer<String> broken) {
    ClientStream<HeartbeatRequest, HeartbeatResponse> stream =
        calls.stream(
            ClusterServiceGrpc.getHeartbeatMethod(),
            READY_BYTES,
            response -> responses.accept(ClusterCodec.toModel(response)),
            broken);
    return new HeartbeatStream() {
      @Override
      public void send(Heartbeat.Request request) {
        stream.send(ClusterCodec.toProto(request));
      }

      @Override
      public void close() {
        stream.close();
      }
    };
  }
}
