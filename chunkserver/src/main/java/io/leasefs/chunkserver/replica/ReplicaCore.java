package io.leasefs.chunkserver.replica;

import io.leasefs.common.api.Heartbeat;
import java.util.ArrayList;
import java.util.List;

/**
 * The state machine of one copy of a chunk.
 *
 * @see ReplicaEvent
 * @see ReplicaAction
 */
public final class ReplicaCore {
  private final ReplicaImage image;

  /** Goes on from what the disk has; a chunk that is new on it is {@link ReplicaImage#newborn}. */
  public ReplicaCore(ReplicaImage image) {
    this.image = image;
  }

  /**
   * Takes in one event.
   *
   * @param now the server's monotonic clock, nanoseconds; never smaller than in the step before
   * @return what to do, in order; the caller owns the list
   */
  public List<ReplicaAction> step(ReplicaEvent event, long now) {
    return new ArrayList<>();
  }

  /**
   * When a {@link ReplicaEvent.Tick} is due; {@code Long.MAX_VALUE} where nothing is waited for.
   */
  public long wakeAt() {
    return Long.MAX_VALUE;
  }

  /** True where the order to delete this copy still applies to it. */
  public boolean mayDelete(Heartbeat.DeleteCommand command) {
    return command.replica().equals(image.self().replica());
  }
}
