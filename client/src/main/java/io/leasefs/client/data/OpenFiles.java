package io.leasefs.client.data;

import io.leasefs.client.edge.ClientEdges;
import io.leasefs.client.edge.Futures;
import io.leasefs.client.meta.ClientSession;
import io.leasefs.client.meta.MasterRouter;
import io.leasefs.common.api.MasterApi.CreateFile;
import io.leasefs.common.api.MasterApi.OpenFile;
import io.leasefs.common.api.MasterApi.Publication;
import io.leasefs.common.model.FileId;
import io.leasefs.common.model.FilePath;
import io.leasefs.common.model.FileStatus;
import io.leasefs.common.model.SealedChunk;
import io.leasefs.common.model.SessionId;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;

/**
 * The files that this process has open for writing. Openings of one file share its sequences, which
 * count per session and file, and so share one {@link WriteCore}. Any thread; never blocks.
 */
public final class OpenFiles {
  private final ClientEdges edges;
  private final MasterRouter router;
  private final ClientSession session;
  private final ChunkWrites streams;
  private final WriteLimits limits;

  private final Map<FileId, FileWrites> files = new LinkedHashMap<>();

  /** Above every sequence that a file had which is not open any more. */
  private long firstSequence = 1;

  public OpenFiles(
      ClientEdges edges, MasterRouter router, ClientSession session, WriteLimits limits) {
    this.edges = edges;
    this.router = router;
    this.session = session;
    this.streams = new ChunkWrites(edges.network());
    this.limits = limits;
    session.whenEnded(this::sessionEnded);
  }

  /** Creates a file and opens it. */
  public CompletableFuture<AsyncAppender> create(CreateFile request) {
    return router
        .change("create " + request.path(), (master, id) -> master.create(id, request))
        .thenApply(open -> opened(open, 0));
  }

  /**
   * Opens a file to append to it.
   *
   * @param token fencing token; 0 = none
   */
  public CompletableFuture<AsyncAppender> openForWrite(FilePath path, long token) {
    return router
        .change("open " + path, (master, id) -> master.openForWrite(id, path, token))
        .thenApply(open -> opened(open, token));
  }

  /** How many files are open. */
  public synchronized int count() {
    return files.size();
  }

  /** Ends all streams; what is under way is given up. */
  public void end() {
    for (FileWrites writes : all()) {
      synchronized (this) {
        writes.openings.clear();
      }
      writes.end();
    }
    streams.close();
  }

  private AsyncAppender opened(OpenFile open, long token) {
    session.seen(open.session());
    FileWrites writes;
    FileWrites shared;
    synchronized (this) {
      shared = files.get(open.status().id());
      if (shared != null) {
        writes = shared;
      } else {
        writes = newWrites(open, token);
        files.put(open.status().id(), writes);
      }
      writes.openings.add(open.openNumber());
    }
    if (shared != null) {
      shared.openedAgain(token);
    }
    return new AsyncAppender(this, writes, open.status(), open.openNumber());
  }

  private FileWrites newWrites(OpenFile open, long token) {
    WriteCore<CompletableFuture<Written>> core =
        new WriteCore<>(
            open.status().id(),
            open.session(),
            firstSequence,
            token,
            limits,
            open.last(),
            open.birth(),
            edges.clock().nanos());
    return new FileWrites(open.status(), token, edges, router, streams, this, core);
  }

  CompletableFuture<FileStatus> close(
      FileStatus status,
      long openNumber,
      Optional<SealedChunk> seal,
      Optional<Publication> publication,
      boolean endSession) {
    boolean last = endSession && count() == 0;
    return router.change(
        "close " + status.path(),
        (master, id) -> master.close(id, status.id(), openNumber, seal, publication, last));
  }

  /** Nobody has this opening any more; answers which one the master is to close for it. */
  synchronized long leave(FileWrites writes, long openNumber) {
    writes.openings.remove(openNumber);
    boolean olderLeft = !writes.openings.isEmpty() && writes.openings.first() < writes.reopenedAs;
    return openNumber < writes.reopenedAs && !olderLeft ? writes.reopenedAs : openNumber;
  }

  /** The file is open in a new session; where nobody has it any more, it is closed again. */
  void reopened(FileWrites writes, FileStatus status, OpenFile again) {
    session.seen(again.session());
    synchronized (this) {
      writes.reopenedAs = again.openNumber();
      if (!writes.openings.isEmpty()) {
        return;
      }
    }
    Futures.ignore(close(status, again.openNumber(), Optional.empty(), Optional.empty(), false));
  }

  /** An opening has ended; true where it was the last, and the file is forgotten. */
  synchronized boolean forgotten(FileWrites writes, long nextSequence) {
    if (!writes.openings.isEmpty() || files.get(writes.file()) != writes) {
      return false;
    }
    files.remove(writes.file());
    firstSequence = Math.max(firstSequence, nextSequence);
    return true;
  }

  private void sessionEnded(SessionId ended) {
    for (FileWrites writes : all()) {
      writes.sessionEnded(ended);
    }
  }

  private synchronized List<FileWrites> all() {
    return List.copyOf(files.values());
  }
}
