package io.leasefs.chunkserver.session;

import io.leasefs.common.api.ClusterApi;
import io.leasefs.common.model.ServerAddress;

/** Reaches masters. Any thread; never blocks. */
@FunctionalInterface
public interface ClusterConnector {
  ClusterApi connect(ServerAddress master);
}
