package io.leasefs.master.state;

import io.leasefs.common.model.ChunkHandle;
import io.leasefs.common.model.Member;
import io.leasefs.common.model.ServerId;
import io.leasefs.common.model.SessionId;
import io.leasefs.master.state.ChunkEntry.Learner;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.NavigableMap;
import java.util.NavigableSet;
import java.util.Objects;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.TreeSet;
import org.jspecify.annotations.Nullable;

/**
 * All chunks, and who holds what: each change of an entry goes through here and keeps the indexes.
 */
final class ChunkTable {
  private final NavigableMap<ChunkHandle, ChunkEntry> chunks = new TreeMap<>();
  private final SortedMap<ServerId, NavigableSet<ChunkHandle>> byServer = new TreeMap<>();
  private final SortedMap<SessionId, NavigableSet<ChunkHandle>> bySession = new TreeMap<>();
  private final NavigableSet<ChunkHandle> leased = new TreeSet<>();
  private final NavigableSet<ChunkHandle> unsealed = new TreeSet<>();
  private final NavigableSet<ChunkHandle> changing = new TreeSet<>();
  private final NavigableSet<ChunkHandle> learning = new TreeSet<>();
  private long members;

  @Nullable ChunkEntry find(ChunkHandle handle) {
    return chunks.get(handle);
  }

  ChunkEntry get(ChunkHandle handle) {
    return Objects.requireNonNull(chunks.get(handle), handle::toString);
  }

  /** Adds or replaces. */
  void put(ChunkEntry entry) {
    index(chunks.put(entry.handle(), entry), false);
    index(entry, true);
  }

  void remove(ChunkHandle handle) {
    index(chunks.remove(handle), false);
  }

  private void index(@Nullable ChunkEntry entry, boolean add) {
    if (entry == null) {
      return;
    }
    ChunkHandle handle = entry.handle();
    members += add ? entry.active().members().size() : -entry.active().members().size();
    for (Member member : entry.active().members()) {
      change(byServer, member.server(), handle, add);
    }
    for (Learner learner : entry.learners()) {
      change(byServer, learner.member().server(), handle, add);
    }
    entry.lease().ifPresent(lease -> change(bySession, lease.session(), handle, add));
    change(leased, handle, add && entry.lease().isPresent());
    change(unsealed, handle, add && !entry.isSealed());
    change(changing, handle, add && entry.pending().isPresent());
    change(learning, handle, add && !entry.learners().isEmpty());
  }

  private static void change(NavigableSet<ChunkHandle> set, ChunkHandle handle, boolean in) {
    if (in) {
      set.add(handle);
    } else {
      set.remove(handle);
    }
  }

  private static <K> void change(
      SortedMap<K, NavigableSet<ChunkHandle>> map, K key, ChunkHandle handle, boolean add) {
    if (add) {
      map.computeIfAbsent(key, k -> new TreeSet<>()).add(handle);
      return;
    }
    NavigableSet<ChunkHandle> set = map.get(key);
    if (set != null) {
      set.remove(handle);
      if (set.isEmpty()) {
        map.remove(key);
      }
    }
  }

  // ---------------------------------------------------------------- reads

  NavigableMap<ChunkHandle, ChunkEntry> all() {
    return Collections.unmodifiableNavigableMap(chunks);
  }

  NavigableSet<ChunkHandle> at(ServerId server) {
    return byServer.getOrDefault(server, Collections.emptyNavigableSet());
  }

  NavigableSet<ChunkHandle> leasesOf(SessionId session) {
    return bySession.getOrDefault(session, Collections.emptyNavigableSet());
  }

  NavigableSet<ChunkHandle> leased() {
    return leased;
  }

  NavigableSet<ChunkHandle> unsealed() {
    return unsealed;
  }

  NavigableSet<ChunkHandle> changing() {
    return changing;
  }

  NavigableSet<ChunkHandle> learning() {
    return learning;
  }

  long memberCount() {
    return members;
  }

  List<ChunkEntry> after(ChunkHandle handle, int limit) {
    List<ChunkEntry> found = new ArrayList<>();
    for (ChunkEntry entry : chunks.tailMap(handle, false).values()) {
      if (found.size() >= limit) {
        break;
      }
      found.add(entry);
    }
    return found;
  }

  // ---------------------------------------------------------------- checkpoint and check

  void write(StateSink sink) {
    sink.number(chunks.size());
    chunks.values().forEach(entry -> ChunkEntryCodec.write(sink, entry));
  }

  static ChunkTable read(StateSource source) {
    ChunkTable table = new ChunkTable();
    for (long left = source.number(); left > 0; left--) {
      table.put(ChunkEntryCodec.read(source));
    }
    return table;
  }

  /** Each index equals the one built anew; each entry is consistent in itself. */
  void invariant() {
    ChunkTable fresh = new ChunkTable();
    for (ChunkEntry entry : chunks.values()) {
      ChunkChanges.check(entry);
      fresh.put(entry);
    }
    boolean equal =
        fresh.byServer.equals(byServer)
            && fresh.bySession.equals(bySession)
            && fresh.leased.equals(leased)
            && fresh.unsealed.equals(unsealed)
            && fresh.changing.equals(changing)
            && fresh.learning.equals(learning)
            && fresh.members == members;
    if (!equal) {
      throw new IllegalStateException("an index of the chunks differs from the chunks");
    }
  }
}
