package io.leasefs.chunkserver.copy;

import io.leasefs.chunkserver.replica.ReplicaImage.Snapshot;
import io.leasefs.chunkserver.store.ChunkInstall;
import io.leasefs.chunkserver.store.StoredChunk;
import io.leasefs.common.api.Heartbeat.CopyCommand;
import java.io.IOException;

/** Where a finished copy goes. Called by the copier, on a thread that may wait for the disk. */
public interface CopyLanding {
  /** Makes room for the copy; throws where one is here that must stay. */
  ChunkInstall begin(CopyCommand order) throws IOException;

  /** Puts a copy to work. */
  void landed(CopyCommand order, StoredChunk copy, Snapshot state);
}
