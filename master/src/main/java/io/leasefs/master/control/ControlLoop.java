package io.leasefs.master.control;

import io.leasefs.common.api.ClusterApi.HeartbeatStream;
import io.leasefs.common.api.Heartbeat;
import io.leasefs.common.api.Registration;
import io.leasefs.common.edge.Clock;
import io.leasefs.common.edge.RandomSource;
import io.leasefs.common.edge.Scheduler;
import io.leasefs.common.error.ErrorCode;
import io.leasefs.common.error.LeaseFsException;
import io.leasefs.common.lease.LeaseTerms;
import io.leasefs.common.model.ChunkHandle;
import io.leasefs.common.model.EventKind;
import io.leasefs.common.model.Ordinal;
import io.leasefs.common.model.RequestId;
import io.leasefs.common.model.ServerId;
import io.leasefs.common.model.SessionId;
import io.leasefs.master.cluster.LogWitness.Heard;
import io.leasefs.master.cluster.ServerRegistry.Server;
import io.leasefs.master.log.Operation;
import io.leasefs.master.log.Operation.ClientCall;
import io.leasefs.master.log.Operation.EndSessions;
import io.leasefs.master.log.Operation.FoundCluster;
import io.leasefs.master.log.Operation.RaiseGeneration;
import io.leasefs.master.log.Operation.RegisterServer;
import io.leasefs.master.log.OperationLog;
import io.leasefs.master.log.OperationLog.Role;
import io.leasefs.master.log.OperationResult;
import io.leasefs.master.log.OperationResult.Registered;
import io.leasefs.master.placement.PlacementPolicy;
import io.leasefs.master.state.ServerEntry;
import io.leasefs.master.state.SessionEntry;
import io.leasefs.master.state.StateView;
import io.leasefs.server.events.EventSink;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import java.util.function.BiConsumer;
import java.util.function.BiFunction;
import java.util.function.Consumer;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The master's one serial core: heartbeats, registrations, requests, results of the log, time and
 * changes of role come in as tasks of one serial executor; proposals, responses, results and events
 * go out. All soft state is written here and nowhere else.
 *
 * <p>It starts no thread, never blocks and waits for nothing without a deadline: the simulator runs
 * it as it is. Public methods may be called by any thread.
 */
public final class ControlLoop {
  private static final Logger logger = LoggerFactory.getLogger(ControlLoop.class);

  /** The least pause between two looks at the time. */
  private static final long MIN_PAUSE_NANOS = 1_000_000;

  private final ControlSettings settings;
  private final Clock clock;

  /** As given: one task at a time, in order. */
  private final Executor queue;

  /** The same, with a turn around each task. */
  private final Executor serial;

  private final Scheduler scheduler;
  private final Soft soft;
  private final ChangeDesk changes;
  private final ClientDesk clients;
  private final HeartbeatDesk heartbeats;
  private final Upkeep upkeep;

  /** What a look-up on any thread may leave out; replaced as a whole. */
  private volatile Set<ServerId> unreachable = Set.of();

  private volatile Role publicRole;
  private volatile @Nullable Shortage publicShortage;

  // of the loop's tasks
  private final Map<SessionId, ServerId> ending = new LinkedHashMap<>();
  private long lastTurnNanos;
  private long readyNanos;
  private long nextRepeatNanos;
  private long wakeAtNanos = Long.MAX_VALUE;
  private boolean flushQueued;
  private boolean expiryPostponed;
  private Scheduler.@Nullable Cancellable wake;
  private boolean founding;

  /**
   * @param queue runs one task at a time, in order
   */
  public ControlLoop(
      ControlSettings settings,
      Clock clock,
      Executor queue,
      Scheduler scheduler,
      OperationLog log,
      StateReads state,
      RandomSource random,
      PlacementPolicy placement,
      EventSink events) {
    this.settings = settings;
    this.clock = clock;
    this.queue = queue;
    this.serial = task -> queue.execute(() -> turn(task));
    this.scheduler = scheduler;
    this.soft = new Soft(settings, clock, random, log, state, this.serial, events);
    this.publicRole = soft.role;
    ChangeDesk[] ofChunks = new ChangeDesk[1];
    ClientDesk[] ofClients = new ClientDesk[1];
    ofChunks[0] = new ChangeDesk(soft, chunk -> ofClients[0].chunkChanged(chunk));
    ofClients[0] = new ClientDesk(soft, ofChunks[0], placement);
    this.changes = ofChunks[0];
    soft.strayed =
        () -> {
          soft.servers.syncAll(soft.read(view -> view.servers()), clock.nanos());
          changes.lookAtAll();
        };
    this.clients = ofClients[0];
    this.upkeep = new Upkeep(soft, changes, clients, placement);
    this.heartbeats = new HeartbeatDesk(soft, this.serial, changes, this::lookForShortage);
    this.lastTurnNanos = clock.nanos();
    log.onRole(role -> this.serial.execute(() -> roleChanged(role)));
  }

  // ------------------------------------------------------------------ one turn

  private void turn(Runnable task) {
    try {
      task.run();
    } catch (RuntimeException e) {
      // a bug; what the log says stays true, and every desk works on levels: go on
      logger.error("a task of the control loop failed", e);
    }
    if (!flushQueued && soft.serving()) {
      flushQueued = true;
      // after what is queued already: one response tells all of it
      queue.execute(this::flush);
    }
  }

  private void flush() {
    flushQueued = false;
    try {
      if (soft.serving()) {
        heartbeats.flush();
        scheduleWake();
      }
    } catch (RuntimeException e) {
      logger.error("responses could not be sent", e);
    }
  }

  private void roleChanged(Role role) {
    boolean was = soft.serving();
    long before = soft.role.term();
    if (!role.leading() || role.term() != before) {
      soft.witness.clear();
      shortage(null);
    }
    soft.role = role;
    publicRole = role;
    if (was && (!soft.serving() || role.term() != before)) {
      logger.info("leads no more term={}", before);
      forget();
    }
    if (soft.serving() && !(was && role.term() == before)) {
      forget();
      lead();
    }
  }

  private void forget() {
    ending.clear();
    soft.leases.clear();
    soft.servers.clear();
    soft.replicas.clear();
    soft.outbox.clear();
    changes.clear();
    clients.clear();
    heartbeats.clear();
    upkeep.clear();
    soft.deadWatermark = 0;
    soft.living = List.of();
    unreachable = Set.of();
    founding = false;
  }

  /** Ready: the first entry of its own term is applied. */
  private void lead() {
    long now = clock.nanos();
    soft.reign++;
    soft.beforeThisReign = soft.read(StateView::lastApplied);
    readyNanos = now;
    lastTurnNanos = now;
    logger.info("leads term={}", soft.role.term());
    for (SessionEntry session : soft.read(view -> view.sessions())) {
      soft.leases.adopt(session.session(), session.ttlNanos(), now);
    }
    soft.servers.syncAll(soft.read(view -> view.servers()), now);
    heartbeats.lead();
    changes.lead();
    soft.event(
        EventKind.MASTER_READY,
        Optional.of(settings.self()),
        Optional.empty(),
        0,
        Map.of("term", Long.toString(soft.role.term())));
    if (soft.read(view -> view.clusterId()).isEmpty() && !settings.clusterId().isEmpty()) {
      founding = true;
      soft.propose(
          new FoundCluster(settings.clusterId(), clock.wallMillis()),
          (committed, failure) -> founding = false);
    }
    wakeIn(0);
  }

  // ------------------------------------------------------------------ a log that is short

  /**
   * Where a server has heard of more than this log has, this master stops serving: numbers that are
   * missing here would be given a second time, and copies that only the missing part knows would be
   * deleted as nobody's. Called where what is missing is no accident of who leads.
   */
  private void lookForShortage() {
    Optional<Heard> ahead =
        soft.serving()
            ? soft.witness.ahead(soft.read(StateView::lastApplied), soft.term())
            : Optional.empty();
    if (ahead.isEmpty()) {
      return;
    }
    Shortage found =
        new Shortage(ahead.get(), soft.read(StateView::lastApplied), soft.term(), clock.nanos());
    shortage(found);
    LeaseFsException refusal = found.refusal();
    logger.error("{}: {}", refusal.getMessage(), refusal.hint());
    forget();
  }

  private void shortage(@Nullable Shortage now) {
    soft.shortage = now;
    publicShortage = now;
  }

  /** In one line, why this leader serves nobody; empty where it does. */
  public Optional<String> shortage() {
    return Optional.ofNullable(publicShortage).map(Shortage::line);
  }

  /** What is told instead of an answer. */
  LeaseFsException notServing() {
    return Soft.notServing(publicRole, publicShortage);
  }

  /**
   * Goes on with the log as it is. No sooner than any lease has ended that the missing part may
   * have given: none was renewed since the shortage was seen.
   */
  CompletableFuture<Integer> raiseGeneration() {
    CompletableFuture<Integer> answer = new CompletableFuture<>();
    serial.execute(() -> raiseGeneration(answer));
    return answer;
  }

  private void raiseGeneration(CompletableFuture<Integer> answer) {
    Shortage from = soft.shortage;
    if (from == null) {
      answer.completeExceptionally(
          soft.serving()
              ? new LeaseFsException(
                  ErrorCode.INVALID_ARGUMENT,
                  "the log is short of nothing that a chunkserver has heard of",
                  "nothing has to be done")
              : soft.notServing());
      return;
    }
    long left = from.sinceNanos() + settings.terms().grantorValidityNanos() - clock.nanos();
    if (left > 0) {
      answer.completeExceptionally(
          new LeaseFsException(
              ErrorCode.BUSY,
              "leases that the missing part of the log may have given can last for another "
                  + (left / 1_000_000_000 + 1)
                  + " s",
              "order it again then"));
      return;
    }
    int generation = soft.witness.nextGeneration(soft.read(StateView::generation));
    soft.proposeUnserved(
        new RaiseGeneration(generation),
        (committed, failure) -> {
          if (committed == null) {
            answer.completeExceptionally(failure);
            return;
          }
          logger.warn("the generation is raised generation={}", generation);
          soft.witness.clear();
          shortage(null);
          forget();
          lead();
          answer.complete(generation);
        });
  }

  // ------------------------------------------------------------------ time

  private void scheduleWake() {
    long now = clock.nanos();
    long next = Math.min(now + settings.terms().heartbeatNanos() / 2, soft.nextEnd());
    if (changes.isBusy()) {
      next = Math.min(next, now + settings.terms().heartbeatNanos() / 10);
    }
    next = Math.min(next, changes.nextLook());
    next = Math.min(next, clients.nextLook());
    next = Math.min(next, heartbeats.nextLook());
    wakeIn(Math.max(MIN_PAUSE_NANOS, next - now));
  }

  private void wakeIn(long delayNanos) {
    long at = clock.nanos() + delayNanos;
    if (wake != null && wakeAtNanos <= at) {
      return;
    }
    if (wake != null) {
      wake.cancel();
    }
    wakeAtNanos = at;
    wake = scheduler.after(delayNanos, () -> serial.execute(this::tick));
  }

  private void tick() {
    wake = null;
    wakeAtNanos = Long.MAX_VALUE;
    if (!soft.serving()) {
      return;
    }
    long now = clock.nanos();
    boolean gap = now - lastTurnNanos > settings.terms().heartbeatNanos();
    lastTurnNanos = now;
    if (gap && !expiryPostponed) {
      // what arrived while nothing ran here lies in queues: it is taken in before anybody is ended
      logger.warn("the control loop did not run for more than a heartbeat interval");
      expiryPostponed = true;
      wakeIn(settings.terms().heartbeatNanos() / 10);
      return;
    }
    expiryPostponed = false;
    heartbeats.pumpBarrier();
    endExpired(now);
    changes.tick(now);
    clients.tick(now);
    upkeep.tick(now);
    if (now >= nextRepeatNanos) {
      nextRepeatNanos = now + settings.terms().heartbeatNanos() / 2;
      heartbeats.repeat();
      publishUnreachable(now);
    }
    scheduleWake();
  }

  private void publishUnreachable(long now) {
    if (now - readyNanos < settings.terms().evidenceNanos()) {
      return;
    }
    Set<ServerId> missing = new TreeSet<>();
    for (Server server : soft.servers.all()) {
      if (soft.suspect(server.id())) {
        missing.add(server.id());
        if (upkeep.noteSilent(server.id(), true)) {
          silent(server);
        }
      } else {
        upkeep.noteSilent(server.id(), false);
      }
    }
    unreachable = missing;
  }

  private void silent(Server server) {
    soft.event(
        EventKind.SERVER_SILENT,
        Optional.of(server.id()),
        Optional.empty(),
        0,
        Map.of("silentNanos", Long.toString(clock.nanos() - server.heardNanos())));
    changes.serverChanged(server.id());
  }

  // ------------------------------------------------------------------ sessions

  private void endExpired(long now) {
    List<SessionId> expired = soft.leases.expire(now);
    if (!expired.isEmpty()) {
      endSessions(expired);
    }
  }

  /** All of them are marked ending already. */
  private void endSessions(List<SessionId> sessions) {
    Map<SessionId, ServerId> servers = new LinkedHashMap<>();
    Map<SessionId, List<ChunkHandle>> held = new LinkedHashMap<>();
    for (SessionId session : sessions) {
      soft.read(view -> view.session(session))
          .flatMap(SessionEntry::server)
          .ifPresent(server -> servers.put(session, server));
      held.put(session, soft.read(view -> view.leasesOf(session)));
    }
    soft.propose(
        new EndSessions(soft.role.term(), sessions, clock.wallMillis()),
        (committed, failure) -> {
          if (committed == null || !committed.result().isApplied()) {
            logger.warn("end of sessions not logged sessions={} reason={}", sessions, failure);
            retryEnd(sessions);
            return;
          }
          for (SessionId session : sessions) {
            soft.leases.ended(session);
            ServerId server = servers.get(session);
            if (server != null) {
              ended(session, server, held.getOrDefault(session, List.of()), "ran out");
            }
          }
          soft.sessionsDied();
          clients.sessionsEnded();
          clients.closeChunks();
        });
  }

  /** The entry's fate may be unknown: the sessions stay ending until one such entry is applied. */
  private void retryEnd(List<SessionId> sessions) {
    long begun = soft.reign;
    var _ =
        scheduler.after(
            settings.terms().heartbeatNanos(),
            () ->
                serial.execute(
                    () -> {
                      if (soft.serving() && soft.reign == begun) {
                        endSessions(sessions.stream().filter(soft.leases::knows).toList());
                      }
                    }));
  }

  private void ended(SessionId session, ServerId server, List<ChunkHandle> held, String why) {
    logger.info("session ended session={} server={} why=\"{}\"", session, server, why);
    soft.event(
        EventKind.SESSION_ENDED,
        Optional.of(server),
        Optional.empty(),
        0,
        Map.of("session", session.toString(), "why", why));
    for (ChunkHandle chunk : held) {
      soft.event(
          EventKind.LEASE_EXPIRED,
          Optional.of(server),
          Optional.of(chunk),
          changes.leaseVersion(chunk),
          Map.of("why", why));
    }
    Optional<ServerEntry> entry = soft.read(view -> view.server(server));
    entry.ifPresent(now -> soft.servers.sync(now, clock.nanos()));
    if (entry.isEmpty() || entry.get().session().isEmpty()) {
      soft.replicas.forget(server);
    }
    changes.sessionEnded(held, server);
  }

  // ------------------------------------------------------------------ chunkservers

  /** Registers an incarnation of a chunkserver. */
  public CompletableFuture<Registration.Response> register(Registration.Request request) {
    CompletableFuture<Registration.Response> answer = new CompletableFuture<>();
    serial.execute(() -> register(request, answer));
    return answer;
  }

  private void register(
      Registration.Request request, CompletableFuture<Registration.Response> answer) {
    if (!soft.serving() || founding) {
      noteHeard(request);
      answer.completeExceptionally(
          founding
              ? new LeaseFsException(ErrorCode.STARTING, "the cluster is being founded", null)
              : soft.notServing());
      return;
    }
    String cluster = soft.read(view -> view.clusterId().orElse(""));
    if (!request.clusterId().isEmpty() && !request.clusterId().equals(cluster)) {
      answer.completeExceptionally(
          new LeaseFsException(
              ErrorCode.WRONG_CLUSTER,
              request.server()
                  + " belongs to cluster "
                  + request.clusterId()
                  + ", not to "
                  + cluster,
              "start it with another data folder, or with its own cluster's master"));
      return;
    }
    noteHeard(request);
    if (soft.witness.ahead(soft.read(StateView::lastApplied), soft.term()).isPresent()) {
      soft.afterBarrier(
          (good, failure) -> {
            if (good) {
              lookForShortage();
            }
            if (!good || !soft.serving()) {
              answer.completeExceptionally(failure != null ? failure : soft.notServing());
            } else {
              registerHeard(request, answer, cluster);
            }
          });
      return;
    }
    registerHeard(request, answer, cluster);
  }

  private void noteHeard(Registration.Request request) {
    String cluster = soft.read(view -> view.clusterId().orElse(""));
    if (!cluster.isEmpty() && request.clusterId().equals(cluster)) {
      soft.witness.tell(request.server(), request.highestOrdinal(), request.highestTerm());
    }
  }

  private void registerHeard(
      Registration.Request request,
      CompletableFuture<Registration.Response> answer,
      String cluster) {
    Optional<SessionId> older =
        soft.read(view -> view.server(request.server())).flatMap(ServerEntry::session);
    List<ChunkHandle> held =
        older.isPresent() ? soft.read(view -> view.leasesOf(older.get())) : List.of();
    LeaseTerms terms = settings.terms();
    soft.propose(
        new RegisterServer(
            request.server(),
            request.endpoints(),
            request.rack(),
            request.incarnation(),
            request.nonce(),
            request.bootId(),
            terms.ttlNanos(),
            request.disks(),
            clock.wallMillis()),
        answer,
        (committed, failure) -> {
          if (committed == null) {
            answer.completeExceptionally(failure);
            return;
          }
          if (committed.result() instanceof OperationResult.Rejected rejected) {
            answer.completeExceptionally(
                new LeaseFsException(
                    rejected.code(),
                    rejected.message(),
                    rejected.code() == ErrorCode.BUSY
                        ? "it is tried again; stop the other process where there is one"
                        : "an old copy of its data folder is in use: start it with the newest"
                            + " one, or with an empty one"));
            return;
          }
          SessionId session = ((Registered) committed.result().valueOrThrow()).session();
          registered(request, session, older, held);
          answer.complete(
              new Registration.Response(
                  cluster,
                  Ordinal.generation(session.value()),
                  session,
                  soft.term(),
                  terms.ttlNanos(),
                  terms.heartbeatNanos(),
                  terms.rpcTimeoutNanos(),
                  terms.driftPpm(),
                  terms.readingErrorNanos(),
                  terms.guardNanos(),
                  terms.stallNanos()));
        });
  }

  private void registered(
      Registration.Request request,
      SessionId session,
      Optional<SessionId> older,
      List<ChunkHandle> held) {
    long now = clock.nanos();
    // A repeated request has the same session for its answer, and may be logged after the server's
    // first report in it: what is known by now is not forgotten again.
    boolean repeated = soft.leases.knows(session);
    if (!repeated) {
      soft.leases.open(session, settings.terms().ttlNanos(), now);
    }
    soft.read(view -> view.server(request.server()))
        .ifPresent(entry -> soft.servers.sync(entry, now));
    if (repeated) {
      return;
    }
    logger.info(
        "registered server={} incarnation={} session={} at={}",
        request.server(),
        request.incarnation(),
        session,
        request.endpoints().internal());
    soft.event(
        EventKind.SERVER_REGISTERED,
        Optional.of(request.server()),
        Optional.empty(),
        0,
        Map.of("incarnation", Long.toString(request.incarnation()), "session", session.toString()));
    soft.replicas.forget(request.server());
    if (older.isPresent()) {
      soft.leases.ended(older.get());
      ended(older.get(), request.server(), held, "a newer incarnation registered");
    } else {
      changes.serverChanged(request.server());
    }
  }

  /** Opens a stream of heartbeats. */
  public HeartbeatStream heartbeat(
      Consumer<Heartbeat.Response> responses, Consumer<String> broken) {
    return heartbeats.open(responses, broken);
  }

  // ------------------------------------------------------------------ for the master's faces

  /** No other master has a vote: what is applied here is all that anybody acknowledged. */
  boolean alone() {
    return soft.alone();
  }

  /** What this master is, as of a moment ago. */
  public Role role() {
    return publicRole;
  }

  /** Chunkservers that a reader need not try. */
  public Set<ServerId> unreachable() {
    return unreachable;
  }

  /** Logs one request of a client; the future fails where the outcome is unknown or refused. */
  CompletableFuture<OperationResult> mutate(
      RequestId id, Function<ClientCall, Operation> operation) {
    CompletableFuture<OperationResult> result = new CompletableFuture<>();
    serial.execute(() -> clients.mutate(id, operation, result));
    return result;
  }

  /**
   * Runs a question, or an order, as a task of the loop; fails where this master does not serve.
   */
  <T> CompletableFuture<T> ask(Function<Desks, T> question) {
    CompletableFuture<T> answer = new CompletableFuture<>();
    serial.execute(
        () -> {
          if (!soft.serving()) {
            answer.completeExceptionally(soft.notServing());
            return;
          }
          try {
            answer.complete(question.apply(new Desks(soft, changes, clients, heartbeats, upkeep)));
          } catch (RuntimeException e) {
            answer.completeExceptionally(e);
          }
        });
    return answer;
  }

  /** The same for an order that itself completes the answer, now or later. */
  <T> CompletableFuture<T> later(BiConsumer<Desks, CompletableFuture<T>> order) {
    CompletableFuture<T> answer = new CompletableFuture<>();
    serial.execute(
        () -> {
          if (!soft.serving()) {
            answer.completeExceptionally(soft.notServing());
            return;
          }
          try {
            order.accept(new Desks(soft, changes, clients, heartbeats, upkeep), answer);
          } catch (RuntimeException e) {
            answer.completeExceptionally(e);
          }
        });
    return answer;
  }

  /** Logs a change that needs places for a new chunk. */
  CompletableFuture<OperationResult> mutatePlaced(
      RequestId id, BiFunction<ClientDesk, ClientCall, Operation> operation) {
    return mutate(id, call -> operation.apply(clients, call));
  }

  /** As a task of the loop: the time is looked at at once. */
  void lookNow() {
    wakeIn(0);
  }

  /** Everything that a task of the loop may ask. */
  record Desks(
      Soft soft, ChangeDesk changes, ClientDesk clients, HeartbeatDesk heartbeats, Upkeep upkeep) {}
}
