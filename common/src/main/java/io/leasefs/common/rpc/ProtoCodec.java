package io.leasefs.common.rpc;

import io.leasefs.common.api.MasterApi.Publication;
import io.leasefs.common.error.ErrorCode;
import io.leasefs.common.model.ChunkHandle;
import io.leasefs.common.model.ChunkLayout;
import io.leasefs.common.model.ChunkSeal;
import io.leasefs.common.model.ChunkSpec;
import io.leasefs.common.model.ClientId;
import io.leasefs.common.model.ClusterEvent;
import io.leasefs.common.model.Configuration;
import io.leasefs.common.model.DiskId;
import io.leasefs.common.model.Durability;
import io.leasefs.common.model.Endpoints;
import io.leasefs.common.model.EventKind;
import io.leasefs.common.model.FileId;
import io.leasefs.common.model.FileLayout;
import io.leasefs.common.model.FilePath;
import io.leasefs.common.model.FileStatus;
import io.leasefs.common.model.LeaseGrant;
import io.leasefs.common.model.Location;
import io.leasefs.common.model.Member;
import io.leasefs.common.model.ReplicaId;
import io.leasefs.common.model.RequestId;
import io.leasefs.common.model.ServerAddress;
import io.leasefs.common.model.ServerId;
import io.leasefs.proto.v1.ChunkLayoutProto;
import io.leasefs.proto.v1.ChunkSealProto;
import io.leasefs.proto.v1.ChunkSpecProto;
import io.leasefs.proto.v1.ClientIdProto;
import io.leasefs.proto.v1.ClusterEventProto;
import io.leasefs.proto.v1.ConfigurationProto;
import io.leasefs.proto.v1.DurabilityProto;
import io.leasefs.proto.v1.EndpointsProto;
import io.leasefs.proto.v1.ErrorCodeProto;
import io.leasefs.proto.v1.EventFieldProto;
import io.leasefs.proto.v1.EventKindProto;
import io.leasefs.proto.v1.FileLayoutProto;
import io.leasefs.proto.v1.FileStatusProto;
import io.leasefs.proto.v1.LeaseGrantProto;
import io.leasefs.proto.v1.LocationProto;
import io.leasefs.proto.v1.MemberProto;
import io.leasefs.proto.v1.PeerAddressProto;
import io.leasefs.proto.v1.PublicationProto;
import io.leasefs.proto.v1.RequestIdProto;
import io.leasefs.proto.v1.ServerAddressProto;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.function.Function;

/**
 * Translates the values of {@code common.model} to protobuf and back. {@code toModel} fails with
 * {@link IllegalArgumentException} or a {@code LeaseFsException} of INVALID_ARGUMENT or
 * INVALID_PATH where a message holds what the model forbids. Any thread; no state.
 */
public final class ProtoCodec {
  private static final EnumTable<Durability, DurabilityProto> DURABILITY =
      new EnumTable<>(Durability.class, DurabilityProto.class, "DURABILITY_");
  private static final EnumTable<EventKind, EventKindProto> EVENT_KIND =
      new EnumTable<>(EventKind.class, EventKindProto.class, "EVENT_KIND_");
  private static final EnumTable<ErrorCode, ErrorCodeProto> ERROR_CODE =
      new EnumTable<>(ErrorCode.class, ErrorCodeProto.class, "ERROR_CODE_");

  private ProtoCodec() {}

  static <A, B> List<B> each(List<A> values, Function<? super A, ? extends B> translation) {
    List<B> result = new ArrayList<>(values.size());
    for (A value : values) {
      result.add(translation.apply(value));
    }
    return result;
  }

  public static DurabilityProto toProto(Durability value) {
    return DURABILITY.toProto(value);
  }

  public static Durability toModel(DurabilityProto value) {
    return DURABILITY.toModel(value);
  }

  public static EventKindProto toProto(EventKind value) {
    return EVENT_KIND.toProto(value);
  }

  public static EventKind toModel(EventKindProto value) {
    return EVENT_KIND.toModel(value);
  }

  public static ErrorCodeProto toProto(ErrorCode value) {
    return ERROR_CODE.toProto(value);
  }

  public static ErrorCode toModel(ErrorCodeProto value) {
    return ERROR_CODE.toModel(value);
  }

  public static ServerAddressProto toProto(ServerAddress value) {
    return ServerAddressProto.newBuilder().setHost(value.host()).setPort(value.port()).build();
  }

  public static ServerAddress toModel(ServerAddressProto value) {
    return new ServerAddress(value.getHost(), value.getPort());
  }

  public static EndpointsProto toProto(Endpoints value) {
    return EndpointsProto.newBuilder()
        .setInternal(toProto(value.internal()))
        .setExternal(toProto(value.external()))
        .build();
  }

  public static Endpoints toModel(EndpointsProto value) {
    return new Endpoints(toModel(value.getInternal()), toModel(value.getExternal()));
  }

  public static ClientIdProto toProto(ClientId value) {
    return ClientIdProto.newBuilder().setHigh(value.high()).setLow(value.low()).build();
  }

  public static ClientId toModel(ClientIdProto value) {
    return new ClientId(value.getHigh(), value.getLow());
  }

  public static RequestIdProto toProto(RequestId value) {
    return RequestIdProto.newBuilder()
        .setClient(toProto(value.client()))
        .setSequence(value.sequence())
        .setFloor(value.floor())
        .setNewestForgetting(value.newestForgetting())
        .build();
  }

  public static PublicationProto toProto(Publication value) {
    PublicationProto.Builder builder =
        PublicationProto.newBuilder().setTarget(value.target().text()).setReplace(value.replace());
    value.modifiedMillis().ifPresent(builder::setModifiedMillis);
    return builder.build();
  }

  public static Publication toModel(PublicationProto value) {
    return new Publication(
        new FilePath(value.getTarget()),
        value.getReplace(),
        value.hasModifiedMillis() ? Optional.of(value.getModifiedMillis()) : Optional.empty());
  }

  public static RequestId toModel(RequestIdProto value) {
    return new RequestId(
        toModel(value.getClient()),
        value.getSequence(),
        value.getFloor(),
        value.getNewestForgetting());
  }

  public static ChunkSpecProto toProto(ChunkSpec value) {
    return ChunkSpecProto.newBuilder()
        .setHandle(value.handle().value())
        .setFile(value.file().value())
        .setCapacityBytes(value.capacityBytes())
        .setDurability(toProto(value.durability()))
        .build();
  }

  public static ChunkSpec toModel(ChunkSpecProto value) {
    return new ChunkSpec(
        new ChunkHandle(value.getHandle()),
        new FileId(value.getFile()),
        value.getCapacityBytes(),
        toModel(value.getDurability()));
  }

  public static ChunkSealProto toProto(ChunkSeal value) {
    return ChunkSealProto.newBuilder()
        .setSerial(value.serial())
        .setLengthBytes(value.lengthBytes())
        .setChecksum(value.checksum())
        .build();
  }

  public static ChunkSeal toModel(ChunkSealProto value) {
    return new ChunkSeal(value.getSerial(), value.getLengthBytes(), value.getChecksum());
  }

  public static MemberProto toProto(Member value) {
    return MemberProto.newBuilder()
        .setServer(value.server().name())
        .setDisk(value.disk().text())
        .setReplica(value.replica().value())
        .build();
  }

  public static Member toModel(MemberProto value) {
    return new Member(
        new ServerId(value.getServer()),
        new DiskId(value.getDisk()),
        new ReplicaId(value.getReplica()));
  }

  public static ConfigurationProto toProto(Configuration value) {
    ConfigurationProto.Builder builder =
        ConfigurationProto.newBuilder()
            .setVersion(value.version())
            .addAllMembers(each(value.members(), ProtoCodec::toProto))
            .setFirstSerial(value.firstSerial());
    value.primary().ifPresent(primary -> builder.setPrimary(primary.name()));
    return builder.build();
  }

  public static Configuration toModel(ConfigurationProto value) {
    return new Configuration(
        value.getVersion(),
        value.hasPrimary() ? Optional.of(new ServerId(value.getPrimary())) : Optional.empty(),
        each(value.getMembersList(), ProtoCodec::toModel),
        value.getFirstSerial());
  }

  public static LocationProto toProto(Location value) {
    return LocationProto.newBuilder()
        .setMember(toProto(value.member()))
        .setAddress(toProto(value.address()))
        .setRack(value.rack())
        .build();
  }

  public static Location toModel(LocationProto value) {
    return new Location(toModel(value.getMember()), toModel(value.getAddress()), value.getRack());
  }

  public static ChunkLayoutProto toProto(ChunkLayout value) {
    ChunkLayoutProto.Builder builder =
        ChunkLayoutProto.newBuilder()
            .setSpec(toProto(value.spec()))
            .setIndex(value.index())
            .setFileOffset(value.fileOffset())
            .setConfiguration(toProto(value.configuration()))
            .addAllLocations(each(value.locations(), ProtoCodec::toProto))
            .setToken(value.token());
    value.seal().ifPresent(seal -> builder.setSeal(toProto(seal)));
    return builder.build();
  }

  public static ChunkLayout toModel(ChunkLayoutProto value) {
    return new ChunkLayout(
        toModel(value.getSpec()),
        value.getIndex(),
        value.getFileOffset(),
        toModel(value.getConfiguration()),
        each(value.getLocationsList(), ProtoCodec::toModel),
        value.hasSeal() ? Optional.of(toModel(value.getSeal())) : Optional.empty(),
        value.getToken());
  }

  public static LeaseGrantProto toProto(LeaseGrant value) {
    LeaseGrantProto.Builder builder =
        LeaseGrantProto.newBuilder()
            .setSpec(toProto(value.spec()))
            .setToken(value.token())
            .setConfiguration(toProto(value.configuration()));
    value
        .peers()
        .forEach(
            (server, address) ->
                builder.addPeers(
                    PeerAddressProto.newBuilder()
                        .setServer(server.name())
                        .setAddress(toProto(address))));
    return builder.build();
  }

  public static LeaseGrant toModel(LeaseGrantProto value) {
    Map<ServerId, ServerAddress> peers = new TreeMap<>();
    for (PeerAddressProto peer : value.getPeersList()) {
      peers.put(new ServerId(peer.getServer()), toModel(peer.getAddress()));
    }
    return new LeaseGrant(
        toModel(value.getSpec()), value.getToken(), toModel(value.getConfiguration()), peers);
  }

  public static FileStatusProto toProto(FileStatus value) {
    return FileStatusProto.newBuilder()
        .setPath(value.path().text())
        .setId(value.id().value())
        .setFolder(value.folder())
        .setLengthBytes(value.lengthBytes())
        .setReplication(value.replication())
        .setChunkBytes(value.chunkBytes())
        .setDurability(toProto(value.durability()))
        .setMode(value.mode())
        .setModifiedMillis(value.modifiedMillis())
        .setCreatedMillis(value.createdMillis())
        .setOpenWriters(value.openWriters())
        .setChunkCount(value.chunkCount())
        .build();
  }

  public static FileStatus toModel(FileStatusProto value) {
    return new FileStatus(
        new FilePath(value.getPath()),
        new FileId(value.getId()),
        value.getFolder(),
        value.getLengthBytes(),
        value.getReplication(),
        value.getChunkBytes(),
        toModel(value.getDurability()),
        value.getMode(),
        value.getModifiedMillis(),
        value.getCreatedMillis(),
        value.getOpenWriters(),
        value.getChunkCount());
  }

  public static FileLayoutProto toProto(FileLayout value) {
    return FileLayoutProto.newBuilder()
        .setFile(value.file().value())
        .setStatus(toProto(value.status()))
        .addAllChunks(each(value.chunks(), ProtoCodec::toProto))
        .setComplete(value.complete())
        .build();
  }

  public static FileLayout toModel(FileLayoutProto value) {
    return new FileLayout(
        new FileId(value.getFile()),
        toModel(value.getStatus()),
        each(value.getChunksList(), ProtoCodec::toModel),
        value.getComplete());
  }

  public static ClusterEventProto toProto(ClusterEvent value) {
    ClusterEventProto.Builder builder =
        ClusterEventProto.newBuilder()
            .setNumber(value.number())
            .setRecorder(value.recorder().name())
            .setWallMillis(value.wallMillis())
            .setMonotonicNanos(value.monotonicNanos())
            .setKind(toProto(value.kind()))
            .setVersion(value.version());
    value.subject().ifPresent(subject -> builder.setSubject(subject.name()));
    value.chunk().ifPresent(chunk -> builder.setChunk(chunk.value()));
    value
        .fields()
        .forEach(
            (name, text) ->
                builder.addFields(EventFieldProto.newBuilder().setName(name).setValue(text)));
    return builder.build();
  }

  public static ClusterEvent toModel(ClusterEventProto value) {
    Map<String, String> fields = new TreeMap<>();
    for (EventFieldProto field : value.getFieldsList()) {
      fields.put(field.getName(), field.getValue());
    }
    return new ClusterEvent(
        value.getNumber(),
        new ServerId(value.getRecorder()),
        value.getWallMillis(),
        value.getMonotonicNanos(),
        toModel(value.getKind()),
        value.hasSubject() ? Optional.of(new ServerId(value.getSubject())) : Optional.empty(),
        value.hasChunk() ? Optional.of(new ChunkHandle(value.getChunk())) : Optional.empty(),
        value.getVersion(),
        fields);
  }
}
