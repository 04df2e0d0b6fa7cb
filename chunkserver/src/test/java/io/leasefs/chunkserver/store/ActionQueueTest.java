package io.leasefs.chunkserver.store;

import static java.util.Objects.requireNonNull;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.leasefs.chunkserver.replica.ReplicaAction.Append;
import io.leasefs.chunkserver.replica.ReplicaAction.Commit;
import io.leasefs.chunkserver.replica.ReplicaAction.Compact;
import io.leasefs.chunkserver.replica.ReplicaAction.ComputeChecksum;
import io.leasefs.chunkserver.replica.ReplicaAction.Cut;
import io.leasefs.chunkserver.replica.ReplicaAction.ReadBack;
import io.leasefs.chunkserver.replica.ReplicaAction.StorePromise;
import io.leasefs.chunkserver.replica.ReplicaAction.StoreStanding;
import io.leasefs.chunkserver.replica.ReplicaEvent;
import io.leasefs.common.api.Heartbeat.Certainty;
import io.leasefs.common.api.Mutation;
import io.leasefs.common.api.MutationKind;
import io.leasefs.common.checksum.Crc32c;
import io.leasefs.common.edge.DiskFile;
import io.leasefs.common.edge.DiskFullException;
import io.leasefs.common.error.LeaseFsException;
import io.leasefs.common.model.ChunkHandle;
import io.leasefs.common.model.ChunkSpec;
import io.leasefs.common.model.Durability;
import io.leasefs.common.model.FileId;
import io.leasefs.common.model.ReplicaId;
import io.leasefs.server.disk.simulated.SimulatedDisk.Operation;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

class ActionQueueTest {
  private static final ChunkHandle HANDLE = new ChunkHandle(0x51c);
  private static final String DATA = "chunks/1c/51c.data";
  private static final String JOURNAL = "chunks/1c/51c.journal";

  private final StoreFixture fixture = new StoreFixture(1);
  private final ChunkModel model = new ChunkModel(new Random(1));
  private final List<String> operations = new ArrayList<>();

  private @Nullable ChunkStore store;

  private StoredChunk create(Durability durability) throws IOException {
    ChunkStore opened = fixture.open();
    store = opened;
    var _ =
        opened.create(
            new ChunkSpec(HANDLE, new FileId(7), 64 << 20, durability),
            new ReplicaId(0x51d),
            Certainty.CERTAIN);
    StoredChunk chunk = fixture.chunk(opened, HANDLE);
    fixture.disk.setHook(
        (operation, name) -> {
          if (operation != Operation.OPEN && operation != Operation.READ) {
            operations.add(operation + " " + name.substring(name.lastIndexOf('.') + 1));
          }
        });
    return chunk;
  }

  private Append append(long id, int bytes, boolean force) {
    return new Append(
        id, model.add(MutationKind.APPEND, model.length(), filled(bytes, (int) id)), force);
  }

  private Append write(long id, long offset, int bytes) {
    return new Append(id, model.add(MutationKind.WRITE, offset, filled(bytes, (int) id)), false);
  }

  private static byte[] filled(int bytes, int value) {
    byte[] payload = new byte[bytes];
    java.util.Arrays.fill(payload, (byte) value);
    return payload;
  }

  @Test
  void letterAfterALongPauseIsNoStall() throws IOException {
    StoredChunk chunk = create(Durability.REPLICATED);
    fixture.submit(chunk, append(1, 10, false));
    fixture.runAll();
    fixture.pass(60_000_000_000L);

    chunk.queue().mail(() -> {});

    assertThat(chunk.queue().stalledNanos()).isZero();
    fixture.pass(5);
    assertThat(chunk.queue().stalledNanos()).isEqualTo(5);
  }

  @Test
  void appendsThatGatheredAreOneWriteOfDataAndOneOfJournal() throws IOException {
    StoredChunk chunk = create(Durability.REPLICATED);
    fixture.submit(chunk, append(1, 1000, false), append(2, 1000, false));
    fixture.submit(chunk, append(3, 1000, false));
    fixture.runAll();
    // The simulated disk splits a vectored write into its buffers; the journal's has one.
    assertThat(operations)
        .containsExactly("WRITE data", "WRITE data", "WRITE data", "WRITE journal");
    assertThat(fixture.events).containsExactly(new ReplicaEvent.DiskDone(3));
  }

  @Test
  void smallSyncedAppendsThatGatheredShareOneForce() throws IOException {
    StoredChunk chunk = create(Durability.SYNCED);
    fixture.submit(chunk, append(1, 10, true), append(2, 10, true), append(3, 10, true));
    fixture.runAll();
    assertThat(operations).filteredOn(o -> o.startsWith("FORCE ")).containsExactly("FORCE journal");
    assertThat(operations).contains("FORCE_FOLDER chunks/1c");
    assertThat(fixture.events).containsExactly(new ReplicaEvent.DiskDone(3));
  }

  @Test
  void largeSyncedAppendsForceBothFilesOnce() throws IOException {
    StoredChunk chunk = create(Durability.SYNCED);
    fixture.submit(chunk, append(1, 100_000, true), append(2, 100_000, true));
    fixture.runAll();
    assertThat(operations)
        .filteredOn(o -> o.startsWith("FORCE "))
        .containsExactlyInAnyOrder("FORCE data", "FORCE journal");
    assertThat(fixture.events).containsExactly(new ReplicaEvent.DiskDone(2));
  }

  @Test
  void whatNeedsNoForceIsNotHeldUpByALaterPromise() throws IOException {
    StoredChunk chunk = create(Durability.REPLICATED);
    fixture.submit(chunk, append(1, 10, false), new StorePromise(2, 5), append(3, 10, false));
    assertThat(fixture.runOne()).isTrue();
    assertThat(fixture.events).containsExactly(new ReplicaEvent.DiskDone(1));
    fixture.runAll();
    assertThat(fixture.events)
        .containsExactly(new ReplicaEvent.DiskDone(1), new ReplicaEvent.DiskDone(3));
  }

  /** Files are forced side by side: the journal of what came later may be done first. */
  @Test
  void theWatermarkDoesNotCountDataWhoseForceIsUnderWay() throws IOException {
    StoredChunk chunk = create(Durability.SYNCED);
    fixture.submit(chunk, append(1, 100_000, true));
    assertThat(fixture.runOne()).isTrue();
    fixture.submit(chunk, new StorePromise(2, 5));
    List<Long> meanwhile = new ArrayList<>();
    fixture.disk.setHook(
        (operation, name) -> {
          if (operation == Operation.FORCE && name.equals(DATA)) {
            fixture.runAll();
            fixture.pass(100_000_000);
            meanwhile.add(fixture.doneThrough());
            meanwhile.add(watermark().dataSerial());
          }
        });
    fixture.runAll();
    assertThat(meanwhile).containsExactly(0L, 0L);
    fixture.pass(100_000_000);
    assertThat(fixture.doneThrough()).isEqualTo(2);
    assertThat(watermark().dataSerial()).isEqualTo(1);
  }

  private JournalCodec.Watermark watermark() {
    try {
      byte[] journal = fixture.disk.bytes(JOURNAL);
      return JournalCodec.readWatermarks(
          ByteBuffer.wrap(journal, JournalCodec.SECTOR, 2 * JournalCodec.SECTOR).slice());
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  @Test
  void aPromiseAndAStandingSurviveAPowerCut() throws IOException {
    StoredChunk chunk = create(Durability.REPLICATED);
    fixture.submit(chunk, new StorePromise(1, 5), new StoreStanding(2, Certainty.UNCERTAIN, true));
    fixture.runAll();
    fixture.cutPower();
    StoredChunk again = fixture.chunk(fixture.open(), HANDLE);
    assertThat(again.image().promised()).isEqualTo(5);
    assertThat(again.image().learner()).isTrue();
    assertThat(again.image().certainty()).isEqualTo(Certainty.UNCERTAIN);
  }

  /** The process after it tells of that promise at once: it counts as stored, and its name, too. */
  @Test
  void namesAreForcedAtTheStartWhereAKilledProcessHadForcedNothing() throws IOException {
    for (int seed = 0; seed < 20; seed++) {
      StoreFixture other = new StoreFixture(seed);
      ChunkStore store = other.open();
      var _ =
          store.create(
              new ChunkSpec(HANDLE, new FileId(7), 64 << 20, Durability.REPLICATED),
              new ReplicaId(0x51d),
              Certainty.CERTAIN);
      StoredChunk chunk = other.chunk(store, HANDLE);
      other.disk.setHook(
          (operation, name) -> {
            if (operation == Operation.FORCE_FOLDER) {
              throw new AssertionError("killed"); // no exception: nothing may handle it
            }
          });
      other.submit(chunk, new StorePromise(1, 2));
      try {
        other.runAll();
      } catch (AssertionError e) {
        assertThat(e).hasMessage("killed");
      }
      other.disk.killProcess();
      other.disk.setHook((operation, name) -> {});
      long found = other.chunk(other.open(), HANDLE).image().promised();
      other.cutPower();

      assertThat(other.chunk(other.open(), HANDLE).image().promised()).isEqualTo(found);
    }
  }

  /** It was killed before its folder was forced; whoever comes after cannot know, and forces it. */
  @Test
  void namesThatAKilledProcessHadNotForcedAreForcedWithTheFirstPromiseAfterItsRestart()
      throws IOException {
    for (int seed = 0; seed < 20; seed++) {
      StoreFixture other = new StoreFixture(seed);
      var _ =
          other
              .open()
              .create(
                  new ChunkSpec(HANDLE, new FileId(7), 64 << 20, Durability.REPLICATED),
                  new ReplicaId(0x51d),
                  Certainty.CERTAIN);
      other.disk.killProcess();
      other.submit(other.chunk(other.open(), HANDLE), new StorePromise(1, 2));
      other.runAll();
      other.cutPower();

      assertThat(other.chunk(other.open(), HANDLE).image().promised()).isEqualTo(2);
    }
  }

  @Test
  void overwritesAreReadBeforeTheyAreInPlaceAndAreThenInTheFlatFile() throws IOException {
    StoredChunk chunk = create(Durability.REPLICATED);
    fixture.submit(chunk, append(1, 100_000, false), write(2, 60_000, 10_000));
    fixture.runAll();
    assertThat(chunk.committedLength()).isZero();
    fixture.submit(chunk, new Commit(3, 2, 100_000));
    assertThat(fixture.runOne()).isTrue();
    byte[] expected = model.contentAt(2);
    assertThat(fixture.disk.bytes(DATA)).isNotEqualTo(expected);
    assertThat(read(chunk)).isEqualTo(ByteBuffer.wrap(expected));
    fixture.runAll();
    assertThat(fixture.disk.bytes(DATA)).isEqualTo(expected);
    assertThat(read(chunk)).isEqualTo(ByteBuffer.wrap(expected));
  }

  @Test
  void theJournalIsForcedBeforeTheFileIsOverwritten() throws IOException {
    StoredChunk chunk = create(Durability.REPLICATED);
    fixture.submit(chunk, append(1, 1000, false), write(2, 0, 10), new Commit(3, 2, 1000));
    fixture.runAll();
    assertThat(operations)
        .containsSubsequence("WRITE journal", "WRITE journal", "FORCE journal", "WRITE data");
  }

  @Test
  void theFileIsForcedBeforeTheJournalNamesWhatWasOverwritten() throws IOException {
    StoredChunk chunk = create(Durability.REPLICATED);
    fixture.submit(chunk, append(1, 1000, false), write(2, 0, 10), new Commit(3, 2, 1000));
    fixture.runAll();
    assertThat(operations)
        .containsSubsequence("FORCE data", "WRITE journal", "FORCE journal", "WRITE data");
  }

  /** Of a block that was overwritten in part, the rest was only in the kernel. */
  @Test
  void powerCutAfterAnOverwriteOfUnforcedBytesLeavesNoDamage() throws IOException {
    for (int seed = 1; seed <= 40; seed++) {
      StoreFixture other = new StoreFixture(seed);
      ChunkStore opened = other.open();
      var _ =
          opened.create(
              new ChunkSpec(HANDLE, new FileId(7), 64 << 20, Durability.REPLICATED),
              new ReplicaId(0x51d),
              Certainty.CERTAIN);
      StoredChunk chunk = other.chunk(opened, HANDLE);
      ChunkModel changes = new ChunkModel(new Random(seed));
      other.submit(
          chunk,
          new Append(1, changes.add(MutationKind.APPEND, 0, filled(20_000, 1)), false),
          new Append(2, changes.add(MutationKind.WRITE, 5, filled(10, 2)), false),
          new Commit(3, 2, 20_000));
      other.runAll();
      other.cutPower();

      StoredChunk again = other.chunk(other.open(), HANDLE);
      assertThat(again.image().certainty()).isEqualTo(Certainty.UNCERTAIN);
      int kept = (int) (again.image().snapshot().serial() + again.image().tail().size());
      assertThat(read(again)).isEqualTo(ByteBuffer.wrap(changes.contentAt(kept)));
    }
  }

  @Test
  void checksumsCountInWhatIsNotCommitted() throws IOException {
    StoredChunk chunk = create(Durability.REPLICATED);
    fixture.submit(
        chunk,
        append(1, 100_000, false),
        new Commit(2, 1, 100_000),
        write(3, 99_000, 5_000),
        append(4, 70_000, false),
        new ComputeChecksum(5, 3, 174_000));
    fixture.runAll();
    int expected = Crc32c.of(ByteBuffer.wrap(model.contentAt(3)));
    assertThat(fixture.events)
        .contains(new ReplicaEvent.Checksummed(5, expected), new ReplicaEvent.DiskDone(5));
    assertThat(chunk.committedLength()).isEqualTo(100_000);
  }

  @Test
  void recordsComeBackWithTheirPayload() throws IOException {
    StoredChunk chunk = create(Durability.REPLICATED);
    fixture.submit(
        chunk,
        append(1, 100, false),
        write(2, 50, 10),
        append(3, 200_000, false),
        new ReadBack(4, 1, 1 << 20),
        new ReadBack(5, 2, 1),
        new ReadBack(6, 4, 100));
    fixture.runAll();
    assertThat(fixture.events)
        .contains(
            new ReplicaEvent.RecordsRead(4, model.records),
            new ReplicaEvent.RecordsRead(5, List.of(model.records.get(1))),
            new ReplicaEvent.RecordsRead(6, List.of()));
  }

  @Test
  void readBackOfARottenPayloadIsDamage() throws IOException {
    StoredChunk chunk = create(Durability.REPLICATED);
    fixture.submit(chunk, append(1, 100, false), append(2, 100, false));
    fixture.runAll();
    fixture.disk.flipBit(DATA, 50, 3);
    fixture.submit(chunk, new ReadBack(3, 1, 1 << 20));
    fixture.runAll();
    assertThat(fixture.events).noneMatch(ReplicaEvent.RecordsRead.class::isInstance);
    assertThat(fixture.events).anyMatch(ReplicaEvent.DiskFailed.class::isInstance);
  }

  @Test
  void readBackOfALostPayloadIsDamage() throws IOException {
    StoredChunk chunk = create(Durability.REPLICATED);
    fixture.disk.loseWrites(DATA, 1);
    fixture.submit(chunk, append(1, 100, false));
    fixture.runAll();
    fixture.submit(chunk, new ReadBack(2, 1, 1 << 20));
    fixture.runAll();
    assertThat(fixture.events).noneMatch(ReplicaEvent.RecordsRead.class::isInstance);
    assertThat(fixture.events).anyMatch(ReplicaEvent.DiskFailed.class::isInstance);
  }

  @Test
  void readBackOfAnOverwrittenPayloadIsNoDamage() throws IOException {
    StoredChunk chunk = create(Durability.REPLICATED);
    fixture.submit(chunk, append(1, 100, false), write(2, 50, 10), new Commit(3, 2, 100));
    fixture.runAll();
    fixture.pass(60_000_000_000L); // the overwrite is carried out once its record is durable
    assertThat(fixture.disk.bytes(DATA)).isEqualTo(model.contentAt(2));
    fixture.submit(chunk, new ReadBack(4, 1, 1 << 20));
    fixture.runAll();
    assertThat(fixture.events).contains(new ReplicaEvent.RecordsRead(4, List.of()));
    assertThat(fixture.events).noneMatch(ReplicaEvent.DiskFailed.class::isInstance);
  }

  @Test
  void promiseThatAKilledProcessHadNotForcedSurvivesThePowerCutAfterItsRestart()
      throws IOException {
    for (int seed = 0; seed < 20; seed++) {
      StoreFixture other = new StoreFixture(seed);
      ChunkStore store = other.open();
      var _ =
          store.create(
              new ChunkSpec(HANDLE, new FileId(7), 64 << 20, Durability.SYNCED),
              new ReplicaId(0x51d),
              Certainty.CERTAIN);
      StoredChunk chunk = other.chunk(store, HANDLE);
      other.submit(chunk, new StorePromise(1, 2));
      other.runAll();
      other.disk.setHook(
          (operation, name) -> {
            if (operation == Operation.FORCE) {
              throw new AssertionError("killed"); // no exception: nothing may handle it
            }
          });
      other.submit(chunk, new StorePromise(2, 3));
      try {
        other.runAll();
      } catch (AssertionError e) {
        assertThat(e).hasMessage("killed");
      }
      other.disk.killProcess();
      other.disk.setHook((operation, name) -> {});
      long found = other.chunk(other.open(), HANDLE).image().promised();

      other.cutPower();

      assertThat(other.chunk(other.open(), HANDLE).image().promised()).isEqualTo(found);
    }
  }

  @Test
  void aCutIsDurableAndTheFlatFileIsCut() throws IOException {
    StoredChunk chunk = create(Durability.REPLICATED);
    fixture.submit(chunk, append(1, 100, true), append(2, 100, true), new Cut(3, 1, 100));
    fixture.runAll();
    assertThat(fixture.disk.bytes(DATA)).hasSize(100);
    model.cutTo(1);
    fixture.submit(chunk, append(4, 50, false), new Commit(5, 2, 150));
    fixture.runAll();
    fixture.disk.killProcess();
    StoredChunk again = fixture.chunk(fixture.open(), HANDLE);
    assertThat(model.agreesWith(again.image())).isTrue();
    assertThat(fixture.disk.bytes(DATA)).isEqualTo(model.contentAt(2));
  }

  @Test
  void compactionKeepsTheStateAndWhatIsPending() throws IOException {
    StoredChunk chunk = create(Durability.REPLICATED);
    fixture.submit(
        chunk,
        append(1, 100_000, false),
        write(2, 10, 10),
        new Commit(3, 2, 100_000),
        append(4, 10, false),
        write(5, 0, 99_000),
        new StorePromise(6, 9),
        new Compact(7, model.snapshotAt(2)));
    fixture.runAll();
    assertThat(fixture.doneThrough()).isEqualTo(7);
    assertThat(fixture.disk.names()).noneMatch(name -> name.endsWith(".new"));
    fixture.cutPower();
    StoredChunk again = fixture.chunk(fixture.open(), HANDLE);
    assertThat(again.image().snapshot()).isEqualTo(model.snapshotAt(2));
    assertThat(again.image().promised()).isEqualTo(9);
    assertThat(again.image().tail()).hasSize(2);
    assertThat(model.agreesWith(again.image())).isTrue();
    fixture.submit(again, new Commit(1, 4, 100_010));
    fixture.runAll();
    assertThat(read(again)).isEqualTo(ByteBuffer.wrap(model.contentAt(4)));
    assertThat(fixture.disk.bytes(DATA)).isEqualTo(model.contentAt(4));
  }

  /** Somebody has deleted it; no power was cut, so nothing else is looked at. */
  @Test
  void lostDataFileIsMadeAnewFromAJournalThatHasAllOfIt() throws IOException {
    StoredChunk chunk = create(Durability.SYNCED);
    fixture.submit(chunk, append(1, 1000, true), append(2, 10, true), new Commit(3, 2, 1010));
    fixture.runAll();
    fixture.disk.delete(DATA);
    fixture.disk.killProcess();

    StoredChunk again = fixture.chunk(fixture.open(), HANDLE);

    assertThat(again.image().certainty()).isEqualTo(Certainty.CERTAIN);
    fixture.submit(again, new Commit(1, 2, 1010));
    fixture.runAll();
    assertThat(read(again)).isEqualTo(ByteBuffer.wrap(model.contentAt(2)));
    fixture.cutPower();
    assertThat(fixture.chunk(fixture.open(), HANDLE).image().certainty())
        .isEqualTo(Certainty.CERTAIN);
    assertThat(fixture.disk.bytes(DATA)).isEqualTo(model.contentAt(2));
  }

  /** Likewise where only its end is gone. */
  @Test
  void dataFileThatWasCutOffIsMendedFromItsJournal() throws IOException {
    StoredChunk chunk = create(Durability.SYNCED);
    fixture.submit(chunk, append(1, 1000, true), append(2, 500, true), new Commit(3, 2, 1500));
    fixture.runAll();
    try (DiskFile file = fixture.disk.open(DATA, false)) {
      file.truncate(700);
    }
    fixture.disk.killProcess();

    StoredChunk again = fixture.chunk(fixture.open(), HANDLE);

    assertThat(again.image().certainty()).isEqualTo(Certainty.CERTAIN);
    fixture.submit(again, new Commit(1, 2, 1500));
    fixture.runAll();
    assertThat(read(again)).isEqualTo(ByteBuffer.wrap(model.contentAt(2)));
  }

  /** A deletion that a power cut has cut off may leave the journal alone. */
  @Test
  void dataFileShorterThanItsCheckpointIsDamageWhateverCameBehindIt() throws IOException {
    StoredChunk chunk = create(Durability.SYNCED);
    fixture.submit(
        chunk,
        append(1, 1000, true),
        new Commit(2, 1, 1000),
        new Compact(3, model.snapshotAt(1)),
        append(4, 10, true));
    fixture.runAll();
    fixture.disk.delete(DATA);
    fixture.disk.forceFolder(DATA.substring(0, DATA.lastIndexOf('/')));
    fixture.cutPower();

    StoredChunk again = fixture.chunk(fixture.open(), HANDLE);

    assertThat(again.image().certainty()).isEqualTo(Certainty.DAMAGED);
  }

  @Test
  void aBigJournalAsksForCompaction() throws IOException {
    StoredChunk chunk = create(Durability.REPLICATED);
    fixture.submit(chunk, append(1, 1000, false));
    for (int i = 2; i < 6; i++) {
      fixture.submit(chunk, write(i, 0, 1_000_000));
      fixture.runAll();
    }
    assertThat(fixture.events).contains(new ReplicaEvent.CompactionWanted());
  }

  @Test
  @Tag("F57")
  void afterAFailedForceNothingIsTriedAgainAndARestartDoesNotTrustTheCopy() throws IOException {
    StoredChunk chunk = create(Durability.SYNCED);
    fixture.submit(chunk, append(1, 10, true));
    fixture.runAll();
    fixture.disk.failForces("51c.data", 1);
    fixture.submit(chunk, append(2, 100_000, true));
    fixture.runAll();
    fixture.submit(chunk, append(3, 10, true));
    fixture.runAll();
    assertThat(fixture.events)
        .containsExactly(
            new ReplicaEvent.DiskDone(1),
            new ReplicaEvent.DiskFailed("force " + DATA + ": Input/output error"));
    assertThat(chunk.queue().isFailed()).isTrue();
    fixture.disk.killProcess();
    StoredChunk again = fixture.chunk(fixture.open(), HANDLE);
    assertThat(again.image().certainty()).isEqualTo(Certainty.DAMAGED);
    assertThat(again.queue().isFailed()).isTrue();
  }

  @Test
  @Tag("F56")
  void aFullDiskFailsCleanlyAndARestartHasAllThatWasAcknowledged() throws IOException {
    StoredChunk chunk = create(Durability.REPLICATED);
    fixture.submit(chunk, append(1, 5000, false));
    fixture.runAll();
    fixture.disk.setTotalBytes(fixture.disk.totalBytes() - fixture.disk.freeBytes() + 3000);
    fixture.submit(chunk, append(2, 5000, false));
    fixture.runAll();
    assertThat(fixture.events).hasSize(2);
    assertThat(fixture.events.get(1)).isInstanceOf(ReplicaEvent.DiskFailed.class);
    fixture.disk.killProcess();
    fixture.disk.setTotalBytes(1 << 30);
    model.cutTo(1);
    StoredChunk again = fixture.chunk(fixture.open(), HANDLE);
    assertThat(again.image().certainty()).isEqualTo(Certainty.CERTAIN);
    assertThat(model.agreesWith(again.image())).isTrue();
    assertThat(fixture.disk.bytes(DATA)).isEqualTo(model.contentAt(1));
  }

  @Test
  @Tag("F56")
  void copyWithoutRoomIsTriedAgainUntilThereIsSome() throws IOException {
    StoredChunk chunk = withoutRoom();
    fixture.disk.setHook(
        (operation, name) -> {
          if (operation == Operation.FORCE && name.contains("51c")) {
            throw new DiskFullException(name + ": No space left on device");
          }
        });
    assertThatThrownBy(() -> store().reopen(chunk)).isInstanceOf(DiskFullException.class);
    assertThat(store().outOfSpace()).containsExactly(chunk);

    fixture.disk.setHook((operation, name) -> {});
    StoredChunk again = store().reopen(chunk);
    assertThat(again.image().certainty()).isEqualTo(Certainty.CERTAIN);
    assertThat(store().outOfSpace()).isEmpty();
    assertThat(store().chunk(HANDLE)).contains(again);
  }

  @Test
  @Tag("F56")
  void copyWhoseForceFailsWhenThereIsRoomAgainIsDamagedForEver() throws IOException {
    StoredChunk chunk = withoutRoom();
    fixture.disk.failForces("51c", 1);

    StoredChunk again = store().reopen(chunk);

    assertThat(again.image().certainty()).isEqualTo(Certainty.DAMAGED);
    assertThat(again.queue().isFailed()).isTrue();
    assertThat(store().chunk(HANDLE)).contains(again);
    assertThat(store().outOfSpace()).isEmpty();
    fixture.disk.killProcess();
    assertThat(fixture.chunk(fixture.open(), HANDLE).image().certainty())
        .isEqualTo(Certainty.DAMAGED);
  }

  /** It has met a full disk; now there is room, but nobody has gone on from it yet. */
  private StoredChunk withoutRoom() throws IOException {
    StoredChunk chunk = create(Durability.REPLICATED);
    fixture.submit(chunk, append(1, 5000, false));
    fixture.runAll();
    fixture.disk.setTotalBytes(fixture.disk.totalBytes() - fixture.disk.freeBytes() + 3000);
    fixture.submit(chunk, append(2, 5000, false));
    fixture.runAll();
    assertThat(store().outOfSpace()).containsExactly(chunk);
    fixture.disk.setTotalBytes(1 << 30);
    return chunk;
  }

  private ChunkStore store() {
    return requireNonNull(store);
  }

  @Test
  void damageBelowTheWatermarkIsDamageAndNotTheEnd() throws IOException {
    StoredChunk chunk = create(Durability.SYNCED);
    fixture.submit(chunk, append(1, 10, true), append(2, 10, true));
    fixture.runAll();
    fixture.pass(30_000_000); // the watermark is written by itself
    long size = fixture.disk.bytes(JOURNAL).length;
    fixture.disk.flipBit(JOURNAL, size - 5, 3);
    fixture.disk.killProcess();
    StoredChunk again = fixture.chunk(fixture.open(), HANDLE);
    assertThat(again.image().certainty()).isEqualTo(Certainty.DAMAGED);
    assertThat(fixture.disk.bytes(JOURNAL)).hasSize((int) size);
  }

  @Test
  void aBrokenRecordAboveTheWatermarkIsCutAndAfterAPowerCutMakesTheCopyUncertain()
      throws IOException {
    StoredChunk chunk = create(Durability.SYNCED);
    fixture.submit(chunk, append(1, 10, true));
    fixture.runAll();
    fixture.pass(30_000_000);
    fixture.submit(chunk, append(2, 10, true));
    fixture.runAll();
    long size = fixture.disk.bytes(JOURNAL).length;
    fixture.disk.flipBit(JOURNAL, size - 5, 3);
    fixture.cutPower();
    StoredChunk again = fixture.chunk(fixture.open(), HANDLE);
    assertThat(again.image().certainty()).isEqualTo(Certainty.UNCERTAIN);
    assertThat(again.image().tail()).hasSize(1);
    // The mark stays until somebody lifts it.
    fixture.disk.killProcess();
    assertThat(fixture.chunk(fixture.open(), HANDLE).image().certainty())
        .isEqualTo(Certainty.UNCERTAIN);
  }

  @Test
  @Tag("F49")
  void anOldImageOfTheDiskShowsUnderTheWatermark() throws IOException {
    StoredChunk chunk = create(Durability.SYNCED);
    fixture.submit(chunk, append(1, 10, true), append(2, 10, true));
    fixture.runAll();
    fixture.pass(30_000_000);
    fixture.disk.killProcess();
    byte[] whole = fixture.disk.bytes(JOURNAL);
    // The records are lost although the watermark says that they were durable.
    fixture.disk.open(JOURNAL, false).truncate(whole.length - 20);
    assertThat(fixture.chunk(fixture.open(), HANDLE).image().certainty())
        .isEqualTo(Certainty.DAMAGED);
  }

  @Test
  void aWriteThatTheDiskLostIsDamageWhereverItWas() throws IOException {
    StoredChunk chunk = create(Durability.REPLICATED);
    fixture.submit(chunk, append(1, 10, false));
    fixture.runAll();
    fixture.disk.loseWrites("51c.journal", 1);
    fixture.submit(chunk, append(2, 10, false));
    fixture.runAll();
    fixture.submit(chunk, append(3, 10, false));
    fixture.runAll();
    fixture.disk.killProcess();
    assertThat(fixture.chunk(fixture.open(), HANDLE).image().certainty())
        .isEqualTo(Certainty.DAMAGED);
  }

  @Test
  void payloadThatTheDiskLostIsSeenByTheReader() throws IOException {
    StoredChunk chunk = create(Durability.REPLICATED);
    fixture.disk.loseWrites("51c.data", 1);
    fixture.submit(chunk, append(1, 10, false), new Commit(2, 1, 10));
    fixture.runAll();
    assertThatThrownBy(() -> read(chunk)).isInstanceOf(LeaseFsException.class);
    assertThat(chunk.badBlocks(0, 10)).containsExactly(0L);
  }

  private static ByteBuffer read(StoredChunk chunk) throws IOException {
    return chunk.read(0, 1 << 20, Long.MAX_VALUE, ByteBuffer::allocate).payload();
  }

  @Test
  void mutationsOfOtherKindsLeaveTheBytesAlone() throws IOException {
    StoredChunk chunk = create(Durability.REPLICATED);
    Mutation forget = model.add(MutationKind.FORGET, 1 << 20, filled(40, 9));
    fixture.submit(chunk, new Append(1, forget, false), append(2, 10, false), new Commit(3, 2, 10));
    fixture.runAll();
    fixture.disk.killProcess();
    StoredChunk again = fixture.chunk(fixture.open(), HANDLE);
    assertThat(again.image().tail().get(0)).isEqualTo(forget);
    assertThat(fixture.disk.bytes(DATA)).isEqualTo(filled(10, 2));
  }
}
