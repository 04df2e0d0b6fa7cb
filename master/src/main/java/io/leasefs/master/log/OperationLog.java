package io.leasefs.master.log;

import io.leasefs.common.model.ServerId;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;

/**
 * The replicated log of one master: puts operations in order, makes them durable and has them
 * applied. Thread-safe; nothing here blocks. Futures complete on a thread of the log (mostly the
 * one that applies): whoever needs another hops there.
 */
public interface OperationLog extends AutoCloseable {
  /**
   * Appends and applies. Fails with NOT_LEADER (surely not appended; the hint names the leader's
   * server where known) or OUTCOME_UNKNOWN (may yet be applied, or never). A rejection is a result.
   */
  CompletableFuture<Committed> append(Operation operation);

  /** An applied entry. */
  record Committed(long ordinal, long term, OperationResult result) {}

  /**
   * Completes once an entry that was appended after this call has been applied in the leader's
   * term: what is then read from the state is up to date. One is in flight at a time; the next
   * serves all that called meanwhile. Answers that entry. Fails as append does.
   */
  CompletableFuture<Committed> barrier();

  /** What this master is now. */
  Role role();

  /**
   * A master's part in the group.
   *
   * @param term the newest term known
   * @param leading this master leads that term
   * @param ready the first entry of its own term has been applied: it may serve
   * @param leader the leader, where known
   */
  record Role(long term, boolean leading, boolean ready, Optional<ServerId> leader) {}

  /** Told of every change of role, in order, on a thread of the log; must not block. */
  void onRole(RoleListener listener);

  /** See {@link #onRole}. The first call tells the present role. */
  interface RoleListener {
    void changed(Role role);
  }

  /** True where the newest configuration in the log, applied or not, names no other peer. */
  boolean alone();

  /** Ordinal of the last applied entry. */
  long lastApplied();

  /** Takes no more entries, waits for those under way, makes a checkpoint and lets go. */
  @Override
  void close();
}
