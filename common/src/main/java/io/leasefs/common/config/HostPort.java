package io.leasefs.common.config;

import static com.google.common.base.Preconditions.checkArgument;

import java.util.ArrayList;
import java.util.List;

/**
 * A host name or address with a TCP port: {@code cs1:9866}, {@code 127.0.0.1:0}, {@code
 * [::1]:9866}. Nothing is looked up here.
 *
 * @param host without the brackets of an IPv6 address
 * @param port 0 to 65535; 0 lets the kernel choose where one listens
 */
public record HostPort(String host, int port) {
  public HostPort {
    checkArgument(!host.isEmpty(), "the host is empty");
    checkArgument(port >= 0 && port <= 65_535, "port %s is not between 0 and 65535", port);
  }

  /**
   * Reads {@code HOST:PORT}.
   *
   * @throws IllegalArgumentException with what was expected instead
   */
  public static HostPort parse(String text) {
    String plain = text.strip();
    int colon = plain.lastIndexOf(':');
    String expected = "'%s' is not HOST:PORT, such as 127.0.0.1:9800 or [::1]:9800";
    checkArgument(colon > 0, expected, text);
    String host = plain.substring(0, colon);
    boolean bracketed = host.startsWith("[") && host.endsWith("]") && host.length() > 2;
    checkArgument(bracketed || !host.contains(":"), expected, text);
    checkArgument(host.chars().noneMatch(c -> c <= ' ' || c == '/' || c == ','), expected, text);
    String port = plain.substring(colon + 1);
    checkArgument(port.matches("\\d{1,5}"), expected, text);
    return new HostPort(
        bracketed ? host.substring(1, host.length() - 1) : host, Integer.parseInt(port));
  }

  /**
   * Reads one or more {@code HOST:PORT}, separated by commas.
   *
   * @throws IllegalArgumentException with what was expected instead
   */
  public static List<HostPort> parseList(String text) {
    List<HostPort> list = new ArrayList<>();
    for (String part : text.split(",", -1)) {
      list.add(parse(part));
    }
    return List.copyOf(list);
  }

  @Override
  public String toString() {
    return (host.contains(":") ? "[" + host + "]" : host) + ":" + port;
  }
}
