package io.leasefs.cluster.loopback;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.BufferedReader;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** How {@code leasefs mini} ends: a real process with real servers. */
@Timeout(120)
class MiniEndTest {
  @TempDir Path local;
  private final List<ProcessHandle> started = new ArrayList<>();

  @AfterEach
  void killLeftovers() {
    started.forEach(ProcessHandle::destroyForcibly);
  }

  @Test
  void interruptedMiniSaysNothingAndLeavesNothing() throws Exception {
    Process mini = startMini();
    assertThat(Files.readString(config())).contains("mini");
    assertThat(temporaryFolders()).isNotEmpty();

    Process kill = new ProcessBuilder("kill", "-INT", Long.toString(mini.pid())).start();
    assertThat(kill.waitFor()).isZero();

    assertThat(mini.waitFor(60, TimeUnit.SECONDS)).isTrue();
    assertThat(mini.exitValue()).isEqualTo(130);
    assertThat(Files.readString(local.resolve("stderr"))).isEmpty();
    assertThat(temporaryFolders()).isEmpty();
    assertThat(Files.readString(config())).doesNotContain("mini");
    assertThat(started).noneMatch(ProcessHandle::isAlive);
  }

  @Test
  void serversEndWithAMiniThatIsKilled() throws Exception {
    Process mini = startMini();

    mini.destroyForcibly();

    long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(60);
    while (started.stream().anyMatch(ProcessHandle::isAlive)) {
      assertThat(System.nanoTime()).as("servers end by themselves").isLessThan(deadline);
      LockSupport.parkNanos(50_000_000);
    }
  }

  @Test
  void serverThatWasKilledIsBroughtBackAndSoIsTheMaster() throws Exception {
    Process mini = startMini();
    for (String server : List.of("cs1", "master")) {
      Path folder = temporaryFolders().get(0).resolve(server);
      long pid = pid(folder);
      ProcessHandle victim = ProcessHandle.of(pid).orElseThrow();
      assertThat(victim.destroyForcibly()).isTrue();
      var _ = victim.onExit().get(30, TimeUnit.SECONDS);

      Process restart = restart(server);

      assertThat(restart.inputReader().readLine()).isEqualTo(server + " runs again");
      assertThat(restart.waitFor()).isZero();
      assertThat(pid(folder)).isNotEqualTo(pid);
    }
    mini.descendants().forEach(started::add);
    assertThat(mini.isAlive()).isTrue();

    Process unknown = restart("cs7");
    assertThat(unknown.waitFor()).isNotZero();
    assertThat(unknown.errorReader().readLine())
        .isEqualTo("leasefs: mini restart: cs7 is no server of this mini-cluster");

    mini.destroyForcibly();
    assertThat(mini.waitFor(60, TimeUnit.SECONDS)).isTrue();
    Process late = restart("cs1");
    assertThat(late.waitFor()).isNotZero();
    assertThat(late.errorReader().readLine()).contains("nobody runs the mini-cluster");
  }

  /** Of the process that has locked this data folder. */
  private static long pid(Path folder) throws IOException {
    return Long.parseLong(Files.readString(folder.resolve("lock")).strip());
  }

  private Process restart(String server) throws IOException {
    ProcessBuilder builder =
        new ProcessBuilder(Programs.command(List.of(), List.of("mini", "restart", server)));
    builder.environment().put("LEASEFS_CONFIG", config().toString());
    return builder.start();
  }

  private Process startMini() throws IOException {
    ProcessBuilder builder =
        new ProcessBuilder(
            Programs.command(
                List.of("-Djava.io.tmpdir=" + local), List.of("mini", "--nodes", "1")));
    builder.environment().put("LEASEFS_CONFIG", config().toString());
    builder.redirectError(local.resolve("stderr").toFile());
    Process mini = builder.start();
    BufferedReader out = mini.inputReader();
    assertThat(Objects.requireNonNull(out.readLine(), this::stderr)).startsWith("cluster ready");
    started.add(mini.toHandle());
    mini.descendants().forEach(started::add);
    assertThat(started).hasSize(3);
    return mini;
  }

  private String stderr() {
    try {
      return Files.readString(local.resolve("stderr"));
    } catch (IOException e) {
      return e.toString();
    }
  }

  private Path config() {
    return local.resolve("config.yaml");
  }

  private List<Path> temporaryFolders() throws IOException {
    try (Stream<Path> files = Files.list(local)) {
      return files.filter(file -> file.getFileName().toString().startsWith("leasefs-")).toList();
    }
  }
}
