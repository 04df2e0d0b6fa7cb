package io.leasefs.client.fake;

import io.leasefs.client.edge.Network;
import io.leasefs.common.api.AdminApi;
import io.leasefs.common.api.ChunkApi;
import io.leasefs.common.api.MasterApi;
import io.leasefs.common.error.ErrorCode;
import io.leasefs.common.error.LeaseFsException;
import io.leasefs.common.model.ServerAddress;
import java.util.Map;
import java.util.TreeMap;

/** Servers by address. */
public final class FakeNetwork implements Network {
  public final Map<String, MasterApi> masters = new TreeMap<>();
  public final Map<String, ChunkApi> chunkServers = new TreeMap<>();

  private static <T> T find(Map<String, T> servers, ServerAddress address) {
    T server = servers.get(address.toString());
    if (server == null) {
      throw new LeaseFsException(ErrorCode.UNREACHABLE, address + ": nobody there");
    }
    return server;
  }

  @Override
  public MasterApi master(ServerAddress address) {
    return find(masters, address);
  }

  @Override
  public AdminApi admin(ServerAddress address) {
    throw new LeaseFsException(ErrorCode.INTERNAL, "not expected in this test");
  }

  @Override
  public ChunkApi chunkServer(ServerAddress address) {
    return find(chunkServers, address);
  }

  @Override
  public void close() {}
}
