package io.leasefs.common.error;

/**
 * Every error that one process may tell another: what the caller does about it, and the exit code
 * of the command line. The only list there is; {@code StatusMapper} maps it to gRPC.
 */
public enum ErrorCode {
  NOT_FOUND(Reaction.TELL, 3),
  ALREADY_EXISTS(Reaction.TELL, 4),
  PERMISSION(Reaction.TELL, 5),
  INVALID_PATH(Reaction.TELL, 2),
  INVALID_ARGUMENT(Reaction.TELL, 2),
  RECORD_TOO_LARGE(Reaction.TELL, 2),
  WRONG_CLUSTER(Reaction.TELL, 2),
  NOT_A_DIRECTORY(Reaction.TELL, 4),
  IS_A_DIRECTORY(Reaction.TELL, 4),
  NOT_EMPTY(Reaction.TELL, 4),
  NOT_LEADER(Reaction.RETRY, 6),
  STARTING(Reaction.RETRY, 6),
  OUTCOME_UNKNOWN(Reaction.RETRY, 6),
  UNREACHABLE(Reaction.RETRY, 6),
  TIMED_OUT(Reaction.RETRY, 6),
  NOT_PRIMARY(Reaction.REFRESH, 6),
  STALE_VERSION(Reaction.REFRESH, 6),
  UNKNOWN_SESSION(Reaction.REFRESH, 6),
  FENCED(Reaction.TELL, 8),
  CORRUPT(Reaction.OTHER_REPLICA, 7),
  NO_SPACE(Reaction.BACK_OFF, 9),
  TOO_FEW_SERVERS(Reaction.BACK_OFF, 9),
  BUSY(Reaction.BACK_OFF, 9),
  /** The masters' log ends before what its servers have heard of: an operator has to decide. */
  LOG_SHORT(Reaction.TELL, 7),
  INTERNAL(Reaction.TELL, 1);

  /** What a client does with an error. */
  public enum Reaction {
    /** Final: the caller is told. */
    TELL,
    /** Asks again with the same request id, at the hinted master. */
    RETRY,
    /** Fetches layout or session anew, then asks again. */
    REFRESH,
    /** Reads elsewhere and reports the bad copy. */
    OTHER_REPLICA,
    /** Asks again after a growing pause, a bounded number of times. */
    BACK_OFF
  }

  private final Reaction reaction;
  private final int exitCode;

  ErrorCode(Reaction reaction, int exitCode) {
    this.reaction = reaction;
    this.exitCode = exitCode;
  }

  public Reaction reaction() {
    return reaction;
  }

  /** The exit code of the command line for this error. */
  public int exitCode() {
    return exitCode;
  }
}
