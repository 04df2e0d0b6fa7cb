package io.leasefs.cluster;

import io.leasefs.client.cli.Streams;
import java.io.InputStream;
import java.io.OutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Map;

/**
 * Does once, on its own, what short verbs do, while the JVM records which classes that takes:
 * {@code bin/leasefs} runs it with {@code -XX:AOTCacheOutput}, and later verbs start from the
 * cache. Nothing it prints is kept, no cluster is needed, and a verb that fails here harms nothing.
 */
public final class StartupRehearsalMain {
  /** Port 1 of this host: nobody listens there, so a call goes the whole way and fails at once. */
  private static final String NOBODY = "127.0.0.1:1";

  private static final List<List<String>> RUNS =
      List.of(
          List.of("version"),
          List.of("version", "--json"),
          List.of("--help"),
          List.of("-m", NOBODY, "--timeout", "1s", "ls", "/"),
          List.of("-m", NOBODY, "--timeout", "1s", "--json", "stat", "/"),
          List.of("-m", NOBODY, "--timeout", "1s", "cat", "/a"),
          List.of("-m", NOBODY, "--timeout", "1s", "put", "-", "/a"));

  private StartupRehearsalMain() {}

  public static void main(String[] arguments) {
    Streams nowhere =
        new Streams(
            InputStream.nullInputStream(),
            OutputStream.nullOutputStream(),
            new PrintStream(OutputStream.nullOutputStream(), true, StandardCharsets.UTF_8),
            false,
            false,
            false,
            Map.of());
    for (List<String> run : RUNS) {
      int _ = LeaseFsMain.cli(nowhere).run(run.toArray(String[]::new));
    }
    System.exit(0);
  }
}
