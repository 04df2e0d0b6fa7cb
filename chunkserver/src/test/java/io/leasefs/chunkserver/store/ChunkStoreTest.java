package io.leasefs.chunkserver.store;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.leasefs.chunkserver.replica.ReplicaAction.Append;
import io.leasefs.chunkserver.replica.ReplicaAction.Commit;
import io.leasefs.chunkserver.replica.ReplicaAction.DiskAction;
import io.leasefs.chunkserver.replica.ReplicaEvent;
import io.leasefs.common.api.ChunkApi.ReadPart;
import io.leasefs.common.api.Heartbeat.Certainty;
import io.leasefs.common.api.MutationKind;
import io.leasefs.common.checksum.Checksums;
import io.leasefs.common.checksum.Crc32c;
import io.leasefs.common.edge.DiskFile;
import io.leasefs.common.error.ErrorCode;
import io.leasefs.common.error.LeaseFsException;
import io.leasefs.common.model.ChunkHandle;
import io.leasefs.common.model.ChunkSpec;
import io.leasefs.common.model.DiskId;
import io.leasefs.common.model.Durability;
import io.leasefs.common.model.FileId;
import io.leasefs.common.model.ReplicaId;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

class ChunkStoreTest {
  private final StoreFixture fixture = new StoreFixture(5);
  private final Random random = new Random(5);

  private static ChunkSpec spec(long handle, Durability durability) {
    return new ChunkSpec(new ChunkHandle(handle), new FileId(7), 64 << 20, durability);
  }

  private StoredChunk create(ChunkStore store, long handle) throws IOException {
    var _ =
        store.create(
            spec(handle, Durability.REPLICATED), new ReplicaId(handle + 1), Certainty.CERTAIN);
    return fixture.chunk(store, new ChunkHandle(handle));
  }

  /** Appends so much that everything is committed. */
  private ChunkModel fill(StoredChunk chunk, int bytes) {
    ChunkModel model = new ChunkModel(random);
    List<DiskAction> actions = new ArrayList<>();
    long id = 1;
    for (int left = bytes; left > 0; left -= 50_000) {
      byte[] payload = new byte[Math.min(left, 50_000)];
      random.nextBytes(payload);
      actions.add(new Append(id++, model.add(MutationKind.APPEND, model.length(), payload), false));
    }
    actions.add(new Commit(id, model.lastSerial(), model.length()));
    chunk.queue().submit(actions);
    fixture.runAll();
    model.committed = model.lastSerial();
    return model;
  }

  @Test
  void aDiskKeepsItsIdAndRaisesItsIncarnation() throws IOException {
    ChunkStore store = fixture.open();
    DiskId id = store.diskId();
    assertThat(id.text()).hasSize(32);
    assertThat(store.incarnation()).isEqualTo(1);
    assertThat(store.raiseIncarnation(1)).isEqualTo(2);
    fixture.cutPower();
    ChunkStore again = fixture.open();
    assertThat(again.diskId()).isEqualTo(id);
    assertThat(again.incarnation()).isEqualTo(3);
  }

  @Test
  void aFirstStartThatWasCutOffIsBegunAgain() throws IOException {
    fixture.disk.dieAfter(262); // the folders are there, the file 'disk' is not
    assertThatThrownBy(() -> fixture.open()).isInstanceOf(IOException.class);
    fixture.disk.killProcess();
    assertThat(fixture.disk.exists("chunks/ff")).isTrue();
    assertThat(fixture.disk.exists("disk")).isFalse();
    assertThat(fixture.open().incarnation()).isEqualTo(1);
  }

  @Test
  void chunksWithoutTheDisksOwnFileAreDamage() throws IOException {
    var _ = fill(create(fixture.open(), 0x51c), 1000);
    fixture.disk.killProcess();
    fixture.disk.delete("disk");
    assertThatThrownBy(() -> fixture.open())
        .isInstanceOf(LeaseFsException.class)
        .hasMessageContaining("no file 'disk'");
  }

  @Test
  void aChunkIsMadeOnceAndDeletedForGood() throws IOException {
    ChunkStore store = fixture.open();
    var _ = create(store, 0x51c);
    assertThatThrownBy(() -> create(store, 0x51c))
        .isInstanceOfSatisfying(
            LeaseFsException.class, e -> assertThat(e.code()).isEqualTo(ErrorCode.ALREADY_EXISTS));
    store.delete(new ChunkHandle(0x51c));
    assertThat(store.hasDeleted(new ChunkHandle(0x51c))).isTrue();
    assertThat(store.chunk(new ChunkHandle(0x51c))).isEmpty();
    assertThat(fixture.disk.names()).containsExactly("disk");
    fixture.disk.killProcess();
    assertThat(fixture.open().chunks()).isEmpty();
  }

  /** A power cut may take the names of a young chunk, and leave the mark that was forced. */
  @Test
  void markOfAFailedCopyThatIsGoneDoesNotCondemnTheNextOne() throws IOException {
    var _ = fixture.open();
    fixture.disk.open("chunks/1c/51c.failed", true).close();
    fixture.disk.forceFolder("chunks/1c");
    fixture.cutPower();

    ChunkStore store = fixture.open();
    var _ = fill(create(store, 0x51c), 1000);
    fixture.cutPower();
    fixture.disk.killProcess();

    assertThat(fixture.disk.exists("chunks/1c/51c.failed")).isFalse();
    assertThat(fixture.open().chunk(new ChunkHandle(0x51c)))
        .matches(chunk -> chunk.isEmpty() || chunk.get().image().certainty() != Certainty.DAMAGED);
  }

  @Test
  void manyChunksComeBackInOrderWithFewFilesOpen() throws IOException {
    ChunkStore store = fixture.open();
    for (int i = 100; i > 0; i--) {
      var _ = fill(create(store, i * 37L), 1000);
    }
    fixture.pass(5_000_000_000L);
    store.maintain();
    fixture.runAll();
    fixture.cutPower();
    ChunkStore again = fixture.open();
    assertThat(again.chunks()).hasSize(100);
    assertThat(again.chunks().get(0).handle()).isEqualTo(new ChunkHandle(37));
    for (StoredChunk chunk : again.chunks()) {
      assertThat(chunk.image().tail()).hasSize(1);
    }
  }

  @Test
  void theBackgroundFlushMakesBirthsDurable() throws IOException {
    ChunkStore store = fixture.open();
    ChunkModel model = fill(create(store, 0x51c), 200_000);
    fixture.pass(5_000_000_000L);
    store.maintain();
    fixture.runAll();
    fixture.cutPower();
    StoredChunk again = fixture.open().chunk(new ChunkHandle(0x51c)).orElseThrow();
    assertThat(model.agreesWith(again.image())).isTrue();
    assertThat(again.image().tail()).hasSize(4);
    // What was lost since the flush, if anything, nobody knows.
    assertThat(again.image().certainty()).isEqualTo(Certainty.UNCERTAIN);
  }

  @Test
  void aCleanStopKeepsOpenCopiesCertainAcrossARestartOfTheKernel() throws IOException {
    ChunkStore store = fixture.open();
    ChunkModel model = fill(create(store, 0x51c), 200_000);
    store.stopClean();
    fixture.cutPower();
    ChunkStore again = fixture.open();
    StoredChunk chunk = again.chunk(new ChunkHandle(0x51c)).orElseThrow();
    assertThat(chunk.image().certainty()).isEqualTo(Certainty.CERTAIN);
    assertThat(model.agreesWith(chunk.image())).isTrue();
    // The mark is gone with the start: the next power cut counts.
    fixture.cutPower();
    StoredChunk third = fixture.open().chunk(new ChunkHandle(0x51c)).orElseThrow();
    assertThat(third.image().certainty()).isEqualTo(Certainty.UNCERTAIN);
  }

  @Test
  void aCrashWhileCopiesAreMarkedUncertainMarksThemAtTheNextStart() throws IOException {
    ChunkStore store = fixture.open();
    for (int i = 1; i < 4; i++) {
      var _ = fill(create(store, i), 1000);
    }
    fixture.pass(5_000_000_000L);
    store.maintain();
    fixture.runAll();
    fixture.cutPower();
    fixture.disk.dieAfter(4);
    assertThatThrownBy(fixture::open).isInstanceOf(IOException.class);
    fixture.disk.killProcess();
    for (StoredChunk chunk : fixture.open().chunks()) {
      assertThat(chunk.image().certainty()).isEqualTo(Certainty.UNCERTAIN);
    }
  }

  @Test
  @Tag("F54")
  void aCopyIsInstalledWithItsStateAndIsALearner() throws IOException {
    ChunkStore store = fixture.open();
    StoredChunk source = create(store, 0x51c);
    ChunkModel model = fill(source, 300_000);
    StoreFixture other = new StoreFixture(6);
    ChunkStore target = other.open();
    ChunkInstall install = target.install(spec(0x51c, Durability.REPLICATED), new ReplicaId(0x600));
    while (install.length() < source.committedLength()) {
      ReadPart part = source.read(install.length(), 100_000, Long.MAX_VALUE, ByteBuffer::allocate);
      install.write(part.offset(), part.checksums(), part.payload());
    }
    assertThat(install.checksum()).isEqualTo(source.checksum());
    var _ = install.finish(4, model.snapshotAt(model.committed), true);
    other.cutPower();
    StoredChunk copy = other.chunk(other.open(), new ChunkHandle(0x51c));
    assertThat(copy.image().learner()).isTrue();
    assertThat(copy.image().promised()).isEqualTo(4);
    assertThat(copy.image().self().replica()).isEqualTo(new ReplicaId(0x600));
    assertThat(copy.image().snapshot()).isEqualTo(model.snapshotAt(model.committed));
    assertThat(other.disk.bytes("chunks/1c/51c.data")).isEqualTo(model.contentAt(model.committed));
    assertThat(copy.badBlocks(0, 100)).isEmpty();
  }

  @Test
  void aCopyThatFailedAtItsEndCanBeBegunAgain() throws IOException {
    ChunkStore store = fixture.open();
    ByteBuffer bytes = ByteBuffer.wrap(new byte[] {1, 2, 3});
    ChunkModel model = new ChunkModel(random);
    model.add(MutationKind.APPEND, 0, bytes.array());
    for (String failing : List.of(".data", ".journal.new")) {
      ChunkInstall install =
          store.install(spec(0x51c, Durability.REPLICATED), new ReplicaId(0x600));
      install.write(0, Checksums.of(bytes, 1 << 16), bytes);
      fixture.disk.failForces(failing, 1);
      assertThatThrownBy(() -> install.finish(4, model.snapshotAt(1), true))
          .isInstanceOf(IOException.class);
      install.abandon();
      assertThat(fixture.disk.names()).containsExactly("disk");
    }
    ChunkInstall again = store.install(spec(0x51c, Durability.REPLICATED), new ReplicaId(0x601));
    again.write(0, Checksums.of(bytes, 1 << 16), bytes);
    assertThat(again.finish(4, model.snapshotAt(1), true).image().learner()).isTrue();
  }

  @Test
  @Tag("F54")
  void aHalfCopyIsNothingAfterARestart() throws IOException {
    ChunkStore store = fixture.open();
    ChunkInstall install = store.install(spec(0x51c, Durability.REPLICATED), new ReplicaId(0x600));
    ByteBuffer bytes = ByteBuffer.wrap(new byte[] {1, 2, 3});
    install.write(0, Checksums.of(bytes, 1 << 16), bytes);
    assertThatThrownBy(() -> install.write(3, Checksums.of(bytes, 1 << 16), ByteBuffer.allocate(3)))
        .isInstanceOf(LeaseFsException.class);
    fixture.disk.killProcess();
    assertThat(fixture.open().chunks()).isEmpty();
    assertThat(fixture.disk.names()).containsExactly("disk");
  }

  @Test
  void aFlippedBitIsSeenByAReadAndByTheScrubber() throws IOException {
    ChunkStore store = fixture.open();
    ChunkModel model = fill(create(store, 0x51c), 300_000);
    var _ = fill(create(store, 0x77), 10_000);
    StoredChunk chunk = store.chunk(new ChunkHandle(0x51c)).orElseThrow();
    fixture.disk.flipBit("chunks/1c/51c.data", 70_000, 2);
    assertThatThrownBy(() -> chunk.read(100_000, 10, Long.MAX_VALUE, ByteBuffer::allocate))
        .isInstanceOfSatisfying(
            LeaseFsException.class, e -> assertThat(e.code()).isEqualTo(ErrorCode.CORRUPT));
    ByteBuffer good = chunk.read(140_000, 100, Long.MAX_VALUE, ByteBuffer::allocate).payload();
    assertThat(good).isEqualTo(ByteBuffer.wrap(model.contentAt(model.committed), 140_000, 100));
    List<Scrubber.Finding> findings = new ArrayList<>();
    Scrubber scrubber = new Scrubber(store, 1 << 20, 3_600_000_000_000L, findings::add);
    assertThat(scrubber.step(0)).isEqualTo(3_600_000_000_000L); // nobody is quiet yet
    assertThat(findings).isEmpty();
    fixture.pass(11_000_000_000L);
    long waited = 0;
    long before = scrubber.rounds();
    while (scrubber.rounds() < before + 1) {
      waited += scrubber.step(waited);
    }
    assertThat(findings)
        .containsExactly(
            new Scrubber.Finding(
                new ChunkHandle(0x51c), List.of(1L), "1 blocks do not match their checksums"));
    assertThat(waited).isGreaterThanOrEqualTo(300_000L * 1000);
  }

  @Test
  void anIdleChunkWithABigJournalAsksForCompaction() throws IOException {
    ChunkStore store = fixture.open();
    StoredChunk chunk = create(store, 0x51c);
    ChunkModel model = fill(chunk, 1000);
    List<DiskAction> actions = new ArrayList<>();
    for (int i = 0; i < 1000; i++) {
      actions.add(
          new Append(
              model.lastSerial() + 10,
              model.add(MutationKind.APPEND, model.length(), new byte[10]),
              false));
    }
    chunk.queue().submit(actions);
    fixture.runAll();
    fixture.events.clear();
    store.maintain();
    fixture.runAll();
    assertThat(fixture.events).isEmpty();
    fixture.pass(11_000_000_000L);
    store.maintain();
    fixture.runAll();
    assertThat(fixture.events).containsExactly(new ReplicaEvent.CompactionWanted());
  }

  private void cutJournal(long handle) throws IOException {
    ChunkNames names = new ChunkNames(new ChunkHandle(handle));
    try (DiskFile journal = fixture.disk.open(names.journal(), false)) {
      journal.truncate(100);
    }
    fixture.disk.killProcess();
  }

  @Test
  void aBirthThatAPowerCutHasCutOffIsAsIfItHadNeverBeen() throws IOException {
    ChunkStore store = fixture.open();
    var _ = fill(create(store, 0x51c), 1_000);
    cutJournal(0x51c);
    fixture.bootId = "another";
    ChunkStore again = fixture.open();
    assertThat(again.unreadable()).isEmpty();
    assertThat(again.chunks()).isEmpty();
    assertThat(create(again, 0x51c).committedLength()).isZero();
  }

  /** The file has its length, and zeros in it: so far was the power cut after its name. */
  @Test
  void aJournalThatAPowerCutLeftBlankIsAsIfItHadNeverBeen() throws IOException {
    var _ = fill(create(fixture.open(), 0x51c), 1000);
    fixture.disk.killProcess();
    String journal = new ChunkNames(new ChunkHandle(0x51c)).journal();
    try (DiskFile file = fixture.disk.open(journal, false)) {
      file.write(ByteBuffer.allocate((int) file.size()), 0);
      file.force();
    }
    assertThat(fixture.open().unreadable()).hasSize(1); // no power was cut: it has rotted
    fixture.cutPower();
    ChunkStore store = fixture.open();
    assertThat(store.chunks()).isEmpty();
    assertThat(store.unreadable()).isEmpty();
  }

  @Test
  void aBirthThatTheEndOfTheProcessHasCutOffIsAsIfItHadNeverBeen() throws IOException {
    ChunkStore store = fixture.open();
    var _ = create(store, 0x51c);
    cutJournal(0x51c);
    ChunkStore again = fixture.open();
    assertThat(again.unreadable()).isEmpty();
    assertThat(create(again, 0x51c).committedLength()).isZero();
  }

  @Test
  void aJournalThatIsCutOffThoughNoPowerWasIsDamageWhereThereIsContent() throws IOException {
    ChunkStore store = fixture.open();
    var _ = fill(create(store, 0x51c), 1_000);
    cutJournal(0x51c);
    assertThat(fixture.open().unreadable()).hasSize(1);
  }

  @Test
  void aJournalWhoseHeaderIsGoneIsKnownAsUnreadableAndNeverAsEmpty() throws IOException {
    ChunkStore store = fixture.open();
    var _ = create(store, 0x51c);
    fixture.disk.flipBit("chunks/1c/51c.journal", 20, 1);
    fixture.disk.killProcess();
    ChunkStore again = fixture.open();
    assertThat(again.chunk(new ChunkHandle(0x51c))).isEmpty();
    assertThat(again.unreadable()).hasSize(1);
    assertThatThrownBy(() -> create(again, 0x51c)).isInstanceOf(LeaseFsException.class);
    again.delete(new ChunkHandle(0x51c));
    assertThat(again.unreadable()).isEmpty();
  }

  @Test
  void aDiskOfANewerFormatIsRefusedInOneClearLine() throws IOException {
    var _ = fixture.open();
    fixture.disk.killProcess();
    ByteBuffer body = ByteBuffer.wrap("format 2\nnews of it\n".getBytes(StandardCharsets.UTF_8));
    String crc = "crc " + Integer.toHexString(Crc32c.of(body.duplicate())) + "\n";
    try (DiskFile file = fixture.disk.open("disk", false)) {
      file.truncate(0);
      file.write(body.duplicate(), 0);
      file.write(ByteBuffer.wrap(crc.getBytes(StandardCharsets.UTF_8)), body.remaining());
    }
    assertThatThrownBy(fixture::open)
        .isInstanceOf(LeaseFsException.class)
        .hasMessage("the disk's format 2 is newer than this server, which reads 1");
  }

  @Test
  void aDigitOfTheDisksFormatThatRottedIsDamageAndNoNewerFormat() throws IOException {
    var _ = fixture.open();
    fixture.disk.killProcess();
    try (DiskFile file = fixture.disk.open("disk", false)) {
      file.write(ByteBuffer.wrap("format 3".getBytes(StandardCharsets.UTF_8)), 0);
    }
    assertThatThrownBy(fixture::open)
        .isInstanceOf(LeaseFsException.class)
        .hasMessage("the file 'disk' of the data folder is damaged");
  }

  @Test
  void aDiskThatLostItsOwnFileIsNotTakenForAFreshOne() throws IOException {
    ChunkStore store = fixture.open();
    var _ = create(store, 0x51c);
    fixture.disk.killProcess();
    fixture.disk.delete("disk");
    assertThatThrownBy(fixture::open).hasMessageContaining("no file 'disk'");
  }

  @Test
  void readsAskedAtAnyOffsetAreTheModelsBytesWithPieceChecksums() throws IOException {
    ChunkStore store = fixture.open();
    StoredChunk chunk = create(store, 0x51c);
    ChunkModel model = fill(chunk, 400_001);
    byte[] content = model.contentAt(model.committed);
    for (int i = 0; i < 300; i++) {
      int offset = random.nextInt(content.length + 10);
      int wanted = 1 + random.nextInt(250_000);
      long limit = random.nextInt(3) == 0 ? random.nextInt(content.length) : Long.MAX_VALUE;
      ReadPart part = chunk.read(offset, wanted, limit, ByteBuffer::allocate);
      int end = (int) Math.min(Math.min(limit, content.length), (long) offset + wanted);
      ByteBuffer expected =
          ByteBuffer.wrap(content, Math.min(offset, content.length), Math.max(0, end - offset));
      assertThat(part.payload()).isEqualTo(expected);
      assertThat(part.checksums()).isEqualTo(Checksums.of(expected, 1 << 16));
    }
  }
}
