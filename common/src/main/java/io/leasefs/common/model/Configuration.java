package io.leasefs.common.model;

import java.util.List;
import java.util.Optional;

/**
 * The active configuration of a chunk.
 *
 * @param version number of the configuration, from 1
 * @param primary orders mutations; empty where the chunk is sealed or its lease has ended
 * @param members in chain order, the primary first
 * @param firstSerial serial of the version start (0 for version 1: its first mutation is 1)
 */
public record Configuration(
    long version, Optional<ServerId> primary, List<Member> members, long firstSerial) {
  public Configuration {
    members = List.copyOf(members);
    if (version < 1 || firstSerial < 0) {
      throw new IllegalArgumentException("version " + version + " firstSerial " + firstSerial);
    }
  }

  /** The member at this server, if any. */
  public Optional<Member> memberAt(ServerId server) {
    return members.stream().filter(m -> m.server().equals(server)).findFirst();
  }
}
