package io.leasefs.cluster.simulation;

import io.leasefs.common.model.Durability;
import java.util.EnumSet;
import java.util.Random;
import java.util.Set;

/**
 * What one seed draws: sizes, terms, kinds of faults and how often they come.
 *
 * @param chunkServers how many
 * @param clients how many
 * @param replication goal of the files
 * @param durability of the files
 * @param ttlNanos T
 * @param clientTtlNanos of clients' sessions
 * @param loadNanos how long clients work under faults
 * @param faults kinds that come
 * @param everyNanos pause between two faults, on average
 * @param loss chance that a call's message is lost
 * @param doubling chance that a call arrives twice
 * @param wireNanos usual delay between two hosts, at most
 * @param slowLogNanos slowest commit of the master's log
 * @param maxRecordBytes largest record
 * @param writesOn writers go on in a new chunk while a primary is silent
 * @param clocksInBound clocks drift no more than the terms allow; else only writes are safe
 * @param powerCuts most chunkservers that ever lose power
 * @param scrubs chunkservers look for damage all the time
 */
record Swarm(
    int chunkServers,
    int clients,
    int replication,
    Durability durability,
    long ttlNanos,
    long clientTtlNanos,
    long loadNanos,
    Set<Fault> faults,
    long everyNanos,
    double loss,
    double doubling,
    long wireNanos,
    long slowLogNanos,
    int maxRecordBytes,
    boolean writesOn,
    boolean clocksInBound,
    int powerCuts,
    boolean scrubs) {
  private static final long MILLI = 1_000_000;
  private static final long SECOND = 1_000 * MILLI;

  /** What may go wrong. */
  enum Fault {
    /** A chunkserver's process is killed, and starts again later. */
    KILL_CHUNKSERVER,
    /** A chunkserver's machine loses power. */
    POWER_CUT,
    /** All machines of chunkservers lose power at once; only where files are synced. */
    POWER_OUT,
    /** A chunkserver dies in the middle of a task, at a disk operation. */
    DIE_AT_DISK,
    KILL_MASTER,
    KILL_CLIENT,
    /** A machine does nothing for a while. */
    FREEZE,
    /** Nothing gets from one host to another, one way or both ways. */
    CUT,
    /** One host is cut off from all others. */
    ISOLATE,
    /** All streams between two hosts break. */
    RESET,
    /** One way between two hosts is slow. */
    SLOW,
    /** The master leads no more, and then does again, in a later term. */
    STEP_DOWN,
    /** A disk answers nothing for a while. */
    DISK_STALL,
    /** No harm: an operator has a chunkserver emptied, and thinks better of it later. */
    DRAIN,
    /** Forces of a disk fail. */
    FSYNC_ERROR,
    /** A disk has no room for a while. */
    DISK_FULL,
    /** One bit of a chunk's content rots. */
    BIT_FLIP,
    /** A disk tells of a write to a chunk's content that never came. */
    LOST_WRITE,
    /** A machine comes back with another, empty disk. */
    WIPE,
    /** A machine comes back with an old image of its disk; an operator then replaces that. */
    ROLL_BACK
  }

  /** Those that every seed may draw; the others come in a share of the seeds. */
  private static final Set<Fault> EVERYWHERE = EnumSet.range(Fault.KILL_CHUNKSERVER, Fault.DRAIN);

  /** After one of these a server lacks what it has acknowledged, whatever the files' policy. */
  private static final Set<Fault> LOSING =
      EnumSet.of(Fault.FSYNC_ERROR, Fault.LOST_WRITE, Fault.WIPE, Fault.ROLL_BACK);

  /**
   * Draws all.
   *
   * @param more for what has been added since, apart: the rest of a seed keeps its meaning
   */
  static Swarm draw(Random random, Random more) {
    Durability durability = random.nextBoolean() ? Durability.REPLICATED : Durability.SYNCED;
    Set<Fault> faults = EnumSet.noneOf(Fault.class);
    for (Fault fault : EVERYWHERE) {
      if (random.nextInt(5) < 2) {
        faults.add(fault);
      }
    }
    if (durability == Durability.REPLICATED) {
      faults.remove(Fault.POWER_OUT);
    }
    if (faults.isEmpty()) {
      faults.add(Fault.KILL_CHUNKSERVER);
    }
    if (more.nextBoolean()) {
      for (Fault fault : EnumSet.complementOf(EnumSet.copyOf(EVERYWHERE))) {
        if (more.nextInt(5) < 2) {
          faults.add(fault);
        }
      }
    }
    int chunkServers = 3 + random.nextInt(3);
    long ttl = (random.nextBoolean() ? 1 : 1 + random.nextInt(3)) * SECOND;
    return new Swarm(
        chunkServers,
        2 + random.nextInt(3),
        random.nextInt(4) == 0 ? 2 : 3,
        durability,
        ttl,
        random.nextBoolean() ? 15 * SECOND : 5 * SECOND,
        4 * ttl + random.nextInt(4_000) * MILLI,
        faults,
        (80 + random.nextInt(1_000)) * MILLI,
        random.nextBoolean() ? 0 : random.nextDouble() * 0.05,
        random.nextBoolean() ? 0 : random.nextDouble() * 0.05,
        random.nextInt(3) > 0 ? MILLI / 2 : (1 + random.nextInt(60)) * MILLI,
        random.nextInt(5) == 0 ? 100 * MILLI : 2 * MILLI,
        random.nextInt(4) == 0 ? 1 << 16 : 1 << 12,
        random.nextBoolean(),
        random.nextInt(8) > 0,
        durability == Durability.SYNCED ? chunkServers : 1,
        faults.contains(Fault.BIT_FLIP) || faults.contains(Fault.LOST_WRITE));
  }

  /**
   * True where some server may lose what it has acknowledged: then always the same one, for a chunk
   * may have no more than two members, and one of them must keep it.
   */
  boolean losesAcknowledged() {
    return faults.stream().anyMatch(LOSING::contains)
        || (durability == Durability.REPLICATED && faults.contains(Fault.POWER_CUT));
  }
}
