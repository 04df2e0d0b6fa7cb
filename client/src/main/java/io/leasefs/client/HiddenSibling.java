package io.leasefs.client;

import io.leasefs.common.model.FilePath;
import java.nio.charset.StandardCharsets;

/** Names of files that are still being put. */
final class HiddenSibling {
  private HiddenSibling() {}

  /** {@code .leasefs-put-0123456789abcdef-name}, the name cut to what fits. */
  static FilePath of(FilePath target, long random) {
    String start = FilePath.HIDDEN_PREFIX + String.format("%016x", random) + "-";
    String name = target.name();
    while (bytes(start + name) > FilePath.MAX_NAME_BYTES) {
      name = name.substring(0, name.offsetByCodePoints(name.length(), -1));
    }
    return target.parent().child(start + name);
  }

  private static int bytes(String text) {
    return text.getBytes(StandardCharsets.UTF_8).length;
  }
}
