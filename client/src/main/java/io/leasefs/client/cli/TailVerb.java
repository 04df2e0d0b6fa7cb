package io.leasefs.client.cli;

import io.leasefs.client.FileReader;
import io.leasefs.common.error.ErrorCode;
import io.leasefs.common.error.LeaseFsException;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** {@code leasefs tail}. */
@Command(
    description = "Write the end of a file, and follow it if asked.",
    footer = {
      "",
      "Examples:",
      "  leasefs tail -n 50 /logs/web.log",
      "  leasefs tail -f /logs/web.log      # until Ctrl-C"
    })
final class TailVerb extends Verb {
  private static final long LOOK_MILLIS = 200;

  @Option(names = "-n", paramLabel = "N", defaultValue = "10", description = "Lines. Default: 10.")
  private long lines = 10;

  @Option(names = "-c", paramLabel = "N", description = "Bytes instead of lines.")
  private @Nullable String bytes;

  @Option(
      names = {"-f", "--follow"},
      description = "Go on as it grows.")
  private boolean follow;

  @Parameters(paramLabel = "PATH", description = "A file.")
  private String path = "";

  @Override
  protected int run() throws Exception {
    if (lines < 0) {
      throw new LeaseFsException(
          ErrorCode.INVALID_ARGUMENT, "-n: " + lines + " is below 0", "say how many lines");
    }
    long at;
    try (FileReader reader = client().open(path)) {
      long start =
          bytes != null
              ? Math.max(0, reader.length() - Quantities.parseSize(bytes))
              : lines == 0 ? reader.length() : Contents.startOfLastLines(reader, lines);
      at = start + Contents.copy(reader, start, Long.MAX_VALUE, out().stream(), n -> {});
    }
    while (follow) {
      out().flush();
      Thread.sleep(LOOK_MILLIS);
      try (FileReader reader = client().open(path)) {
        if (reader.length() > at) {
          at += Contents.copy(reader, at, Long.MAX_VALUE, out().stream(), n -> {});
        }
      }
    }
    return ExitCode.DONE;
  }
}
