package io.leasefs.cluster;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import io.leasefs.cluster.ReadmePage.Step;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/**
 * The commands of README.md, in order, in one bash, in the unpacked tarball. Each must end with 0;
 * some must say what the page says they do.
 */
@Timeout(400)
class ReadmeIT {
  private static final String BEGIN = "@@begin ";
  private static final String END = "@@end ";

  /** By the beginning of a command: what it prints. A command that has gone fails the test. */
  private static final Map<String, Consumer<String>> EXPECTED = expected();

  private static Map<String, Consumer<String>> expected() {
    Map<String, Consumer<String>> map = new LinkedHashMap<>();
    map.put(
        "bin/leasefs demo failover",
        out -> assertThat(out).contains("PASS").containsPattern("lost +0"));
    map.put("bin/leasefs simulate", out -> assertThat(out).isNotBlank());
    map.put("bin/leasefs version", out -> assertThat(out).startsWith("leasefs "));
    map.put(
        "cat \"$tour/mini.out\"",
        out -> assertThat(out).contains("cluster ready: 1 master", "4 chunkservers"));
    map.put("bin/leasefs ls -h /tour", out -> assertThat(out).contains("/tour/numbers.txt"));
    map.put(
        "bin/leasefs tail -n 3 /tour/numbers.txt",
        out -> assertThat(out).isEqualTo("99998\n99999\n100000\n"));
    map.put(
        "bin/leasefs chunk ls /tour/numbers.txt",
        out -> assertThat(out.lines()).as(out).hasSize(2).last().asString().contains("588895"));
    map.put(
        "bin/leasefs checksum --replicas /tour/numbers.txt",
        out -> assertThat(out).contains("/tour/numbers.txt"));
    map.put("cmp ", out -> assertThat(out).isEmpty());
    map.put("bin/leasefs why /tour/log", out -> assertThat(out).isNotBlank());
    map.put("bin/leasefs node ls", out -> assertThat(out).contains("cs1", "cs2", "cs3", "cs4"));
    map.put("grep -c /tour/log", out -> assertThat(out).isEqualTo("150\n"));
    map.put("bin/leasefs cat /tour/log | wc -l", out -> assertThat(out).isEqualTo("152\n"));
    map.put("bin/leasefs cat /tour/log | sort | uniq -d", out -> assertThat(out).isEmpty());
    map.put("bin/leasefs lease timeline", out -> assertThat(out).contains("chunk 0x"));
    map.put("bin/leasefs status", out -> assertThat(out).contains("nodes", "chunks"));
    map.put("bin/leasefs trash ls", out -> assertThat(out).contains("/tour/numbers.txt"));
    return map;
  }

  @TempDir Path temporary;
  private @Nullable Process bash;

  @AfterEach
  void leaveNothingRunning() {
    if (bash != null) {
      bash.descendants().forEach(ProcessHandle::destroyForcibly);
      bash.destroyForcibly();
    }
  }

  @Test
  void commandsOfTheReadmeWorkInOrderAndSayWhatThePageSays() throws Exception {
    Path home = unpackTarball();
    List<Step> steps = ReadmePage.read().steps();
    Path script = Files.writeString(temporary.resolve("tour.sh"), script(steps), UTF_8);
    Path out = temporary.resolve("out");
    Path err = temporary.resolve("err");
    ProcessBuilder builder =
        new ProcessBuilder("bash", script.toString())
            .directory(home.toFile())
            .redirectOutput(out.toFile())
            .redirectError(err.toFile());
    Map<String, String> environment = builder.environment();
    environment.keySet().removeIf(name -> name.startsWith("LEASEFS_") || name.startsWith("XDG_"));
    environment.put("HOME", temporary.toString());
    environment.put("TMPDIR", temporary.toString());
    environment.put("JAVA_HOME", System.getProperty("java.home"));
    bash = builder.start();
    boolean ended = bash.waitFor(380, TimeUnit.SECONDS);
    String all = Files.readString(out, UTF_8);
    String complaints = Files.readString(err, UTF_8);
    assertThat(ended).as("in time%n%s%n%s", all, complaints).isTrue();

    Set<String> met = new LinkedHashSet<>();
    for (int i = 0; i < steps.size(); i++) {
      Step step = steps.get(i);
      String where = "README.md, line " + step.line() + ": " + step.command();
      assertThat(all).as("%s%n%s", where, complaints).contains(END + i + " 0\n");
      String printed =
          all.substring(all.indexOf(BEGIN + i + "\n") + BEGIN.length(), all.indexOf(END + i + " "));
      String answer = printed.substring(printed.indexOf('\n') + 1);
      EXPECTED.forEach(
          (beginning, check) -> {
            if (step.command().startsWith(beginning)) {
              met.add(beginning);
              check.accept(answer);
            }
          });
    }
    assertThat(met).as("commands on the page").containsAll(EXPECTED.keySet());
    assertThat(complaints).doesNotContain("\tat ").doesNotContain("Exception");
    assertThat(complaints).containsOnlyOnce("leasefs: preparing its start-up caches");
    try (Stream<Path> made = Files.walk(home.resolve("lib"))) {
      assertThat(made.map(file -> file.getFileName().toString()))
          .contains("short.aot", "data.aot", "service.aot");
    }
    assertThat(all).as("how the cluster ended").contains("@@mini 143\n");
    assertThat(all.substring(all.indexOf("@@mini"))).as("contexts").doesNotContain("tour");
  }

  private static String script(List<Step> steps) {
    StringBuilder script = new StringBuilder("set -o pipefail\nmini=\n");
    script.append("trap 'code=$?; kill $(jobs -p) 2>/dev/null; wait; exit $code' EXIT\n");
    for (int i = 0; i < steps.size(); i++) {
      script.append("echo '").append(BEGIN).append(i).append("'\n");
      script.append("echo \"$SECONDS s: step ").append(i).append("\" >&2\n");
      script.append(steps.get(i).command()).append('\n');
      script.append("code=$?; echo \"").append(END).append(i).append(" $code\"\n");
      script.append("[ $code = 0 ] || exit 1\n");
    }
    script.append("wait \"$mini\"; echo \"@@mini $?\"\n");
    script.append("unset LEASEFS_CONTEXT\n");
    script.append("bin/leasefs context ls\n");
    return script.toString();
  }

  private Path unpackTarball() throws Exception {
    List<Path> tarballs = new ArrayList<>();
    try (Stream<Path> files = Files.list(ReadmePage.MODULE.resolve("target"))) {
      files.filter(file -> file.toString().endsWith(".tar.gz")).forEach(tarballs::add);
    }
    assertThat(tarballs).hasSize(1);
    Path unpacked = Files.createDirectories(temporary.resolve("unpacked"));
    Process tar =
        new ProcessBuilder("tar", "-xzf", tarballs.get(0).toString(), "-C", unpacked.toString())
            .inheritIO()
            .start();
    assertThat(tar.waitFor()).isZero();
    return homeOf(unpacked);
  }

  /** The folder that has bin/leasefs: the tarball may have one at its top. */
  private static Path homeOf(Path unpacked) throws IOException {
    try (Stream<Path> files = Files.walk(unpacked, 3)) {
      Path script = files.filter(file -> file.endsWith("bin/leasefs")).findFirst().orElseThrow();
      return script.resolve("../..").normalize();
    }
  }
}
