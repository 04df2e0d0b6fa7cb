package io.leasefs.common.rpc;

import io.grpc.stub.ServerCalls;
import io.grpc.stub.StreamObserver;
import io.leasefs.common.error.ErrorCode;
import io.leasefs.common.error.LeaseFsException;
import java.util.concurrent.CompletableFuture;
import java.util.function.Function;

/** Carries the answer of an asynchronous Api method to a unary call. */
final class UnaryReply {
  private UnaryReply() {}

  /** An Api method; what it throws counts as its answer. */
  interface Work<T> {
    CompletableFuture<T> start();
  }

  /**
   * Starts the work, here and now, and replies once, when it is done, on whichever thread that is.
   *
   * @param call its name, for the log
   */
  static <T, R> void send(
      StreamObserver<R> reply,
      String call,
      Work<T> work,
      Function<? super T, ? extends R> toProto) {
    var unused =
        start(work)
            .whenComplete(
                (value, failure) -> {
                  R message;
                  try {
                    if (failure != null) {
                      reply.onError(StatusMapper.toException(failure, call));
                      return;
                    }
                    message = toProto.apply(value);
                  } catch (RuntimeException e) {
                    reply.onError(StatusMapper.toException(e, call));
                    return;
                  }
                  reply.onNext(message);
                  reply.onCompleted();
                });
  }

  /** As a method of a service that is bound by hand. */
  static <Q, T, R> io.grpc.ServerCallHandler<Q, R> handler(
      String call,
      Function<? super Q, CompletableFuture<T>> method,
      Function<? super T, ? extends R> toProto) {
    return ServerCalls.asyncUnaryCall(
        (request, reply) -> send(reply, call, () -> method.apply(request), toProto));
  }

  static <T> CompletableFuture<T> start(Work<T> work) {
    try {
      return work.start();
    } catch (IllegalArgumentException e) {
      return CompletableFuture.failedFuture(invalid(e));
    } catch (RuntimeException e) {
      return CompletableFuture.failedFuture(e);
    }
  }

  /** Runs what may meet values that the model forbids: they are the sender's mistake, not ours. */
  static void checked(Runnable task) {
    try {
      task.run();
    } catch (IllegalArgumentException e) {
      throw invalid(e);
    }
  }

  private static LeaseFsException invalid(IllegalArgumentException e) {
    return new LeaseFsException(
        ErrorCode.INVALID_ARGUMENT, String.valueOf(e.getMessage()), null, e);
  }
}
