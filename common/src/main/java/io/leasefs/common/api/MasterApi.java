package io.leasefs.common.api;

import io.leasefs.common.model.ChunkHandle;
import io.leasefs.common.model.ChunkLayout;
import io.leasefs.common.model.ChunkSeal;
import io.leasefs.common.model.ClientId;
import io.leasefs.common.model.Durability;
import io.leasefs.common.model.FileId;
import io.leasefs.common.model.FileLayout;
import io.leasefs.common.model.FilePath;
import io.leasefs.common.model.FileStatus;
import io.leasefs.common.model.LeaseGrant;
import io.leasefs.common.model.RequestId;
import io.leasefs.common.model.SealedChunk;
import io.leasefs.common.model.ServerId;
import io.leasefs.common.model.SessionId;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;

/**
 * What a client asks the master about files. A request with a {@link RequestId} takes effect once,
 * however often it is repeated. A listener tells which of a server's two addresses are given.
 */
public interface MasterApi {
  /** Who is there: asked once per connection. */
  CompletableFuture<Greeting> greet(ClientId client);

  /**
   * Who answered.
   *
   * @param newestForgetting log index: an operation of a new client session names it
   * @param leaseTtlNanos T: a cached layout is used at most this long
   */
  record Greeting(
      String clusterId,
      String version,
      ServerId leader,
      long term,
      int generation,
      long newestForgetting,
      long leaseTtlNanos,
      long chunkBytes,
      int replication) {}

  /** Creates a file and opens it for writing. */
  CompletableFuture<OpenFile> create(RequestId id, CreateFile request);

  /**
   * How to create.
   *
   * @param parents missing folders are created too
   * @param replication 0 = the cluster's default
   * @param chunkBytes 0 = the cluster's default
   * @param firstChunk false for {@code touch}: no chunk is made
   */
  record CreateFile(
      FilePath path,
      boolean parents,
      int replication,
      long chunkBytes,
      Durability durability,
      int mode,
      boolean firstChunk) {}

  /** Opens an existing file for appending. */
  CompletableFuture<OpenFile> openForWrite(RequestId id, FilePath path, long token);

  /**
   * A file that this client may write.
   *
   * @param session the client's, created with its first mutation
   * @param openNumber names this opening
   * @param last the chunk to go on in, where there is one; sealed: a chunk must be added
   * @param birth of a chunk made by this request: rides on the first frame
   */
  record OpenFile(
      FileStatus status,
      SessionId session,
      long openNumber,
      Optional<ChunkLayout> last,
      Optional<LeaseGrant> birth) {}

  /**
   * Logs the length of chunk {@code afterIndex} and adds the next; asked again, the same answer.
   */
  CompletableFuture<AddedChunk> addChunk(
      RequestId id, FileId file, int afterIndex, Optional<ChunkSeal> seal);

  /** A chunk and, where this request made it, what rides on its first frame. */
  record AddedChunk(ChunkLayout layout, Optional<LeaseGrant> birth) {}

  /**
   * Closes one opening. The last one seals the file's last chunk.
   *
   * @param sealed set where the writer has sealed the last chunk itself; without effect where the
   *     file goes on behind that chunk by now
   * @param publication set where the file is a put that is done: in the same step it gets its name;
   *     where it cannot, nothing is closed
   * @param endSession true with the last operation of a short-lived process
   */
  CompletableFuture<FileStatus> close(
      RequestId id,
      FileId file,
      long openNumber,
      Optional<SealedChunk> sealed,
      Optional<Publication> publication,
      boolean endSession);

  /**
   * The name that a file gets when it is whole.
   *
   * @param replace a file that is there goes into the trash
   * @param modifiedMillis its time of modification, where it is not that of the close
   */
  record Publication(FilePath target, boolean replace, Optional<Long> modifiedMillis) {}

  /** The file's chunks from the given index, at most {@code limit}. */
  CompletableFuture<FileLayout> layout(FilePath path, int fromIndex, int limit);

  /** The same by identity. */
  CompletableFuture<FileLayout> layout(FileId file, int fromIndex, int limit);

  /**
   * One chunk's layout. Waits at most {@code waitNanos} for one that the caller can use: a version
   * above {@code knownVersion}, a primary where there was none, or a seal.
   */
  CompletableFuture<ChunkLayout> chunkLayout(ChunkHandle chunk, long knownVersion, long waitNanos);

  /**
   * The file is written on while its primary is silent: the writer's evidence for an early seal.
   */
  CompletableFuture<Void> reportSilent(ChunkHandle chunk, long version, boolean connectionReset);

  /** A reader found a bad copy. */
  CompletableFuture<Void> reportDamaged(ChunkHandle chunk, ServerId server, long block);

  /** Renews the client's session; answers its TTL in nanoseconds. */
  CompletableFuture<Long> renew(ClientId client, SessionId session);

  CompletableFuture<FileStatus> stat(FilePath path);

  /** Entries of a folder by name, above {@code after}, at most {@code limit}; of a file: itself. */
  CompletableFuture<List<FileStatus>> list(FilePath path, String after, int limit);

  CompletableFuture<FileStatus> mkdir(RequestId id, FilePath path, boolean parents, int mode);

  /**
   * Moves a file or folder. {@code replace}: an existing file at the target is put into the trash.
   */
  CompletableFuture<FileStatus> rename(RequestId id, FilePath from, FilePath to, boolean replace);

  /** Moves into the trash, or removes for good where {@code skipTrash} is set. */
  CompletableFuture<Void> delete(RequestId id, FilePath path, boolean recursive, boolean skipTrash);

  /** Newest trashed file or folder of this path comes back. */
  CompletableFuture<FileStatus> restore(RequestId id, FilePath path);

  /** Sets what is given. */
  CompletableFuture<FileStatus> setAttributes(RequestId id, FilePath path, Attributes attributes);

  /** Present values are set. */
  record Attributes(
      Optional<Integer> replication, Optional<Integer> mode, Optional<Long> modifiedMillis) {}

  /** What lies in the trash, newest first. */
  CompletableFuture<List<Trashed>> trash();

  record Trashed(FilePath path, FileId id, boolean folder, long deletedMillis, long lengthBytes) {}

  /** Drops all trash older than this; answers how many entries. */
  CompletableFuture<Integer> emptyTrash(RequestId id, long olderThanMillis);

  /** Totals below a path. */
  CompletableFuture<Usage> usage(FilePath path);

  record Usage(long files, long folders, long lengthBytes, long storedBytes, long chunks) {}
}
