package io.leasefs.client.edge;

import io.leasefs.common.api.AdminApi;
import io.leasefs.common.api.ChunkApi;
import io.leasefs.common.api.MasterApi;
import io.leasefs.common.model.ServerAddress;

/**
 * Reaches the servers of a cluster. Any thread; never blocks: a server that cannot be reached shows
 * in its answers (UNREACHABLE). The same address gives the same connection.
 */
public interface Network {
  MasterApi master(ServerAddress address);

  AdminApi admin(ServerAddress address);

  ChunkApi chunkServer(ServerAddress address);

  /** Ends all connections; what is under way fails. */
  void close();
}
