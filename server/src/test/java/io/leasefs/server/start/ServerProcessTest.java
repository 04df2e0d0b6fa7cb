package io.leasefs.server.start;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.net.ServerSocket;
import java.net.URI;
import java.net.URL;
import java.net.URLClassLoader;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Starts {@link SampleServer} as a real process. */
class ServerProcessTest {
  @TempDir Path temporary;
  private final List<Process> started = new ArrayList<>();

  @AfterEach
  void killLeftovers() {
    started.forEach(Process::destroyForcibly);
  }

  @Test
  void servesAndStopsItsPartsInReverseOrderAtSigterm() throws Exception {
    Path log = temporary.resolve("log");
    Process process = start("--data", data(), "--log-file", log.toString(), "--allow-faults");
    String ready = readLine(process);
    assertThat(ready).startsWith("ready role=sample admin=127.0.0.1:");
    URI health = URI.create("http://" + ready.substring(ready.indexOf("admin=") + 6) + "/health");
    try (HttpClient client = HttpClient.newHttpClient()) {
      HttpRequest request = HttpRequest.newBuilder(health).build();
      assertThat(client.send(request, BodyHandlers.ofString()).body())
          .isEqualTo("{\"serving\":true,\"state\":\"serving\"}\n");
    }
    process.destroy();
    assertThat(process.waitFor(20, TimeUnit.SECONDS)).isTrue();
    assertThat(process.exitValue()).isEqualTo(143);
    assertThat(log)
        .content()
        .contains("setting name=allow-faults value=true source=--allow-faults")
        .containsSubsequence(
            "stopping role=sample",
            "stopped part=worker",
            "stop failed part=stubborn",
            "stopped part=admin",
            "stopped part=folder",
            "stopped role=sample");
  }

  @Test
  void secondServerOnTheSameFolderEndsWithCodeTwoAndTwoLines() throws Exception {
    Process first = start("--data", data());
    assertThat(readLine(first)).startsWith("ready");
    assertThat(refusal("--data", data()))
        .containsExactly(
            "leasefs: sample: " + data() + ": the data folder is in use by process " + first.pid(),
            "hint: stop that server, or give this one a folder of its own by --data");
    first.destroyForcibly().waitFor();
    // SIGKILL gives the folder free, too
    assertThat(readLine(start("--data", data()))).startsWith("ready");
  }

  @Test
  void portInUseEndsWithCodeTwo() throws Exception {
    try (ServerSocket taken = new ServerSocket(0)) {
      String address = "127.0.0.1:" + taken.getLocalPort();
      assertThat(refusal("--data", data(), "--admin", address).get(0))
          .startsWith("leasefs: sample: " + address + ": the admin port cannot be opened");
    }
  }

  @Test
  void unknownSettingEndsWithCodeTwo() throws Exception {
    assertThat(refusal("--date", data()))
        .containsExactly(
            "leasefs: sample: unknown argument '--date'", "hint: did you mean --data?");
  }

  private String data() {
    return temporary.resolve("data").toString();
  }

  /** What the process writes to stderr, but for its log, before it ends with code 2. */
  private List<String> refusal(String... arguments) throws Exception {
    Process process = start(arguments);
    assertThat(process.waitFor(20, TimeUnit.SECONDS)).isTrue();
    List<String> lines = Files.readAllLines(temporary.resolve("stderr" + started.size()), UTF_8);
    assertThat(process.exitValue()).as("%s", lines).isEqualTo(2);
    return lines.stream()
        .filter(line -> line.startsWith("leasefs:") || line.startsWith("hint:"))
        .toList();
  }

  private Process start(String... arguments) throws IOException {
    List<String> command = new ArrayList<>();
    command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
    command.addAll(List.of("-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"));
    // the tests' own logback-test.xml would win over the server's log
    command.addAll(List.of("-cp", classPathWithoutTestLog(), SampleServer.class.getName()));
    command.addAll(List.of(arguments));
    Process process =
        new ProcessBuilder(command)
            .redirectError(temporary.resolve("stderr" + (started.size() + 1)).toFile())
            .start();
    started.add(process);
    return process;
  }

  /** Copies the one test class that is needed, to leave logback-test.xml behind. */
  private String classPathWithoutTestLog() throws IOException {
    Path classes = temporary.resolve("classes");
    String name = SampleServer.class.getName().replace('.', '/') + ".class";
    try (var in = SampleServer.class.getClassLoader().getResourceAsStream(name)) {
      assertThat(in).isNotNull();
      Path copy = classes.resolve(name);
      Files.createDirectories(classes.resolve(name.substring(0, name.lastIndexOf('/'))));
      Files.write(copy, in.readAllBytes());
    }
    List<String> kept = new ArrayList<>(List.of(classes.toString()));
    for (String entry : classPath()) {
      if (!Files.exists(Path.of(entry, "logback-test.xml"))) {
        kept.add(entry);
      }
    }
    return String.join(":", kept);
  }

  /** The class path of this test, whether its runner loads it by a loader of its own or not. */
  private static List<String> classPath() {
    if (SampleServer.class.getClassLoader() instanceof URLClassLoader loader) {
      return Arrays.stream(loader.getURLs()).map(URL::getPath).toList();
    }
    return List.of(System.getProperty("java.class.path").split(":", -1));
  }

  private static String readLine(Process process) throws IOException {
    BufferedReader reader =
        new BufferedReader(new InputStreamReader(process.getInputStream(), UTF_8));
    return String.valueOf(reader.readLine());
  }
}
