package io.leasefs.cluster.simulation;

import io.leasefs.common.error.ErrorCode;
import io.leasefs.common.error.LeaseFsException;
import io.leasefs.common.model.ServerId;
import io.leasefs.master.log.BarrierBatch;
import io.leasefs.master.log.Operation;
import io.leasefs.master.log.OperationCodec;
import io.leasefs.master.log.OperationLog;
import io.leasefs.master.replicated.ReplicatedState;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/**
 * A master's log in memory: entries become durable, and are applied, some time after they were
 * appended, in order. What was under way when the process died, or when it stepped down, is in the
 * log or not, up to some point: its outcome is unknown. Entries are kept as bytes, and applied from
 * them.
 */
final class SimulatedLog implements OperationLog {
  /** What outlives the process. */
  static final class Kept {
    private final List<Entry> entries = new ArrayList<>();
    private long term;

    /** How many entries there are. */
    int size() {
      return entries.size();
    }
  }

  /** An entry; without bytes: the first of a term, which says nothing. */
  private static final class Entry {
    private final long term;
    private final byte @Nullable [] bytes;

    Entry(long term, byte @Nullable [] bytes) {
      this.term = term;
      this.bytes = bytes;
    }
  }

  private static final class Waiting {
    private final byte @Nullable [] bytes;
    private final CompletableFuture<Committed> answer;

    Waiting(byte @Nullable [] bytes, CompletableFuture<Committed> answer) {
      this.bytes = bytes;
      this.answer = answer;
    }
  }

  private final Kept kept;
  private final ReplicatedState state;
  private final ServerId self;
  private final Life life;
  private final EventLoop loop;
  private final long slowestNanos;
  private final ArrayDeque<Waiting> waiting = new ArrayDeque<>();
  private final List<RoleListener> listeners = new ArrayList<>();
  private final BarrierBatch barriers;
  private Role role;
  private boolean committing;

  /** Applies all that is in the log; leads only after {@link #lead}. */
  SimulatedLog(
      Kept kept, ReplicatedState state, ServerId self, Life life, EventLoop loop, long slowest) {
    this.kept = kept;
    this.state = state;
    this.self = self;
    this.life = life;
    this.loop = loop;
    this.slowestNanos = slowest;
    this.barriers = new BarrierBatch(() -> append(new Operation.Barrier()));
    this.role = new Role(kept.term, false, false, Optional.empty());
    for (int i = 0; i < kept.entries.size(); i++) {
      var _ = apply(i + 1, kept.entries.get(i));
    }
  }

  private @Nullable Committed apply(long index, Entry entry) {
    if (entry.bytes == null) {
      state.skip(index);
      return null;
    }
    return state.apply(index, entry.term, OperationCodec.decode(entry.bytes));
  }

  /** A term of its own begins. */
  void lead() {
    kept.term++;
    become(new Role(kept.term, true, false, Optional.of(self)));
    submit(new Waiting(null, new CompletableFuture<>()));
  }

  /** Leads no more; what is under way has an unknown outcome. */
  void stepDown() {
    become(new Role(kept.term, false, false, Optional.empty()));
    List<Waiting> lost = new ArrayList<>(waiting);
    cutShort(true);
    for (Waiting each : lost) {
      var _ =
          each.answer.completeExceptionally(
              new LeaseFsException(ErrorCode.OUTCOME_UNKNOWN, "the leader stepped down"));
    }
  }

  /** The process dies: of what was under way a part is in the log. */
  void died() {
    cutShort(false);
  }

  private void cutShort(boolean applies) {
    int survivors = waiting.isEmpty() ? 0 : loop.random().nextInt(waiting.size() + 1);
    for (int i = 0; i < survivors; i++) {
      Entry entry = new Entry(kept.term, waiting.removeFirst().bytes);
      kept.entries.add(entry);
      if (applies) {
        var _ = apply(kept.entries.size(), entry);
      }
    }
    waiting.clear();
  }

  private void become(Role next) {
    role = next;
    listeners.forEach(listener -> listener.changed(next));
  }

  @Override
  public CompletableFuture<Committed> append(Operation operation) {
    if (!role.leading()) {
      return CompletableFuture.failedFuture(
          new LeaseFsException(ErrorCode.NOT_LEADER, "this master does not lead"));
    }
    CompletableFuture<Committed> answer = new CompletableFuture<>();
    submit(new Waiting(OperationCodec.encode(operation), answer));
    return answer;
  }

  private void submit(Waiting entry) {
    waiting.addLast(entry);
    if (!committing) {
      committing = true;
      commitSoon();
    }
  }

  private void commitSoon() {
    long delay = 100_000 + (long) (loop.random().nextDouble() * slowestNanos);
    var _ = loop.post(life, delay, "log", this::commit);
  }

  private void commit() {
    int count = waiting.isEmpty() ? 0 : 1 + loop.random().nextInt(waiting.size());
    for (int i = 0; i < count && !waiting.isEmpty(); i++) {
      Waiting next = waiting.removeFirst();
      Entry entry = new Entry(kept.term, next.bytes);
      kept.entries.add(entry);
      loop.mix(entry.bytes == null ? 0 : entry.bytes.length);
      Committed committed = apply(kept.entries.size(), entry);
      if (committed == null) {
        become(new Role(kept.term, true, true, Optional.of(self)));
      } else {
        var _ = next.answer.complete(committed);
      }
    }
    committing = !waiting.isEmpty();
    if (committing) {
      commitSoon();
    }
  }

  @Override
  public CompletableFuture<Committed> barrier() {
    return barriers.barrier();
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
