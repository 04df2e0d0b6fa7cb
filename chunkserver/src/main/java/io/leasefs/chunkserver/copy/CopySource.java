package io.leasefs.chunkserver.copy;

import io.leasefs.chunkserver.read.BufferPool;
import io.leasefs.chunkserver.read.Pump;
import io.leasefs.chunkserver.replica.ReplicaImage.SealPoint;
import io.leasefs.chunkserver.replica.ReplicaImage.Snapshot;
import io.leasefs.chunkserver.store.SnapshotCodec;
import io.leasefs.chunkserver.store.StoredChunk;
import io.leasefs.common.api.ChunkApi.CopyEnd;
import io.leasefs.common.api.ChunkApi.CopyPart;
import io.leasefs.common.api.ChunkApi.CopyRequest;
import io.leasefs.common.api.ChunkApi.ReadPart;
import io.leasefs.common.api.ChunkApi.Sink;
import io.leasefs.common.api.Frame;
import io.leasefs.common.checksum.Checksums;
import io.leasefs.common.error.ErrorCode;
import io.leasefs.common.error.LeaseFsException;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import java.util.function.Consumer;

/**
 * Hands out copies: the chunk's state at one committed serial, then the bytes that belong to it.
 *
 * <p>The bytes are read while the chunk goes on. Appends lie beyond the state's length and do no
 * harm; where anything below it was overwritten or cut meanwhile, the copy fails with
 * STALE_VERSION, and whoever asked begins again. A copier that has a state of serial s asks for
 * what follows it: it gets a newer state and the bytes from the older one's length on, if only
 * appends lie between the two. Any thread.
 */
public final class CopySource {
  /** Copiers that are remembered; past it the oldest has to begin again. */
  private static final int MOST_COPIERS = 64;

  private final Executor executor;
  private final BufferPool buffers;
  private final int partBytes;

  /** A state that was handed out. */
  private record Given(long serial, long lengthBytes, long epoch) {}

  private record Copier(io.leasefs.common.model.ChunkHandle chunk, long replica) {}

  /** Guarded by itself: the newest state that each copier has. */
  private final Map<Copier, Given> given = new LinkedHashMap<>();

  /**
   * @param executor pumps; may wait for the disk
   * @param partBytes most bytes in a part; buffers hold 128 KiB more
   */
  public CopySource(Executor executor, BufferPool buffers, int partBytes) {
    this.executor = executor;
    this.buffers = buffers;
    this.partBytes = partBytes;
  }

  /**
   * Begins a copy.
   *
   * @param snapshot the committed state, all of it published by the store
   * @param epoch the store's overwrite epoch, read before the snapshot was published
   * @param damage told where a block does not match: this copy is damaged, whoever found it
   */
  public void copy(
      CopyRequest request,
      StoredChunk stored,
      Snapshot snapshot,
      long epoch,
      Consumer<String> damage,
      Sink<CopyPart> parts,
      CompletableFuture<CopyEnd> future) {
    Copier copier = new Copier(request.chunk(), request.learner().value());
    long from = 0;
    if (request.fromSerial() > 0) {
      Given before;
      synchronized (given) {
        before = given.get(copier);
      }
      if (before == null
          || before.serial != request.fromSerial()
          || before.epoch != epoch
          || before.lengthBytes > snapshot.lengthBytes()) {
        future.completeExceptionally(beginAgain(request));
        return;
      }
      from = before.lengthBytes;
    }
    Source source = new Source(request, copier, stored, snapshot, epoch, damage, from);
    new Pump<>(executor, source, parts, future).start();
  }

  private static LeaseFsException beginAgain(CopyRequest request) {
    return new LeaseFsException(
        ErrorCode.STALE_VERSION,
        "chunk " + request.chunk() + " was overwritten while it was copied",
        "begin again from serial 0");
  }

  private void remember(Copier copier, Given newest) {
    synchronized (given) {
      given.remove(copier);
      given.put(copier, newest);
      if (given.size() > MOST_COPIERS) {
        given.remove(given.keySet().iterator().next());
      }
    }
  }

  private final class Source implements Pump.Source<CopyPart, CopyEnd> {
    private final CopyRequest request;
    private final Copier copier;
    private final StoredChunk stored;
    private final Snapshot snapshot;
    private final long epoch;
    private final Consumer<String> damage;
    private final ByteBuffer image;
    private long imageSent;
    private long offset;

    Source(
        CopyRequest request,
        Copier copier,
        StoredChunk stored,
        Snapshot snapshot,
        long epoch,
        Consumer<String> damage,
        long offset) {
      this.request = request;
      this.copier = copier;
      this.stored = stored;
      this.snapshot = snapshot;
      this.epoch = epoch;
      this.damage = damage;
      this.offset = offset;
      this.image = SnapshotCodec.encode(snapshot);
    }

    @Override
    public boolean next(Sink<CopyPart> sink) throws IOException {
      if (image.hasRemaining()) {
        int length = Math.min(image.remaining(), partBytes);
        ByteBuffer part = image.slice(image.position(), length);
        sink.accept(new CopyPart(true, imageSent, Checksums.of(part, Frame.PIECE), part));
        image.position(image.position() + length);
        imageSent += length;
      } else if (offset < snapshot.lengthBytes()) {
        sendData(sink);
      }
      boolean more = image.hasRemaining() || offset < snapshot.lengthBytes();
      if (!more && stored.overwriteEpoch() != epoch) {
        throw beginAgain(request);
      }
      return more;
    }

    private void sendData(Sink<CopyPart> sink) throws IOException {
      ByteBuffer buffer = buffers.take();
      try {
        ReadPart part = stored.read(offset, partBytes, snapshot.lengthBytes(), n -> buffer);
        if (!part.payload().hasRemaining()) {
          throw beginAgain(request);
        }
        int length = part.payload().remaining();
        sink.accept(new CopyPart(false, offset, part.checksums(), part.payload()));
        offset += length;
      } finally {
        buffers.give(buffer);
      }
    }

    @Override
    public CopyEnd end() {
      remember(copier, new Given(snapshot.serial(), snapshot.lengthBytes(), epoch));
      return new CopyEnd(
          snapshot.serial(), snapshot.lengthBytes(), snapshot.seal().flatMap(SealPoint::seal));
    }

    @Override
    public Throwable failed(Exception failure) {
      if (failure instanceof LeaseFsException told) {
        if (told.code() == ErrorCode.CORRUPT) {
          damage.accept(String.valueOf(told.getMessage()));
        }
        return told;
      }
      return new LeaseFsException(
          ErrorCode.CORRUPT, "chunk " + request.chunk() + " cannot be read here: " + failure);
    }
  }

  /** True where this state can be handed out: a sealed chunk's checksum must be known. */
  public static boolean isComplete(Snapshot snapshot) {
    Optional<SealPoint> seal = snapshot.seal();
    return seal.isEmpty() || seal.get().checksum().isPresent();
  }
}
