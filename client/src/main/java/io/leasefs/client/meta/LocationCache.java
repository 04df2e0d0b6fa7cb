package io.leasefs.client.meta;

import io.leasefs.common.model.ChunkLayout;
import io.leasefs.common.model.ChunkSeal;
import io.leasefs.common.model.FileId;
import io.leasefs.common.model.FileLayout;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;

/**
 * Layouts of files, each used at most T from when it was asked for (protocol, section 7). Kept in
 * pages of chunks, so that a large file is not fetched anew as a whole. The longest unused file is
 * forgotten first.
 *
 * <p>Any thread; the lock is never held over a call to anybody. Reads no clock.
 */
public final class LocationCache {
  /** Chunks in a page. */
  public static final int PAGE = 256;

  private final int maxFiles;
  private final LinkedHashMap<FileId, TreeMap<Integer, Page>> files =
      new LinkedHashMap<>(16, 0.75f, true);

  private record Page(FileLayout layout, long askedAt) {}

  /** What is known about a place in a file. */
  public record Found(Optional<ChunkLayout> chunk, int missingPage, boolean isEnd, long askedAt) {}

  public LocationCache(int maxFiles) {
    this.maxFiles = maxFiles;
  }

  /**
   * Keeps a page.
   *
   * @param fromIndex the first chunk asked for, a multiple of {@link #PAGE}
   * @param askedAt when the request left, on this process's clock
   */
  public synchronized void put(FileLayout layout, int fromIndex, long askedAt) {
    TreeMap<Integer, Page> pages = files.computeIfAbsent(layout.file(), f -> new TreeMap<>());
    if (layout.complete()) {
      pages.tailMap(fromIndex, false).clear();
    }
    pages.put(fromIndex, new Page(layout, askedAt));
    while (files.size() > maxFiles) {
      files.remove(files.keySet().iterator().next());
    }
  }

  /**
   * Looks up the chunk that holds the file's byte at {@code offset}: the chunk, or the page that
   * must be fetched first, or the end of the file.
   *
   * @param notBefore pages asked for before this are not used
   */
  public synchronized Found find(FileId file, long offset, long notBefore) {
    Map<Integer, Page> pages = files.get(file);
    int index = 0;
    if (pages != null) {
      while (true) {
        Page page = pages.get(index);
        if (page == null) {
          break;
        }
        Optional<ChunkLayout> chunk = within(page.layout(), offset);
        boolean goesOn = !page.layout().complete();
        if (chunk.isEmpty() && goesOn) {
          index += PAGE;
          continue;
        }
        if (page.askedAt() < notBefore) {
          break;
        }
        return new Found(chunk, -1, chunk.isEmpty(), page.askedAt());
      }
    }
    return new Found(Optional.empty(), index, false, 0);
  }

  private static Optional<ChunkLayout> within(FileLayout layout, long offset) {
    for (ChunkLayout chunk : layout.chunks()) {
      boolean holds =
          chunk.fileOffset() <= offset
              && (chunk.seal().isEmpty()
                  || offset < chunk.fileOffset() + chunk.seal().get().lengthBytes());
      if (holds) {
        return Optional.of(chunk);
      }
    }
    return Optional.empty();
  }

  /** Where the last known chunk ends, by its seal; 0 where there is none. */
  public synchronized long sealedLength(FileId file) {
    TreeMap<Integer, Page> pages = files.get(file);
    if (pages == null || pages.isEmpty()) {
      return 0;
    }
    List<ChunkLayout> chunks = pages.lastEntry().getValue().layout().chunks();
    if (chunks.isEmpty()) {
      return 0;
    }
    ChunkLayout last = chunks.get(chunks.size() - 1);
    return last.fileOffset() + last.seal().map(ChunkSeal::lengthBytes).orElse(0L);
  }

  /** Something of it did not hold any more. */
  public synchronized void forget(FileId file) {
    files.remove(file);
  }
}
