package io.leasefs.client.data;

import io.leasefs.client.edge.ClientEdges;
import io.leasefs.client.edge.Futures;
import io.leasefs.client.edge.Mailbox;
import io.leasefs.client.meta.MasterRouter;
import io.leasefs.common.api.ChunkApi.NamedAnswer;
import io.leasefs.common.checksum.Checksums;
import io.leasefs.common.edge.Scheduler;
import io.leasefs.common.error.ErrorCode;
import io.leasefs.common.error.LeaseFsException;
import io.leasefs.common.model.ChunkHandle;
import io.leasefs.common.model.FileId;
import io.leasefs.common.model.FilePath;
import io.leasefs.common.model.FileStatus;
import io.leasefs.common.model.ServerAddress;
import io.leasefs.common.model.SessionId;
import java.nio.ByteBuffer;
import java.util.List;
import java.util.Optional;
import java.util.TreeSet;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/**
 * Carries out what the {@link WriteCore} of one file decides, for all that have the file open for
 * writing in this process. Any thread; the core runs in the mailbox.
 */
final class FileWrites
    implements WriteAction.Carrier<CompletableFuture<Written>>, ChunkWrites.Listener {
  private final FileStatus opened;
  private final ClientEdges edges;
  private final MasterRouter router;
  private final ChunkWrites streams;
  private final OpenFiles owner;
  private final WriteCore<CompletableFuture<Written>> core;
  private final Mailbox mailbox = new Mailbox();

  // in the mailbox
  private long token;
  private Scheduler.@Nullable Cancellable timer;
  private long timerAt = WriteCore.NEVER;
  private boolean closed;

  /** The numbers of the openings that share this; guarded by the owner. */
  final TreeSet<Long> openings = new TreeSet<>();

  /**
   * The opening in the newest session: it stands for all older ones, which ended with theirs. 0
   * where the session of the first one lives. Guarded by the owner.
   */
  long reopenedAs;

  FileWrites(
      FileStatus opened,
      long token,
      ClientEdges edges,
      MasterRouter router,
      ChunkWrites streams,
      OpenFiles owner,
      WriteCore<CompletableFuture<Written>> core) {
    this.opened = opened;
    this.token = token;
    this.edges = edges;
    this.router = router;
    this.streams = streams;
    this.owner = owner;
    this.core = core;
  }

  /** Which file it is. */
  FileId file() {
    return opened.id();
  }

  private FilePath path() {
    return opened.path();
  }

  CompletableFuture<Written> append(
      ByteBuffer payload, Checksums checksums, boolean endsChunk, @Nullable WriteStream stream) {
    CompletableFuture<Written> ticket = new CompletableFuture<>();
    mailbox.run(
        () -> {
          if (closed) {
            ticket.completeExceptionally(closedFailure());
          } else {
            carryOut(core.append(ticket, payload, checksums, endsChunk, stream, now()));
          }
        });
    return ticket;
  }

  /** The file was opened once more, with this token. */
  void openedAgain(long newToken) {
    mailbox.run(
        () -> {
          token = Math.max(token, newToken);
          carryOut(core.tokenRaised(newToken, now()));
        });
  }

  CompletableFuture<Written> seal(@Nullable WriteStream stream) {
    CompletableFuture<Written> ticket = new CompletableFuture<>();
    mailbox.run(
        () -> {
          if (closed) {
            ticket.completeExceptionally(closedFailure());
          } else {
            carryOut(core.seal(ticket, stream, now()));
          }
        });
    return ticket;
  }

  /** The core's state, for traces. */
  @Override
  public String toString() {
    return path() + " " + core;
  }

  /** The process's session has ended, says the master. */
  void sessionEnded(SessionId ended) {
    mailbox.run(() -> carryOut(core.sessionEnded(ended, now())));
  }

  /** Nobody writes any more; the last used sequence goes back to the owner. */
  void end() {
    mailbox.run(
        () -> {
          if (!owner.forgotten(this, core.nextSequence())) {
            return;
          }
          closed = true;
          if (timer != null) {
            timer.cancel();
          }
          carryOut(core.abandoned(closedFailure(), now()));
          core.chunkNow().ifPresent(chunk -> streams.forget(chunk, this));
        });
  }

  private LeaseFsException closedFailure() {
    return new LeaseFsException(
        ErrorCode.INVALID_ARGUMENT, path() + ": closed for writing", "open it again");
  }

  private long now() {
    return edges.clock().nanos();
  }

  private void carryOut(List<WriteAction<CompletableFuture<Written>>> actions) {
    for (WriteAction<CompletableFuture<Written>> action : actions) {
      action.carryOut(this);
    }
    wakeUpInTime();
  }

  /** Keeps at most one timer, and leaves one alone that comes early enough. */
  private void wakeUpInTime() {
    long at = closed ? WriteCore.NEVER : core.wakeAt();
    if (at >= timerAt) {
      return;
    }
    if (timer != null) {
      timer.cancel();
    }
    timerAt = at;
    timer = edges.scheduler().after(Math.max(0, at - now()), () -> mailbox.run(this::tick));
  }

  private void tick() {
    timer = null;
    timerAt = WriteCore.NEVER;
    if (!closed) {
      long now = now();
      carryOut(now >= core.wakeAt() ? core.tick(now) : List.of());
    }
  }

  // from the streams

  @Override
  public void answered(NamedAnswer answer) {
    mailbox.run(() -> carryOut(core.answered(answer, now())));
  }

  @Override
  public void broken(ServerAddress server, boolean reset) {
    mailbox.run(() -> carryOut(core.broken(server, reset, now())));
  }

  // what the core wants

  @Override
  public void send(WriteAction.Send<CompletableFuture<Written>> action) {
    streams.send(action.target(), action.frame(), this);
  }

  @Override
  public void fetchLayout(WriteAction.FetchLayout<CompletableFuture<Written>> action) {
    Futures.onDone(
        router.ask(
            path() + ": layout of chunk " + action.chunk(),
            action.waitNanos(),
            master ->
                master.chunkLayout(action.chunk(), action.knownVersion(), action.waitNanos())),
        layout -> mailbox.run(() -> carryOut(core.layoutArrived(layout, now()))),
        failure -> mailbox.run(() -> carryOut(core.layoutFailed(failure, now()))));
  }

  @Override
  public void addChunk(WriteAction.AddChunk<CompletableFuture<Written>> action) {
    Optional<ChunkHandle> left = core.chunkNow();
    Futures.onDone(
        router.change(
            path() + ": next chunk",
            (master, id) -> master.addChunk(id, opened.id(), action.afterIndex(), action.seal())),
        added ->
            mailbox.run(
                () -> {
                  left.ifPresent(chunk -> streams.forget(chunk, this));
                  carryOut(core.chunkAdded(added.layout(), added.birth(), now()));
                }),
        failure -> mailbox.run(() -> carryOut(core.addFailed(failure, now()))));
  }

  @Override
  public void reportSilent(WriteAction.ReportSilent<CompletableFuture<Written>> action) {
    Futures.ignore(
        router.ask(
            path() + ": report of a silent primary",
            master ->
                master.reportSilent(action.chunk(), action.version(), action.connectionReset())));
  }

  @Override
  public void reopen(WriteAction.Reopen<CompletableFuture<Written>> action) {
    Futures.onDone(
        router.change(
            path() + ": opening it in a new session",
            (master, id) -> master.openForWrite(id, path(), token)),
        open ->
            mailbox.run(
                () -> {
                  owner.reopened(this, opened, open);
                  carryOut(
                      core.reopened(
                          open.session(), core.nextSequence(), open.last(), open.birth(), now()));
                }),
        failure -> mailbox.run(() -> carryOut(core.reopenFailed(failure, now()))));
  }

  @Override
  public void completed(WriteAction.Completed<CompletableFuture<Written>> action) {
    action.tag().complete(new Written(action.result(), action.seal(), action.sentOnce()));
  }

  @Override
  public void failed(WriteAction.Failed<CompletableFuture<Written>> action) {
    LeaseFsException failure = action.failure();
    action.tag().completeExceptionally(failure.saying(path() + ": " + failure.getMessage()));
  }
}
