package io.leasefs.common.rpc;

import io.grpc.Metadata;
import io.grpc.ServerCall;
import io.grpc.ServerCallHandler;
import io.grpc.Status;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * The server's end of a stream. Asks for one message at a time, and only while whoever takes them
 * is ready and the peer takes ours: so a stream holds one message and a connection one window.
 *
 * <p>{@link #send} and {@link #end} may be called on any thread; messages come on the listener's.
 */
final class ServerStream<Q, R> extends ServerCall.Listener<Q> {
  /** Whoever takes the messages; called on the listener's thread, without a lock. */
  interface Inbound<Q> {
    void accept(Q message);

    /** False: no message is asked for until {@link ServerStream#pull}. */
    boolean isReady();

    /** The stream has ended; told once. */
    void close();
  }

  /** Opens a stream for each call. */
  static final class Handler<Q, R> implements ServerCallHandler<Q, R> {
    private final String name;
    private final Function<ServerStream<Q, R>, Inbound<Q>> opener;

    Handler(String name, Function<ServerStream<Q, R>, Inbound<Q>> opener) {
      this.name = name;
      this.opener = opener;
    }

    @Override
    public ServerCall.Listener<Q> startCall(ServerCall<Q, R> call, Metadata headers) {
      ServerStream<Q, R> stream = new ServerStream<>(call, name);
      stream.open(opener);
      return stream;
    }
  }

  private final ServerCall<Q, R> call;
  private final String name;
  private final Object lock = new Object();
  private volatile @Nullable Inbound<Q> inbound;
  // guarded by lock
  private boolean pulled;
  private boolean ended;
  private boolean inboundClosed;

  private ServerStream(ServerCall<Q, R> call, String name) {
    this.call = call;
    this.name = name;
  }

  private void open(Function<ServerStream<Q, R>, Inbound<Q>> opener) {
    call.sendHeaders(new Metadata());
    try {
      inbound = opener.apply(this);
    } catch (RuntimeException e) {
      fail(e);
      return;
    }
    boolean late;
    synchronized (lock) {
      late = ended;
    }
    if (late) {
      closeInbound();
    } else {
      pull();
    }
  }

  /** Sends; dropped where the stream has ended. */
  void send(R message) {
    synchronized (lock) {
      if (!ended) {
        call.sendMessage(message);
      }
    }
  }

  /** False where the peer does not take what we send. */
  boolean isReady() {
    return call.isReady();
  }

  /** Asks for the next message, if it is time. */
  void pull() {
    Inbound<Q> taker = inbound;
    if (taker == null || !taker.isReady() || !call.isReady()) {
      return;
    }
    synchronized (lock) {
      if (ended || pulled) {
        return;
      }
      pulled = true;
    }
    call.request(1);
  }

  /** Our side ends the stream and says why. */
  void end(String why) {
    finish(Status.ABORTED.withDescription(why), new Metadata());
    closeInbound();
  }

  private void fail(RuntimeException failure) {
    StatusMapper.Closing closing = StatusMapper.toStatus(failure, name);
    Metadata trailers = closing.trailers();
    finish(closing.status(), trailers == null ? new Metadata() : trailers);
    closeInbound();
  }

  private void finish(Status status, Metadata trailers) {
    synchronized (lock) {
      if (!ended) {
        ended = true;
        call.close(status, trailers);
      }
    }
  }

  private void closeInbound() {
    Inbound<Q> taker = inbound;
    synchronized (lock) {
      if (taker == null || inboundClosed) {
        return;
      }
      inboundClosed = true;
    }
    taker.close();
  }

  @Override
  public void onMessage(Q message) {
    Inbound<Q> taker = inbound;
    synchronized (lock) {
      pulled = false;
      if (ended || taker == null) {
        return;
      }
    }
    try {
      UnaryReply.checked(() -> taker.accept(message));
    } catch (RuntimeException e) {
      fail(e);
      return;
    }
    pull();
  }

  @Override
  public void onReady() {
    pull();
  }

  @Override
  public void onHalfClose() {
    finish(Status.OK, new Metadata());
    closeInbound();
  }

  @Override
  public void onCancel() {
    synchronized (lock) {
      ended = true;
    }
    closeInbound();
  }
}
