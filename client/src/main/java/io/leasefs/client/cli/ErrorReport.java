package io.leasefs.client.cli;

import io.leasefs.common.error.ErrorCode;
import io.leasefs.common.error.LeaseFsException;
import java.io.PrintStream;
import org.jspecify.annotations.Nullable;

/** An error as the user sees it: one clear line, and what to do. */
final class ErrorReport {
  private static final String NO_PARENT = ": parent directory does not exist";

  private final LeaseFsException error;
  private final String verb;

  ErrorReport(LeaseFsException error, String verb) {
    this.error = error;
    this.verb = verb;
  }

  void print(PrintStream err, boolean json) {
    ErrorCode code = error.code();
    if (json) {
      err.println(
          Json.line(
              Json.object(
                  "error",
                  Json.object(
                      "code", code.name(),
                      "exit", code.exitCode(),
                      "command", verb,
                      "message", error.getMessage(),
                      "hint", hint(),
                      "retryable", code.exitCode() == 6))));
      return;
    }
    err.println("leasefs: " + verb + ": " + error.getMessage());
    String hint = hint();
    if (hint != null) {
      err.println("hint: " + hint);
    }
  }

  /** The master knows nothing of commands: what it refuses most often is explained here. */
  private @Nullable String hint() {
    String message = String.valueOf(error.getMessage());
    int end = message.indexOf(NO_PARENT);
    int slash = message.lastIndexOf('/', Math.max(0, end));
    if (error.hint() == null && error.code() == ErrorCode.NOT_FOUND && end > 0 && slash > 0) {
      return "create it with 'leasefs mkdir -p " + message.substring(0, slash) + "'";
    }
    return error.hint();
  }
}
