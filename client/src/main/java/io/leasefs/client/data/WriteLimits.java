package io.leasefs.client.data;

import io.leasefs.common.api.Frame;

/**
 * Bounds of one file's writing.
 *
 * @param inFlightBytes most payload under way
 * @param silentNanos without any answer for this long, the primary counts as silent
 * @param writesOn true: silence of the primary is told to the master, which may seal the chunk so
 *     that the file goes on in a new one; false: writes wait for the chunk's next primary
 * @param timeoutNanos a write that makes no progress for this long fails
 */
public record WriteLimits(
    long inFlightBytes, long silentNanos, boolean writesOn, long timeoutNanos) {
  /** 8 MiB, 1 s, 30 s. */
  public static final WriteLimits DEFAULT =
      new WriteLimits(8L * Frame.MAX_PAYLOAD, 1_000_000_000L, true, 30_000_000_000L);

  public WriteLimits {
    if (inFlightBytes < Frame.MAX_PAYLOAD || silentNanos <= 0 || timeoutNanos <= 0) {
      throw new IllegalArgumentException(
          inFlightBytes + " bytes, " + silentNanos + " ns, " + timeoutNanos + " ns");
    }
  }
}
