package io.leasefs.chunkserver;

import io.leasefs.chunkserver.copy.ChunkCopier;
import io.leasefs.chunkserver.copy.CopyLanding;
import io.leasefs.chunkserver.copy.CopySource;
import io.leasefs.chunkserver.fault.Faults;
import io.leasefs.chunkserver.fault.FaultyClients;
import io.leasefs.chunkserver.fault.FaultyMasters;
import io.leasefs.chunkserver.fault.FaultyNetwork;
import io.leasefs.chunkserver.fault.FaultyPeers;
import io.leasefs.chunkserver.pipeline.FlightBudget;
import io.leasefs.chunkserver.pipeline.PeerConnector;
import io.leasefs.chunkserver.pipeline.Peers;
import io.leasefs.chunkserver.read.BoundedExecutor;
import io.leasefs.chunkserver.read.BufferPool;
import io.leasefs.chunkserver.replica.ReplicaCore;
import io.leasefs.chunkserver.replica.ReplicaEvent;
import io.leasefs.chunkserver.replica.ReplicaImage.Snapshot;
import io.leasefs.chunkserver.session.ClusterConnector;
import io.leasefs.chunkserver.session.MasterSession;
import io.leasefs.chunkserver.session.News;
import io.leasefs.chunkserver.session.ServerRecord;
import io.leasefs.chunkserver.session.SessionCore;
import io.leasefs.chunkserver.session.SessionEvent;
import io.leasefs.chunkserver.store.ChunkInstall;
import io.leasefs.chunkserver.store.ChunkStore;
import io.leasefs.chunkserver.store.Scrubber;
import io.leasefs.chunkserver.store.StoredChunk;
import io.leasefs.common.api.ChunkApi;
import io.leasefs.common.api.Heartbeat;
import io.leasefs.common.api.Heartbeat.Certainty;
import io.leasefs.common.api.Heartbeat.CopyCommand;
import io.leasefs.common.api.PeerMessage;
import io.leasefs.common.edge.Clock;
import io.leasefs.common.edge.RandomSource;
import io.leasefs.common.edge.Scheduler;
import io.leasefs.common.error.ErrorCode;
import io.leasefs.common.error.LeaseFsException;
import io.leasefs.common.lease.LeaseTerms;
import io.leasefs.common.model.ChunkHandle;
import io.leasefs.common.model.ChunkSpec;
import io.leasefs.common.model.ClusterEvent;
import io.leasefs.common.model.Durability;
import io.leasefs.common.model.Endpoints;
import io.leasefs.common.model.EventKind;
import io.leasefs.common.model.FileId;
import io.leasefs.common.model.ReplicaId;
import io.leasefs.common.model.SessionId;
import io.leasefs.server.events.EventLog;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A chunkserver put together: what clients and peers ask ({@link ChunkApi}), and the session with
 * the masters. Starts no thread and reads no clock but through its edges, so that the simulator
 * runs this very class.
 *
 * <h2>Threads</h2>
 *
 * Each chunk's core is stepped on the chunk's serial executor; its disk actions are carried out by
 * the chunk's queue; reads are pumped by a bounded number of pool threads; the session has a serial
 * executor for itself. Callbacks of the edges hand on at once.
 *
 * <h2>Memory</h2>
 *
 * Payload of frames without an answer, and payload on its way to the disk, are counted by a {@link
 * FlightBudget} each: past the first one clients' streams push back, and past twice of it frames
 * are refused; past the second one peers' streams push back. They are two because frames wait for
 * peers: what comes from a peer must depend on this server's disk alone, or two servers could wait
 * for each other for ever. Each client's stream has a share of its own, each peer's queue a bound,
 * and reads hold a buffer only while they use it.
 */
public final class ChunkServer implements ChunkApi {
  private static final Logger logger = LoggerFactory.getLogger(ChunkServer.class);

  /**
   * What a server stands on.
   *
   * @param clock the holder's
   * @param scheduler wakes chunks and session
   * @param pool runs the chunks' cores; never on the caller's stack
   * @param disk runs what waits for the disk for long: reads, checks, flushes
   * @param heartbeats runs the session and nothing else
   * @param random draws the nonces of registrations
   * @param peers reaches other chunkservers
   * @param masters reaches the masters
   * @param payloads is told of every payload that nobody reads any more, to use it again
   */
  public record Edges(
      Clock clock,
      Scheduler scheduler,
      Executor pool,
      Executor disk,
      Executor heartbeats,
      RandomSource random,
      PeerConnector peers,
      ClusterConnector masters,
      Consumer<ByteBuffer> payloads) {}

  /**
   * How long a stopping server waits for its last disk action before it lets its leases run out.
   */
  private static final long STOP_NANOS = 5_000_000_000L;

  /** How often the store flushes and looks at its disk. */
  private static final long MAINTAIN_NANOS = 1_000_000_000L;

  /** After a step of the scrubber that failed for no known reason. */
  private static final long SCRUB_AGAIN_NANOS = 60_000_000_000L;

  private final ChunkServerConfig config;
  private final Edges edges;
  private final ChunkStore store;
  private final EventLog events;
  private final Optional<Faults> faults;
  private final FlightBudget frames;
  private final FlightBudget forwards;
  private final ReplicaTable table;
  private final Peers peers;
  private final FaultyPeers inboundFaults;
  private final FaultyClients clientFaults;
  private final MasterSession session;
  private final ReadDesk reads;
  private final CopySource copies;
  private final CompletableFuture<Boolean> stopped = new CompletableFuture<>();
  private final CompletableFuture<LeaseFsException> refused = new CompletableFuture<>();

  /** The cluster's, once it is known. */
  private volatile LeaseTerms terms = LeaseTerms.ofTtl(10_000_000_000L);

  private volatile boolean joined;

  /** Of the disk, when it was last looked at; written by whoever looks, one at a time. */
  private volatile boolean nearlyFull;

  /** Told already; written by whoever looks, one at a time. */
  private volatile boolean diskFailed;

  private volatile boolean stopping;

  /**
   * Builds a server; {@link #start} lets it live.
   *
   * @param record what it remembers of itself
   * @param faults present where faults may be injected
   */
  public ChunkServer(
      ChunkServerConfig config,
      Edges edges,
      ChunkStore store,
      ServerRecord record,
      EventLog events,
      Optional<Faults> faults) {
    this.config = config;
    this.edges = edges;
    this.store = store;
    this.events = events;
    this.faults = faults;
    FaultyNetwork network =
        new FaultyNetwork(faults.orElseGet(Faults::new), edges.clock, edges.scheduler);
    inboundFaults = new FaultyPeers(edges.peers, network);
    clientFaults = new FaultyClients(network, edges.payloads);
    frames = new FlightBudget(config.flightBytes());
    forwards = new FlightBudget(config.flightBytes());
    table = new ReplicaTable(config.name(), store.diskId(), new Opener(), edges.pool);
    PeerDesk desk = new PeerDesk(config.name(), table, forwards);
    PeerConnector toPeers = faults.isPresent() ? inboundFaults : edges.peers;
    peers =
        new Peers(
            config.name(),
            toPeers,
            edges.pool,
            edges.clock,
            desk,
            forwards,
            config.peerQueueBytes());
    desk.answersGoTo(peers);
    ChunkCopier copier =
        new ChunkCopier(
            toPeers,
            new Landings(),
            table::stripe,
            edges.scheduler,
            edges.clock,
            config.copies(),
            config.copyBytesPerSecond());
    MasterOrders orders =
        new MasterOrders(
            table,
            this::unreadable,
            peers,
            copier,
            edges.scheduler,
            config.forgetNanos(),
            this::joined,
            refused::complete,
            stopped::complete);
    session =
        new MasterSession(
            config.name(),
            new SessionCore(
                new SessionCore.Identity(
                    config.name(),
                    config.rack(),
                    config.bootId(),
                    List.of(store.diskId()),
                    config.masters()),
                record.clusterId(),
                record.term(),
                record.ordinal()),
            record,
            store::raiseIncarnation,
            edges.heartbeats,
            new SerialExecutor(edges.disk),
            edges.scheduler,
            edges.clock,
            edges.random,
            faults.isPresent() ? new FaultyMasters(edges.masters, network) : edges.masters,
            orders,
            events);
    orders.newsGoTo(session);
    BoundedExecutor readers = new BoundedExecutor(edges.disk, config.readThreads());
    BufferPool buffers = new BufferPool(ReadDesk.BUFFER_BYTES, config.readThreads());
    reads = new ReadDesk(table, readers, buffers, config.openReads());
    copies = new CopySource(readers, buffers, ReadDesk.PART_BYTES);
  }

  /**
   * Registers, and serves from then on. Returns at once.
   *
   * @param endpoints where it is reached
   */
  public void start(Endpoints endpoints) {
    for (ChunkStore.Unreadable lost : store.unreadable()) {
      logger.error("chunk cannot be read chunk={} reason=\"{}\"", lost.handle(), lost.why());
      events.record(
          EventKind.REPLICA_DAMAGED,
          Optional.of(config.name()),
          Optional.of(lost.handle()),
          0,
          Map.of("why", lost.why()));
    }
    session.post(new SessionEvent.Start(endpoints, diskReport()));
    maintain();
  }

  /** What the master is told of copies that do not even tell which ones they are. */
  private List<Heartbeat.ReplicaReport> unreadable() {
    List<Heartbeat.ReplicaReport> reports = new ArrayList<>();
    for (ChunkStore.Unreadable lost : store.unreadable()) {
      reports.add(
          new Heartbeat.ReplicaReport(
              new ChunkSpec(
                  lost.handle(), new FileId(0), ChunkSpec.MIN_CAPACITY, Durability.REPLICATED),
              Heartbeat.ReplicaReport.UNKNOWN,
              store.diskId(),
              Heartbeat.ReplicaState.DAMAGED,
              0,
              0,
              0,
              0,
              0,
              Optional.empty()));
    }
    return reports;
  }

  /** Bit by bit while the server lives. */
  private void scrub(Scrubber scrubber) {
    if (!stopping) {
      edges.disk.execute(
          () -> {
            long wait = scrubStep(scrubber);
            edges.scheduler.after(wait, () -> scrub(scrubber));
          });
    }
  }

  private long scrubStep(Scrubber scrubber) {
    try {
      return scrubber.step(edges.clock.nanos());
    } catch (RuntimeException e) {
      logger.error("scrubbing failed", e);
      return SCRUB_AGAIN_NANOS;
    }
  }

  private void scrubbed(Scrubber.Finding finding) {
    logger.error("damage found chunk={} reason=\"{}\"", finding.chunk(), finding.why());
    events.record(
        EventKind.SCRUB_FOUND_DAMAGE,
        Optional.of(config.name()),
        Optional.of(finding.chunk()),
        0,
        Map.of("blocks", finding.blocks().toString(), "why", finding.why()));
    table
        .stripe(finding.chunk())
        .execute(
            () -> {
              ReplicaLoop loop = table.find(finding.chunk());
              if (loop != null) {
                loop.step(new ReplicaEvent.DamageFound(finding.why()));
              }
            });
  }

  /** Every second while the server lives. */
  private void maintain() {
    if (!stopping) {
      edges.disk.execute(
          () -> {
            store.maintain();
            lookAtDisk();
            List<Heartbeat.DiskReport> disks = diskReport();
            session.post(new SessionEvent.Disks(disks));
            lookAtSpace(disks.get(0).full());
          });
      edges.scheduler.after(MAINTAIN_NANOS, this::maintain);
    }
  }

  private List<Heartbeat.DiskReport> diskReport() {
    try {
      return List.of(store.report(terms.stallNanos()));
    } catch (IOException e) {
      logger.error("disk cannot be looked at reason=\"{}\"", e.toString());
      return List.of(new Heartbeat.DiskReport(store.diskId(), 0, 0, true, true));
    }
  }

  /** A disk that has failed stays so: every copy on it counts as damaged from now on. */
  private void lookAtDisk() {
    Optional<String> why = store.failure();
    if (why.isEmpty() || diskFailed) {
      return;
    }
    diskFailed = true;
    logger.error(
        "disk has failed disk={} reason=\"{}\" hint=\"its chunks are copied elsewhere; mend the"
            + " disk and start this server again\"",
        store.diskId(),
        why.get());
    events.record(
        EventKind.DISK_FAILED,
        Optional.of(config.name()),
        Optional.empty(),
        0,
        Map.of("why", why.get()));
    for (ReplicaLoop loop : table.all()) {
      loop.post(new ReplicaEvent.DiskFailed(why.get()));
    }
  }

  private void lookAtSpace(boolean full) {
    if (full != nearlyFull) {
      nearlyFull = full;
      logger.warn("disk nearlyFull={}", full);
      table.spaceChanged(full);
    }
    if (!full) {
      for (StoredChunk stopped : store.outOfSpace()) {
        table.stripe(stopped.handle()).execute(() -> goOn(stopped));
      }
    }
  }

  /** There is room again for a copy that had stopped for want of it. On the chunk's executor. */
  private void goOn(StoredChunk stopped) {
    ReplicaLoop loop = table.find(stopped.handle());
    if (loop == null || loop.stored() != stopped) {
      return;
    }
    StoredChunk again;
    try {
      again = store.reopen(stopped);
    } catch (IOException e) {
      logger.warn("chunk cannot go on chunk={} reason=\"{}\"", stopped.handle(), e.toString());
      if (store.chunk(stopped.handle()).isEmpty()) {
        lost(loop);
      } // else there was no room after all: it is tried again
      return;
    }
    loop.close(); // not before: until then it says that it is damaged to whoever asks
    ReplicaLoop next = loop(again, ReplicaCore.restarted(again.image(), terms));
    table.adopt(next);
    logger.info("chunk goes on, there is room again chunk={}", stopped.handle());
    session.post(new SessionEvent.Told(new News.Changed(next.core().report())));
  }

  /** Nothing can be read of this copy any more. On the chunk's executor. */
  private void lost(ReplicaLoop loop) {
    loop.close();
    table.forget(loop);
    for (Heartbeat.ReplicaReport report : unreadable()) {
      if (report.spec().handle().equals(loop.handle())) {
        session.post(new SessionEvent.Told(new News.Changed(report)));
      }
    }
  }

  /** On the session's executor; the first time, the copies of the disk are put to work. */
  private void joined(SessionId id, LeaseTerms newTerms) {
    terms = newTerms;
    if (!joined) {
      for (StoredChunk stored : store.chunks()) {
        table.put(loop(stored, ReplicaCore.restarted(stored.image(), newTerms)));
      }
      table.livesSince(id.value());
      joined = true;
      if (config.scrubBytesPerSecond() > 0) {
        scrub(
            new Scrubber(
                store, config.scrubBytesPerSecond(), config.scrubRoundNanos(), this::scrubbed));
      }
    }
  }

  private ReplicaLoop loop(StoredChunk stored, ReplicaCore core) {
    return new ReplicaLoop(
        config.name(),
        stored.handle(),
        core,
        stored,
        table.stripe(stored.handle()),
        peers,
        session,
        events,
        edges.clock,
        edges.scheduler,
        forwards,
        edges.payloads);
  }

  /** Makes the files of new copies, and removes those of old ones. */
  private final class Opener implements ReplicaTable.Opener {
    @Override
    public ReplicaLoop create(ChunkSpec spec, ReplicaId replica, Certainty certainty)
        throws IOException {
      StoredChunk stored = store.create(spec, replica, certainty);
      ReplicaLoop born = loop(stored, ReplicaCore.born(stored.image(), terms));
      session.post(new SessionEvent.Told(new News.Born(born.core().report())));
      return born;
    }

    @Override
    public void delete(ChunkHandle chunk) throws IOException {
      store.delete(chunk);
    }
  }

  /** Makes room for copies, and puts them to work. On the chunk's executor. */
  private final class Landings implements CopyLanding {
    @Override
    public ChunkInstall begin(CopyCommand order) throws IOException {
      ChunkHandle chunk = order.chunk();
      if (!order.learner().disk().equals(store.diskId())) {
        // It would land as another member than the log has.
        throw new LeaseFsException(
            ErrorCode.NOT_FOUND, "disk " + order.learner().disk() + " is not here any more");
      }
      if (table.hasDeleted(chunk, order.learner().replica())) {
        throw new LeaseFsException(
            ErrorCode.ALREADY_EXISTS,
            "replica " + order.learner().replica() + " of chunk " + chunk + " was deleted here");
      }
      ReplicaLoop here = table.find(chunk);
      if (here != null) {
        Heartbeat.ReplicaReport report = here.core().report();
        // Ids of copies grow with their orders.
        boolean late = report.replica().value() >= order.learner().replica().value();
        if (late || report.accepted() >= order.version()) {
          // The master may not know; or it ordered this before it knew what is here.
          session.post(new SessionEvent.Told(new News.Changed(report)));
          throw new LeaseFsException(
              ErrorCode.ALREADY_EXISTS,
              "replica " + report.replica() + " of chunk " + chunk + " is here");
        }
        table.delete(chunk);
      } else if (store.unreadable().stream().anyMatch(lost -> lost.handle().equals(chunk))) {
        store.delete(chunk);
      }
      return store.install(order.spec(), order.learner().replica());
    }

    @Override
    public void landed(CopyCommand order, StoredChunk copy, Snapshot state) {
      ReplicaLoop loop = loop(copy, ReplicaCore.restarted(copy.image(), terms));
      table.adopt(loop);
      session.post(new SessionEvent.Told(new News.Changed(loop.core().report())));
    }
  }

  /**
   * Takes no more mutations, waits for the last disk action, and gives all leases back in a last
   * heartbeat. Where the disk does not come to an end, the leases run out by themselves.
   *
   * @return true where the master has answered the last heartbeat
   */
  public CompletableFuture<Boolean> stop() {
    stopping = true;
    edges.scheduler.after(STOP_NANOS, () -> stopped.complete(false));
    AtomicInteger busy = new AtomicInteger(1);
    for (ReplicaLoop loop : table.all()) {
      busy.incrementAndGet();
      loop.between(() -> loop.afterDisk(() -> quiet(busy)));
    }
    quiet(busy);
    return stopped;
  }

  private void quiet(AtomicInteger busy) {
    if (busy.decrementAndGet() == 0) {
      session.post(new SessionEvent.Stop());
    }
  }

  // ---- what clients and peers ask ------------------------------------------------------------

  @Override
  public FrameStream mutate(Consumer<NamedAnswer> answers, Consumer<String> broken) {
    return faults.isPresent()
        ? clientFaults.frames(answers, broken, this::openStream)
        : openStream(answers);
  }

  private FrameStream openStream(Consumer<NamedAnswer> answers) {
    return new ClientStream(table, frames, () -> joined && !stopping, answers);
  }

  @Override
  public CompletableFuture<ReadEnd> read(ReadRequest request, Sink<ReadPart> parts) {
    if (!joined) {
      return CompletableFuture.failedFuture(
          new LeaseFsException(ErrorCode.STARTING, config.name() + " has not registered yet"));
    }
    return faults.isPresent()
        ? clientFaults.read(parts, sink -> reads.read(request, sink))
        : reads.read(request, parts);
  }

  @Override
  public PeerStream peer(Consumer<PeerMessage> answers, Consumer<String> broken) {
    return faults.isPresent()
        ? inboundFaults.accepted(answers, broken, peers::accept)
        : peers.accept(answers, broken);
  }

  @Override
  public CompletableFuture<CopyEnd> copy(CopyRequest request, Sink<CopyPart> parts) {
    CompletableFuture<CopyEnd> future = new CompletableFuture<>();
    table
        .stripe(request.chunk())
        .execute(() -> copy(find(request.chunk(), future), request, parts, future));
    return future;
  }

  private void copy(
      @Nullable ReplicaLoop loop,
      CopyRequest request,
      Sink<CopyPart> parts,
      CompletableFuture<CopyEnd> future) {
    if (loop == null) {
      return;
    }
    if (loop.core().report().state() == Heartbeat.ReplicaState.DAMAGED) {
      future.completeExceptionally(
          new LeaseFsException(
              ErrorCode.CORRUPT, "chunk " + request.chunk() + " is damaged at this server"));
      return;
    }
    // The master has named the active version: what lies before its start is committed, though
    // that was not told here yet. A copy without it would be older than the others.
    loop.core()
        .startOf(request.version())
        .ifPresent(
            start ->
                loop.step(
                    new ReplicaEvent.Commanded(
                        new Heartbeat.SettledCommand(request.chunk(), request.version(), start))));
    Snapshot snapshot = loop.core().snapshot();
    if (!CopySource.isComplete(snapshot)) {
      future.completeExceptionally(
          new LeaseFsException(
              ErrorCode.BUSY, "chunk " + request.chunk() + " is being sealed, ask again"));
      return;
    }
    StoredChunk stored = loop.stored();
    long epoch = stored.overwriteEpoch();
    Consumer<String> damage =
        why -> {
          logger.error("damage found chunk={} reason=\"{}\"", request.chunk(), why);
          loop.post(new ReplicaEvent.DamageFound(why));
        };
    loop.afterDisk(() -> copies.copy(request, stored, snapshot, epoch, damage, parts, future));
  }

  /** The chunk's loop; where there is none the future fails. On the chunk's executor. */
  private @Nullable ReplicaLoop find(ChunkHandle chunk, CompletableFuture<?> future) {
    ReplicaLoop loop = table.find(chunk);
    if (loop == null) {
      future.completeExceptionally(
          new LeaseFsException(
              joined ? ErrorCode.NOT_FOUND : ErrorCode.STARTING,
              "chunk " + chunk + " is not at " + config.name()));
    }
    return loop;
  }

  @Override
  public CompletableFuture<ReplicaStatus> inspect(ChunkHandle chunk, boolean verify) {
    CompletableFuture<ReplicaStatus> future = new CompletableFuture<>();
    table
        .stripe(chunk)
        .execute(
            () -> {
              ReplicaLoop loop = find(chunk, future);
              if (loop != null) {
                long now = edges.clock.nanos();
                boolean primary = loop.core().leads(now);
                Heartbeat.ReplicaReport report = loop.core().report();
                long left = primary ? session.leaseEndNanos() - now : 0;
                loop.afterDisk(
                    () ->
                        edges.disk.execute(
                            () -> inspect(loop, report, primary, left, verify, future)));
              }
            });
    return future;
  }

  /** On a thread that may wait for the disk. */
  private static void inspect(
      ReplicaLoop loop,
      Heartbeat.ReplicaReport report,
      boolean primary,
      long leaseLeftNanos,
      boolean verify,
      CompletableFuture<ReplicaStatus> future) {
    StoredChunk stored = loop.stored();
    try {
      List<Long> bad = verify ? stored.badBlocks(0, Long.MAX_VALUE) : List.of();
      if (!bad.isEmpty()) {
        loop.post(new ReplicaEvent.DamageFound("blocks " + bad + " do not match"));
      }
      future.complete(
          new ReplicaStatus(report, primary, leaseLeftNanos, verify ? stored.checksum() : 0, bad));
    } catch (IOException e) {
      future.completeExceptionally(
          new LeaseFsException(
              ErrorCode.CORRUPT, "chunk " + loop.handle() + " cannot be read here: " + e));
    }
  }

  @Override
  public CompletableFuture<List<ClusterEvent>> events(long after, int limit) {
    return CompletableFuture.completedFuture(events.after(after, Math.min(limit, 10_000)));
  }

  @Override
  public CompletableFuture<List<String>> fault(String command, List<String> arguments) {
    if (faults.isEmpty()) {
      return CompletableFuture.failedFuture(
          new LeaseFsException(
              ErrorCode.PERMISSION,
              "this server does not take orders to fail",
              "start it with --allow-faults, never in production"));
    }
    try {
      faults.get().command(command, arguments);
      return CompletableFuture.completedFuture(faults.get().list());
    } catch (LeaseFsException e) {
      return CompletableFuture.failedFuture(e);
    }
  }

  /** Completed, with what to tell the operator, where the masters will never take this server. */
  public CompletableFuture<LeaseFsException> refused() {
    return refused;
  }

  /** Whether it does its work now, for a health page. */
  public record Standing(boolean registered, boolean stopping, long chunks, long leases) {}

  public Standing standing() {
    return new Standing(joined, stopping, table.all().size(), session.heldLeases());
  }

  /** One copy of a chunk, for a look from outside. */
  public record Copy(ReplicaCore core, StoredChunk stored) {}

  /** All copies. Only while nothing of this server runs: the simulator asks between two tasks. */
  public List<Copy> copies() {
    return table.all().stream().map(loop -> new Copy(loop.core(), loop.stored())).toList();
  }

  /** Shows the core of each copy. Likewise. */
  public void eachCore(Consumer<ReplicaCore> visitor) {
    table.each(loop -> visitor.accept(loop.core()));
  }

  /** The copy of one chunk. Likewise. */
  public Optional<Copy> copy(ChunkHandle chunk) {
    return Optional.ofNullable(table.find(chunk)).map(loop -> new Copy(loop.core(), loop.stored()));
  }

  /** The chunk leases that are held and valid now. Likewise. */
  public List<Heartbeat.HeldLease> validLeases() {
    return session.validLeases();
  }

  /** The chunk leases held that were valid so long ago, on its own clock. Likewise. */
  public List<Heartbeat.HeldLease> leasesValidAgo(long nanos) {
    return session.leasesValidAgo(nanos);
  }

  /** Until when its leases are valid, on its own clock; whatever is held. */
  public long leaseEndNanos() {
    return session.leaseEndNanos();
  }

  /** Bytes of payload under way, for metrics and tests. */
  public long flightBytes() {
    return frames.usedBytes() + forwards.usedBytes();
  }
}
