package io.leasefs.client.cli;

import io.leasefs.common.error.ErrorCode;
import io.leasefs.common.error.LeaseFsException;
import io.leasefs.common.model.FilePath;
import java.util.ArrayList;
import java.util.List;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** {@code leasefs mv}. */
@Command(
    description = "Move or rename files and folders.",
    footer = {
      "",
      "Examples:",
      "  leasefs mv /a /b",
      "  leasefs mv /a /b /folder      # several, into an existing folder",
      "  leasefs mv -f /new /current   # what was there goes into the trash"
    })
final class MvVerb extends Verb {
  @Option(names = "-f", description = "Put an existing file at the target into the trash.")
  private boolean force;

  @Parameters(
      paramLabel = "SRC... DST",
      arity = "2..*",
      hideParamSyntax = true,
      description = "The target may be a folder.")
  private List<String> paths = new ArrayList<>();

  @Override
  protected int run() throws Exception {
    FilePath target = FilePath.parse(paths.get(paths.size() - 1));
    List<String> sources = paths.subList(0, paths.size() - 1);
    boolean intoFolder = isFolder(target);
    if (sources.size() > 1 && !intoFolder) {
      throw new LeaseFsException(
          ErrorCode.NOT_A_DIRECTORY,
          target + ": not a folder, and there are several sources",
          "make it with 'leasefs mkdir " + target + "'");
    }
    return each(
        sources,
        source -> {
          FilePath to = intoFolder ? target.child(source.name()) : target;
          try {
            out().answer(FileRows.json(client().rename(source.text(), to.text(), force)), "");
          } catch (LeaseFsException e) {
            throw e.code() == ErrorCode.ALREADY_EXISTS && e.hint() == null && !force
                ? e.hinting("replace a file with -f: the old one goes to the trash")
                : e;
          }
        });
  }

  private boolean isFolder(FilePath path) {
    try {
      return client().stat(path.text()).folder();
    } catch (LeaseFsException e) {
      if (e.code() == ErrorCode.NOT_FOUND) {
        return false;
      }
      throw e;
    }
  }
}
