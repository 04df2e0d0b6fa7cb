package io.leasefs.client.cli;

import io.leasefs.common.error.ErrorCode;
import io.leasefs.common.error.LeaseFsException;
import java.util.ArrayList;
import java.util.List;
import picocli.CommandLine.Command;
import picocli.CommandLine.Parameters;

/** {@code leasefs restore}. */
@Command(
    description = "Bring back what was removed last from a path.",
    footer = {"", "Examples:", "  leasefs restore /tmp/a.bin", "  leasefs trash ls"})
final class RestoreVerb extends Verb {
  @Parameters(paramLabel = "PATH", arity = "1..*", description = "Where it was.")
  private List<String> paths = new ArrayList<>();

  @Override
  protected int run() throws Exception {
    return each(
        paths,
        path -> {
          try {
            out().answer(FileRows.json(client().restore(path.text())), "");
          } catch (LeaseFsException e) {
            throw e.code() == ErrorCode.ALREADY_EXISTS && e.hint() == null
                ? e.hinting("move it away first: 'leasefs mv " + path + " OTHER'")
                : e;
          }
        });
  }
}
