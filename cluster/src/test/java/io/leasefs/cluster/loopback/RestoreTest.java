package io.leasefs.cluster.loopback;

import static org.assertj.core.api.Assertions.assertThat;

import com.google.gson.JsonArray;
import com.google.gson.JsonElement;
import io.leasefs.common.model.Ordinal;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Random;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** The master is started on an older copy of its folder: nothing that was acknowledged goes. */
@Timeout(120)
class RestoreTest {
  @TempDir Path local;
  private InProcessCluster cluster;
  private Shell shell;

  @BeforeEach
  void start() throws Exception {
    cluster = InProcessCluster.start(3);
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

  private static void copyFolder(Path from, Path to) throws IOException {
    try (Stream<Path> all = Files.walk(from)) {
      for (Path path : (Iterable<Path>) all::iterator) {
        Path copy = to.resolve(from.relativize(path));
        if (Files.isDirectory(path)) {
          Files.createDirectories(copy);
        } else if (!String.valueOf(path.getFileName()).endsWith("lock")) {
          Files.copy(path, copy);
        }
      }
    }
  }

  private void putBack(Path backup) throws IOException {
    try (Stream<Path> all = Files.walk(cluster.masterFolder())) {
      for (Path path : all.sorted(Comparator.reverseOrder()).toList()) {
        Files.delete(path);
      }
    }
    copyFolder(backup, cluster.masterFolder());
  }

  /** Data files of all servers. */
  private List<Path> copies() {
    List<Path> found = new ArrayList<>();
    for (String server : cluster.names()) {
      try (Stream<Path> all = Files.walk(cluster.folder(server).resolve("chunks"))) {
        all.filter(path -> path.toString().endsWith(".data")).forEach(found::add);
      } catch (IOException e) {
        throw new UncheckedIOException(e);
      }
    }
    found.sort(Comparator.comparing(Path::toString));
    return found;
  }

  private void await(String what, BooleanSupplier holds) {
    long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(40);
    while (!holds.getAsBoolean()) {
      assertThat(System.nanoTime()).as("in time: %s", what).isLessThan(deadline);
      LockSupport.parkNanos(50_000_000);
    }
  }

  private List<String> quarantined() {
    JsonArray copies =
        shell.run("quarantine", "ls", "--json").mustBe(0).json().get(0).getAsJsonArray();
    return copies.asList().stream()
        .map(JsonElement::getAsJsonObject)
        .map(copy -> copy.get("reason").getAsString())
        .toList();
  }

  /**
   * F20, step by step: 1. a file; 2. a backup; 3. more files, one of them the first one's
   * continuation; 4. the backup is put back; 5. the master says that its log is short, gives and
   * deletes nothing; 6. the generation is raised; 7. what the log knows is read, what it does not
   * know is in quarantine, and numbers lead all that there were.
   */
  @Test
  @Tag("F20")
  void masterThatIsPutBackToAnOldBackupQuarantinesWhatItsLogDoesNotKnow() throws Exception {
    byte[] before = noise(300_000);
    shell.pipe(before, "put", "-", "/before").mustBe(0);
    cluster.stopMaster();
    copyFolder(cluster.masterFolder(), local.resolve("backup"));
    cluster.startMaster();
    cluster.awaitNodes(3);
    shell.pipe(noise(2_500_000), "put", "-", "/after").mustBe(0); // three chunks, nine copies
    long lost = handle("/after");
    // A member that was late for a chunk's birth gets its copy later.
    await("every chunk has three copies", () -> copies().size() == 12);
    List<Path> all = copies();
    cluster.stopMaster();
    putBack(local.resolve("backup"));
    cluster.startMaster();

    await("the log is known to be short", () -> shell.run("status").exit() == 7);
    shell.run("status").mustFail(7, "the master's log is short", "has heard of");
    assertThat(shell.run("fsck").err()).contains("leasefs masters raise-generation");
    shell.pipe(noise(10), "put", "-", "/new").mustFail(7, "the master's log is short");
    shell.run("rm", "--skip-trash", "/before").mustFail(7, "the master's log is short");
    assertThat(shell.run("cat", "/before").mustBe(0).outBytes()).isEqualTo(before);
    assertThat(copies()).isEqualTo(all);

    shell.run("masters", "raise-generation").mustFail(2, "not confirmed");
    await(
        "no lost lease can be held",
        () -> shell.run("masters", "raise-generation", "--yes").exit() == 0);
    cluster.awaitNodes(3);
    await("all has been reported", () -> quarantined().size() == 9);
    assertThat(quarantined()).containsOnly("lost");
    assertThat(shell.run("cat", "/before").mustBe(0).outBytes()).isEqualTo(before);
    shell.run("stat", "/after").mustFail(3, "/after");
    shell.pipe(noise(500), "put", "-", "/new").mustBe(0);
    assertThat(handle("/new")).isGreaterThan(lost);
    assertThat(Ordinal.generation(handle("/new"))).isEqualTo(1);
    shell.pipe(noise(500), "append", "-", "/before").mustBe(0);
    assertThat(copies()).containsAll(all);
    assertThat(shell.run("status").mustBe(0).out()).contains("quarantine 9 copies");
    assertThat(shell.run("fsck").mustBe(0).err()).contains("9 copies are in quarantine");

    cluster.stopMaster();
    cluster.startMaster();
    cluster.awaitNodes(3);
    await("the log is whole, and the quarantine the same", () -> quarantined().size() == 9);

    shell.run("quarantine", "rm", "--all", "--yes").mustBe(0);
    await("what was ordered is done", () -> quarantined().isEmpty());
    assertThat(copies()).hasSize(all.size() - 9 + 3);
    shell.run("status", "--check").mustBe(0);
  }

  private long handle(String path) {
    String text =
        shell
            .run("chunk", "ls", "--json", path)
            .mustBe(0)
            .json()
            .get(0)
            .getAsJsonArray()
            .get(0)
            .getAsJsonObject()
            .get("chunk")
            .getAsString();
    return Long.parseLong(text.substring(2), 16);
  }
}
