package io.leasefs.client.cli;

import io.leasefs.common.error.ErrorCode;
import io.leasefs.common.error.LeaseFsException;
import io.leasefs.common.model.FileStatus;
import java.util.ArrayList;
import java.util.List;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** {@code leasefs rm}. */
@Command(
    description = "Remove files and folders, into the trash.",
    footer = {
      "",
      "Examples:",
      "  leasefs rm /tmp/a.bin",
      "  leasefs rm -r --yes /tmp          # 'leasefs restore /tmp' brings it back",
      "  leasefs rm --skip-trash /big.iso  # at once and for ever"
    })
final class RmVerb extends Verb {
  @Option(names = "-r", description = "Folders with all that is in them.")
  private boolean recursive;

  @Option(names = "-f", description = "No error where it does not exist.")
  private boolean force;

  @Option(names = "--skip-trash", description = "For ever, not into the trash.")
  private boolean skipTrash;

  @Option(names = "--dry-run", description = "Only say what would be removed.")
  private boolean dryRun;

  @Parameters(paramLabel = "PATH", arity = "1..*", description = "Files and folders.")
  private List<String> paths = new ArrayList<>();

  @Override
  protected int run() throws Exception {
    return each(
        paths,
        path -> {
          FileStatus status;
          try {
            status = client().stat(path.text());
          } catch (LeaseFsException e) {
            if (force && e.code() == ErrorCode.NOT_FOUND) {
              return;
            }
            throw e;
          }
          if (status.folder() && !recursive) {
            throw new LeaseFsException(
                ErrorCode.IS_A_DIRECTORY,
                path + ": is a folder",
                "remove it with all in it by 'leasefs rm -r " + path + "'");
          }
          if (dryRun) {
            out().answer(Json.object("wouldRemove", path.text()), "would remove " + path);
            return;
          }
          if (status.folder()) {
            confirm("remove folder " + path + " and all in it");
          }
          client().delete(path.text(), recursive, skipTrash);
          out().answer(Json.object("removed", path.text(), "trash", !skipTrash), "");
        });
  }
}
