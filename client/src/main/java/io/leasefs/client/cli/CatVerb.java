package io.leasefs.client.cli;

import io.leasefs.client.FileReader;
import io.leasefs.common.api.ChunkApi.ReadMode;
import io.leasefs.common.error.ErrorCode;
import io.leasefs.common.error.LeaseFsException;
import java.util.ArrayList;
import java.util.List;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** {@code leasefs cat}. */
@Command(
    description = "Write files to standard output, one after another.",
    footer = {
      "",
      "Examples:",
      "  leasefs cat /logs/a.log /logs/b.log",
      "  leasefs cat --offset 1MiB --length 4KiB /big.bin | xxd"
    })
final class CatVerb extends Verb {
  @Option(names = "--offset", paramLabel = "N", defaultValue = "0", description = "First byte.")
  private String offset = "0";

  @Option(names = "--length", paramLabel = "N", description = "So many bytes at the most.")
  private String length = "";

  @Option(
      names = "--read",
      paramLabel = "MODE",
      defaultValue = "DEFAULT",
      description = "How fresh, one of: ${COMPLETION-CANDIDATES}.")
  private ReadMode mode = ReadMode.DEFAULT;

  @Parameters(paramLabel = "PATH", arity = "1..*", description = "Files.")
  private List<String> paths = new ArrayList<>();

  @Override
  protected int run() throws Exception {
    if (paths.contains("-")) {
      throw new LeaseFsException(
          ErrorCode.INVALID_ARGUMENT,
          "'-': cat reads files of the cluster, not standard input",
          "standard input is read by 'leasefs put - PATH' and 'leasefs append - PATH'");
    }
    long from = Quantities.parseSize(offset);
    long most = length.isEmpty() ? Long.MAX_VALUE : Quantities.parseSize(length);
    return each(
        paths,
        path -> {
          try (FileReader reader = client().open(path.text(), mode)) {
            Contents.copy(reader, from, most, out().stream(), n -> {});
          }
          out().flush();
        });
  }
}
