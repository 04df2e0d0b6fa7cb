package io.leasefs.master.control;

import io.leasefs.common.model.ServerId;
import java.util.Set;
import java.util.TreeSet;

/** What is looked at once a second: chunks to close, copies to make or drop, things to forget. */
final class Upkeep {
  private static final long EVERY_NANOS = 1_000_000_000;

  private final ClientDesk clients;
  private final Set<ServerId> silent = new TreeSet<>();
  private long nextNanos;

  Upkeep(ClientDesk clients) {
    this.clients = clients;
  }

  void clear() {
    silent.clear();
    nextNanos = 0;
  }

  /** True where this is news. */
  boolean noteSilent(ServerId server, boolean now) {
    return now ? silent.add(server) : silent.remove(server);
  }

  void tick(long now, long readyNanos) {
    if (now < nextNanos) {
      return;
    }
    nextNanos = now + EVERY_NANOS;
    clients.closeChunks();
  }
}
