package io.leasefs.client.fake;

import io.leasefs.common.api.MasterApi;
import io.leasefs.common.api.MasterApi.Publication;
import io.leasefs.common.error.ErrorCode;
import io.leasefs.common.error.LeaseFsException;
import io.leasefs.common.model.ChunkHandle;
import io.leasefs.common.model.ChunkLayout;
import io.leasefs.common.model.ChunkSeal;
import io.leasefs.common.model.ClientId;
import io.leasefs.common.model.FileId;
import io.leasefs.common.model.FileLayout;
import io.leasefs.common.model.FilePath;
import io.leasefs.common.model.FileStatus;
import io.leasefs.common.model.RequestId;
import io.leasefs.common.model.SealedChunk;
import io.leasefs.common.model.ServerId;
import io.leasefs.common.model.SessionId;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;

/** A master that can do nothing; tests override what they need. */
public class FakeMaster implements MasterApi {
  protected static <T> CompletableFuture<T> failure(ErrorCode code, String message) {
    return CompletableFuture.failedFuture(new LeaseFsException(code, message));
  }

  private static <T> CompletableFuture<T> unexpected() {
    return failure(ErrorCode.INTERNAL, "not expected in this test");
  }

  @Override
  public CompletableFuture<Greeting> greet(ClientId client) {
    return unexpected();
  }

  @Override
  public CompletableFuture<OpenFile> create(RequestId id, CreateFile request) {
    return unexpected();
  }

  @Override
  public CompletableFuture<OpenFile> openForWrite(RequestId id, FilePath path, long token) {
    return unexpected();
  }

  @Override
  public CompletableFuture<AddedChunk> addChunk(
      RequestId id, FileId file, int afterIndex, Optional<ChunkSeal> seal) {
    return unexpected();
  }

  @Override
  public CompletableFuture<FileStatus> close(
      RequestId id,
      FileId file,
      long openNumber,
      Optional<SealedChunk> sealed,
      Optional<Publication> publication,
      boolean endSession) {
    return unexpected();
  }

  @Override
  public CompletableFuture<FileLayout> layout(FilePath path, int fromIndex, int limit) {
    return unexpected();
  }

  @Override
  public CompletableFuture<FileLayout> layout(FileId file, int fromIndex, int limit) {
    return unexpected();
  }

  @Override
  public CompletableFuture<ChunkLayout> chunkLayout(
      ChunkHandle chunk, long knownVersion, long waitNanos) {
    return unexpected();
  }

  @Override
  public CompletableFuture<Void> reportSilent(
      ChunkHandle chunk, long version, boolean connectionReset) {
    return unexpected();
  }

  @Override
  public CompletableFuture<Void> reportDamaged(ChunkHandle chunk, ServerId server, long block) {
    return unexpected();
  }

  @Override
  public CompletableFuture<Long> renew(ClientId client, SessionId session) {
    return unexpected();
  }

  @Override
  public CompletableFuture<FileStatus> stat(FilePath path) {
    return unexpected();
  }

  @Override
  public CompletableFuture<List<FileStatus>> list(FilePath path, String after, int limit) {
    return unexpected();
  }

  @Override
  public CompletableFuture<FileStatus> mkdir(
      RequestId id, FilePath path, boolean parents, int mode) {
    return unexpected();
  }

  @Override
  public CompletableFuture<FileStatus> rename(
      RequestId id, FilePath from, FilePath to, boolean replace) {
    return unexpected();
  }

  @Override
  public CompletableFuture<Void> delete(
      RequestId id, FilePath path, boolean recursive, boolean skipTrash) {
    return unexpected();
  }

  @Override
  public CompletableFuture<FileStatus> restore(RequestId id, FilePath path) {
    return unexpected();
  }

  @Override
  public CompletableFuture<FileStatus> setAttributes(
      RequestId id, FilePath path, Attributes attributes) {
    return unexpected();
  }

  @Override
  public CompletableFuture<List<Trashed>> trash() {
    return unexpected();
  }

  @Override
  public CompletableFuture<Integer> emptyTrash(RequestId id, long olderThanMillis) {
    return unexpected();
  }

  @Override
  public CompletableFuture<Usage> usage(FilePath path) {
    return unexpected();
  }
}
