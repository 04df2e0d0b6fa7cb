package io.leasefs.master.state;

import io.leasefs.common.api.MasterApi.Publication;
import io.leasefs.common.error.ErrorCode;
import io.leasefs.common.error.LeaseFsException;
import io.leasefs.common.model.ChunkHandle;
import io.leasefs.common.model.ChunkSeal;
import io.leasefs.common.model.ChunkSpec;
import io.leasefs.common.model.FileId;
import io.leasefs.common.model.FilePath;
import io.leasefs.common.model.SealedChunk;
import io.leasefs.common.model.SessionId;
import io.leasefs.master.log.Operation.AddChunk;
import io.leasefs.master.log.Operation.CloseFile;
import io.leasefs.master.log.Operation.CreateFile;
import io.leasefs.master.log.Operation.Delete;
import io.leasefs.master.log.Operation.EmptyTrash;
import io.leasefs.master.log.Operation.Mkdir;
import io.leasefs.master.log.Operation.OpenForWrite;
import io.leasefs.master.log.Operation.PurgeFiles;
import io.leasefs.master.log.Operation.Rename;
import io.leasefs.master.log.Operation.Restore;
import io.leasefs.master.log.Operation.SetAttributes;
import io.leasefs.master.log.OperationResult.Added;
import io.leasefs.master.log.OperationResult.Counted;
import io.leasefs.master.log.OperationResult.Done;
import io.leasefs.master.log.OperationResult.Opened;
import io.leasefs.master.log.OperationResult.Touched;
import io.leasefs.master.log.OperationResult.Value;
import io.leasefs.master.state.ChunkEntry.Step;
import io.leasefs.master.state.FileEntry.Opening;
import io.leasefs.master.state.FileEntry.Place;
import java.util.Optional;

/**
 * What operations do to files and folders (protocol, section 8). Each method checks everything,
 * then changes; a thrown {@link LeaseFsException} is a rejection that has changed nothing.
 */
final class FileChanges {
  /** The most copies that a file may ask for. */
  private static final int MAX_REPLICATION = 64;

  /** The last chunk, in the closes of format 1. */
  private static final ChunkHandle UNNAMED = new ChunkHandle(0);

  private final Namespace namespace;
  private final ChunkTable chunks;
  private final ChunkChanges chunkChanges;
  private final SessionChanges sessionChanges;

  FileChanges(
      Namespace namespace,
      ChunkTable chunks,
      ChunkChanges chunkChanges,
      SessionChanges sessionChanges) {
    this.namespace = namespace;
    this.chunks = chunks;
    this.chunkChanges = chunkChanges;
    this.sessionChanges = sessionChanges;
  }

  // ---------------------------------------------------------------- writing

  Value create(CreateFile operation, SessionId session, long ordinal, long entryTerm) {
    if (operation.term() != 0) {
      SessionChanges.checkTerm(operation.term(), entryTerm);
    }
    Namespace.Slot slot = namespace.slotFor(operation.path(), operation.parents());
    checkReplication(operation.replication());
    if (operation.chunkBytes() < ChunkSpec.MIN_CAPACITY
        || operation.chunkBytes() > ChunkSpec.MAX_CAPACITY) {
      throw new LeaseFsException(
          ErrorCode.INVALID_ARGUMENT,
          "chunk size " + operation.chunkBytes() + ": must be 1 MiB to 1 GiB");
    }
    chunkChanges.checkPlacements(operation.firstChunk());
    Inode.File file =
        namespace.createFile(
            slot,
            operation.mode(),
            operation.replication(),
            operation.durability(),
            operation.chunkBytes(),
            session,
            ordinal,
            operation.wallMillis());
    namespace.open(file, new Opening(session, ordinal, 0));
    Optional<ChunkHandle> chunk = Optional.empty();
    if (!operation.firstChunk().isEmpty()) {
      chunk = Optional.of(chunkChanges.birth(file, operation.firstChunk(), ordinal));
    }
    return new Opened(new FileId(file.id), session, ordinal, chunk, chunk.isPresent());
  }

  Value open(OpenForWrite operation, SessionId session, long ordinal) {
    Inode.File file = namespace.requireFile(operation.path());
    FileId id = new FileId(file.id);
    checkToken(id, operation.token());
    namespace.open(file, new Opening(session, ordinal, operation.token()));
    return new Opened(id, session, ordinal, lastChunk(file), false);
  }

  Value addChunk(AddChunk operation, SessionId session, long ordinal) {
    Inode.File file = requireOpen(operation.file(), session);
    int index = operation.afterIndex();
    int count = file.chunks.length;
    if (index < -1 || index >= count) {
      throw new LeaseFsException(
          ErrorCode.INVALID_ARGUMENT,
          "file " + operation.file() + ": no chunk " + index + " among " + count);
    }
    if (index + 1 < count) {
      return new Added(new ChunkHandle(file.chunks[index + 1]), index + 1, false);
    }
    if (namespace.placeOf(file) == Place.DOOMED) {
      throw new LeaseFsException(
          ErrorCode.NOT_FOUND, "file " + operation.file() + ": has been deleted");
    }
    if (operation.placements().isEmpty()) {
      throw new LeaseFsException(
          ErrorCode.TOO_FEW_SERVERS, "file " + operation.file() + ": no server for its next chunk");
    }
    chunkChanges.checkPlacements(operation.placements());
    if (index >= 0) {
      sealBeforeSuccessor(file, index, operation.seal(), operation.wallMillis());
    }
    ChunkHandle chunk = chunkChanges.birth(file, operation.placements(), ordinal);
    return new Added(chunk, index + 1, true);
  }

  /** No chunk has a successor before its own length is logged. */
  private void sealBeforeSuccessor(
      Inode.File file, int index, Optional<ChunkSeal> seal, long wallMillis) {
    ChunkEntry last = chunks.get(new ChunkHandle(file.chunks[index]));
    if (seal.isPresent()) {
      chunkChanges.checkSeal(last, seal.get());
    } else if (!last.isSealed()) {
      throw new LeaseFsException(
          ErrorCode.STALE_VERSION, "chunk " + last.handle() + ": its length is not known yet");
    }
    if (last.isSealed() && last.pending().isPresent()) {
      // The start of an earlier version of this change may have opened it at a member already.
      boolean begunAgain = last.pending().get().version() > last.active().version() + 1;
      if (begunAgain || last.pending().get().step() == Step.RECOVERING) {
        throw new LeaseFsException(
            ErrorCode.BUSY, "chunk " + last.handle() + ": is just being reopened");
      }
      chunks.put(last.withPending(Optional.empty()));
    } else if (seal.isPresent()) {
      chunkChanges.logSeal(last, seal.get(), wallMillis);
    }
  }

  Value close(CloseFile operation, SessionId session, long ordinal) {
    Inode.File file = namespace.requireFile(operation.file());
    Optional<ChunkEntry> last = lastChunk(file).map(chunks::get);
    boolean open =
        namespace.openings(operation.file()).stream()
            .anyMatch(
                o ->
                    o.session().equals(session)
                        && o.openNumber() == operation.openNumber()
                        && o.token() >= namespace.fenceFloor(operation.file()));
    boolean seals = open && last.isPresent() && isOf(last.get(), operation.sealed());
    if (seals) {
      chunkChanges.checkSeal(last.get(), operation.sealed().orElseThrow().seal());
    }
    if (operation.publication().isPresent()) {
      if (!open) {
        throw new LeaseFsException(
            ErrorCode.UNKNOWN_SESSION,
            "file " + operation.file() + ": is not open in session " + session);
      }
      publish(file, operation.publication().get(), ordinal, operation.wallMillis());
    }
    if (seals && !last.get().isSealed()) {
      chunkChanges.logSeal(
          last.get(), operation.sealed().orElseThrow().seal(), operation.wallMillis());
    }
    namespace.close(operation.file(), session, operation.openNumber());
    operation
        .publication()
        .flatMap(Publication::modifiedMillis)
        .ifPresent(modified -> file.modifiedMillis = modified);
    if (operation.endSession()) {
      sessionChanges.end(session, ordinal, operation.wallMillis());
    }
    return new Touched(operation.file());
  }

  /** Checks everything, then renames: nothing after it can fail. */
  private void publish(Inode.File file, Publication publication, long ordinal, long wallMillis) {
    FilePath from = namespace.pathOf(file);
    if (namespace.placeOf(file) != Place.VISIBLE || namespace.findOrNull(from) != file) {
      throw new LeaseFsException(ErrorCode.NOT_FOUND, from + ": has been deleted");
    }
    var _ =
        namespace.rename(from, publication.target(), publication.replace(), ordinal, wallMillis);
  }

  private static boolean isOf(ChunkEntry last, Optional<SealedChunk> sealed) {
    return sealed
        .map(SealedChunk::chunk)
        .filter(chunk -> chunk.equals(UNNAMED) || chunk.equals(last.handle()))
        .isPresent();
  }

  private Inode.File requireOpen(FileId id, SessionId session) {
    Inode.File file = namespace.requireFile(id);
    long token = -1;
    for (Opening opening : namespace.openings(id)) {
      if (opening.session().equals(session)) {
        token = Math.max(token, opening.token());
      }
    }
    if (token < 0) {
      throw new LeaseFsException(
          ErrorCode.UNKNOWN_SESSION, "file " + id + ": is not open in session " + session);
    }
    checkToken(id, token);
    return file;
  }

  private void checkToken(FileId file, long token) {
    if (token < namespace.fenceFloor(file)) {
      throw new LeaseFsException(
          ErrorCode.FENCED,
          "file " + file + ": token " + token + " is below " + namespace.fenceFloor(file));
    }
  }

  private static Optional<ChunkHandle> lastChunk(Inode.File file) {
    return file.chunks.length == 0
        ? Optional.empty()
        : Optional.of(new ChunkHandle(file.chunks[file.chunks.length - 1]));
  }

  // ---------------------------------------------------------------- the tree

  Value mkdir(Mkdir operation, long ordinal) {
    if (operation.parents()
        && namespace.findOrNull(operation.path()) instanceof Inode.Folder there) {
      return new Touched(new FileId(there.id));
    }
    Namespace.Slot slot = namespace.slotFor(operation.path(), operation.parents());
    Inode.Folder folder =
        namespace.createFolder(slot, operation.mode(), ordinal, operation.wallMillis());
    return new Touched(new FileId(folder.id));
  }

  Value rename(Rename operation, long ordinal) {
    Inode moved =
        namespace.rename(
            operation.from(), operation.to(), operation.replace(), ordinal, operation.wallMillis());
    return new Touched(new FileId(moved.id));
  }

  Value delete(Delete operation, long ordinal) {
    namespace.delete(
        operation.path(),
        operation.recursive(),
        operation.skipTrash(),
        ordinal,
        operation.wallMillis());
    return Done.DONE;
  }

  Value restore(Restore operation) {
    Inode inode = namespace.restore(operation.path(), operation.wallMillis());
    return new Touched(new FileId(inode.id));
  }

  Value setAttributes(SetAttributes operation) {
    Inode inode = namespace.require(operation.path());
    if (operation.replication().isPresent()) {
      checkReplication(operation.replication().get());
      if (!(inode instanceof Inode.File)) {
        throw new LeaseFsException(
            ErrorCode.IS_A_DIRECTORY, operation.path() + ": a folder has no replication");
      }
    }
    if (inode instanceof Inode.File file) {
      operation.replication().ifPresent(goal -> file.replication = (short) (int) goal);
    }
    operation.mode().ifPresent(mode -> inode.mode = (short) (int) mode);
    operation.modifiedMillis().ifPresent(modified -> inode.modifiedMillis = modified);
    return new Touched(new FileId(inode.id));
  }

  private static void checkReplication(int goal) {
    if (goal < 1 || goal > MAX_REPLICATION) {
      throw new LeaseFsException(
          ErrorCode.INVALID_ARGUMENT, "replication " + goal + ": must be 1 to " + MAX_REPLICATION);
    }
  }

  Value emptyTrash(EmptyTrash operation) {
    return new Counted(namespace.emptyTrash(operation.deletedBeforeMillis()));
  }

  // ---------------------------------------------------------------- real deletion

  Value purge(PurgeFiles operation) {
    long purged = 0;
    for (FileId id : operation.files()) {
      Inode inode = namespace.find(id);
      if (inode == null || namespace.placeOf(inode) != Place.DOOMED) {
        continue;
      }
      boolean free =
          switch (inode) {
            case Inode.File file -> isFree(file);
            case Inode.Folder folder -> folder.children.size() == 0;
          };
      if (free) {
        if (inode instanceof Inode.File file) {
          for (long chunk : file.chunks) {
            chunks.remove(new ChunkHandle(chunk));
          }
        }
        namespace.purge(inode);
        purged++;
      }
    }
    return new Counted(purged);
  }

  /** All chunks sealed, and no one holds a right to any or changes it. */
  boolean isFree(Inode.File file) {
    for (long handle : file.chunks) {
      ChunkEntry chunk = chunks.get(new ChunkHandle(handle));
      if (!chunk.isSealed() || chunk.lease().isPresent() || chunk.pending().isPresent()) {
        return false;
      }
    }
    return true;
  }
}
