package io.leasefs.master.state;

import io.leasefs.common.api.MasterApi.Trashed;
import io.leasefs.common.api.MasterApi.Usage;
import io.leasefs.common.model.ChunkHandle;
import io.leasefs.common.model.ClientId;
import io.leasefs.common.model.FileId;
import io.leasefs.common.model.FilePath;
import io.leasefs.common.model.FileStatus;
import io.leasefs.common.model.RequestId;
import io.leasefs.common.model.ServerId;
import io.leasefs.common.model.SessionId;
import io.leasefs.master.log.OperationResult;
import java.util.List;
import java.util.Optional;

/**
 * Reads of the hard state. Valid only inside {@code ReplicatedState.read}, what they return may be
 * kept. Look-ups by path throw NOT_FOUND or NOT_A_DIRECTORY. Lists are in ascending order unless
 * said otherwise.
 */
public interface StateView {
  /** Ordinal of the last applied entry; 0 = none. */
  long lastApplied();

  /** Empty before FoundCluster. */
  Optional<String> clusterId();

  /** The cluster generation: of the ordinals of the entries to come. */
  int generation();

  /** Clients whose session ended at or before this ordinal may have been forgotten. */
  long newestForgetting();

  // ---------------------------------------------------------------- servers, sessions, clients

  Optional<ServerEntry> server(ServerId server);

  List<ServerEntry> servers();

  /** A live session. */
  Optional<SessionEntry> session(SessionId session);

  /** All live sessions. */
  List<SessionEntry> sessions();

  Optional<ClientEntry> client(ClientId client);

  /** Clients whose session has ended and that are not forgotten. */
  List<ClientEntry> endedClients();

  /** The result of a request that was applied before, while it is kept. */
  Optional<OperationResult> result(RequestId id);

  // ---------------------------------------------------------------- chunks

  Optional<ChunkEntry> chunk(ChunkHandle chunk);

  /** Chunks with a member or learner there. */
  List<ChunkHandle> chunksAt(ServerId server);

  /** How many these are. */
  int chunkCountAt(ServerId server);

  /** Chunks whose lease, revoked or not, is this session's. */
  List<ChunkHandle> leasesOf(SessionId session);

  /** All chunks with a lease. */
  List<ChunkHandle> leases();

  /** All chunks without a logged seal. */
  List<ChunkHandle> unsealedChunks();

  /** All chunks with a change under way. */
  List<ChunkHandle> pendingChanges();

  /** All chunks with learners. */
  List<ChunkHandle> chunksWithLearners();

  /** Unsealed last chunks of files that nobody has open for writing: to be sealed. */
  List<ChunkHandle> chunksToClose();

  /** At most {@code limit} chunks above {@code after}, for scans. */
  List<ChunkEntry> chunksAfter(ChunkHandle after, int limit);

  long chunkCount();

  /** Members of all chunks, learners not counted. */
  long memberCount();

  // ---------------------------------------------------------------- files

  /** The id of what lies at this path. */
  FileId lookUp(FilePath path);

  FileStatus stat(FilePath path);

  /** The same by identity; the path of what is not visible is where it lay before. */
  Optional<FileStatus> stat(FileId file);

  /** A file (not a folder) by identity, wherever it lies. */
  Optional<FileEntry> file(FileId file);

  /** Where a file or folder lies; empty unless it is visible. */
  Optional<FilePath> path(FileId file);

  /** Byte at which a chunk of a file begins: the sum of the logged lengths before it. */
  long fileOffset(FileId file, int index);

  /** Children by name (as unsigned UTF-8) above {@code after}; of a file: itself. */
  List<FileStatus> list(FilePath path, String after, int limit);

  Usage usage(FilePath path);

  /** Files that this session has open for writing. */
  List<FileId> openFiles(SessionId session);

  /** Files and folders, without the root and what is in the trash or doomed. */
  long fileCount();

  long folderCount();

  /** What lies in the trash, newest first. */
  List<Trashed> trash();

  int trashCount();

  /** Doomed files and folders that a PurgeFiles may remove next, children before parents. */
  List<FileId> purgeable(int limit);

  /** Chunks of doomed files that are not sealed, or have a lease or a change, which keeps them. */
  List<ChunkHandle> doomedChunksInUse(int limit);
}
