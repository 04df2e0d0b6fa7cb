package io.leasefs.client.cli;

import io.leasefs.common.api.AdminApi;
import io.leasefs.common.api.MasterApi;
import io.leasefs.common.error.ErrorCode;
import io.leasefs.common.error.LeaseFsException;
import io.leasefs.common.model.ChunkLayout;
import io.leasefs.common.model.FilePath;
import io.leasefs.common.model.FileStatus;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** {@code leasefs setrep}. */
@Command(
    description = "Set how many copies of a file are kept.",
    footer = {
      "",
      "Examples:",
      "  leasefs setrep 2 /logs/old.log",
      "  leasefs setrep -R -w 3 /logs"
    })
final class SetrepVerb extends Verb {
  @Option(names = "-R", description = "All files below the folders.")
  private boolean recursive;

  @Option(names = "-w", description = "Wait until the copies are there.")
  private boolean wait;

  @Parameters(index = "0", paramLabel = "N", description = "Copies, 1 to 16.")
  private int copies;

  @Parameters(index = "1..*", paramLabel = "PATH", arity = "1..*", description = "Files.")
  private List<String> paths = new ArrayList<>();

  @Override
  protected int run() throws Exception {
    List<FilePath> changed = new ArrayList<>();
    int exit = each(paths, path -> set(client().stat(path.text()), changed));
    if (!changed.isEmpty() && copies > 1) {
      warnOfTooFewServers(copies);
    }
    if (wait) {
      for (FilePath path : changed) {
        awaitCopies(path);
      }
    }
    return exit;
  }

  private void set(FileStatus status, List<FilePath> changed) {
    if (status.folder()) {
      if (!recursive) {
        throw new LeaseFsException(
            ErrorCode.IS_A_DIRECTORY, status.path() + ": is a folder", "pass -R for all below it");
      }
      client().list(status.path().text()).forEachRemaining(entry -> set(entry, changed));
      return;
    }
    FileStatus now =
        client()
            .setAttributes(
                status.path().text(),
                new MasterApi.Attributes(Optional.of(copies), Optional.empty(), Optional.empty()));
    changed.add(status.path());
    out().answer(FileRows.json(now), "");
  }

  private void awaitCopies(FilePath path) {
    Waiting waiting = waiting(path + ": " + copies + " copies of every chunk");
    for (ChunkLayout chunk : client().layout(path.text()).chunks()) {
      waiting.until(
          () -> {
            AdminApi.ChunkStatus status = await(client().admin().chunk(chunk.handle()));
            return status.layout().configuration().members().size() == copies;
          });
    }
  }
}
