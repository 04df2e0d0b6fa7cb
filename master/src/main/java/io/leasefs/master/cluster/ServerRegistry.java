package io.leasefs.master.cluster;

import io.leasefs.common.api.Heartbeat.DiskReport;
import io.leasefs.common.model.DiskId;
import io.leasefs.common.model.Endpoints;
import io.leasefs.common.model.ServerId;
import io.leasefs.common.model.SessionId;
import io.leasefs.master.state.ServerEntry;
import java.util.ArrayList;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/**
 * Chunkservers as the leader of now knows them: what the log says of each, and what its heartbeats
 * told since. Soft; the control loop is its only user. Times are nanoseconds of the master's clock.
 */
public final class ServerRegistry {
  private static final long RECENT_NANOS = 60_000_000_000L;

  /** One chunkserver. */
  public static final class Server {
    private ServerEntry logged;
    private long heardNanos;
    private boolean linked;
    private boolean everLinked;
    private boolean reportedInFull;
    private long openChunks;
    private List<DiskReport> disks = List.of();

    /** Creations of the last minute, by when. */
    private final ArrayList<Long> creations = new ArrayList<>();

    private Server(ServerEntry logged, long now) {
      this.logged = logged;
      this.heardNanos = now;
    }

    public ServerId id() {
      return logged.server();
    }

    public ServerEntry logged() {
      return logged;
    }

    public Endpoints endpoints() {
      return logged.endpoints();
    }

    public String rack() {
      return logged.rack();
    }

    public long incarnation() {
      return logged.incarnation();
    }

    public Optional<SessionId> session() {
      return logged.session();
    }

    public boolean draining() {
      return logged.draining();
    }

    public List<DiskReport> disks() {
      return disks;
    }

    public long heardNanos() {
      return heardNanos;
    }

    /** All its replicas are known to this leader. */
    public boolean reportedInFull() {
      return reportedInFull;
    }

    public long openChunks() {
      return openChunks;
    }

    /** Its stream was there and is gone: reset by a kernel, or closed by the process. */
    public boolean streamLost() {
      return everLinked && !linked;
    }

    public long freeBytes() {
      long sum = 0;
      for (DiskReport disk : disks) {
        sum += disk.freeBytes();
      }
      return sum;
    }

    public long totalBytes() {
      long sum = 0;
      for (DiskReport disk : disks) {
        sum += disk.totalBytes();
      }
      return sum;
    }

    /** Nothing can be stored there any more: it cannot even tell how large its disks are. */
    public boolean disksFailed() {
      return !disks.isEmpty() && totalBytes() == 0;
    }

    /** The disk for the next copy: most free of those that can take one. */
    public @Nullable DiskReport roomiestDisk() {
      DiskReport best = null;
      for (DiskReport disk : disks) {
        if (!disk.full()
            && !disk.stalled()
            && (best == null || disk.freeBytes() > best.freeBytes())) {
          best = disk;
        }
      }
      return best;
    }

    /** Whether it has this disk still. */
    public boolean hasDisk(DiskId disk) {
      return logged.disks().contains(disk);
    }

    public int recentCreations(long now) {
      creations.removeIf(at -> at < now - RECENT_NANOS);
      return creations.size();
    }
  }

  private final Map<ServerId, Server> servers = new TreeMap<>();

  /** Nothing is known. */
  public void clear() {
    servers.clear();
  }

  /** What the log says now; servers that it does not know are forgotten. */
  public void syncAll(Collection<ServerEntry> logged, long now) {
    Map<ServerId, ServerEntry> byId = new LinkedHashMap<>();
    for (ServerEntry entry : logged) {
      byId.put(entry.server(), entry);
    }
    servers.keySet().retainAll(byId.keySet());
    byId.values().forEach(entry -> sync(entry, now));
  }

  /** What the log says of one server now. */
  public Server sync(ServerEntry entry, long now) {
    Server server = servers.get(entry.server());
    if (server == null) {
      server = new Server(entry, now);
      servers.put(entry.server(), server);
      return server;
    }
    if (server.logged.incarnation() != entry.incarnation()) {
      server.reportedInFull = false;
      server.linked = false;
      server.everLinked = false;
      server.heardNanos = now;
    }
    server.logged = entry;
    return server;
  }

  public @Nullable Server find(ServerId id) {
    return servers.get(id);
  }

  public List<Server> all() {
    return List.copyOf(servers.values());
  }

  /** The stream of its heartbeats was opened or ended. */
  public void linked(ServerId id, boolean linked) {
    Server server = servers.get(id);
    if (server != null) {
      server.linked = linked;
      server.everLinked |= linked;
    }
  }

  /** A heartbeat of its present incarnation was received. */
  public void heard(ServerId id, long receivedNanos, List<DiskReport> disks, long openChunks) {
    Server server = servers.get(id);
    if (server != null) {
      server.heardNanos = Math.max(server.heardNanos, receivedNanos);
      server.openChunks = openChunks;
      if (!disks.isEmpty()) {
        server.disks = List.copyOf(disks);
      }
    }
  }

  public void reportedInFull(ServerId id) {
    Server server = servers.get(id);
    if (server != null) {
      server.reportedInFull = true;
    }
  }

  /** A copy was placed there. */
  public void created(ServerId id, long now) {
    Server server = servers.get(id);
    if (server != null) {
      server.creations.add(now);
    }
  }

  /** True where it lives and was heard within the given time, and its stream was not lost. */
  public boolean isReachable(ServerId id, long withinNanos, long now) {
    Server server = servers.get(id);
    return server != null
        && server.session().isPresent()
        && !server.streamLost()
        && now - server.heardNanos < withinNanos;
  }
}
