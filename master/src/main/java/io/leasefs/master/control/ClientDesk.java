package io.leasefs.master.control;

import io.leasefs.common.api.Heartbeat.CloseCommand;
import io.leasefs.common.error.ErrorCode;
import io.leasefs.common.error.LeaseFsException;
import io.leasefs.common.model.ChunkHandle;
import io.leasefs.common.model.ClientId;
import io.leasefs.common.model.RequestId;
import io.leasefs.common.model.ServerId;
import io.leasefs.common.model.SessionId;
import io.leasefs.master.cluster.ServerRegistry.Server;
import io.leasefs.master.log.Operation;
import io.leasefs.master.log.Operation.ChangeReason;
import io.leasefs.master.log.Operation.ClientCall;
import io.leasefs.master.log.Operation.Placement;
import io.leasefs.master.log.OperationResult;
import io.leasefs.master.log.OperationResult.Added;
import io.leasefs.master.log.OperationResult.Opened;
import io.leasefs.master.placement.PlacementPolicy;
import io.leasefs.master.placement.PlacementPolicy.Candidate;
import io.leasefs.master.state.ChunkEntry;
import io.leasefs.master.state.ClientEntry;
import io.leasefs.master.state.FileEntry;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.concurrent.CompletableFuture;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.function.Predicate;

/**
 * Requests of clients that change something or wait for something. Each becomes one entry of the
 * log; what it does to chunks reaches the other desks by their levels. Tasks of the control loop.
 */
final class ClientDesk {
  /** How long an opening waits for the last chunk to be reopened. */
  private static final long REOPEN_NANOS = 3_000_000_000L;

  /**
   * How long an opening waits until writers with smaller tokens are shut out, before it says so.
   */
  private static final long FENCE_NANOS = 3_000_000_000L;

  /** A caller that waits for a chunk to become usable. */
  private record Waiter(long deadlineNanos, Predicate<ChunkEntry> usable, Consumer<Boolean> done) {}

  private final Soft soft;
  private final ChangeDesk changes;
  private final PlacementPolicy placement;
  private final Map<ChunkHandle, List<Waiter>> waiters = new TreeMap<>();
  private final Map<ClientId, SessionId> sessions = new TreeMap<>();
  private final Set<ChunkHandle> closing = new TreeSet<>();
  private int pending;

  ClientDesk(Soft soft, ChangeDesk changes, PlacementPolicy placement) {
    this.soft = soft;
    this.changes = changes;
    this.placement = placement;
  }

  void clear() {
    List<Waiter> all = new ArrayList<>();
    waiters.values().forEach(all::addAll);
    waiters.clear();
    sessions.clear();
    closing.clear();
    pending = 0;
    all.forEach(waiter -> waiter.done.accept(false));
  }

  // ------------------------------------------------------------------ changes

  /**
   * Logs one request. The operation is made only if the request has no result yet, so a repetition
   * needs no room, no servers and no luck.
   */
  void mutate(
      RequestId id,
      Function<ClientCall, Operation> operation,
      CompletableFuture<OperationResult> result) {
    if (!soft.serving()) {
      result.completeExceptionally(soft.notServing());
      return;
    }
    Optional<OperationResult> known = soft.read(view -> view.result(id));
    if (known.isPresent()) {
      settle(id.client());
      result.complete(known.get());
      return;
    }
    if (pending >= soft.settings.maxPending()) {
      result.completeExceptionally(
          new LeaseFsException(
              ErrorCode.BUSY, "too many requests are under way: " + pending, "try again"));
      return;
    }
    Operation made;
    try {
      made = operation.apply(new ClientCall(id, soft.settings.clientTtlNanos()));
    } catch (LeaseFsException e) {
      result.completeExceptionally(e);
      return;
    }
    pending++;
    soft.propose(
        made,
        result,
        (committed, failure) -> {
          pending--;
          if (committed == null) {
            result.completeExceptionally(failure);
            return;
          }
          settle(id.client());
          if (committed.result() instanceof OperationResult.Applied applied) {
            touch(applied.value());
          }
          result.complete(committed.result());
        });
  }

  /** The client's session, as the log has it now, was heard of just now. */
  private void settle(ClientId client) {
    Optional<SessionId> session =
        soft.read(view -> view.client(client)).flatMap(ClientEntry::session);
    SessionId before =
        session.isPresent() ? sessions.put(client, session.get()) : sessions.remove(client);
    if (before != null && !session.equals(Optional.of(before))) {
      soft.leases.ended(before);
      soft.sessionsDied();
    }
    session.ifPresent(
        id -> {
          soft.leases.open(id, soft.settings.clientTtlNanos(), soft.clock.nanos());
          soft.leases.heard(id, soft.clock.nanos());
        });
  }

  private void touch(OperationResult.Value value) {
    if (value instanceof Opened opened) {
      opened.chunk().ifPresent(changes::sync);
    } else if (value instanceof Added added) {
      changes.sync(added.chunk());
      ChunkEntry entry = changes.entry(added.chunk());
      if (entry != null && added.index() > 0) {
        soft.read(view -> view.file(entry.spec().file()))
            .map(FileEntry::chunks)
            .filter(chunks -> chunks.size() >= added.index())
            .ifPresent(chunks -> changes.sync(chunks.get(added.index() - 1)));
      }
    } else if (value instanceof OperationResult.Touched touched) {
      soft.read(view -> view.file(touched.file()))
          .map(FileEntry::chunks)
          .filter(chunks -> !chunks.isEmpty())
          .ifPresent(chunks -> changes.sync(chunks.get(chunks.size() - 1)));
      closeChunks();
    }
  }

  /** In which this master leads. */
  long term() {
    return soft.role.term();
  }

  /** Places for a new chunk of this goal. */
  List<Placement> places(int goal, long capacityBytes) {
    List<Candidate> chosen =
        placement.choose(
            candidates(Set.of()), List.of(), goal, capacityBytes, soft.random.nextLong());
    int least = ControlSettings.minReplicas(goal);
    if (chosen.size() < least && candidates(Set.of()).size() >= least) {
      throw new LeaseFsException(
          ErrorCode.NO_SPACE,
          "no chunkservers have room for another chunk of " + capacityBytes + " bytes",
          "free some space, or add chunkservers; see 'leasefs node ls'");
    }
    if (chosen.size() < least) {
      throw new LeaseFsException(
          ErrorCode.TOO_FEW_SERVERS,
          "a chunk needs at least "
              + least
              + " chunkservers with room for it, and "
              + chosen.size()
              + " can be reached",
          "start more chunkservers, or see 'leasefs node ls'");
    }
    List<Placement> places = new ArrayList<>();
    for (Candidate candidate : chosen) {
      places.add(place(candidate));
    }
    return places;
  }

  Placement place(Candidate candidate) {
    soft.servers.created(candidate.server(), soft.clock.nanos());
    return new Placement(
        candidate.server(),
        candidate.disk(),
        soft.incarnation(candidate.server()).orElseThrow(),
        soft.session(candidate.server()).orElseThrow());
  }

  /** Servers that may take a copy now. */
  List<Candidate> candidates(Set<ServerId> without) {
    List<Candidate> candidates = new ArrayList<>();
    for (Server server : soft.servers.all()) {
      var disk = server.roomiestDisk();
      if (disk != null
          && !server.draining()
          && !soft.suspect(server.id())
          && !without.contains(server.id())
          && server.hasDisk(disk.disk())) {
        candidates.add(
            new Candidate(
                server.id(),
                server.rack(),
                disk.disk(),
                disk.freeBytes(),
                disk.totalBytes(),
                server.recentCreations(soft.clock.nanos()),
                soft.leases(server.id())));
      }
    }
    return candidates;
  }

  /**
   * After an opening: the file's last chunk is made writable where it can be, and takes nothing
   * with a smaller token any more.
   *
   * @param then told false where that could not be had in time: the opener has to ask again
   */
  void prepareLast(Optional<ChunkHandle> last, boolean born, long token, Consumer<Boolean> then) {
    ChunkEntry entry = last.isEmpty() || born ? null : changes.entry(last.get());
    if (entry == null) {
      then.accept(true);
      return;
    }
    if (entry.seal().isEmpty()) {
      changes.needPrimary(entry.handle());
      fence(entry.handle(), token, soft.clock.nanos() + FENCE_NANOS, then);
      return;
    }
    boolean reopen =
        !entry.sealedForEver()
            && entry.references() == 1
            && entry.seal().get().lengthBytes() < entry.spec().capacityBytes() / 2
            && (entry.pending().isPresent() || changes.canBeReopened(entry));
    if (!reopen) {
      then.accept(true);
      return;
    }
    changes.want(entry.handle(), ChangeReason.REOPEN, false, false, Set.of());
    // Both waits together stay below what a client waits for an answer, or it would never have one.
    long until = soft.clock.nanos() + REOPEN_NANOS + FENCE_NANOS / 3;
    await(
        entry.handle(),
        now -> now.seal().isEmpty(),
        soft.clock.nanos() + REOPEN_NANOS,
        // somebody else's reopening may have begun before our token was known
        usable -> fence(entry.handle(), token, until, then));
  }

  private void fence(ChunkHandle chunk, long token, long until, Consumer<Boolean> then) {
    if (token == 0 || changes.entry(chunk) == null) {
      then.accept(true);
      return;
    }
    changes.fence(chunk, token);
    await(
        chunk,
        now -> changes.isFenced(now, token),
        until,
        done -> then.accept(done || changes.entry(chunk) == null));
  }

  // ------------------------------------------------------------------ closing

  /** Chunks that nobody has open any more are sealed: by their primary, or without it. */
  void closeChunks() {
    List<ChunkHandle> due = soft.read(view -> view.chunksToClose());
    for (ChunkHandle chunk : List.copyOf(closing)) {
      if (!due.contains(chunk)) {
        closing.remove(chunk);
        soft.outbox.replace(chunk, Outbox.Slot.HOLDER, Map.of());
      }
    }
    for (ChunkHandle chunk : due) {
      closing.add(chunk);
      ChunkEntry entry = changes.entry(chunk);
      if (entry != null && entry.pending().isEmpty()) {
        sealUnused(entry, ChangeReason.CLOSE);
      }
    }
  }

  /** Seals a chunk that nobody writes: by its primary if that answers, else by a change. */
  void sealUnused(ChunkEntry entry, ChangeReason reason) {
    if (entry.seal().isPresent()) {
      return;
    }
    if (entry.lease().isEmpty()) {
      changes.want(entry.handle(), reason, false, true, Set.of());
      return;
    }
    ChunkEntry.Lease lease = entry.lease().get();
    if (soft.suspect(lease.server())) {
      changes.want(entry.handle(), reason, true, true, Set.of(lease.server()));
    } else if (!lease.revoked()) {
      soft.outbox.put(
          lease.server(),
          Outbox.Slot.HOLDER,
          new CloseCommand(entry.handle(), entry.active().version()));
    }
  }

  // ------------------------------------------------------------------ waiting

  /** Tells once: true as soon as the chunk is usable, false at the deadline. */
  void await(
      ChunkHandle chunk, Predicate<ChunkEntry> usable, long deadlineNanos, Consumer<Boolean> done) {
    ChunkEntry entry = changes.entry(chunk);
    if (entry == null || usable.test(entry)) {
      done.accept(entry != null);
      return;
    }
    waiters
        .computeIfAbsent(chunk, c -> new ArrayList<>())
        .add(new Waiter(deadlineNanos, usable, done));
  }

  /** The chunk's record was looked at anew. */
  void chunkChanged(ChunkHandle chunk) {
    List<Waiter> here = waiters.get(chunk);
    if (here == null) {
      return;
    }
    ChunkEntry entry = changes.entry(chunk);
    List<Waiter> done = new ArrayList<>();
    for (Waiter waiter : here) {
      if (entry == null || waiter.usable.test(entry)) {
        done.add(waiter);
      }
    }
    here.removeAll(done);
    if (here.isEmpty()) {
      waiters.remove(chunk);
    }
    done.forEach(waiter -> waiter.done.accept(entry != null));
  }

  /** When the next waiting caller must be told. */
  long nextLook() {
    long next = Long.MAX_VALUE;
    for (List<Waiter> here : waiters.values()) {
      for (Waiter waiter : here) {
        next = Math.min(next, waiter.deadlineNanos);
      }
    }
    return next;
  }

  /** Tells those whose time is over. */
  void tick(long now) {
    for (ChunkHandle chunk : List.copyOf(waiters.keySet())) {
      List<Waiter> late = new ArrayList<>();
      List<Waiter> here = waiters.getOrDefault(chunk, List.of());
      for (Waiter waiter : here) {
        if (waiter.deadlineNanos <= now) {
          late.add(waiter);
        }
      }
      here.removeAll(late);
      if (here.isEmpty()) {
        waiters.remove(chunk);
      }
      late.forEach(waiter -> waiter.done.accept(false));
    }
  }

  /** The sessions of clients that ended by themselves or by time. */
  void sessionsEnded() {
    sessions.values().removeIf(session -> !soft.leases.knows(session));
  }
}
