package io.leasefs.client;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.leasefs.client.fake.FakeChunkServer;
import io.leasefs.client.fake.FakeMaster;
import io.leasefs.client.fake.FakeNetwork;
import io.leasefs.client.fake.Layouts;
import io.leasefs.common.api.Frame;
import io.leasefs.common.checksum.Checksums;
import io.leasefs.common.error.ErrorCode;
import io.leasefs.common.error.LeaseFsException;
import io.leasefs.common.model.ChunkHandle;
import io.leasefs.common.model.ChunkLayout;
import io.leasefs.common.model.ChunkSeal;
import io.leasefs.common.model.ClientId;
import io.leasefs.common.model.FileId;
import io.leasefs.common.model.FileLayout;
import io.leasefs.common.model.FilePath;
import io.leasefs.common.model.FileStatus;
import io.leasefs.common.model.ServerId;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

class FileReaderTest {
  private static final int MIB = 1 << 20;
  private static final int CHUNK = 3 * MIB;

  private final byte[] content = new byte[CHUNK + 2 * MIB + 12_345];
  private final FakeNetwork network = new FakeNetwork();
  private final Holder[] holders = {new Holder(1), new Holder(2), new Holder(3)};
  private final Master master = new Master();
  private final LeaseFs files =
      LeaseFs.connect(LeaseFsConfig.of("m1:9000").withTimeout(Duration.ofSeconds(5)), network);

  /** Two chunks; the second is open where {@code openLength} is set. */
  private final class Master extends FakeMaster {
    final AtomicInteger layouts = new AtomicInteger();
    final List<String> damaged = new ArrayList<>();
    boolean open;

    /** It has not heard yet that the second chunk is sealed. */
    boolean isBehind;

    @Override
    public CompletableFuture<Greeting> greet(ClientId client) {
      return CompletableFuture.completedFuture(
          new Greeting("cluster", "0", new ServerId("m1"), 1, 0, 0, 10_000_000_000L, CHUNK, 3));
    }

    private FileLayout layout() {
      layouts.incrementAndGet();
      ChunkLayout first =
          Layouts.chunk(
              0, 0, CHUNK, 1, 0, List.of(1, 2, 3), Optional.of(new ChunkSeal(4, CHUNK, 0)));
      ChunkLayout second =
          Layouts.chunk(
              1,
              CHUNK,
              CHUNK,
              1,
              open ? 2 : 0,
              List.of(1, 2, 3),
              open ? Optional.empty() : Optional.of(new ChunkSeal(4, content.length - CHUNK, 0)));
      return new FileLayout(Layouts.FILE, status(), List.of(first, second), true);
    }

    private FileStatus status() {
      return Layouts.status(open ? CHUNK : content.length, open ? 1 : 0, 2);
    }

    @Override
    public CompletableFuture<FileStatus> stat(FilePath path) {
      return CompletableFuture.completedFuture(status());
    }

    @Override
    public CompletableFuture<FileLayout> layout(FilePath path, int fromIndex, int limit) {
      return path.equals(Layouts.PATH)
          ? CompletableFuture.completedFuture(layout())
          : failure(ErrorCode.NOT_FOUND, path + ": not there");
    }

    @Override
    public CompletableFuture<FileLayout> layout(FileId file, int fromIndex, int limit) {
      return CompletableFuture.completedFuture(layout());
    }

    @Override
    public CompletableFuture<Void> reportDamaged(ChunkHandle chunk, ServerId server, long block) {
      damaged.add(chunk + " " + server + " " + block);
      return CompletableFuture.completedFuture(null);
    }
  }

  /** A replica holder that sends parts of 256 KiB; one block may be bad, or it may be gone. */
  private final class Holder extends FakeChunkServer {
    private static final int PART = 4 * Frame.PIECE;

    final int number;
    final AtomicInteger reads = new AtomicInteger();
    long badAt = -1;
    Optional<ErrorCode> failure = Optional.empty();
    long committed = (long) content.length - CHUNK;

    Holder(int number) {
      this.number = number;
    }

    @Override
    public CompletableFuture<ReadEnd> read(ReadRequest request, Sink<ReadPart> parts) {
      reads.incrementAndGet();
      if (failure.isPresent()) {
        return CompletableFuture.failedFuture(
            new LeaseFsException(failure.get(), "cs" + number + " fails"));
      }
      boolean first = request.chunk().value() == 100;
      int base = first ? 0 : CHUNK;
      long length = first ? CHUNK : committed;
      long end = Math.min(length, request.offset() + request.lengthBytes());
      for (long at = request.offset(); at < end; at += PART) {
        byte[] bytes =
            Arrays.copyOfRange(content, (int) (base + at), (int) (base + Math.min(end, at + PART)));
        ByteBuffer payload = ByteBuffer.wrap(bytes);
        Checksums checksums = Checksums.of(payload, Frame.PIECE);
        long bad = badAt - base - at;
        if (bad >= 0 && bad < bytes.length) {
          bytes[(int) bad] ^= 1;
        }
        parts.accept(new ReadPart(at, checksums, payload));
      }
      return CompletableFuture.completedFuture(
          new ReadEnd(length, 1, !master.open || master.isBehind || first));
    }
  }

  @BeforeEach
  void fill() {
    new Random(5).nextBytes(content);
    network.masters.put("m1:9000", master);
    for (Holder holder : holders) {
      network.chunkServers.put(Layouts.address(holder.number).toString(), holder);
    }
  }

  @AfterEach
  void close() {
    files.close();
  }

  private FileReader open() {
    return files.open("/file");
  }

  @Test
  void readsTheWholeFileInSequenceOverItsChunks() throws IOException {
    try (FileReader reader = open()) {
      assertThat(reader.stream().readAllBytes()).isEqualTo(content);
      assertThat(reader.read(ByteBuffer.allocate(1))).isEqualTo(-1);
    }
  }

  @Test
  void smallSequentialReadsAndSeeksGiveTheSameBytes() {
    Random random = new Random(9);
    try (FileReader reader = open()) {
      for (int i = 0; i < 500; i++) {
        if (i % 10 == 0) {
          reader.seek(random.nextInt(content.length));
        }
        byte[] part = new byte[1 + random.nextInt(100_000)];
        int from = (int) reader.position();
        int count = reader.read(part, 0, part.length);
        if (count < 0) {
          assertThat(from).isEqualTo(content.length);
        } else {
          assertThat(Arrays.copyOf(part, count))
              .isEqualTo(Arrays.copyOfRange(content, from, from + count));
          assertThat(reader.position()).isEqualTo(from + count);
        }
      }
    }
  }

  @Test
  void positionalReadsCrossChunksAndEndAtTheEnd() {
    try (FileReader reader = open()) {
      ByteBuffer across = ByteBuffer.allocate(200_000);
      assertThat(reader.read(CHUNK - 100_000, across)).isEqualTo(200_000);
      assertThat(across.array())
          .isEqualTo(Arrays.copyOfRange(content, CHUNK - 100_000, CHUNK + 100_000));
      assertThat(reader.read(content.length - 5, ByteBuffer.allocate(10))).isEqualTo(5);
      assertThat(reader.read(content.length, ByteBuffer.allocate(10))).isEqualTo(-1);
      assertThat(reader.position()).isEqualTo(0);
    }
  }

  @Test
  void aBadPieceIsReadElsewhereReportedAndNeverSeen() {
    for (Holder holder : holders) {
      holder.badAt = holder.number == 3 ? -1 : 70_000;
    }
    try (FileReader reader = open()) {
      ByteBuffer target = ByteBuffer.allocate(300_000);
      assertThat(reader.read(0, target)).isEqualTo(300_000);
      assertThat(target.array()).isEqualTo(Arrays.copyOf(content, 300_000));
    }
    assertThat(holders[2].reads.get()).isEqualTo(1);
    assertThat(master.damaged).allMatch(report -> report.matches("0x64 cs[12] 1"));
    int before = holders[0].reads.get() + holders[1].reads.get();
    assertThat(master.damaged).hasSize(before);
  }

  @Test
  void replicasWithDifferentBadBlocksServeEachOthers() {
    for (Holder holder : holders) {
      holder.badAt = holder.number * 130_000L;
    }
    try (FileReader reader = open()) {
      for (int i = 0; i < 3; i++) {
        ByteBuffer target = ByteBuffer.allocate(600_000);
        assertThat(reader.read(0, target)).isEqualTo(600_000);
        assertThat(target.array()).isEqualTo(Arrays.copyOf(content, 600_000));
      }
    }
    assertThat(master.damaged).isSubsetOf("0x64 cs1 1", "0x64 cs2 3", "0x64 cs3 5");
  }

  @Test
  void whereNoReplicaIsGoodTheReadFailsWithCorrupt() {
    for (Holder holder : holders) {
      holder.badAt = 70_000;
    }
    try (FileReader reader = open()) {
      assertThatThrownBy(() -> reader.read(0, ByteBuffer.allocate(100_000)))
          .isInstanceOf(LeaseFsException.class)
          .hasMessageContaining("/file: chunk 0x64: bad block 1 from cs")
          .extracting(failure -> ((LeaseFsException) failure).code())
          .isEqualTo(ErrorCode.CORRUPT);
      // The block before the bad one is good and can be had.
      assertThat(reader.read(0, ByteBuffer.allocate(Frame.PIECE))).isEqualTo(Frame.PIECE);
    }
  }

  @Test
  void aServerThatIsGoneIsAskedLastAfterwards() {
    holders[0].failure = Optional.of(ErrorCode.UNREACHABLE);
    holders[1].failure = Optional.of(ErrorCode.UNREACHABLE);
    try (FileReader reader = open()) {
      for (int i = 0; i < 10; i++) {
        assertThat(reader.read(i * 1000L, ByteBuffer.allocate(1000))).isEqualTo(1000);
      }
    }
    assertThat(holders[0].reads.get()).isLessThanOrEqualTo(1);
    assertThat(holders[1].reads.get()).isLessThanOrEqualTo(1);
    assertThat(holders[2].reads.get()).isEqualTo(10);
  }

  @Test
  void aLayoutThatDoesNotHoldAnyMoreIsFetchedAnew() {
    for (Holder holder : holders) {
      holder.failure = Optional.of(ErrorCode.STALE_VERSION);
    }
    try (FileReader reader = open()) {
      int before = master.layouts.get();
      Thread heal =
          new Thread(
              () -> {
                while (master.layouts.get() == before) {
                  Thread.onSpinWait();
                }
                for (Holder holder : holders) {
                  holder.failure = Optional.empty();
                }
              });
      heal.start();
      assertThat(reader.read(0, ByteBuffer.allocate(1000))).isEqualTo(1000);
      assertThat(master.layouts.get()).isGreaterThan(before);
    }
  }

  @Test
  void anOpenFileIsReadUpToWhatIsCommittedAndItsPrimaryTellsTheLength() {
    master.open = true;
    for (Holder holder : holders) {
      holder.committed = 100_000;
    }
    assertThat(files.stat("/file").lengthBytes()).isEqualTo(CHUNK + 100_000);
    assertThat(holders[1].reads.get()).isEqualTo(1);
    try (FileReader reader = open()) {
      reader.seek(CHUNK);
      byte[] part = new byte[200_000];
      assertThat(reader.read(part, 0, part.length)).isEqualTo(100_000);
      assertThat(reader.read(part, 0, part.length)).isEqualTo(-1);
      holders[1].committed = 150_000;
      assertThat(reader.read(part, 0, part.length)).isEqualTo(50_000);
      assertThat(Arrays.copyOf(part, 50_000))
          .isEqualTo(Arrays.copyOfRange(content, CHUNK + 100_000, CHUNK + 150_000));
      assertThat(reader.length()).isEqualTo(CHUNK + 150_000);
    }
  }

  @Test
  void endOfAChunkWhoseSealTheMasterDoesNotKnowIsTheEndOfTheFileOnceItHasBeenAsked() {
    master.open = true;
    master.isBehind = true;
    try (FileReader reader = open()) {
      assertThat(reader.read(CHUNK, ByteBuffer.allocate(3 * MIB))).isEqualTo(2 * MIB + 12_345);
      int before = master.layouts.get();
      assertThat(reader.read(content.length, ByteBuffer.allocate(10))).isEqualTo(-1);
      assertThat(master.layouts.get() - before).isEqualTo(1);
    }
  }

  @Test
  void theLayoutIsFetchedOnceForManyReads() {
    try (FileReader reader = open()) {
      int before = master.layouts.get();
      for (int i = 0; i < 100; i++) {
        assertThat(reader.read(i, ByteBuffer.allocate(10))).isEqualTo(10);
      }
      assertThat(master.layouts.get()).isEqualTo(before);
    }
  }

  @Test
  void aMissingFileIsToldAtOpen() {
    assertThatThrownBy(() -> files.open("/none"))
        .isInstanceOf(LeaseFsException.class)
        .hasMessageContaining("/none: not there");
  }

  @Test
  void readFullyFailsWhereTheFileEndsBefore() {
    try (FileReader reader = open()) {
      assertThatThrownBy(() -> reader.readFully(content.length - 5, ByteBuffer.allocate(10)))
          .isInstanceOf(LeaseFsException.class)
          .hasMessageContaining("ends before");
    }
  }
}
