package io.leasefs.client.cli;

/** Exit codes of the command line that do not come from an {@code ErrorCode}: a contract. */
public final class ExitCode {
  public static final int DONE = 0;

  /** Failed, or some of several paths failed. */
  public static final int FAILED = 1;

  /** Wrong usage or configuration. */
  public static final int USAGE = 2;

  public static final int NOT_FOUND = 3;
  public static final int DAMAGED = 7;

  /** A check says no. */
  public static final int CHECK_FAILED = 10;

  public static final int INTERRUPTED = 130;
  public static final int CLOSED_PIPE = 141;
  public static final int TERMINATED = 143;

  /** For the help pages. */
  static final String[] LIST = {
    "0:done",
    "1:failed; or some of several paths failed, the others were done",
    "2:wrong usage or configuration",
    "3:not found",
    "4:exists already, not empty, is or is not a directory",
    "5:not permitted",
    "6:cluster unreachable or time limit hit: safe to retry",
    "7:data is damaged or lost",
    "8:fenced: lease or lock lost",
    "9:no space or too few servers",
    "10:a check says no",
    "130:interrupted",
    "141:pipe closed",
    "143:terminated"
  };

  private ExitCode() {}
}
