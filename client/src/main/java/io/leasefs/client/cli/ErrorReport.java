package io.leasefs.client.cli;

import io.leasefs.common.error.ErrorCode;
import io.leasefs.common.error.LeaseFsException;
import java.io.PrintStream;
import org.jspecify.annotations.Nullable;

/** An error as the user sees it: one clear line, and what to do. */
final class ErrorReport {
  private static final String NOTHING_THERE = ": no such file or folder";
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
                      "path", path(),
                      "message", error.getMessage(),
                      "hint", hint(),
                      "requestId", error.requestId(),
                      "retryable", code.exitCode() == 6))));
      return;
    }
    err.println("leasefs: " + verb + ": " + Printable.of(String.valueOf(error.getMessage())));
    String hint = hint();
    if (hint != null) {
      err.println("hint: " + Printable.of(hint));
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
    String path = path();
    if (error.hint() == null && path != null && message.equals(path + NOTHING_THERE)) {
      boolean pattern = path.indexOf('*') >= 0 || path.indexOf('?') >= 0;
      String folder = path.substring(0, Math.max(1, path.lastIndexOf('/')));
      return (pattern ? "patterns are not expanded: '" : "'")
          + ("leasefs ls -1 " + folder + "' tells what is there");
    }
    return error.hint() == null ? usualHint(error.code()) : error.hint();
  }

  /** What lines begin with that are about one path of the cluster; null for other lines. */
  private @Nullable String path() {
    String message = String.valueOf(error.getMessage());
    int end = message.indexOf(": ");
    return message.startsWith("/") && end > 0 ? message.substring(0, end) : null;
  }

  /** Servers refuse in few words: what to do about it is the same for all such refusals. */
  private static @Nullable String usualHint(ErrorCode code) {
    return switch (code) {
      case FENCED -> "somebody has opened it with a newer token: open it anew";
      case NO_SPACE -> "free some space or add chunkservers; see 'leasefs node ls'";
      case TOO_FEW_SERVERS -> "start more chunkservers; see 'leasefs node ls'";
      case CORRUPT -> "see which copies are bad with 'leasefs fsck'";
      case LOG_SHORT ->
          "put the newest copy of the master's folder back; where there is none,"
              + " 'leasefs masters raise-generation' goes on without what is missing";
      case OUTCOME_UNKNOWN -> "it may have taken effect: look before you do it again";
      case STARTING, NOT_LEADER, BUSY -> "try again in a moment";
      case UNREACHABLE, TIMED_OUT, NOT_PRIMARY, STALE_VERSION, UNKNOWN_SESSION ->
          "it is safe to try again; 'leasefs status' and 'leasefs why' tell what it waits for";
      case NOT_FOUND,
          ALREADY_EXISTS,
          PERMISSION,
          INVALID_PATH,
          INVALID_ARGUMENT,
          RECORD_TOO_LARGE,
          WRONG_CLUSTER,
          NOT_A_DIRECTORY,
          IS_A_DIRECTORY,
          NOT_EMPTY,
          INTERNAL ->
          null;
    };
  }
}
