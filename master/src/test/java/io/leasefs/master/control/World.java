package io.leasefs.master.control;

import io.leasefs.common.api.AdminApi;
import io.leasefs.common.api.ClusterApi.HeartbeatStream;
import io.leasefs.common.api.Heartbeat;
import io.leasefs.common.api.Heartbeat.Certainty;
import io.leasefs.common.api.Heartbeat.CloseCommand;
import io.leasefs.common.api.Heartbeat.Command;
import io.leasefs.common.api.Heartbeat.CopyCommand;
import io.leasefs.common.api.Heartbeat.DeleteCommand;
import io.leasefs.common.api.Heartbeat.FailedMember;
import io.leasefs.common.api.Heartbeat.HeldLease;
import io.leasefs.common.api.Heartbeat.LeaseName;
import io.leasefs.common.api.Heartbeat.MemberFailure;
import io.leasefs.common.api.Heartbeat.RecoverCommand;
import io.leasefs.common.api.Heartbeat.ReplicaReport;
import io.leasefs.common.api.Heartbeat.Response;
import io.leasefs.common.api.Heartbeat.SealAnswer;
import io.leasefs.common.api.Heartbeat.SealCommand;
import io.leasefs.common.api.Heartbeat.Status;
import io.leasefs.common.api.Heartbeat.Target;
import io.leasefs.common.api.Heartbeat.VersionStarted;
import io.leasefs.common.api.MasterApi;
import io.leasefs.common.api.MasterApi.OpenFile;
import io.leasefs.common.api.Registration;
import io.leasefs.common.edge.Clock;
import io.leasefs.common.edge.Scheduler;
import io.leasefs.common.lease.LeaseDigest;
import io.leasefs.common.lease.LeaseTerms;
import io.leasefs.common.model.ChunkHandle;
import io.leasefs.common.model.ChunkSeal;
import io.leasefs.common.model.ChunkSpec;
import io.leasefs.common.model.ClientId;
import io.leasefs.common.model.ClusterEvent;
import io.leasefs.common.model.DiskId;
import io.leasefs.common.model.Durability;
import io.leasefs.common.model.Endpoints;
import io.leasefs.common.model.FilePath;
import io.leasefs.common.model.LeaseGrant;
import io.leasefs.common.model.Member;
import io.leasefs.common.model.Ordinal;
import io.leasefs.common.model.ReplicaId;
import io.leasefs.common.model.RequestId;
import io.leasefs.common.model.ServerAddress;
import io.leasefs.common.model.ServerId;
import io.leasefs.common.model.SessionId;
import io.leasefs.master.log.Operation;
import io.leasefs.master.log.OperationLog;
import io.leasefs.master.log.OperationResult;
import io.leasefs.master.placement.SpreadPlacement;
import io.leasefs.master.state.ChunkEntry;
import io.leasefs.master.state.MetadataState;
import io.leasefs.master.state.StateView;
import io.leasefs.server.events.EventLog;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.PriorityQueue;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/** One master in stepped time, a log that applies at once, and chunkservers that play along. */
final class World {
  static final long MILLIS = 1_000_000;
  static final long SECOND = 1_000_000_000;
  static final long QUARANTINE = 3600 * SECOND;

  final LeaseTerms terms = LeaseTerms.ofTtl(10 * SECOND);
  final MetadataState state = new MetadataState();
  final FakeLog log = new FakeLog();
  final Map<String, FakeServer> servers = new TreeMap<>();
  final List<ClusterEvent> events = new ArrayList<>();
  final ControlSettings settings;
  final ControlLoop loop;
  final MasterApi client;
  final AdminApi operator;
  final ClientId clientId = new ClientId(7, 7);
  long now = 1000 * SECOND;
  private long sequence;
  private final ArrayDeque<Runnable> tasks = new ArrayDeque<>();
  private final PriorityQueue<Timer> timers = new PriorityQueue<>();
  private long timerNumber;

  private record Timer(long at, long number, Runnable task) implements Comparable<Timer> {
    @Override
    public int compareTo(Timer other) {
      int first = Long.compare(at, other.at);
      return first != 0 ? first : Long.compare(number, other.number);
    }
  }

  World() {
    settings =
        new ControlSettings(
            new ServerId("m1"),
            "c1",
            "test",
            terms,
            ControlSettings.CLIENT_TTL_NANOS,
            64 << 20,
            3,
            6 * 3_600_000L,
            QUARANTINE,
            1000);
    Clock clock =
        new Clock() {
          @Override
          public long nanos() {
            return now;
          }

          @Override
          public long wallMillis() {
            return now / MILLIS;
          }
        };
    StateReads reads =
        new StateReads() {
          @Override
          public <T> T read(Function<StateView, T> function) {
            return function.apply(state);
          }
        };
    EventLog eventLog =
        new EventLog(new ServerId("m1"), () -> now, () -> now / MILLIS, 10_000, events::add);
    loop =
        new ControlLoop(
            settings,
            clock,
            tasks::add,
            this::after,
            log,
            reads,
            () -> 42,
            new SpreadPlacement(),
            eventLog);
    operator =
        new AdminFace(
            loop, settings, new Layouts(Endpoints::internal), eventLog, this::after, () -> now);
    client = new ClientFace(loop, settings, reads, clock::wallMillis, Endpoints::external);
  }

  private Scheduler.Cancellable after(long delayNanos, Runnable task) {
    Timer timer = new Timer(now + delayNanos, timerNumber++, task);
    timers.add(timer);
    return () -> timers.remove(timer);
  }

  /** A world whose master leads and in which these servers have registered and reported. */
  static World with(String... names) {
    World world = new World();
    world.log.lead();
    world.settle();
    for (String name : names) {
      world.server(name).start();
    }
    world.pass(2 * SECOND);
    return world;
  }

  FakeServer server(String name) {
    return servers.computeIfAbsent(name, FakeServer::new);
  }

  /** Runs all that is due at this instant. */
  void settle() {
    int steps = 0;
    while (!tasks.isEmpty()) {
      tasks.removeFirst().run();
      if (++steps > 100_000) {
        throw new IllegalStateException(
            "does not settle: "
                + log.appended.subList(Math.max(0, log.appended.size() - 8), log.appended.size()));
      }
    }
    state.invariant();
  }

  /** Lets time pass, in the order of what is due. */
  void pass(long nanos) {
    long until = now + nanos;
    settle();
    while (true) {
      Timer next = timers.peek();
      if (next == null || next.at > until) {
        break;
      }
      timers.remove();
      now = Math.max(now, next.at);
      next.task.run();
      settle();
    }
    now = until;
    settle();
  }

  /** The master stands still: what is due happens afterwards, all at once. */
  void stall(long nanos) {
    now += nanos;
  }

  <T> T get(CompletableFuture<T> future) {
    settle();
    for (int i = 0; i < 1000 && !future.isDone(); i++) {
      pass(10 * MILLIS);
    }
    return future.join();
  }

  RequestId request() {
    sequence++;
    return new RequestId(clientId, sequence, sequence, state.newestForgetting());
  }

  OpenFile create(String path, int replication) {
    return get(
        client.create(
            request(),
            new MasterApi.CreateFile(
                FilePath.parse(path), true, replication, 0, Durability.REPLICATED, 0644, true)));
  }

  ChunkEntry chunk(ChunkHandle chunk) {
    return state.chunk(chunk).orElseThrow();
  }

  /** Applies at once, on the caller's turn; may be told to keep results back. */
  final class FakeLog implements OperationLog {
    private long term = 1;
    private long index;
    private Role role = new Role(1, false, false, Optional.empty());
    private final List<RoleListener> listeners = new ArrayList<>();
    final List<Operation> appended = new ArrayList<>();
    boolean alone = true;

    /** Without, nothing is committed. */
    private boolean quorum = true;

    private final ArrayDeque<Runnable> uncommitted = new ArrayDeque<>();
    final List<CompletableFuture<Committed>> heldBarriers = new ArrayList<>();

    void lead() {
      term++;
      var _ = append(new Operation.Barrier());
      become(new Role(term, true, true, Optional.of(new ServerId("m1"))));
    }

    void become(Role next) {
      term = Math.max(term, next.term()); // terms never go back
      role = next;
      listeners.forEach(listener -> listener.changed(next));
    }

    @Override
    public CompletableFuture<Committed> append(Operation operation) {
      appended.add(operation);
      CompletableFuture<Committed> done = new CompletableFuture<>();
      Runnable commit =
          () -> {
            long ordinal = Ordinal.of(state.generation(), ++index);
            done.complete(new Committed(ordinal, term, state.apply(ordinal, term, operation)));
          };
      if (quorum) {
        commit.run();
      } else {
        uncommitted.add(commit);
      }
      return done;
    }

    void loseQuorum() {
      quorum = false;
      alone = false;
    }

    /** What was under way is committed, in order. */
    void regainQuorum() {
      quorum = true;
      alone = true;
      while (!uncommitted.isEmpty()) {
        uncommitted.remove().run();
      }
      endBarriers();
    }

    /** An entry of another leader, while this master follows. */
    OperationResult follow(Operation operation) {
      return state.apply(Ordinal.of(state.generation(), ++index), term, operation);
    }

    @Override
    public CompletableFuture<Committed> barrier() {
      CompletableFuture<Committed> done = new CompletableFuture<>();
      if (alone) {
        done.complete(committedBarrier());
      } else {
        heldBarriers.add(done);
      }
      return done;
    }

    /** What was held back is good. */
    void endBarriers() {
      List<CompletableFuture<Committed>> held = List.copyOf(heldBarriers);
      heldBarriers.clear();
      held.forEach(barrier -> barrier.complete(committedBarrier()));
    }

    private Committed committedBarrier() {
      return new Committed(index, term, new OperationResult.Applied(OperationResult.Done.DONE));
    }

    @Override
    public Role role() {
      return role;
    }

    @Override
    public void onRole(RoleListener listener) {
      listeners.add(listener);
      listener.changed(role);
    }

    @Override
    public boolean alone() {
      return alone;
    }

    @Override
    public long lastApplied() {
      return state.lastApplied();
    }

    @Override
    public void close() {}
  }

  /** What a replica has. */
  static final class Copy {
    ReplicaId replica = new ReplicaId(0);
    long promised;
    long accepted = 1;
    long lastSerial;
    long committedSerial;
    long length;
    boolean sealed;

    /** Records alone do not bring it to a seed's history any more. */
    boolean needsCopy;

    Certainty certainty = Certainty.CERTAIN;
    Heartbeat.ReplicaState state = Heartbeat.ReplicaState.OPEN;
    Optional<ChunkSeal> seal = Optional.empty();
    ChunkSpec spec;

    Copy(ChunkSpec spec) {
      this.spec = spec;
    }

    ReplicaReport report(DiskId disk) {
      return new ReplicaReport(
          spec,
          replica,
          disk,
          state,
          promised,
          accepted,
          lastSerial,
          committedSerial,
          length,
          seal);
    }
  }

  /** A chunkserver that does what it is told, unless it is told to misbehave. */
  final class FakeServer {
    final ServerId id;
    final DiskId disk;
    final Map<ChunkHandle, LeaseGrant> held = new LinkedHashMap<>();
    final Map<ChunkHandle, Copy> copies = new TreeMap<>();
    final List<Response> responses = new ArrayList<>();
    final List<Command> commands = new ArrayList<>();
    String rack;
    boolean running;
    boolean dead;
    boolean answersSeals = true;
    boolean answersRecover = true;

    /** What it is told to copy, it copies at once. */
    boolean makesCopies = true;

    /** So many of its next copies are finished when the source's journal begins after them. */
    int copiesLeftBehind;

    /** Its starts of versions come too late to be heard of. */
    boolean startsUnheard;

    /** As real servers do: of what it has it tells when it registers, is asked, or made a copy. */
    boolean reportsSeldom;

    boolean tellsUnknown;

    /** Its next request is long on its way: it arrives when this is run. */
    boolean sendsLate;

    Runnable late = () -> {};

    /** The stream of its last reconnection is broken. */
    boolean streamBroken;

    boolean dropsResponses;
    long incarnation;

    /** Of the masters it has heard. */
    long highestTerm;

    long highestOrdinal;

    long beat;
    long sentNanos;
    long validUntil = Long.MIN_VALUE;
    Optional<SessionId> session = Optional.empty();
    private HeartbeatStream stream =
        new HeartbeatStream() {
          @Override
          public void send(Heartbeat.Request request) {}

          @Override
          public void close() {}
        };
    private final Map<Long, Long> sentAt = new LinkedHashMap<>();

    // what the next request tells
    private final List<SealAnswer> sealAnswers = new ArrayList<>();
    private final List<VersionStarted> starts = new ArrayList<>();
    private final List<FailedMember> failed = new ArrayList<>();
    final List<LeaseName> released = new ArrayList<>();
    private final List<LeaseName> acknowledged = new ArrayList<>();
    private final List<ChunkHandle> gone = new ArrayList<>();
    private final List<ChunkHandle> copied = new ArrayList<>();
    private boolean sendFull;
    boolean acknowledges = true;

    FakeServer(String name) {
      id = new ServerId(name);
      disk = new DiskId("disk-" + name);
      rack = "rack-" + name;
    }

    void start() {
      incarnation++;
      dead = false;
      held.clear();
      sentAt.clear();
      running = true;
      sendFull = true;
      session = Optional.empty();
      register(incarnation);
    }

    private void register(long mine) {
      if (dead || incarnation != mine) {
        return;
      }
      var _ =
          loop.register(registration())
              .whenComplete((answer, failure) -> tasks.add(() -> registered(mine, answer)));
    }

    private void registered(long mine, Registration.@Nullable Response answer) {
      if (dead || incarnation != mine) {
        return;
      }
      if (answer == null) {
        after(100 * MILLIS, () -> register(mine));
        return;
      }
      session = Optional.of(answer.session());
      stream = loop.heartbeat(this::received, why -> {});
      beat(mine);
    }

    Registration.Request registration() {
      return new Registration.Request(
          "c1",
          id,
          Endpoints.of(new ServerAddress(id.name(), 9000)),
          rack,
          incarnation,
          incarnation * 31,
          "boot",
          List.of(disk),
          highestTerm,
          highestOrdinal);
    }

    private void beat(long mine) {
      if (running && incarnation == mine) {
        send();
        after(terms.heartbeatNanos(), () -> beat(mine));
      }
    }

    /** SIGKILL: the kernel resets the stream. */
    void kill() {
      running = false;
      dead = true;
      stream.close();
      settle();
    }

    /** SIGSTOP: nothing comes, nothing is reset. */
    void freeze() {
      running = false;
    }

    void thaw() {
      running = true;
      beat(incarnation);
      settle();
    }

    long digest() {
      long sum = 0;
      for (LeaseGrant grant : held.values()) {
        sum += LeaseDigest.of(grant.handle(), grant.version(), grant.token());
      }
      return sum;
    }

    /** Sends all its leases. */
    void sendInFull() {
      sendFull = true;
      send();
      settle();
    }

    void send() {
      if (session.isEmpty()) {
        return;
      }
      beat++;
      sentAt.put(beat, now);
      sentNanos = now;
      List<ReplicaReport> reports = new ArrayList<>();
      for (Copy copy : copies.values()) {
        if (sendFull || !reportsSeldom || copied.remove(copy.spec.handle())) {
          reports.add(copy.report(disk));
        }
      }
      Optional<List<HeldLease>> full =
          sendFull
              ? Optional.of(
                  held.values().stream()
                      .map(g -> new HeldLease(g.handle(), g.version(), g.token()))
                      .toList())
              : Optional.empty();
      Heartbeat.Request request =
          new Heartbeat.Request(
              "c1",
              id,
              incarnation,
              beat,
              highestTerm,
              session.orElseThrow(),
              digest(),
              full,
              List.copyOf(released),
              List.copyOf(acknowledged),
              List.copyOf(sealAnswers),
              List.copyOf(starts),
              List.copyOf(failed),
              sendFull,
              reports,
              List.copyOf(gone),
              List.of(new Heartbeat.DiskReport(disk, 1L << 40, 1L << 41, false, false)),
              copies.size(),
              0,
              highestOrdinal);
      sendFull = false;
      released.clear();
      acknowledged.clear();
      sealAnswers.clear();
      starts.clear();
      failed.clear();
      gone.clear();
      if (sendsLate) {
        sendsLate = false;
        HeartbeatStream by = stream;
        late = () -> by.send(request);
      } else {
        stream.send(request);
      }
    }

    /** Leaves its stream for a new one, as after an answer that did not come in time. */
    void reconnect() {
      stream = loop.heartbeat(this::received, why -> streamBroken = true);
      streamBroken = false;
      send();
      settle();
    }

    private void received(Response response) {
      if (!running) {
        return;
      }
      responses.add(response);
      if (dropsResponses) {
        return;
      }
      highestTerm = Math.max(highestTerm, response.term());
      highestOrdinal = Math.max(highestOrdinal, response.appliedOrdinal());
      boolean urgent = false;
      if (response.status() == Status.UNKNOWN_SESSION) {
        start();
        return;
      }
      if (response.status() == Status.NEED_FULL_REPORT) {
        sendFull = true;
        urgent = true;
      }
      for (LeaseName revoked : response.revocations()) {
        LeaseGrant grant = held.get(revoked.chunk());
        if (grant != null && grant.version() <= revoked.version()) {
          held.remove(revoked.chunk());
        }
        if (acknowledges) {
          acknowledged.add(revoked);
          urgent = true;
        }
      }
      Long sent = sentAt.get(response.answersSequence());
      if (sent != null && response.ttlNanos() > 0) {
        validUntil = Math.max(validUntil, terms.holderEnd(sent, response.ttlNanos()));
      }
      for (LeaseGrant grant : response.grants()) {
        Copy copy = copies.get(grant.handle());
        LeaseGrant before = held.get(grant.handle());
        if ((copy == null || copy.promised <= grant.version())
            && (before == null || before.version() < grant.version())) {
          held.put(grant.handle(), grant);
          birth(grant);
        }
      }
      for (Command command : response.commands()) {
        commands.add(command);
        urgent |= obey(command);
      }
      if (urgent) {
        send();
      }
    }

    private void birth(LeaseGrant grant) {
      if (grant.version() != 1) {
        return;
      }
      for (Member member : grant.configuration().members()) {
        FakeServer server = server(member.server().name());
        server.copies.computeIfAbsent(
            grant.handle(),
            handle -> {
              Copy copy = new Copy(grant.spec());
              copy.replica = member.replica();
              return copy;
            });
      }
    }

    private boolean obey(Command command) {
      if (command instanceof SealCommand seal && answersSeals) {
        Copy copy = copies.get(seal.chunk());
        if (copy == null && tellsUnknown) {
          sealAnswers.add(
              new SealAnswer(
                  seal.chunk(),
                  seal.member().replica(),
                  seal.version(),
                  0,
                  0,
                  0,
                  0,
                  0,
                  false,
                  false,
                  Certainty.UNKNOWN_CHUNK));
          return true;
        }
        if (copy == null || seal.version() < copy.promised) {
          return false;
        }
        copy.promised = seal.version();
        sealAnswers.add(
            new SealAnswer(
                seal.chunk(),
                copy.replica,
                seal.version(),
                copy.promised,
                copy.accepted,
                copy.lastSerial,
                copy.committedSerial,
                copy.length,
                copy.sealed,
                false,
                copy.certainty));
        return true;
      }
      if (command instanceof CloseCommand close && holds(close.chunk())) {
        close(close.chunk());
        return true;
      }
      if (command instanceof CopyCommand copy && makesCopies) {
        learn(copy);
        return true;
      }
      if (command instanceof DeleteCommand delete) {
        Copy copy = copies.get(delete.chunk());
        if (copy != null
            && copy.replica.equals(delete.replica())
            && copy.accepted <= delete.highestVersion()) {
          copies.remove(delete.chunk());
          gone.add(delete.chunk());
          return true;
        }
        if (copy == null) {
          gone.add(delete.chunk());
        } else {
          copied.add(delete.chunk()); // refused: the master may not know what is here
        }
        return true;
      }
      if (command instanceof RecoverCommand recover && answersRecover) {
        recover(recover);
        return true;
      }
      return false;
    }

    /** Seals by its own order, as primary. */
    private void close(ChunkHandle chunk) {
      LeaseGrant grant = held.get(chunk);
      if (grant == null) {
        return;
      }
      for (Member member : grant.configuration().members()) {
        FakeServer server = server(member.server().name());
        Copy copy = server.copy(chunk);
        copy.lastSerial++;
        copy.committedSerial = copy.lastSerial;
        copy.seal = Optional.of(new ChunkSeal(copy.lastSerial, copy.length, 5));
        copy.sealed = true;
        copy.state = Heartbeat.ReplicaState.SEALED;
      }
    }

    private void learn(CopyCommand command) {
      Copy source = server(command.source().server().name()).copy(command.chunk());
      Copy copy = new Copy(command.spec());
      copy.replica = command.learner().replica();
      copy.accepted = source.accepted;
      copy.lastSerial = source.committedSerial;
      copy.committedSerial = source.committedSerial;
      copy.length = source.length;
      copy.seal = command.seal();
      copy.sealed = command.seal().isPresent();
      copy.state =
          command.seal().isPresent()
              ? Heartbeat.ReplicaState.SEALED
              : Heartbeat.ReplicaState.LEARNER;
      Copy before = copies.get(command.chunk());
      if (before != null
          && !before.replica.equals(copy.replica)
          && before.accepted >= command.version()) {
        copied.add(command.chunk()); // refused: the master may not know what is here
        return;
      }
      if (before == null || !before.replica.equals(copy.replica)) {
        copied.add(command.chunk());
        copy.needsCopy = copiesLeftBehind-- > 0;
        copies.put(command.chunk(), copy);
      }
    }

    private void recover(RecoverCommand recover) {
      Copy mine = copy(recover.chunk());
      long first = mine.accepted == recover.version() ? mine.lastSerial : mine.lastSerial + 1;
      Optional<ChunkSeal> seal =
          recover.seal()
              ? Optional.of(new ChunkSeal(first, mine.length, 0))
              : mine.sealed && !recover.reopen() ? mine.seal : Optional.empty();
      for (Target target : recover.targets()) {
        FakeServer other = server(target.member().server().name());
        if (other.running && other.answersRecover) {
          Copy copy = other.copy(recover.chunk());
          if (copy.needsCopy) {
            failed.add(
                new FailedMember(
                    recover.chunk(),
                    recover.version(),
                    other.id,
                    MemberFailure.NEEDS_COPY,
                    "the journal does not reach back"));
            continue;
          }
          copy.lastSerial = first;
          copy.length = mine.length;
          other.startVersion(copy, recover.version(), id, first, seal);
          other.send();
        }
      }
      mine.lastSerial = first;
      startVersion(mine, recover.version(), id, first, seal);
    }

    private void startVersion(
        Copy copy, long version, ServerId seed, long first, Optional<ChunkSeal> seal) {
      copy.accepted = version;
      copy.promised = version;
      copy.sealed = seal.isPresent();
      copy.seal = seal;
      copy.state = seal.isPresent() ? Heartbeat.ReplicaState.SEALED : Heartbeat.ReplicaState.OPEN;
      if (startsUnheard) {
        return;
      }
      starts.add(
          new VersionStarted(
              copy.spec.handle(), copy.replica, version, seed, first, copy.length, seal));
    }

    void blame(ChunkHandle chunk, long version, FakeServer... members) {
      for (FakeServer member : members) {
        failed.add(
            new FailedMember(
                chunk, version, member.id, MemberFailure.UNREACHABLE, "no acknowledgement"));
      }
      send();
      settle();
    }

    Copy copy(ChunkHandle chunk) {
      Copy copy = copies.get(chunk);
      if (copy == null) {
        throw new IllegalStateException(id + " has no " + chunk);
      }
      return copy;
    }

    boolean holds(ChunkHandle chunk) {
      return held.containsKey(chunk);
    }

    /** E1: until when it acts. */
    boolean isValid(ChunkHandle chunk) {
      return holds(chunk) && now < validUntil;
    }
  }
}
