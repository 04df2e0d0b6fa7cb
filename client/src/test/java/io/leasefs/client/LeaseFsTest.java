package io.leasefs.client;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.leasefs.client.fake.FakeChunkServer;
import io.leasefs.client.fake.FakeNetwork;
import io.leasefs.client.fake.Layouts;
import io.leasefs.client.fake.MemoryCluster;
import io.leasefs.common.api.Frame;
import io.leasefs.common.error.ErrorCode;
import io.leasefs.common.error.LeaseFsException;
import io.leasefs.common.model.AppendResult;
import io.leasefs.common.model.FileStatus;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Iterator;
import java.util.List;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Consumer;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

class LeaseFsTest {
  private static final int CHUNK = 4 << 20;

  private final FakeNetwork network = new FakeNetwork();
  private final MemoryCluster cluster = new MemoryCluster(CHUNK);
  private final LeaseFs files =
      LeaseFs.connect(LeaseFsConfig.of("m1:9000").withTimeout(Duration.ofSeconds(5)), network);

  @BeforeEach
  void connect() {
    network.masters.put("m1:9000", cluster.master);
    network.chunkServers.put(Layouts.address(1).toString(), cluster.chunkServer);
  }

  @AfterEach
  void close() {
    files.close();
  }

  private static byte[] random(int bytes) {
    byte[] content = new byte[bytes];
    new Random(bytes).nextBytes(content);
    return content;
  }

  private byte[] read(String path) throws IOException {
    try (FileReader reader = files.open(path)) {
      return reader.stream().readAllBytes();
    }
  }

  private void write(String path, byte[] content, int step) {
    try (FileWriter writer = files.create(path)) {
      for (int at = 0; at < content.length; at += step) {
        writer.write(content, at, Math.min(step, content.length - at));
      }
    }
  }

  @Test
  void whatIsWrittenIsReadWhateverItsLength() throws IOException {
    int[] lengths = {0, 1, 65_536, (1 << 20) - 1, 1 << 20, CHUNK, CHUNK + 1, 3 * CHUNK + 12_345};
    for (int length : lengths) {
      byte[] content = random(length);
      write("/f" + length, content, 100_000);
      assertThat(files.stat("/f" + length).lengthBytes()).isEqualTo(length);
      assertThat(read("/f" + length)).isEqualTo(content);
    }
  }

  @Test
  void aFileOfExactlyOneChunkHasOneChunk() {
    write("/one", random(CHUNK), 1 << 20);
    assertThat(files.layout("/one").chunks()).hasSize(1);
  }

  @Test
  void flushedBytesAreVisibleBeforeTheClose() {
    try (FileWriter writer = files.create("/log")) {
      writer.write("hello ".getBytes(StandardCharsets.UTF_8));
      writer.flush();
      writer.write("world".getBytes(StandardCharsets.UTF_8));
      assertThat(writer.acknowledged()).isEqualTo(6);
      assertThat(files.stat("/log").lengthBytes()).isEqualTo(6);
      try (FileReader reader = files.open("/log")) {
        byte[] found = new byte[100];
        assertThat(reader.read(found, 0, 100)).isEqualTo(6);
        assertThat(reader.read(found, 0, 100)).isEqualTo(-1);
        writer.flush();
        assertThat(reader.read(found, 0, 100)).isEqualTo(5);
        assertThat(new String(found, 0, 5, StandardCharsets.UTF_8)).isEqualTo("world");
      }
    }
    assertThat(files.stat("/log").lengthBytes()).isEqualTo(11);
  }

  @Test
  void appendGoesOnBehindTheOldEnd() throws IOException {
    write("/log", random(1000), 1000);
    try (FileWriter writer = files.append("/log")) {
      writer.write(random(500));
    }
    byte[] found = read("/log");
    assertThat(Arrays.copyOf(found, 1000)).isEqualTo(random(1000));
    assertThat(Arrays.copyOfRange(found, 1000, 1500)).isEqualTo(random(500));
  }

  @Test
  void readAcrossTheEndOfAChunkThatWasSealedMeanwhileGoesOnToTheEndOfTheFile() {
    byte[] content = random(CHUNK + 500);
    try (LeaseFs other = LeaseFs.connect(LeaseFsConfig.of("m1:9000"), network);
        FileWriter writer = files.create("/log");
        FileReader reader = other.open("/log")) {
      writer.write(content, 0, 1 << 20);
      writer.flush();
      assertThat(reader.read((1 << 20) - 10, ByteBuffer.allocate(20))).isEqualTo(10); // still open
      writer.write(content, 1 << 20, content.length - (1 << 20));
      writer.flush();
      ByteBuffer end = ByteBuffer.allocate(2000);
      assertThat(reader.read(CHUNK - 1000, end)).isEqualTo(1500);
      assertThat(end.array()).startsWith(Arrays.copyOfRange(content, CHUNK - 1000, CHUNK + 500));
    }
  }

  @Test
  void readThatMeetsTheEndOfTheLastKnownChunkAsksWhetherTheFileGoesOn() {
    byte[] content = random(1500);
    write("/log", Arrays.copyOf(content, 1000), 1000);
    try (FileReader reader = files.open("/log")) {
      assertThat(reader.read(0, ByteBuffer.allocate(2000))).isEqualTo(1000); // knows a closed file
      try (FileWriter writer = files.append("/log")) {
        writer.write(content, 1000, 500);
      }
      assertThat(reader.read(900, ByteBuffer.allocate(2000))).isEqualTo(600);
    }
  }

  @Test
  void writersOfOneFileInOneProcessShareItsSequences() throws IOException {
    write("/log", new byte[0], 1);
    try (RecordAppender one = files.recordAppender("/log");
        RecordAppender other = files.recordAppender("/log")) {
      List<CompletableFuture<AppendResult>> results = new ArrayList<>();
      for (int i = 0; i < 1000; i++) {
        byte[] record = ("r" + i + "\n").getBytes(StandardCharsets.UTF_8);
        results.add((i % 2 == 0 ? one : other).appendAsync(ByteBuffer.wrap(record)));
      }
      assertThat(results.stream().map(result -> LeaseFs.join(result).sequence()).distinct())
          .hasSize(1000);
    }
    try (RecordAppender again = files.recordAppender("/log")) {
      AppendResult last = again.append(ByteBuffer.wrap("r1000\n".getBytes(StandardCharsets.UTF_8)));
      assertThat(last.sequence()).isEqualTo(1001);
    }
    List<String> lines = new String(read("/log"), StandardCharsets.UTF_8).lines().toList();
    assertThat(lines).hasSize(1001);
    for (int i = 0; i < lines.size(); i++) {
      assertThat(lines.get(i)).isEqualTo("r" + i);
    }
  }

  @Test
  void aRecordNeverCrossesChunks() {
    write("/log", new byte[0], 1);
    try (RecordAppender appender = files.recordAppender("/log")) {
      byte[] record = random(900_000);
      for (int i = 0; i < 20; i++) {
        AppendResult result = appender.append(ByteBuffer.wrap(record));
        assertThat(result.chunkOffset() + record.length).isLessThanOrEqualTo(CHUNK);
        byte[] found = new byte[record.length];
        try (FileReader reader = files.open("/log")) {
          reader.readFully(result.fileOffset(), ByteBuffer.wrap(found));
        }
        assertThat(found).isEqualTo(record);
      }
      assertThatThrownBy(() -> appender.append(ByteBuffer.allocate((1 << 20) + 1)))
          .isInstanceOf(LeaseFsException.class)
          .extracting(failure -> ((LeaseFsException) failure).code())
          .isEqualTo(ErrorCode.RECORD_TOO_LARGE);
    }
  }

  @Test
  void aPutAppearsAtItsCommitOnly() throws IOException {
    try (AtomicPut put = files.put("/data", CreateOptions.DEFAULT, false)) {
      put.writer().write(random(5000));
      assertThat(files.find("/data")).isEmpty();
      assertThat(put.commit().path().text()).isEqualTo("/data");
    }
    assertThat(read("/data")).isEqualTo(random(5000));
    assertThat(names("/")).containsExactly("data");
  }

  @Test
  void aPutThatIsNotCommittedLeavesNothing() {
    try (AtomicPut put = files.put("/data", CreateOptions.DEFAULT, false)) {
      put.writer().write(random(5000));
    }
    assertThat(names("/")).isEmpty();
  }

  @Test
  void aPutSpeaksOfItsTargetNotOfItsSibling() {
    assertThatThrownBy(() -> files.put("/none/data", CreateOptions.DEFAULT, false))
        .isInstanceOf(LeaseFsException.class)
        .hasMessage("/none/data: parent directory does not exist");
    write("/there", random(1), 1);
    assertThatThrownBy(() -> files.put("/there", CreateOptions.DEFAULT, false))
        .hasMessage("/there: exists already");
  }

  @Test
  void hiddenSiblingsOfTheLongestNamesAreValidNames() {
    String name = "ü".repeat(127);
    assertThat(HiddenSibling.of(io.leasefs.common.model.FilePath.parse("/" + name), 7).name())
        .startsWith(".leasefs-put-0000000000000007-ü");
  }

  private List<String> names(String path) {
    List<String> names = new ArrayList<>();
    Iterator<FileStatus> entries = files.list(path);
    while (entries.hasNext()) {
      names.add(entries.next().path().name());
    }
    return names;
  }

  @Test
  void longListsComeInPages() {
    FileStatus unused = files.mkdir("/d", false, 0755);
    for (int i = 0; i < 2001; i++) {
      FileStatus touched = files.touch("/d/f" + String.format("%05d", i), CreateOptions.DEFAULT, 0);
      assertThat(touched.chunkCount()).isEqualTo(0);
    }
    assertThat(names("/d")).hasSize(2001).isSorted();
  }

  @Test
  void anotherClusterIsRefused() {
    try (LeaseFs other =
        LeaseFs.connect(LeaseFsConfig.of("m1:9000").withClusterId("mine"), network)) {
      assertThatThrownBy(() -> other.stat("/"))
          .isInstanceOf(LeaseFsException.class)
          .hasMessageContaining("is of cluster cluster, not mine");
    }
  }

  @Test
  void aClosedWriterTakesNothing() {
    FileWriter writer = files.create("/f");
    writer.close();
    writer.close();
    assertThatThrownBy(() -> writer.write(1)).hasMessage("/f: the writer is closed");
  }

  @Test
  void whoWaitsWhenTheClientIsClosedIsToldSo() throws InterruptedException {
    FileWriter writer = files.create("/f");
    network.chunkServers.put(Layouts.address(1).toString(), new SilentChunkServer());
    AtomicReference<LeaseFsException> told = new AtomicReference<>();
    Thread flusher =
        new Thread(
            () -> {
              try {
                writer.write(1);
                writer.flush();
              } catch (LeaseFsException closed) {
                told.set(closed);
              }
            });
    flusher.start();
    while (flusher.getState() != Thread.State.WAITING) {
      Thread.onSpinWait();
    }
    files.close();
    flusher.join(5_000);
    assertThat(told.get()).hasMessageContaining("/f: closed for writing");
    assertThatThrownBy(() -> files.stat("/")).hasMessage("stat /: the client is closed");
  }

  /** Takes every frame and never says a word. */
  private static final class SilentChunkServer extends FakeChunkServer {
    @Override
    public FrameStream mutate(Consumer<NamedAnswer> answers, Consumer<String> broken) {
      return new FrameStream() {
        @Override
        public void send(Frame frame) {}

        @Override
        public boolean isReady() {
          return true;
        }

        @Override
        public void onReady(Runnable task) {}

        @Override
        public void close() {}
      };
    }
  }
}
