package io.leasefs.master.control;

import io.leasefs.common.api.Heartbeat.Command;
import io.leasefs.common.model.ChunkHandle;
import io.leasefs.common.model.ServerId;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/**
 * What each server should have been told by now. A command stays here, and is repeated, until its
 * reason has gone; a changed one travels at once.
 */
final class Outbox {
  /** One command per slot, chunk and server. */
  enum Slot {
    CHANGE,
    HOLDER,
    COPY,
    DELETE,
    SETTLED
  }

  private record Key(ChunkHandle chunk, Slot slot) {}

  private static final class Entry {
    final Command command;
    final int sendsAtMost;
    long sentNanos;
    int sends;

    Entry(Command command, int sendsAtMost) {
      this.command = command;
      this.sendsAtMost = sendsAtMost;
    }
  }

  /** The most commands of one response. */
  private static final int BATCH = 256;

  private final long repeatNanos;
  private final Map<ServerId, LinkedHashMap<Key, Entry>> entries = new TreeMap<>();

  Outbox(long repeatNanos) {
    this.repeatNanos = repeatNanos;
  }

  void clear() {
    entries.clear();
  }

  /**
   * The server should hear this, until it is dropped. Nothing changes where it hears it already.
   */
  void put(ServerId server, Slot slot, Command command) {
    put(server, slot, command, Integer.MAX_VALUE);
  }

  /** The same, at most so many times. */
  void put(ServerId server, Slot slot, Command command, int sendsAtMost) {
    LinkedHashMap<Key, Entry> of = entries.computeIfAbsent(server, s -> new LinkedHashMap<>());
    Key key = new Key(command.chunk(), slot);
    Entry before = of.get(key);
    if (before == null || !before.command.equals(command)) {
      of.remove(key);
      of.put(key, new Entry(command, sendsAtMost));
    }
  }

  void drop(ServerId server, ChunkHandle chunk, Slot slot) {
    LinkedHashMap<Key, Entry> of = entries.get(server);
    if (of != null) {
      of.remove(new Key(chunk, slot));
    }
  }

  /** In this slot of the chunk, these and no others. */
  void replace(ChunkHandle chunk, Slot slot, Map<ServerId, Command> commands) {
    for (ServerId server : entries.keySet()) {
      if (!commands.containsKey(server)) {
        drop(server, chunk, slot);
      }
    }
    commands.forEach((server, command) -> put(server, slot, command));
  }

  /**
   * These chunks are gone: nobody has anything to do for them any more but to delete their copies.
   */
  void dropGone(Predicate<ChunkHandle> gone) {
    for (LinkedHashMap<Key, Entry> of : entries.values()) {
      of.keySet().removeIf(key -> key.slot != Slot.DELETE && gone.test(key.chunk));
    }
  }

  @Nullable Command find(ServerId server, ChunkHandle chunk, Slot slot) {
    LinkedHashMap<Key, Entry> of = entries.get(server);
    Entry entry = of == null ? null : of.get(new Key(chunk, slot));
    return entry == null ? null : entry.command;
  }

  /** True where a command waits that this server was never sent. */
  boolean hasNews(ServerId server) {
    LinkedHashMap<Key, Entry> of = entries.get(server);
    if (of != null) {
      for (Entry entry : of.values()) {
        if (entry.sends == 0) {
          return true;
        }
      }
    }
    return false;
  }

  /** Whether anything is to be repeated to this server. */
  boolean isEmpty(ServerId server) {
    LinkedHashMap<Key, Entry> of = entries.get(server);
    return of == null || of.isEmpty();
  }

  /** The server's stream is new: it may have got none of them. */
  void resend(ServerId server) {
    LinkedHashMap<Key, Entry> of = entries.get(server);
    if (of != null) {
      of.values().forEach(entry -> entry.sends = 0);
    }
  }

  /** What goes into a response now: the new, and what was last sent long enough ago. */
  List<Command> take(ServerId server, long now) {
    LinkedHashMap<Key, Entry> of = entries.get(server);
    if (of == null) {
      return List.of();
    }
    List<Command> commands = new ArrayList<>();
    var all = of.values().iterator();
    while (all.hasNext() && commands.size() < BATCH) {
      Entry entry = all.next();
      if (entry.sends > 0 && now - entry.sentNanos < repeatNanos) {
        continue;
      }
      commands.add(entry.command);
      entry.sends++;
      entry.sentNanos = now;
      if (entry.sends >= entry.sendsAtMost) {
        all.remove();
      }
    }
    return commands;
  }
}
