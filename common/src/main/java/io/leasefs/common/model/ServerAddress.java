package io.leasefs.common.model;

import io.leasefs.common.error.ErrorCode;
import io.leasefs.common.error.LeaseFsException;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Where a process listens: {@code cs1:9810}, {@code 127.0.0.1:0}, {@code [::1]:9810}. Nothing is
 * looked up here.
 *
 * @param host a name or an address, without the brackets of an IPv6 address
 * @param port 0 to 65535; 0 lets the kernel choose where one listens
 */
public record ServerAddress(String host, int port) {
  private static final Pattern HOST = Pattern.compile("[A-Za-z0-9._-]+|[0-9A-Za-z:.%]+");
  private static final Pattern TEXT =
      Pattern.compile("(?:([A-Za-z0-9._-]+)|\\[([0-9A-Za-z:.%]+)]):([0-9]{1,5})");

  public ServerAddress {
    if (!HOST.matcher(host).matches() || port < 0 || port > 65_535) {
      throw notAnAddress(host + ":" + port);
    }
  }

  /** Reads HOST:PORT. */
  public static ServerAddress parse(String text) {
    Matcher matcher = TEXT.matcher(text.strip());
    if (!matcher.matches()) {
      throw notAnAddress(text);
    }
    String host = matcher.group(1) != null ? matcher.group(1) : matcher.group(2);
    return new ServerAddress(host, Integer.parseInt(matcher.group(3)));
  }

  private static LeaseFsException notAnAddress(String text) {
    return new LeaseFsException(
        ErrorCode.INVALID_ARGUMENT,
        "not an address: '" + text + "'",
        "write it as HOST:PORT, such as 127.0.0.1:9800 or [::1]:9800");
  }

  @Override
  public String toString() {
    return (host.contains(":") ? "[" + host + "]" : host) + ":" + port;
  }
}
