package io.leasefs.chunkserver;

import io.leasefs.chunkserver.pipeline.FlightBudget;
import io.leasefs.chunkserver.pipeline.Peers;
import io.leasefs.chunkserver.replica.ReplicaAction;
import io.leasefs.chunkserver.replica.ReplicaCore;
import io.leasefs.chunkserver.replica.ReplicaEvent;
import io.leasefs.chunkserver.session.MasterSession;
import io.leasefs.chunkserver.session.News;
import io.leasefs.chunkserver.session.SessionEvent;
import io.leasefs.chunkserver.store.StoredChunk;
import io.leasefs.common.api.PeerMessage;
import io.leasefs.common.edge.Clock;
import io.leasefs.common.edge.Scheduler;
import io.leasefs.common.error.ErrorCode;
import io.leasefs.common.model.ChunkHandle;
import io.leasefs.common.model.EventKind;
import io.leasefs.common.model.ServerId;
import io.leasefs.server.events.EventSink;
import java.nio.ByteBuffer;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.Executor;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * One copy of a chunk at work: steps its core on the chunk's serial executor, and carries out what
 * the core wants: disk actions through the chunk's queue, messages through the server's streams,
 * answers to whoever waits. Everything here runs on that executor, but for {@link #post}.
 */
final class ReplicaLoop {
  /** A frame or a read that waits for the core. */
  @FunctionalInterface
  interface Waiting {
    /** The core has decided; on the loop's executor. */
    void decided(ReplicaAction decision);
  }

  /** Most findings of damage that are recorded of one copy. */
  private static final int MOST_DAMAGES = 64;

  private record AppendInFlight(long id, long bytes) {}

  private record AfterDisk(long id, Runnable task) {}

  private final ServerId self;
  private final ChunkHandle chunk;
  private final ReplicaCore core;
  private final Executor executor;
  private final StoredChunk stored;
  private final Peers peers;
  private final MasterSession session;
  private final EventSink events;
  private final Clock clock;
  private final Scheduler scheduler;
  private final FlightBudget budget;
  private final PayloadLedger payloads;

  private final Map<Long, Waiting> waiting = new HashMap<>();

  /**
   * Frames that wait until the core holds less that is not committed. Bounded by the budget: what
   * waits here is counted there.
   */
  private final ArrayDeque<Runnable> held = new ArrayDeque<>();

  private final ArrayDeque<AppendInFlight> appends = new ArrayDeque<>();

  /** Servers that this chunk has talked to: a broken stream to others is nothing to it. */
  private final Set<ServerId> talkedTo = new HashSet<>();

  /** Findings that were recorded. */
  private final Set<String> damages = new HashSet<>();

  private long lastTicket;
  private long wakeAt = Long.MAX_VALUE;
  private Scheduler.@Nullable Cancellable timer;
  private final ArrayDeque<AfterDisk> afterDisk = new ArrayDeque<>();
  private long lastDiskAction;
  private long lastDiskActionDone;
  private boolean takingIn;
  private boolean closed;

  /** Takes over the chunk's queue: what it tells comes here. */
  ReplicaLoop(
      ServerId self,
      ChunkHandle chunk,
      ReplicaCore core,
      StoredChunk stored,
      Executor executor,
      Peers peers,
      MasterSession session,
      EventSink events,
      Clock clock,
      Scheduler scheduler,
      FlightBudget budget,
      Consumer<ByteBuffer> payloads) {
    this.self = self;
    this.chunk = chunk;
    this.core = core;
    this.stored = stored;
    this.executor = executor;
    this.peers = peers;
    this.session = session;
    this.events = events;
    this.clock = clock;
    this.scheduler = scheduler;
    this.budget = budget;
    this.payloads = new PayloadLedger(payloads);
    stored.queue().tell(this::post);
  }

  /** Something happened to this copy. Any thread; returns at once. */
  void post(ReplicaEvent event) {
    executor.execute(() -> step(event));
  }

  /** Runs the task between two steps. */
  void between(Runnable task) {
    executor.execute(task);
  }

  /** The copy's files. */
  StoredChunk stored() {
    return stored;
  }

  /** The core; between two steps only. */
  ReplicaCore core() {
    return core;
  }

  /** Takes a frame in once the core has room for its payload; keeps the order of frames. */
  void whenRoom(Runnable takeIn) {
    if (held.isEmpty() && hasRoom()) {
      takeIn.run();
    } else {
      held.addLast(takeIn);
    }
  }

  private boolean hasRoom() {
    return closed || (core.pendingBytes() <= ReplicaCore.PENDING_BYTES && !stored.queue().isFull());
  }

  private void takeInHeld() {
    // What is taken in steps this loop again: the outermost call does it all.
    if (takingIn) {
      return;
    }
    takingIn = true;
    while (!held.isEmpty() && hasRoom()) {
      held.removeFirst().run();
    }
    takingIn = false;
  }

  /** A frame or read comes in; the event is made with its ticket. On this loop's executor. */
  long admit(Waiting waiter) {
    lastTicket++;
    waiting.put(lastTicket, waiter);
    return lastTicket;
  }

  /** Whoever waits under this ticket is gone. On this loop's executor. */
  void drop(long ticket) {
    if (waiting.remove(ticket) != null) {
      step(new ReplicaEvent.TicketDropped(ticket));
    }
  }

  /** On this loop's executor. */
  void step(ReplicaEvent event) {
    if (closed) {
      return;
    }
    long now = clock.nanos();
    if (event instanceof ReplicaEvent.DamageFound found) {
      noteDamage(found);
    }
    if (event instanceof ReplicaEvent.DiskDone done) {
      lastDiskActionDone = done.throughId();
      releaseAppends(done.throughId());
    } else if (event instanceof ReplicaEvent.DiskFailed) {
      lastDiskActionDone = Long.MAX_VALUE;
      releaseAppends(Long.MAX_VALUE);
    } else if (event instanceof ReplicaEvent.PeerBroken broken
        && !talkedTo.contains(broken.peer())) {
      return;
    } else if (event instanceof ReplicaEvent.PeerArrived arrived) {
      talkedTo.add(arrived.from());
    }
    List<ReplicaAction.DiskAction> toDisk = new ArrayList<>();
    for (ReplicaAction action : core.step(event, now)) {
      carryOut(action, now, toDisk);
    }
    stored.queue().submit(toDisk);
    rearm(now);
    takeInHeld();
    tellAfterDisk();
  }

  /**
   * Runs the task once all disk actions that the core has given out are done, or will never be. On
   * this loop's executor.
   */
  void afterDisk(Runnable task) {
    if (closed || lastDiskActionDone >= lastDiskAction) {
      task.run();
    } else {
      afterDisk.addLast(new AfterDisk(lastDiskAction, task));
    }
  }

  private void tellAfterDisk() {
    while (!afterDisk.isEmpty() && (closed || afterDisk.getFirst().id <= lastDiskActionDone)) {
      afterDisk.removeFirst().task.run();
    }
  }

  private void carryOut(ReplicaAction action, long now, List<ReplicaAction.DiskAction> toDisk) {
    switch (action) {
      case ReplicaAction.DiskAction diskAction -> {
        count(diskAction);
        toDisk.add(diskAction);
      }
      case ReplicaAction.Send send -> send(send);
      case ReplicaAction.Answer answer -> decided(answer.ticket(), answer);
      case ReplicaAction.ServeRead serve -> decided(serve.ticket(), serve);
      case ReplicaAction.RefuseRead refuse -> decided(refuse.ticket(), refuse);
      case ReplicaAction.ReportSeal report -> tell(new News.Sealed(report.answer()));
      case ReplicaAction.ReportVersionStarted report -> tell(new News.Started(report.started()));
      case ReplicaAction.ReportFailedMember report -> tell(new News.Failed(report.failed()));
      case ReplicaAction.ReportReplica report -> tell(new News.Changed(report.report()));
      case ReplicaAction.ReleaseLease release -> tell(new News.Released(release.lease()));
      case ReplicaAction.Note note -> note(note, now);
    }
  }

  private void count(ReplicaAction.DiskAction action) {
    switch (action) {
      case ReplicaAction.Append append -> {
        ByteBuffer payload = append.mutation().payload();
        budget.take(payload.remaining());
        appends.addLast(new AppendInFlight(append.id(), payload.remaining()));
        payloads.appended(append.mutation().serial(), payload);
      }
      case ReplicaAction.Commit commit -> payloads.committed(commit.serial());
      case ReplicaAction.Cut cut -> payloads.cut(cut.serial());
      case ReplicaAction.StorePromise promise -> payloads.versionOver();
      case ReplicaAction.StoreStanding standing -> {}
      case ReplicaAction.ComputeChecksum checksum -> {}
      case ReplicaAction.ReadBack read -> {}
      case ReplicaAction.Compact compact -> {}
    }
    lastDiskAction = action.id();
  }

  private void releaseAppends(long throughId) {
    while (!appends.isEmpty() && appends.getFirst().id <= throughId) {
      budget.release(appends.removeFirst().bytes);
    }
  }

  private void send(ReplicaAction.Send send) {
    talkedTo.add(send.to());
    if (send.message() instanceof PeerMessage.Forward forward) {
      payloads.sent(forward.mutation().serial());
    }
    peers.send(send.to(), send.message());
  }

  private void decided(long ticket, ReplicaAction decision) {
    Waiting waiter = waiting.remove(ticket);
    if (waiter != null) {
      waiter.decided(decision);
    }
  }

  private void tell(News news) {
    session.post(new SessionEvent.Told(news));
  }

  /** For people, each finding once: which block it is, above all. */
  private void noteDamage(ReplicaEvent.DamageFound found) {
    if (damages.size() < MOST_DAMAGES && damages.add(found.why())) {
      events.record(
          EventKind.REPLICA_DAMAGED,
          Optional.of(self),
          Optional.of(chunk),
          core.report().accepted(),
          Map.of("why", found.why()));
    }
  }

  private void note(ReplicaAction.Note note, long now) {
    events.record(
        note.kind(),
        Optional.of(self),
        Optional.of(chunk),
        note.version(),
        Map.of("agoNanos", String.valueOf(now - note.atNanos())));
  }

  private void rearm(long now) {
    long wanted = core.wakeAt();
    if (wanted == wakeAt) {
      return;
    }
    wakeAt = wanted;
    Scheduler.Cancellable pending = timer;
    if (pending != null) {
      pending.cancel();
    }
    timer =
        wanted == Long.MAX_VALUE ? null : scheduler.after(Math.max(0, wanted - now), this::wake);
  }

  private void wake() {
    executor.execute(
        () -> {
          wakeAt = Long.MAX_VALUE;
          step(new ReplicaEvent.Tick());
        });
  }

  /** The copy is deleted, or the server ends: nothing is done any more. On this loop's executor. */
  void close() {
    closed = true;
    Scheduler.Cancellable pending = timer;
    if (pending != null) {
      pending.cancel();
    }
    releaseAppends(Long.MAX_VALUE);
    for (Long ticket : List.copyOf(waiting.keySet())) {
      decided(
          ticket,
          new ReplicaAction.RefuseRead(
              ticket, ErrorCode.NOT_FOUND, "chunk " + chunk + " was deleted here"));
    }
    takeInHeld();
    tellAfterDisk();
  }

  boolean isClosed() {
    return closed;
  }

  ChunkHandle handle() {
    return chunk;
  }
}
