package io.leasefs.client.meta;

import io.leasefs.client.edge.ClientEdges;
import io.leasefs.client.edge.Futures;
import io.leasefs.client.retry.RetryPolicy;
import io.leasefs.common.api.AdminApi;
import io.leasefs.common.api.MasterApi;
import io.leasefs.common.api.MasterApi.Greeting;
import io.leasefs.common.edge.Scheduler;
import io.leasefs.common.error.ErrorCode;
import io.leasefs.common.error.LeaseFsException;
import io.leasefs.common.model.ClientId;
import io.leasefs.common.model.RequestId;
import io.leasefs.common.model.ServerAddress;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.function.BiFunction;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * Brings each request to the leading master and asks again, by {@link ErrorCode.Reaction}, until it
 * is answered or its time is up. A change keeps its {@link RequestId} through all attempts, so it
 * takes effect once.
 *
 * <p>Any thread; never blocks.
 */
public final class MasterRouter {
  /**
   * An attempt that is silent for this long is given up and asked elsewhere. More than a master
   * keeps an opening back until its chunk can be written, or no attempt would ever be answered.
   */
  private static final long ATTEMPT_NANOS = 5_000_000_000L;

  /**
   * The same of a question that says how long the master may keep it, counted from then: a writer
   * or reader stands still meanwhile, and asking again costs nothing.
   */
  private static final long LATE_NANOS = 1_500_000_000L;

  private static final String UNANSWERED = ": no answer from master ";

  private final List<ServerAddress> masters;
  private final ClientId client;
  private final ClientEdges edges;
  private final RetryPolicy policy;
  private final long timeoutNanos;
  private final RequestIds ids;
  private volatile ServerAddress current;
  private volatile boolean closed;
  private volatile Patience patience = Patience.UNTIL_THE_LIMIT;
  private @Nullable CompletableFuture<Greeting> greeting;

  /**
   * A router.
   *
   * @param masters at least one; the first is asked first
   * @param timeoutNanos bound on one request with all its attempts
   */
  public MasterRouter(
      List<ServerAddress> masters,
      ClientId client,
      ClientEdges edges,
      RetryPolicy policy,
      long timeoutNanos) {
    if (masters.isEmpty()) {
      throw new LeaseFsException(
          ErrorCode.INVALID_ARGUMENT, "no master address", "give one as HOST:PORT");
    }
    this.masters = List.copyOf(masters);
    this.client = client;
    this.edges = edges;
    this.policy = policy;
    this.timeoutNanos = timeoutNanos;
    this.ids = new RequestIds(client);
    this.current = masters.get(0);
  }

  /** Who this process is to the masters. */
  public ClientId client() {
    return client;
  }

  /** What the cluster said of itself; asked once. */
  public CompletableFuture<Greeting> greeting() {
    CompletableFuture<Greeting> asked;
    synchronized (this) {
      if (greeting != null && !greeting.isCompletedExceptionally()) {
        return greeting;
      }
      asked = new CompletableFuture<>();
      greeting = asked;
    }
    Futures.pass(ask("the cluster", master -> master.greet(client)), asked);
    return asked;
  }

  /** A question, safe to repeat. */
  public <T> CompletableFuture<T> ask(
      String what, Function<MasterApi, CompletableFuture<T>> question) {
    return ask(what, 0, question);
  }

  /**
   * A question that the master may keep waiting.
   *
   * @param waitNanos how long at most
   */
  public <T> CompletableFuture<T> ask(
      String what, long waitNanos, Function<MasterApi, CompletableFuture<T>> question) {
    return start(what, waitNanos, a -> question.apply(edges.network().master(a)));
  }

  /** A question of an operator, or an order that is safe to repeat. */
  public <T> CompletableFuture<T> askAdmin(
      String what, long waitNanos, Function<AdminApi, CompletableFuture<T>> question) {
    return start(what, waitNanos, a -> question.apply(edges.network().admin(a)));
  }

  /**
   * A change: asked again with the same id, so that it takes effect once. The greeting comes first:
   * its newest forgetting is part of the id.
   */
  public <T> CompletableFuture<T> change(
      String what, BiFunction<MasterApi, RequestId, CompletableFuture<T>> change) {
    CompletableFuture<T> result = new CompletableFuture<>();
    change(what, change, result, true);
    return result;
  }

  private <T> void change(
      String what,
      BiFunction<MasterApi, RequestId, CompletableFuture<T>> change,
      CompletableFuture<T> result,
      boolean greetAnew) {
    CompletableFuture<Greeting> greeted = greeting();
    Futures.onDone(
        greeted,
        greeting -> {
          ids.told(greeting.newestForgetting());
          ids.take(id -> change(what, change, id, result, greetAnew ? greeted : null));
        },
        result::completeExceptionally);
  }

  /**
   * One change under its id.
   *
   * @param greeted where the master may have forgotten us since this greeting, it is asked once
   *     more, after another; only a request that was sent but once surely had no effect
   */
  private <T> void change(
      String what,
      BiFunction<MasterApi, RequestId, CompletableFuture<T>> change,
      RequestId id,
      CompletableFuture<T> result,
      @Nullable CompletableFuture<Greeting> greeted) {
    Request<T> request = new Request<>(what, 0, a -> change.apply(edges.network().master(a), id));
    Futures.onDone(
        request.result,
        answer -> {
          ids.done(id);
          result.complete(answer);
        },
        failure -> {
          ids.done(id);
          if (greeted != null
              && request.failures == 1
              && failure.code() == ErrorCode.UNKNOWN_SESSION) {
            forget(greeted);
            change(what, change, result, false);
          } else {
            result.completeExceptionally(failure.ofRequest(id.toString()));
          }
        });
    request.next();
  }

  @SuppressWarnings("ReferenceEquality") // unless somebody has greeted anew already
  private synchronized void forget(CompletableFuture<Greeting> old) {
    if (greeting == old) {
      greeting = null;
    }
  }

  /** Who is told of attempts that fail, from now on. */
  public void patience(Patience told) {
    patience = told;
  }

  /** True for the failure of a request that no master answered in its whole time. */
  public static boolean isUnanswered(LeaseFsException failure) {
    return String.valueOf(failure.getMessage()).contains(UNANSWERED);
  }

  /** Nothing is asked any more; who waits for an answer is told so at its next attempt. */
  public void close() {
    closed = true;
  }

  private <T> CompletableFuture<T> start(
      String what, long waitNanos, Function<ServerAddress, CompletableFuture<T>> attempt) {
    Request<T> request = new Request<>(what, waitNanos, attempt);
    request.next();
    return request.result;
  }

  /** One request through all its attempts, which follow one another. */
  private final class Request<T> {
    private final String what;
    private final long waitNanos;
    private final Function<ServerAddress, CompletableFuture<T>> attempt;
    private final CompletableFuture<T> result = new CompletableFuture<>();
    private final long begun = edges.clock().nanos();
    private final long deadline;
    private int failures;

    /** Answers of masters that do not lead. */
    private int followers;

    Request(String what, long waitNanos, Function<ServerAddress, CompletableFuture<T>> attempt) {
      this.what = what;
      this.waitNanos = waitNanos;
      this.attempt = attempt;
      this.deadline = begun + waitNanos + timeoutNanos;
    }

    void next() {
      if (closed) {
        result.completeExceptionally(closedFailure());
        return;
      }
      ServerAddress asked = current;
      long left = deadline - edges.clock().nanos();
      CompletableFuture<T> answer;
      try {
        answer = attempt.apply(asked);
      } catch (LeaseFsException refused) {
        failed(asked, refused);
        return;
      }
      if (answer.isDone() && !answer.isCompletedExceptionally()) {
        result.complete(answer.join());
        return;
      }
      CompletableFuture<T> bounded = new CompletableFuture<>();
      long patience =
          Math.max(1, Math.min(left, waitNanos > 0 ? waitNanos + LATE_NANOS : ATTEMPT_NANOS));
      Scheduler.Cancellable timer =
          edges
              .scheduler()
              .after(
                  patience,
                  () ->
                      bounded.completeExceptionally(
                          new LeaseFsException(
                              ErrorCode.TIMED_OUT,
                              "no answer within " + patience / 1_000_000 + " ms")));
      Futures.pass(answer, bounded);
      Futures.onDone(
          bounded,
          value -> {
            timer.cancel();
            result.complete(value);
          },
          failure -> {
            timer.cancel();
            failed(asked, failure);
          });
    }

    private void failed(ServerAddress asked, LeaseFsException failure) {
      failures++;
      if (closed) {
        result.completeExceptionally(closedFailure());
        return;
      }
      if (!policy.asksAgain(failure.code(), failures)) {
        result.completeExceptionally(failure);
        return;
      }
      long now = edges.clock().nanos();
      Optional<LeaseFsException> end = patience.after(asked, failure, now - begun, deadline - now);
      if (end.isPresent()) {
        result.completeExceptionally(end.get());
        return;
      }
      boolean hinted = turn(asked, failure);
      long pause =
          (hinted && failures == 1) || isWithinARound(failure)
              ? 0
              : policy.pauseNanos(failures, edges.random().nextLong());
      if (now + pause >= deadline) {
        result.completeExceptionally(givenUp(asked, failure));
      } else if (pause == 0) {
        next();
      } else {
        edges.scheduler().after(pause, this::next);
      }
    }

    /** Who does not lead is no reason to wait before the others have been asked, too. */
    private boolean isWithinARound(LeaseFsException failure) {
      if (failure.code() != ErrorCode.NOT_LEADER) {
        return false;
      }
      followers++;
      return followers % masters.size() != 0;
    }

    private LeaseFsException closedFailure() {
      return new LeaseFsException(ErrorCode.INVALID_ARGUMENT, what + ": the client is closed");
    }

    private LeaseFsException givenUp(ServerAddress asked, LeaseFsException failure) {
      ErrorCode code =
          failure.code() == ErrorCode.NOT_LEADER ? ErrorCode.UNREACHABLE : failure.code();
      return new LeaseFsException(
          code,
          what
              + UNANSWERED
              + asked
              + " within "
              + (timeoutNanos % 1_000_000_000 == 0
                  ? timeoutNanos / 1_000_000_000 + " s ("
                  : timeoutNanos / 1_000_000 + " ms (")
              + failures
              + " attempts; last: "
              + failure.getMessage()
              + ")",
          "is the master running there? try again, or give another address",
          failure);
    }
  }

  /** Chooses whom to ask next; true where a leader was named. */
  private boolean turn(ServerAddress asked, LeaseFsException failure) {
    String hint = failure.hint();
    if (failure.code() == ErrorCode.NOT_LEADER && hint != null) {
      try {
        current = ServerAddress.parse(hint);
        return !current.equals(asked);
      } catch (LeaseFsException notAnAddress) {
        // an election is under way: whoever is next may know
      }
    }
    if (failure.code().reaction() == ErrorCode.Reaction.RETRY) {
      int at = masters.indexOf(asked);
      current = masters.get((at + 1) % masters.size());
    }
    return false;
  }
}
