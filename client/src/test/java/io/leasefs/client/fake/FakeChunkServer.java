package io.leasefs.client.fake;

import io.leasefs.common.api.ChunkApi;
import io.leasefs.common.api.PeerMessage;
import io.leasefs.common.error.ErrorCode;
import io.leasefs.common.error.LeaseFsException;
import io.leasefs.common.model.ChunkHandle;
import io.leasefs.common.model.ClusterEvent;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.function.Consumer;

/** A chunkserver that can do nothing; tests override what they need. */
public class FakeChunkServer implements ChunkApi {
  private static <T> CompletableFuture<T> unexpected() {
    return CompletableFuture.failedFuture(
        new LeaseFsException(ErrorCode.INTERNAL, "not expected in this test"));
  }

  @Override
  public FrameStream mutate(Consumer<NamedAnswer> answers, Consumer<String> broken) {
    throw new LeaseFsException(ErrorCode.INTERNAL, "not expected in this test");
  }

  @Override
  public CompletableFuture<ReadEnd> read(ReadRequest request, Sink<ReadPart> parts) {
    return unexpected();
  }

  @Override
  public PeerStream peer(Consumer<PeerMessage> answers, Consumer<String> broken) {
    throw new LeaseFsException(ErrorCode.INTERNAL, "not expected in this test");
  }

  @Override
  public CompletableFuture<CopyEnd> copy(CopyRequest request, Sink<CopyPart> parts) {
    return unexpected();
  }

  @Override
  public CompletableFuture<ReplicaStatus> inspect(ChunkHandle chunk, boolean verify) {
    return unexpected();
  }

  @Override
  public CompletableFuture<List<ClusterEvent>> events(long after, int limit) {
    return unexpected();
  }

  @Override
  public CompletableFuture<List<String>> fault(String command, List<String> arguments) {
    return unexpected();
  }
}
