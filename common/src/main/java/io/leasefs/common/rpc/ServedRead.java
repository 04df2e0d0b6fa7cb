package io.leasefs.common.rpc;

import com.google.protobuf.MessageLite;
import io.grpc.Metadata;
import io.grpc.ServerCall;
import io.grpc.ServerCallHandler;
import io.grpc.Status;
import io.leasefs.common.api.ChunkApi;
import io.leasefs.common.error.ErrorCode;
import io.leasefs.common.error.LeaseFsException;
import java.util.concurrent.CompletableFuture;
import java.util.function.BiFunction;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * A read or copy while it is served: parts, then the end. The sink that the Api fills is ready
 * while less than {@value #READY_BYTES} bytes wait for the reader; a producer that runs on all the
 * same is cut off at {@value #MAX_WAITING_BYTES}.
 */
final class ServedRead<Q, P, E, H extends MessageLite> extends ServerCall.Listener<Q>
    implements ChunkApi.Sink<P> {
  static final int READY_BYTES = 512 << 10;
  static final long MAX_WAITING_BYTES = 8L << 20;

  /** How one kind of read is served. */
  record Kind<Q, P, E, H extends MessageLite>(
      String name,
      BiFunction<Q, ChunkApi.Sink<P>, CompletableFuture<E>> method,
      Function<P, Envelope<H>> part,
      Function<E, Envelope<H>> end)
      implements ServerCallHandler<Q, Envelope<H>> {
    @Override
    public ServerCall.Listener<Q> startCall(ServerCall<Q, Envelope<H>> call, Metadata headers) {
      call.setOnReadyThreshold(READY_BYTES);
      call.sendHeaders(new Metadata());
      call.request(2); // the request, and the knowledge that no other follows
      return new ServedRead<>(call, this);
    }
  }

  private final ServerCall<Q, Envelope<H>> call;
  private final Kind<Q, P, E, H> kind;
  private final Object lock = new Object();
  private @Nullable Q request;
  private volatile Runnable readyTask = () -> {};
  private volatile boolean closed;
  private long waitingBytes; // guarded by lock

  private ServedRead(ServerCall<Q, Envelope<H>> call, Kind<Q, P, E, H> kind) {
    this.call = call;
    this.kind = kind;
  }

  @Override
  public void accept(P part) {
    Envelope<H> message = kind.part().apply(part);
    synchronized (lock) {
      if (closed) {
        return;
      }
      waitingBytes = call.isReady() ? 0 : waitingBytes + message.payloadBytes();
      if (waitingBytes <= MAX_WAITING_BYTES) {
        try {
          call.sendMessage(message);
          return;
        } catch (OutOfMemoryError e) {
          // Netty's direct memory is used up; that must not cost more than this read
          waitingBytes = -1;
        }
      }
    }
    String why =
        waitingBytes < 0
            ? "there is no memory left for its parts"
            : "parts were pushed to a reader that is slow";
    fail(new LeaseFsException(ErrorCode.BUSY, kind.name() + " was cut: " + why));
  }

  @Override
  public boolean isReady() {
    return !closed && call.isReady();
  }

  @Override
  public boolean isOpen() {
    return !closed;
  }

  @Override
  public void onReady(Runnable task) {
    readyTask = task;
  }

  @Override
  public void onMessage(Q message) {
    request = message;
  }

  @Override
  public void onHalfClose() {
    Q asked = request;
    if (asked == null) {
      fail(new LeaseFsException(ErrorCode.INVALID_ARGUMENT, kind.name() + " without a request"));
      return;
    }
    var unused =
        UnaryReply.start(() -> kind.method().apply(asked, this)).whenComplete(this::finish);
  }

  private void finish(@Nullable E end, @Nullable Throwable failure) {
    if (end == null) {
      fail(failure == null ? new IllegalStateException("no end of " + kind.name()) : failure);
      return;
    }
    Envelope<H> message = kind.end().apply(end);
    synchronized (lock) {
      if (!closed) {
        closed = true;
        call.sendMessage(message);
        call.close(Status.OK, new Metadata());
      }
    }
  }

  private void fail(Throwable failure) {
    synchronized (lock) {
      if (closed) {
        return; // the reader has gone; the producer's failure says just that
      }
      closed = true;
      StatusMapper.Closing closing = StatusMapper.toStatus(failure, kind.name());
      Metadata trailers = closing.trailers();
      call.close(closing.status(), trailers == null ? new Metadata() : trailers);
    }
    readyTask.run();
  }

  @Override
  public void onReady() {
    readyTask.run();
  }

  @Override
  public void onCancel() {
    synchronized (lock) {
      closed = true;
    }
    readyTask.run();
  }
}
