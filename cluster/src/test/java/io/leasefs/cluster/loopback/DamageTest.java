package io.leasefs.cluster.loopback;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import com.google.gson.JsonElement;
import io.leasefs.client.FileWriter;
import io.leasefs.client.LeaseFs;
import io.leasefs.client.RecordAppender;
import io.leasefs.common.api.Heartbeat.ReplicaReport;
import io.leasefs.common.error.LeaseFsException;
import io.leasefs.common.model.ChunkLayout;
import io.leasefs.common.model.Location;
import java.io.IOException;
import java.io.RandomAccessFile;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Comparator;
import java.util.HashSet;
import java.util.List;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Disks that are full or lie: what was acknowledged is served, and made whole again. */
@Timeout(90)
class DamageTest {
  private InProcessCluster cluster;
  private Shell shell;

  @BeforeEach
  void start() throws Exception {
    cluster = InProcessCluster.start(4);
    shell = cluster.shell();
  }

  @AfterEach
  void stop() {
    cluster.close();
  }

  private static byte[] noise(int length) {
    byte[] bytes = new byte[length];
    new Random(length).nextBytes(bytes);
    return bytes;
  }

  /** The servers that hold the file's only chunk. */
  private List<String> holders(String path) {
    return shell
        .run("chunk", "ls", "--json", path)
        .mustBe(0)
        .json()
        .get(0)
        .getAsJsonArray()
        .get(0)
        .getAsJsonObject()
        .getAsJsonArray("members")
        .asList()
        .stream()
        .map(JsonElement::getAsString)
        .toList();
  }

  /** The file of a server that ends so, of the only chunk that there is. */
  private Path only(String server, String ending) throws IOException {
    try (Stream<Path> all = Files.walk(cluster.folder(server).resolve("chunks"))) {
      List<Path> found = all.filter(path -> path.toString().endsWith(ending)).toList();
      assertThat(found).hasSize(1);
      return found.get(0);
    }
  }

  private static void flip(Path file, int offset) throws IOException {
    byte[] bytes = Files.readAllBytes(file);
    bytes[offset] ^= 0x40;
    Files.write(file, bytes);
  }

  /** Waits until so many copies are there and each is good on its disk. */
  private void awaitGoodCopies(String path, int copies) {
    long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(60);
    while (true) {
      CommandLineRun verify = shell.run("chunk", "verify", path);
      if (verify.exit() == 0 && verify.outLines().size() == copies + 1) {
        return;
      }
      assertThat(System.nanoTime())
          .as("in time: %s%n%s", verify.out(), verify.err())
          .isLessThan(deadline);
      LockSupport.parkNanos(50_000_000);
    }
  }

  @Test
  void damagedBlockIsNeverServedAndItsCopyIsReplaced() throws Exception {
    byte[] content = noise(300_000);
    shell.pipe(content, "put", "-", "/file").mustBe(0);
    List<String> holders = holders("/file");
    flip(only(holders.get(0), ".data"), 200_000);
    flip(only(holders.get(1), ".data"), 10);
    CommandLineRun verify = shell.run("chunk", "verify", "/file").mustBe(7);
    assertThat(verify.out()).contains("bad blocks [3]").contains("bad blocks [0]");
    for (int i = 0; i < 5; i++) {
      assertThat(shell.run("cat", "/file").mustBe(0).outBytes()).isEqualTo(content);
    }
    awaitGoodCopies("/file", 3);
    assertThat(shell.run("events", "--kind", "REPLICA_DAMAGED").mustBe(0).outLines()).isNotEmpty();
    assertThat(shell.run("cat", "/file").mustBe(0).outBytes()).isEqualTo(content);
  }

  @Test
  void copiesWithDifferentBadBlocksServeTheirFileTogetherAndNoneIsGivenUp() throws Exception {
    byte[] content = noise(600_000);
    shell.pipe(content, "put", "-", "/file").mustBe(0);
    List<String> holders = holders("/file");
    flip(only(holders.get(0), ".data"), 10);
    flip(only(holders.get(1), ".data"), 200_000);
    flip(only(holders.get(2), ".data"), 400_000);
    CommandLineRun verify = shell.run("chunk", "verify", "/file").mustBe(7);
    assertThat(verify.out())
        .contains("bad blocks [0]")
        .contains("bad blocks [3]")
        .contains("bad blocks [6]");
    for (int i = 0; i < 3; i++) {
      assertThat(shell.run("cat", "/file").mustBe(0).outBytes()).isEqualTo(content);
    }
    assertThat(holders("/file")).hasSizeGreaterThanOrEqualTo(2);
  }

  @Test
  void damageInAChunkThatNobodyReadsIsFoundByTheScrubberAndMadeGood() throws Exception {
    stop();
    cluster = InProcessCluster.start(4, List.of("--scrub-rate", "64MiB", "--scrub-every", "1s"));
    shell = cluster.shell();
    byte[] content = noise(300_000);
    shell.pipe(content, "put", "-", "/unread").mustBe(0);
    String holder = holders("/unread").get(1);
    Path data = only(holder, ".data");
    try (RandomAccessFile file = new RandomAccessFile(data.toFile(), "rw")) {
      file.seek(200_000);
      int before = file.read();
      file.seek(200_000);
      file.write(before ^ 1);
    }
    await(
        "the master hears of it",
        () -> !shell.run("events", "--kind", "REPLICA_DAMAGED").mustBe(0).outLines().isEmpty());
    assertThat(cluster.folder(holder).resolve("events.jsonl"))
        .content()
        .contains("SCRUB_FOUND_DAMAGE")
        .contains("[3]");
    awaitGoodCopies("/unread", 3);
    assertThat(shell.run("cat", "/unread").mustBe(0).outBytes()).isEqualTo(content);
  }

  private static void await(String what, BooleanSupplier condition) {
    long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(60);
    while (!condition.getAsBoolean()) {
      assertThat(System.nanoTime()).as(what).isLessThan(deadline);
      LockSupport.parkNanos(50_000_000);
    }
  }

  @Test
  void damagedJournalKeepsItsServerInServiceAndItsCopyIsReplaced() throws Exception {
    byte[] content = noise(300_000);
    shell.pipe(content, "put", "-", "/file").mustBe(0);
    String holder = holders("/file").get(0);
    cluster.stopChunkServer(holder);
    Path journal = only(holder, ".journal");
    flip(journal, (int) Files.size(journal) / 2);
    cluster.startChunkServer(holder);
    assertThat(shell.run("cat", "/file").mustBe(0).outBytes()).isEqualTo(content);
    cluster.awaitNodes(4);
    awaitGoodCopies("/file", 3);
    assertThat(shell.run("cat", "/file").mustBe(0).outBytes()).isEqualTo(content);
  }

  @Test
  void copyWhoseJournalIsEmptyIsReportedDeletedAndReplaced() throws Exception {
    byte[] content = noise(300_000);
    shell.pipe(content, "put", "-", "/file").mustBe(0);
    String holder = holders("/file").get(0);
    cluster.stopChunkServer(holder);
    Path journal = only(holder, ".journal");
    Files.write(journal, new byte[0]);
    cluster.startChunkServer(holder);
    cluster.awaitNodes(4);
    assertThat(shell.run("cat", "/file").mustBe(0).outBytes()).isEqualTo(content);
    assertThat(cluster.folder(holder).resolve("events.jsonl"))
        .content()
        .contains("REPLICA_DAMAGED");
    awaitGoodCopies("/file", 3);
    await("the dead files are gone", () -> !isEmpty(journal));
    assertThat(shell.run("cat", "/file").mustBe(0).outBytes()).isEqualTo(content);
  }

  /** False where it is not there, too. */
  private static boolean isEmpty(Path file) {
    try {
      return Files.size(file) == 0;
    } catch (IOException e) {
      return false;
    }
  }

  @Test
  void serverWhoseFolderIsDeletedUnderItIsLeftAndSaysSo() throws Exception {
    byte[] content = noise(300_000);
    shell.pipe(content, "put", "-", "/file").mustBe(0);
    String holder = holders("/file").get(1);
    Path chunks = cluster.folder(holder).resolve("chunks");
    try (Stream<Path> all = Files.walk(chunks)) {
      for (Path path : all.sorted(Comparator.reverseOrder()).toList()) {
        Files.delete(path);
      }
    }
    await("its copy is made elsewhere", () -> !holders("/file").contains(holder));
    awaitGoodCopies("/file", 3);
    assertThat(cluster.folder(holder).resolve("events.jsonl")).content().contains("DISK_FAILED");
    for (int i = 0; i < 4; i++) {
      shell.pipe(content, "put", "-", "/new" + i).mustBe(0);
      assertThat(holders("/new" + i)).hasSize(3).doesNotContain(holder);
    }
  }

  @Test
  void fullDiskIsLeftAndWhereAllAreFullNothingHalfIsLeftBehind() {
    byte[] content = noise(3 << 20);
    fault("cs1", "full-disk");
    shell.pipe(content, "put", "-", "/one-full").mustBe(0);
    assertThat(shell.run("cat", "/one-full").mustBe(0).outBytes()).isEqualTo(content);
    List<String> others = List.of("cs2", "cs3", "cs4");
    others.forEach(name -> fault(name, "full-disk"));
    CommandLineRun refused = shell.pipe(content, "--timeout", "3s", "put", "-", "/all-full");
    assertThat(refused.exit()).as(refused.err()).isIn(6, 9);
    assertThat(refused.err()).startsWith("leasefs: put: ").doesNotContain("\tat ");
    cluster.names().forEach(name -> fault(name, "heal"));
    assertThat(refused.err())
        .contains("leasefs: put: /all-full: not put, and nothing of it is kept");
    shell.run("stat", "/all-full").mustFail(3, "/all-full");
    assertThat(shell.run("cat", "/one-full").mustBe(0).outBytes()).isEqualTo(content);
    shell.pipe(content, "put", "-", "/roomy").mustBe(0);
    assertThat(shell.run("cat", "/roomy").mustBe(0).outBytes()).isEqualTo(content);
  }

  @Test
  void writerWhoseDisksFillUpUnderItGoesOnElsewhereAndNothingIsLost() {
    shell.run("touch", "/records").mustBe(0);
    try (LeaseFs client = cluster.client();
        RecordAppender records = client.recordAppender("/records")) {
      StringBuilder written = new StringBuilder();
      for (int i = 0; i < 40; i++) {
        if (i == 10) {
          fault(holders("/records").get(0), "full-disk");
        }
        if (i == 30) {
          cluster.names().forEach(name -> fault(name, "heal"));
        }
        String record = "record " + i + ";";
        var _ = records.append(ByteBuffer.wrap(record.getBytes(UTF_8)));
        written.append(record);
      }
      assertThat(shell.run("cat", "/records").mustBe(0).out()).isEqualTo(written.toString());
    }
    await("every copy is whole again", () -> shell.run("fsck").exit() == 0);
  }

  @Test
  void memberOfAnOpenChunkThatRestartsIsBroughtUpThoughNobodyWrites() throws Exception {
    byte[] content = noise(200_000);
    try (LeaseFs client = cluster.client();
        FileWriter writer = client.create("/idle")) {
      writer.write(content);
      writer.flush();
      String secondary = holders("/idle").get(1);
      cluster.stopChunkServer(secondary);
      cluster.startChunkServer(secondary);
      await("all members act in one version again", () -> haveTheSame(client, "/idle", 3));
    }
    assertThat(shell.run("cat", "/idle").mustBe(0).outBytes()).isEqualTo(content);
  }

  /** So many members, and each has started the active version and has all of it. */
  private static boolean haveTheSame(LeaseFs client, String path, int members) {
    ChunkLayout chunk = client.layout(path).chunks().get(0);
    long version = chunk.configuration().version();
    Set<Long> ends = new HashSet<>();
    for (Location location : chunk.locations()) {
      try {
        ReplicaReport report =
            LeaseFs.join(client.chunkServer(location.address()).inspect(chunk.handle(), false))
                .report();
        ends.add(report.accepted() == version ? report.committedSerial() : -1L);
      } catch (LeaseFsException e) {
        ends.add(-2L); // it has only just started
      }
    }
    return version > 1
        && chunk.locations().size() == members
        && ends.size() == 1
        && !ends.contains(-1L)
        && !ends.contains(-2L);
  }

  private void fault(String server, String command) {
    try (LeaseFs client = cluster.client()) {
      client.chunkServer(cluster.address(server)).fault(command, List.of()).join();
    }
  }
}
