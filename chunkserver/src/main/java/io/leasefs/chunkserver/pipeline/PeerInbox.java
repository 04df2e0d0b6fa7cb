package io.leasefs.chunkserver.pipeline;

import io.leasefs.common.api.PeerMessage;
import io.leasefs.common.model.ServerId;

/** Where what peers say goes. Any thread; must not block. */
public interface PeerInbox {
  /** A message, in the order of its stream. */
  void message(ServerId from, PeerMessage message);

  /** A stream to or from this peer broke, or cannot be opened: messages may be lost. */
  void broken(ServerId peer, String why);
}
