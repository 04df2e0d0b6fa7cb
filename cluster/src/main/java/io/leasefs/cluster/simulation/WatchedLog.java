package io.leasefs.cluster.simulation;

import io.leasefs.master.log.Operation;
import io.leasefs.master.log.OperationLog;
import java.util.concurrent.CompletableFuture;
import java.util.function.Consumer;

/** A log of which somebody is told what it is asked for, in the task that asks. */
final class WatchedLog implements OperationLog {
  private final OperationLog log;
  private final Consumer<Operation> asked;

  WatchedLog(OperationLog log, Consumer<Operation> asked) {
    this.log = log;
    this.asked = asked;
  }

  @Override
  public CompletableFuture<Committed> append(Operation operation) {
    asked.accept(operation);
    return log.append(operation);
  }

  @Override
  public CompletableFuture<Committed> barrier() {
    return log.barrier();
  }

  @Override
  public Role role() {
    return log.role();
  }

  @Override
  public void onRole(RoleListener listener) {
    log.onRole(listener);
  }

  @Override
  public boolean alone() {
    return log.alone();
  }

  @Override
  public long lastApplied() {
    return log.lastApplied();
  }

  @Override
  public void close() {
    log.close();
  }
}
