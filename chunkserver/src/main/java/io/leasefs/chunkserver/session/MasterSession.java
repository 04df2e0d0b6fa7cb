package io.leasefs.chunkserver.session;

import io.leasefs.common.api.ClusterApi;
import io.leasefs.common.api.Heartbeat;
import io.leasefs.common.edge.Clock;
import io.leasefs.common.edge.RandomSource;
import io.leasefs.common.edge.Scheduler;
import io.leasefs.common.error.ErrorCode;
import io.leasefs.common.error.LeaseFsException;
import io.leasefs.common.model.ChunkHandle;
import io.leasefs.common.model.EventKind;
import io.leasefs.common.model.ServerAddress;
import io.leasefs.common.model.ServerId;
import io.leasefs.server.events.EventSink;
import java.io.IOException;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletionException;
import java.util.concurrent.Executor;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.slf4j.event.Level;

/**
 * Carries out what {@link SessionCore} decides: streams to the masters, the server's record on the
 * disk, timers. Everything runs on the serial executor given to it; any thread may {@link #post}.
 */
public final class MasterSession {
  private static final Logger logger = LoggerFactory.getLogger(MasterSession.class);

  /** The incarnation on the disk. */
  @FunctionalInterface
  public interface Incarnations {
    /** So much more, at least one; fsynced when it returns. Blocks on the disk. */
    long raise(long by) throws IOException;
  }

  private final ServerId self;
  private final SessionCore core;
  private final ServerRecord record;
  private final Incarnations incarnations;
  private final Executor executor;
  private final Executor diskExecutor;
  private final Scheduler scheduler;
  private final Clock clock;
  private final RandomSource random;
  private final ClusterConnector masters;
  private final SessionListener listener;
  private final EventSink events;

  private final Map<ServerAddress, ClusterApi> connected = new HashMap<>();
  private ClusterApi.@Nullable HeartbeatStream stream;
  private long streamConnection;
  private Scheduler.@Nullable Cancellable timer;
  private String lastComplaint = "";

  /** The newest connection has been answered; so is the one before the first. */
  private boolean heard = true;

  /** The incarnation that registers, or did last. */
  private long registering;

  private volatile int heldLeases;

  /**
   * @param executor serial, and for the session alone: nothing that waits may run on it
   * @param diskExecutor serial; writes the server's record
   */
  public MasterSession(
      ServerId self,
      SessionCore core,
      ServerRecord record,
      Incarnations incarnations,
      Executor executor,
      Executor diskExecutor,
      Scheduler scheduler,
      Clock clock,
      RandomSource random,
      ClusterConnector masters,
      SessionListener listener,
      EventSink events) {
    this.self = self;
    this.core = core;
    this.record = record;
    this.incarnations = incarnations;
    this.executor = executor;
    this.diskExecutor = diskExecutor;
    this.scheduler = scheduler;
    this.clock = clock;
    this.random = random;
    this.masters = masters;
    this.listener = listener;
    this.events = events;
  }

  /** Something happened. Any thread; returns at once. */
  public void post(SessionEvent event) {
    executor.execute(() -> step(event));
  }

  /** When the held leases end, on the holder's clock; whatever is held. Any thread. */
  public long leaseEndNanos() {
    return core.leaseEndNanos();
  }

  /** The leases that are held and valid now. On the session's executor, or where nothing runs. */
  public List<Heartbeat.HeldLease> validLeases() {
    return core.validLeases(clock.nanos());
  }

  /** The leases held that were valid so long ago. Likewise. */
  public List<Heartbeat.HeldLease> leasesValidAgo(long nanos) {
    return core.validLeases(clock.nanos() - nanos);
  }

  /** How many leases were held at the newest step. Any thread. */
  public int heldLeases() {
    return heldLeases;
  }

  private void step(SessionEvent event) {
    for (SessionAction action : core.step(event, clock.nanos())) {
      carryOut(action);
    }
    heldLeases = core.heldLeases();
  }

  private void carryOut(SessionAction action) {
    switch (action) {
      case SessionAction.RaiseIncarnation raise -> raiseIncarnation(raise.by());
      case SessionAction.StoreTerm store -> storeTerm(store.term());
      case SessionAction.StoreOrdinal store -> storeOrdinal(store.ordinal());
      case SessionAction.Register register -> register(register);
      case SessionAction.Joined joined -> joined(joined);
      case SessionAction.Collect collect -> listener.collect();
      case SessionAction.Connect connect -> connect(connect);
      case SessionAction.Disconnect disconnect -> disconnect(disconnect.connection());
      case SessionAction.Send send -> send(send);
      case SessionAction.Granted granted -> granted(granted);
      case SessionAction.Over over -> over(over);
      case SessionAction.Renewed renewed -> renewed(renewed);
      case SessionAction.SessionsDead dead ->
          listener.sessionsDead(dead.watermark(), dead.living());
      case SessionAction.Obey obey -> listener.obey(obey.command());
      case SessionAction.WakeAt wake -> wakeAt(wake.nanos());
      case SessionAction.PauseSeen pause -> pauseSeen(pause.forNanos());
      case SessionAction.Complain complaint -> complain(complaint.what());
      case SessionAction.GiveUp refused ->
          listener.refused(new LeaseFsException(refused.code(), refused.why(), refused.hint()));
      case SessionAction.Stopped stopped -> listener.stopped(stopped.givenBack());
    }
  }

  // ---- disk ----------------------------------------------------------------------------------

  private void raiseIncarnation(long by) {
    diskExecutor.execute(
        () -> {
          try {
            post(new SessionEvent.IncarnationRaised(incarnations.raise(by), nonce()));
          } catch (IOException e) {
            notStored(e);
          }
        });
  }

  private long nonce() {
    long nonce;
    do {
      nonce = random.nextLong();
    } while (nonce == 0);
    return nonce;
  }

  private void storeTerm(long term) {
    diskExecutor.execute(
        () -> {
          try {
            record.storeTerm(term);
            post(new SessionEvent.TermStored(term));
          } catch (IOException e) {
            notStored(e);
          }
        });
  }

  private void storeOrdinal(long ordinal) {
    diskExecutor.execute(
        () -> {
          try {
            record.storeOrdinal(ordinal);
          } catch (IOException e) {
            logger.warn("the newest ordinal cannot be written reason=\"{}\"", e.toString());
          }
        });
  }

  private void notStored(IOException e) {
    logger.error("the server's record cannot be written reason=\"{}\"", e.toString());
    post(new SessionEvent.NotStored(e.toString()));
  }

  // ---- masters -------------------------------------------------------------------------------

  private ClusterApi master(ServerAddress address) {
    return connected.computeIfAbsent(address, masters::connect);
  }

  private void register(SessionAction.Register register) {
    // Masters may be away for long: the first try is news, the others are not.
    boolean first = register.request().incarnation() != registering;
    registering = register.request().incarnation();
    logger
        .atLevel(first ? Level.INFO : Level.DEBUG)
        .log("registering master={} incarnation={}", register.master(), registering);
    var _ =
        master(register.master())
            .register(register.request())
            .whenComplete(
                (response, failure) ->
                    post(
                        failure == null
                            ? new SessionEvent.Registered(register.attempt(), response)
                            : failed(register.attempt(), failure)));
  }

  private static SessionEvent failed(long attempt, Throwable failure) {
    Throwable cause =
        failure instanceof CompletionException && failure.getCause() != null
            ? failure.getCause()
            : failure;
    if (!(cause instanceof LeaseFsException told)) {
      return new SessionEvent.RegistrationFailed(
          attempt, ErrorCode.INTERNAL, Optional.empty(), String.valueOf(cause));
    }
    return new SessionEvent.RegistrationFailed(
        attempt, told.code(), leader(told), String.valueOf(told.getMessage()));
  }

  private static Optional<ServerAddress> leader(LeaseFsException told) {
    String hint = told.hint();
    if (told.code() != ErrorCode.NOT_LEADER || hint == null) {
      return Optional.empty();
    }
    try {
      return Optional.of(ServerAddress.parse(hint));
    } catch (LeaseFsException e) {
      // A hint for people: it names nobody.
      return Optional.empty();
    }
  }

  private void joined(SessionAction.Joined joined) {
    lastComplaint = "";
    logger.info(
        "registered cluster={} session={} ttlMillis={}",
        joined.clusterId(),
        joined.session(),
        joined.terms().ttlNanos() / 1_000_000);
    diskExecutor.execute(
        () -> {
          try {
            record.storeCluster(joined.clusterId());
          } catch (IOException e) {
            logger.error("the cluster's id cannot be written reason=\"{}\"", e.toString());
          }
        });
    listener.joined(joined.clusterId(), joined.session(), joined.terms());
  }

  private void connect(SessionAction.Connect connect) {
    closeStream();
    long connection = connect.connection();
    streamConnection = connection;
    // Masters may be away for long: that one is tried after it had answered is news, or the first.
    logger
        .atLevel(heard ? Level.INFO : Level.DEBUG)
        .log("heartbeats go to master={} connection={}", connect.master(), connection);
    heard = false;
    stream =
        master(connect.master())
            .heartbeat(
                response -> executor.execute(() -> answered(connection, response)),
                why -> executor.execute(() -> broken(connection, why)));
  }

  private void answered(long connection, Heartbeat.Response response) {
    if (!heard && connection == streamConnection) {
      heard = true;
      logger.info("heartbeats are answered connection={}", connection);
    }
    step(new SessionEvent.Answered(connection, response));
  }

  private void broken(long connection, String why) {
    if (heard && connection == streamConnection) {
      logger.warn("heartbeats broke connection={} reason=\"{}\"", connection, why);
    }
    step(new SessionEvent.Broken(connection, why));
  }

  private void disconnect(long connection) {
    if (connection == streamConnection) {
      closeStream();
    }
  }

  private void closeStream() {
    ClusterApi.HeartbeatStream open = stream;
    stream = null;
    if (open != null) {
      open.close();
    }
  }

  private void send(SessionAction.Send send) {
    ClusterApi.HeartbeatStream open = stream;
    if (open != null && send.connection() == streamConnection) {
      open.send(send.request());
    }
  }

  // ---- leases --------------------------------------------------------------------------------

  private void granted(SessionAction.Granted granted) {
    events.record(
        EventKind.HOLDER_GRANTED,
        Optional.of(self),
        Optional.of(granted.grant().handle()),
        granted.grant().version(),
        Map.of(
            "leftNanos",
            String.valueOf(granted.leftNanos()),
            "token",
            String.valueOf(granted.grant().token())));
    listener.granted(granted.grant(), granted.lease());
  }

  private void renewed(SessionAction.Renewed renewed) {
    events.record(
        EventKind.HOLDER_RENEWED,
        Optional.of(self),
        Optional.empty(),
        0,
        Map.of(
            "leftNanos",
            String.valueOf(renewed.leftNanos()),
            "leases",
            String.valueOf(renewed.leases())));
  }

  private void over(SessionAction.Over over) {
    Heartbeat.LeaseName lease = over.lease();
    events.record(
        EventKind.HOLDER_ENDED,
        Optional.of(self),
        Optional.<ChunkHandle>of(lease.chunk()),
        lease.version(),
        Map.of("why", over.why()));
    listener.over(lease);
  }

  // ---- the rest ------------------------------------------------------------------------------

  private void wakeAt(long nanos) {
    Scheduler.Cancellable pending = timer;
    if (pending != null) {
      pending.cancel();
    }
    timer =
        nanos == Long.MAX_VALUE
            ? null
            : scheduler.after(
                Math.max(0, nanos - clock.nanos()), () -> post(new SessionEvent.Woken()));
  }

  private void pauseSeen(long forNanos) {
    logger.warn("pause seen millis={}", forNanos / 1_000_000);
    events.record(
        EventKind.PAUSE_SEEN,
        Optional.of(self),
        Optional.empty(),
        0,
        Map.of("pauseNanos", String.valueOf(forNanos)));
  }

  private void complain(String what) {
    // Once a matter, not once a try: masters may be away for long.
    if (!what.equals(lastComplaint)) {
      lastComplaint = what;
      logger.warn("session: {}", what);
    }
  }
}
