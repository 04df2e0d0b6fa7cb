package io.leasefs.master.state;

import io.leasefs.common.api.MasterApi.Trashed;
import io.leasefs.common.api.MasterApi.Usage;
import io.leasefs.common.error.ErrorCode;
import io.leasefs.common.error.LeaseFsException;
import io.leasefs.common.model.ChunkHandle;
import io.leasefs.common.model.ChunkSeal;
import io.leasefs.common.model.ClientId;
import io.leasefs.common.model.Durability;
import io.leasefs.common.model.FileId;
import io.leasefs.common.model.FilePath;
import io.leasefs.common.model.FileStatus;
import io.leasefs.common.model.Ordinal;
import io.leasefs.common.model.RequestId;
import io.leasefs.common.model.ServerId;
import io.leasefs.common.model.SessionId;
import io.leasefs.master.log.Operation;
import io.leasefs.master.log.Operation.AbandonChange;
import io.leasefs.master.log.Operation.Activate;
import io.leasefs.master.log.Operation.AddChunk;
import io.leasefs.master.log.Operation.Barrier;
import io.leasefs.master.log.Operation.BeginChange;
import io.leasefs.master.log.Operation.ClientCall;
import io.leasefs.master.log.Operation.CloseFile;
import io.leasefs.master.log.Operation.CreateFile;
import io.leasefs.master.log.Operation.Delete;
import io.leasefs.master.log.Operation.DrainServer;
import io.leasefs.master.log.Operation.EmptyTrash;
import io.leasefs.master.log.Operation.EndLeases;
import io.leasefs.master.log.Operation.EndSessions;
import io.leasefs.master.log.Operation.ExpireRevocation;
import io.leasefs.master.log.Operation.ForgetClients;
import io.leasefs.master.log.Operation.FoundCluster;
import io.leasefs.master.log.Operation.JoinReplica;
import io.leasefs.master.log.Operation.Mkdir;
import io.leasefs.master.log.Operation.OpenForWrite;
import io.leasefs.master.log.Operation.OrderReplica;
import io.leasefs.master.log.Operation.PurgeFiles;
import io.leasefs.master.log.Operation.RaiseGeneration;
import io.leasefs.master.log.Operation.RecoverChange;
import io.leasefs.master.log.Operation.RegisterServer;
import io.leasefs.master.log.Operation.RemoveReplica;
import io.leasefs.master.log.Operation.RemoveServer;
import io.leasefs.master.log.Operation.Rename;
import io.leasefs.master.log.Operation.Restore;
import io.leasefs.master.log.Operation.RevokeLease;
import io.leasefs.master.log.Operation.SealChunk;
import io.leasefs.master.log.Operation.SetAttributes;
import io.leasefs.master.log.OperationResult;
import io.leasefs.master.log.OperationResult.Applied;
import io.leasefs.master.log.OperationResult.Done;
import io.leasefs.master.log.OperationResult.Rejected;
import io.leasefs.master.log.OperationResult.Value;
import io.leasefs.master.state.FileEntry.Place;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.NavigableSet;
import java.util.Optional;
import java.util.TreeSet;
import java.util.function.Function;

/**
 * All hard state of the master. {@link #apply} is its only way to change: pure and deterministic,
 * the same for a live entry, for catching up and for a restart.
 */
public final class MetadataState implements StateView {
  private final Namespace namespace;
  private final ChunkTable chunks;
  private final SessionTable sessions;
  private final RequestHistory history;
  private final ChunkChanges chunkChanges;
  private final SessionChanges sessionChanges;
  private final FileChanges fileChanges;
  private String clusterId = "";
  private int generation;
  private long forgotten;
  private long lastApplied;

  /** The state before the first entry. */
  public MetadataState() {
    this(new Namespace(), new ChunkTable(), new SessionTable(), new RequestHistory());
  }

  private MetadataState(
      Namespace namespace, ChunkTable chunks, SessionTable sessions, RequestHistory history) {
    this.namespace = namespace;
    this.chunks = chunks;
    this.sessions = sessions;
    this.history = history;
    chunkChanges = new ChunkChanges(namespace, chunks, sessions);
    sessionChanges = new SessionChanges(sessions, history, namespace, chunks, chunkChanges);
    fileChanges = new FileChanges(namespace, chunks, chunkChanges, sessionChanges);
  }

  // ---------------------------------------------------------------- changing

  /**
   * Applies one entry. A rejection is a result; an exception is a bug, and the process must stop.
   *
   * @param ordinal of the entry: of the present generation, above that of every entry before
   * @param entryTerm the Raft term of the entry
   */
  public OperationResult apply(long ordinal, long entryTerm, Operation operation) {
    if (ordinal <= lastApplied) {
      throw new IllegalStateException("entry " + ordinal + " after entry " + lastApplied);
    }
    lastApplied = ordinal;
    try {
      return route(ordinal, entryTerm, operation);
    } catch (LeaseFsException e) {
      return rejected(e);
    }
  }

  /** An entry without an operation (Raft's own) moves the position only. */
  public void skip(long ordinal) {
    lastApplied = Math.max(lastApplied, ordinal);
  }

  private OperationResult route(long at, long term, Operation operation) {
    return switch (operation) {
      case FoundCluster o -> applied(found(o));
      case RaiseGeneration o -> applied(raise(o, at));
      case RegisterServer o -> applied(sessionChanges.register(o, at));
      case DrainServer o -> applied(sessionChanges.drain(o));
      case RemoveServer o -> applied(sessionChanges.remove(o));
      case EndSessions o -> applied(sessionChanges.end(o, at, term));
      case ForgetClients o -> applied(forget(o, term));
      case CreateFile o -> once(o.call(), at, session -> fileChanges.create(o, session, at, term));
      case OpenForWrite o -> once(o.call(), at, session -> fileChanges.open(o, session, at));
      case AddChunk o -> once(o.call(), at, session -> fileChanges.addChunk(o, session, at));
      case CloseFile o -> once(o.call(), at, session -> fileChanges.close(o, session, at));
      case Mkdir o -> once(o.call(), at, session -> fileChanges.mkdir(o, at));
      case Rename o -> once(o.call(), at, session -> fileChanges.rename(o, at));
      case Delete o -> once(o.call(), at, session -> fileChanges.delete(o, at));
      case Restore o -> once(o.call(), at, session -> fileChanges.restore(o));
      case SetAttributes o -> once(o.call(), at, session -> fileChanges.setAttributes(o));
      case EmptyTrash o -> emptyTrash(o, at);
      case PurgeFiles o -> applied(fileChanges.purge(o));
      case BeginChange o -> applied(chunkChanges.begin(o, at));
      case RecoverChange o -> applied(chunkChanges.recover(o));
      case Activate o -> applied(chunkChanges.activate(o, at));
      case SealChunk o -> applied(chunkChanges.seal(o));
      case AbandonChange o -> applied(chunkChanges.abandon(o));
      case RevokeLease o -> applied(chunkChanges.revoke(o));
      case EndLeases o -> applied(chunkChanges.end(o));
      case ExpireRevocation o -> applied(chunkChanges.expire(o, term));
      case OrderReplica o -> applied(chunkChanges.order(o, at));
      case JoinReplica o -> applied(chunkChanges.join(o));
      case RemoveReplica o -> applied(chunkChanges.remove(o));
      case Barrier o -> applied(Done.DONE);
    };
  }

  private OperationResult once(ClientCall call, long ordinal, Function<SessionId, Value> body) {
    return sessionChanges.once(call, forgotten, ordinal, body);
  }

  private OperationResult emptyTrash(EmptyTrash operation, long ordinal) {
    return operation.call().isPresent()
        ? once(operation.call().get(), ordinal, session -> fileChanges.emptyTrash(operation))
        : applied(fileChanges.emptyTrash(operation));
  }

  private Value found(FoundCluster operation) {
    if (!clusterId.isEmpty()) {
      throw new LeaseFsException(
          ErrorCode.ALREADY_EXISTS, "this log is of cluster " + clusterId + " already");
    }
    clusterId = operation.clusterId();
    return Done.DONE;
  }

  private Value raise(RaiseGeneration operation, long ordinal) {
    if (operation.generation() <= generation) {
      throw new LeaseFsException(
          ErrorCode.INVALID_ARGUMENT, "the generation is " + generation + " already");
    }
    // All that was heard of the log as it was before is below from here on.
    lastApplied = Ordinal.of(operation.generation(), Ordinal.index(lastApplied));
    generation = operation.generation();
    // Servers' sessions and leases may have gone on in what is missing: they begin anew.
    for (ServerEntry server : servers()) {
      server.session().ifPresent(session -> sessionChanges.end(session, ordinal, 0));
    }
    chunkChanges.raise(generation);
    return Done.DONE;
  }

  private Value forget(ForgetClients operation, long entryTerm) {
    SessionChanges.checkTerm(operation.term(), entryTerm);
    forgotten = Math.max(forgotten, operation.endedThrough());
    history.forget(forgotten);
    return Done.DONE;
  }

  private static OperationResult applied(Value value) {
    return new Applied(value);
  }

  static Rejected rejected(LeaseFsException e) {
    String message = e.getMessage();
    return new Rejected(e.code(), message == null ? "" : message);
  }

  // ---------------------------------------------------------------- checkpoint

  /** Writes all of it. Equal states write the same. */
  public void write(StateSink sink) {
    sink.number(lastApplied);
    sink.text(clusterId);
    sink.number(generation);
    sink.number(forgotten);
    sessions.write(sink);
    history.write(sink);
    writeTreeAndChunks(sink);
  }

  void writeTreeAndChunks(StateSink sink) {
    namespace.write(sink);
    chunks.write(sink);
  }

  /** Reads what {@link #write} wrote. */
  public static MetadataState read(StateSource source) {
    long lastApplied = source.number();
    String clusterId = source.text();
    int generation = (int) source.number();
    long forgotten = source.number();
    SessionTable sessions = SessionTable.read(source);
    RequestHistory history = RequestHistory.read(source);
    Namespace namespace = Namespace.read(source);
    MetadataState state = new MetadataState(namespace, ChunkTable.read(source), sessions, history);
    state.lastApplied = lastApplied;
    state.clusterId = clusterId;
    state.generation = generation;
    state.forgotten = forgotten;
    return state;
  }

  /** Throws IllegalStateException where tables or indexes disagree. */
  public void invariant() {
    sessions.invariant();
    history.invariant(sessions);
    chunks.invariant();
    long[] held = new long[1];
    namespace.invariant(
        (file, place) -> {
          for (int i = 0; i < file.chunks.length; i++) {
            ChunkEntry chunk = chunks.get(new ChunkHandle(file.chunks[i]));
            held[0]++;
            check(chunk.spec().file().value() == file.id && chunk.index() == i, "owner", chunk);
            check(chunk.isSealed() || i == file.chunks.length - 1, "unsealed, not last", chunk);
          }
        });
    if (held[0] != chunks.all().size()) {
      throw new IllegalStateException("chunks " + chunks.all().size() + ", in files " + held[0]);
    }
    for (ChunkHandle handle : chunks.leased()) {
      ChunkEntry chunk = chunks.get(handle);
      ChunkEntry.Lease lease = chunk.lease().orElseThrow();
      SessionEntry session = sessions.session(lease.session());
      check(
          session != null && session.server().equals(Optional.of(lease.server())),
          "lease of an ended session",
          chunk);
    }
    for (SessionEntry session : sessions.sessions().values()) {
      check(
          session.client().isPresent() || namespace.openFiles(session.session()).isEmpty(),
          "a server's session has files open",
          session);
    }
  }

  private static void check(boolean holds, String what, Object value) {
    if (!holds) {
      throw new IllegalStateException(what + ": " + value);
    }
  }

  // ---------------------------------------------------------------- reads: servers, sessions

  @Override
  public long lastApplied() {
    return lastApplied;
  }

  @Override
  public Optional<String> clusterId() {
    return clusterId.isEmpty() ? Optional.empty() : Optional.of(clusterId);
  }

  @Override
  public int generation() {
    return generation;
  }

  @Override
  public long newestForgetting() {
    return forgotten;
  }

  @Override
  public Optional<ServerEntry> server(ServerId server) {
    return Optional.ofNullable(sessions.server(server));
  }

  @Override
  public List<ServerEntry> servers() {
    return List.copyOf(sessions.servers().values());
  }

  @Override
  public Optional<SessionEntry> session(SessionId session) {
    return Optional.ofNullable(sessions.session(session));
  }

  @Override
  public List<SessionEntry> sessions() {
    return List.copyOf(sessions.sessions().values());
  }

  @Override
  public Optional<ClientEntry> client(ClientId client) {
    return Optional.ofNullable(history.client(client));
  }

  @Override
  public List<ClientEntry> endedClients() {
    return history.ended();
  }

  @Override
  public Optional<OperationResult> result(RequestId id) {
    return Optional.ofNullable(history.find(id));
  }

  // ---------------------------------------------------------------- reads: chunks

  @Override
  public Optional<ChunkEntry> chunk(ChunkHandle chunk) {
    return Optional.ofNullable(chunks.find(chunk));
  }

  @Override
  public List<ChunkHandle> chunksAt(ServerId server) {
    return List.copyOf(chunks.at(server));
  }

  @Override
  public int chunkCountAt(ServerId server) {
    return chunks.at(server).size();
  }

  @Override
  public List<ChunkHandle> leasesOf(SessionId session) {
    return List.copyOf(chunks.leasesOf(session));
  }

  @Override
  public List<ChunkHandle> leases() {
    return List.copyOf(chunks.leased());
  }

  @Override
  public List<ChunkHandle> unsealedChunks() {
    return List.copyOf(chunks.unsealed());
  }

  @Override
  public List<ChunkHandle> pendingChanges() {
    return List.copyOf(chunks.changing());
  }

  @Override
  public List<ChunkHandle> chunksWithLearners() {
    return List.copyOf(chunks.learning());
  }

  @Override
  public List<ChunkHandle> chunksToClose() {
    List<ChunkHandle> found = new ArrayList<>();
    for (ChunkHandle handle : chunks.unsealed()) {
      if (namespace.openings(chunks.get(handle).spec().file()).isEmpty()) {
        found.add(handle);
      }
    }
    return found;
  }

  @Override
  public List<ChunkEntry> chunksAfter(ChunkHandle after, int limit) {
    return chunks.after(after, limit);
  }

  @Override
  public long chunkCount() {
    return chunks.all().size();
  }

  @Override
  public long memberCount() {
    return chunks.memberCount();
  }

  // ---------------------------------------------------------------- reads: files

  @Override
  public FileId lookUp(FilePath path) {
    return new FileId(namespace.require(path).id);
  }

  @Override
  public FileStatus stat(FilePath path) {
    return status(path, namespace.require(path));
  }

  @Override
  public Optional<FileStatus> stat(FileId file) {
    return Optional.ofNullable(namespace.find(file))
        .map(inode -> status(namespace.pathOf(inode), inode));
  }

  private FileStatus status(FilePath path, Inode inode) {
    FileId id = new FileId(inode.id);
    return switch (inode) {
      case Inode.Folder folder ->
          new FileStatus(
              path,
              id,
              true,
              0,
              0,
              0,
              Durability.REPLICATED,
              inode.modeBits(),
              inode.modifiedMillis,
              inode.createdMillis,
              0,
              namespace.visibleChildren(folder));
      case Inode.File file ->
          new FileStatus(
              path,
              id,
              false,
              offset(file, file.chunks.length),
              file.replication,
              file.chunkBytes,
              file.durability(),
              inode.modeBits(),
              inode.modifiedMillis,
              inode.createdMillis,
              (int)
                  namespace.openings(id).stream()
                      .map(FileEntry.Opening::session)
                      .distinct()
                      .count(),
              file.chunks.length);
    };
  }

  @Override
  public Optional<FileEntry> file(FileId id) {
    if (!(namespace.find(id) instanceof Inode.File file)) {
      return Optional.empty();
    }
    List<ChunkHandle> handles = new ArrayList<>(file.chunks.length);
    for (long chunk : file.chunks) {
      handles.add(new ChunkHandle(chunk));
    }
    return Optional.of(
        new FileEntry(
            id,
            namespace.placeOf(file),
            file.replication,
            file.chunkBytes,
            file.durability(),
            handles,
            namespace.openings(id),
            namespace.fenceFloor(id)));
  }

  @Override
  public Optional<FilePath> path(FileId file) {
    Inode inode = namespace.find(file);
    return inode == null || namespace.placeOf(inode) != Place.VISIBLE
        ? Optional.empty()
        : Optional.of(namespace.pathOf(inode));
  }

  @Override
  public long fileOffset(FileId file, int index) {
    return offset(namespace.requireFile(file), index);
  }

  private long offset(Inode.File file, int index) {
    long offset = 0;
    for (int i = 0; i < index; i++) {
      offset +=
          chunks.get(new ChunkHandle(file.chunks[i])).seal().map(ChunkSeal::lengthBytes).orElse(0L);
    }
    return offset;
  }

  @Override
  public List<FileStatus> list(FilePath path, String after, int limit) {
    return switch (namespace.require(path)) {
      case Inode.File file -> after.isEmpty() ? List.of(status(path, file)) : List.of();
      case Inode.Folder folder -> {
        List<FileStatus> found = new ArrayList<>();
        for (Inode child : namespace.list(folder, after, limit)) {
          found.add(status(path.child(child.nameText()), child));
        }
        yield found;
      }
    };
  }

  @Override
  public Usage usage(FilePath path) {
    long files = 0;
    long folders = 0;
    long length = 0;
    long stored = 0;
    long count = 0;
    Deque<Inode> todo = new ArrayDeque<>();
    todo.add(namespace.require(path));
    while (!todo.isEmpty()) {
      switch (todo.removeLast()) {
        case Inode.Folder folder -> {
          folders++;
          folder.children.forEach(todo::addLast);
        }
        case Inode.File file -> {
          files++;
          count += file.chunks.length;
          for (long handle : file.chunks) {
            ChunkEntry chunk = chunks.get(new ChunkHandle(handle));
            long bytes = chunk.seal().map(ChunkSeal::lengthBytes).orElse(0L);
            length += bytes;
            stored += bytes * chunk.active().members().size();
          }
        }
      }
    }
    return new Usage(files, folders, length, stored, count);
  }

  @Override
  public List<FileId> openFiles(SessionId session) {
    return List.copyOf(namespace.openFiles(session));
  }

  @Override
  public long fileCount() {
    return namespace.visibleFiles();
  }

  @Override
  public long folderCount() {
    return namespace.visibleFolders();
  }

  @Override
  public List<Trashed> trash() {
    List<Trashed> found = new ArrayList<>();
    for (Namespace.TrashEntry entry : namespace.trash().descendingMap().values()) {
      Inode inode = entry.inode();
      boolean folder = inode instanceof Inode.Folder;
      long length = inode instanceof Inode.File file ? offset(file, file.chunks.length) : 0;
      found.add(
          new Trashed(entry.path(), new FileId(inode.id), folder, entry.deletedMillis(), length));
    }
    return found;
  }

  @Override
  public int trashCount() {
    return namespace.trash().size();
  }

  @Override
  public List<FileId> purgeable(int limit) {
    return namespace.purgeable(limit, fileChanges::isFree);
  }

  @Override
  public List<ChunkHandle> doomedChunksInUse(int limit) {
    List<ChunkHandle> found = new ArrayList<>();
    NavigableSet<ChunkHandle> inUse = new TreeSet<>(chunks.unsealed());
    inUse.addAll(chunks.leased());
    inUse.addAll(chunks.changing());
    for (ChunkHandle handle : inUse) {
      if (found.size() >= limit) {
        break;
      }
      Inode file = namespace.find(chunks.get(handle).spec().file());
      if (file != null && namespace.placeOf(file) == Place.DOOMED) {
        found.add(handle);
      }
    }
    return found;
  }
}
