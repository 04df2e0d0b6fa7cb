package io.leasefs.client.cli;

import io.leasefs.client.LeaseFs;
import io.leasefs.common.error.ErrorCode;
import io.leasefs.common.error.LeaseFsException;
import io.leasefs.common.model.ChunkHandle;
import io.leasefs.common.model.ChunkLayout;
import java.util.List;

/** Finds chunks by what a user types: {@code 0x51c}, {@code /path#2} or {@code /path}. */
final class ChunkNames {
  private ChunkNames() {}

  /** The one chunk meant: of a path without index its last. */
  static ChunkHandle one(LeaseFs client, String text) {
    if (!text.startsWith("/")) {
      return ChunkHandle.parse(text);
    }
    int mark = text.lastIndexOf('#');
    String path = mark > 0 ? text.substring(0, mark) : text;
    List<ChunkLayout> chunks = client.layout(path).chunks();
    int index = mark > 0 ? index(text, mark) : chunks.size() - 1;
    if (index < 0 || index >= chunks.size()) {
      throw new LeaseFsException(
          ErrorCode.NOT_FOUND,
          path + ": has no chunk " + Math.max(index, 0) + ", it has " + chunks.size(),
          "see them with 'leasefs chunk ls " + path + "'");
    }
    return chunks.get(index).handle();
  }

  /** All chunks meant: of a path all of the file's. */
  static List<ChunkHandle> all(LeaseFs client, String text) {
    if (text.startsWith("/") && text.lastIndexOf('#') < 0) {
      return client.layout(text).chunks().stream().map(ChunkLayout::handle).toList();
    }
    return List.of(one(client, text));
  }

  private static int index(String text, int mark) {
    try {
      return Integer.parseInt(text.substring(mark + 1));
    } catch (NumberFormatException e) {
      throw new LeaseFsException(
          ErrorCode.INVALID_ARGUMENT,
          "not a chunk's index: '" + text.substring(mark + 1) + "'",
          "write it as /path#0");
    }
  }
}
