package io.leasefs.client.cli;

import io.leasefs.common.error.ErrorCode;
import io.leasefs.common.error.LeaseFsException;
import java.util.ArrayList;
import java.util.List;
import picocli.CommandLine.Command;
import picocli.CommandLine.Parameters;

/** {@code leasefs rmdir}. */
@Command(
    description = "Remove empty folders.",
    footer = {"", "Examples:", "  leasefs rmdir /logs/2026", "  leasefs rmdir /a /b"})
final class RmdirVerb extends Verb {
  @Parameters(paramLabel = "PATH", arity = "1..*", description = "Empty folders.")
  private List<String> paths = new ArrayList<>();

  @Override
  protected int run() throws Exception {
    return each(
        paths,
        path -> {
          if (!client().stat(path.text()).folder()) {
            throw new LeaseFsException(
                ErrorCode.NOT_A_DIRECTORY,
                path + ": not a folder",
                "remove a file with 'leasefs rm " + path + "'");
          }
          client().delete(path.text(), false, true);
          out().answer(Json.object("removed", path.text()), "");
        });
  }
}
