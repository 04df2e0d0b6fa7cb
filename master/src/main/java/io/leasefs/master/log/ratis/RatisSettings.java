package io.leasefs.master.log.ratis;

import io.leasefs.common.error.ErrorCode;
import io.leasefs.common.error.LeaseFsException;
import io.leasefs.common.model.ServerAddress;
import io.leasefs.common.model.ServerId;
import java.nio.file.Path;
import java.util.Collections;
import java.util.SortedMap;
import java.util.TreeMap;

/**
 * How a master's log is kept.
 *
 * @param self this master
 * @param folder where log and checkpoints lie; made where it is missing
 * @param peers all masters, this one included, and where their logs talk to one another; alone,
 *     port 0 is fine, for nobody else needs to find it
 * @param checkpointEvery entries between two checkpoints
 */
public record RatisSettings(
    ServerId self, Path folder, SortedMap<ServerId, ServerAddress> peers, long checkpointEvery) {
  /** Entries between two checkpoints where nothing else is asked for. */
  public static final long DEFAULT_CHECKPOINT_EVERY = 100_000;

  public RatisSettings {
    peers = Collections.unmodifiableSortedMap(new TreeMap<>(peers));
    if (!peers.containsKey(self)) {
      throw new LeaseFsException(
          ErrorCode.INVALID_ARGUMENT, "master " + self + " is not among the masters " + peers);
    }
    if (checkpointEvery < 1) {
      throw new LeaseFsException(
          ErrorCode.INVALID_ARGUMENT, "checkpoint every " + checkpointEvery + " entries");
    }
  }

  /** A group of one, on a free port of the loopback. */
  public static RatisSettings alone(ServerId self, Path folder) {
    TreeMap<ServerId, ServerAddress> peers = new TreeMap<>();
    peers.put(self, new ServerAddress("127.0.0.1", 0));
    return new RatisSettings(self, folder, peers, DEFAULT_CHECKPOINT_EVERY);
  }

  boolean isAlone() {
    return peers.size() == 1;
  }
}
