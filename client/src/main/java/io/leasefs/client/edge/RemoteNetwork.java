package io.leasefs.client.edge;

import io.leasefs.common.api.AdminApi;
import io.leasefs.common.api.ChunkApi;
import io.leasefs.common.api.MasterApi;
import io.leasefs.common.model.ServerAddress;
import io.leasefs.common.rpc.Channels;
import io.leasefs.common.rpc.RemoteChunkServer;
import io.leasefs.common.rpc.RemoteMaster;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/** The real network: a connection per address, all carried by two threads. Any thread. */
public final class RemoteNetwork implements Network {
  private final Channels channels = new Channels("leasefs-client", 2);
  private final Map<ServerAddress, RemoteMaster> masters = new ConcurrentHashMap<>();
  private final Map<ServerAddress, RemoteChunkServer> chunkServers = new ConcurrentHashMap<>();
  private final long callTimeoutNanos;

  /**
   * @param callTimeoutNanos after which one call counts as failed; whether it is made again is the
   *     caller's
   */
  public RemoteNetwork(long callTimeoutNanos) {
    this.callTimeoutNanos = callTimeoutNanos;
  }

  @Override
  public MasterApi master(ServerAddress address) {
    return remoteMaster(address);
  }

  @Override
  public AdminApi admin(ServerAddress address) {
    return remoteMaster(address);
  }

  private RemoteMaster remoteMaster(ServerAddress address) {
    return masters.computeIfAbsent(address, a -> new RemoteMaster(channels, a, callTimeoutNanos));
  }

  @Override
  public ChunkApi chunkServer(ServerAddress address) {
    return chunkServers.computeIfAbsent(
        address, a -> new RemoteChunkServer(channels, a, callTimeoutNanos));
  }

  @Override
  public void close() {
    channels.close();
  }
}
