package io.leasefs.cluster.loopback;

import io.leasefs.cluster.LeaseFsMain;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/** The program as a process of its own. */
final class Programs {
  private Programs() {}

  /** The command that runs it, with more flags for its JVM. */
  static List<String> command(List<String> jvmFlags, List<String> arguments) {
    // where the build runs in the background of a shell, SIGINT is ignored by all that it starts
    List<String> command = new ArrayList<>(List.of("env", "--default-signal=INT"));
    command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
    command.addAll(List.of("-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"));
    command.addAll(
        List.of("--enable-native-access=ALL-UNNAMED", "--sun-misc-unsafe-memory-access=allow"));
    command.addAll(jvmFlags);
    command.addAll(List.of("-cp", classPath(), LeaseFsMain.class.getName()));
    command.addAll(arguments);
    return command;
  }

  /** That of this test, however its runner loads it, but for the tests' own set-up of the log. */
  private static String classPath() {
    List<String> entries =
        LeaseFsMain.class.getClassLoader() instanceof URLClassLoader loader
            ? Arrays.stream(loader.getURLs()).map(URL::getPath).toList()
            : List.of(System.getProperty("java.class.path").split(":", -1));
    return String.join(
        ":", entries.stream().filter(e -> !Files.exists(Path.of(e, "logback-test.xml"))).toList());
  }
}
