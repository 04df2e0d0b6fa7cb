package io.leasefs.master.state;

import java.nio.charset.StandardCharsets;

/** Where the state writes itself to: a checkpoint, or a digest. Equal states write equal parts. */
public interface StateSink {
  void number(long value);

  void bytes(byte[] value);

  default void flag(boolean value) {
    number(value ? 1 : 0);
  }

  default void text(String value) {
    bytes(value.getBytes(StandardCharsets.UTF_8));
  }
}
