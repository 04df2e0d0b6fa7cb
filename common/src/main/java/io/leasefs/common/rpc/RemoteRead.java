package io.leasefs.common.rpc;

import com.google.protobuf.MessageLite;
import io.grpc.CallOptions;
import io.grpc.ClientCall;
import io.grpc.Metadata;
import io.grpc.MethodDescriptor;
import io.grpc.Status;
import io.leasefs.common.api.ChunkApi;
import io.leasefs.common.error.ErrorCode;
import io.leasefs.common.error.LeaseFsException;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ScheduledFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * A read or copy under way: hands parts on while the sink takes them, and gives up when the server
 * is silent for the timeout while a part is due (a whole chunk may take as long as it likes).
 */
final class RemoteRead<P, E, H extends MessageLite> extends ClientCall.Listener<Envelope<H>> {
  private final RemoteCalls calls;
  private final String name;
  private final ClientCall<?, Envelope<H>> call;
  private final ChunkApi.Sink<P> sink;
  private final Function<Envelope<H>, Optional<P>> part;
  private final Function<H, E> end;
  private final CompletableFuture<E> result = new CompletableFuture<>();
  private final AtomicBoolean due = new AtomicBoolean();
  private volatile long lastNanos;
  private volatile @Nullable ScheduledFuture<?> timer;
  private volatile @Nullable RuntimeException ownFailure;
  private @Nullable E ended; // channel's thread only

  private RemoteRead(
      RemoteCalls calls,
      String name,
      ClientCall<?, Envelope<H>> call,
      ChunkApi.Sink<P> sink,
      Function<Envelope<H>, Optional<P>> part,
      Function<H, E> end) {
    this.calls = calls;
    this.name = name;
    this.call = call;
    this.sink = sink;
    this.part = part;
    this.end = end;
  }

  /**
   * Starts.
   *
   * @param part of a message, unless it is the end
   * @param end of a message that is no part
   */
  static <Q, P, E, H extends MessageLite> CompletableFuture<E> start(
      RemoteCalls calls,
      MethodDescriptor<Q, Envelope<H>> method,
      Q request,
      ChunkApi.Sink<P> sink,
      Function<Envelope<H>, Optional<P>> part,
      Function<H, E> end) {
    ClientCall<Q, Envelope<H>> call = calls.call(method, CallOptions.DEFAULT);
    RemoteRead<P, E, H> read =
        new RemoteRead<>(calls, RemoteCalls.name(method), call, sink, part, end);
    read.lastNanos = System.nanoTime();
    sink.onReady(read::pull);
    call.start(read, new Metadata());
    call.sendMessage(request);
    call.halfClose();
    read.watch(calls.timeoutNanos());
    read.pull();
    return read.result;
  }

  private void watch(long delayNanos) {
    try {
      timer =
          calls.channels().timers().schedule(this::checkSilence, delayNanos, TimeUnit.NANOSECONDS);
    } catch (RejectedExecutionException e) {
      call.cancel("the channels are closed", e);
    }
    if (result.isDone()) {
      stopTimer();
    }
  }

  private void checkSilence() {
    if (result.isDone()) {
      return;
    }
    long left = calls.timeoutNanos() - (System.nanoTime() - lastNanos);
    if (!due.get()) {
      watch(calls.timeoutNanos()); // the sink lets the server wait
    } else if (left > 0) {
      watch(left);
    } else {
      cancel(
          new LeaseFsException(
              ErrorCode.TIMED_OUT,
              calls.address()
                  + " sent no part of "
                  + name
                  + " for "
                  + calls.timeoutNanos() / 1_000_000
                  + " ms"));
    }
  }

  private void stopTimer() {
    ScheduledFuture<?> pending = timer;
    if (pending != null) {
      pending.cancel(false);
    }
  }

  private void cancel(RuntimeException failure) {
    ownFailure = failure;
    call.cancel(failure.getMessage(), failure);
  }

  private void pull() {
    if (!sink.isOpen()) {
      cancel(
          new LeaseFsException(
              ErrorCode.OUTCOME_UNKNOWN, name + " at " + calls.address() + " was given up"));
    } else if (sink.isReady() && due.compareAndSet(false, true)) {
      lastNanos = System.nanoTime();
      call.request(1);
    }
  }

  @Override
  public void onMessage(Envelope<H> message) {
    lastNanos = System.nanoTime();
    due.set(false);
    try {
      Optional<P> found = part.apply(message);
      if (found.isPresent()) {
        sink.accept(found.get());
      } else {
        ended = end.apply(message.header());
      }
    } catch (RuntimeException e) {
      cancel(e);
      return;
    } finally {
      PayloadPool.release(message.payload());
    }
    pull();
  }

  @Override
  public void onClose(Status status, Metadata trailers) {
    stopTimer();
    RuntimeException own = ownFailure;
    E value = ended;
    if (own != null) {
      result.completeExceptionally(own);
    } else if (status.isOk() && value != null) {
      result.complete(value);
    } else {
      Status told =
          status.isOk() ? Status.INTERNAL.withDescription("it ended without an end") : status;
      result.completeExceptionally(
          StatusMapper.toModel(told, trailers, calls.address(), name, calls.timeoutNanos()));
    }
  }
}
