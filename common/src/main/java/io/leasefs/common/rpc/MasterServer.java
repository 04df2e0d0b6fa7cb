package io.leasefs.common.rpc;

import static io.leasefs.common.rpc.ProtoCodec.each;

import io.grpc.ServerServiceDefinition;
import io.grpc.stub.StreamObserver;
import io.leasefs.common.api.AdminApi;
import io.leasefs.common.api.ClusterApi;
import io.leasefs.common.api.MasterApi;
import io.leasefs.common.model.ChunkHandle;
import io.leasefs.common.model.ChunkSeal;
import io.leasefs.common.model.FileId;
import io.leasefs.common.model.FilePath;
import io.leasefs.common.model.ReplicaId;
import io.leasefs.common.model.SealedChunk;
import io.leasefs.common.model.ServerId;
import io.leasefs.common.model.SessionId;
import io.leasefs.proto.v1.AddChunkRequest;
import io.leasefs.proto.v1.AddedChunkProto;
import io.leasefs.proto.v1.AdminServiceGrpc;
import io.leasefs.proto.v1.CheckRequest;
import io.leasefs.proto.v1.CheckResponse;
import io.leasefs.proto.v1.ChunkLayoutProto;
import io.leasefs.proto.v1.ChunkLayoutRequest;
import io.leasefs.proto.v1.ChunkRequest;
import io.leasefs.proto.v1.ChunkSealProto;
import io.leasefs.proto.v1.ChunkStatusProto;
import io.leasefs.proto.v1.CloseRequest;
import io.leasefs.proto.v1.ClusterServiceGrpc;
import io.leasefs.proto.v1.ClusterStatusProto;
import io.leasefs.proto.v1.CreateRequest;
import io.leasefs.proto.v1.DeleteQuarantinedRequest;
import io.leasefs.proto.v1.DeleteRequest;
import io.leasefs.proto.v1.Done;
import io.leasefs.proto.v1.DrainRequest;
import io.leasefs.proto.v1.EmptyTrashRequest;
import io.leasefs.proto.v1.EmptyTrashResponse;
import io.leasefs.proto.v1.EventsRequest;
import io.leasefs.proto.v1.EventsResponse;
import io.leasefs.proto.v1.FileLayoutProto;
import io.leasefs.proto.v1.FileStatusProto;
import io.leasefs.proto.v1.GreetRequest;
import io.leasefs.proto.v1.GreetingProto;
import io.leasefs.proto.v1.HeartbeatRequest;
import io.leasefs.proto.v1.HeartbeatResponse;
import io.leasefs.proto.v1.LayoutRequest;
import io.leasefs.proto.v1.LeasesRequest;
import io.leasefs.proto.v1.LeasesResponse;
import io.leasefs.proto.v1.ListRequest;
import io.leasefs.proto.v1.ListResponse;
import io.leasefs.proto.v1.MasterServiceGrpc;
import io.leasefs.proto.v1.MkdirRequest;
import io.leasefs.proto.v1.NodesRequest;
import io.leasefs.proto.v1.NodesResponse;
import io.leasefs.proto.v1.OpenFileProto;
import io.leasefs.proto.v1.OpenForWriteRequest;
import io.leasefs.proto.v1.QuarantinedRequest;
import io.leasefs.proto.v1.QuarantinedResponse;
import io.leasefs.proto.v1.RaiseGenerationRequest;
import io.leasefs.proto.v1.RaiseGenerationResponse;
import io.leasefs.proto.v1.RegisterRequest;
import io.leasefs.proto.v1.RegisterResponse;
import io.leasefs.proto.v1.RemoveNodeRequest;
import io.leasefs.proto.v1.RenameRequest;
import io.leasefs.proto.v1.RenewRequest;
import io.leasefs.proto.v1.RenewResponse;
import io.leasefs.proto.v1.ReportDamagedRequest;
import io.leasefs.proto.v1.ReportSilentRequest;
import io.leasefs.proto.v1.RestoreRequest;
import io.leasefs.proto.v1.SetAttributesRequest;
import io.leasefs.proto.v1.StatRequest;
import io.leasefs.proto.v1.StatusRequest;
import io.leasefs.proto.v1.TrashRequest;
import io.leasefs.proto.v1.TrashResponse;
import io.leasefs.proto.v1.UsageProto;
import io.leasefs.proto.v1.UsageRequest;
import io.leasefs.proto.v1.WhyRequest;
import io.leasefs.proto.v1.WhyResponse;
import java.util.List;
import java.util.Optional;

/**
 * A master's three services on one listener. Each listener gets an instance of its own, so that the
 * {@link MasterApi} behind it knows which of the two advertised addresses its clients can reach.
 *
 * <p>The Apis are called on the listener's threads and must return at once; their futures and
 * callbacks may complete on any thread.
 */
public final class MasterServer extends RpcService {
  private static final int MAX_MESSAGE_BYTES = 16 << 20;
  private static final Done DONE = Done.getDefaultInstance();

  private final MasterApi master;
  private final AdminApi admin;
  private final ClusterApi cluster;

  public MasterServer(MasterApi master, AdminApi admin, ClusterApi cluster) {
    this.master = master;
    this.admin = admin;
    this.cluster = cluster;
  }

  /** Enough for a full report of 100,000 replicas. */
  @Override
  int maxMessageBytes() {
    return MAX_MESSAGE_BYTES;
  }

  @Override
  List<ServerServiceDefinition> services() {
    ServerServiceDefinition clusterService =
        ServerServiceDefinition.builder(ClusterServiceGrpc.SERVICE_NAME)
            .addMethod(
                ClusterServiceGrpc.getRegisterMethod(),
                UnaryReply
                    .<RegisterRequest, io.leasefs.common.api.Registration.Response,
                        RegisterResponse>
                        handler(
                            "Register",
                            request -> cluster.register(ClusterCodec.toModel(request)),
                            ClusterCodec::toProto))
            .addMethod(
                ClusterServiceGrpc.getHeartbeatMethod(),
                new ServerStream.Handler<HeartbeatRequest, HeartbeatResponse>(
                    "Heartbeat", this::heartbeat))
            .build();
    return List.of(new Files().bindService(), new Operators().bindService(), clusterService);
  }

  private ServerStream.Inbound<HeartbeatRequest> heartbeat(
      ServerStream<HeartbeatRequest, HeartbeatResponse> stream) {
    ClusterApi.HeartbeatStream requests =
        cluster.heartbeat(response -> stream.send(ClusterCodec.toProto(response)), stream::end);
    return new ServerStream.Inbound<>() {
      @Override
      public void accept(HeartbeatRequest request) {
        requests.send(ClusterCodec.toModel(request));
      }

      @Override
      public boolean isReady() {
        return true;
      }

      @Override
      public void close() {
        requests.close();
      }
    };
  }

  private static FilePath path(String text) {
    return new FilePath(text);
  }

  private static Optional<ChunkSeal> seal(boolean present, ChunkSealProto seal) {
    return present ? Optional.of(ProtoCodec.toModel(seal)) : Optional.empty();
  }

  private static Done done(Void nothing) {
    return DONE;
  }

  /** What clients ask. */
  private final class Files extends MasterServiceGrpc.MasterServiceImplBase {
    @Override
    public void greet(GreetRequest request, StreamObserver<GreetingProto> reply) {
      UnaryReply.send(
          reply,
          "Greet",
          () -> master.greet(ProtoCodec.toModel(request.getClient())),
          MasterCodec::toProto);
    }

    @Override
    public void create(CreateRequest request, StreamObserver<OpenFileProto> reply) {
      UnaryReply.send(
          reply,
          "Create",
          () -> master.create(ProtoCodec.toModel(request.getId()), MasterCodec.toModel(request)),
          MasterCodec::toProto);
    }

    @Override
    public void openForWrite(OpenForWriteRequest request, StreamObserver<OpenFileProto> reply) {
      UnaryReply.send(
          reply,
          "OpenForWrite",
          () ->
              master.openForWrite(
                  ProtoCodec.toModel(request.getId()), path(request.getPath()), request.getToken()),
          MasterCodec::toProto);
    }

    @Override
    public void addChunk(AddChunkRequest request, StreamObserver<AddedChunkProto> reply) {
      UnaryReply.send(
          reply,
          "AddChunk",
          () ->
              master.addChunk(
                  ProtoCodec.toModel(request.getId()),
                  new FileId(request.getFile()),
                  request.getAfterIndex(),
                  seal(request.hasSeal(), request.getSeal())),
          MasterCodec::toProto);
    }

    @Override
    public void close(CloseRequest request, StreamObserver<FileStatusProto> reply) {
      UnaryReply.send(
          reply,
          "Close",
          () ->
              master.close(
                  ProtoCodec.toModel(request.getId()),
                  new FileId(request.getFile()),
                  request.getOpenNumber(),
                  seal(request.hasSeal(), request.getSeal())
                      .map(
                          seal -> new SealedChunk(new ChunkHandle(request.getSealedChunk()), seal)),
                  request.hasPublication()
                      ? Optional.of(ProtoCodec.toModel(request.getPublication()))
                      : Optional.empty(),
                  request.getEndSession()),
          ProtoCodec::toProto);
    }

    @Override
    public void layout(LayoutRequest request, StreamObserver<FileLayoutProto> reply) {
      UnaryReply.send(
          reply,
          "Layout",
          () ->
              request.hasPath()
                  ? master.layout(
                      path(request.getPath()), request.getFromIndex(), request.getLimit())
                  : master.layout(
                      new FileId(request.getFile()), request.getFromIndex(), request.getLimit()),
          ProtoCodec::toProto);
    }

    @Override
    public void chunkLayout(ChunkLayoutRequest request, StreamObserver<ChunkLayoutProto> reply) {
      UnaryReply.send(
          reply,
          "ChunkLayout",
          () ->
              master.chunkLayout(
                  new ChunkHandle(request.getChunk()),
                  request.getKnownVersion(),
                  request.getWaitNanos()),
          ProtoCodec::toProto);
    }

    @Override
    public void reportSilent(ReportSilentRequest request, StreamObserver<Done> reply) {
      UnaryReply.send(
          reply,
          "ReportSilent",
          () ->
              master.reportSilent(
                  new ChunkHandle(request.getChunk()),
                  request.getVersion(),
                  request.getConnectionReset()),
          MasterServer::done);
    }

    @Override
    public void reportDamaged(ReportDamagedRequest request, StreamObserver<Done> reply) {
      UnaryReply.send(
          reply,
          "ReportDamaged",
          () ->
              master.reportDamaged(
                  new ChunkHandle(request.getChunk()),
                  new ServerId(request.getServer()),
                  request.getBlock()),
          MasterServer::done);
    }

    @Override
    public void renew(RenewRequest request, StreamObserver<RenewResponse> reply) {
      UnaryReply.send(
          reply,
          "Renew",
          () ->
              master.renew(
                  ProtoCodec.toModel(request.getClient()), new SessionId(request.getSession())),
          ttl -> RenewResponse.newBuilder().setTtlNanos(ttl).build());
    }

    @Override
    public void stat(StatRequest request, StreamObserver<FileStatusProto> reply) {
      UnaryReply.send(
          reply, "Stat", () -> master.stat(path(request.getPath())), ProtoCodec::toProto);
    }

    @Override
    public void list(ListRequest request, StreamObserver<ListResponse> reply) {
      UnaryReply.send(
          reply,
          "List",
          () -> master.list(path(request.getPath()), request.getAfter(), request.getLimit()),
          entries ->
              ListResponse.newBuilder().addAllEntries(each(entries, ProtoCodec::toProto)).build());
    }

    @Override
    public void mkdir(MkdirRequest request, StreamObserver<FileStatusProto> reply) {
      UnaryReply.send(
          reply,
          "Mkdir",
          () ->
              master.mkdir(
                  ProtoCodec.toModel(request.getId()),
                  path(request.getPath()),
                  request.getParents(),
                  request.getMode()),
          ProtoCodec::toProto);
    }

    @Override
    public void rename(RenameRequest request, StreamObserver<FileStatusProto> reply) {
      UnaryReply.send(
          reply,
          "Rename",
          () ->
              master.rename(
                  ProtoCodec.toModel(request.getId()),
                  path(request.getFrom()),
                  path(request.getTo()),
                  request.getReplace()),
          ProtoCodec::toProto);
    }

    @Override
    public void delete(DeleteRequest request, StreamObserver<Done> reply) {
      UnaryReply.send(
          reply,
          "Delete",
          () ->
              master.delete(
                  ProtoCodec.toModel(request.getId()),
                  path(request.getPath()),
                  request.getRecursive(),
                  request.getSkipTrash()),
          MasterServer::done);
    }

    @Override
    public void restore(RestoreRequest request, StreamObserver<FileStatusProto> reply) {
      UnaryReply.send(
          reply,
          "Restore",
          () -> master.restore(ProtoCodec.toModel(request.getId()), path(request.getPath())),
          ProtoCodec::toProto);
    }

    @Override
    public void setAttributes(SetAttributesRequest request, StreamObserver<FileStatusProto> reply) {
      UnaryReply.send(
          reply,
          "SetAttributes",
          () ->
              master.setAttributes(
                  ProtoCodec.toModel(request.getId()),
                  path(request.getPath()),
                  MasterCodec.toModel(request)),
          ProtoCodec::toProto);
    }

    @Override
    public void trash(TrashRequest request, StreamObserver<TrashResponse> reply) {
      UnaryReply.send(
          reply,
          "Trash",
          master::trash,
          entries ->
              TrashResponse.newBuilder()
                  .addAllEntries(each(entries, MasterCodec::toProto))
                  .build());
    }

    @Override
    public void emptyTrash(EmptyTrashRequest request, StreamObserver<EmptyTrashResponse> reply) {
      UnaryReply.send(
          reply,
          "EmptyTrash",
          () ->
              master.emptyTrash(ProtoCodec.toModel(request.getId()), request.getOlderThanMillis()),
          count -> EmptyTrashResponse.newBuilder().setCount(count).build());
    }

    @Override
    public void usage(UsageRequest request, StreamObserver<UsageProto> reply) {
      UnaryReply.send(
          reply, "Usage", () -> master.usage(path(request.getPath())), MasterCodec::toProto);
    }
  }

  /** What operators ask. */
  private final class Operators extends AdminServiceGrpc.AdminServiceImplBase {
    @Override
    public void status(StatusRequest request, StreamObserver<ClusterStatusProto> reply) {
      UnaryReply.send(reply, "Status", admin::status, MasterCodec::toProto);
    }

    @Override
    public void nodes(NodesRequest request, StreamObserver<NodesResponse> reply) {
      UnaryReply.send(
          reply,
          "Nodes",
          admin::nodes,
          nodes ->
              NodesResponse.newBuilder().addAllNodes(each(nodes, MasterCodec::toProto)).build());
    }

    @Override
    public void drain(DrainRequest request, StreamObserver<Done> reply) {
      UnaryReply.send(
          reply,
          "Drain",
          () -> admin.drain(new ServerId(request.getServer()), request.getUndo()),
          MasterServer::done);
    }

    @Override
    public void removeNode(RemoveNodeRequest request, StreamObserver<Done> reply) {
      UnaryReply.send(
          reply,
          "RemoveNode",
          () -> admin.removeNode(new ServerId(request.getServer())),
          MasterServer::done);
    }

    @Override
    public void leases(LeasesRequest request, StreamObserver<LeasesResponse> reply) {
      UnaryReply.send(
          reply,
          "Leases",
          () ->
              admin.leases(
                  request.hasServer()
                      ? Optional.of(new ServerId(request.getServer()))
                      : Optional.empty()),
          leases ->
              LeasesResponse.newBuilder().addAllLeases(each(leases, MasterCodec::toProto)).build());
    }

    @Override
    public void chunk(ChunkRequest request, StreamObserver<ChunkStatusProto> reply) {
      UnaryReply.send(
          reply,
          "Chunk",
          () -> admin.chunk(new ChunkHandle(request.getChunk())),
          MasterCodec::toProto);
    }

    @Override
    public void why(WhyRequest request, StreamObserver<WhyResponse> reply) {
      UnaryReply.send(
          reply,
          "Why",
          () -> admin.why(new ChunkHandle(request.getChunk())),
          waits -> WhyResponse.newBuilder().addAllWaits(each(waits, MasterCodec::toProto)).build());
    }

    @Override
    public void events(EventsRequest request, StreamObserver<EventsResponse> reply) {
      UnaryReply.send(
          reply,
          "Events",
          () -> admin.events(request.getAfter(), request.getLimit(), request.getWaitNanos()),
          events ->
              EventsResponse.newBuilder().addAllEvents(each(events, ProtoCodec::toProto)).build());
    }

    @Override
    public void check(CheckRequest request, StreamObserver<CheckResponse> reply) {
      UnaryReply.send(
          reply,
          "Check",
          () -> admin.check(path(request.getPath()), request.getAfter(), request.getLimit()),
          findings ->
              CheckResponse.newBuilder()
                  .addAllFindings(each(findings, MasterCodec::toProto))
                  .build());
    }

    @Override
    public void raiseGeneration(
        RaiseGenerationRequest request, StreamObserver<RaiseGenerationResponse> reply) {
      UnaryReply.send(
          reply,
          "RaiseGeneration",
          admin::raiseGeneration,
          generation -> RaiseGenerationResponse.newBuilder().setGeneration(generation).build());
    }

    @Override
    public void quarantined(QuarantinedRequest request, StreamObserver<QuarantinedResponse> reply) {
      UnaryReply.send(
          reply,
          "Quarantined",
          () ->
              admin.quarantined(
                  request.getAfterServer().isEmpty()
                      ? Optional.empty()
                      : Optional.of(
                          new AdminApi.CopyName(
                              new ServerId(request.getAfterServer()),
                              new ChunkHandle(request.getAfterChunk()))),
                  request.getLimit()),
          copies ->
              QuarantinedResponse.newBuilder()
                  .addAllCopies(each(copies, MasterCodec::toProto))
                  .build());
    }

    @Override
    public void deleteQuarantined(DeleteQuarantinedRequest request, StreamObserver<Done> reply) {
      UnaryReply.send(
          reply,
          "DeleteQuarantined",
          () ->
              admin.deleteQuarantined(
                  new AdminApi.CopyName(
                      new ServerId(request.getServer()), new ChunkHandle(request.getChunk())),
                  new ReplicaId(request.getReplica())),
          MasterServer::done);
    }
  }
}
