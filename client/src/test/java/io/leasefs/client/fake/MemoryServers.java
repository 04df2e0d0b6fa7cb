package io.leasefs.client.fake;

import io.leasefs.common.api.AdminApi;
import io.leasefs.common.api.ClusterApi;
import io.leasefs.common.model.ServerAddress;
import io.leasefs.common.rpc.ChunkServerEndpoint;
import io.leasefs.common.rpc.MasterServer;
import io.leasefs.common.rpc.Servers;
import java.lang.reflect.Proxy;

/** A {@link MemoryCluster} behind real listeners on loopback. */
public final class MemoryServers implements AutoCloseable {
  private static final ServerAddress ANY = new ServerAddress("127.0.0.1", 0);

  private final Servers masters = new Servers("master", 1);
  private final Servers chunkServers = new Servers("chunkserver", 1);
  private final ServerAddress master;

  public MemoryServers(MemoryCluster cluster) {
    master =
        masters.listen(
            ANY,
            new MasterServer(cluster.master, notAsked(AdminApi.class), notAsked(ClusterApi.class)));
    cluster.at(chunkServers.listen(ANY, new ChunkServerEndpoint(cluster.chunkServer)));
  }

  private static <T> T notAsked(Class<T> api) {
    return api.cast(
        Proxy.newProxyInstance(
            api.getClassLoader(),
            new Class<?>[] {api},
            (proxy, method, arguments) -> {
              throw new AssertionError(method + " is not asked here");
            }));
  }

  /** Where the master listens. */
  public ServerAddress master() {
    return master;
  }

  @Override
  public void close() {
    chunkServers.close();
    masters.close();
  }
}
