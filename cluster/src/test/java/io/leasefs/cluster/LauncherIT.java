package io.leasefs.cluster;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Runs the script of the unpacked distribution, copied to a folder of its own. */
class LauncherIT {
  private static final Path DIST = Path.of("target", "dist").toAbsolutePath();

  @TempDir Path temporary;
  private Path script = Path.of("unset");

  private record Outcome(int exitCode, String out, String err) {}

  @BeforeEach
  void unpack() throws IOException {
    Path home = temporary.resolve("lease fs");
    try (Stream<Path> files = Files.walk(DIST)) {
      for (Path from : files.filter(file -> !file.toString().contains("/lib/aot/")).toList()) {
        Path to = home.resolve(DIST.relativize(from).toString());
        if (Files.isDirectory(from)) {
          Files.createDirectories(to);
        } else if (!from.getFileName().toString().startsWith(".")) {
          Files.copy(from, to, StandardCopyOption.COPY_ATTRIBUTES);
        }
      }
    }
    script = home.resolve("bin/leasefs");
  }

  @Test
  void runsFromAFolderWithABlankAndThroughALink() throws Exception {
    Path link = Files.createSymbolicLink(temporary.resolve("link"), script);
    Outcome outcome = run(Map.of("LEASEFS_NO_AOT", "1"), link.toString(), "version");
    assertThat(outcome.err()).isEmpty();
    assertThat(outcome.out()).startsWith("leasefs ").contains("(Java 25");
    assertThat(outcome.exitCode()).isZero();
  }

  @Test
  void runsThroughALinkedFolderAndByAPathWithDots() throws Exception {
    Path folder = Files.createSymbolicLink(temporary.resolve("linked"), script.getParent());
    for (String path :
        List.of(
            folder + "/leasefs", folder + "/./leasefs", script.getParent() + "/../bin/leasefs")) {
      Outcome outcome = run(Map.of("LEASEFS_NO_AOT", "1"), "bash", path, "version");
      assertThat(outcome.err()).as(path).isEmpty();
      assertThat(outcome.exitCode()).as(path).isZero();
    }
  }

  @Test
  void colonInThePathIsRefusedInOneLine() throws Exception {
    Path home = Files.move(temporary.resolve("lease fs"), temporary.resolve("a:b"));
    Outcome outcome = run(Map.of(), home.resolve("bin/leasefs").toString(), "version");
    assertThat(outcome.exitCode()).isEqualTo(2);
    assertThat(outcome.err()).startsWith("leasefs: the path " + home + " has a colon");
  }

  @Test
  void cachesThatCannotBeMadeAreToldOnceAndDoneWithout() throws Exception {
    Path timeout = Files.createDirectories(temporary.resolve("path")).resolve("timeout");
    Files.writeString(timeout, "#!/bin/sh\nexit 1\n", UTF_8); // every rehearsal ends at once
    assertThat(timeout.toFile().setExecutable(true)).isTrue();
    String path = timeout.getParent() + ":" + System.getenv("PATH");
    Outcome first = run(Map.of("PATH", path), script.toString(), "version");
    assertThat(first.exitCode()).isZero();
    assertThat(first.out()).startsWith("leasefs ");
    assertThat(first.err()).contains("could not all be made").doesNotContain("unbound");
    Outcome second = run(Map.of("PATH", path), script.toString(), "version");
    assertThat(second.exitCode()).isZero();
    assertThat(second.err()).isEmpty();
  }

  @Test
  void argumentsAreUtf8WhateverTheLocale() throws Exception {
    Outcome outcome = run(Map.of("LEASEFS_NO_AOT", "1", "LC_ALL", "C"), script.toString(), "lös");
    assertThat(outcome.exitCode()).isEqualTo(2);
    assertThat(outcome.err()).contains("lös");
  }

  @Test
  void exitCodeOfTheVerbPassesThrough() throws Exception {
    Outcome outcome = run(Map.of("LEASEFS_NO_AOT", "1"), script.toString(), "no-such-verb");
    assertThat(outcome.exitCode()).isEqualTo(2);
    assertThat(outcome.out()).isEmpty();
    assertThat(outcome.err()).contains("no-such-verb");
  }

  @Test
  void wrongJavaHomeIsOneClearLineAndAHint() throws Exception {
    Outcome outcome =
        run(Map.of("LEASEFS_JAVA_HOME", temporary.toString()), script.toString(), "version");
    assertThat(outcome.exitCode()).isEqualTo(2);
    assertThat(outcome.err())
        .isEqualTo(
            "leasefs: LEASEFS_JAVA_HOME="
                + temporary
                + " is no JDK 25\nhint: unset it, or give the folder of a JDK 25\n");
  }

  @Test
  void javaHomeOfAnotherVersionIsPassedOver() throws Exception {
    Path other = Files.createDirectories(temporary.resolve("jdk-21"));
    Files.createDirectories(other.resolve("bin"));
    Files.writeString(other.resolve("release"), "JAVA_VERSION=\"21.0.2\"\n", UTF_8);
    Path java = Files.writeString(other.resolve("bin/java"), "#!/bin/sh\necho wrong\n", UTF_8);
    assertThat(java.toFile().setExecutable(true)).isTrue();
    Outcome outcome =
        run(
            Map.of("JAVA_HOME", other.toString(), "LEASEFS_NO_AOT", "1"),
            script.toString(),
            "version");
    assertThat(outcome.out()).contains("(Java 25");
  }

  private Outcome run(Map<String, String> environment, String... command) throws Exception {
    Path out = temporary.resolve("out");
    Path err = temporary.resolve("err");
    ProcessBuilder builder =
        new ProcessBuilder(command).redirectOutput(out.toFile()).redirectError(err.toFile());
    builder.environment().remove("LEASEFS_JAVA_HOME");
    // where this test's own JDK is, the script finds it, too
    builder.environment().put("JAVA_HOME", System.getProperty("java.home"));
    builder.environment().putAll(environment);
    Process process = builder.start();
    assertThat(process.waitFor(180, TimeUnit.SECONDS)).isTrue();
    return new Outcome(
        process.exitValue(), Files.readString(out, UTF_8), Files.readString(err, UTF_8));
  }
}
