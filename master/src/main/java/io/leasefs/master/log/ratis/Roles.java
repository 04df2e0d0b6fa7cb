package io.leasefs.master.log.ratis;

import io.leasefs.common.model.ServerId;
import io.leasefs.master.log.OperationLog.Role;
import io.leasefs.master.log.OperationLog.RoleListener;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.function.LongSupplier;
import org.apache.ratis.protocol.RaftPeerId;
import org.jspecify.annotations.Nullable;

/** The present role, and those who want to hear of changes, in order. Thread-safe. */
final class Roles implements LogStateMachine.Leadership {
  private final ServerId self;
  private final List<RoleListener> listeners = new ArrayList<>();
  private @Nullable LongSupplier term;
  private Role role = new Role(0, false, false, Optional.empty());

  Roles(ServerId self) {
    this.self = self;
  }

  /** Until this is called the term is not known. */
  synchronized void start(LongSupplier currentTerm) {
    term = currentTerm;
    become(role.leading(), role.ready(), role.leader());
  }

  synchronized Role role() {
    return role;
  }

  synchronized void listen(RoleListener listener) {
    listeners.add(listener);
    listener.changed(role);
  }

  @Override
  public synchronized void leaderChanged(@Nullable RaftPeerId leader) {
    Optional<ServerId> server = RatisOperationLog.server(leader);
    boolean leading = server.equals(Optional.of(self));
    become(leading, leading && role.ready() && role.term() == currentTerm(), server);
  }

  @Override
  public synchronized void ready() {
    become(true, true, Optional.of(self));
  }

  @Override
  public synchronized void lost() {
    become(false, false, role.leader().filter(leader -> !leader.equals(self)));
  }

  private long currentTerm() {
    return term == null ? role.term() : term.getAsLong();
  }

  private void become(boolean leading, boolean ready, Optional<ServerId> leader) {
    Role next = new Role(currentTerm(), leading, ready, leader);
    if (!next.equals(role)) {
      role = next;
      for (RoleListener listener : listeners) {
        listener.changed(next);
      }
    }
  }
}
