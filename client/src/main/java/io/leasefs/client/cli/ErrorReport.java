package io.leasefs.client.cli;

import io.leasefs.common.error.ErrorCode;
import io.leasefs.common.error.LeaseFsException;
import java.io.PrintStream;

/** An error as the user sees it: one clear line, and what to do. */
final class ErrorReport {
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
                      "hint", error.hint(),
                      "retryable", code.exitCode() == 6))));
      return;
    }
    err.println("leasefs: " + verb + ": " + error.getMessage());
    if (error.hint() != null) {
      err.println("hint: " + error.hint());
    }
  }
}
