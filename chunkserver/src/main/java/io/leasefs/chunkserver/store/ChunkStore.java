package io.leasefs.chunkserver.store;

import io.leasefs.chunkserver.replica.ReplicaImage;
import io.leasefs.chunkserver.replica.ReplicaImage.Snapshot;
import io.leasefs.chunkserver.store.ActionQueue.Extent;
import io.leasefs.chunkserver.store.JournalRecord.Checkpoint;
import io.leasefs.chunkserver.store.JournalRecord.Promised;
import io.leasefs.chunkserver.store.JournalRecord.Standing;
import io.leasefs.common.api.Heartbeat.Certainty;
import io.leasefs.common.api.Heartbeat.DiskReport;
import io.leasefs.common.edge.Clock;
import io.leasefs.common.edge.Disk;
import io.leasefs.common.edge.DiskFile;
import io.leasefs.common.edge.DiskFullException;
import io.leasefs.common.edge.RandomSource;
import io.leasefs.common.edge.Scheduler;
import io.leasefs.common.error.ErrorCode;
import io.leasefs.common.error.LeaseFsException;
import io.leasefs.common.model.ChunkHandle;
import io.leasefs.common.model.ChunkSpec;
import io.leasefs.common.model.DiskId;
import io.leasefs.common.model.Member;
import io.leasefs.common.model.ReplicaId;
import io.leasefs.common.model.ServerId;
import io.leasefs.server.disk.ForceQueue;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Collections;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.concurrent.Executor;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * All chunks of one disk: finds them at start-up and says how far each can be trusted, makes,
 * installs and deletes them, and flushes the disk in the background.
 *
 * <p><b>Start</b>: every journal is read; each open chunk of a {@code replicated} file is marked as
 * uncertain where the kernel was restarted without a clean stop. Only when all marks are durable is
 * the new incarnation written, so a crash in between finds the old boot id again.
 *
 * <p>Any thread; calls block on the disk. The server and the simulator use the same class.
 */
public final class ChunkStore {
  private static final Logger LOG = LoggerFactory.getLogger(ChunkStore.class);

  /** Below this much free space a disk reports that it is full. */
  static final long RESERVE_BYTES = 64 << 20;

  private static final long FLUSH_EVERY_NANOS = 4_000_000_000L;
  private static final long IDLE_NANOS = 10_000_000_000L;

  /**
   * What a store works with.
   *
   * @param executor runs the queues and forces; blocking is allowed there
   * @param scan runs all of the tasks and returns when they are done; in parallel where it can
   * @param bootId the kernel's: another one after a power cut
   * @param openFiles most file handles kept open
   * @param parallelForces most files forced at once
   */
  public record Surroundings(
      Disk disk,
      ServerId server,
      Executor executor,
      Consumer<List<Runnable>> scan,
      Scheduler scheduler,
      Clock clock,
      RandomSource random,
      String bootId,
      int openFiles,
      int parallelForces) {}

  /** A chunk whose journal's header cannot be read: nothing is known of it but its name. */
  public record Unreadable(ChunkHandle handle, String why) {}

  private final Surroundings with;
  private final Disk disk;
  private final OpenFiles openFiles;
  private final ForceQueue forces;
  private final ScratchPool scratchPool = new ScratchPool(64);
  private final boolean powerCut;

  /** Why the disk is given up. */
  private volatile @Nullable String failed;

  // Guarded by this.
  private DiskState state;
  private final TreeMap<ChunkHandle, StoredChunk> chunks = new TreeMap<>();
  private final TreeMap<ChunkHandle, String> unreadable = new TreeMap<>();
  private final TreeSet<ChunkHandle> installing = new TreeSet<>();
  private final TreeSet<ChunkHandle> deleted = new TreeSet<>();
  private final TreeSet<String> foldersToForce = new TreeSet<>();
  private long flushedAt;
  private boolean flushing;

  private ChunkStore(Surroundings with, DiskState state, boolean powerCut) {
    this.with = with;
    this.disk = with.disk();
    this.openFiles = new OpenFiles(with.disk(), with.openFiles());
    this.forces = new ForceQueue(with.executor(), with.clock(), with.parallelForces());
    this.state = state;
    this.powerCut = powerCut;
    this.flushedAt = with.clock().nanos();
  }

  /**
   * Formats a fresh disk, or finds what is on it; the incarnation is raised and durable when this
   * returns, and a clean-stop mark is gone.
   *
   * @throws LeaseFsException INVALID_ARGUMENT where the disk or a journal is of a newer format,
   *     CORRUPT where the disk's own file is damaged or gone
   * @throws IOException where the disk fails
   */
  public static ChunkStore open(Surroundings with) throws IOException {
    Optional<DiskState> found = DiskState.read(with.disk());
    if (found.isEmpty() && hasChunks(with.disk())) {
      throw new LeaseFsException(
          ErrorCode.CORRUPT, "there are chunks, but no file '" + DiskState.NAME + "'");
    }
    DiskState before =
        found.orElseGet(() -> new DiskState(drawId(with.random()), 0, with.bootId(), true));
    boolean powerCut = !before.boot().equals(with.bootId()) && !before.clean();
    ChunkStore store = new ChunkStore(with, before, powerCut);
    store.prepareFolders();
    store.scan();
    store.write(new DiskState(before.id(), before.incarnation() + 1, with.bootId(), false));
    LOG.info(
        "disk opened disk={} incarnation={} chunks={} unreadable={} powerCut={}",
        store.diskId(),
        store.incarnation(),
        store.chunks.size(),
        store.unreadable.size(),
        powerCut);
    return store;
  }

  /** Folders alone are what a first start has left that was cut off. */
  private static boolean hasChunks(Disk disk) throws IOException {
    for (String folder : disk.list(ChunkNames.ROOT)) {
      if (!disk.list(ChunkNames.ROOT + "/" + folder).isEmpty()) {
        return true;
      }
    }
    return false;
  }

  private static DiskId drawId(RandomSource random) {
    return new DiskId(
        String.format(Locale.ROOT, "%016x%016x", random.nextLong(), random.nextLong()));
  }

  private synchronized void write(DiskState next) throws IOException {
    next.write(disk);
    state = next;
  }

  private void prepareFolders() throws IOException {
    if (disk.exists(ChunkNames.folder(255))) {
      return;
    }
    for (int fan = 0; fan < 256; fan++) {
      disk.createFolder(ChunkNames.folder(fan));
    }
    disk.forceFolder(ChunkNames.ROOT);
    disk.forceFolder("");
  }

  // ---------------------------------------------------------------- start-up

  private void scan() throws IOException {
    List<Exception> failures = Collections.synchronizedList(new ArrayList<>());
    List<Runnable> tasks = new ArrayList<>();
    for (int fan = 0; fan < 256; fan++) {
      String folder = ChunkNames.folder(fan);
      tasks.add(
          () -> {
            try {
              scan(folder);
            } catch (IOException | RuntimeException e) {
              failures.add(e);
            }
          });
    }
    with.scan().accept(tasks);
    for (Exception failure : failures) {
      if (failure instanceof IOException e) {
        throw e;
      }
      if (failure instanceof RuntimeException e) {
        throw e;
      }
    }
  }

  private void scan(String folder) throws IOException {
    TreeSet<String> names = new TreeSet<>(disk.list(folder));
    for (String name : names) {
      boolean half =
          name.endsWith(ChunkNames.DATA)
              && !names.contains(name.replace(ChunkNames.DATA, ChunkNames.JOURNAL));
      if (half || name.endsWith(ChunkNames.NEW)) {
        disk.delete(folder + "/" + name);
        continue;
      }
      if (name.endsWith(ChunkNames.FAILED)
          && !names.contains(name.replace(ChunkNames.FAILED, ChunkNames.JOURNAL))) {
        // What it speaks of is gone, in a power cut or a deletion; it must not condemn the next
        // copy.
        disk.delete(folder + "/" + name);
        disk.forceFolder(folder);
        continue;
      }
      Optional<ChunkHandle> handle = ChunkNames.ofJournal(name);
      if (handle.isPresent()) {
        recover(handle.get());
      }
    }
  }

  private void recover(ChunkHandle handle) throws IOException {
    Recovery.Recovered recovered;
    try {
      recovered = recoverOrDistrust(handle);
    } catch (UnreadableJournalException e) {
      if (neverWasBorn(handle)) {
        LOG.warn("birth was cut off, so the chunk is not here chunk={}", handle);
        deleteFiles(new ChunkNames(handle));
        return;
      }
      LOG.error("journal cannot be read chunk={} error={}", handle, e.getMessage());
      synchronized (this) {
        unreadable.put(handle, String.valueOf(e.getMessage()));
      }
      return;
    }
    StoredChunk chunk = stored(recovered.image(), recovered.file(), recovered.damaged());
    synchronized (this) {
      chunks.put(handle, chunk);
    }
  }

  /**
   * Where a read, write or force of the chunk fails, its copy is damaged, and the mark stays: the
   * next start might find the force to succeed, for the kernel forgets what it could not write.
   *
   * @throws DiskFullException where there is no room to go on: nothing is lost by that
   * @throws IOException where not even the mark can be left
   */
  private Recovery.Recovered recoverOrDistrust(ChunkHandle handle) throws IOException {
    try {
      return new Recovery(disk, openFiles, handle, powerCut, null).open();
    } catch (UnreadableJournalException | DiskFullException e) {
      throw e;
    } catch (IOException e) {
      LOG.error("chunk cannot be opened chunk={} error={}", handle, e.getMessage());
      new ChunkNames(handle).markFailed(disk);
      try {
        return new Recovery(disk, openFiles, handle, powerCut, String.valueOf(e.getMessage()))
            .open();
      } catch (IOException again) {
        throw new UnreadableJournalException(String.valueOf(again.getMessage()));
      }
    }
  }

  /**
   * True where the journal ends inside its header, or after a power cut has nothing but zeros
   * there, and nothing else can be the reason than that the birth was cut off: by the end of the
   * process, before the first byte of data; or by a power cut, before the journal's first force, so
   * that nothing was promised or acknowledged as forced. Such a copy knows no more of the chunk
   * than one that never heard of it (protocol, section 8), and counts as such. A header that was
   * forced once and has rotted is not blank.
   */
  private boolean neverWasBorn(ChunkHandle handle) throws IOException {
    ChunkNames names = new ChunkNames(handle);
    try (DiskFile journal = openFiles.lazy(names.journal());
        DiskFile data = openFiles.lazy(names.data())) {
      boolean cutOff =
          journal.size() < JournalCodec.RECORDS_AT
              && (powerCut || !disk.exists(names.data()) || data.size() == 0);
      return (cutOff || (powerCut && isBlank(journal))) && !disk.exists(names.failed());
    }
  }

  private static boolean isBlank(DiskFile journal) throws IOException {
    ByteBuffer header = ByteBuffer.allocate(JournalCodec.SECTOR);
    while (header.hasRemaining() && journal.read(header, header.position()) >= 0) {
      // a read may be short
    }
    header.flip();
    while (header.hasRemaining()) {
      if (header.get() != 0) {
        return false;
      }
    }
    return true;
  }

  private StoredChunk stored(ReplicaImage image, ChunkFile file, boolean damaged) {
    ActionQueue queue =
        new ActionQueue(
            file, with.executor(), forces, with.scheduler(), with.clock(), scratchPool, damaged);
    return new StoredChunk(image, file, queue);
  }

  // ---------------------------------------------------------------- the disk

  public synchronized DiskId diskId() {
    return state.id();
  }

  public synchronized long incarnation() {
    return state.incarnation();
  }

  /** So much more, durable when it returns: before each new registration. */
  public synchronized long raiseIncarnation(long by) throws IOException {
    if (by < 1) {
      throw new IllegalArgumentException("by: " + by);
    }
    write(new DiskState(state.id(), state.incarnation() + by, state.boot(), false));
    return state.incarnation();
  }

  /**
   * At a graceful stop, when no queue has anything to do: flushes all, then says so on the disk.
   */
  public void stopClean() throws IOException {
    disk.forceAll();
    for (StoredChunk chunk : chunks()) {
      if (chunk.queue().isFailed()) {
        continue;
      }
      chunk.file().close();
    }
    synchronized (this) {
      write(new DiskState(state.id(), state.incarnation(), state.boot(), true));
    }
  }

  /**
   * For the heartbeat.
   *
   * @param stallNanos above this wait the disk counts as stalled (W)
   */
  public DiskReport report(long stallNanos) throws IOException {
    if (failure().isPresent()) {
      return new DiskReport(diskId(), 0, 0, true, true);
    }
    long free = disk.freeBytes();
    return new DiskReport(
        diskId(), free, disk.totalBytes(), free < RESERVE_BYTES, stalledNanos() > stallNanos);
  }

  /**
   * Why nothing can be stored on this disk any more; empty where it works. Looks whether its
   * folders are still there. Once it has failed it stays so: what was on it may be gone.
   */
  public Optional<String> failure() {
    if (failed == null) {
      try {
        // the one that was made last, and goes with its parent
        if (!disk.exists(ChunkNames.folder(255))) {
          failed = "the folders in '" + ChunkNames.ROOT + "' are gone";
        }
      } catch (IOException e) {
        failed = String.valueOf(e.getMessage());
      }
    }
    return Optional.ofNullable(failed);
  }

  /** A file could not be made: for want of room, of file handles, or because the disk is broken. */
  private void judge(IOException cause, ChunkHandle handle) {
    String text = String.valueOf(cause.getMessage());
    boolean broken =
        text.contains("Input/output error")
            || text.contains("Read-only file system")
            || !hasFolder(handle);
    if (broken && failed == null) {
      failed = text;
    }
  }

  private boolean hasFolder(ChunkHandle handle) {
    try {
      return disk.exists(new ChunkNames(handle).folder());
    } catch (IOException e) {
      return false;
    }
  }

  private void throwIfFailed() throws IOException {
    String why = failed;
    if (why != null) {
      throw new IOException("disk " + diskId() + " has failed: " + why);
    }
  }

  /** How long the oldest force or action has been waiting, nanoseconds. */
  public long stalledNanos() {
    long longest = forces.stalledNanos();
    for (StoredChunk chunk : chunks()) {
      longest = Math.max(longest, chunk.queue().stalledNanos());
    }
    return longest;
  }

  // ---------------------------------------------------------------- chunks

  /** All chunks, by handle. */
  public synchronized List<StoredChunk> chunks() {
    return List.copyOf(chunks.values());
  }

  /** Chunks whose handle is at least this, by handle. */
  synchronized List<StoredChunk> chunksFrom(long handle) {
    return List.copyOf(chunks.tailMap(new ChunkHandle(handle), true).values());
  }

  public synchronized Optional<StoredChunk> chunk(ChunkHandle handle) {
    return Optional.ofNullable(chunks.get(handle));
  }

  /** Chunks that are there but tell nothing, not even which copy they are. */
  public synchronized List<Unreadable> unreadable() {
    List<Unreadable> all = new ArrayList<>();
    unreadable.forEach((handle, why) -> all.add(new Unreadable(handle, why)));
    return all;
  }

  /** True where this incarnation has deleted the chunk: a first frame must not make it again. */
  public synchronized boolean hasDeleted(ChunkHandle handle) {
    return deleted.contains(handle);
  }

  /**
   * A new, empty chunk at version 1. Its names are durable with the first forced action or flush.
   *
   * @throws LeaseFsException ALREADY_EXISTS where there is one, also one that cannot be read
   */
  public StoredChunk create(ChunkSpec spec, ReplicaId replica, Certainty certainty)
      throws IOException {
    throwIfFailed();
    ChunkHandle handle = spec.handle();
    reserve(handle);
    ChunkNames names = new ChunkNames(handle);
    try {
      Member self = new Member(with.server(), diskId(), replica);
      ReplicaImage image = ReplicaImage.newborn(spec, self, certainty);
      DiskFile data = openFiles.create(names.data());
      Journal journal =
          Journal.create(openFiles.create(names.journal()), new JournalHeader(spec, self));
      Standing standing = new Standing(certainty, false);
      if (certainty != Certainty.CERTAIN) {
        var _ = journal.append(standing);
      }
      ChunkContent content = new ChunkContent(data, new BlockTable(), 0);
      ChunkFile file =
          new ChunkFile(
              disk,
              openFiles,
              new JournalHeader(spec, self),
              data,
              journal,
              content,
              standing,
              1,
              image.snapshot());
      file.namesNotForced();
      return enter(stored(image, file, false));
    } catch (IOException e) {
      judge(e, handle);
      dropInstall(handle);
      throw e;
    } catch (RuntimeException e) {
      dropInstall(handle);
      throw e;
    }
  }

  private synchronized void reserve(ChunkHandle handle) {
    if (chunks.containsKey(handle) || unreadable.containsKey(handle) || !installing.add(handle)) {
      throw new LeaseFsException(
          ErrorCode.ALREADY_EXISTS, "chunk " + handle + " is on disk " + diskId() + " already");
    }
  }

  private synchronized StoredChunk enter(StoredChunk chunk) {
    installing.remove(chunk.handle());
    deleted.remove(chunk.handle());
    chunks.put(chunk.handle(), chunk);
    return chunk;
  }

  /**
   * Removes a chunk, or what cannot be read of one. The caller has stopped its core; what is in its
   * queue is dropped. Durable with the next flush: a power cut may bring it back.
   */
  public void delete(ChunkHandle handle) throws IOException {
    StoredChunk chunk;
    synchronized (this) {
      chunk = chunks.remove(handle);
      unreadable.remove(handle);
      deleted.add(handle);
    }
    if (chunk != null) {
      chunk.queue().stop();
      chunk.file().close();
    }
    deleteFiles(new ChunkNames(handle));
  }

  private void deleteFiles(ChunkNames names) throws IOException {
    // The journal first: data without one is thrown away at the next start.
    disk.delete(names.journal());
    disk.delete(names.data());
    disk.delete(names.failed());
    synchronized (this) {
      foldersToForce.add(names.folder());
    }
  }

  /** Chunks whose queue failed for want of room, by handle. */
  public List<StoredChunk> outOfSpace() {
    return chunks().stream().filter(chunk -> chunk.queue().isOutOfSpace()).toList();
  }

  /**
   * Goes on from what the disk has of a chunk that was {@link #outOfSpace}; its core may be stopped
   * once this has returned. Where the disk fails over it the copy is opened as a damaged one.
   *
   * @throws DiskFullException where there is no room still: it stays as it is, and may be tried
   *     again
   * @throws UnreadableJournalException where nothing can be read of it any more: it counts as
   *     {@link #unreadable} from now on
   */
  public StoredChunk reopen(StoredChunk old) throws IOException {
    ChunkHandle handle = old.handle();
    Recovery.Recovered recovered;
    try {
      recovered = recovery(handle, null);
    } catch (DiskFullException e) {
      throw e;
    } catch (IOException e) {
      recovered = reopenAsFailed(old, e);
    }
    leave(old);
    StoredChunk chunk = stored(recovered.image(), recovered.file(), recovered.damaged());
    synchronized (this) {
      chunks.put(handle, chunk);
    }
    return chunk;
  }

  private Recovery.Recovered recovery(ChunkHandle handle, @Nullable String failure)
      throws IOException {
    return new Recovery(disk, openFiles, handle, false, failure).open();
  }

  /** What a write or force has failed on is never trusted again, by no later start either. */
  private Recovery.Recovered reopenAsFailed(StoredChunk old, IOException why) throws IOException {
    ChunkHandle handle = old.handle();
    LOG.error("chunk cannot be reopened chunk={} error={}", handle, why.getMessage());
    try {
      old.file().markFailed();
    } catch (IOException e) {
      LOG.error("chunk cannot be marked as failed chunk={} error={}", handle, e.getMessage());
    }
    try {
      return recovery(handle, String.valueOf(why.getMessage()));
    } catch (IOException e) {
      leave(old);
      synchronized (this) {
        chunks.remove(handle);
        unreadable.put(handle, String.valueOf(e.getMessage()));
      }
      throw new UnreadableJournalException(String.valueOf(e.getMessage()));
    }
  }

  private static void leave(StoredChunk old) {
    old.queue().stop();
    try {
      old.file().close();
    } catch (IOException e) {
      LOG.warn("close failed chunk={} error={}", old.handle(), e.getMessage());
    }
  }

  // ---------------------------------------------------------------- copies

  /**
   * Begins a copy.
   *
   * @throws LeaseFsException ALREADY_EXISTS where the chunk is here; delete it first
   */
  public ChunkInstall install(ChunkSpec spec, ReplicaId replica) throws IOException {
    throwIfFailed();
    reserve(spec.handle());
    try {
      ChunkNames names = new ChunkNames(spec.handle());
      disk.delete(names.data());
      DiskFile data = openFiles.create(names.data());
      Member self = new Member(with.server(), diskId(), replica);
      return new ChunkInstall(this, new JournalHeader(spec, self), data);
    } catch (IOException e) {
      judge(e, spec.handle());
      dropInstall(spec.handle());
      throw e;
    } catch (RuntimeException e) {
      dropInstall(spec.handle());
      throw e;
    }
  }

  StoredChunk installed(
      JournalHeader header, long promised, Snapshot snapshot, BlockTable table, boolean learner)
      throws IOException {
    ChunkHandle handle = header.spec().handle();
    ChunkNames names = new ChunkNames(handle);
    String fresh = names.journal() + ChunkNames.NEW;
    disk.delete(fresh);
    DiskFile file = openFiles.open(fresh, names.journal(), true);
    Journal journal = Journal.create(file, header);
    var _ = journal.append(new Checkpoint(snapshot, table.toArray()));
    var _ = journal.append(new Promised(promised));
    var _ = journal.append(new Standing(Certainty.CERTAIN, learner));
    journal.writeWatermark(journal.end(), snapshot.serial());
    file.force();
    disk.rename(fresh, names.journal());
    disk.forceFolder(names.folder());
    openFiles.renamed(file);
    ReplicaImage image =
        new ReplicaImage(
            header.spec(),
            header.self(),
            Math.max(promised, snapshot.accepted()),
            learner,
            Certainty.CERTAIN,
            snapshot,
            snapshot.serial(),
            List.of());
    ChunkContent content = new ChunkContent(openFiles.lazy(names.data()), table, snapshot.serial());
    ChunkFile chunk =
        new ChunkFile(
            disk,
            openFiles,
            header,
            openFiles.lazy(names.data()),
            journal,
            content,
            new Standing(Certainty.CERTAIN, learner),
            image.promised(),
            snapshot);
    return enter(stored(image, chunk, false));
  }

  void dropInstall(ChunkHandle handle) throws IOException {
    try {
      ChunkNames names = new ChunkNames(handle);
      deleteFiles(names);
      disk.delete(names.journal() + ChunkNames.NEW);
    } finally {
      synchronized (this) {
        installing.remove(handle);
      }
    }
  }

  // ---------------------------------------------------------------- background

  /**
   * To be called about every second: flushes the disk where something was written since the last
   * flush (so births and seals are durable within 5 s), and has idle chunks' journals compacted.
   */
  public void maintain() {
    for (StoredChunk chunk : chunks()) {
      chunk.queue().maintain(IDLE_NANOS);
    }
    synchronized (this) {
      long now = with.clock().nanos();
      if (flushing || now - flushedAt < FLUSH_EVERY_NANOS) {
        return;
      }
      flushedAt = now;
      flushing = true;
    }
    flush();
  }

  private void flush() {
    List<StoredChunk> dirty = new ArrayList<>();
    for (StoredChunk chunk : chunks()) {
      if (chunk.queue().isDirty()) {
        dirty.add(chunk);
      }
    }
    boolean deletions;
    synchronized (this) {
      deletions = !foldersToForce.isEmpty();
      foldersToForce.clear();
      flushing = !dirty.isEmpty() || deletions;
    }
    if (dirty.isEmpty()) {
      if (deletions) {
        with.executor().execute(() -> forceAll(new Flush(List.of())));
      }
      return;
    }
    Flush flush = new Flush(dirty);
    for (StoredChunk chunk : dirty) {
      chunk
          .queue()
          .beginFlush(
              extent -> {
                if (flush.add(chunk, extent)) {
                  with.executor().execute(() -> forceAll(flush));
                }
              });
    }
  }

  private void forceAll(Flush flush) {
    IOException failure = null;
    try {
      disk.forceAll();
    } catch (IOException e) {
      failure = e;
      LOG.error("flush failed disk={} error={}", diskId(), e.getMessage());
    }
    synchronized (this) {
      flushing = false;
    }
    flush.end(failure);
  }

  /** One flush: how far each chunk was before it. */
  private static final class Flush {
    private final IdentityHashMap<StoredChunk, Extent> extents = new IdentityHashMap<>();
    private final List<StoredChunk> dirty;

    Flush(List<StoredChunk> dirty) {
      this.dirty = dirty;
    }

    /** True with the last one. */
    synchronized boolean add(StoredChunk chunk, Extent extent) {
      extents.put(chunk, extent);
      return extents.size() == dirty.size();
    }

    synchronized void end(@Nullable IOException failure) {
      for (StoredChunk chunk : dirty) {
        Extent extent = extents.get(chunk);
        if (extent != null) {
          chunk.queue().endFlush(extent, failure);
        }
      }
    }
  }
}
