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
    int powerCuts) {
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
    DRAIN
  }

  static Swarm draw(Random random) {
    Durability durability = random.nextBoolean() ? Durability.REPLICATED : Durability.SYNCED;
    Set<Fault> faults = EnumSet.noneOf(Fault.class);
    for (Fault fault : Fault.values()) {
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
        durability == Durability.SYNCED ? chunkServers : 1);
  }
}
