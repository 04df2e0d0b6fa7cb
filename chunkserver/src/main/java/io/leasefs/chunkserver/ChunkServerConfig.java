package io.leasefs.chunkserver;

import io.leasefs.common.model.ServerAddress;
import io.leasefs.common.model.ServerId;
import java.util.List;

/**
 * What a chunkserver is, and its bounds.
 *
 * @param name its name in the cluster
 * @param rack where it stands
 * @param bootId the kernel's boot id
 * @param masters where to look for the master; never empty
 * @param flightBytes payload under way, above which streams push back; twice that is refused
 * @param peerQueueBytes most bytes queued for one peer
 * @param readThreads most reads that use the disk at the same time
 * @param openReads most reads under way
 * @param copies most chunks that are copied here at the same time
 * @param copyBytesPerSecond most that one copy takes
 * @param scrubBytesPerSecond what is read in the background to find damage; 0: nothing
 * @param scrubRoundNanos from the beginning of one look at everything to the next, at least
 * @param forgetNanos how long after their end clients' sessions are forgotten
 */
public record ChunkServerConfig(
    ServerId name,
    String rack,
    String bootId,
    List<ServerAddress> masters,
    long flightBytes,
    long peerQueueBytes,
    int readThreads,
    int openReads,
    int copies,
    long copyBytesPerSecond,
    long scrubBytesPerSecond,
    long scrubRoundNanos,
    long forgetNanos) {
  /** Nobody asks any more by then what became of what a session has sent. */
  private static final long FORGET_NANOS = 600_000_000_000L;

  public ChunkServerConfig {
    masters = List.copyOf(masters);
  }

  /** With the usual bounds: they fit into a heap of 256 MiB and as much direct memory. */
  public static ChunkServerConfig of(
      ServerId name, String rack, String bootId, List<ServerAddress> masters) {
    return new ChunkServerConfig(
        name,
        rack,
        bootId,
        masters,
        40L << 20,
        96L << 20,
        32,
        1_024,
        2,
        64L << 20,
        4L << 20,
        3_600_000_000_000L,
        FORGET_NANOS);
  }

  /** The same, looking for damage at another rate. */
  public ChunkServerConfig withScrubbing(long bytesPerSecond, long roundNanos) {
    return new ChunkServerConfig(
        name,
        rack,
        bootId,
        masters,
        flightBytes,
        peerQueueBytes,
        readThreads,
        openReads,
        copies,
        copyBytesPerSecond,
        bytesPerSecond,
        roundNanos,
        forgetNanos);
  }

  /** The same, forgetting sessions so long after their end. */
  public ChunkServerConfig withForgetting(long nanos) {
    return new ChunkServerConfig(
        name,
        rack,
        bootId,
        masters,
        flightBytes,
        peerQueueBytes,
        readThreads,
        openReads,
        copies,
        copyBytesPerSecond,
        scrubBytesPerSecond,
        scrubRoundNanos,
        nanos);
  }
}
