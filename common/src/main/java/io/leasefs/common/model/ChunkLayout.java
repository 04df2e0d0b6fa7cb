package io.leasefs.common.model;

import java.util.List;
import java.util.Optional;

/**
 * What a client needs to read or write one chunk of a file.
 *
 * @param spec its constants
 * @param index position in the file, from 0
 * @param fileOffset first byte of the chunk in the file
 * @param configuration the newest active one
 * @param locations the members that the master can reach now, in chain order
 * @param seal present once its length is logged
 * @param token the primary's token; 0 where it has none
 */
public record ChunkLayout(
    ChunkSpec spec,
    int index,
    long fileOffset,
    Configuration configuration,
    List<Location> locations,
    Optional<ChunkSeal> seal,
    long token) {
  public ChunkLayout {
    locations = List.copyOf(locations);
  }

  public ChunkHandle handle() {
    return spec.handle();
  }

  /** Where the primary is, if there is one and it can be reached. */
  public Optional<Location> primary() {
    return configuration
        .primary()
        .flatMap(p -> locations.stream().filter(l -> l.member().server().equals(p)).findFirst());
  }
}
