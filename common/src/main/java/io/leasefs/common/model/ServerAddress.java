package io.leasefs.common.model;

import io.leasefs.common.error.ErrorCode;
import io.leasefs.common.error.LeaseFsException;

/** Where a process listens. */
public record ServerAddress(String host, int port) {
  public ServerAddress {
    if (host.isEmpty() || port < 0 || port > 65_535) {
      throw new LeaseFsException(
          ErrorCode.INVALID_ARGUMENT, "not an address: '" + host + ":" + port + "'", "HOST:PORT");
    }
  }

  /** Reads HOST:PORT. */
  public static ServerAddress parse(String text) {
    int colon = text.lastIndexOf(':');
    try {
      if (colon > 0) {
        return new ServerAddress(
            text.substring(0, colon), Integer.parseInt(text.substring(colon + 1)));
      }
    } catch (NumberFormatException e) {
      // falls through to the one error below
    }
    throw new LeaseFsException(
        ErrorCode.INVALID_ARGUMENT, "not an address: '" + text + "'", "write it as HOST:PORT");
  }

  @Override
  public String toString() {
    return host + ":" + port;
  }
}
