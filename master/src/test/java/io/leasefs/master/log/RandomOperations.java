package io.leasefs.master.log;

import io.leasefs.common.api.MasterApi.Publication;
import io.leasefs.common.model.ChunkHandle;
import io.leasefs.common.model.ChunkSeal;
import io.leasefs.common.model.ClientId;
import io.leasefs.common.model.DiskId;
import io.leasefs.common.model.Durability;
import io.leasefs.common.model.Endpoints;
import io.leasefs.common.model.FileId;
import io.leasefs.common.model.FilePath;
import io.leasefs.common.model.Member;
import io.leasefs.common.model.ReplicaId;
import io.leasefs.common.model.RequestId;
import io.leasefs.common.model.SealedChunk;
import io.leasefs.common.model.ServerAddress;
import io.leasefs.common.model.ServerId;
import io.leasefs.common.model.SessionId;
import io.leasefs.master.log.Operation.ChangeReason;
import io.leasefs.master.log.Operation.ClientCall;
import io.leasefs.master.log.Operation.LeaseId;
import io.leasefs.master.log.Operation.Participant;
import io.leasefs.master.log.Operation.Placement;
import io.leasefs.master.log.Operation.Seed;
import io.leasefs.master.state.ChunkEntry;
import io.leasefs.master.state.ChunkEntry.Learner;
import io.leasefs.master.state.ChunkEntry.Pending;
import io.leasefs.master.state.FileEntry;
import io.leasefs.master.state.FileEntry.Opening;
import io.leasefs.master.state.ServerEntry;
import io.leasefs.master.state.SessionEntry;
import io.leasefs.master.state.StateView;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Random;
import java.util.TreeMap;

/** Draws operations that mostly make sense for a state, and sometimes not at all. */
public final class RandomOperations {
  private static final int SERVERS = 5;
  private static final int CLIENTS = 4;
  private static final String[] NAMES = {
    "a", "b", "c", "d", "été", FilePath.HIDDEN_PREFIX + "1", FilePath.HIDDEN_PREFIX + "2"
  };

  private final Random random;
  private final StateView state;
  private final TreeMap<ClientId, Long> sequences = new TreeMap<>();
  private final TreeMap<ClientId, Long> floors = new TreeMap<>();
  private long serial;
  private long wall = 1_000_000;

  public RandomOperations(Random random, StateView state) {
    this.random = random;
    this.state = state;
  }

  /** The next operation; the term of an entry is 3, of a stale clock decision 2. */
  public Operation next() {
    wall += random.nextInt(50);
    return switch (random.nextInt(34)) {
      case 0, 1 -> register();
      case 2 -> new Operation.EndSessions(term(), someSessions(), wall);
      case 3 -> new Operation.ForgetClients(term(), random.nextLong(state.lastApplied() + 1));
      case 4, 5, 6, 7 -> create();
      case 8 -> new Operation.OpenForWrite(call(), path(), random.nextInt(20) == 0 ? 1 : 0, wall);
      case 9, 10 -> addChunk();
      case 11, 12 -> close();
      case 13, 14 -> new Operation.Mkdir(call(), path(), random.nextBoolean(), 0755, wall);
      case 15, 16 -> new Operation.Rename(call(), path(), path(), random.nextBoolean(), wall);
      case 17, 18 ->
          new Operation.Delete(call(), path(), random.nextInt(3) > 0, random.nextBoolean(), wall);
      case 19 -> new Operation.Restore(call(), trashedPath(), wall);
      case 20 -> setAttributes();
      case 21 ->
          new Operation.EmptyTrash(
              random.nextBoolean() ? Optional.of(call()) : Optional.empty(),
              wall - random.nextInt(2_000));
      case 22 -> new Operation.PurgeFiles(random.nextBoolean() ? state.purgeable(5) : someFiles());
      case 23 -> begin();
      case 24 -> recover();
      case 25 -> activate();
      case 26 -> seal();
      case 27 -> leaseOperation();
      case 28 -> order();
      case 29 -> join();
      case 30 -> remove();
      case 31 -> serverOperation();
      case 32 ->
          new Operation.AbandonChange(
              someChunk().orElse(new ChunkHandle(1)),
              someEntry().flatMap(ChunkEntry::pending).map(Pending::version).orElse(2L));
      default ->
          switch (random.nextInt(8)) {
            case 0 -> new Operation.FoundCluster("cluster", wall);
            case 1 -> new Operation.RaiseGeneration(state.generation() + random.nextInt(2));
            default -> new Operation.Barrier();
          };
    };
  }

  private long term() {
    return random.nextInt(4) == 0 ? 2 : 3;
  }

  // ---------------------------------------------------------------- servers and sessions

  private static ServerId server(int number) {
    return new ServerId("cs" + number);
  }

  private Operation register() {
    ServerId server = server(random.nextInt(SERVERS));
    long known = state.server(server).map(ServerEntry::incarnation).orElse(0L);
    long incarnation = Math.max(1, known + random.nextInt(4) - 1);
    return new Operation.RegisterServer(
        server,
        new Endpoints(
            new ServerAddress("10.0.0.1", 7000), new ServerAddress("example.org", 17_000)),
        "rack" + random.nextInt(3),
        incarnation,
        random.nextInt(20) == 0 ? 7 : incarnation * 31,
        "boot" + random.nextInt(2),
        10_000_000_000L,
        List.of(disk(server), new DiskId(server.name() + "-second")),
        wall);
  }

  private static DiskId disk(ServerId server) {
    return new DiskId(server.name() + "-first");
  }

  private Operation serverOperation() {
    ServerId server = server(random.nextInt(SERVERS + 1));
    return random.nextInt(4) == 0
        ? new Operation.RemoveServer(server)
        : new Operation.DrainServer(server, random.nextBoolean());
  }

  private List<SessionId> someSessions() {
    List<SessionId> some = new ArrayList<>();
    for (SessionEntry session : state.sessions()) {
      if (random.nextInt(6) == 0) {
        some.add(session.session());
      }
    }
    if (random.nextInt(10) == 0) {
      some.add(new SessionId(123_456));
    }
    return some;
  }

  private ClientCall call() {
    ClientId client = new ClientId(-5, random.nextInt(CLIENTS));
    long last = sequences.getOrDefault(client, 0L);
    long sequence = random.nextInt(8) == 0 && last > 0 ? last : last + 1;
    sequences.put(client, sequence);
    long floor = floors.getOrDefault(client, 1L);
    if (random.nextInt(3) == 0) {
      floor = Math.max(floor, sequence - random.nextInt(5));
      floors.put(client, floor);
    }
    long greeted = random.nextInt(20) == 0 ? 0 : state.lastApplied();
    return new ClientCall(new RequestId(client, sequence, floor, greeted), 60_000_000_000L);
  }

  // ---------------------------------------------------------------- files

  private FilePath path() {
    FilePath path = FilePath.ROOT;
    for (int depth = 1 + random.nextInt(3); depth > 0; depth--) {
      path = path.child(NAMES[random.nextInt(NAMES.length)]);
    }
    return random.nextInt(60) == 0 ? FilePath.ROOT : path;
  }

  private FilePath trashedPath() {
    return state.trash().isEmpty()
        ? path()
        : state.trash().get(random.nextInt(state.trash().size())).path();
  }

  private List<FileId> someFiles() {
    return List.of(new FileId(random.nextInt(40)), new FileId(random.nextInt(40)));
  }

  private List<Placement> placements() {
    List<Placement> places = new ArrayList<>();
    for (ServerEntry server : state.servers()) {
      if (random.nextInt(3) > 0) {
        places.add(placement(server));
      }
    }
    return places;
  }

  private Placement placement(ServerEntry server) {
    long incarnation = server.incarnation() + (random.nextInt(40) == 0 ? 1 : 0);
    return new Placement(
        server.server(),
        disk(server.server()),
        incarnation,
        server.session().orElse(new SessionId(0)));
  }

  private Operation create() {
    return new Operation.CreateFile(
        call(),
        path(),
        random.nextBoolean(),
        random.nextInt(30) == 0 ? 0 : 1 + random.nextInt(3),
        random.nextInt(30) == 0 ? 5 : 1L << (20 + random.nextInt(11)),
        random.nextBoolean() ? Durability.SYNCED : Durability.REPLICATED,
        0644,
        random.nextInt(4) == 0 ? List.of() : placements(),
        wall,
        term());
  }

  private Operation addChunk() {
    Optional<FileEntry> file = someOpenFile();
    int count = file.map(f -> f.chunks().size()).orElse(0);
    Optional<ChunkEntry> last =
        file.filter(f -> count > 0).flatMap(f -> state.chunk(f.chunks().getLast()));
    return new Operation.AddChunk(
        file.map(this::callOfOpener).orElseGet(this::call),
        file.map(FileEntry::file).orElse(new FileId(random.nextInt(30))),
        count - 1 - (random.nextInt(6) == 0 ? 1 : 0),
        last.flatMap(this::someSeal),
        placements(),
        wall);
  }

  /** The right one, none at all as in format 1, or another. */
  private ChunkHandle sealedChunk(ChunkEntry last) {
    int chance = random.nextInt(8);
    return chance == 0
        ? new ChunkHandle(0)
        : chance == 1 ? new ChunkHandle(1 + random.nextInt(30)) : last.handle();
  }

  private Operation close() {
    Optional<FileEntry> file = someOpenFile();
    Optional<ChunkEntry> last =
        file.filter(f -> !f.chunks().isEmpty()).flatMap(f -> state.chunk(f.chunks().getLast()));
    return new Operation.CloseFile(
        file.map(this::callOfOpener).orElseGet(this::call),
        file.map(FileEntry::file).orElse(new FileId(random.nextInt(30))),
        file.filter(f -> !f.openings().isEmpty())
            .map(f -> f.openings().getFirst().openNumber())
            .orElse(5L),
        last.flatMap(
            chunk -> someSeal(chunk).map(seal -> new SealedChunk(sealedChunk(chunk), seal))),
        random.nextInt(8) == 0
            ? Optional.of(
                new Publication(
                    path(),
                    random.nextBoolean(),
                    random.nextBoolean() ? Optional.of(wall) : Optional.empty()))
            : Optional.empty(),
        random.nextInt(6) == 0,
        wall);
  }

  private Optional<FileEntry> someOpenFile() {
    List<FileId> open = new ArrayList<>();
    for (SessionEntry session : state.sessions()) {
      open.addAll(state.openFiles(session.session()));
    }
    return open.isEmpty() ? Optional.empty() : state.file(open.get(random.nextInt(open.size())));
  }

  private ClientCall callOfOpener(FileEntry file) {
    for (Opening opening : file.openings()) {
      Optional<ClientId> client = state.session(opening.session()).flatMap(SessionEntry::client);
      if (client.isPresent()) {
        long sequence = sequences.merge(client.get(), 1L, Long::sum);
        long floor = Math.max(1, sequence - random.nextInt(5));
        floor = floors.merge(client.get(), floor, Math::max);
        return new ClientCall(
            new RequestId(client.get(), Math.max(sequence, floor), floor, state.lastApplied()),
            60_000_000_000L);
      }
    }
    return call();
  }

  private Operation setAttributes() {
    return new Operation.SetAttributes(
        call(),
        path(),
        random.nextBoolean() ? Optional.of(random.nextInt(5)) : Optional.empty(),
        random.nextBoolean() ? Optional.of(0600) : Optional.empty(),
        random.nextBoolean() ? Optional.of(wall - 5) : Optional.empty(),
        wall);
  }

  // ---------------------------------------------------------------- chunks

  private Optional<ChunkHandle> someChunk() {
    List<ChunkHandle> pending = state.pendingChanges();
    if (!pending.isEmpty() && random.nextBoolean()) {
      return Optional.of(pending.get(random.nextInt(pending.size())));
    }
    List<ChunkEntry> all = state.chunksAfter(new ChunkHandle(0), 1000);
    return all.isEmpty()
        ? Optional.empty()
        : Optional.of(all.get(random.nextInt(all.size())).handle());
  }

  private Optional<ChunkEntry> someEntry() {
    return someChunk().flatMap(state::chunk);
  }

  private Optional<ChunkSeal> someSeal(ChunkEntry chunk) {
    if (chunk.seal().isPresent() && random.nextInt(4) > 0) {
      return chunk.seal();
    }
    serial++;
    return random.nextInt(5) == 0 ? Optional.empty() : Optional.of(newSeal(chunk));
  }

  private ChunkSeal newSeal(ChunkEntry chunk) {
    serial++;
    long length = chunk.seal().map(ChunkSeal::lengthBytes).orElse((long) random.nextInt(1000));
    return new ChunkSeal(chunk.active().firstSerial() + serial, length, random.nextInt());
  }

  private Operation begin() {
    Optional<ChunkEntry> chunk = someEntry();
    ChangeReason[] reasons = ChangeReason.values();
    boolean sealed = chunk.map(ChunkEntry::isSealed).orElse(false);
    boolean revoke = random.nextBoolean();
    return new Operation.BeginChange(
        chunk.map(ChunkEntry::handle).orElse(new ChunkHandle(3)),
        chunk.map(ChunkEntry::lastVersion).orElse(1L) + (random.nextInt(10) == 0 ? 2 : 1),
        sealed ? ChangeReason.REOPEN : reasons[random.nextInt(reasons.length)],
        revoke,
        !sealed && random.nextInt(3) == 0,
        random.nextInt(3) == 0 ? chunk.flatMap(this::someSeed) : Optional.empty());
  }

  private Optional<Seed> someSeed(ChunkEntry chunk) {
    List<Member> members = chunk.active().members();
    ServerId server = members.get(random.nextInt(members.size())).server();
    return state.server(server).map(entry -> new Seed(server, entry.incarnation()));
  }

  private Operation recover() {
    ChunkEntry chunk = someEntry().orElse(null);
    if (chunk == null || chunk.pending().isEmpty()) {
      return new Operation.RecoverChange(new ChunkHandle(9), 2, new Seed(server(1), 1), List.of());
    }
    Optional<Seed> seed = chunk.pending().get().seed().or(() -> someSeed(chunk));
    List<Participant> targets = new ArrayList<>();
    List<Member> candidates = new ArrayList<>(chunk.active().members());
    chunk.learners().stream().map(Learner::member).forEach(candidates::add);
    for (Member member : candidates) {
      Optional<ServerEntry> server = state.server(member.server());
      boolean isSeed = seed.filter(s -> s.server().equals(member.server())).isPresent();
      if (server.isPresent() && server.get().session().isPresent() && !isSeed) {
        targets.add(new Participant(member, server.get().incarnation()));
      }
    }
    return new Operation.RecoverChange(
        chunk.handle(),
        chunk.pending().get().version(),
        seed.orElse(new Seed(server(0), 1)),
        targets);
  }

  private List<Participant> started(ChunkEntry chunk) {
    List<Participant> members = new ArrayList<>(chunk.pending().orElseThrow().targets());
    chunk
        .pending()
        .orElseThrow()
        .seed()
        .ifPresent(
            seed ->
                chunk
                    .active()
                    .memberAt(seed.server())
                    .ifPresent(
                        member -> members.addFirst(new Participant(member, seed.incarnation()))));
    return members;
  }

  private Operation activate() {
    ChunkEntry chunk = someEntry().orElse(null);
    if (chunk == null || chunk.pending().isEmpty()) {
      return new Operation.Activate(new ChunkHandle(9), 2, new SessionId(1), List.of(), 1, 1);
    }
    List<Participant> members = started(chunk);
    Optional<SessionId> session =
        members.isEmpty()
            ? Optional.empty()
            : state.server(members.getFirst().member().server()).flatMap(ServerEntry::session);
    serial++;
    return new Operation.Activate(
        chunk.handle(),
        chunk.pending().get().version(),
        session.orElse(new SessionId(0)),
        members,
        serial,
        1 + random.nextInt(2));
  }

  private Operation seal() {
    ChunkEntry chunk = someEntry().orElse(null);
    if (chunk == null) {
      return new Operation.SealChunk(
          new ChunkHandle(9), 2, new ChunkSeal(1, 1, 1), List.of(), 1, 1, wall);
    }
    boolean pending = chunk.pending().isPresent() && random.nextBoolean();
    ChunkSeal seal = newSeal(chunk);
    return new Operation.SealChunk(
        chunk.handle(),
        pending ? chunk.pending().get().version() : chunk.active().version(),
        seal,
        pending ? started(chunk) : List.of(),
        pending ? seal.serial() - 1 : 0,
        1,
        wall);
  }

  private Operation leaseOperation() {
    ChunkEntry chunk = someEntry().orElse(null);
    if (chunk == null || chunk.lease().isEmpty()) {
      return new Operation.EndLeases(List.of());
    }
    LeaseId lease =
        new LeaseId(
            chunk.handle(),
            chunk.lease().get().version() + (random.nextInt(5) == 0 ? 1 : 0),
            chunk.lease().get().session());
    return switch (random.nextInt(3)) {
      case 0 -> new Operation.RevokeLease(lease);
      case 1 -> new Operation.EndLeases(List.of(lease));
      default -> new Operation.ExpireRevocation(term(), lease);
    };
  }

  private Operation order() {
    Optional<ChunkHandle> chunk = someChunk();
    List<ServerEntry> servers = state.servers();
    if (chunk.isEmpty() || servers.isEmpty()) {
      return new Operation.Barrier();
    }
    ServerEntry server = servers.get(random.nextInt(servers.size()));
    Optional<ReplicaId> replaces =
        state
            .chunk(chunk.get())
            .filter(entry -> entry.pending().isPresent())
            .flatMap(entry -> entry.active().memberAt(server.server()))
            .map(Member::replica);
    return new Operation.OrderReplica(chunk.get(), placement(server), replaces);
  }

  private Operation join() {
    List<ChunkHandle> learning = state.chunksWithLearners();
    if (learning.isEmpty()) {
      return new Operation.JoinReplica(new ChunkHandle(9), server(1), new ReplicaId(1), 1, 10, 20);
    }
    ChunkEntry chunk = state.chunk(learning.get(random.nextInt(learning.size()))).orElseThrow();
    Member learner = chunk.learners().getFirst().member();
    return new Operation.JoinReplica(
        chunk.handle(),
        learner.server(),
        learner.replica(),
        state.server(learner.server()).map(ServerEntry::incarnation).orElse(0L),
        chunk.seal().map(ChunkSeal::lengthBytes).orElse(0L),
        chunk.seal().map(ChunkSeal::checksum).orElse(0));
  }

  private Operation remove() {
    ChunkEntry chunk = someEntry().orElse(null);
    if (chunk == null) {
      return new Operation.RemoveReplica(new ChunkHandle(9), server(1), new ReplicaId(1));
    }
    Member member =
        chunk.learners().isEmpty() || random.nextBoolean()
            ? chunk.active().members().getLast()
            : chunk.learners().getFirst().member();
    return new Operation.RemoveReplica(chunk.handle(), member.server(), member.replica());
  }
}
