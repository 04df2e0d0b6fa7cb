package io.leasefs.common.model;

import java.util.Collections;
import java.util.Map;
import java.util.TreeMap;

/**
 * The right to be a chunk's primary at one version, attached to the session it is sent to.
 *
 * @param spec the chunk
 * @param token fencing token, constant for the tenure
 * @param configuration version, members in chain order (holder first), serial of the version start
 * @param peers where the members listen (internal addresses)
 */
public record LeaseGrant(
    ChunkSpec spec, long token, Configuration configuration, Map<ServerId, ServerAddress> peers) {
  public LeaseGrant {
    peers = Collections.unmodifiableMap(new TreeMap<>(peers));
  }

  public ChunkHandle handle() {
    return spec.handle();
  }

  public long version() {
    return configuration.version();
  }
}
