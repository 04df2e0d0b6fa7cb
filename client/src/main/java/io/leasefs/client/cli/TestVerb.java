package io.leasefs.client.cli;

import io.leasefs.common.error.ErrorCode;
import io.leasefs.common.error.LeaseFsException;
import io.leasefs.common.model.FileStatus;
import picocli.CommandLine.ArgGroup;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** {@code leasefs test}. */
@Command(
    description = "Check a path: exit 0 for yes, 10 for no.",
    footer = {
      "",
      "Examples:",
      "  leasefs test -e /logs && echo there",
      "  leasefs test -s /logs/web.log   # a file with something in it"
    })
final class TestVerb extends Verb {
  /** One question. */
  static final class Question {
    @Option(names = "-e", description = "It exists.")
    boolean exists;

    @Option(names = "-f", description = "It is a file.")
    boolean file;

    @Option(names = "-d", description = "It is a folder.")
    boolean folder;

    @Option(names = "-s", description = "It is a file that is not empty.")
    boolean notEmpty;

    @Option(names = "-z", description = "It is a file that is empty.")
    boolean empty;
  }

  @ArgGroup(multiplicity = "1")
  private Question question = new Question();

  @Parameters(paramLabel = "PATH", description = "File or folder.")
  private String path = "";

  @Override
  protected int run() {
    boolean yes = check();
    if (out().isJson()) {
      out().answer(Json.object("path", path, "answer", yes), "");
    }
    return yes ? ExitCode.DONE : ExitCode.CHECK_FAILED;
  }

  private boolean check() {
    FileStatus status;
    try {
      status = client().stat(path);
    } catch (LeaseFsException e) {
      if (e.code() == ErrorCode.NOT_FOUND || e.code() == ErrorCode.NOT_A_DIRECTORY) {
        return false;
      }
      throw e;
    }
    if (question.exists) {
      return true;
    }
    if (question.folder) {
      return status.folder();
    }
    if (status.folder()) {
      return false;
    }
    return question.file || (question.notEmpty == status.lengthBytes() > 0);
  }
}
