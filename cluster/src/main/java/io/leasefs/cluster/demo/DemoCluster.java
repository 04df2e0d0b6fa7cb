package io.leasefs.cluster.demo;

import io.leasefs.common.model.ClusterEvent;
import io.leasefs.common.model.ServerAddress;
import java.io.IOException;
import java.util.List;

/** The cluster that a demo acts on. Any thread. */
interface DemoCluster extends AutoCloseable {
  List<ServerAddress> masters();

  /** SIGKILL. */
  void kill(String server);

  /** It stands still as a whole. */
  void freeze(String server);

  /** It goes on where it stood. */
  void thaw(String server);

  /** What every server recorded, the dead ones too. */
  List<ClusterEvent> recordedEvents() throws IOException;

  @Override
  void close();
}
