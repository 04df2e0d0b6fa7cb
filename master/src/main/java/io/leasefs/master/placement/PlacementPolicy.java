package io.leasefs.master.placement;

import io.leasefs.common.model.DiskId;
import io.leasefs.common.model.ServerId;
import java.util.List;

/** Chooses where copies go. Pure: facts in, a choice out. */
public interface PlacementPolicy {
  /**
   * A server that may take a copy, and the disk that would.
   *
   * @param recentCreations copies placed there lately: writes follow creations
   * @param leases chunks that it is primary of
   */
  record Candidate(
      ServerId server,
      String rack,
      DiskId disk,
      long freeBytes,
      long totalBytes,
      int recentCreations,
      int leases) {}

  /**
   * At most {@code count} of the candidates, the best first; the first of a new chunk's is its
   * primary. Fewer where there are not enough.
   *
   * @param taken racks of the copies that there are already
   * @param bytesNeeded room that a copy takes
   * @param salt breaks ties
   */
  List<Candidate> choose(
      List<Candidate> candidates, List<String> taken, int count, long bytesNeeded, long salt);
}
