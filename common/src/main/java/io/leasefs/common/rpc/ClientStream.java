package io.leasefs.common.rpc;

import io.grpc.ClientCall;
import io.grpc.Metadata;
import io.grpc.Status;
import io.leasefs.common.model.ServerAddress;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The client's end of a stream. Sending is safe on any thread and never blocks; messages and the
 * one word that it is broken come on the channel's threads.
 */
final class ClientStream<Q, R> extends ClientCall.Listener<R> {
  private static final Logger log = LoggerFactory.getLogger(ClientStream.class);

  private final ClientCall<Q, R> call;
  private final ServerAddress address;
  private final Consumer<R> messages;
  private final Consumer<String> broken;
  private final Object lock = new Object();
  private volatile Runnable readyTask = () -> {};
  private volatile boolean ended;
  private boolean closing; // guarded by lock
  private @Nullable String ownReason; // guarded by lock

  ClientStream(
      ClientCall<Q, R> call, ServerAddress address, Consumer<R> messages, Consumer<String> broken) {
    this.call = call;
    this.address = address;
    this.messages = messages;
    this.broken = broken;
  }

  void start() {
    call.start(this, new Metadata());
    call.request(1);
  }

  void send(Q message) {
    synchronized (lock) {
      if (ended || closing) {
        return;
      }
      call.sendMessage(message);
    }
    if (message instanceof Envelope<?> envelope) {
      envelope.settle();
    }
  }

  boolean isReady() {
    return !ended && call.isReady();
  }

  void onReady(Runnable task) {
    readyTask = task;
  }

  /** What was sent before still arrives. */
  void close() {
    synchronized (lock) {
      if (!ended && !closing) {
        closing = true;
        ownReason = "closed: by this side";
        call.halfClose();
      }
    }
  }

  @Override
  public void onMessage(R message) {
    try {
      messages.accept(message);
    } catch (RuntimeException e) {
      log.error("event=stream_callback_failed peer={}", address, e);
      synchronized (lock) {
        ownReason = "closed: this side failed on a message: " + e;
      }
      call.cancel("a callback failed", e);
      return;
    }
    call.request(1);
  }

  @Override
  public void onReady() {
    readyTask.run();
  }

  @Override
  public void onClose(Status status, Metadata trailers) {
    String why;
    synchronized (lock) {
      ended = true;
      why = ownReason;
    }
    broken.accept(why != null ? why : StatusMapper.broken(status, trailers, address));
    readyTask.run();
  }
}
