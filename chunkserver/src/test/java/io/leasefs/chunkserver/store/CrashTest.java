package io.leasefs.chunkserver.store;

import static org.assertj.core.api.Assertions.assertThat;

import io.leasefs.chunkserver.replica.ReplicaAction.Append;
import io.leasefs.chunkserver.replica.ReplicaAction.Commit;
import io.leasefs.chunkserver.replica.ReplicaAction.Compact;
import io.leasefs.chunkserver.replica.ReplicaAction.Cut;
import io.leasefs.chunkserver.replica.ReplicaAction.DiskAction;
import io.leasefs.chunkserver.replica.ReplicaAction.StorePromise;
import io.leasefs.chunkserver.replica.ReplicaEvent;
import io.leasefs.chunkserver.replica.ReplicaImage;
import io.leasefs.common.api.ChunkApi.ReadPart;
import io.leasefs.common.api.Heartbeat.Certainty;
import io.leasefs.common.api.Mutation;
import io.leasefs.common.checksum.Checksums;
import io.leasefs.common.checksum.Crc32c;
import io.leasefs.common.model.ChunkHandle;
import io.leasefs.common.model.ChunkSpec;
import io.leasefs.common.model.Durability;
import io.leasefs.common.model.FileId;
import io.leasefs.common.model.ReplicaId;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.TreeMap;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Seeded sequences of actions, a crash at any operation of the disk, a restart, and so on: what was
 * acknowledged under its policy is there, no half of anything, and the bytes are the model's.
 */
class CrashTest {
  private static final ChunkHandle HANDLE = new ChunkHandle(0x51c);
  private static final int LIVES = 4;

  /** Per case; more by -Dleasefs.crash.seeds for a long search. */
  private static final int SEEDS = Integer.getInteger("leasefs.crash.seeds", 12);

  private enum Crash {
    PROCESS_KILL,
    POWER_CUT
  }

  @ParameterizedTest
  @ValueSource(ints = {0, 100, 200, 300, 400})
  void processKillsLoseNothingReplicated(int first) throws IOException {
    for (int seed = first; seed < first + SEEDS; seed++) {
      new Run(seed, Durability.REPLICATED, Crash.PROCESS_KILL).lives();
    }
  }

  @ParameterizedTest
  @ValueSource(ints = {0, 100, 200, 300, 400})
  void powerCutsLoseNothingSynced(int first) throws IOException {
    for (int seed = first; seed < first + SEEDS; seed++) {
      new Run(seed, Durability.SYNCED, Crash.POWER_CUT).lives();
    }
  }

  @ParameterizedTest
  @ValueSource(ints = {0, 100, 200, 300, 400})
  void powerCutsMakeReplicatedOnesUncertainButNeverWrong(int first) throws IOException {
    for (int seed = first; seed < first + SEEDS; seed++) {
      new Run(seed, Durability.REPLICATED, Crash.POWER_CUT).lives();
    }
  }

  /** One chunk through several lives. */
  private static final class Run {
    private final String name;
    private final Random random;
    private final Durability durability;
    private final Crash crash;
    private final StoreFixture fixture;
    private final ChunkModel model;
    private ChunkStore store;
    private StoredChunk chunk;
    private long nextId = 1;
    private long promised = 1;

    /** Serial, promise, or cut, by the id whose completion acknowledges it. */
    private final TreeMap<Long, Long> appends = new TreeMap<>();

    private final TreeMap<Long, Long> promises = new TreeMap<>();
    private long acknowledgedSerial;
    private long acknowledgedPromise = 1;
    private long handledDone;

    Run(int seed, Durability durability, Crash crash) throws IOException {
      this.name = durability + " " + crash + " seed " + seed;
      this.random = new Random(seed * 0x9E3779B97F4A7C15L);
      this.durability = durability;
      this.crash = crash;
      this.fixture = new StoreFixture(seed);
      this.model = new ChunkModel(random);
      store = fixture.open();
      var _ =
          store.create(
              new ChunkSpec(HANDLE, new FileId(7), 64 << 20, durability),
              new ReplicaId(0x51d),
              Certainty.CERTAIN);
      chunk = fixture.chunk(store, HANDLE);
    }

    void lives() throws IOException {
      for (int life = 0; life < LIVES; life++) {
        boolean gone = !live();
        if (gone) {
          return;
        }
      }
    }

    /** False where the chunk does not exist after the crash, and nothing was promised of it. */
    private boolean live() throws IOException {
      if (random.nextInt(4) > 0) {
        fixture.disk.dieAfter(random.nextInt(60));
      }
      int steps = 5 + random.nextInt(40);
      for (int i = 0; i < steps && !fixture.disk.isDead(); i++) {
        act();
        checkReads();
      }
      if (random.nextBoolean() && !fixture.disk.isDead()) {
        fixture.runAll();
        acknowledge();
      }
      if (crash == Crash.PROCESS_KILL) {
        fixture.disk.killProcess();
      } else {
        fixture.cutPower();
      }
      return restart();
    }

    private void act() {
      int dice = random.nextInt(100);
      if (dice < 60) {
        append();
      } else if (dice < 80) {
        commit();
      } else if (dice < 84) {
        promised += 1 + random.nextInt(3);
        promises.put(nextId, promised);
        submit(new StorePromise(nextId++, promised));
      } else if (dice < 88) {
        cut();
      } else if (dice < 92) {
        compact();
      } else if (dice < 96) {
        fixture.pass(random.nextInt(30_000_000));
      } else {
        fixture.pass(5_000_000_000L);
        store.maintain();
      }
      int runs = random.nextInt(4);
      for (int i = 0; i < runs && fixture.runOne(); i++) {
        acknowledge();
      }
    }

    private void append() {
      List<DiskAction> actions = new ArrayList<>();
      int count = 1 + random.nextInt(5);
      for (int i = 0; i < count; i++) {
        Mutation mutation = model.next(true);
        appends.put(nextId, mutation.serial());
        actions.add(new Append(nextId++, mutation, durability == Durability.SYNCED));
      }
      submit(actions.toArray(new DiskAction[0]));
    }

    /** Like a core: only what this copy was told to have is ever committed. */
    private void commit() {
      if (acknowledgedSerial > model.committed) {
        model.committed += 1 + random.nextLong(acknowledgedSerial - model.committed);
        submit(new Commit(nextId++, model.committed, model.lengthAt(model.committed)));
      }
    }

    private void cut() {
      settle();
      if (fixture.disk.isDead() || random.nextBoolean()) {
        return;
      }
      long to = model.committed + random.nextLong(model.lastSerial() - model.committed + 1);
      submit(new Cut(nextId++, to, model.lengthAt(to)));
      List<Mutation> before = new ArrayList<>(model.records);
      fixture.runAll();
      if (fixture.disk.isDead()) {
        // Either happened; which, the restart tells.
        cutEither = before;
      }
      model.cutTo(to);
      appends.values().removeIf(serial -> serial > to);
      acknowledgedSerial = Math.min(acknowledgedSerial, to);
      acknowledge();
    }

    private List<Mutation> cutEither = List.of();

    private void compact() {
      settle();
      if (!fixture.disk.isDead() && model.committed > 0) {
        submit(new Compact(nextId++, model.snapshotAt(model.committed)));
        fixture.runAll();
        acknowledge();
      }
    }

    private void settle() {
      fixture.runAll();
      acknowledge();
    }

    private void submit(DiskAction... actions) {
      fixture.submit(chunk, actions);
    }

    private void acknowledge() {
      for (ReplicaEvent event : fixture.events) {
        if (event instanceof ReplicaEvent.DiskFailed failure) {
          assertThat(fixture.disk.isDead()).as(name + ": " + failure.why()).isTrue();
        }
      }
      long done = fixture.doneThrough();
      assertThat(done).as(name).isGreaterThanOrEqualTo(handledDone);
      handledDone = done;
      for (long serial : appends.headMap(done, true).values()) {
        acknowledgedSerial = Math.max(acknowledgedSerial, serial);
      }
      appends.headMap(done, true).clear();
      for (long version : promises.headMap(done, true).values()) {
        acknowledgedPromise = Math.max(acknowledgedPromise, version);
      }
      promises.headMap(done, true).clear();
    }

    /** A reader sees exactly the bytes of some published serial. */
    private void checkReads() throws IOException {
      if (fixture.disk.isDead()) {
        return;
      }
      long serial = chunk.committedSerial();
      byte[] expected = model.contentAt(serial);
      assertThat(chunk.committedLength()).as(name).isEqualTo(expected.length);
      int offset = random.nextInt(expected.length + 1);
      int wanted = 1 + random.nextInt(200_000);
      ReadPart part = chunk.read(offset, wanted, Long.MAX_VALUE, ByteBuffer::allocate);
      ByteBuffer should =
          ByteBuffer.wrap(expected, offset, Math.min(wanted, expected.length - offset));
      assertThat(part.payload()).as(name).isEqualTo(should);
      assertThat(part.checksums()).as(name).isEqualTo(Checksums.of(should, 1 << 16));
    }

    private boolean restart() throws IOException {
      store = fixture.open();
      if (store.chunk(HANDLE).isEmpty()) {
        // Only a power cut before anything was forced may take the whole chunk away.
        assertThat(crash).as(name).isEqualTo(Crash.POWER_CUT);
        assertThat(acknowledgedPromise).as(name).isEqualTo(1);
        assertThat(durability == Durability.SYNCED && acknowledgedSerial > 0).as(name).isFalse();
        return false;
      }
      nextId = 1;
      handledDone = 0;
      appends.clear();
      promises.clear();
      chunk = fixture.chunk(store, HANDLE);
      ReplicaImage image = chunk.image();
      boolean powerCutReplicated = crash == Crash.POWER_CUT && durability == Durability.REPLICATED;
      assertThat(image.promised()).as(name).isGreaterThanOrEqualTo(acknowledgedPromise);
      if (image.certainty() == Certainty.DAMAGED) {
        // Honest, and only where bytes in place may have outrun what they belong to.
        assertThat(powerCutReplicated).as(name + " damaged").isTrue();
        return false;
      }
      long last = image.snapshot().serial() + image.tail().size();
      if (!cutEither.isEmpty() && last > model.lastSerial()) {
        model.records.clear();
        model.records.addAll(cutEither);
      }
      cutEither = List.of();
      assertThat(last).as(name).isLessThanOrEqualTo(model.lastSerial());
      if (powerCutReplicated) {
        assertThat(image.certainty()).as(name).isEqualTo(Certainty.UNCERTAIN);
      } else {
        assertThat(last).as(name + " acknowledged").isGreaterThanOrEqualTo(acknowledgedSerial);
        if (crash == Crash.PROCESS_KILL) {
          assertThat(image.certainty()).as(name).isEqualTo(Certainty.CERTAIN);
        }
      }
      model.cutTo(last);
      assertThat(model.agreesWith(image)).as(name + " history").isTrue();
      assertThat(image.committedSerial()).as(name).isLessThanOrEqualTo(model.committed);
      model.committed = image.committedSerial();
      acknowledgedSerial = last;
      acknowledgedPromise = image.promised();
      promised = image.promised();
      checkContent();
      return true;
    }

    /** After commit of everything and a little while, the flat file is the content. */
    private void checkContent() throws IOException {
      checkReads();
      if (random.nextInt(3) > 0 || model.lastSerial() == 0) {
        return;
      }
      model.committed = model.lastSerial();
      submit(new Commit(nextId++, model.committed, model.length()));
      fixture.runAll();
      fixture.pass(100_000_000);
      fixture.runAll();
      acknowledge();
      byte[] expected = model.contentAt(model.committed);
      assertThat(fixture.disk.bytes("chunks/1c/51c.data")).as(name + " cmp").isEqualTo(expected);
      assertThat(chunk.checksum()).as(name).isEqualTo(Crc32c.of(ByteBuffer.wrap(expected)));
      assertThat(chunk.badBlocks(0, 1 << 14)).as(name).isEmpty();
    }
  }
}
