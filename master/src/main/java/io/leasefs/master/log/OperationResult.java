package io.leasefs.master.log;

import io.leasefs.common.error.ErrorCode;
import io.leasefs.common.error.LeaseFsException;
import io.leasefs.common.model.ChunkHandle;
import io.leasefs.common.model.FileId;
import io.leasefs.common.model.ReplicaId;
import io.leasefs.common.model.SessionId;
import java.util.Optional;

/**
 * What an operation did when it was applied: the same on every master. A rejection is a normal
 * result; the state is as if the operation had not been, but for a client session that it made.
 */
public sealed interface OperationResult {
  /** It took effect. */
  record Applied(Value value) implements OperationResult {}

  /** It had no effect. */
  record Rejected(ErrorCode code, String message) implements OperationResult {}

  /** The value, or the rejection as an exception. */
  default Value valueOrThrow() {
    return switch (this) {
      case Applied applied -> applied.value();
      case Rejected rejected -> throw new LeaseFsException(rejected.code(), rejected.message());
    };
  }

  default boolean isApplied() {
    return this instanceof Applied;
  }

  /** What there is to tell of an applied operation. */
  sealed interface Value {}

  /** Nothing to tell. */
  enum Done implements Value {
    DONE
  }

  /** Of RegisterServer: the session of this incarnation. */
  record Registered(SessionId session) implements Value {}

  /**
   * Of CreateFile and OpenForWrite.
   *
   * @param openNumber names the opening: the entry's ordinal
   * @param chunk the file's last chunk, where it has one
   * @param born true where this entry made that chunk
   */
  record Opened(
      FileId file, SessionId session, long openNumber, Optional<ChunkHandle> chunk, boolean born)
      implements Value {}

  /** Of AddChunk: the successor; {@code born} where this entry made it. */
  record Added(ChunkHandle chunk, int index, boolean born) implements Value {}

  /** Of Mkdir, Rename, Restore, SetAttributes, CloseFile: the file or folder concerned. */
  record Touched(FileId file) implements Value {}

  /** Of EmptyTrash and PurgeFiles: how many. */
  record Counted(long count) implements Value {}

  /** Of OrderReplica: the new replica. */
  record Ordered(ReplicaId replica) implements Value {}
}
