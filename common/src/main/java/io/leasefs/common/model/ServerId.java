package io.leasefs.common.model;

import io.leasefs.common.error.ErrorCode;
import io.leasefs.common.error.LeaseFsException;
import java.util.regex.Pattern;

/** The name of a chunkserver or master, as its operator chose it: {@code cs1}. */
public record ServerId(String name) implements Comparable<ServerId> {
  private static final Pattern FORM = Pattern.compile("[A-Za-z0-9][A-Za-z0-9._-]{0,63}");

  public ServerId {
    if (!FORM.matcher(name).matches()) {
      throw new LeaseFsException(
          ErrorCode.INVALID_ARGUMENT,
          "not a server name: '" + name + "'",
          "use 1 to 64 letters, digits, '.', '_' or '-', a letter or digit first");
    }
  }

  @Override
  public int compareTo(ServerId other) {
    return name.compareTo(other.name);
  }

  @Override
  public String toString() {
    return name;
  }
}
