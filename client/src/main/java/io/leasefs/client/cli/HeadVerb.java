package io.leasefs.client.cli;

import io.leasefs.client.FileReader;
import io.leasefs.common.error.ErrorCode;
import io.leasefs.common.error.LeaseFsException;
import java.io.OutputStream;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** {@code leasefs head}. */
@Command(
    description = "Write the beginning of a file.",
    footer = {
      "",
      "Examples:",
      "  leasefs head -n 20 /logs/web.log",
      "  leasefs head -c 4KiB /a.bin"
    })
final class HeadVerb extends Verb {
  @Option(names = "-n", paramLabel = "N", defaultValue = "10", description = "Lines. Default: 10.")
  private long lines = 10;

  @Option(names = "-c", paramLabel = "N", description = "Bytes instead of lines.")
  private @Nullable String bytes;

  @Parameters(paramLabel = "PATH", description = "A file.")
  private String path = "";

  @Override
  protected int run() throws Exception {
    if (lines < 0) {
      throw new LeaseFsException(
          ErrorCode.INVALID_ARGUMENT, "-n: " + lines + " is below 0", "say how many lines");
    }
    try (FileReader reader = client().open(path)) {
      OutputStream out = out().stream();
      if (bytes != null) {
        Contents.copy(reader, 0, Quantities.parseSize(bytes), out, n -> {});
        return ExitCode.DONE;
      }
      byte[] piece = new byte[1 << 16];
      long left = lines;
      while (left > 0) {
        int got = reader.read(piece, 0, piece.length);
        if (got < 0) {
          break;
        }
        int end = 0;
        while (end < got && left > 0) {
          if (piece[end++] == '\n') {
            left--;
          }
        }
        out.write(piece, 0, end);
      }
    }
    return ExitCode.DONE;
  }
}
