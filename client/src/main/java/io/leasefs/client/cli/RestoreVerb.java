package io.leasefs.client.cli;

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
    return each(paths, path -> out().answer(FileRows.json(client().restore(path.text())), ""));
  }
}
