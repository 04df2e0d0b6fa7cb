package io.leasefs.master.log;

import io.leasefs.common.error.ErrorCode;
import io.leasefs.common.error.LeaseFsException;
import io.leasefs.common.model.ServerId;
import io.leasefs.master.replicated.ReplicatedState;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Queue;
import java.util.concurrent.CompletableFuture;

/**
 * A log of one without disk or thread: appended entries wait until {@link #commit} applies them, or
 * are applied at once where {@code immediately} is set. Deterministic; one thread.
 */
public final class MemoryOperationLog implements OperationLog {
  private record Waiting(Operation operation, CompletableFuture<Committed> answer) {}

  private final ReplicatedState state;
  private final ServerId self;
  private final boolean immediately;
  private final Queue<Waiting> waiting = new ArrayDeque<>();
  private final List<RoleListener> listeners = new ArrayList<>();
  private Role role;
  private boolean applying;
  private long index;

  public MemoryOperationLog(ReplicatedState state, ServerId self, boolean immediately) {
    this.state = state;
    this.self = self;
    this.immediately = immediately;
    role = new Role(1, true, true, Optional.of(self));
  }

  @Override
  public CompletableFuture<Committed> append(Operation operation) {
    if (!role.leading()) {
      return CompletableFuture.failedFuture(
          new LeaseFsException(ErrorCode.NOT_LEADER, "not the leader"));
    }
    CompletableFuture<Committed> answer = new CompletableFuture<>();
    waiting.add(new Waiting(operation, answer));
    if (immediately) {
      commit();
    }
    return answer;
  }

  /** Applies all that waits, in order. */
  public void commit() {
    if (applying) {
      return;
    }
    applying = true;
    try {
      for (Waiting next = waiting.poll(); next != null; next = waiting.poll()) {
        index++;
        next.answer().complete(state.apply(index, role.term(), next.operation()));
      }
    } finally {
      applying = false;
    }
  }

  /** Another term begins; what waited is lost, with unknown outcome to those who asked. */
  public void changeTerm(boolean leading) {
    List<Waiting> lost = List.copyOf(waiting);
    waiting.clear();
    role = new Role(role.term() + 1, leading, leading, Optional.of(self).filter(s -> leading));
    for (Waiting each : lost) {
      each.answer()
          .completeExceptionally(
              new LeaseFsException(ErrorCode.OUTCOME_UNKNOWN, "the leader changed"));
    }
    listeners.forEach(listener -> listener.changed(role));
  }

  @Override
  public CompletableFuture<Committed> barrier() {
    return append(new Operation.Barrier());
  }

  @Override
  public Role role() {
    return role;
  }

  @Override
  public void onRole(RoleListener listener) {
    listeners.add(listener);
    listener.changed(role);
  }

  @Override
  public boolean alone() {
    return true;
  }

  @Override
  public long lastApplied() {
    return state.lastApplied();
  }

  @Override
  public void close() {
    waiting.clear();
  }
}
