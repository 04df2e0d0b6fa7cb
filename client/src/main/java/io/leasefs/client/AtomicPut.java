package io.leasefs.client;

import io.leasefs.common.api.MasterApi.Publication;
import io.leasefs.common.error.ErrorCode;
import io.leasefs.common.error.LeaseFsException;
import io.leasefs.common.model.FilePath;
import io.leasefs.common.model.FileStatus;
import java.util.Optional;

/**
 * A file that appears whole or not at all: written as a hidden sibling, renamed at {@link #commit}.
 * Closed without a commit, the sibling is removed. For one thread at a time; {@link #close} from
 * any.
 */
public final class AtomicPut implements AutoCloseable {
  private final LeaseFs files;
  private final FilePath target;
  private final FilePath sibling;
  private final boolean replace;
  private final FileWriter writer;
  private boolean ended;

  AtomicPut(LeaseFs files, FilePath target, FilePath sibling, boolean replace, FileWriter writer) {
    this.files = files;
    this.target = target;
    this.sibling = sibling;
    this.replace = replace;
    this.writer = writer;
  }

  /** Write here; do not close it yourself. */
  public FileWriter writer() {
    return writer;
  }

  /**
   * All bytes are in: the file gets its name. Fails with ALREADY_EXISTS where it may not replace.
   */
  public FileStatus commit() {
    return commit(Optional.empty());
  }

  /**
   * The same.
   *
   * @param modifiedMillis the file's time of modification, where it is not now
   */
  public synchronized FileStatus commit(Optional<Long> modifiedMillis) {
    try {
      FileStatus status = writer.publish(new Publication(target, replace, modifiedMillis));
      ended = true;
      return status;
    } catch (LeaseFsException e) {
      throw writer.isPublishing() ? e : notPut(e);
    }
  }

  /**
   * What a failure to write means here: nothing has the target's name yet, so whether or not the
   * bytes arrived, the file is certainly not there.
   */
  public LeaseFsException notPut(LeaseFsException failure) {
    boolean unknown = failure.code() == ErrorCode.OUTCOME_UNKNOWN;
    return new LeaseFsException(
        unknown ? ErrorCode.TIMED_OUT : failure.code(),
        target + ": not put, and nothing of it is kept: " + failure.getMessage(),
        unknown ? null : failure.hint(),
        failure);
  }

  /** Removes the sibling, unless committed. Never fails: the end of the session removes it too. */
  @Override
  public synchronized void close() {
    if (ended) {
      return;
    }
    ended = true;
    writer.abort();
    try {
      files.delete(sibling, false, true);
    } catch (LeaseFsException unreachable) {
      // The master drops the sibling of a dead put.
    }
  }
}
