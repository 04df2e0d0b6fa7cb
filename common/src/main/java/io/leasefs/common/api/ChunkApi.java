package io.leasefs.common.api;

import io.leasefs.common.checksum.Checksums;
import io.leasefs.common.model.ChunkHandle;
import io.leasefs.common.model.ChunkSeal;
import io.leasefs.common.model.ClusterEvent;
import io.leasefs.common.model.ReplicaId;
import io.leasefs.common.model.ServerAddress;
import io.leasefs.common.model.ServerId;
import java.nio.ByteBuffer;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.function.Consumer;

/** What clients and peers ask a chunkserver. */
public interface ChunkApi {
  /**
   * Opens a stream of frames to a primary. Answers come in any order, each naming its frame.
   *
   * @param answers one at a time
   * @param broken told once when the stream ends; frames without an answer have an unknown outcome
   */
  FrameStream mutate(Consumer<NamedAnswer> answers, Consumer<String> broken);

  /** An answer and the frame it belongs to. */
  record NamedAnswer(ChunkHandle chunk, long session, long sequence, FrameAnswer answer) {}

  /** The client's side of an open stream. */
  interface FrameStream {
    /** Sends; never blocks; dropped where the stream is broken. */
    void send(Frame frame);

    /** True while more may be sent without growing an unbounded queue. */
    boolean isReady();

    /**
     * Has the task run whenever the stream may have turned ready again after {@link #isReady} said
     * no. One listener; set it before the first send. The task must be quick; any thread.
     */
    void onReady(Runnable task);

    void close();
  }

  /**
   * Where a read or a copy puts its parts, one at a time. A lambda is a sink that is always ready.
   * The producer asks {@link #isReady} before each part and, where it says no, stops until the
   * {@link #onReady} task runs: a slow reader then costs no memory. A producer that goes on all the
   * same sees its read cut.
   */
  interface Sink<T> extends Consumer<T> {
    /** The part is used or copied before this returns: its payload may be reused after. */
    @Override
    void accept(T part);

    default boolean isReady() {
      return true;
    }

    /** False once nobody listens any more: the producer stops, and fails its future. */
    default boolean isOpen() {
      return true;
    }

    /**
     * Has the task run whenever the sink may have turned ready again, and when it is closed. One
     * listener; set it before the first part. The task must be quick; any thread.
     */
    default void onReady(Runnable task) {}
  }

  /**
   * Reads committed bytes. Parts come in order, each with its own checksums. Fails with NOT_FOUND
   * (not here), STALE_VERSION, NOT_PRIMARY, CORRUPT, TIMED_OUT.
   */
  CompletableFuture<ReadEnd> read(ReadRequest request, Sink<ReadPart> parts);

  /**
   * A read of one chunk.
   *
   * @param version the configuration the reader knows
   * @param seal set where the layout says that the chunk is sealed
   * @param offset bytes from the chunk's start
   * @param lengthBytes most bytes wanted; fewer come where the chunk ends
   * @param mode how fresh
   */
  record ReadRequest(
      ChunkHandle chunk,
      long version,
      Optional<ChunkSeal> seal,
      long offset,
      long lengthBytes,
      ReadMode mode) {}

  /** How fresh a read must be. */
  enum ReadMode {
    /** Linearizable per chunk, by the primary's lease. */
    DEFAULT,
    /** Linearizable with no clock: the chain is asked. */
    STRICT,
    /** Any committed bytes. */
    STALE_OK
  }

  /** Bytes from {@code offset}; one CRC32C per 64 KiB piece counted from the part's start. */
  record ReadPart(long offset, Checksums checksums, ByteBuffer payload) {}

  /** What the chunk was when the read was served. */
  record ReadEnd(long committedLength, long version, boolean sealed) {}

  /** Opens a stream to a peer; messages of one chunk keep their order. */
  PeerStream peer(Consumer<PeerMessage> answers, Consumer<String> broken);

  /** One side of an open stream between peers. */
  interface PeerStream {
    /**
     * Tells who sends on this stream, and where the servers that its messages name listen. Keeps
     * its order with messages; comes first, and again when there is more to tell.
     */
    void introduce(ServerId from, Map<ServerId, ServerAddress> listening);

    /** Sends; never blocks; dropped where the stream is broken. */
    void send(PeerMessage message);

    boolean isReady();

    /** As for {@link FrameStream#onReady}. */
    void onReady(Runnable task);

    void close();
  }

  /** Fetches a copy: state first, then bytes, then the journal's newer records. For learners. */
  CompletableFuture<CopyEnd> copy(CopyRequest request, Sink<CopyPart> parts);

  /** From which serial on; 0 for everything. */
  record CopyRequest(ChunkHandle chunk, long version, ReplicaId learner, long fromSerial) {}

  /** Part of a copy: {@code image} bytes of the chunk's state, or data at an offset. */
  record CopyPart(boolean image, long offset, Checksums checksums, ByteBuffer payload) {}

  /** How far the copy goes. */
  record CopyEnd(long committedSerial, long lengthBytes, Optional<ChunkSeal> seal) {}

  /** What this server has of a chunk, read and checked from disk where {@code verify} is set. */
  CompletableFuture<ReplicaStatus> inspect(ChunkHandle chunk, boolean verify);

  /**
   * A replica, as found.
   *
   * @param checksum CRC32C of the committed content; 0 where it was not asked for
   * @param badBlocks numbers of 64 KiB blocks that do not match
   */
  record ReplicaStatus(
      Heartbeat.ReplicaReport report,
      boolean primary,
      long leaseLeftNanos,
      int checksum,
      List<Long> badBlocks) {}

  /** Recorded events with number above {@code after}, oldest first, at most {@code limit}. */
  CompletableFuture<List<ClusterEvent>> events(long after, int limit);

  /**
   * Injects or heals a fault, and tells which are on after that; {@code ls} only tells. Refused
   * with PERMISSION unless the server was started to allow it.
   */
  CompletableFuture<List<String>> fault(String command, List<String> arguments);
}
