package io.leasefs.master.state;

import io.leasefs.common.model.ChunkHandle;
import io.leasefs.common.model.Durability;
import io.leasefs.common.model.FileId;
import io.leasefs.common.model.SessionId;
import java.util.List;

/**
 * A file by identity, wherever it lies.
 *
 * @param place among the visible, in the trash, or doomed
 * @param replication goal
 * @param chunks in order
 * @param openings for writing, in order of their number
 * @param fenceFloor frames with a smaller token are refused; 0 = none
 */
public record FileEntry(
    FileId file,
    Place place,
    int replication,
    long chunkBytes,
    Durability durability,
    List<ChunkHandle> chunks,
    List<Opening> openings,
    long fenceFloor) {
  public FileEntry {
    chunks = List.copyOf(chunks);
    openings = List.copyOf(openings);
  }

  /** Where a file or folder lies. */
  public enum Place {
    VISIBLE,
    TRASH,
    /** Deleted for good; its chunks are dropped as soon as they may be. */
    DOOMED
  }

  /** One opening for writing. */
  public record Opening(SessionId session, long openNumber, long token) {}
}
