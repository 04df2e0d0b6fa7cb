package io.leasefs.cluster.loopback;

import static java.nio.charset.StandardCharsets.UTF_8;

import io.leasefs.client.cli.Streams;
import io.leasefs.cluster.LeaseFsMain;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.InputStream;
import java.io.PrintStream;
import java.util.List;
import java.util.Map;

/** Runs command lines as the program does, with captured streams; nothing is a terminal. */
final class Shell {
  private final Map<String, String> environment;

  Shell(Map<String, String> environment) {
    this.environment = environment;
  }

  /** Runs with an empty standard input. */
  CommandLineRun run(String... arguments) {
    return pipe(InputStream.nullInputStream(), arguments);
  }

  /** Runs with these bytes as its standard input. */
  CommandLineRun pipe(byte[] in, String... arguments) {
    return pipe(new ByteArrayInputStream(in), arguments);
  }

  CommandLineRun pipe(InputStream in, String... arguments) {
    ByteArrayOutputStream out = new ByteArrayOutputStream();
    ByteArrayOutputStream err = new ByteArrayOutputStream();
    Streams streams =
        new Streams(in, out, new PrintStream(err, true, UTF_8), false, false, false, environment);
    int exit = LeaseFsMain.cli(streams).run(arguments);
    return new CommandLineRun(List.of(arguments), exit, out.toByteArray(), err.toString(UTF_8));
  }
}
