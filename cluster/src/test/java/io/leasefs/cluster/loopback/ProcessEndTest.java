package io.leasefs.cluster.loopback;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** How the program ends when its reader goes or its user presses Ctrl-C: real processes. */
@Timeout(60)
class ProcessEndTest {
  private static InProcessCluster cluster;

  @TempDir Path local;
  private final List<Process> started = new ArrayList<>();

  @BeforeAll
  static void start() throws Exception {
    cluster = InProcessCluster.start(3);
  }

  @AfterAll
  static void stop() {
    cluster.close();
  }

  @AfterEach
  void killLeftovers() {
    started.forEach(Process::destroyForcibly);
  }

  @Test
  void readerThatGoesEarlyEndsTheCommandQuietly() throws Exception {
    byte[] content = new byte[5 << 20];
    new Random(5).nextBytes(content);
    cluster.shell().pipe(content, "put", "-", "/big").mustBe(0);
    Process cat = program("cat", "/big");
    try (InputStream out = cat.getInputStream()) {
      assertThat(out.readNBytes(10)).isEqualTo(Arrays.copyOf(content, 10));
    }
    assertThat(cat.waitFor(40, TimeUnit.SECONDS)).isTrue();
    assertThat(stderr()).isEmpty();
    assertThat(cat.exitValue()).isEqualTo(141);
  }

  @Test
  void fullDiskBehindStandardOutputIsTold() throws Exception {
    cluster.shell().pipe(new byte[100_000], "put", "-", "/content").mustBe(0);
    for (List<String> verb : List.of(List.of("cat", "/content"), List.of("ls", "/"))) {
      List<String> all = new ArrayList<>(List.of("-m", cluster.masterAddress().toString()));
      all.addAll(verb);
      Process full =
          new ProcessBuilder(Programs.command(List.of(), all))
              .redirectOutput(Path.of("/dev/full").toFile())
              .redirectError(local.resolve("stderr").toFile())
              .start();
      started.add(full);
      assertThat(full.waitFor(40, TimeUnit.SECONDS)).isTrue();
      assertThat(stderr()).contains("standard output: ").contains("hint: ");
      assertThat(stderr().lines()).hasSize(2);
      assertThat(full.exitValue()).isEqualTo(1);
    }
  }

  @Test
  void interruptedPutLeavesNothingBehind() throws Exception {
    cluster.shell().run("mkdir", "/interrupted").mustBe(0);
    Process put = program("put", "-", "/interrupted/file");
    try (OutputStream in = put.getOutputStream()) {
      in.write(new byte[3 << 20]); // more than pipes and buffers hold: the put has begun
      in.flush();
      Process kill = new ProcessBuilder("kill", "-INT", Long.toString(put.pid())).start();
      assertThat(kill.waitFor()).isZero();
      assertThat(put.waitFor(40, TimeUnit.SECONDS)).isTrue();
      assertThat(put.exitValue()).isEqualTo(130);
    } catch (IOException e) {
      assertThat(e).hasMessageContaining("Broken pipe"); // of the close: its reader has gone
    }
    cluster.shell().run("stat", "/interrupted/file").mustFail(3, "/interrupted/file");
    long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(20);
    while (cluster.shell().run("rmdir", "/interrupted").exit() != 0) {
      assertThat(System.nanoTime()).as("the hidden sibling goes").isLessThan(deadline);
      LockSupport.parkNanos(50_000_000);
    }
  }

  @Test
  void chunkserverOfAnotherClusterEndsWithCodeTwoAndOneLine() throws Exception {
    Process server =
        start(
            List.of(
                "chunkserver",
                "--name",
                "stranger",
                "--data",
                local.resolve("data").toString(),
                "--listen",
                "127.0.0.1:0",
                "--master",
                cluster.masterAddress().toString(),
                "--cluster-id",
                "another"));
    assertThat(server.waitFor(40, TimeUnit.SECONDS)).isTrue();
    assertThat(stderr().lines().filter(line -> line.startsWith("leasefs: ")))
        .singleElement()
        .asString()
        .startsWith("leasefs: chunkserver: stranger belongs to cluster another, not to ");
    assertThat(server.exitValue()).isEqualTo(2);
  }

  private String stderr() throws IOException {
    return Files.readString(local.resolve("stderr"));
  }

  private Process program(String... arguments) throws IOException {
    List<String> all = new ArrayList<>(List.of("-m", cluster.masterAddress().toString()));
    all.addAll(List.of(arguments));
    return start(all);
  }

  private Process start(List<String> arguments) throws IOException {
    List<String> command = Programs.command(List.of(), arguments);
    Process process =
        new ProcessBuilder(command).redirectError(local.resolve("stderr").toFile()).start();
    started.add(process);
    return process;
  }
}
