package io.leasefs.server.admin;

import org.jspecify.annotations.Nullable;

/**
 * An answer of an admin page.
 *
 * @param status HTTP status
 * @param contentType such as {@code application/json}
 * @param body text, sent as UTF-8
 */
public record AdminAnswer(int status, String contentType, String body) {
  /** 200 and one line of JSON, printed by {@link JsonLine}. */
  public static AdminAnswer json(@Nullable Object value) {
    return json(200, value);
  }

  /** One line of JSON. */
  public static AdminAnswer json(int status, @Nullable Object value) {
    return new AdminAnswer(status, "application/json", JsonLine.print(value) + "\n");
  }

  /** Plain text. */
  public static AdminAnswer text(int status, String body) {
    return new AdminAnswer(status, "text/plain; charset=utf-8", body);
  }
}
