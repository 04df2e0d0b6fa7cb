package io.leasefs.client.cli;

import io.leasefs.client.CreateOptions;
import java.util.ArrayList;
import java.util.List;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** {@code leasefs touch}. */
@Command(
    description = "Make empty files, or set the time of existing ones to now.",
    footer = {"", "Examples:", "  leasefs touch /a", "  leasefs touch -p /new/folder/file"})
final class TouchVerb extends Verb {
  @Option(names = "-p", description = "Missing parents too.")
  private boolean parents;

  @Parameters(paramLabel = "PATH", arity = "1..*", description = "Files.")
  private List<String> paths = new ArrayList<>();

  @Override
  protected int run() throws Exception {
    return each(
        paths,
        path -> {
          client()
              .touch(
                  path.text(),
                  CreateOptions.DEFAULT.withParents(parents),
                  System.currentTimeMillis());
          if (out().isJson()) {
            out().answer(FileRows.json(client().stat(path.text())), "");
          }
        });
  }
}
