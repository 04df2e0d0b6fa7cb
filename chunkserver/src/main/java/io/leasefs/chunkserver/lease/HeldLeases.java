package io.leasefs.chunkserver.lease;

import io.leasefs.common.api.Heartbeat.HeldLease;
import io.leasefs.common.api.Heartbeat.LeaseName;
import io.leasefs.common.api.Heartbeat.Response;
import io.leasefs.common.api.Heartbeat.Status;
import io.leasefs.common.lease.LeaseDigest;
import io.leasefs.common.lease.LeaseTerms;
import io.leasefs.common.model.ChunkHandle;
import io.leasefs.common.model.LeaseGrant;
import io.leasefs.common.model.SessionId;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.ToLongFunction;
import org.jspecify.annotations.Nullable;

/**
 * The leases of one session, as their holder knows them: which answers of the master it believes,
 * until when it may act, which grants it takes and which it never takes again (protocol, sections 1
 * and 2). The end counts from when the heartbeat was <em>sent</em>.
 *
 * <p><b>Threads</b>: all methods on the session's executor, but for {@link #endNanos} and the
 * validities handed out, which may be asked from any thread.
 */
public final class HeldLeases {
  /** How many sent heartbeats are remembered; an answer to an older one is not believed. */
  private static final int REMEMBERED = 64;

  private final String clusterId;
  private final LeaseTerms terms;
  private final ToLongFunction<ChunkHandle> promised;

  private SessionId session;
  private volatile long end = Long.MIN_VALUE;
  private long highestTerm;
  private long answeredTerm;
  private long answeredNumber = -1;
  private long answeredSequence;
  private long digest;

  private final TreeMap<Long, Long> sentAt = new TreeMap<>();
  private final TreeMap<ChunkHandle, Holding> held = new TreeMap<>();

  /** Per chunk: no grant at or below this version is taken any more. */
  private final TreeMap<ChunkHandle, Long> never = new TreeMap<>();

  /** What the master has to hear, and the first heartbeat that told it; 0 = none yet. */
  private final LinkedHashMap<LeaseName, Long> released = new LinkedHashMap<>();

  private final LinkedHashMap<LeaseName, Long> revoked = new LinkedHashMap<>();

  /** One lease. Dead once, it stays so. */
  private final class Holding implements LeaseValidity {
    final LeaseGrant grant;
    private volatile boolean live = true;

    Holding(LeaseGrant grant) {
      this.grant = grant;
    }

    HeldLease name() {
      return new HeldLease(grant.handle(), grant.version(), grant.token());
    }

    @Override
    public boolean validAt(long now) {
      return live && now < end;
    }
  }

  /**
   * What an accepted or refused answer leads to.
   *
   * @param accepted false: dropped whole; nothing else is set
   * @param sessionLost register anew; every lease is gone
   * @param granted new leases, to be told to their chunks
   * @param over leases that have ended, to be told to their chunks
   */
  public record Outcome(
      boolean accepted, boolean sessionLost, List<Granted> granted, List<LeaseName> over) {
    private static final Outcome DROPPED = new Outcome(false, false, List.of(), List.of());
  }

  /** A lease that was taken. */
  public record Granted(LeaseGrant grant, LeaseValidity validity) {}

  /**
   * What a heartbeat says of leases.
   *
   * @param digest of all that are held
   * @param released given back and not yet known to have been heard
   * @param revocationsAcknowledged likewise
   */
  public record Told(
      long digest, List<LeaseName> released, List<LeaseName> revocationsAcknowledged) {}

  /**
   * The leases of a new session: none.
   *
   * @param highestTerm highest master's term that this server has ever stored
   * @param promised the promise of this server's replica of a chunk; 0 where it has none
   */
  public HeldLeases(
      String clusterId,
      SessionId session,
      LeaseTerms terms,
      long highestTerm,
      ToLongFunction<ChunkHandle> promised) {
    this.clusterId = clusterId;
    this.session = session;
    this.terms = terms;
    this.highestTerm = highestTerm;
    this.promised = promised;
  }

  // ---- heartbeats --------------------------------------------------------------------------

  /** The heartbeat with this sequence is sent now; answers what it has to say. */
  public Told sending(long sequence, long now) {
    if (!sentAt.isEmpty() && sequence <= sentAt.lastKey()) {
      throw new IllegalArgumentException("sequence " + sequence + " after " + sentAt.lastKey());
    }
    sentAt.put(sequence, now);
    if (sentAt.size() > REMEMBERED) {
      sentAt.pollFirstEntry();
    }
    markTold(released, sequence);
    markTold(revoked, sequence);
    return new Told(digest, List.copyOf(released.keySet()), List.copyOf(revoked.keySet()));
  }

  private static void markTold(Map<LeaseName, Long> names, long sequence) {
    names.replaceAll((name, first) -> first == 0 ? sequence : first);
  }

  /**
   * An answer has come. Where its term is above {@link #highestTerm}, the caller has stored it
   * durably before.
   */
  public Outcome receive(Response response) {
    if (!believed(response)) {
      return Outcome.DROPPED;
    }
    highestTerm = response.term();
    answeredTerm = response.term();
    answeredNumber = response.number();
    answeredSequence = response.answersSequence();
    return switch (response.status()) {
      case OK, NEED_FULL_REPORT -> take(response);
      case UNKNOWN_SESSION, STALE_INCARNATION -> lose();
      case NOT_LEADER, WRONG_CLUSTER -> Outcome.DROPPED;
    };
  }

  /** Does it answer a heartbeat of ours, no older than the last one answered, and newly so. */
  private boolean believed(Response response) {
    return response.clusterId().equals(clusterId)
        && response.status() != Status.NOT_LEADER
        && response.status() != Status.WRONG_CLUSTER
        && response.term() >= highestTerm
        && sentAt.containsKey(response.answersSequence())
        && response.answersSequence() >= answeredSequence
        && (response.term() > answeredTerm
            || (response.term() == answeredTerm && response.number() > answeredNumber));
  }

  private Outcome take(Response response) {
    forgetTold(released, response.answersSequence());
    forgetTold(revoked, response.answersSequence());
    List<LeaseName> over = new ArrayList<>();
    response.revocations().forEach(name -> revoke(name, over));
    Long sent = sentAt.get(response.answersSequence());
    if (sent != null && response.ttlNanos() > 0) {
      end = Math.max(end, terms.holderEnd(sent, response.ttlNanos()));
    }
    List<Granted> granted = new ArrayList<>();
    response.grants().forEach(grant -> grant(grant, granted, over));
    return new Outcome(true, false, List.copyOf(granted), List.copyOf(over));
  }

  /** What a heartbeat told that has been answered was heard. */
  private static void forgetTold(Map<LeaseName, Long> names, long answered) {
    names.values().removeIf(first -> first != 0 && first <= answered);
  }

  private void revoke(LeaseName name, List<LeaseName> over) {
    never.merge(name.chunk(), name.version(), Math::max);
    Holding holding = held.get(name.chunk());
    if (holding != null && holding.grant.version() <= name.version()) {
      over.add(new LeaseName(name.chunk(), holding.grant.version()));
      drop(holding);
    }
    revoked.put(name, 0L);
  }

  private void grant(LeaseGrant grant, List<Granted> granted, List<LeaseName> over) {
    ChunkHandle chunk = grant.handle();
    LeaseName name = new LeaseName(chunk, grant.version());
    Holding holding = held.get(chunk);
    if (holding != null && holding.grant.version() == grant.version()) {
      return; // it is held: the answer was repeated
    }
    if (grant.version() <= never.getOrDefault(chunk, 0L)
        || grant.version() < promised.applyAsLong(chunk)
        || (holding != null && grant.version() < holding.grant.version())) {
      released.put(name, 0L); // never taken; the master has to hear so
      return;
    }
    if (holding != null) {
      over.add(new LeaseName(chunk, holding.grant.version()));
      drop(holding);
    }
    Holding taken = new Holding(grant);
    held.put(chunk, taken);
    digest += digestOf(grant);
    granted.add(new Granted(grant, taken));
  }

  private Outcome lose() {
    List<LeaseName> over =
        held.values().stream()
            .map(h -> new LeaseName(h.grant.handle(), h.grant.version()))
            .toList();
    List.copyOf(held.values()).forEach(this::drop);
    end = Long.MIN_VALUE;
    released.clear();
    revoked.clear();
    return new Outcome(true, true, List.of(), over);
  }

  private void drop(Holding holding) {
    holding.live = false;
    held.remove(holding.grant.handle());
    digest -= digestOf(holding.grant);
  }

  private static long digestOf(LeaseGrant grant) {
    return LeaseDigest.of(grant.handle(), grant.version(), grant.token());
  }

  // ---- the holder's own acts ---------------------------------------------------------------

  /** Gives a lease back: nothing is done under it from here on, and it is never taken again. */
  public void release(LeaseName name) {
    never.merge(name.chunk(), name.version(), Math::max);
    Holding holding = held.get(name.chunk());
    if (holding != null && holding.grant.version() <= name.version()) {
      drop(holding);
    }
    released.putIfAbsent(name, 0L);
  }

  /** The chunk is deleted here; its handle never comes back. */
  public void forget(ChunkHandle chunk) {
    never.remove(chunk);
  }

  /** A new session of the same process: no lease of the old one is valid in it. */
  public void newSession(SessionId newSession) {
    lose();
    session = newSession;
    sentAt.clear();
    answeredSequence = 0;
    answeredTerm = 0;
    answeredNumber = -1;
  }

  // ---- asked -------------------------------------------------------------------------------

  public SessionId session() {
    return session;
  }

  /** The highest term in which a master has answered. */
  public long highestTerm() {
    return highestTerm;
  }

  /** The instant from which nothing is done under any lease; {@code Long.MIN_VALUE}: no session. */
  public long endNanos() {
    return end;
  }

  /** True while this lease is held and valid. */
  public boolean valid(ChunkHandle chunk, long version, long now) {
    Holding holding = held.get(chunk);
    return holding != null && holding.grant.version() == version && holding.validAt(now);
  }

  /** The validity of a held lease, for a chunk's core that was made after the grant. */
  public @Nullable Granted granted(ChunkHandle chunk) {
    Holding holding = held.get(chunk);
    return holding == null ? null : new Granted(holding.grant, holding);
  }

  /** True where a lease is held at this very version, and not as this grant has it: no such. */
  public boolean contradicts(LeaseGrant grant) {
    Holding holding = held.get(grant.handle());
    return holding != null
        && holding.grant.version() == grant.version()
        && (holding.grant.token() != grant.token()
            || !holding.grant.configuration().equals(grant.configuration()));
  }

  /** All held, by chunk. */
  public List<HeldLease> heldInFull() {
    List<HeldLease> leases = new ArrayList<>(held.size());
    for (Holding holding : held.values()) {
      leases.add(holding.name());
    }
    return leases;
  }

  /** How many are held, valid or not. */
  public int size() {
    return held.size();
  }

  /** Those that are valid at this instant, by chunk. */
  public List<HeldLease> validInFull(long now) {
    List<HeldLease> leases = new ArrayList<>(held.size());
    for (Holding holding : held.values()) {
      if (holding.validAt(now)) {
        leases.add(holding.name());
      }
    }
    return leases;
  }

  /** True where the master has not heard yet what was released or acknowledged: send soon. */
  public boolean hasNews() {
    return released.containsValue(0L) || revoked.containsValue(0L);
  }

  /** Checks what must hold after each call; throws where it does not. */
  public void invariant() {
    long sum = 0;
    for (Holding holding : held.values()) {
      sum += digestOf(holding.grant);
      ChunkHandle chunk = holding.grant.handle();
      if (!holding.live || holding.grant.version() <= never.getOrDefault(chunk, 0L)) {
        throw new IllegalStateException("a dead lease is held: " + holding.grant);
      }
    }
    if (sum != digest) {
      throw new IllegalStateException("digest " + digest + " is not " + sum);
    }
  }
}
