package io.leasefs.client.cli;

import io.leasefs.common.model.FileStatus;
import java.util.Locale;
import java.util.Map;

/** How a file's status is shown. */
final class FileRows {
  private FileRows() {}

  static Map<String, Object> json(FileStatus status) {
    return Json.object(
        "path",
        status.path().text(),
        "id",
        status.id().toString(),
        "folder",
        status.folder(),
        "lengthBytes",
        status.folder() ? null : status.lengthBytes(),
        "replication",
        status.folder() ? null : status.replication(),
        "chunkBytes",
        status.folder() ? null : status.chunkBytes(),
        "durability",
        status.folder() ? null : status.durability().name().toLowerCase(Locale.ROOT),
        "mode",
        String.format("%04o", status.mode()),
        "modified",
        Quantities.instant(status.modifiedMillis()),
        "created",
        Quantities.instant(status.createdMillis()),
        "openWriters",
        status.folder() ? null : status.openWriters(),
        status.folder() ? "entries" : "chunks",
        status.chunkCount());
  }

  /** {@code -rw-r--r--}. */
  static String mode(FileStatus status) {
    StringBuilder text = new StringBuilder(status.folder() ? "d" : "-");
    String letters = "rwxrwxrwx";
    for (int bit = 8; bit >= 0; bit--) {
      text.append((status.mode() >> bit & 1) != 0 ? letters.charAt(8 - bit) : '-');
    }
    return text.toString();
  }

  static String size(FileStatus status, boolean human) {
    if (status.folder()) {
      return "-";
    }
    return human ? Quantities.human(status.lengthBytes()) : Long.toString(status.lengthBytes());
  }
}
