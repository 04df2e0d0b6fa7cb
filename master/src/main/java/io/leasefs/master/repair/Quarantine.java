package io.leasefs.master.repair;

import io.leasefs.common.api.AdminApi.QuarantineReason;
import io.leasefs.common.model.ChunkHandle;
import io.leasefs.common.model.Ordinal;

/**
 * Which copies outside of the log are not to be deleted, because it may be the log that lacks
 * something. Pure, and for ever the same of the same copy: generations never go down, and nothing
 * is named in an earlier one any more. So no copy needs a mark.
 */
public final class Quarantine {
  private Quarantine() {}

  /**
   * Of a copy of a chunk that the log does not know. Handles are numbers of the log. One of an
   * earlier generation may be from the part of it that is missing; one of the present generation
   * was in this log, and its file has been purged.
   */
  public static QuarantineReason ofUnknown(ChunkHandle chunk, int generation) {
    return Ordinal.generation(chunk.value()) < generation
        ? QuarantineReason.LOST
        : QuarantineReason.UNKNOWN;
  }

  /**
   * Whether a copy outside of its chunk's configuration may have something of a version of which
   * the log knows nothing. Raising the generation leads the last version of every chunk by it. So
   * where a chunk has been through that, versions of an earlier generation are in this log up to
   * the active one, as long as that is of an earlier generation itself. Those above are not, or
   * came to nothing; and once the chunk has gone on in the new generation, that can no longer be
   * told, and all of them count as such.
   *
   * @param highest version that the copy has promised or started
   * @param active version of the chunk
   * @param last version allocated for the chunk
   */
  public static boolean isAhead(long highest, long active, long last) {
    int generation = Ordinal.generation(last);
    return Ordinal.generation(highest) < generation
        && (Ordinal.generation(active) == generation || highest > active);
  }
}
