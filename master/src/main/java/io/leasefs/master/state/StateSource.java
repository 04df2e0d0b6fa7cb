package io.leasefs.master.state;

import java.nio.charset.StandardCharsets;

/** Where the state reads itself from: the parts that a {@link StateSink} was given, in order. */
public interface StateSource {
  long number();

  byte[] bytes();

  default boolean flag() {
    return number() != 0;
  }

  default String text() {
    return new String(bytes(), StandardCharsets.UTF_8);
  }
}
