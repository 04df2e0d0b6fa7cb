package io.leasefs.master.control;

import io.leasefs.common.api.MasterApi;
import io.leasefs.common.error.ErrorCode;
import io.leasefs.common.error.LeaseFsException;
import io.leasefs.common.model.ChunkHandle;
import io.leasefs.common.model.ChunkLayout;
import io.leasefs.common.model.ChunkSeal;
import io.leasefs.common.model.ChunkSpec;
import io.leasefs.common.model.ClientId;
import io.leasefs.common.model.Endpoints;
import io.leasefs.common.model.EventKind;
import io.leasefs.common.model.FileId;
import io.leasefs.common.model.FileLayout;
import io.leasefs.common.model.FilePath;
import io.leasefs.common.model.FileStatus;
import io.leasefs.common.model.LeaseGrant;
import io.leasefs.common.model.Ordinal;
import io.leasefs.common.model.RequestId;
import io.leasefs.common.model.SealedChunk;
import io.leasefs.common.model.ServerAddress;
import io.leasefs.common.model.ServerId;
import io.leasefs.common.model.SessionId;
import io.leasefs.master.log.Operation;
import io.leasefs.master.log.Operation.AddChunk;
import io.leasefs.master.log.Operation.CloseFile;
import io.leasefs.master.log.Operation.Delete;
import io.leasefs.master.log.Operation.EmptyTrash;
import io.leasefs.master.log.Operation.Mkdir;
import io.leasefs.master.log.Operation.OpenForWrite;
import io.leasefs.master.log.Operation.Placement;
import io.leasefs.master.log.Operation.Rename;
import io.leasefs.master.log.Operation.Restore;
import io.leasefs.master.log.Operation.SetAttributes;
import io.leasefs.master.log.OperationResult;
import io.leasefs.master.log.OperationResult.Added;
import io.leasefs.master.log.OperationResult.Counted;
import io.leasefs.master.log.OperationResult.Opened;
import io.leasefs.master.log.OperationResult.Touched;
import io.leasefs.master.state.ChunkEntry;
import io.leasefs.master.state.FileEntry;
import io.leasefs.master.state.StateView;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.function.Function;
import java.util.function.LongSupplier;

/**
 * What the clients of one listener see: changes become tasks of the control loop, look-ups are
 * answered on the caller's thread from the state under its read lock. Any thread; never blocks.
 */
public final class ClientFace implements MasterApi {
  /** A waiting look-up is answered at the latest after this. */
  private static final long MAX_WAIT_NANOS = 60_000_000_000L;

  /** The most copies that are taken on; the log may hold more from before. */
  private static final int MAX_REPLICATION = 16;

  private final ControlLoop loop;
  private final ControlSettings settings;
  private final StateReads state;
  private final LongSupplier wallMillis;
  private final Layouts layouts;

  /**
   * @param side which of a server's two addresses the clients of this listener are told
   */
  public ClientFace(
      ControlLoop loop,
      ControlSettings settings,
      StateReads state,
      LongSupplier wallMillis,
      Function<Endpoints, ServerAddress> side) {
    this.loop = loop;
    this.settings = settings;
    this.state = state;
    this.wallMillis = wallMillis;
    this.layouts = new Layouts(side);
  }

  @Override
  public CompletableFuture<Greeting> greet(ClientId client) {
    return look(
        view -> {
          String cluster =
              view.clusterId()
                  .orElseThrow(
                      () ->
                          new LeaseFsException(
                              ErrorCode.STARTING, "the cluster is being founded", "try again"));
          return new Greeting(
              cluster,
              settings.version(),
              loop.role().leader().orElse(settings.self()),
              loop.role().term(),
              Ordinal.generation(view.lastApplied()),
              view.newestForgetting(),
              settings.terms().ttlNanos(),
              settings.chunkBytes(),
              settings.replication());
        });
  }

  // ------------------------------------------------------------------ files open for writing

  @Override
  public CompletableFuture<OpenFile> create(RequestId id, CreateFile request) {
    int goal = request.replication() == 0 ? settings.replication() : request.replication();
    long capacity = request.chunkBytes() == 0 ? settings.chunkBytes() : request.chunkBytes();
    if (!isGoal(goal)) {
      return invalid(notAGoal(goal));
    }
    if (capacity < ChunkSpec.MIN_CAPACITY || capacity > ChunkSpec.MAX_CAPACITY) {
      return invalid("a chunk has 1 MiB to 1 GiB: " + capacity);
    }
    return placed(
            id,
            request.firstChunk() ? goal : 0,
            capacity,
            (call, places, term) ->
                new Operation.CreateFile(
                    call,
                    request.path(),
                    request.parents(),
                    goal,
                    capacity,
                    request.durability(),
                    request.mode(),
                    places,
                    wallMillis.getAsLong(),
                    term))
        .thenCompose(result -> opened((Opened) result.valueOrThrow(), 0));
  }

  @Override
  public CompletableFuture<OpenFile> openForWrite(RequestId id, FilePath path, long token) {
    return loop.mutate(id, call -> new OpenForWrite(call, path, token, wallMillis.getAsLong()))
        .thenCompose(
            result -> {
              Opened opened = (Opened) result.valueOrThrow();
              return loop.later(
                  (desks, answer) ->
                      desks
                          .clients()
                          .prepareLast(
                              opened.chunk(),
                              opened.born(),
                              token,
                              done -> {
                                if (done) {
                                  forward(opened(opened, token), answer);
                                } else {
                                  answer.completeExceptionally(notYetFenced(path, token));
                                }
                              }));
            });
  }

  private static LeaseFsException notYetFenced(FilePath path, long token) {
    return new LeaseFsException(
        ErrorCode.BUSY,
        path + ": writers with a smaller token than " + token + " are not yet shut out",
        "ask again");
  }

  private static <T> void forward(CompletableFuture<T> from, CompletableFuture<T> to) {
    var _ =
        from.whenComplete(
            (value, failure) -> {
              if (failure != null) {
                to.completeExceptionally(failure);
              } else {
                to.complete(value);
              }
            });
  }

  /**
   * What an opening is told. It may be asked again long after its entry was applied: where a larger
   * token is in force by then, it is told no chunk, for one that was born under that token takes
   * frames without asking for it.
   */
  private CompletableFuture<OpenFile> opened(Opened opened, long token) {
    return loop.ask(
        desks ->
            desks
                .soft()
                .read(
                    view -> {
                      FileStatus status =
                          view.stat(opened.file()).orElseThrow(() -> gone(opened.file()));
                      long fence = view.file(opened.file()).map(FileEntry::fenceFloor).orElse(0L);
                      if (token < fence) {
                        throw new LeaseFsException(
                            ErrorCode.FENCED,
                            "file " + opened.file() + ": token " + token + " is below " + fence);
                      }
                      Optional<ChunkEntry> last = last(view, opened.file());
                      return new OpenFile(
                          status,
                          opened.session(),
                          opened.openNumber(),
                          last.map(chunk -> layouts.chunk(view, chunk, loop.unreachable())),
                          opened.born()
                              ? last.flatMap(chunk -> birth(desks.soft(), chunk))
                              : Optional.empty());
                    }));
  }

  private static Optional<ChunkEntry> last(StateView view, FileId file) {
    List<ChunkHandle> chunks = view.file(file).map(FileEntry::chunks).orElse(List.of());
    return chunks.isEmpty() ? Optional.empty() : view.chunk(chunks.get(chunks.size() - 1));
  }

  /** What rides on the first frame of a new chunk, while it is at version 1. */
  private static Optional<LeaseGrant> birth(Soft soft, ChunkEntry chunk) {
    return chunk.active().version() == 1 && chunk.lease().isPresent()
        ? Optional.of(HeartbeatDesk.grant(soft, chunk))
        : Optional.empty();
  }

  @Override
  public CompletableFuture<AddedChunk> addChunk(
      RequestId id, FileId file, int afterIndex, Optional<ChunkSeal> seal) {
    // What a file was made with stays: only that it is not there must not be old.
    Optional<FileEntry> known = state.read(view -> view.file(file));
    CompletableFuture<FileEntry> entry =
        known.isPresent()
            ? CompletableFuture.completedFuture(known.get())
            : look(view -> view.file(file).orElseThrow(() -> gone(file)));
    return entry
        .thenCompose(
            found ->
                placed(
                    id,
                    found.replication(),
                    found.chunkBytes(),
                    (call, places, term) ->
                        new AddChunk(call, file, afterIndex, seal, places, wallMillis.getAsLong())))
        .thenCompose(
            result -> {
              Added added = (Added) result.valueOrThrow();
              return loop.ask(
                  desks ->
                      desks
                          .soft()
                          .read(
                              view -> {
                                ChunkEntry chunk =
                                    view.chunk(added.chunk()).orElseThrow(() -> gone(file));
                                return new AddedChunk(
                                    layouts.chunk(view, chunk, loop.unreachable()),
                                    added.born() ? birth(desks.soft(), chunk) : Optional.empty());
                              }));
            });
  }

  @Override
  public CompletableFuture<FileStatus> close(
      RequestId id,
      FileId file,
      long openNumber,
      Optional<SealedChunk> sealed,
      Optional<Publication> publication,
      boolean endSession) {
    return touching(
        id,
        call ->
            new CloseFile(
                call, file, openNumber, sealed, publication, endSession, wallMillis.getAsLong()));
  }

  private interface PlacedOperation {
    Operation at(Operation.ClientCall call, List<Placement> places, long term);
  }

  /** A change that makes a chunk: {@code goal} 0 makes none. */
  private CompletableFuture<OperationResult> placed(
      RequestId id, int goal, long capacity, PlacedOperation operation) {
    return loop.mutatePlaced(
        id,
        (clients, call) ->
            operation.at(
                call, goal == 0 ? List.of() : clients.places(goal, capacity), clients.term()));
  }

  // ------------------------------------------------------------------ chunks

  @Override
  public CompletableFuture<FileLayout> layout(FilePath path, int fromIndex, int limit) {
    return forReader(
        look(view -> layouts.file(view, view.lookUp(path), fromIndex, limit, loop.unreachable())));
  }

  @Override
  public CompletableFuture<FileLayout> layout(FileId file, int fromIndex, int limit) {
    return forReader(look(view -> layouts.file(view, file, fromIndex, limit, loop.unreachable())));
  }

  /**
   * An open chunk is read under its primary's lease. Where there is none, as after a minute without
   * use, or where the primary gave it back and nobody writes, it gets one; the reader asks again.
   */
  private CompletableFuture<FileLayout> forReader(CompletableFuture<FileLayout> answer) {
    return answer.thenApply(
        layout -> {
          if (!layout.chunks().isEmpty()) {
            ChunkLayout last = layout.chunks().getLast();
            if (last.seal().isEmpty() && last.primary().isEmpty()) {
              var _ =
                  loop.ask(
                      desks -> {
                        desks.changes().needPrimary(last.handle());
                        return true;
                      });
            }
          }
          return layout;
        });
  }

  @Override
  public CompletableFuture<ChunkLayout> chunkLayout(
      ChunkHandle chunk, long knownVersion, long waitNanos) {
    if (waitNanos <= 0) {
      return look(view -> layouts.chunk(view, find(view, chunk), loop.unreachable()));
    }
    long wait = Math.min(waitNanos, MAX_WAIT_NANOS);
    return loop.later(
        (desks, answer) -> {
          long deadline = desks.soft().clock.nanos() + wait;
          whenFresh(
              desks,
              answer,
              () -> {
                find(desks, chunk);
                desks.changes().needPrimary(chunk);
                desks
                    .clients()
                    .await(
                        chunk,
                        entry ->
                            entry.seal().isPresent()
                                || (entry.active().version() > knownVersion
                                    && entry.active().primary().isPresent()),
                        deadline,
                        usable -> forward(chunkLayout(chunk, knownVersion, 0), answer));
              });
        });
  }

  private static ChunkEntry find(ControlLoop.Desks desks, ChunkHandle chunk) {
    return desks.soft().read(view -> find(view, chunk));
  }

  private static ChunkEntry find(StateView view, ChunkHandle chunk) {
    return view.chunk(chunk)
        .orElseThrow(() -> new LeaseFsException(ErrorCode.NOT_FOUND, chunk + ": no such chunk"));
  }

  @Override
  public CompletableFuture<Void> reportSilent(
      ChunkHandle chunk, long version, boolean connectionReset) {
    return loop.ask(
            desks -> {
              find(desks, chunk);
              desks.changes().writerSilent(chunk, version, connectionReset);
              return true;
            })
        .thenAccept(done -> {});
  }

  @Override
  public CompletableFuture<Void> reportDamaged(ChunkHandle chunk, ServerId server, long block) {
    return loop.ask(
            desks -> {
              find(desks, chunk);
              desks
                  .soft()
                  .event(
                      EventKind.REPLICA_DAMAGED,
                      Optional.of(server),
                      Optional.of(chunk),
                      0,
                      Map.of("block", Long.toString(block), "by", "reader"));
              return true;
            })
        .thenAccept(done -> {});
  }

  @Override
  public CompletableFuture<Long> renew(ClientId client, SessionId session) {
    return loop.later(
        (desks, answer) -> {
          boolean heard = desks.soft().leases.heard(session, desks.soft().clock.nanos());
          if (!heard && loop.alone()) {
            throw unknownSession(session);
          }
          desks
              .soft()
              .afterBarrier(
                  (good, failure) -> {
                    if (failure != null) {
                      answer.completeExceptionally(failure);
                    } else if (!good) {
                      answer.completeExceptionally(notServing());
                    } else if (!desks.soft().leases.knows(session)
                        || desks.soft().leases.isEnding(session)) {
                      answer.completeExceptionally(unknownSession(session));
                    } else {
                      answer.complete(settings.clientTtlNanos());
                    }
                  });
        });
  }

  // ------------------------------------------------------------------ namespace

  @Override
  public CompletableFuture<FileStatus> stat(FilePath path) {
    return look(view -> view.stat(path));
  }

  @Override
  public CompletableFuture<List<FileStatus>> list(FilePath path, String after, int limit) {
    return look(view -> view.list(path, after, Math.max(1, Math.min(limit, 10_000))));
  }

  @Override
  public CompletableFuture<FileStatus> mkdir(
      RequestId id, FilePath path, boolean parents, int mode) {
    return touching(id, call -> new Mkdir(call, path, parents, mode, wallMillis.getAsLong()));
  }

  @Override
  public CompletableFuture<FileStatus> rename(
      RequestId id, FilePath from, FilePath to, boolean replace) {
    return touching(id, call -> new Rename(call, from, to, replace, wallMillis.getAsLong()));
  }

  @Override
  public CompletableFuture<Void> delete(
      RequestId id, FilePath path, boolean recursive, boolean skipTrash) {
    return loop.mutate(
            id, call -> new Delete(call, path, recursive, skipTrash, wallMillis.getAsLong()))
        .thenAccept(OperationResult::valueOrThrow);
  }

  @Override
  public CompletableFuture<FileStatus> restore(RequestId id, FilePath path) {
    return touching(id, call -> new Restore(call, path, wallMillis.getAsLong()));
  }

  @Override
  public CompletableFuture<FileStatus> setAttributes(
      RequestId id, FilePath path, Attributes attributes) {
    if (!attributes.replication().map(ClientFace::isGoal).orElse(true)) {
      return invalid(notAGoal(attributes.replication().orElseThrow()));
    }
    return touching(
        id,
        call ->
            new SetAttributes(
                call,
                path,
                attributes.replication(),
                attributes.mode(),
                attributes.modifiedMillis(),
                wallMillis.getAsLong()));
  }

  @Override
  public CompletableFuture<List<Trashed>> trash() {
    return look(StateView::trash);
  }

  @Override
  public CompletableFuture<Integer> emptyTrash(RequestId id, long olderThanMillis) {
    return loop.mutate(
            id,
            call ->
                new EmptyTrash(
                    Optional.of(call), wallMillis.getAsLong() - Math.max(0, olderThanMillis) + 1))
        .thenApply(result -> (int) ((Counted) result.valueOrThrow()).count());
  }

  @Override
  public CompletableFuture<Usage> usage(FilePath path) {
    return look(view -> view.usage(path));
  }

  /** A change whose answer is the file's status after it. */
  private CompletableFuture<FileStatus> touching(
      RequestId id, Function<Operation.ClientCall, Operation> operation) {
    return loop.mutate(id, operation)
        .thenApply(
            result -> {
              FileId file = ((Touched) result.valueOrThrow()).file();
              return state.read(view -> view.stat(file)).orElseThrow(() -> gone(file));
            });
  }

  // ------------------------------------------------------------------ small parts

  private <T> CompletableFuture<T> look(Function<StateView, T> reads) {
    if (!loop.role().leading() || !loop.role().ready()) {
      return CompletableFuture.failedFuture(notServing());
    }
    if (!loop.alone()) {
      return loop.later(
          (desks, answer) -> whenFresh(desks, answer, () -> answer.complete(state.read(reads))));
    }
    try {
      return CompletableFuture.completedFuture(state.read(reads));
    } catch (LeaseFsException e) {
      return CompletableFuture.failedFuture(e);
    }
  }

  /**
   * Goes on once all is applied that was acknowledged before now. Where there are several masters
   * that takes a barrier: another may lead already, and this one not know it.
   */
  private void whenFresh(ControlLoop.Desks desks, CompletableFuture<?> answer, Runnable then) {
    if (loop.alone()) {
      then.run();
      return;
    }
    desks
        .soft()
        .afterBarrier(
            (good, failure) -> {
              if (!good) {
                answer.completeExceptionally(failure != null ? failure : notServing());
                return;
              }
              try {
                then.run();
              } catch (RuntimeException e) {
                answer.completeExceptionally(e);
              }
            });
  }

  private LeaseFsException notServing() {
    return loop.notServing();
  }

  private static LeaseFsException gone(FileId file) {
    return new LeaseFsException(ErrorCode.NOT_FOUND, "file " + file + " exists no more");
  }

  private static LeaseFsException unknownSession(SessionId session) {
    return new LeaseFsException(
        ErrorCode.UNKNOWN_SESSION, "session " + session + " has ended", null);
  }

  private static boolean isGoal(int replication) {
    return replication >= 1 && replication <= MAX_REPLICATION;
  }

  private static String notAGoal(int replication) {
    return "replication is 1 to " + MAX_REPLICATION + ", not " + replication;
  }

  private static <T> CompletableFuture<T> invalid(String message) {
    return CompletableFuture.failedFuture(
        new LeaseFsException(ErrorCode.INVALID_ARGUMENT, message));
  }
}
