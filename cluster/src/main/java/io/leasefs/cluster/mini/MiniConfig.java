package io.leasefs.cluster.mini;

import java.nio.file.Path;
import java.util.List;

/**
 * How a mini-cluster is made.
 *
 * @param folder where all its data and logs lie
 * @param chunkServers how many, 1 to 32, named cs1, cs2 ...; each in a rack of its own pair
 * @param masterFlags more flags of the master, such as {@code --lease-ttl 3s}
 * @param chunkServerFlags more flags of each chunkserver
 * @param jvmFlags more flags of each JVM
 */
public record MiniConfig(
    Path folder,
    int chunkServers,
    List<String> masterFlags,
    List<String> chunkServerFlags,
    List<String> jvmFlags) {
  public MiniConfig {
    if (chunkServers < 1 || chunkServers > 32) {
      throw new IllegalArgumentException("1 to 32 chunkservers, not " + chunkServers);
    }
    masterFlags = List.copyOf(masterFlags);
    chunkServerFlags = List.copyOf(chunkServerFlags);
    jvmFlags = List.copyOf(jvmFlags);
  }
}
