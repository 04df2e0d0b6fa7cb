package io.leasefs.client.cli;

import java.util.ArrayList;
import java.util.List;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** {@code leasefs mkdir}. */
@Command(
    description = "Make folders.",
    footer = {"", "Examples:", "  leasefs mkdir /logs", "  leasefs mkdir -p /logs/2026/11"})
final class MkdirVerb extends Verb {
  @Option(names = "-p", description = "Missing parents too; no error where it exists.")
  private boolean parents;

  @Parameters(paramLabel = "PATH", arity = "1..*", description = "Folders.")
  private List<String> paths = new ArrayList<>();

  @Override
  protected int run() throws Exception {
    return each(
        paths, path -> out().answer(FileRows.json(client().mkdir(path.text(), parents, 0755)), ""));
  }
}
