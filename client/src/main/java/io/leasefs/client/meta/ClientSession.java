package io.leasefs.client.meta;

import io.leasefs.client.edge.ClientEdges;
import io.leasefs.client.edge.Futures;
import io.leasefs.common.edge.Scheduler;
import io.leasefs.common.error.ErrorCode;
import io.leasefs.common.error.LeaseFsException;
import io.leasefs.common.model.SessionId;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * The session of this process, from its first mutation on: renewed every tenth of its TTL until it
 * ends. Any thread; listeners are called outside the lock.
 */
public final class ClientSession {
  private static final long FIRST_TTL_NANOS = 60_000_000_000L;

  private final ClientEdges edges;
  private final MasterRouter router;
  private final List<Consumer<SessionId>> listeners = new CopyOnWriteArrayList<>();

  private @Nullable SessionId session;
  private Scheduler.@Nullable Cancellable timer;
  private boolean stopped;

  public ClientSession(ClientEdges edges, MasterRouter router) {
    this.edges = edges;
    this.router = router;
  }

  /** Told when the master says that a session of ours has ended. */
  public void whenEnded(Consumer<SessionId> listener) {
    listeners.add(listener);
  }

  /** The master has named our session. */
  public synchronized void seen(SessionId named) {
    if (!named.equals(session)) {
      session = named;
      renewIn(FIRST_TTL_NANOS / 10);
    }
  }

  /** No more renewals: the session runs out. */
  public synchronized void stop() {
    stopped = true;
    if (timer != null) {
      timer.cancel();
    }
  }

  private synchronized void renewIn(long nanos) {
    if (timer != null) {
      timer.cancel();
    }
    if (!stopped) {
      timer = edges.scheduler().after(nanos, this::renew);
    }
  }

  private void renew() {
    SessionId renewed;
    synchronized (this) {
      renewed = session;
      if (stopped || renewed == null) {
        return;
      }
    }
    SessionId asked = renewed;
    Futures.onDone(
        router.ask("renew the session", master -> master.renew(router.client(), asked)),
        ttl -> renewIn(Math.max(1, ttl / 10)),
        failure -> notRenewed(asked, failure));
  }

  private void notRenewed(SessionId asked, LeaseFsException failure) {
    if (failure.code() != ErrorCode.UNKNOWN_SESSION) {
      renewIn(FIRST_TTL_NANOS / 10);
      return;
    }
    synchronized (this) {
      if (asked.equals(session)) {
        session = null;
      }
    }
    for (Consumer<SessionId> listener : listeners) {
      listener.accept(asked);
    }
  }
}
