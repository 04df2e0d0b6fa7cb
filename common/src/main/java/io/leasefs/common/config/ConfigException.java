package io.leasefs.common.config;

/**
 * A setting that cannot be used. The message is one line that says what is wrong and where; the
 * hint is one line that says what to do. A main method prints both and exits with code 2.
 */
public final class ConfigException extends RuntimeException {
  private static final long serialVersionUID = 1L;

  private final String hint;

  public ConfigException(String message, String hint) {
    super(message);
    this.hint = hint;
  }

  /** What the user can do about it, in one line. */
  public String hint() {
    return hint;
  }
}
