package io.leasefs.master.control;

import static org.assertj.core.api.Assertions.assertThat;

import io.leasefs.common.edge.Clock;
import io.leasefs.common.lease.LeaseTerms;
import io.leasefs.common.model.ClientId;
import io.leasefs.common.model.FilePath;
import io.leasefs.common.model.RequestId;
import io.leasefs.common.model.ServerId;
import io.leasefs.common.model.SessionId;
import io.leasefs.master.log.MemoryOperationLog;
import io.leasefs.master.log.Operation.ClientCall;
import io.leasefs.master.log.Operation.Mkdir;
import io.leasefs.master.replicated.ReplicatedState;
import io.leasefs.master.state.SessionEntry;
import io.leasefs.master.state.StateView;
import java.util.List;
import java.util.function.Function;
import org.junit.jupiter.api.Test;

class SoftTest {
  private static final ServerId SELF = new ServerId("m1");

  private static final Clock CLOCK =
      new Clock() {
        @Override
        public long nanos() {
          return 0;
        }

        @Override
        public long wallMillis() {
          return 0;
        }
      };

  private final ReplicatedState state = new ReplicatedState();
  private long entries;

  /** Entries are applied by another thread: here between any two looks at the state. */
  private final StateReads reads =
      new StateReads() {
        @Override
        public <T> T read(Function<StateView, T> function) {
          T answer = state.read(function);
          beginSession();
          return answer;
        }
      };

  private final Soft soft =
      new Soft(
          new ControlSettings(
              SELF, "c1", "test", LeaseTerms.ofTtl(1_000_000_000), 1, 1 << 20, 3, 1, 1, 1),
          CLOCK,
          () -> 0,
          new MemoryOperationLog(state, SELF, true),
          reads,
          Runnable::run,
          (kind, subject, chunk, version, fields) -> {});

  private void beginSession() {
    entries++;
    RequestId id = new RequestId(new ClientId(0, entries), 1, 1, 0);
    FilePath path = FilePath.parse("/" + entries);
    var _ = state.apply(entries, 1, new Mkdir(new ClientCall(id, 1), path, false, 0755, 0));
  }

  @Test
  void sessionThatBeginsWhileOthersAreFoundDeadIsNotToldToBeDead() {
    beginSession();

    soft.sessionsDied();

    assertThat(entries).isGreaterThan(1);
    List<SessionId> alive =
        state.read(view -> view.sessions()).stream().map(SessionEntry::session).toList();
    assertThat(soft.deadWatermark).isPositive();
    for (SessionId session : alive) {
      assertThat(session.value() > soft.deadWatermark || soft.living.contains(session))
          .as("%s is told to live", session)
          .isTrue();
    }
  }
}
