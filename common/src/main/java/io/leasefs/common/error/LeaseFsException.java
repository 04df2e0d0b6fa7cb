package io.leasefs.common.error;

import org.jspecify.annotations.Nullable;

/** The one exception that crosses modules: a code, one clear line, and what to do about it. */
public final class LeaseFsException extends RuntimeException {
  private final ErrorCode code;
  private final @Nullable String hint;
  private final @Nullable String requestId;

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
    this(code, message, hint, null, cause);
  }

  private LeaseFsException(
      ErrorCode code,
      @Nullable String message,
      @Nullable String hint,
      @Nullable String requestId,
      @Nullable Throwable cause) {
    super(message, cause);
    this.code = code;
    this.hint = hint;
    this.requestId = requestId;
  }

  /** The same, as the answer to this request. */
  public LeaseFsException ofRequest(String id) {
    return new LeaseFsException(code, getMessage(), hint, id, this);
  }

  /** The same failure in other words, with a trace of its own. */
  public LeaseFsException saying(String message) {
    return new LeaseFsException(code, message, hint, requestId, this);
  }

  /** The same failure with this to do about it. */
  public LeaseFsException hinting(String todo) {
    return new LeaseFsException(code, getMessage(), todo, requestId, this);
  }

  public ErrorCode code() {
    return code;
  }

  public @Nullable String hint() {
    return hint;
  }

  /** The request that failed, where it had an id. */
  public @Nullable String requestId() {
    return requestId;
  }
}
