package io.leasefs.chunkserver.pipeline;

import io.leasefs.common.api.ChunkApi;
import io.leasefs.common.model.ServerAddress;
import io.leasefs.common.model.ServerId;

/** Reaches other chunkservers. Any thread; never blocks: what cannot be reached breaks later. */
public interface PeerConnector {
  /** The peer that listens there; the name is what it is expected to be. */
  ChunkApi connect(ServerId peer, ServerAddress address);
}
