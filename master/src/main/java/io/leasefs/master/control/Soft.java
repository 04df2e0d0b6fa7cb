package io.leasefs.master.control;

import io.leasefs.common.edge.Clock;
import io.leasefs.common.edge.RandomSource;
import io.leasefs.common.error.ErrorCode;
import io.leasefs.common.error.LeaseFsException;
import io.leasefs.common.model.ChunkHandle;
import io.leasefs.common.model.EventKind;
import io.leasefs.common.model.Ordinal;
import io.leasefs.common.model.ServerAddress;
import io.leasefs.common.model.ServerId;
import io.leasefs.common.model.SessionId;
import io.leasefs.master.cluster.LogWitness;
import io.leasefs.master.cluster.ReplicaMap;
import io.leasefs.master.cluster.ServerRegistry;
import io.leasefs.master.cluster.ServerRegistry.Server;
import io.leasefs.master.lease.LeaseTable;
import io.leasefs.master.lease.Reconfiguration;
import io.leasefs.master.log.Operation;
import io.leasefs.master.log.OperationLog;
import io.leasefs.master.log.OperationLog.Committed;
import io.leasefs.master.log.OperationLog.Role;
import io.leasefs.master.state.SessionEntry;
import io.leasefs.master.state.StateView;
import io.leasefs.server.events.EventSink;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import java.util.function.BiConsumer;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * The soft state of the leader and what the parts of the control loop share. Touched only by tasks
 * of the loop's serial executor.
 */
final class Soft implements Reconfiguration.Servers {
  final ControlSettings settings;
  final Clock clock;
  final RandomSource random;
  final LeaseTable leases;
  final ServerRegistry servers = new ServerRegistry();
  final ReplicaMap replicas = new ReplicaMap();
  final LogWitness witness = new LogWitness();
  final Outbox outbox;
  final EventSink events;

  private final OperationLog log;
  private final StateReads state;
  private final Executor serial;

  /** Chunk leases per server, as last synchronized. */
  final Map<ServerId, Integer> leaseCounts = new TreeMap<>();

  /** Sessions up to this one are dead, but for the living exceptions; 0 = nothing is told. */
  long deadWatermark;

  List<SessionId> living = List.of();

  Role role = new Role(0, false, false, Optional.empty());

  /** While this leader's log is known to be short, it serves nobody but who only looks. */
  @Nullable Shortage shortage;

  /** Counts how often this master began to serve. */
  long reign;

  /** The last ordinal that was applied when it did. */
  long beforeThisReign;

  /** What is to be done where the log takes, in this reign, what an earlier one has asked for. */
  Runnable strayed = () -> {};

  Soft(
      ControlSettings settings,
      Clock clock,
      RandomSource random,
      OperationLog log,
      StateReads state,
      Executor serial,
      EventSink events) {
    this.settings = settings;
    this.clock = clock;
    this.random = random;
    this.log = log;
    this.state = state;
    this.serial = serial;
    this.events = events;
    this.leases = new LeaseTable(settings.terms());
    this.outbox = new Outbox(settings.terms().heartbeatNanos() / 2);
  }

  boolean serving() {
    return role.leading() && role.ready() && shortage == null;
  }

  /** The term as servers are told it: one of a later generation is higher. */
  long term() {
    return Ordinal.of(read(StateView::generation), role.term());
  }

  /** What a client is told by a master that does not serve. */
  LeaseFsException notServing() {
    return notServing(role, shortage);
  }

  static LeaseFsException notServing(Role role, @Nullable Shortage shortage) {
    if (shortage != null) {
      return shortage.refusal();
    }
    return role.leading()
        ? new LeaseFsException(ErrorCode.STARTING, "the master is starting", "try again")
        : new LeaseFsException(
            ErrorCode.NOT_LEADER,
            "this master does not lead",
            role.leader().map(ServerId::name).orElse(null));
  }

  /** No other master has a vote. */
  boolean alone() {
    return log.alone();
  }

  <T> T read(Function<StateView, T> reads) {
    return state.read(reads);
  }

  /**
   * Proposes; the handler runs as a task of the loop with one of its arguments, unless this master
   * has meanwhile lost its term. Where it leads again the log may have taken this after the new
   * reign had looked what is under way: so it is looked at once more.
   */
  void propose(Operation operation, BiConsumer<@Nullable Committed, @Nullable Throwable> handler) {
    propose(operation, new CompletableFuture<>(), handler);
  }

  /** The same; a caller that waits is told, too, where the term was lost. */
  void propose(
      Operation operation,
      CompletableFuture<?> caller,
      BiConsumer<@Nullable Committed, @Nullable Throwable> handler) {
    long begun = reign;
    var _ =
        log.append(operation)
            .whenComplete(
                (committed, failure) ->
                    serial.execute(
                        () -> {
                          if (serving() && reign == begun) {
                            handler.accept(committed, failure);
                          } else {
                            caller.completeExceptionally(
                                failure != null ? failure : outcomeUnknown());
                            if (serving() && failure == null) {
                              strayed.run();
                            }
                          }
                        }));
  }

  /** The same, of a leader that does not serve for its log is short. */
  void proposeUnserved(
      Operation operation, BiConsumer<@Nullable Committed, @Nullable Throwable> handler) {
    Shortage begun = shortage;
    var _ =
        log.append(operation)
            .whenComplete(
                (committed, failure) ->
                    serial.execute(
                        () -> {
                          if (Objects.equals(shortage, begun)) {
                            handler.accept(committed, failure);
                          } else {
                            handler.accept(null, outcomeUnknown());
                          }
                        }));
  }

  private static LeaseFsException outcomeUnknown() {
    return new LeaseFsException(
        ErrorCode.OUTCOME_UNKNOWN, "this master stopped leading", "ask again with the same id");
  }

  /** Runs as a task of the loop once all applied before now is in the state. */
  void afterBarrier(BiConsumer<Boolean, @Nullable Throwable> handler) {
    long begun = reign;
    if (serving() && log.alone()) {
      // no rival: all that anybody ever acknowledged is applied here
      serial.execute(() -> handler.accept(serving() && reign == begun, null));
      return;
    }
    var _ =
        log.barrier()
            .whenComplete(
                (committed, failure) ->
                    serial.execute(
                        () ->
                            handler.accept(
                                failure == null && serving() && reign == begun, failure)));
  }

  void event(
      EventKind kind,
      Optional<ServerId> subject,
      Optional<ChunkHandle> chunk,
      long version,
      Map<String, String> fields) {
    events.record(kind, subject, chunk, version, fields);
  }

  /** The most living sessions that a response names. */
  private static final int MOST_LIVING = 1_000;

  /** Sessions have ended: servers are told which, as everything but the living. */
  void sessionsDied() {
    // Both of one state: a session that begins between two looks would be below the watermark and
    // not among the living, and so be told to be dead.
    read(
        view -> {
          List<SessionId> alive = view.sessions().stream().map(SessionEntry::session).toList();
          if (alive.size() <= MOST_LIVING) {
            deadWatermark = view.lastApplied();
            living = alive;
          }
          return alive;
        });
  }

  /** When the next session runs out, unless it is heard. */
  long nextEnd() {
    return leases.nextEnd().orElse(Long.MAX_VALUE);
  }

  // ------------------------------------------------------------------ Reconfiguration.Servers

  @Override
  public Optional<SessionId> session(ServerId server) {
    Server known = servers.find(server);
    return known == null
        ? Optional.empty()
        : known.session().filter(session -> leases.knows(session) && !leases.isEnding(session));
  }

  @Override
  public Optional<Long> incarnation(ServerId server) {
    Server known = servers.find(server);
    return known == null || session(server).isEmpty()
        ? Optional.empty()
        : Optional.of(known.incarnation());
  }

  @Override
  public boolean suspect(ServerId server) {
    return session(server).isEmpty()
        || !servers.isReachable(server, settings.terms().evidenceNanos(), clock.nanos());
  }

  @Override
  public boolean draining(ServerId server) {
    Server known = servers.find(server);
    return known == null || known.draining();
  }

  @Override
  public int leases(ServerId server) {
    return leaseCounts.getOrDefault(server, 0);
  }

  @Override
  public ServerAddress address(ServerId server) {
    Server known = servers.find(server);
    if (known == null) {
      throw new IllegalStateException("no such server: " + server);
    }
    return known.endpoints().internal();
  }
}
