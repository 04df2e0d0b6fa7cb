package io.leasefs.client.data;

import io.leasefs.common.api.Frame;
import io.leasefs.common.api.MasterApi.Publication;
import io.leasefs.common.checksum.Checksums;
import io.leasefs.common.model.FileStatus;
import io.leasefs.common.model.SealedChunk;
import java.nio.ByteBuffer;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicBoolean;

/**
 * A file that this process may append to: the client without its blocking face. Any thread; never
 * blocks. Appends take effect exactly once, in the order of the calls.
 */
public final class AsyncAppender {
  private final OpenFiles owner;
  private final FileWrites writes;
  private final FileStatus status;
  private final long openNumber;
  private final WriteStream stream = new WriteStream();
  private final AtomicBoolean ended = new AtomicBoolean();

  /** Which opening the master is to close: that of the newest session, once one was lost. */
  private volatile long toClose;

  AsyncAppender(OpenFiles owner, FileWrites writes, FileStatus status, long openNumber) {
    this.owner = owner;
    this.writes = writes;
    this.status = status;
    this.openNumber = openNumber;
    this.toClose = openNumber;
  }

  /** The file as it was when opened. */
  public FileStatus status() {
    return status;
  }

  /**
   * Appends one record.
   *
   * @param payload at most 1 MiB; its bytes must not change until the answer is there
   */
  public CompletableFuture<Written> append(ByteBuffer payload) {
    return append(payload, Checksums.of(payload, Frame.PIECE), false);
  }

  /**
   * The same with checksums that are there already.
   *
   * @param endsChunk true where the file's chunk shall end with this record: before a close
   */
  public CompletableFuture<Written> append(
      ByteBuffer payload, Checksums checksums, boolean endsChunk) {
    return writes.append(payload, checksums, endsChunk, null);
  }

  /**
   * Appends the next part of a stream: once a part could not be written, no later part is. In the
   * file is then a beginning of the stream.
   */
  public CompletableFuture<Written> appendNext(
      ByteBuffer payload, Checksums checksums, boolean endsChunk) {
    return writes.append(payload, checksums, endsChunk, stream);
  }

  /**
   * Ends the last chunk behind all appends so far, as a part of the stream; no seal where the file
   * has no chunk.
   */
  public CompletableFuture<Written> seal() {
    return writes.seal(stream);
  }

  /**
   * Closes this opening; what is still under way is given up by this process. May be asked again
   * where it failed.
   *
   * @param seal of the last chunk, where this writer has sealed it
   * @param endSession true with the last operation of a short-lived process
   */
  public CompletableFuture<FileStatus> close(Optional<SealedChunk> seal, boolean endSession) {
    return close(seal, Optional.empty(), endSession);
  }

  /** The same; where there is a publication the file gets its name with it. */
  public CompletableFuture<FileStatus> close(
      Optional<SealedChunk> seal, Optional<Publication> publication, boolean endSession) {
    if (ended.compareAndSet(false, true)) {
      toClose = owner.leave(writes, openNumber);
      writes.end();
    }
    return owner.close(status, toClose, seal, publication, endSession);
  }

  /** The state of its file's writing, for traces. */
  @Override
  public String toString() {
    return writes.toString();
  }
}
