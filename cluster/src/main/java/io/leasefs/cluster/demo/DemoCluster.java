package io.leasefs.cluster.demo;

import io.leasefs.common.error.LeaseFsException;
import io.leasefs.common.model.ClusterEvent;
import io.leasefs.common.model.ServerAddress;
import java.io.IOException;
import java.util.List;
import java.util.Optional;

/** The cluster that a demo acts on. Any thread. */
interface DemoCluster extends AutoCloseable {
  List<ServerAddress> masters();

  /**
   * Makes sure that harm can be done at all, before anything is written.
   *
   * @throws LeaseFsException PERMISSION where it cannot
   */
  void check();

  /**
   * How servers that have just been started may be warmed up; absent where they are long at work.
   */
  Optional<Rehearsal> rehearsal();

  /** What only a cluster made for the demo allows. */
  interface Rehearsal {
    /** SIGKILL, and a new start; returns once it serves. */
    void killAndRestart(String server);
  }

  /** SIGKILL. */
  void kill(String server);

  /** It stands still as a whole, at least this long. */
  void freeze(String server, long nanos);

  /** It goes on where it stood, or has done so; at least the time of {@link #freeze} after that. */
  void thaw(String server);

  /** What every server recorded, the dead ones too. */
  List<ClusterEvent> recordedEvents() throws IOException;

  @Override
  void close();
}
