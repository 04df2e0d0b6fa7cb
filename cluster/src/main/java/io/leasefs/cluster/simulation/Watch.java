package io.leasefs.cluster.simulation;

import io.leasefs.common.api.ChunkApi.NamedAnswer;
import io.leasefs.common.api.Frame;
import io.leasefs.common.api.Heartbeat;
import io.leasefs.common.model.ServerId;

/** Told of what leaves a process and binds it. */
interface Watch {
  /** A heartbeat leaves a chunkserver. */
  void sent(Heartbeat.Request request);

  /**
   * A response leaves a master.
   *
   * @param to who asked
   * @param incarnation as which it asked
   */
  void answered(ServerId to, long incarnation, Heartbeat.Response response);

  /**
   * A response that renews a session leaves a master.
   *
   * @param receivedNanos true time at which the request that it answers had come
   */
  void renews(Heartbeat.Response response, long receivedNanos);

  /** A frame arrives at a chunkserver. */
  void arrives(Frame frame);

  /** The answer to a frame leaves a chunkserver. */
  void acknowledges(ServerId server, NamedAnswer answer);
}
