package io.leasefs.server.start;

import static org.assertj.core.api.Assertions.assertThat;

import java.net.URL;
import java.net.URLClassLoader;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Real processes that harm themselves. */
@Timeout(60)
class OwnProcessTest {
  /** What the process prints until it ends by itself. */
  private static List<String> linesOf(String harm, int exitCode) throws Exception {
    Process process =
        new ProcessBuilder(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "-XX:+UseSerialGC",
                "-XX:TieredStopAtLevel=1",
                "-cp",
                classPath(),
                HarmedMain.class.getName(),
                harm)
            .start();
    try {
      List<String> lines = process.inputReader().lines().toList();
      assertThat(process.waitFor(30, TimeUnit.SECONDS)).isTrue();
      assertThat(process.exitValue()).isEqualTo(exitCode);
      return lines;
    } finally {
      process.destroyForcibly();
    }
  }

  /** Of this test, however its runner loads it. */
  private static String classPath() {
    return HarmedMain.class.getClassLoader() instanceof URLClassLoader loader
        ? Arrays.stream(loader.getURLs()).map(URL::getPath).collect(Collectors.joining(":"))
        : System.getProperty("java.class.path");
  }

  @Test
  void killedProcessStopsNothingInOrder() throws Exception {
    assertThat(linesOf("kill", 137)).containsExactly("alive");
  }

  @Test
  void frozenProcessStandsStillAsAWholeAndGoesOnByItself() throws Exception {
    assertThat(linesOf("freeze", 0)).containsExactly("alive", "stood still", "stopped in order");
  }
}
