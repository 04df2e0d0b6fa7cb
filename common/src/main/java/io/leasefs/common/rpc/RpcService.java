package io.leasefs.common.rpc;

import io.grpc.ServerServiceDefinition;
import java.util.List;

/** What a listener of {@link Servers} offers. */
public abstract class RpcService {
  RpcService() {}

  abstract List<ServerServiceDefinition> services();

  /** The largest message that is taken, in bytes. */
  abstract int maxMessageBytes();
}
