package io.leasefs.chunkserver;

import io.leasefs.chunkserver.replica.ReplicaEvent;
import io.leasefs.common.api.Frame;
import io.leasefs.common.api.Heartbeat;
import io.leasefs.common.api.Heartbeat.Certainty;
import io.leasefs.common.api.PeerMessage;
import io.leasefs.common.error.LeaseFsException;
import io.leasefs.common.model.ChunkHandle;
import io.leasefs.common.model.ChunkSpec;
import io.leasefs.common.model.Configuration;
import io.leasefs.common.model.DiskId;
import io.leasefs.common.model.LeaseGrant;
import io.leasefs.common.model.Member;
import io.leasefs.common.model.ReplicaId;
import io.leasefs.common.model.ServerId;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentSkipListMap;
import java.util.concurrent.Executor;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The copies that this server has, by chunk, and the rules of a copy's birth (protocol, section 8).
 *
 * <p>Each chunk belongs to one of a fixed number of serial executors; what concerns a chunk, its
 * birth and end included, happens there, one after another. The methods that begin with {@code for}
 * and {@code find} are for that executor.
 */
final class ReplicaTable {
  private static final Logger logger = LoggerFactory.getLogger(ReplicaTable.class);

  /** So many chunks can do something at the same time. */
  private static final int STRIPES = 256;

  /**
   * Handles that are remembered as sealed unknown, or deleted; past it the oldest are forgotten.
   */
  private static final int MOST_BURIED = 65_536;

  /** Makes a copy's files and puts it to work. */
  interface Opener {
    /** A copy that is new on the disk. Blocks on the disk. */
    ReplicaLoop create(ChunkSpec spec, ReplicaId replica, Certainty certainty) throws IOException;

    /** Removes a copy's files. Blocks on the disk. */
    void delete(ChunkHandle chunk) throws IOException;
  }

  private final ServerId self;
  private final DiskId disk;
  private final Opener opener;
  private final List<Executor> stripes = new ArrayList<>();
  private final Map<ChunkHandle, ReplicaLoop> loops = new ConcurrentSkipListMap<>();

  /**
   * Guarded by itself: handles that this incarnation must not give birth to any more, with the
   * newest copy that it has deleted; 0 where it had none.
   */
  private final Map<ChunkHandle, Long> buried = new LinkedHashMap<>();

  /**
   * The first session of this process; none before it has registered. What is younger was born in
   * this process's time: no earlier life can have held, and lost, any of it.
   */
  private volatile long lifeSince = Long.MAX_VALUE;

  private volatile ReplicaEvent.@Nullable SessionsDead dead;
  private volatile boolean nearlyFull;

  ReplicaTable(ServerId self, DiskId disk, Opener opener, Executor pool) {
    this.self = self;
    this.disk = disk;
    this.opener = opener;
    for (int i = 0; i < STRIPES; i++) {
      stripes.add(new SerialExecutor(pool));
    }
  }

  /** Where everything about this chunk happens. */
  Executor stripe(ChunkHandle chunk) {
    long mixed = chunk.value() * 0x9E3779B97F4A7C15L;
    return stripes.get((int) (mixed >>> 56) % STRIPES);
  }

  /** A copy that was on the disk when the server started; nothing is born before these are in. */
  void put(ReplicaLoop loop) {
    if (loops.putIfAbsent(loop.handle(), loop) != null) {
      throw new IllegalStateException("chunk " + loop.handle() + " has a core already");
    }
  }

  Collection<ReplicaLoop> all() {
    return List.copyOf(loops.values());
  }

  /** Shows all, without a list being made. */
  void each(Consumer<ReplicaLoop> visitor) {
    loops.values().forEach(visitor);
  }

  @Nullable ReplicaLoop find(ChunkHandle chunk) {
    return loops.get(chunk);
  }

  /**
   * The process has registered for the first time: all copies of its disk are in, and what is
   * younger than this session may be born.
   */
  void livesSince(long session) {
    lifeSince = session;
  }

  /**
   * A birth names its members as they were when it was logged. In a later life of one of them a
   * first mutation gives birth to nothing (protocol, section 8): the life before may have
   * acknowledged it and lost it. And a server that has not registered yet cannot tell, nor does it
   * know what is on its own disk.
   */
  private boolean isOfThisLife(ChunkHandle chunk) {
    return chunk.value() > lifeSince;
  }

  /** What new copies are told of dead sessions. */
  void sessionsDead(ReplicaEvent.SessionsDead newest) {
    dead = newest;
    all().forEach(loop -> loop.post(newest));
  }

  /** The first frame of a chunk carries its configuration, and may come before the grant. */
  @Nullable ReplicaLoop forFrame(Frame frame) {
    ReplicaLoop loop = find(frame.chunk());
    if (loop != null || frame.birth().isEmpty()) {
      return loop;
    }
    LeaseGrant birth = frame.birth().get();
    return birth.handle().equals(frame.chunk()) ? forGrant(birth) : null;
  }

  @Nullable ReplicaLoop forGrant(LeaseGrant grant) {
    ReplicaLoop loop = find(grant.handle());
    return loop == null && grant.version() == 1 && isOfThisLife(grant.handle())
        ? bear(grant.spec(), grant.configuration().memberAt(self), Certainty.CERTAIN)
        : loop;
  }

  /** The first mutation of a chunk gives birth to it; a later one must find it. */
  @Nullable ReplicaLoop forForward(PeerMessage.Forward forward) {
    ReplicaLoop loop = find(forward.chunk());
    boolean first = forward.mutation().version() == 1 && forward.mutation().serial() == 1;
    return loop == null && first && isOfThisLife(forward.chunk())
        ? bear(
            forward.spec(),
            forward.chain().stream().filter(m -> m.server().equals(self)).findFirst(),
            Certainty.CERTAIN)
        : loop;
  }

  /**
   * A member that never got the first frame promises an empty chunk: where it has not restarted
   * since the birth, it is certain that there was nothing. Otherwise it is not, even of a chunk
   * whose every acknowledgement was forced: its files may have been deleted meanwhile, or not been
   * put back.
   */
  @Nullable ReplicaLoop forSeal(Heartbeat.SealCommand seal) {
    ReplicaLoop loop = find(seal.chunk());
    if (loop != null) {
      return loop.core().self().replica().equals(seal.member().replica()) ? loop : null;
    }
    Optional<Configuration> birth = seal.birth();
    boolean member =
        birth.isPresent() && birth.get().memberAt(self).equals(Optional.of(seal.member()));
    if (!member) {
      bury(seal.chunk(), 0);
      return null;
    }
    return bear(
        seal.spec(),
        Optional.of(seal.member()),
        isOfThisLife(seal.chunk()) ? Certainty.CERTAIN : Certainty.UNCERTAIN);
  }

  private @Nullable ReplicaLoop bear(ChunkSpec spec, Optional<Member> member, Certainty certainty) {
    ChunkHandle chunk = spec.handle();
    if (member.isEmpty() || !member.get().disk().equals(disk) || isBuried(chunk)) {
      logger.warn("no birth here chunk={} member={}", chunk, member);
      return null;
    }
    try {
      ReplicaLoop loop = opener.create(spec, member.get().replica(), certainty);
      adopt(loop);
      return loop;
    } catch (IOException | LeaseFsException e) {
      logger.error("chunk cannot be created chunk={} reason=\"{}\"", chunk, e.toString());
      return null;
    }
  }

  /** The disk has turned nearly full, or is that no more. */
  void spaceChanged(boolean full) {
    nearlyFull = full;
    all().forEach(loop -> loop.post(new ReplicaEvent.SpaceChanged(full)));
  }

  /** A copy that has just been made. On the chunk's executor. */
  void adopt(ReplicaLoop loop) {
    loops.put(loop.handle(), loop);
    if (nearlyFull) {
      loop.step(new ReplicaEvent.SpaceChanged(true));
    }
    ReplicaEvent.SessionsDead newest = dead;
    if (newest != null) {
      loop.step(newest);
    }
  }

  private boolean isBuried(ChunkHandle chunk) {
    synchronized (buried) {
      return buried.containsKey(chunk);
    }
  }

  /**
   * True where this copy was here and has been deleted: an order for it is late. Made once more it
   * would know nothing of what it had promised.
   */
  boolean hasDeleted(ChunkHandle chunk, ReplicaId replica) {
    synchronized (buried) {
      return buried.getOrDefault(chunk, 0L) >= replica.value();
    }
  }

  /** This copy is never to be here any more, whether it ever was or not. */
  void bury(ChunkHandle chunk, ReplicaId replica) {
    bury(chunk, replica.value());
  }

  private void bury(ChunkHandle chunk, long replica) {
    synchronized (buried) {
      buried.merge(chunk, replica, Math::max);
      if (buried.size() > MOST_BURIED) {
        buried.remove(buried.keySet().iterator().next());
      }
    }
  }

  /** Nothing can be read of this copy any more; its files stay. On the chunk's executor. */
  void forget(ReplicaLoop loop) {
    loops.remove(loop.handle(), loop);
  }

  /** The copy is gone, and does not come back but as a newer one, by a copy order. */
  void delete(ChunkHandle chunk) {
    ReplicaLoop loop = loops.remove(chunk);
    bury(chunk, loop == null ? 0 : loop.core().self().replica().value());
    if (loop != null) {
      loop.close();
    }
    try {
      opener.delete(chunk);
    } catch (IOException e) {
      logger.error("chunk cannot be deleted chunk={} reason=\"{}\"", chunk, e.toString());
    }
  }
}
