package io.leasefs.chunkserver.store;

import io.leasefs.chunkserver.replica.ReplicaImage;
import io.leasefs.chunkserver.replica.ReplicaImage.Snapshot;
import io.leasefs.chunkserver.store.JournalCodec.Watermark;
import io.leasefs.chunkserver.store.JournalRecord.Applied;
import io.leasefs.chunkserver.store.JournalRecord.Checkpoint;
import io.leasefs.chunkserver.store.JournalRecord.Cut;
import io.leasefs.chunkserver.store.JournalRecord.Mutated;
import io.leasefs.chunkserver.store.JournalRecord.Place;
import io.leasefs.chunkserver.store.JournalRecord.Promised;
import io.leasefs.chunkserver.store.JournalRecord.Standing;
import io.leasefs.common.api.Heartbeat.Certainty;
import io.leasefs.common.api.Mutation;
import io.leasefs.common.api.MutationKind;
import io.leasefs.common.checksum.Crc32c;
import io.leasefs.common.edge.Disk;
import io.leasefs.common.edge.DiskFile;
import io.leasefs.common.model.ChunkHandle;
import io.leasefs.common.model.Durability;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.NavigableSet;
import java.util.TreeSet;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Opens a chunk after a restart: reads the journal, decides where it ends and whether it is
 * damaged, redoes overwrites, cuts what was never acknowledged, and says how certain the rest is.
 *
 * <p><b>Where it ends.</b> At the first record that is broken, or whose payload is not in its
 * place. Below the watermark that is damage. Above it, after a process kill, it is the first half
 * of what was being written, at the end of the file (anything else is damage again); after a power
 * cut it may have been acknowledged, so the copy is uncertain.
 *
 * <p>One instance per chunk and start; blocks on the disk.
 */
final class Recovery {
  private static final Logger LOG = LoggerFactory.getLogger(Recovery.class);

  /** What a chunk is after a restart. */
  record Recovered(ChunkFile file, ReplicaImage image, boolean damaged) {}

  private record Entry(Mutated record, long position) {
    Mutation mutation() {
      return record.mutation();
    }

    boolean isInPlace() {
      return mutation().payloadBytes() > 0
          && ChunkContent.changes(mutation().kind())
          && record.place() != Place.JOURNAL;
    }

    boolean changesFile() {
      return mutation().kind() == MutationKind.TRUNCATE
          || (record.place() == Place.JOURNAL && ChunkContent.changes(mutation().kind()));
    }

    long end() {
      return mutation().offset() + mutation().payloadBytes();
    }
  }

  private final Disk disk;
  private final OpenFiles openFiles;
  private final ChunkNames names;
  private final boolean powerCut;

  // What the journal says.
  private @Nullable JournalHeader header;
  private Watermark watermark = Watermark.NONE;
  private Snapshot snapshot = ReplicaImage.emptySnapshot();
  private int[] blockCrcs = {};
  private final List<Entry> tail = new ArrayList<>();
  private final List<Applied> applied = new ArrayList<>();
  private long promised = 1;
  private Standing standing = new Standing(Certainty.CERTAIN, false);
  private long committed;
  private long end;
  private boolean brokenTail;
  private boolean lostTail;
  private @Nullable String damage;

  /**
   * @param powerCut true where the kernel was restarted since this disk was last written, and
   *     nobody has said that all was flushed before
   * @param failure why it is not to be trusted, whatever is found; null where nothing is known
   */
  Recovery(
      Disk disk,
      OpenFiles openFiles,
      ChunkHandle handle,
      boolean powerCut,
      @Nullable String failure) {
    this.disk = disk;
    this.openFiles = openFiles;
    this.names = new ChunkNames(handle);
    this.powerCut = powerCut;
    this.damage = failure;
  }

  /**
   * Opens the chunk. A damaged one is opened too: as far as it can be read, never to be written.
   *
   * @throws IOException where not even the header can be read, or the disk fails
   */
  Recovered open() throws IOException {
    DiskFile journalFile = openFiles.lazy(names.journal());
    boolean dataMissing = !disk.exists(names.data());
    if (dataMissing) {
      openFiles.create(names.data()).close();
    }
    DiskFile data = openFiles.lazy(names.data());
    long size = journalFile.size();
    readJournal(journalFile, size);
    if (disk.exists(names.failed())) {
      damage("an earlier write or fsync failed");
    }
    if (damage == null) {
      findLostPayload(data);
    }
    return damage == null ? goOn(data, journalFile) : asDamaged(data, journalFile);
  }

  // ---------------------------------------------------------------- reading

  private void readJournal(DiskFile file, long size) throws IOException {
    if (size < JournalCodec.RECORDS_AT) {
      throw new UnreadableJournalException(names.journal() + ": the journal's header is cut off");
    }
    ByteBuffer head = Journal.read(file, 0, JournalCodec.RECORDS_AT);
    header = JournalCodec.readHeader(head.slice(0, JournalCodec.SECTOR), names.journal());
    if (!header.spec().handle().equals(names.handle())) {
      throw new UnreadableJournalException(
          names.journal() + ": is the journal of chunk " + header.spec().handle());
    }
    try {
      watermark =
          JournalCodec.readWatermarks(head.slice(JournalCodec.SECTOR, 2 * JournalCodec.SECTOR));
    } catch (IOException e) {
      damage(String.valueOf(e.getMessage()));
    }
    end = JournalCodec.RECORDS_AT;
    JournalReader reader = new JournalReader(file, size);
    while (end < size) {
      JournalRecord record;
      int recordSize;
      try {
        recordSize = reader.size(end);
        record = reader.read(end, recordSize);
        accept(record);
      } catch (CorruptBlockException e) {
        brokenTail = true;
        LOG.warn(
            "journal ends in a broken record chunk={} at={} of={} why={}",
            names.handle(),
            end,
            size,
            e.getMessage());
        if (!powerCut && !reader.runsPastTheEnd(end)) {
          damage("a whole record at " + end + " is broken, and no power was cut");
        }
        break;
      }
      end += recordSize;
    }
    if (end < watermark.journalBytes()) {
      damage(
          "the journal is broken at " + end + ", below its watermark " + watermark.journalBytes());
    }
  }

  private void accept(JournalRecord record) throws CorruptBlockException {
    switch (record) {
      case Mutated mutated -> accept(mutated);
      case Promised promise -> promised = Math.max(promised, promise.version());
      case Cut cut -> {
        cutTo(cut.serial());
        // Below what was known to be committed only after a power cut that lost it.
        committed = Math.min(committed, cut.serial());
      }
      case Applied batch -> {
        applied.add(batch);
        committed = Math.max(committed, batch.serial());
      }
      case Standing stands -> standing = stands;
      case Checkpoint checkpoint -> {
        snapshot = checkpoint.snapshot();
        blockCrcs = checkpoint.blockCrcs();
        committed = snapshot.serial();
        promised = Math.max(promised, snapshot.accepted());
      }
    }
  }

  private void accept(Mutated mutated) throws CorruptBlockException {
    if (mutated.mutation().serial() != lastSerial() + 1) {
      throw new CorruptBlockException(
          "serial " + mutated.mutation().serial() + " after " + lastSerial());
    }
    tail.add(new Entry(mutated, end));
    committed = Math.max(committed, mutated.committedSerial());
    if (mutated.mutation().kind() == MutationKind.VERSION_START) {
      promised = Math.max(promised, mutated.mutation().version());
    }
  }

  private long lastSerial() {
    return snapshot.serial() + tail.size();
  }

  private void cutTo(long serial) {
    while (lastSerial() > serial && !tail.isEmpty()) {
      tail.remove(tail.size() - 1);
    }
  }

  private void damage(String why) {
    if (damage == null) {
      damage = why;
      LOG.error("chunk damaged chunk={} why={}", names.handle(), why);
    }
  }

  // ---------------------------------------------------------------- payload in its place

  private long appliedSerial() {
    long serial = snapshot.serial();
    for (Applied batch : applied) {
      serial = Math.max(serial, batch.serial());
    }
    return serial;
  }

  /** Cuts the history at the first record whose payload has not survived a power cut. */
  private void findLostPayload(DiskFile data) throws IOException {
    long size = data.size();
    // All of it was forced before the checkpoint; only a truncation takes any of it away.
    long checkpointed = snapshot.lengthBytes();
    long through = appliedSerial();
    for (Entry entry : tail) {
      if (entry.mutation().kind() == MutationKind.TRUNCATE
          && entry.mutation().serial() <= through) {
        checkpointed = Math.min(checkpointed, entry.mutation().offset());
      }
    }
    if (size < checkpointed) {
      damage("the data file has " + size + " of " + checkpointed + " bytes");
      return;
    }
    for (Entry entry : tail) {
      if (entry.isInPlace() && entry.record().place() != Place.BOTH && isLost(data, size, entry)) {
        lose(entry.mutation().serial());
        return;
      }
    }
  }

  /**
   * True where a part of the payload is missing that no later overwrite has replaced. Only a power
   * cut loses what was written before its record; else nothing is read.
   */
  private boolean isLost(DiskFile data, long size, Entry entry) throws IOException {
    long serial = entry.mutation().serial();
    boolean suspect = powerCut && serial > watermark.dataSerial();
    long offset = entry.mutation().offset();
    int length = entry.mutation().payloadBytes();
    if (!suspect && size >= entry.end()) {
      return false;
    }
    TreeSet<Integer> replaced = new TreeSet<>();
    long reach = Long.MAX_VALUE;
    for (Applied batch : applied) {
      if (batch.serial() > serial) {
        for (int block : batch.blocks()) {
          replaced.add(block);
        }
      }
    }
    for (Entry later : tail) {
      if (later.mutation().kind() == MutationKind.TRUNCATE
          && later.mutation().serial() > serial
          && later.mutation().serial() <= appliedSerial()) {
        reach = Math.min(reach, later.mutation().offset());
      }
    }
    int at = 0;
    for (int fragment : entry.record().fragments()) {
      int part = Fragments.lengthAt(offset, length, at);
      long from = offset + at;
      at += part;
      if (from + part > reach || replaced.contains((int) (from / BlockTable.BLOCK))) {
        continue; // verified with its block, once the overwrites have been redone
      }
      if (from + part > size
          || (suspect && Crc32c.of(Journal.read(data, from, part)) != fragment)) {
        return true;
      }
    }
    return false;
  }

  private void lose(long serial) {
    boolean mayBeLost = powerCut && serial > watermark.dataSerial() && serial > appliedSerial();
    if (!mayBeLost) {
      damage("the payload of record " + serial + " is lost");
      return;
    }
    if (serial <= committed && requireHeader().spec().durability() == Durability.SYNCED) {
      damage("the payload of record " + serial + " was fsynced and is lost");
      return;
    }
    LOG.warn(
        "power cut lost records chunk={} from={} to={} committed={}",
        names.handle(),
        serial,
        lastSerial(),
        committed);
    cutTo(serial - 1);
    committed = Math.min(committed, serial - 1);
    lostTail = true;
  }

  private JournalHeader requireHeader() {
    if (header == null) {
      throw new IllegalStateException("no header of " + names.journal());
    }
    return header;
  }

  // ---------------------------------------------------------------- going on

  private Recovered goOn(DiskFile data, DiskFile journalFile) throws IOException {
    if (brokenTail) {
      journalFile.truncate(end);
    }
    Journal journal = new Journal(journalFile, end, watermark);
    Standing stands = decideStanding();
    boolean changed = brokenTail;
    if (lostTail) {
      var _ = journal.append(new Cut(lastSerial(), tailLength()));
      changed = true;
    }
    if (!stands.equals(standing)) {
      var _ = journal.append(stands);
      changed = true;
    }
    boolean cutOff = isCutOff(data);
    redo(data, journal.file(), cutOff);
    changed |= cutOff;
    ChunkContent content = contentAtApplied(data);
    if (damage != null) {
      return asDamaged(data, journalFile);
    }
    ChunkFile file = file(data, journal, content, stands);
    for (Entry entry : tail) {
      if (entry.mutation().serial() <= content.serial()) {
        file.trackApplied(entry.mutation(), entry.position());
      } else {
        file.track(
            entry.mutation(), entry.record().fragments(), entry.record().place(), entry.position());
      }
    }
    long expected = file.expectedFileLength();
    if (data.size() > expected) {
      data.truncate(expected);
      changed = true;
    }
    try {
      if (file.commit(Math.max(committed, content.serial()))) {
        file.carryOutOverwrites();
      }
    } catch (CorruptBlockException e) {
      damage(String.valueOf(e.getMessage()));
      return asDamaged(data, journalFile);
    }
    // What a killed process had not forced is only in the kernel: from now on it counts as stored,
    // promises above all, and the next power cut must not take it.
    boolean unforced = journal.end() > journal.watermark().journalBytes();
    if (changed || unforced) {
      data.force();
      journal.file().force();
      file.forceNames();
    }
    return new Recovered(file, image(stands), false);
  }

  /** Section 6, "Certain". */
  private Standing decideStanding() {
    boolean replicated = requireHeader().spec().durability() == Durability.REPLICATED;
    boolean uncertain = powerCut && (brokenTail || lostTail || (replicated && !endsSealed()));
    Certainty before = standing.certainty();
    return new Standing(
        uncertain && before == Certainty.CERTAIN ? Certainty.UNCERTAIN : before,
        standing.learner());
  }

  private boolean endsSealed() {
    boolean sealed = snapshot.seal().isPresent();
    for (Entry entry : tail) {
      if (entry.mutation().seals()) {
        sealed = true;
      } else if (entry.mutation().reopens()) {
        sealed = false;
      }
    }
    return sealed;
  }

  private long tailLength() {
    return tail.isEmpty()
        ? snapshot.lengthBytes()
        : tail.get(tail.size() - 1).mutation().chunkLength();
  }

  /**
   * Whether the data file has not all that was written to both files: it has been lost, or a part
   * of it, and not by us, for payload is written before its record.
   */
  private boolean isCutOff(DiskFile data) throws IOException {
    long size = data.size();
    for (Entry entry : tail) {
      if (entry.isInPlace() && entry.record().place() == Place.BOTH && entry.end() > size) {
        return true;
      }
    }
    return false;
  }

  /**
   * Overwrites that may have been under way are carried out again, in order; after a power cut so
   * is payload that was written to both files, for only the journal's bytes were fsynced, and where
   * the data file is cut off.
   */
  private void redo(DiskFile data, DiskFile journal, boolean cutOff) throws IOException {
    boolean twins = powerCut || cutOff;
    long through = appliedSerial();
    for (Entry entry : tail) {
      boolean overwrite = entry.changesFile() && entry.mutation().serial() <= through;
      boolean twin = twins && entry.isInPlace() && entry.record().place() == Place.BOTH;
      if (overwrite && entry.mutation().kind() == MutationKind.TRUNCATE) {
        if (data.size() > entry.mutation().offset()) {
          data.truncate(entry.mutation().offset());
        }
      } else if (overwrite || twin) {
        long at = entry.position() + JournalCodec.size(entry.record());
        data.write(
            Journal.read(journal, at, entry.mutation().payloadBytes()), entry.mutation().offset());
      }
    }
  }

  /** Lengths and checksums up to the last record that says what overwrites have made of them. */
  private ChunkContent contentAtApplied(DiskFile data) throws IOException {
    BlockTable table = new BlockTable(snapshot.lengthBytes(), blockCrcs);
    TreeSet<Integer> overwritten = new TreeSet<>();
    int next = 0;
    long serial = snapshot.serial();
    for (Applied batch : applied) {
      for (; next < tail.size() && tail.get(next).mutation().serial() <= batch.serial(); next++) {
        Entry entry = tail.get(next);
        if (entry.isInPlace()) {
          table.append(entry.mutation().payloadBytes(), entry.record().fragments());
        } else {
          table.resize(entry.mutation().chunkLength());
        }
      }
      if (table.length() != batch.lengthBytes()) {
        damage("the length at serial " + batch.serial() + " is " + table.length());
        break;
      }
      for (int i = 0; i < batch.blocks().length; i++) {
        table.set(batch.blocks()[i], batch.crcs()[i]);
        overwritten.add(batch.blocks()[i]);
      }
      serial = batch.serial();
    }
    verify(data, table, overwritten);
    return new ChunkContent(data, table, serial);
  }

  private void verify(DiskFile data, BlockTable table, NavigableSet<Integer> blocks)
      throws IOException {
    for (int block : blocks.headSet(table.blocks())) {
      ByteBuffer bytes = ByteBuffer.allocate(table.lengthOf(block));
      long start = (long) block * BlockTable.BLOCK;
      while (bytes.hasRemaining() && data.read(bytes, start + bytes.position()) >= 0) {
        // a read may be short
      }
      if (bytes.hasRemaining() || Crc32c.of(bytes.flip()) != table.crc(block)) {
        damage("block " + block + " does not match after its overwrite was redone");
      }
    }
  }

  private ChunkFile file(DiskFile data, Journal journal, ChunkContent content, Standing stands) {
    ChunkFile file =
        new ChunkFile(
            disk, openFiles, requireHeader(), data, journal, content, stands, promised, snapshot);
    file.namesNotForced();
    return file;
  }

  private ReplicaImage image(Standing stands) {
    List<Mutation> mutations = new ArrayList<>(tail.size());
    for (Entry entry : tail) {
      mutations.add(entry.mutation());
    }
    return new ReplicaImage(
        requireHeader().spec(),
        requireHeader().self(),
        promised,
        stands.learner(),
        stands.certainty(),
        snapshot,
        Math.min(Math.max(committed, snapshot.serial()), lastSerial()),
        mutations);
  }

  /** As far as it can be read; its files stay as they were found. */
  private Recovered asDamaged(DiskFile data, DiskFile journalFile) {
    Standing damaged = new Standing(Certainty.DAMAGED, standing.learner());
    ChunkContent content =
        new ChunkContent(
            data, new BlockTable(snapshot.lengthBytes(), blockCrcs), snapshot.serial());
    ChunkFile file = file(data, new Journal(journalFile, end, watermark), content, damaged);
    return new Recovered(file, image(damaged), true);
  }
}
