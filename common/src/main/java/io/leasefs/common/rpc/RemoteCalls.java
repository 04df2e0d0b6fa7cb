package io.leasefs.common.rpc;

import io.grpc.CallOptions;
import io.grpc.ClientCall;
import io.grpc.Metadata;
import io.grpc.MethodDescriptor;
import io.grpc.Status;
import io.leasefs.common.error.ErrorCode;
import io.leasefs.common.error.LeaseFsException;
import io.leasefs.common.model.ServerAddress;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/** Makes calls to one address. Any thread; never blocks; answers come on the channel's threads. */
final class RemoteCalls {
  private final Channels channels;
  private final ServerAddress address;
  private final long timeoutNanos;
  private final int maxMessageBytes;

  RemoteCalls(Channels channels, ServerAddress address, long timeoutNanos, int maxMessageBytes) {
    if (timeoutNanos <= 0) {
      throw new IllegalArgumentException("timeoutNanos " + timeoutNanos);
    }
    this.channels = channels;
    this.address = address;
    this.timeoutNanos = timeoutNanos;
    this.maxMessageBytes = maxMessageBytes;
  }

  ServerAddress address() {
    return address;
  }

  Channels channels() {
    return channels;
  }

  long timeoutNanos() {
    return timeoutNanos;
  }

  /**
   * One request, one answer.
   *
   * @param extraNanos how long the server may wait by itself, on top of the timeout
   */
  <Q, R, T> CompletableFuture<T> unary(
      MethodDescriptor<Q, R> method,
      Q request,
      long extraNanos,
      Function<? super R, ? extends T> toModel) {
    long deadlineNanos = timeoutNanos + Math.max(0, Math.min(extraNanos, Long.MAX_VALUE / 4));
    ClientCall<Q, R> call =
        call(method, CallOptions.DEFAULT.withDeadlineAfter(deadlineNanos, TimeUnit.NANOSECONDS));
    CompletableFuture<T> result = new CompletableFuture<>();
    call.start(
        new UnaryAnswer<R, T>(result, toModel, address, name(method), deadlineNanos),
        new Metadata());
    call.request(2);
    call.sendMessage(request);
    call.halfClose();
    return result;
  }

  <Q, R> ClientStream<Q, R> stream(
      MethodDescriptor<Q, R> method,
      int readyBytes,
      Consumer<R> messages,
      Consumer<String> broken) {
    ClientStream<Q, R> stream =
        new ClientStream<>(
            call(method, CallOptions.DEFAULT.withOnReadyThreshold(readyBytes)),
            address,
            messages,
            broken);
    stream.start();
    return stream;
  }

  <Q, R> ClientCall<Q, R> call(MethodDescriptor<Q, R> method, CallOptions options) {
    return channels.to(address).newCall(method, options.withMaxInboundMessageSize(maxMessageBytes));
  }

  static String name(MethodDescriptor<?, ?> method) {
    return String.valueOf(method.getBareMethodName());
  }

  /** Waits for the one answer. */
  private static final class UnaryAnswer<R, T> extends ClientCall.Listener<R> {
    private final CompletableFuture<T> result;
    private final Function<? super R, ? extends T> toModel;
    private final ServerAddress address;
    private final String name;
    private final long deadlineNanos;
    private @Nullable R message;

    UnaryAnswer(
        CompletableFuture<T> result,
        Function<? super R, ? extends T> toModel,
        ServerAddress address,
        String name,
        long deadlineNanos) {
      this.result = result;
      this.toModel = toModel;
      this.address = address;
      this.name = name;
      this.deadlineNanos = deadlineNanos;
    }

    @Override
    public void onMessage(R received) {
      message = received;
    }

    @Override
    public void onClose(Status status, Metadata trailers) {
      R received = message;
      if (!status.isOk() || received == null) {
        result.completeExceptionally(
            StatusMapper.toModel(status, trailers, address, name, deadlineNanos));
        return;
      }
      T value;
      try {
        value = toModel.apply(received);
      } catch (RuntimeException e) {
        result.completeExceptionally(
            new LeaseFsException(
                ErrorCode.INTERNAL,
                address + " sent an answer to " + name + " that makes no sense: " + e.getMessage(),
                null,
                e));
        return;
      }
      result.complete(value);
    }
  }
}
