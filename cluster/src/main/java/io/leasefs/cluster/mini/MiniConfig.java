package io.leasefs.cluster.mini;

import io.leasefs.common.error.ErrorCode;
import io.leasefs.common.error.LeaseFsException;
import io.leasefs.common.lease.LeaseTerms;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;

/**
 * How a mini-cluster is made.
 *
 * @param folder where all its data and logs lie
 * @param temporary whether the folder goes with the cluster; not where the cluster cannot start,
 *     for its logs say why
 * @param chunkServers how many, 1 to 32, named cs1, cs2 ...; each in a rack of its own pair
 * @param masterFlags more flags of the master, such as {@code --lease-ttl 3s}
 * @param chunkServerFlags more flags of each chunkserver
 * @param ownFlags more flags of single servers, by name: {@code master}, {@code cs1}
 * @param jvmFlags more flags of each JVM
 */
public record MiniConfig(
    Path folder,
    boolean temporary,
    int chunkServers,
    List<String> masterFlags,
    List<String> chunkServerFlags,
    Map<String, List<String>> ownFlags,
    List<String> jvmFlags) {
  private static final int MOST = 32;

  /**
   * Checked and copied.
   *
   * @throws LeaseFsException where there are too few or too many chunkservers
   */
  public MiniConfig {
    if (chunkServers < 1 || chunkServers > MOST) {
      throw new LeaseFsException(
          ErrorCode.INVALID_ARGUMENT,
          "a mini-cluster has 1 to " + MOST + " chunkservers, not " + chunkServers);
    }
    masterFlags = List.copyOf(masterFlags);
    chunkServerFlags = List.copyOf(chunkServerFlags);
    ownFlags = Map.copyOf(ownFlags);
    jvmFlags = List.copyOf(jvmFlags);
  }

  /** In this folder, which stays. */
  public static MiniConfig in(
      Path folder, int chunkServers, List<String> masterFlags, List<String> chunkServerFlags) {
    return new MiniConfig(
        folder.toAbsolutePath(),
        false,
        chunkServers,
        masterFlags,
        chunkServerFlags,
        Map.of(),
        List.of());
  }

  /** In a new folder of this system's, whose name begins so, and which stays if wanted. */
  public static MiniConfig inNewFolder(
      String prefix,
      boolean keep,
      int chunkServers,
      List<String> masterFlags,
      List<String> chunkServerFlags)
      throws IOException {
    return new MiniConfig(
        Files.createTempDirectory(prefix),
        !keep,
        chunkServers,
        masterFlags,
        chunkServerFlags,
        Map.of(),
        List.of());
  }

  /**
   * The masters' flags for this T, checked here and not by servers that end at once.
   *
   * @throws LeaseFsException where no master would take it, with the inequality
   */
  public static List<String> leaseTtl(long ttlNanos) {
    try {
      LeaseTerms _ = LeaseTerms.ofTtl(ttlNanos);
    } catch (IllegalArgumentException e) {
      throw new LeaseFsException(ErrorCode.INVALID_ARGUMENT, String.valueOf(e.getMessage()));
    }
    return List.of("--lease-ttl", ttlNanos / 1_000_000 + "ms");
  }

  /** The same with more flags of each JVM. */
  public MiniConfig withJvmFlags(String... flags) {
    return new MiniConfig(
        folder, temporary, chunkServers, masterFlags, chunkServerFlags, ownFlags, List.of(flags));
  }

  /** The same with more flags of single servers. */
  public MiniConfig withOwnFlags(Map<String, List<String>> flags) {
    return new MiniConfig(
        folder, temporary, chunkServers, masterFlags, chunkServerFlags, flags, jvmFlags);
  }
}
