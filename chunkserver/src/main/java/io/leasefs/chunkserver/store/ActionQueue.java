package io.leasefs.chunkserver.store;

import io.leasefs.chunkserver.replica.ReplicaAction.Append;
import io.leasefs.chunkserver.replica.ReplicaAction.Commit;
import io.leasefs.chunkserver.replica.ReplicaAction.Compact;
import io.leasefs.chunkserver.replica.ReplicaAction.ComputeChecksum;
import io.leasefs.chunkserver.replica.ReplicaAction.Cut;
import io.leasefs.chunkserver.replica.ReplicaAction.DiskAction;
import io.leasefs.chunkserver.replica.ReplicaAction.ReadBack;
import io.leasefs.chunkserver.replica.ReplicaAction.StorePromise;
import io.leasefs.chunkserver.replica.ReplicaAction.StoreStanding;
import io.leasefs.chunkserver.replica.ReplicaEvent;
import io.leasefs.chunkserver.store.JournalRecord.Applied;
import io.leasefs.common.edge.Clock;
import io.leasefs.common.edge.DiskFile;
import io.leasefs.common.edge.DiskFullException;
import io.leasefs.common.edge.Scheduler;
import io.leasefs.common.model.Durability;
import io.leasefs.server.disk.ForceQueue;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Executor;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Carries out one chunk's disk actions, in the order of their ids, and tells the core how far it
 * is.
 *
 * <h2>Batches</h2>
 *
 * What has gathered is taken together: payloads that follow one another are one vectored write to
 * the data file, then all records are one write to the journal, then one force, through the disk's
 * {@link ForceQueue}, answers all that asked for one. While it runs the next batch is written.
 * {@link ReplicaEvent.DiskDone} keeps the order of ids: what needs no force but stands behind one
 * that does waits for it.
 *
 * <h2>Overwrites</h2>
 *
 * Once a commit has published overwrites, the journal is forced and then the data file is changed;
 * neither is waited for by anybody.
 *
 * <h2>Watermark</h2>
 *
 * What a force has made durable is written into the journal's watermark with the next batch, or by
 * itself after 20 ms.
 *
 * <h2>Failure</h2>
 *
 * The first error ends it: {@link ReplicaEvent.DiskFailed} is told, nothing is tried again, every
 * later action is dropped. Unless the disk was merely full, a mark is left so that a restart does
 * not trust this copy either.
 *
 * <p><b>Threads</b>: {@link #submit} from any; everything else runs on the executor, one run at a
 * time, and may block on the disk. Events are handed over there, in order; the receiver must not
 * block. <b>Bound</b>: an action cannot be refused any more, so the shell asks {@link #isFull}
 * before it lets the core accept more.
 */
public final class ActionQueue {
  private static final Logger LOG = LoggerFactory.getLogger(ActionQueue.class);

  private static final int MAX_BATCH = 512;
  private static final long MAX_BATCH_BYTES = 8 << 20;
  private static final long WATERMARK_DELAY_NANOS = 20_000_000;

  /** Payload bytes above which {@link #isFull}. */
  static final long FULL_BYTES = 64 << 20;

  /** Actions above which {@link #isFull}. */
  static final int FULL_ACTIONS = 16_384;

  /** Actions that are told together, once their forces have come back. */
  private static final class Group {
    final List<ReplicaEvent> events = new ArrayList<>(1);
    long throughId;
    boolean forced;
    int forcesLeft;
  }

  private final ChunkFile file;
  private final Executor executor;
  private final ForceQueue forces;
  private final Scheduler scheduler;
  private final Clock clock;
  private final ScratchPool scratchPool;
  private final boolean synced;

  // Guarded by this.
  private final ArrayDeque<DiskAction> actions = new ArrayDeque<>();
  private final ArrayDeque<Runnable> mail = new ArrayDeque<>();
  private long queuedBytes;
  private boolean scheduled;
  private long oldestSince;
  private long lastUsed;

  // Owned by the run.
  private Consumer<ReplicaEvent> events = event -> {};
  private final ArrayDeque<Group> groups = new ArrayDeque<>();
  private final List<DiskFile> retired = new ArrayList<>();
  private int forcesInFlight;
  private boolean dataUnforced;

  /** Forces of the data file under way: until they are back nobody else's covers its bytes. */
  private int dataForces;

  private long journalForced;
  private long dataForced;

  /** A force that began before the last cut says nothing of the serials given anew. */
  private long cuts;

  private boolean watermarkDue;
  private boolean watermarkTimed;
  private boolean applying;
  private long compactionAskedAt;

  private volatile boolean failed;

  /** It failed because there was no room, and for no other reason. */
  private volatile boolean outOfSpace;

  private volatile boolean dirty;
  private volatile boolean stopped;

  ActionQueue(
      ChunkFile file,
      Executor executor,
      ForceQueue forces,
      Scheduler scheduler,
      Clock clock,
      ScratchPool scratchPool,
      boolean damaged) {
    this.file = file;
    this.executor = executor;
    this.forces = forces;
    this.scheduler = scheduler;
    this.clock = clock;
    this.scratchPool = scratchPool;
    this.synced = file.header().spec().durability() == Durability.SYNCED;
    this.failed = damaged;
    this.lastUsed = clock.nanos();
    this.dataForced = file.journal().watermark().dataSerial();
  }

  /** Who is told; to be set before the first action. */
  public void tell(Consumer<ReplicaEvent> receiver) {
    mail(() -> events = receiver);
  }

  /** Takes actions in the order of their ids. */
  public void submit(List<? extends DiskAction> more) {
    if (more.isEmpty()) {
      return;
    }
    boolean start;
    synchronized (this) {
      for (DiskAction action : more) {
        actions.add(action);
        queuedBytes += bytes(action);
      }
      lastUsed = clock.nanos();
      start = schedule();
    }
    if (start) {
      executor.execute(this::run);
    }
  }

  /** True where no more should be accepted from outside for now. */
  public synchronized boolean isFull() {
    return queuedBytes > FULL_BYTES || actions.size() > FULL_ACTIONS;
  }

  /** How long the oldest action has been waiting or running, nanoseconds; 0 where none is. */
  public synchronized long stalledNanos() {
    return scheduled ? clock.nanos() - oldestSince : 0;
  }

  /** True once a write or force has failed, or where the chunk was damaged from the start. */
  public boolean isFailed() {
    return failed;
  }

  /**
   * True where it failed for want of room, and nothing of it is under way any more: what is on the
   * disk is as after a crash of the process, and can be gone on from.
   */
  boolean isOutOfSpace() {
    synchronized (this) {
      return outOfSpace && !stopped && !scheduled;
    }
  }

  /** The chunk's bytes, for readers. */
  ChunkContent content() {
    return file.content();
  }

  /** True where nothing is under way and nothing has been for so long. */
  synchronized boolean isQuiet(long nanos) {
    return !scheduled && clock.nanos() - lastUsed >= nanos;
  }

  /** Asks for compaction where the chunk has been idle and its journal is not small. */
  void maintain(long idleNanos) {
    if (!isQuiet(idleNanos)) {
      return;
    }
    mail(
        () -> {
          if (!failed && file.journal().end() > ChunkFile.SMALL_JOURNAL) {
            askForCompaction();
          }
        });
  }

  /** What a force covers, as it stood before. */
  record Extent(Journal journal, long journalBytes, long dataSerial, long cuts) {}

  /** True where something was written since the last {@link #beginFlush}. */
  boolean isDirty() {
    return dirty;
  }

  /** Tells how far the chunk is; to be handed to {@link #endFlush} when the disk was forced. */
  void beginFlush(Consumer<Extent> next) {
    dirty = false;
    mail(() -> next.accept(extent(true)));
  }

  /** The whole disk was forced after {@link #beginFlush}, or that failed. */
  void endFlush(Extent extent, @Nullable IOException failure) {
    mail(
        () -> {
          if (failure == null) {
            file.namesForced();
            noteForced(extent);
          } else if (!stopped) {
            fail(failure);
          }
        });
  }

  /** The chunk is being deleted: everything that is still queued is dropped, without a word. */
  void stop() {
    stopped = true;
    failed = true;
  }

  /** Runs the task on the queue's turn, between batches. */
  void mail(Runnable task) {
    boolean start;
    synchronized (this) {
      mail.add(task);
      start = schedule();
    }
    if (start) {
      executor.execute(this::run);
    }
  }

  private boolean schedule() {
    if (scheduled) {
      return false;
    }
    scheduled = true;
    oldestSince = clock.nanos();
    return true;
  }

  private static long bytes(DiskAction action) {
    return action instanceof Append append ? append.mutation().payloadBytes() : 0;
  }

  // ---------------------------------------------------------------- the run

  private void run() {
    List<Runnable> letters;
    List<DiskAction> batch = new ArrayList<>();
    synchronized (this) {
      letters = new ArrayList<>(mail);
      mail.clear();
      long bytes = 0;
      while (!actions.isEmpty() && batch.size() < MAX_BATCH && bytes < MAX_BATCH_BYTES) {
        DiskAction action = actions.remove();
        bytes += bytes(action);
        batch.add(action);
      }
    }
    try {
      for (Runnable letter : letters) {
        letter.run();
      }
      if (!failed && !batch.isEmpty()) {
        carryOut(batch);
      }
    } catch (IOException | RuntimeException e) {
      fail(e);
    }
    boolean again;
    synchronized (this) {
      for (DiskAction action : batch) {
        queuedBytes -= bytes(action);
      }
      again = !actions.isEmpty() || !mail.isEmpty();
      scheduled = again;
      oldestSince = clock.nanos();
    }
    if (again) {
      executor.execute(this::run);
    }
  }

  private void carryOut(List<DiskAction> batch) throws IOException {
    ByteBuffer scratch = scratchPool.take();
    try {
      Writing writing = new Writing(scratch);
      for (DiskAction action : batch) {
        writing.carryOut(action);
      }
      writing.end();
    } finally {
      scratchPool.give(scratch);
    }
    tellDone();
    if (file.journalIsLarge() && file.journal().end() > compactionAskedAt + (1 << 20)) {
      askForCompaction();
    }
  }

  private void askForCompaction() {
    compactionAskedAt = file.journal().end();
    events.accept(new ReplicaEvent.CompactionWanted());
  }

  /** One batch. */
  private final class Writing {
    private final ByteBuffer scratch;
    private ChunkFile.@Nullable Appender appender;
    private final List<Group> made = new ArrayList<>(2);
    private Group group = new Group();

    Writing(ByteBuffer scratch) {
      this.scratch = scratch;
    }

    void carryOut(DiskAction action) throws IOException {
      switch (action) {
        case Append append -> {
          begin(append.id(), append.force());
          appender().add(append.mutation());
        }
        case StorePromise promise -> {
          begin(promise.id(), true);
          file.promise(promise.version(), appender());
        }
        case StoreStanding standing -> {
          begin(standing.id(), true);
          file.stand(standing.certainty(), standing.learner(), appender());
        }
        case Commit commit -> {
          begin(commit.id(), false);
          flush();
          if (file.commit(commit.serial())) {
            applySoon();
          }
        }
        case Cut cut -> {
          begin(cut.id(), false);
          flush();
          file.forceNames();
          file.cut(cut.serial(), cut.lengthBytes());
          dataForced = Math.min(dataForced, cut.serial());
          cuts++;
        }
        case ComputeChecksum compute -> {
          begin(compute.id(), false);
          flush();
          int checksum = file.checksum(compute.serial());
          group.events.add(new ReplicaEvent.Checksummed(compute.id(), checksum));
        }
        case ReadBack read -> {
          begin(read.id(), false);
          flush();
          group.events.add(
              new ReplicaEvent.RecordsRead(
                  read.id(), file.readBack(read.fromSerial(), read.maxBytes())));
        }
        case Compact compact -> {
          begin(compact.id(), false);
          flush();
          file.forceNames();
          retired.add(file.compact(compact.snapshot(), scratch));
          closeRetired();
          dataUnforced = false;
          compactionAskedAt = file.journal().end();
        }
      }
    }

    /** What needs no force is not held up by a later one that does. */
    private void begin(long id, boolean force) {
      if (force && !group.forced && group.throughId > 0) {
        made.add(group);
        group = new Group();
      }
      group.throughId = id;
      group.forced |= force;
    }

    private ChunkFile.Appender appender() throws IOException {
      if (appender == null) {
        if (watermarkDue) {
          writeWatermark();
        }
        appender = file.new Appender(scratch);
        dirty = true;
      }
      return appender;
    }

    private void flush() throws IOException {
      ChunkFile.Appender open = appender;
      if (open != null) {
        open.flush();
        dataUnforced |= open.wroteData();
        appender = null;
      }
    }

    void end() throws IOException {
      flush();
      made.add(group);
      for (Group each : made) {
        groups.add(each);
        if (each.forced) {
          force(each);
        }
      }
    }
  }

  // ---------------------------------------------------------------- forces

  private void force(Group group) throws IOException {
    file.forceNames();
    boolean withData = synced && dataUnforced;
    Extent extent = extent(withData || (synced && dataForces == 0));
    group.forcesLeft = withData ? 2 : 1;
    if (withData) {
      dataUnforced = false;
      dataForces++;
      force(
          file.data(),
          () -> {
            dataForces--;
            forced(group, extent);
          });
    }
    force(file.journal().file(), () -> forced(group, extent));
  }

  private Extent extent(boolean withData) {
    Journal journal = file.journal();
    return new Extent(journal, journal.end(), withData ? file.lastSerial() : dataForced, cuts);
  }

  private void forced(Group group, Extent extent) {
    group.forcesLeft--;
    if (group.forcesLeft == 0) {
      noteForced(extent);
      tellDone();
      timeWatermark();
    }
  }

  /** Asks the disk's queue; {@code next} runs on this queue's turn, unless it failed. */
  private void force(DiskFile which, Runnable next) {
    forcesInFlight++;
    forces.force(
        which,
        failure ->
            mail(
                () -> {
                  forcesInFlight--;
                  closeRetired();
                  if (failure != null) {
                    fail(failure);
                  } else if (!failed) {
                    next.run();
                  }
                }));
  }

  private void closeRetired() {
    if (forcesInFlight > 0) {
      return;
    }
    for (DiskFile old : retired) {
      try {
        old.close();
      } catch (IOException e) {
        LOG.warn("close failed file={} error={}", old, e.getMessage());
      }
    }
    retired.clear();
  }

  private void tellDone() {
    while (!groups.isEmpty() && groups.peek().forcesLeft == 0) {
      Group done = groups.remove();
      done.events.forEach(events);
      events.accept(new ReplicaEvent.DiskDone(done.throughId));
    }
  }

  // ---------------------------------------------------------------- overwrites

  /** In three steps: see {@link ChunkFile#overwritten}. */
  private void applySoon() throws IOException {
    if (applying) {
      return; // goes on with the newer ones when it comes back
    }
    applying = true;
    file.forceNames();
    Journal journal = file.journal();
    Applied overwritten = file.overwritten();
    long newest = file.newestOverlay();
    if (dataUnforced) {
      // Whoever waits for its own bytes forces them, too, and is not told before.
      force(file.data(), () -> orFail(() -> name(journal, overwritten, newest)));
    } else {
      name(journal, overwritten, newest);
    }
  }

  private void name(Journal journal, Applied overwritten, long newest) throws IOException {
    if (file.journal() == journal) { // else a compaction has carried them out
      file.name(overwritten);
    }
    force(file.journal().file(), () -> orFail(() -> apply(newest)));
  }

  private void apply(long newest) throws IOException {
    applying = false;
    file.applyOverlays(newest);
    dataUnforced = true;
    if (file.newestOverlay() > newest) {
      applySoon();
    }
  }

  /** Something with the disk. */
  private interface Step {
    void run() throws IOException;
  }

  private void orFail(Step step) {
    try {
      step.run();
    } catch (IOException | RuntimeException e) {
      fail(e);
    }
  }

  // ---------------------------------------------------------------- watermark

  private void noteForced(Extent extent) {
    Journal journal = file.journal();
    if (extent.journal() != journal || failed) {
      return; // compacted meanwhile: the new journal has its own
    }
    journalForced = Math.max(journalForced, extent.journalBytes());
    if (extent.cuts() == cuts) {
      dataForced = Math.max(dataForced, extent.dataSerial());
    }
    watermarkDue =
        journalForced > journal.watermark().journalBytes()
            || dataForced > journal.watermark().dataSerial();
  }

  private void timeWatermark() {
    if (!watermarkDue || watermarkTimed) {
      return;
    }
    watermarkTimed = true;
    var _ = scheduler.after(WATERMARK_DELAY_NANOS, () -> mail(this::watermarkByItself));
  }

  private void watermarkByItself() {
    watermarkTimed = false;
    if (!watermarkDue || failed) {
      return;
    }
    try {
      writeWatermark();
    } catch (IOException e) {
      fail(e);
      return;
    }
    force(file.journal().file(), () -> {});
  }

  private void writeWatermark() throws IOException {
    watermarkDue = false;
    Journal journal = file.journal();
    long bytes = Math.max(journalForced, journal.watermark().journalBytes());
    journal.writeWatermark(Math.min(bytes, journal.end()), dataForced);
  }

  // ---------------------------------------------------------------- failure

  private void fail(Exception cause) {
    if (failed) {
      return;
    }
    failed = true;
    Exception trace = cause instanceof IOException ? null : cause; // a bug wants its stack
    LOG.error(
        "chunk failed chunk={} error={}",
        file.header().spec().handle(),
        String.valueOf(cause.getMessage()),
        trace);
    if (cause instanceof DiskFullException) {
      outOfSpace = true;
    } else {
      try {
        file.markFailed();
      } catch (IOException e) {
        LOG.error(
            "chunk cannot be marked as failed chunk={} error={}",
            file.header().spec().handle(),
            e.getMessage());
      }
    }
    groups.clear();
    events.accept(new ReplicaEvent.DiskFailed(String.valueOf(cause.getMessage())));
  }
}
