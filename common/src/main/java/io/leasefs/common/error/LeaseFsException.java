package io.leasefs.common.error;

import org.jspecify.annotations.Nullable;

/** The one exception that crosses modules: a code, one clear line, and what to do about it. */
public final class LeaseFsException extends RuntimeException {
  private final ErrorCode code;
  private final @Nullable String hint;

  /** The message says what and where, in one line. */
  public LeaseFsException(ErrorCode code, String message) {
    this(code, message, null, null);
  }

  /** The hint says what to do; for {@code NOT_LEADER} it is the address of the leader. */
  public LeaseFsException(ErrorCode code, String message, @Nullable String hint) {
    this(code, message, hint, null);
  }

  public LeaseFsException(
      ErrorCode code, String message, @Nullable String hint, @Nullable Throwable cause) {
    super(message, cause);
    this.code = code;
    this.hint = hint;
  }

  public ErrorCode code() {
    return code;
  }

  public @Nullable String hint() {
    return hint;
  }
}
