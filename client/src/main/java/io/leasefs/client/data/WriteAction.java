package io.leasefs.client.data;

import io.leasefs.common.api.Frame;
import io.leasefs.common.error.LeaseFsException;
import io.leasefs.common.model.AppendResult;
import io.leasefs.common.model.ChunkHandle;
import io.leasefs.common.model.ChunkSeal;
import io.leasefs.common.model.SealedChunk;
import io.leasefs.common.model.ServerAddress;
import java.util.Optional;

/**
 * What {@link WriteCore} wants done, in this order.
 *
 * @param <T> how the caller of the core names its writes
 */
public sealed interface WriteAction<T> {
  /** Calls the method of the carrier that belongs to this action. */
  void carryOut(Carrier<T> carrier);

  /** Who does it. */
  interface Carrier<T> {
    void send(Send<T> action);

    void fetchLayout(FetchLayout<T> action);

    void addChunk(AddChunk<T> action);

    void reportSilent(ReportSilent<T> action);

    void reopen(Reopen<T> action);

    void completed(Completed<T> action);

    void failed(Failed<T> action);
  }

  /** Send the frame to the server there, after all sent before. */
  record Send<T>(ServerAddress target, Frame frame) implements WriteAction<T> {
    @Override
    public void carryOut(Carrier<T> carrier) {
      carrier.send(this);
    }
  }

  /** Ask the master for the chunk's layout; answer with {@code layoutArrived} or failed. */
  record FetchLayout<T>(ChunkHandle chunk, long knownVersion, long waitNanos)
      implements WriteAction<T> {
    @Override
    public void carryOut(Carrier<T> carrier) {
      carrier.fetchLayout(this);
    }
  }

  /** Ask the master for the next chunk; answer with {@code chunkAdded} or failed. */
  record AddChunk<T>(int afterIndex, Optional<ChunkSeal> seal) implements WriteAction<T> {
    @Override
    public void carryOut(Carrier<T> carrier) {
      carrier.addChunk(this);
    }
  }

  /** Tell the master what was seen of the primary; no answer is awaited. */
  record ReportSilent<T>(ChunkHandle chunk, long version, boolean connectionReset)
      implements WriteAction<T> {
    @Override
    public void carryOut(Carrier<T> carrier) {
      carrier.reportSilent(this);
    }
  }

  /** The session is lost: open the file anew; answer with {@code reopened} or failed. */
  record Reopen<T>() implements WriteAction<T> {
    @Override
    public void carryOut(Carrier<T> carrier) {
      carrier.reopen(this);
    }
  }

  /**
   * A write has its one true result.
   *
   * @param result empty for a pure seal
   * @param seal set where the chunk ends with it
   * @param sentOnce true where no second copy of the frame can be under way
   */
  record Completed<T>(
      T tag, Optional<AppendResult> result, Optional<SealedChunk> seal, boolean sentOnce)
      implements WriteAction<T> {
    @Override
    public void carryOut(Carrier<T> carrier) {
      carrier.completed(this);
    }
  }

  /** A write is given up; OUTCOME_UNKNOWN where it may be in the file. */
  record Failed<T>(T tag, LeaseFsException failure) implements WriteAction<T> {
    @Override
    public void carryOut(Carrier<T> carrier) {
      carrier.failed(this);
    }
  }
}
