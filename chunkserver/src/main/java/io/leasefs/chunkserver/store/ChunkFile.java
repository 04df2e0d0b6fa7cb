package io.leasefs.chunkserver.store;

import io.leasefs.chunkserver.replica.ReplicaImage.Snapshot;
import io.leasefs.chunkserver.store.JournalCodec.Watermark;
import io.leasefs.chunkserver.store.JournalRecord.Applied;
import io.leasefs.chunkserver.store.JournalRecord.Checkpoint;
import io.leasefs.chunkserver.store.JournalRecord.Mutated;
import io.leasefs.chunkserver.store.JournalRecord.Place;
import io.leasefs.chunkserver.store.JournalRecord.Promised;
import io.leasefs.chunkserver.store.JournalRecord.Standing;
import io.leasefs.common.api.Heartbeat.Certainty;
import io.leasefs.common.api.Mutation;
import io.leasefs.common.api.MutationKind;
import io.leasefs.common.edge.Disk;
import io.leasefs.common.edge.DiskFile;
import io.leasefs.common.model.Durability;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.NavigableSet;
import java.util.TreeSet;

/**
 * The two files of one chunk, and what is known of them: the writer's side. All methods belong to
 * the chunk's {@link ActionQueue} (or to recovery before it), but for {@link #content}, which any
 * thread may read. Errors are {@link IOException}; after one the files must not be written any
 * more.
 */
final class ChunkFile {
  /** Above this the journal is compacted when the chunk is idle or sealed. */
  static final long SMALL_JOURNAL = 64 << 10;

  /** Up to here a second copy in the journal is cheaper than a second fsync. */
  static final int SMALL_PAYLOAD = 16 << 10;

  private final Disk disk;
  private final OpenFiles openFiles;
  private final JournalHeader header;
  private final ChunkNames names;
  private final DiskFile data;
  private Journal journal;
  private final ChunkContent content;

  /** Records above the content's serial, in order. */
  private final ArrayDeque<Pending> pending = new ArrayDeque<>();

  /** Serial of the checkpoint; where the record {@code base + 1 + i} is in the journal. */
  private long base;

  private LongList positions = new LongList();

  private long promised;
  private Certainty certainty;
  private boolean learner;
  private long lastSerial;
  private long tailLength;

  /** No byte of the chunk has been at or above this since the checkpoint. */
  private long committedReach;

  /** An in-place byte above a journalled cut would be cut by its redo. */
  private boolean cutSinceCheckpoint;

  /** Blocks that committed overwrites have changed since {@link #overwritten} was last asked. */
  private final TreeSet<Integer> touched = new TreeSet<>();

  /** Those before that, as long as the journal does not name them. */
  private final TreeSet<Integer> toName = new TreeSet<>();

  /** Up to this serial the journal names what overwrites have made of blocks. */
  private long named;

  /** False for a new chunk, and one that was found at a start, until its folder has been forced. */
  private boolean namesDurable = true;

  ChunkFile(
      Disk disk,
      OpenFiles openFiles,
      JournalHeader header,
      DiskFile data,
      Journal journal,
      ChunkContent content,
      Standing standing,
      long promised,
      Snapshot base) {
    this.disk = disk;
    this.openFiles = openFiles;
    this.header = header;
    this.names = new ChunkNames(header.spec().handle());
    this.data = data;
    this.journal = journal;
    this.content = content;
    this.certainty = standing.certainty();
    this.learner = standing.learner();
    this.promised = promised;
    this.base = base.serial();
    this.lastSerial = base.serial();
    this.tailLength = base.lengthBytes();
    this.committedReach = base.lengthBytes();
  }

  JournalHeader header() {
    return header;
  }

  ChunkContent content() {
    return content;
  }

  DiskFile data() {
    return data;
  }

  Journal journal() {
    return journal;
  }

  long lastSerial() {
    return lastSerial;
  }

  Standing standing() {
    return new Standing(certainty, learner);
  }

  long promised() {
    return promised;
  }

  /** True where the journal is worth compacting although the chunk is in use. */
  boolean journalIsLarge() {
    return journal.end() > Math.max(tailLength, 16 * SMALL_JOURNAL);
  }

  // ---------------------------------------------------------------- records

  /**
   * True where payload at this offset may go straight into the data file: no byte has been there
   * since the checkpoint, none is pending, and no truncation either.
   */
  private boolean fitsInPlace(Mutation mutation) {
    return mutation.payloadBytes() > 0
        && (mutation.kind() == MutationKind.APPEND || mutation.kind() == MutationKind.WRITE)
        && mutation.offset() == tailLength
        && mutation.offset() >= reach()
        && !cutSinceCheckpoint;
  }

  /** Small payload that will be fsynced goes into both files: then one fsync is enough. */
  private Place place(Mutation mutation, boolean inPlace) {
    if (!inPlace) {
      return mutation.payloadBytes() > 0 ? Place.JOURNAL : Place.DATA_FILE;
    }
    boolean small = mutation.payloadBytes() <= SMALL_PAYLOAD;
    boolean synced = header.spec().durability() == Durability.SYNCED;
    return small && synced ? Place.BOTH : Place.DATA_FILE;
  }

  private long reach() {
    // tailLength only grows but by TRUNCATE, which switches in-place writes off, and by cut
    return Math.max(committedReach, tailLength);
  }

  /** Collects records and their payloads; data is written before its records. */
  final class Appender {
    private final Journal.Batch batch;
    private final ByteBuffer scratch;
    private final List<ByteBuffer> payloads = new ArrayList<>();
    private long payloadsAt;
    private long payloadsEnd;
    private int encoded;
    private boolean wroteData;

    Appender(ByteBuffer scratch) {
      this.scratch = scratch;
      this.batch = journal.batch(scratch);
    }

    /** True where a payload has been written to the data file and nowhere else. */
    boolean wroteData() {
      return wroteData;
    }

    /** Adds a mutation; its payload must stay as it is until {@link #flush}. */
    void add(Mutation mutation) throws IOException {
      if (mutation.serial() != lastSerial + 1) {
        throw new IllegalStateException(
            "serial " + mutation.serial() + " after " + lastSerial + " in " + names.journal());
      }
      ByteBuffer payload = mutation.payload();
      int[] fragments =
          payload.hasRemaining()
              ? Fragments.of(mutation.offset(), payload, mutation.checksums())
              : Fragments.NONE;
      boolean inPlace = fitsInPlace(mutation);
      Place place = place(mutation, inPlace);
      Mutated entry = new Mutated(mutation, place, content.serial(), fragments);
      int size = JournalCodec.size(entry);
      if (encoded + size > scratch.capacity()) {
        flush();
      }
      encoded += size;
      if (inPlace) {
        addPayload(mutation.offset(), payload);
        wroteData |= place == Place.DATA_FILE;
      }
      long position = batch.add(entry, payload);
      track(mutation, fragments, place, position);
    }

    private void addPayload(long offset, ByteBuffer payload) throws IOException {
      if (!payloads.isEmpty() && payloadsEnd != offset) {
        writePayloads();
      }
      if (payloads.isEmpty()) {
        payloadsAt = offset;
      }
      payloads.add(payload.duplicate());
      payloadsEnd = offset + payload.remaining();
    }

    private void writePayloads() throws IOException {
      if (!payloads.isEmpty()) {
        data.write(payloads.toArray(new ByteBuffer[0]), payloadsAt);
        payloads.clear();
      }
    }

    /** Any other record, in its order. */
    void addOther(JournalRecord entry) throws IOException {
      int size = JournalCodec.size(entry);
      if (encoded + size > scratch.capacity()) {
        flush();
      }
      encoded += size;
      var _ = batch.add(entry, NOTHING);
    }

    /** Writes payloads, then records. */
    void flush() throws IOException {
      writePayloads();
      batch.flush();
      encoded = 0;
    }
  }

  private static final ByteBuffer NOTHING = ByteBuffer.allocate(0);

  /** Takes note of a record, live or replayed. */
  void track(Mutation mutation, int[] fragments, Place place, long position) {
    long payloadAt =
        place == Place.JOURNAL
            ? position + JournalCodec.size(new Mutated(mutation, place, 0, fragments))
            : Pending.IN_PLACE;
    pending.add(Pending.of(mutation, fragments, payloadAt));
    positions.add(position);
    lastSerial = mutation.serial();
    tailLength = mutation.chunkLength();
    if (mutation.kind() == MutationKind.TRUNCATE) {
      cutSinceCheckpoint = true;
    }
  }

  /** Takes note of a replayed record whose effect the content has already. */
  void trackApplied(Mutation mutation, long position) {
    positions.add(position);
    lastSerial = mutation.serial();
    tailLength = mutation.chunkLength();
    committedReach = Math.max(committedReach, mutation.chunkLength());
    if (mutation.kind() == MutationKind.TRUNCATE) {
      cutSinceCheckpoint = true;
    }
  }

  void promise(long version, Appender appender) throws IOException {
    promised = Math.max(promised, version);
    appender.addOther(new Promised(version));
  }

  void stand(Certainty newCertainty, boolean isLearner, Appender appender) throws IOException {
    certainty = newCertainty;
    learner = isLearner;
    appender.addOther(new Standing(newCertainty, isLearner));
  }

  // ---------------------------------------------------------------- commit

  /**
   * Publishes everything up to the serial.
   *
   * @return true where overwrites are committed: they are to be carried out, see {@link
   *     #overwritten}
   */
  boolean commit(long serial) throws IOException {
    boolean overwrites = publishTo(content, serial, touched);
    committedReach = Math.max(committedReach, content.length());
    while (!pending.isEmpty() && pending.peek().serial() <= serial) {
      Pending done = pending.remove();
      committedReach = Math.max(committedReach, done.chunkLength());
    }
    return overwrites;
  }

  /**
   * What committed overwrites have made of their blocks by now. Three steps in this order carry
   * them out: the data file is forced, its name included; this is {@link #name named} in the
   * journal, and the journal forced; the data file is changed. For what is named is not cut any
   * more: a restart redoes the overwrites, and takes all else in these blocks from the data file,
   * where a power cut must not take payload that was written to its place before.
   */
  Applied overwritten() {
    BlockTable table = content.tableCopy();
    toName.addAll(touched);
    touched.clear();
    int[] blocks = toName.headSet(table.blocks()).stream().mapToInt(Integer::intValue).toArray();
    int[] crcs = new int[blocks.length];
    for (int i = 0; i < blocks.length; i++) {
      crcs[i] = table.crc(blocks[i]);
    }
    return new Applied(content.serial(), table.length(), blocks, crcs);
  }

  /** Names in the journal what overwrites have made of blocks, but for what it names already. */
  void name(Applied entry) throws IOException {
    if (entry.serial() > named) {
      var _ = journal.append(entry);
      named = entry.serial();
      toName.clear();
    }
  }

  /** Carries out all committed overwrites, at once. */
  void carryOutOverwrites() throws IOException {
    if (content.hasOverlays()) {
      forceNames();
      data.force();
      name(overwritten());
      journal.file().force();
      content.applyOverlays(content.newestOverlay());
    }
  }

  private boolean publishTo(ChunkContent target, long serial, NavigableSet<Integer> touched)
      throws IOException {
    if (serial > lastSerial) {
      throw new IllegalStateException(
          "commit of " + serial + " above " + lastSerial + " in " + names.journal());
    }
    boolean overwrites = false;
    for (Pending record : pending) {
      if (record.serial() > serial) {
        break;
      }
      target.publish(record, journal.file(), touched);
      overwrites |= record.changesFile();
    }
    return overwrites;
  }

  /** Numbers the newest committed overwrite, in place or not. */
  long newestOverlay() {
    return content.newestOverlay();
  }

  /** Carries overwrites out; what they make of their blocks must be named, durably. */
  void applyOverlays(long throughNumber) throws IOException {
    content.applyOverlays(throughNumber);
  }

  /** CRC32C of the whole content as of a serial, which need not be committed. */
  int checksum(long serial) throws IOException {
    if (serial < content.serial()) {
      throw new IllegalStateException(
          "checksum as of " + serial + " below " + content.serial() + " in " + names.journal());
    }
    ChunkContent then = content.fork();
    var _ = publishTo(then, serial, new TreeSet<>());
    return then.tableCopy().contentChecksum();
  }

  // ---------------------------------------------------------------- cut

  /** Drops all records above the serial; durable when it returns. */
  void cut(long serial, long length) throws IOException {
    if (serial < content.serial()) {
      throw new IllegalStateException(
          "cut to " + serial + " below " + content.serial() + " in " + names.journal());
    }
    var _ = journal.append(new JournalRecord.Cut(serial, length));
    Watermark mark = journal.watermark();
    if (mark.dataSerial() > serial) {
      // Serials above the cut will be given again, to payload that is not durable yet.
      journal.writeWatermark(mark.journalBytes(), serial);
    }
    journal.file().force();
    carryOutOverwrites();
    forget(serial, length);
    long end = expectedFileLength();
    if (data.size() > end) {
      data.truncate(end);
    }
  }

  /** The cut, as far as it is known in memory. */
  private void forget(long serial, long length) {
    while (!pending.isEmpty() && pending.getLast().serial() > serial) {
      pending.removeLast();
    }
    positions.cutTo((int) Math.min(positions.size(), serial - base));
    lastSerial = serial;
    tailLength = length;
    for (Pending record : pending) {
      committedReach = Math.max(committedReach, record.chunkLength());
    }
  }

  /** What the data file holds at most: committed bytes, and pending ones that are in place. */
  long expectedFileLength() {
    long end = content.length();
    for (Pending record : pending) {
      if (record.isInPlace()) {
        end = Math.max(end, record.offset() + record.length());
      }
    }
    return end;
  }

  // ---------------------------------------------------------------- reading back

  /**
   * Records with payload; empty where the journal does not reach back so far, or the bytes have
   * been overwritten since.
   *
   * @throws CorruptBlockException where the bytes are lost or rotten: this copy is damaged
   */
  List<Mutation> readBack(long fromSerial, long maxBytes) throws IOException {
    List<Mutation> records = new ArrayList<>();
    if (fromSerial <= base) {
      return records;
    }
    long bytes = 0;
    for (long serial = fromSerial; serial <= lastSerial && bytes < maxBytes; serial++) {
      Mutated entry = readRecord(serial);
      Mutation mutation = entry.mutation();
      if (mutation.payloadBytes() > 0 && !entry.inside()) {
        ByteBuffer payload = readPlace(mutation);
        if (!Fragments.match(mutation.offset(), payload, entry.fragments())) {
          if (isOverwritten(mutation)) {
            return List.of();
          }
          throw new CorruptBlockException(
              names.data() + ": the payload of record " + serial + " does not match");
        }
        mutation = JournalCodec.withPayload(mutation, payload);
      }
      records.add(mutation);
      bytes += 128 + mutation.payloadBytes();
    }
    return records;
  }

  /** True where a later record has changed bytes of this one's payload, or cut them off. */
  private boolean isOverwritten(Mutation mutation) throws IOException {
    long end = mutation.offset() + mutation.payloadBytes();
    for (long serial = mutation.serial() + 1; serial <= lastSerial; serial++) {
      Mutated entry = readRecord(serial);
      Mutation later = entry.mutation();
      boolean cuts = later.kind() == MutationKind.TRUNCATE && later.chunkLength() < end;
      boolean covers =
          entry.place() == Place.JOURNAL
              && later.offset() < end
              && later.offset() + later.payloadBytes() > mutation.offset();
      if (cuts || covers) {
        return true;
      }
    }
    return false;
  }

  private Mutated readRecord(long serial) throws IOException {
    long position = positions.get((int) (serial - base - 1));
    ByteBuffer prefix = Journal.read(journal.file(), position, JournalCodec.PREFIX);
    int size = JournalCodec.PREFIX + prefix.getInt(0);
    if (size > journal.end() - position || size < JournalCodec.PREFIX) {
      throw new CorruptBlockException(names.journal() + ": record " + serial + " is broken");
    }
    return readMutated(position, size, serial);
  }

  private Mutated readMutated(long position, int size, long serial) throws IOException {
    ByteBuffer bytes = Journal.read(journal.file(), position, size);
    if (JournalCodec.read(bytes, true) instanceof Mutated entry
        && entry.mutation().serial() == serial) {
      return entry;
    }
    throw new CorruptBlockException(names.journal() + ": record " + serial + " is not there");
  }

  private ByteBuffer readPlace(Mutation mutation) throws IOException {
    ByteBuffer payload = ByteBuffer.allocate(mutation.payloadBytes());
    while (payload.hasRemaining()
        && data.read(payload, mutation.offset() + payload.position()) >= 0) {
      // a read may be short
    }
    return payload.flip();
  }

  // ---------------------------------------------------------------- compaction

  /**
   * A new journal that begins with this snapshot; durable when it returns.
   *
   * @param snapshot at the serial that is published
   * @return the old journal, to be closed once nobody forces it any more
   */
  DiskFile compact(Snapshot snapshot, ByteBuffer scratch) throws IOException {
    if (snapshot.serial() != content.serial() || snapshot.lengthBytes() != content.length()) {
      throw new IllegalStateException(
          "compact at "
              + snapshot.serial()
              + ", but "
              + content.serial()
              + " is published in "
              + names.journal());
    }
    journal.file().force();
    carryOutOverwrites();
    data.force();
    String fresh = names.journal() + ChunkNames.NEW;
    disk.delete(fresh);
    DiskFile file = openFiles.open(fresh, names.journal(), true);
    Journal next = Journal.create(file, header);
    Journal.Batch batch = next.batch(scratch);
    var _ = batch.add(new Checkpoint(snapshot, content.tableCopy().toArray()), NOTHING);
    var _ = batch.add(new Promised(promised), NOTHING);
    var _ = batch.add(new Standing(certainty, learner), NOTHING);
    LongList moved = moveAbove(snapshot.serial(), batch);
    batch.flush();
    // The data file was forced just now, so all pending payload in place is durable, too.
    next.writeWatermark(next.end(), lastSerial);
    file.force();
    disk.rename(fresh, names.journal());
    disk.forceFolder(names.folder());
    openFiles.renamed(file);
    Journal before = journal;
    journal = next;
    base = snapshot.serial();
    positions = moved;
    committedReach = snapshot.lengthBytes();
    cutSinceCheckpoint = pending.stream().anyMatch(p -> p.kind() == MutationKind.TRUNCATE);
    touched.clear();
    toName.clear();
    named = base;
    content.journalReplaced();
    return before.file();
  }

  private LongList moveAbove(long serial, Journal.Batch batch) throws IOException {
    LongList moved = new LongList();
    List<Pending> stay = new ArrayList<>(pending);
    pending.clear();
    Iterator<Pending> rest = stay.iterator();
    for (long next = serial + 1; next <= lastSerial; next++) {
      Pending record = rest.next();
      long position = positions.get((int) (next - base - 1));
      ByteBuffer prefix = Journal.read(journal.file(), position, JournalCodec.PREFIX);
      Mutated entry = readMutated(position, JournalCodec.PREFIX + prefix.getInt(0), next);
      long at = batch.add(entry, entry.mutation().payload());
      moved.add(at);
      long payloadAt =
          entry.place() == Place.JOURNAL ? at + JournalCodec.size(entry) : Pending.IN_PLACE;
      pending.add(
          new Pending(
              record.serial(),
              record.kind(),
              record.offset(),
              record.length(),
              record.chunkLength(),
              record.fragments(),
              payloadAt));
    }
    return moved;
  }

  /** The files' names were made just now, or by a process that may not have forced them. */
  void namesNotForced() {
    namesDurable = false;
  }

  /** The whole disk has been forced since. */
  void namesForced() {
    namesDurable = true;
  }

  /** Makes sure that the files' names survive a power cut. */
  void forceNames() throws IOException {
    if (!namesDurable) {
      disk.forceFolder(names.folder());
      namesDurable = true;
    }
  }

  /**
   * Leaves a mark that this copy is not to be trusted, as well as the failing disk lets it.
   *
   * @throws IOException where even that failed
   */
  void markFailed() throws IOException {
    names.markFailed(disk);
  }

  void close() throws IOException {
    data.close();
    journal.file().close();
  }
}
