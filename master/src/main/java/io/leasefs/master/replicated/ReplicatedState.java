package io.leasefs.master.replicated;

import io.leasefs.common.model.Ordinal;
import io.leasefs.master.log.Operation;
import io.leasefs.master.log.OperationLog.Committed;
import io.leasefs.master.log.OperationResult;
import io.leasefs.master.state.MetadataState;
import io.leasefs.master.state.StateView;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.locks.ReentrantReadWriteLock;
import java.util.function.Function;

/**
 * The hard state behind a read-write lock. The log's one applying thread changes it; everyone else
 * reads. One way in for live entries, catching up and restart.
 *
 * <p>Between two reads it is another state: what must fit together is read at once. Not final: the
 * simulator stops tasks between two reads.
 */
public class ReplicatedState {
  private final ReentrantReadWriteLock lock = new ReentrantReadWriteLock();
  private final List<ApplyListener> listeners = new CopyOnWriteArrayList<>();
  private MetadataState state = new MetadataState();

  /** Told of each entry after it was applied, on the applying thread, without the lock. */
  public interface ApplyListener {
    /** An entry was applied. Must not block, nor append and wait. */
    void applied(long ordinal, long term, Operation operation, OperationResult result);

    /** The whole state was replaced by a checkpoint: nothing known before holds. */
    default void replaced() {}
  }

  public void listen(ApplyListener listener) {
    listeners.add(listener);
  }

  /** Reads under the read lock: short, and no call out of the function may block. */
  public <R> R read(Function<? super StateView, ? extends R> reader) {
    lock.readLock().lock();
    try {
      return reader.apply(state);
    } finally {
      lock.readLock().unlock();
    }
  }

  /** Ordinal of the last applied entry; 0 = none. */
  public long lastApplied() {
    return read(StateView::lastApplied);
  }

  /**
   * For logs only: applies the entry at this index of the log and tells the listeners. Its ordinal
   * is of the generation that the state has before it.
   */
  public Committed apply(long index, long term, Operation operation) {
    long ordinal;
    OperationResult result;
    lock.writeLock().lock();
    try {
      ordinal = Ordinal.of(state.generation(), index);
      result = state.apply(ordinal, term, operation);
    } finally {
      lock.writeLock().unlock();
    }
    for (ApplyListener listener : listeners) {
      listener.applied(ordinal, term, operation, result);
    }
    return new Committed(ordinal, term, result);
  }

  /** For logs only: an entry without an operation. */
  public void skip(long index) {
    lock.writeLock().lock();
    try {
      state.skip(Ordinal.of(state.generation(), index));
    } finally {
      lock.writeLock().unlock();
    }
  }

  /** For logs only, on the applying thread: writes a checkpoint; readers go on meanwhile. */
  public void writeCheckpoint(OutputStream out) throws IOException {
    lock.readLock().lock();
    try {
      Checkpoint.write(state, out);
    } finally {
      lock.readLock().unlock();
    }
  }

  /** For logs only: replaces the state by a checkpoint's; without change where that is damaged. */
  public void readCheckpoint(InputStream in) throws IOException {
    MetadataState read = Checkpoint.read(in);
    lock.writeLock().lock();
    try {
      state = read;
    } finally {
      lock.writeLock().unlock();
    }
    for (ApplyListener listener : listeners) {
      listener.replaced();
    }
  }

  /** Throws where the state is not consistent in itself; for tests. */
  public void invariant() {
    lock.readLock().lock();
    try {
      state.invariant();
    } finally {
      lock.readLock().unlock();
    }
  }
}
