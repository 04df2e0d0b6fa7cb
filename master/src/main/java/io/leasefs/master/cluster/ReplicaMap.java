package io.leasefs.master.cluster;

import io.leasefs.common.api.Heartbeat.ReplicaReport;
import io.leasefs.common.model.ChunkHandle;
import io.leasefs.common.model.Member;
import io.leasefs.common.model.ReplicaId;
import io.leasefs.common.model.ServerId;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;

/**
 * Which copies there are, by the last reports of their servers and from nowhere else. Soft; the
 * control loop is its only user.
 */
public final class ReplicaMap {
  private final TreeMap<ChunkHandle, Map<ServerId, ReplicaReport>> byChunk = new TreeMap<>();
  private final Map<ServerId, Set<ChunkHandle>> byServer = new TreeMap<>();

  /**
   * Versions that copies have started since their server's newest full report: an open chunk's
   * members report nothing else.
   */
  private final Map<ServerId, Map<ChunkHandle, Started>> started = new TreeMap<>();

  private record Started(ReplicaId replica, long version) {}

  /** Nothing is known. */
  public void clear() {
    byChunk.clear();
    byServer.clear();
    started.clear();
  }

  /** All that a server has; what it does not name any more is gone. */
  public void replace(ServerId server, List<ReplicaReport> reports) {
    forget(server);
    put(server, reports);
  }

  /** What is new or changed at a server. */
  public void put(ServerId server, List<ReplicaReport> reports) {
    for (ReplicaReport report : reports) {
      ChunkHandle chunk = report.spec().handle();
      byChunk.computeIfAbsent(chunk, c -> new TreeMap<>()).put(server, report);
      byServer.computeIfAbsent(server, s -> new LinkedHashSet<>()).add(chunk);
    }
  }

  /** A copy has started a version; that is on its disk. */
  public void started(ServerId server, ChunkHandle chunk, ReplicaId replica, long version) {
    started
        .computeIfAbsent(server, s -> new TreeMap<>())
        .merge(
            chunk,
            new Started(replica, version),
            (old, now) ->
                old.replica().equals(now.replica()) && old.version() > now.version() ? old : now);
  }

  /** The newest version that a member has told to have started; 0 where it has told of none. */
  public long accepted(ChunkHandle chunk, Member member) {
    Started newest = started.getOrDefault(member.server(), Map.of()).get(chunk);
    long told = newest != null && newest.replica().equals(member.replica()) ? newest.version() : 0;
    Optional<ReplicaReport> report =
        find(chunk, member.server()).filter(one -> one.replica().equals(member.replica()));
    return Math.max(told, report.map(ReplicaReport::accepted).orElse(0L));
  }

  /** A server has it no more. */
  public void remove(ServerId server, ChunkHandle chunk) {
    Map<ChunkHandle, Started> there = started.get(server);
    if (there != null) {
      there.remove(chunk);
    }
    Map<ServerId, ReplicaReport> copies = byChunk.get(chunk);
    if (copies != null) {
      copies.remove(server);
      if (copies.isEmpty()) {
        byChunk.remove(chunk);
      }
    }
    Set<ChunkHandle> chunks = byServer.get(server);
    if (chunks != null) {
      chunks.remove(chunk);
    }
  }

  /** Nothing is known of this server's copies. */
  public void forget(ServerId server) {
    started.remove(server);
    Set<ChunkHandle> chunks = byServer.remove(server);
    if (chunks != null) {
      for (ChunkHandle chunk : List.copyOf(chunks)) {
        remove(server, chunk);
      }
    }
  }

  public Optional<ReplicaReport> find(ChunkHandle chunk, ServerId server) {
    Map<ServerId, ReplicaReport> copies = byChunk.get(chunk);
    return copies == null ? Optional.empty() : Optional.ofNullable(copies.get(server));
  }

  /** Copies of a chunk by server. */
  public Map<ServerId, ReplicaReport> of(ChunkHandle chunk) {
    Map<ServerId, ReplicaReport> copies = byChunk.get(chunk);
    return copies == null ? Map.of() : new TreeMap<>(copies);
  }

  /** Chunks that a server has a copy of. */
  public List<ChunkHandle> at(ServerId server) {
    return List.copyOf(byServer.getOrDefault(server, Set.of()));
  }

  public int countAt(ServerId server) {
    return byServer.getOrDefault(server, Set.of()).size();
  }

  /** Chunks with any copy, ascending, above {@code after}, at most {@code limit}. */
  public List<ChunkHandle> chunksAfter(ChunkHandle after, int limit) {
    List<ChunkHandle> chunks = new ArrayList<>();
    for (ChunkHandle chunk : byChunk.tailMap(after, false).keySet()) {
      if (chunks.size() == limit) {
        break;
      }
      chunks.add(chunk);
    }
    return chunks;
  }
}
