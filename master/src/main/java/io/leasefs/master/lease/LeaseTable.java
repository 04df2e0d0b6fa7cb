package io.leasefs.master.lease;

import static com.google.common.base.Preconditions.checkState;

import io.leasefs.common.api.Heartbeat.HeldLease;
import io.leasefs.common.api.Heartbeat.LeaseName;
import io.leasefs.common.lease.LeaseDigest;
import io.leasefs.common.lease.LeaseTerms;
import io.leasefs.common.model.ChunkHandle;
import io.leasefs.common.model.SessionId;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/**
 * What this leader has promised to whom, and until when (protocol, section 1).
 *
 * <h2>Sessions</h2>
 *
 * A session's promise lasts until {@code r_k + T_G}: r_k is when this master received the newest
 * heartbeat that it accepted, T_G follows from the TTL recorded with the session. It counts from
 * the receipt, not from the answer: a lost answer counts as delivered. A new leader knows nothing
 * of its predecessor's answers, so every session counts as alive for its own T_G from <i>ready</i>
 * (E3). The end itself is a log entry; while that entry's fate is unknown the session is
 * <i>ending</i> and no heartbeat of it is accepted.
 *
 * <h2>Leases</h2>
 *
 * Leases come from the log ({@link #granted}, {@link #revoked}, {@link #gone}); this table adds
 * which of them were put into responses and what the holder is known to have. A renewal is given
 * only where the holder's digest shows that it holds no lease but the log's, or the response
 * carries what makes it so.
 *
 * <p>All times are nanoseconds of the master's clock. Pure; the control loop is its only user.
 */
public final class LeaseTable {
  /** A chunk lease as logged. */
  public record Lease(ChunkHandle chunk, long version, long token, SessionId session) {
    LeaseName name() {
      return new LeaseName(chunk, version);
    }

    long summand() {
      return LeaseDigest.of(chunk, version, token);
    }
  }

  /**
   * What goes into a response.
   *
   * @param ttlNanos 0 = not renewed
   * @param needFull the holder's digest cannot be explained: its full list is wanted
   */
  public record Answer(
      long ttlNanos, List<Lease> grants, List<LeaseName> revocations, boolean needFull) {}

  private static final class Session {
    final long ttlNanos;
    long endNanos;
    long heardNanos;
    boolean ending;
    boolean reportedInFull;

    /** Logged and neither revoked nor given back. */
    final TreeMap<ChunkHandle, Lease> leases = new TreeMap<>();

    /** Those of them that the holder is not known to have, oldest first. */
    final LinkedHashMap<ChunkHandle, Grant> unconfirmed = new LinkedHashMap<>();

    /** Logged revocations that are neither acknowledged nor over, oldest first. */
    final LinkedHashMap<LeaseName, Revocation> revocations = new LinkedHashMap<>();

    Session(long ttlNanos, long endNanos, long heardNanos) {
      this.ttlNanos = ttlNanos;
      this.endNanos = endNanos;
      this.heardNanos = heardNanos;
    }

    long digest() {
      long sum = 0;
      for (Lease lease : leases.values()) {
        sum += lease.summand();
      }
      return sum;
    }
  }

  /**
   * A grant on its way.
   *
   * @param replaced summand of the lease of the same chunk that the holder has until it arrives
   */
  private record Grant(Lease lease, long replaced) {}

  private static final class Revocation {
    final Lease lease;

    /** Master's end of the session when this was first put into a response. */
    @Nullable Long endWhenPut;

    /** This leader has put it into a response. */
    boolean put;

    Revocation(Lease lease, @Nullable Long endWhenPut) {
      this.lease = lease;
      this.endWhenPut = endWhenPut;
    }
  }

  private final LeaseTerms terms;
  private final Map<SessionId, Session> sessions = new TreeMap<>();

  /** Grants that this leader has put into some response. */
  private final Set<LeaseName> put = new HashSet<>();

  /** Given back, and not yet gone from the log. */
  private final Set<LeaseName> givenBack = new HashSet<>();

  public LeaseTable(LeaseTerms terms) {
    this.terms = terms;
  }

  /** Another leader leads, or this one starts: nothing is known. */
  public void clear() {
    sessions.clear();
    put.clear();
    givenBack.clear();
  }

  /** A session of the log, as a new leader finds it: alive for its own T_G from ready (E3). */
  public void adopt(SessionId id, long recordedTtlNanos, long readyNanos) {
    sessions.put(
        id,
        new Session(
            recordedTtlNanos,
            readyNanos + terms.grantorValidityNanos(recordedTtlNanos),
            readyNanos));
  }

  /** A session that this leader logged, for a request received at that time. */
  public void open(SessionId id, long recordedTtlNanos, long receivedNanos) {
    if (!sessions.containsKey(id)) {
      adopt(id, recordedTtlNanos, receivedNanos);
    }
  }

  /** The session has ended in the log, and with it all that hung on it. */
  public void ended(SessionId id) {
    Session session = sessions.remove(id);
    if (session != null) {
      for (Lease lease : session.leases.values()) {
        put.remove(lease.name());
        givenBack.remove(lease.name());
      }
    }
  }

  public boolean knows(SessionId id) {
    return sessions.containsKey(id);
  }

  /**
   * A heartbeat was received. False where it renews nothing: the session is unknown, or its end is
   * under way.
   */
  public boolean heard(SessionId id, long receivedNanos) {
    Session session = sessions.get(id);
    if (session == null || session.ending) {
      return false;
    }
    session.heardNanos = Math.max(session.heardNanos, receivedNanos);
    session.endNanos =
        Math.max(session.endNanos, receivedNanos + terms.grantorValidityNanos(session.ttlNanos));
    return true;
  }

  /** When the newest accepted heartbeat was received; ready, if there was none since. */
  public long lastHeard(SessionId id) {
    return known(id).heardNanos;
  }

  /** The instant before which no conflict is granted. */
  public long endOf(SessionId id) {
    return known(id).endNanos;
  }

  public boolean isEnding(SessionId id) {
    return known(id).ending;
  }

  /** Sessions whose promise has run out; they are marked ending: their end is proposed now. */
  public List<SessionId> expire(long now) {
    List<SessionId> expired = new ArrayList<>();
    sessions.forEach(
        (id, session) -> {
          if (!session.ending && now >= session.endNanos) {
            session.ending = true;
            expired.add(id);
          }
        });
    return expired;
  }

  /** One session ends because its process said so. */
  public void markEnding(SessionId id) {
    known(id).ending = true;
  }

  /** The entry that was to end the session will never be applied: it may be proposed again. */
  public void notEnded(SessionId id) {
    Session session = sessions.get(id);
    if (session != null) {
      session.ending = false;
    }
  }

  /** The earliest end of a session that is not yet ending; empty where there is none. */
  public Optional<Long> nextEnd() {
    Long next = null;
    for (Session session : sessions.values()) {
      if (!session.ending && (next == null || session.endNanos < next)) {
        next = session.endNanos;
      }
    }
    return Optional.ofNullable(next);
  }

  /** The log has this lease, unrevoked. Idempotent; an older lease of the chunk is gone by it. */
  public void granted(Lease lease) {
    if (givenBack.contains(lease.name())) {
      return;
    }
    Session session = sessions.get(lease.session());
    if (session == null) {
      return;
    }
    Lease before = session.leases.put(lease.chunk(), lease);
    if (!lease.equals(before)) {
      if (before != null) {
        put.remove(before.name());
      }
      Grant onItsWay = session.unconfirmed.remove(lease.chunk());
      long replaced = onItsWay != null ? onItsWay.replaced : before != null ? before.summand() : 0;
      session.unconfirmed.put(lease.chunk(), new Grant(lease, replaced));
    }
  }

  /**
   * The log has this lease's revocation. Idempotent. {@code byPredecessor}: another leader may have
   * put it into a response, so it counts from the session's end as adopted.
   */
  public void revoked(Lease lease, boolean byPredecessor) {
    Session session = sessions.get(lease.session());
    if (session == null || givenBack.contains(lease.name())) {
      return;
    }
    Lease current = session.leases.get(lease.chunk());
    if (current != null && current.version() <= lease.version()) {
      session.leases.remove(lease.chunk());
      session.unconfirmed.remove(lease.chunk());
    }
    session.revocations.computeIfAbsent(
        lease.name(),
        name -> new Revocation(lease, byPredecessor ? (Long) session.endNanos : null));
  }

  /**
   * The log has ended this lease with its chunk, which is sealed: there is nothing to use it for.
   * The holder hears so with its next response; were it left to find out, its digest would be
   * unexplained until then, and it would get no renewal.
   */
  public void sealed(Lease lease) {
    Session session = sessions.get(lease.session());
    boolean told = givenBack.contains(lease.name());
    gone(lease.session(), lease.name());
    if (session != null && !told) {
      Revocation revocation = new Revocation(lease, session.endNanos);
      revocation.put = true; // no response is sent for this alone
      session.revocations.put(lease.name(), revocation);
    }
  }

  /** The log has neither this lease nor its revocation any more. */
  public void gone(SessionId id, LeaseName name) {
    put.remove(name);
    givenBack.remove(name);
    Session session = sessions.get(id);
    if (session == null) {
      return;
    }
    session.revocations.remove(name);
    Lease current = session.leases.get(name.chunk());
    if (current != null && current.version() == name.version()) {
      session.leases.remove(name.chunk());
      session.unconfirmed.remove(name.chunk());
    }
  }

  /**
   * The holder released the lease or acknowledged its revocation: it will never use it again. What
   * the log has of it is put into no response any more.
   */
  public void givenBack(SessionId id, LeaseName name) {
    gone(id, name);
    givenBack.add(name);
  }

  /** True where the holder has given it back, and the log may not yet know. */
  public boolean isGivenBack(LeaseName name) {
    return givenBack.contains(name);
  }

  /**
   * When a conflicting lease may be granted: a time, past where the gate is open. Empty where only
   * an end in the log opens it (the session's own end, which still moves with its heartbeats).
   */
  public Optional<Long> gate(Lease lease) {
    Session session = sessions.get(lease.session());
    if (session == null || givenBack.contains(lease.name())) {
      return Optional.of(Long.MIN_VALUE);
    }
    Revocation revocation = session.revocations.get(lease.name());
    if (revocation != null && revocation.endWhenPut != null) {
      return Optional.of(Math.min(revocation.endWhenPut, session.endNanos));
    }
    return Optional.empty();
  }

  /**
   * The answer to a request whose barrier has committed. Grants and revocations returned here count
   * as delivered from now on.
   *
   * @param digest of the leases that the holder had when it sent the request
   * @param full all of them, where the request lists them
   */
  public Answer answer(SessionId id, long digest, Optional<? extends Collection<HeldLease>> full) {
    Session session = known(id);
    List<LeaseName> revocations = new ArrayList<>();
    boolean explained;
    if (full.isPresent()) {
      revocations.addAll(takeFullList(session, full.get()));
      explained = true;
    } else {
      explained = confirm(session, digest);
    }
    for (Revocation revocation : session.revocations.values()) {
      revocation.put = true;
      if (revocation.endWhenPut == null) {
        revocation.endWhenPut = session.endNanos;
      }
      revocations.add(revocation.lease.name());
    }
    List<Lease> grants = new ArrayList<>();
    // while the session is ending it is promised nothing
    if (!session.ending) {
      for (Grant grant : session.unconfirmed.values()) {
        put.add(grant.lease.name());
        grants.add(grant.lease);
      }
    }
    boolean renewed = explained && !session.ending;
    return new Answer(renewed ? session.ttlNanos : 0, grants, revocations, !explained);
  }

  /**
   * Leases that a full list under this leader does not name and that this leader has put into no
   * response (E3): they are put into none from now on, so the gate is open. Asked before {@link
   * #answer}, once a session. Who names an earlier version of the same chunk still holds that: the
   * next one is his to be told of, and its gate covers both.
   */
  public List<Lease> neverHeld(SessionId id, Collection<HeldLease> full) {
    Session session = known(id);
    if (session.reportedInFull) {
      return List.of();
    }
    session.reportedInFull = true;
    Set<ChunkHandle> held = new HashSet<>();
    full.forEach(lease -> held.add(lease.chunk()));
    List<Lease> never = new ArrayList<>();
    for (Lease lease : List.copyOf(session.leases.values())) {
      if (!held.contains(lease.chunk()) && !put.contains(lease.name())) {
        never.add(lease);
        givenBack(id, lease.name());
      }
    }
    return never;
  }

  /** The leases of a session that this table would promise, by chunk. */
  public List<Lease> leasesOf(SessionId id) {
    Session session = sessions.get(id);
    return session == null ? List.of() : List.copyOf(session.leases.values());
  }

  /** True where a grant or revocation has not yet been put into any response. */
  public boolean hasUnsent(SessionId id) {
    Session session = sessions.get(id);
    if (session == null || session.ending) {
      return false;
    }
    for (Grant grant : session.unconfirmed.values()) {
      if (!put.contains(grant.lease.name())) {
        return true;
      }
    }
    for (Revocation revocation : session.revocations.values()) {
      if (!revocation.put) {
        return true;
      }
    }
    return false;
  }

  /** True where the next response to this session has something to tell. */
  public boolean hasNews(SessionId id) {
    Session session = sessions.get(id);
    return session != null && (!session.unconfirmed.isEmpty() || !session.revocations.isEmpty());
  }

  private static Set<LeaseName> names(Collection<HeldLease> full) {
    Set<LeaseName> names = new HashSet<>();
    for (HeldLease held : full) {
      names.add(new LeaseName(held.chunk(), held.version()));
    }
    return names;
  }

  /** Answers what the holder has and the log does not give it. */
  private List<LeaseName> takeFullList(Session session, Collection<HeldLease> full) {
    Set<LeaseName> held = names(full);
    for (Lease lease : session.leases.values()) {
      if (held.contains(lease.name())) {
        session.unconfirmed.remove(lease.chunk());
      } else {
        session.unconfirmed.putIfAbsent(lease.chunk(), new Grant(lease, 0));
      }
    }
    List<LeaseName> surplus = new ArrayList<>();
    for (HeldLease one : full) {
      LeaseName name = new LeaseName(one.chunk(), one.version());
      Lease logged = session.leases.get(one.chunk());
      // a grant of a higher version, which is on its way, replaces it
      boolean known = logged != null && logged.version() >= one.version();
      if (!known && !session.revocations.containsKey(name)) {
        surplus.add(name);
      }
    }
    return surplus;
  }

  /**
   * Responses arrive in order, and each carries all that is outstanding: so the holder has taken in
   * the older part of the grants, and of the revocations; of what the other grants replace it has
   * all or, where it has promised a higher version, none. The digest tells which.
   */
  private static boolean confirm(Session session, long digest) {
    List<Grant> grants = List.copyOf(session.unconfirmed.values());
    long confirmed = session.digest();
    for (Grant grant : grants) {
      confirmed -= grant.lease.summand();
    }
    List<Revocation> revocations = List.copyOf(session.revocations.values());
    long held = confirmed;
    for (int unknown = 0; unknown <= revocations.size(); unknown++) {
      // the newest `unknown` revocations have not yet arrived
      if (unknown > 0) {
        held += revocations.get(revocations.size() - unknown).lease.summand();
      }
      int taken = takenGrants(grants, digest - held);
      if (taken >= 0) {
        for (Grant grant : grants.subList(0, taken)) {
          session.unconfirmed.remove(grant.lease.chunk());
        }
        return true;
      }
    }
    return false;
  }

  /** How many of the grants, from the oldest, add up to this; -1 where none do. */
  private static int takenGrants(List<Grant> grants, long sum) {
    long replaced = 0;
    for (Grant grant : grants) {
      replaced += grant.replaced;
    }
    long taken = 0;
    for (int count = 0; count <= grants.size(); count++) {
      if (sum == taken || sum == taken + replaced) {
        return count;
      }
      if (count < grants.size()) {
        taken += grants.get(count).lease.summand();
        replaced -= grants.get(count).replaced;
      }
    }
    return -1;
  }

  private Session known(SessionId id) {
    Session session = sessions.get(id);
    checkState(session != null, "unknown session: %s", id);
    return session;
  }
}
