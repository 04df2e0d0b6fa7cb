package io.leasefs.master.control;

import io.leasefs.common.api.AdminApi;
import io.leasefs.common.api.Heartbeat.DiskReport;
import io.leasefs.common.api.Heartbeat.ReplicaReport;
import io.leasefs.common.api.Heartbeat.ReplicaState;
import io.leasefs.common.edge.Scheduler;
import io.leasefs.common.error.ErrorCode;
import io.leasefs.common.error.LeaseFsException;
import io.leasefs.common.model.ChunkHandle;
import io.leasefs.common.model.ClusterEvent;
import io.leasefs.common.model.Configuration;
import io.leasefs.common.model.EventKind;
import io.leasefs.common.model.FileId;
import io.leasefs.common.model.FilePath;
import io.leasefs.common.model.FileStatus;
import io.leasefs.common.model.Member;
import io.leasefs.common.model.Ordinal;
import io.leasefs.common.model.ReplicaId;
import io.leasefs.common.model.ServerId;
import io.leasefs.common.model.SessionId;
import io.leasefs.master.cluster.ServerRegistry.Server;
import io.leasefs.master.lease.LeaseTable;
import io.leasefs.master.lease.Reconfiguration;
import io.leasefs.master.lease.Reconfiguration.Waiting;
import io.leasefs.master.log.Operation.DrainServer;
import io.leasefs.master.log.Operation.RemoveServer;
import io.leasefs.master.log.OperationResult.Rejected;
import io.leasefs.master.state.ChunkEntry;
import io.leasefs.master.state.ChunkEntry.Pending;
import io.leasefs.master.state.FileEntry;
import io.leasefs.master.state.StateView;
import io.leasefs.server.events.EventLog;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.CompletableFuture;
import java.util.function.LongSupplier;

/** What operators are told and may order. Any thread; answers are tasks of the control loop. */
public final class AdminFace implements AdminApi {
  private static final long POLL_NANOS = 50_000_000;
  private static final long MAX_WAIT_NANOS = 60_000_000_000L;
  private static final int MAX_FINDINGS = 10_000;
  private static final Comparator<CopyName> ORDER =
      Comparator.comparing(CopyName::server).thenComparing(CopyName::chunk);

  private final ControlLoop loop;
  private final ControlSettings settings;
  private final Layouts layouts;
  private final EventLog events;
  private final Scheduler scheduler;
  private final LongSupplier nanos;
  private final long startedNanos;

  public AdminFace(
      ControlLoop loop,
      ControlSettings settings,
      Layouts layouts,
      EventLog events,
      Scheduler scheduler,
      LongSupplier nanos) {
    this.loop = loop;
    this.settings = settings;
    this.layouts = layouts;
    this.events = events;
    this.scheduler = scheduler;
    this.nanos = nanos;
    this.startedNanos = nanos.getAsLong();
  }

  // ------------------------------------------------------------------ the cluster

  @Override
  public CompletableFuture<ClusterStatus> status() {
    return loop.ask(desks -> desks.soft().read(view -> status(desks, view)));
  }

  private ClusterStatus status(ControlLoop.Desks desks, StateView view) {
    int live = 0;
    int silent = 0;
    int draining = 0;
    int dead = 0;
    long used = 0;
    long total = 0;
    for (Server server : desks.soft().servers.all()) {
      switch (state(desks.soft(), server)) {
        case LIVE -> live++;
        case SILENT -> silent++;
        case DRAINING, DRAINED -> draining++;
        case DEAD -> dead++;
      }
      used += server.totalBytes() - server.freeBytes();
      total += server.totalBytes();
    }
    long under = 0;
    long stale = 0;
    long damaged = 0;
    long unavailable = 0;
    ChunkHandle cursor = new ChunkHandle(0);
    while (true) {
      List<ChunkEntry> entries = view.chunksAfter(cursor, 10_000);
      for (ChunkEntry entry : entries) {
        cursor = entry.handle();
        Count count = count(desks.soft(), view, entry);
        under += count.good < count.goal ? 1 : 0;
        unavailable += count.good == 0 ? 1 : 0;
        damaged += count.damaged;
        stale += count.stale;
      }
      if (entries.size() < 10_000) {
        break;
      }
    }
    return new ClusterStatus(
        view.clusterId().orElse(""),
        settings.version(),
        settings.self(),
        loop.role().term(),
        Ordinal.index(view.lastApplied()),
        (nanos.getAsLong() - startedNanos) / 1_000_000,
        desks.upkeep().reportsIn(),
        live,
        draining,
        dead,
        used,
        total,
        view.fileCount(),
        view.folderCount(),
        view.chunkCount(),
        view.memberCount(),
        under,
        stale,
        damaged,
        unavailable,
        view.leases().size(),
        view.trashCount(),
        lastReassignment(),
        desks.upkeep().quarantined().size(),
        silent);
  }

  private record Count(int goal, int good, int damaged, int stale) {}

  private static Count count(Soft soft, StateView view, ChunkEntry entry) {
    int good = 0;
    int damaged = 0;
    int stale = 0;
    for (Member member : entry.active().members()) {
      Optional<ReplicaReport> report = soft.replicas.find(entry.handle(), member.server());
      boolean there = report.isPresent() && report.get().replica().equals(member.replica());
      if (there && report.get().state() == ReplicaState.DAMAGED) {
        damaged++;
      } else if (soft.session(member.server()).isPresent() && (there || entry.seal().isEmpty())) {
        good++;
      }
    }
    for (ServerId server : soft.replicas.of(entry.handle()).keySet()) {
      if (entry.active().memberAt(server).isEmpty() && entry.learnerAt(server).isEmpty()) {
        stale++;
      }
    }
    int goal = view.file(entry.spec().file()).map(FileEntry::replication).orElse(0);
    return new Count(goal, good, damaged, stale);
  }

  /** Whom a version of a chunk was given to. */
  private record Led(long version, Optional<ServerId> primary) {}

  /** The newest change of a chunk that made another server its primary. */
  private Optional<ClusterEvent> lastReassignment() {
    Optional<ClusterEvent> last = Optional.empty();
    Map<ChunkHandle, Led> newest = new HashMap<>();
    Map<ChunkHandle, Led> before = new HashMap<>();
    for (ClusterEvent event : events.after(0, Integer.MAX_VALUE)) {
      boolean activated = event.kind() == EventKind.CHANGE_ACTIVATED;
      if (event.chunk().isEmpty() || !(activated || event.kind() == EventKind.LEASE_GRANTED)) {
        continue;
      }
      ChunkHandle chunk = event.chunk().get();
      Led led = newest.get(chunk);
      if (led == null || led.version < event.version()) {
        if (led != null) {
          before.put(chunk, led);
        }
        newest.put(chunk, new Led(event.version(), event.subject()));
      }
      Led previous = before.get(chunk);
      if (activated && (previous == null || !previous.primary.equals(event.subject()))) {
        last = Optional.of(event);
      }
    }
    return last;
  }

  @Override
  public CompletableFuture<List<NodeStatus>> nodes() {
    return loop.ask(
        desks -> {
          Soft soft = desks.soft();
          long now = soft.clock.nanos();
          List<NodeStatus> nodes = new ArrayList<>();
          for (Server server : soft.servers.all()) {
            Optional<SessionId> session = soft.session(server.id());
            nodes.add(
                new NodeStatus(
                    server.id(),
                    state(soft, server),
                    server.endpoints(),
                    layouts.address(server.endpoints()),
                    server.rack(),
                    session.orElse(new SessionId(0)),
                    server.incarnation(),
                    Math.max(0, now - server.heardNanos()),
                    session.map(id -> Math.max(0, soft.leases.endOf(id) - now)).orElse(0L),
                    soft.leases(server.id()),
                    soft.replicas.countAt(server.id()),
                    server.freeBytes(),
                    server.totalBytes(),
                    server.disks().isEmpty()
                        ? server.logged().disks()
                        : server.disks().stream().map(DiskReport::disk).toList()));
          }
          return nodes;
        });
  }

  private static NodeState state(Soft soft, Server server) {
    boolean alive = soft.session(server.id()).isPresent();
    if (server.draining()) {
      boolean empty =
          soft.read(view -> view.chunkCountAt(server.id())) == 0 && soft.leases(server.id()) == 0;
      return empty ? NodeState.DRAINED : NodeState.DRAINING;
    }
    if (!alive) {
      return NodeState.DEAD;
    }
    return soft.suspect(server.id()) ? NodeState.SILENT : NodeState.LIVE;
  }

  @Override
  public CompletableFuture<Void> drain(ServerId server, boolean undo) {
    return loop.later(
        (desks, answer) -> {
          find(desks.soft(), server);
          desks
              .soft()
              .propose(
                  new DrainServer(server, undo),
                  answer,
                  (committed, failure) -> {
                    if (committed == null) {
                      answer.completeExceptionally(failure);
                    } else if (committed.result() instanceof Rejected rejected) {
                      answer.completeExceptionally(
                          new LeaseFsException(rejected.code(), rejected.message()));
                    } else {
                      desks
                          .soft()
                          .read(view -> view.server(server))
                          .ifPresent(
                              entry ->
                                  desks.soft().servers.sync(entry, desks.soft().clock.nanos()));
                      if (!undo) {
                        desks
                            .soft()
                            .event(
                                EventKind.SERVER_DRAINING,
                                Optional.of(server),
                                Optional.empty(),
                                0,
                                Map.of());
                      }
                      desks.upkeep().hurry();
                      loop.lookNow();
                      answer.complete(null);
                    }
                  });
        });
  }

  @Override
  public CompletableFuture<Void> removeNode(ServerId server) {
    return loop.later(
        (desks, answer) -> {
          find(desks.soft(), server);
          desks
              .soft()
              .propose(
                  new RemoveServer(server),
                  answer,
                  (committed, failure) -> {
                    if (committed == null) {
                      answer.completeExceptionally(failure);
                    } else if (committed.result() instanceof Rejected rejected) {
                      answer.completeExceptionally(
                          new LeaseFsException(rejected.code(), rejected.message()));
                    } else {
                      desks
                          .soft()
                          .servers
                          .syncAll(
                              desks.soft().read(view -> view.servers()),
                              desks.soft().clock.nanos());
                      answer.complete(null);
                    }
                  });
        });
  }

  private static Server find(Soft soft, ServerId id) {
    Server server = soft.servers.find(id);
    if (server == null) {
      throw new LeaseFsException(
          ErrorCode.NOT_FOUND, id + ": no such chunkserver", "see 'leasefs node ls'");
    }
    return server;
  }

  // ------------------------------------------------------------------ leases and chunks

  @Override
  public CompletableFuture<List<LeaseStatus>> leases(Optional<ServerId> server) {
    return loop.ask(
        desks -> {
          List<LeaseStatus> leases = new ArrayList<>();
          for (ChunkHandle chunk : desks.soft().read(view -> view.leases())) {
            lease(desks.soft(), chunk)
                .filter(lease -> server.isEmpty() || lease.holder().equals(server.get()))
                .ifPresent(leases::add);
          }
          return leases;
        });
  }

  private static Optional<LeaseStatus> lease(Soft soft, ChunkHandle chunk) {
    return soft.read(
        view -> {
          ChunkEntry entry = view.chunk(chunk).orElse(null);
          if (entry == null || entry.lease().isEmpty()) {
            return Optional.empty();
          }
          ChunkEntry.Lease lease = entry.lease().get();
          return Optional.of(
              new LeaseStatus(
                  chunk,
                  view.path(entry.spec().file()),
                  entry.index(),
                  lease.version(),
                  lease.token(),
                  lease.server(),
                  lease.session(),
                  gateLeft(soft, chunk, lease),
                  lease.revoked()));
        });
  }

  /** How long until a conflicting lease may be granted, if its holder is not heard of again. */
  private static long gateLeft(Soft soft, ChunkHandle chunk, ChunkEntry.Lease lease) {
    if (!soft.leases.knows(lease.session())) {
      return 0;
    }
    long end =
        soft.leases
            .gate(new LeaseTable.Lease(chunk, lease.version(), lease.token(), lease.session()))
            .orElse(soft.leases.endOf(lease.session()));
    return Math.max(0, end - soft.clock.nanos());
  }

  @Override
  public CompletableFuture<ChunkStatus> chunk(ChunkHandle chunk) {
    return loop.ask(
        desks ->
            desks
                .soft()
                .read(
                    view -> {
                      ChunkEntry entry = find(view, chunk);
                      FileId file = entry.spec().file();
                      return new ChunkStatus(
                          layouts.chunk(view, entry, loop.unreachable()),
                          file,
                          view.path(file),
                          entry.lastVersion(),
                          view.file(file).map(FileEntry::replication).orElse(0),
                          entry.pending().map(pending -> pending(desks, entry, pending)),
                          lease(desks.soft(), chunk),
                          replicas(desks.soft(), entry));
                    }));
  }

  private static ChunkEntry find(StateView view, ChunkHandle chunk) {
    return view.chunk(chunk)
        .orElseThrow(() -> new LeaseFsException(ErrorCode.NOT_FOUND, chunk + ": no such chunk"));
  }

  private static PendingChange pending(ControlLoop.Desks desks, ChunkEntry entry, Pending pending) {
    long since =
        desks
            .changes()
            .moving(entry.handle())
            .map(Reconfiguration::begunNanos)
            .orElse(desks.soft().clock.nanos());
    return new PendingChange(
        pending.version(),
        pending.step().name(),
        pending.reason().name(),
        pending.seed().map(seed -> seed.server()),
        Math.max(0, desks.soft().clock.nanos() - since));
  }

  private static List<KnownReplica> replicas(Soft soft, ChunkEntry entry) {
    List<KnownReplica> replicas = new ArrayList<>();
    soft.replicas
        .of(entry.handle())
        .forEach(
            (server, report) ->
                replicas.add(
                    new KnownReplica(
                        server,
                        report.replica(),
                        entry
                            .active()
                            .memberAt(server)
                            .map(Member::replica)
                            .equals(Optional.of(report.replica())),
                        report.state(),
                        report.accepted(),
                        report.lengthBytes())));
    return replicas;
  }

  @Override
  public CompletableFuture<List<Wait>> why(ChunkHandle chunk) {
    return loop.ask(
        desks -> {
          ChunkEntry entry = desks.soft().read(view -> find(view, chunk));
          List<Wait> waits = new ArrayList<>();
          if (entry.seal().isEmpty()) {
            whyNotWritten(desks, entry, waits);
          }
          if (desks.soft().read(view -> count(desks.soft(), view, entry)).good() == 0) {
            waits.add(
                new Wait(
                    chunk,
                    "reads wait: none of the servers that hold a copy can be reached ("
                        + names(entry.active())
                        + ")",
                    Optional.empty(),
                    -1));
          } else {
            desks.upkeep().whyNotWhole(entry, desks.soft().clock.nanos()).ifPresent(waits::add);
          }
          return waits;
        });
  }

  private static void whyNotWritten(ControlLoop.Desks desks, ChunkEntry entry, List<Wait> waits) {
    Soft soft = desks.soft();
    ChunkHandle chunk = entry.handle();
    long now = soft.clock.nanos();
    boolean standing =
        entry.lease().isPresent()
            && !entry.lease().get().revoked()
            && !soft.suspect(entry.lease().get().server())
            && entry.pending().isEmpty();
    if (entry.lease().isPresent() && !standing) {
      ChunkEntry.Lease lease = entry.lease().get();
      long left = gateLeft(soft, chunk, lease);
      Server server = soft.servers.find(lease.server());
      String silence =
          server == null ? "" : ", which has been silent for " + seconds(now - server.heardNanos());
      waits.add(
          new Wait(
              chunk,
              "writes wait: the chunk is promised at version "
                  + lease.version()
                  + " to "
                  + lease.server()
                  + silence
                  + "; a new primary before that promise ends could give two",
              Optional.of(lease.server()),
              left));
    }
    Optional<Waiting> on = desks.changes().waiting(chunk);
    if (entry.pending().isPresent()) {
      String step = entry.pending().get().step().name().toLowerCase(Locale.ROOT);
      waits.add(
          new Wait(
              chunk,
              "version "
                  + entry.pending().get().version()
                  + " is "
                  + step
                  + on.map(waiting -> ": it waits for " + waiting.what()).orElse(""),
              on.flatMap(Waiting::whom),
              on.filter(waiting -> waiting.untilNanos() != Long.MAX_VALUE)
                  .map(waiting -> Math.max(0, waiting.untilNanos() - now))
                  .orElse(-1L)));
    } else if (entry.lease().isEmpty()) {
      waits.add(
          new Wait(
              chunk,
              "nobody is primary: the next reader or writer makes the master choose one",
              Optional.empty(),
              0));
    }
  }

  private static String names(Configuration configuration) {
    List<String> names = new ArrayList<>();
    for (Member member : configuration.members()) {
      names.add(member.server().name());
    }
    return String.join(", ", names);
  }

  private static String seconds(long durationNanos) {
    long tenths = Math.max(0, durationNanos) / 100_000_000;
    return tenths / 10 + "." + tenths % 10 + "s";
  }

  // ------------------------------------------------------------------ a log that is short

  @Override
  public CompletableFuture<Integer> raiseGeneration() {
    return loop.raiseGeneration();
  }

  @Override
  public CompletableFuture<List<QuarantinedCopy>> quarantined(Optional<CopyName> after, int limit) {
    int most = Math.max(1, Math.min(limit, MAX_FINDINGS));
    return loop.ask(
        desks ->
            desks.upkeep().quarantined().stream()
                .filter(copy -> after.isEmpty() || ORDER.compare(copy.name(), after.get()) > 0)
                .limit(most)
                .toList());
  }

  @Override
  public CompletableFuture<Void> deleteQuarantined(CopyName copy, ReplicaId replica) {
    return loop.ask(
            desks -> {
              if (!desks.upkeep().deleteQuarantined(copy, replica)) {
                throw new LeaseFsException(
                    ErrorCode.NOT_FOUND,
                    copy.chunk() + " at " + copy.server() + ": no such copy in quarantine",
                    "see 'leasefs quarantine ls'");
              }
              return true;
            })
        .thenAccept(done -> {});
  }

  // ------------------------------------------------------------------ events and checks

  @Override
  public CompletableFuture<List<ClusterEvent>> events(long after, int limit, long waitNanos) {
    CompletableFuture<List<ClusterEvent>> answer = new CompletableFuture<>();
    long deadline = nanos.getAsLong() + Math.max(0, Math.min(waitNanos, MAX_WAIT_NANOS));
    poll(after, Math.max(1, Math.min(limit, 10_000)), deadline, answer);
    return answer;
  }

  private void poll(
      long after, int limit, long deadline, CompletableFuture<List<ClusterEvent>> answer) {
    List<ClusterEvent> found = events.after(after, limit);
    if (!found.isEmpty() || nanos.getAsLong() >= deadline) {
      answer.complete(found);
      return;
    }
    var _ = scheduler.after(POLL_NANOS, () -> poll(after, limit, deadline, answer));
  }

  @Override
  public CompletableFuture<List<Finding>> check(FilePath path, String after, int limit) {
    return loop.ask(
        desks ->
            desks
                .soft()
                .read(
                    view -> {
                      Check check =
                          new Check(desks, view, after, Math.max(1, Math.min(limit, MAX_FINDINGS)));
                      check.walk(view.stat(path));
                      return check.findings;
                    }));
  }

  /** Walks a tree in path order; findings come by path, those above {@code after} only. */
  private static final class Check {
    final ControlLoop.Desks desks;
    final StateView view;
    final String after;
    final int limit;
    final List<Finding> findings = new ArrayList<>();

    Check(ControlLoop.Desks desks, StateView view, String after, int limit) {
      this.desks = desks;
      this.view = view;
      this.after = after;
      this.limit = limit;
    }

    void walk(FileStatus status) {
      if (findings.size() >= limit) {
        return;
      }
      if (!status.folder()) {
        if (after.isEmpty() || status.path().text().compareTo(after) > 0) {
          file(status);
        }
        return;
      }
      String last = "";
      while (findings.size() < limit) {
        List<FileStatus> entries = view.list(status.path(), last, 1_000);
        if (entries.isEmpty()) {
          return;
        }
        for (FileStatus entry : entries) {
          walk(entry);
          last = entry.path().name();
        }
      }
    }

    private void file(FileStatus status) {
      List<ChunkHandle> chunks = view.file(status.id()).map(FileEntry::chunks).orElse(List.of());
      for (ChunkHandle handle : chunks) {
        ChunkEntry entry = view.chunk(handle).orElse(null);
        if (entry == null) {
          add(status, handle, Severity.DAMAGED, "the log has no such chunk");
          continue;
        }
        Count count = count(desks.soft(), view, entry);
        if (count.good() == 0) {
          add(
              status,
              handle,
              Severity.UNAVAILABLE,
              "no good copy can be reached; members: " + names(entry.active()));
        } else if (count.good() < count.goal()) {
          add(
              status,
              handle,
              Severity.PENDING,
              count.good() + " of " + count.goal() + " copies are there");
        }
        if (count.damaged() > 0) {
          add(status, handle, Severity.DAMAGED, count.damaged() + " damaged copies");
        }
        if (entry.pending().isPresent()) {
          add(
              status,
              handle,
              Severity.PENDING,
              "version "
                  + entry.pending().get().version()
                  + " is under way ("
                  + entry.pending().get().reason()
                  + ")");
        }
        lengths(status, entry);
      }
    }

    private void lengths(FileStatus status, ChunkEntry entry) {
      if (entry.seal().isEmpty()) {
        return;
      }
      Set<ServerId> members = new TreeSet<>();
      entry.active().members().forEach(member -> members.add(member.server()));
      desks
          .soft()
          .replicas
          .of(entry.handle())
          .forEach(
              (server, report) -> {
                if (members.contains(server)
                    && report.state() == ReplicaState.SEALED
                    && report.lengthBytes() != entry.seal().get().lengthBytes()) {
                  add(
                      status,
                      entry.handle(),
                      Severity.DAMAGED,
                      server
                          + " has "
                          + report.lengthBytes()
                          + " bytes, sealed are "
                          + entry.seal().get().lengthBytes());
                }
              });
    }

    private void add(FileStatus status, ChunkHandle chunk, Severity severity, String what) {
      findings.add(new Finding(status.path(), Optional.of(chunk), severity, what));
    }
  }
}
