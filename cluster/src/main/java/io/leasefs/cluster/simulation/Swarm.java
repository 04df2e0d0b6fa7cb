package io.leasefs.cluster.simulation;

import io.leasefs.common.lease.LeaseTerms;
import io.leasefs.common.model.Durability;
import java.util.EnumSet;
import java.util.Random;
import java.util.Set;

/**
 * What one seed draws: sizes, terms, kinds of faults and how often they come.
 *
 * <p>Half of the seeds are <em>wide</em>: 3 to 7 chunkservers, 2 to 8 clients, 2 to 4 files that
 * several clients write to at once, records of up to 128 KiB in some, so that chunks come to their
 * ends; and, each in two of five, the faults of {@link #OF_WIDE_SEEDS}: clocks, tasks stopped in
 * the middle, clogged ways, journals that rot. The other half has 3 to 5 chunkservers and 2 to 4
 * clients, and draws what it drew before there were wide ones.
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
 * @param powerCuts most chunkservers that ever lose power; where files are not synced and it is
 *     more than one, they lose it in turn, and each chunk always keeps a member that has not
 * @param scrubs chunkservers look for damage all the time
 * @param files how many are written to by several clients; 0: one, and one by every other client
 * @param readsOneIn a client reads once in so many turns
 * @param lingers what is on a stream when its client's side breaks may still arrive
 * @param clocksOpposed masters' clocks are as fast as the terms allow, and all others as slow
 * @param heartbeatNanos h
 * @param driftPpm rho: what clocks may drift, as servers are told, in parts per million
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
    boolean scrubs,
    int files,
    int readsOneIn,
    boolean lingers,
    boolean clocksOpposed,
    long heartbeatNanos,
    long driftPpm) {
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
    ROLL_BACK,
    /** Somebody sets the wall clock of a machine, by up to a day, forwards or back. */
    WALL_STEP,
    /** A machine sleeps: like a freeze, and its monotonic clock stands still meanwhile. */
    SUSPEND,
    /** A process stands still for a short time, several times in a row. */
    GC_PAUSE,
    /** A task is stopped in the middle, while other threads of its process go on. */
    PAUSE_INSIDE,
    /** One way between two hosts holds everything back, and then lets it go at once. */
    CLOG,
    /** One bit of a chunk's journal rots. */
    JOURNAL_ROT,
    /** Servers fall into two groups that do not see each other; clients see them all. */
    SPLIT,
    /** A grant is long on its way, and with it all that its server is told after it. */
    GRANT_HELD,
    /** A client's stream breaks just behind a frame, which arrives late. */
    FRAME_LATE,
    /**
     * At the moment when it matters: the master has just asked its log for a step of a change, or
     * for the end of a session, and one of those whom that concerns dies, stops, is cut off or is
     * heard again, or the master leads no more.
     */
    AT_DECISION
  }

  /** Those that every seed may draw; the others come in a share of the seeds. */
  private static final Set<Fault> EVERYWHERE = EnumSet.range(Fault.KILL_CHUNKSERVER, Fault.DRAIN);

  private static final Set<Fault> OF_DISKS = EnumSet.range(Fault.FSYNC_ERROR, Fault.ROLL_BACK);

  private static final Set<Fault> OF_WIDE_SEEDS = EnumSet.range(Fault.WALL_STEP, Fault.SPLIT);

  /** After one of these a server lacks what it has acknowledged, whatever the files' policy. */
  private static final Set<Fault> LOSING =
      EnumSet.of(
          Fault.FSYNC_ERROR, Fault.LOST_WRITE, Fault.WIPE, Fault.ROLL_BACK, Fault.JOURNAL_ROT);

  /** A world that is not wide. */
  Swarm(
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
    this(
        chunkServers,
        clients,
        replication,
        durability,
        ttlNanos,
        clientTtlNanos,
        loadNanos,
        faults,
        everyNanos,
        loss,
        doubling,
        wireNanos,
        slowLogNanos,
        maxRecordBytes,
        writesOn,
        clocksInBound,
        powerCuts,
        scrubs,
        0,
        15,
        false,
        false,
        ttlNanos / 10,
        LeaseTerms.ofTtl(ttlNanos).driftPpm());
  }

  /** What servers are told of leases. */
  LeaseTerms terms() {
    LeaseTerms usual = LeaseTerms.ofTtl(ttlNanos);
    return new LeaseTerms(
        ttlNanos,
        heartbeatNanos,
        Math.min(usual.rpcTimeoutNanos(), mostBeats(usual) - heartbeatNanos),
        driftPpm,
        usual.readingErrorNanos(),
        usual.guardNanos(),
        usual.stallNanos());
  }

  /** Of h and the time for a heartbeat together, by E2. */
  private static long mostBeats(LeaseTerms terms) {
    return (terms.ttlNanos() - terms.guardNanos()) / 3;
  }

  /**
   * Draws all.
   *
   * @param more for what was added later, apart: the rest of a seed keeps its meaning
   * @param most for what was added after that, likewise: half of the seeds are wide, with more of
   *     everything and kinds of faults that the others do not have
   * @param last likewise: whether several servers lose power where files are not synced (not in
   *     seeds in which a disk loses what it has stored, which is a second fault), clocks that drift
   *     apart, grants that are held back, frames that come late
   * @param terms likewise: in half of the seeds h and rho are not the usual ones; faults at the
   *     moment of a decision
   */
  static Swarm draw(Random random, Random more, Random most, Random last, Random terms) {
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
      for (Fault fault : OF_DISKS) {
        if (more.nextInt(5) < 2) {
          faults.add(fault);
        }
      }
    }
    boolean wide = most.nextBoolean();
    if (wide) {
      for (Fault fault : OF_WIDE_SEEDS) {
        if (most.nextInt(5) < 2) {
          faults.add(fault);
        }
      }
    }
    boolean turns =
        durability == Durability.REPLICATED
            && faults.stream().noneMatch(LOSING::contains)
            && last.nextInt(3) > 0;
    boolean opposed = last.nextInt(6) == 0;
    if (last.nextInt(4) == 0) {
      faults.add(Fault.GRANT_HELD);
    }
    if (last.nextInt(4) == 0) {
      faults.add(Fault.FRAME_LATE);
    }
    int narrowServers = 3 + random.nextInt(3);
    int chunkServers = wide ? 3 + most.nextInt(5) : narrowServers;
    if (turns) {
      faults.add(Fault.POWER_CUT);
    }
    long ttl = (random.nextBoolean() ? 1 : 1 + random.nextInt(3)) * SECOND;
    LeaseTerms usual = LeaseTerms.ofTtl(ttl);
    long heartbeat = usual.heartbeatNanos();
    long drift = usual.driftPpm();
    if (terms.nextBoolean()) {
      heartbeat = ttl / 30 + (long) (terms.nextDouble() * (mostBeats(usual) - ttl / 30 - ttl / 20));
      drift = new long[] {1_000, drift, 30_000, 80_000}[terms.nextInt(4)];
    }
    if (terms.nextInt(3) == 0) {
      faults.add(Fault.AT_DECISION);
    }
    if (opposed) {
      drift = terms.nextBoolean() ? 30_000 : 80_000; // more than the guard would hide
    }
    int narrowClients = 2 + random.nextInt(3);
    Swarm drawn =
        new Swarm(
            chunkServers,
            wide ? 2 + most.nextInt(7) : narrowClients,
            random.nextInt(4) == 0 ? 2 : 3,
            durability,
            ttl,
            clientTtl(random.nextBoolean() ? 15 * SECOND : 5 * SECOND, terms),
            4 * ttl + random.nextInt(4_000) * MILLI,
            faults,
            (80 + random.nextInt(1_000)) * MILLI,
            random.nextBoolean() ? 0 : random.nextDouble() * 0.05,
            random.nextBoolean() ? 0 : random.nextDouble() * 0.05,
            random.nextInt(3) > 0 ? MILLI / 2 : (1 + random.nextInt(60)) * MILLI,
            random.nextInt(5) == 0 ? 100 * MILLI : 2 * MILLI,
            recordBytes(random.nextInt(4) == 0 ? 1 << 16 : 1 << 12, wide, most, terms),
            random.nextBoolean(),
            random.nextInt(8) > 0,
            durability == Durability.SYNCED || turns ? chunkServers : 1,
            faults.contains(Fault.BIT_FLIP) || faults.contains(Fault.LOST_WRITE),
            wide ? 2 + most.nextInt(3) : 0,
            wide && most.nextBoolean() ? 3 : 15,
            wide && most.nextBoolean(),
            opposed,
            heartbeat,
            drift);
    return drawn.clocksInBound() ? drawn : drawn.withTwoPrimaries(last.nextBoolean());
  }

  /**
   * Clocks are wrong, so that two may hold the lease of a chunk at once: it does no harm, and to
   * show that it has to happen.
   */
  private Swarm withTwoPrimaries(boolean opposed) {
    Set<Fault> more = EnumSet.copyOf(faults);
    more.add(Fault.SPLIT);
    return new Swarm(
        chunkServers,
        clients,
        replication,
        durability,
        ttlNanos,
        clientTtlNanos,
        loadNanos,
        more,
        everyNanos,
        loss,
        doubling,
        wireNanos,
        slowLogNanos,
        maxRecordBytes,
        writesOn,
        clocksInBound,
        powerCuts,
        scrubs,
        files,
        readsOneIn,
        lingers,
        opposed,
        heartbeatNanos,
        driftPpm);
  }

  /** Where records are large, chunks come to their ends. */
  private static int recordBytes(int narrow, boolean wide, Random most, Random terms) {
    boolean large = wide && most.nextInt(4) == 0;
    return large || terms.nextInt(5) == 0 ? 1 << 17 : narrow;
  }

  /** In some seeds so short that clients which only stand still for a while lose their sessions. */
  private static long clientTtl(long usual, Random terms) {
    return terms.nextInt(4) == 0 ? 2 * SECOND : usual;
  }

  /**
   * True where some server may lose what it has acknowledged: then always the same one, for a chunk
   * may have no more than two members, and one of them must keep it. Or several, but in turn.
   */
  boolean losesAcknowledged() {
    return faults.stream().anyMatch(LOSING::contains)
        || (durability == Durability.REPLICATED && faults.contains(Fault.POWER_CUT));
  }

  /** Several servers lose power, and with it what they have acknowledged. */
  boolean cutsInTurn() {
    return durability == Durability.REPLICATED && powerCuts > 1;
  }
}
