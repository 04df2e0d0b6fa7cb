package io.leasefs.common.model;

import java.util.List;

/**
 * A file's chunks, or a part of them.
 *
 * @param file the file
 * @param status as logged; the length counts logged seals only
 * @param chunks in order, none missing between the first and the last given
 * @param complete true where the last given chunk is the file's last
 */
public record FileLayout(
    FileId file, FileStatus status, List<ChunkLayout> chunks, boolean complete) {
  public FileLayout {
    chunks = List.copyOf(chunks);
  }
}
