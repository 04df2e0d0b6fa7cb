package io.leasefs.chunkserver.session;

import io.leasefs.chunkserver.lease.HeldLeases;
import io.leasefs.common.api.Heartbeat;
import io.leasefs.common.api.Heartbeat.DiskReport;
import io.leasefs.common.api.Heartbeat.LeaseName;
import io.leasefs.common.api.Heartbeat.ReplicaReport;
import io.leasefs.common.api.Registration;
import io.leasefs.common.error.ErrorCode;
import io.leasefs.common.error.LeaseFsException;
import io.leasefs.common.lease.LeaseTerms;
import io.leasefs.common.model.ChunkHandle;
import io.leasefs.common.model.DiskId;
import io.leasefs.common.model.Endpoints;
import io.leasefs.common.model.LeaseGrant;
import io.leasefs.common.model.ServerAddress;
import io.leasefs.common.model.ServerId;
import io.leasefs.common.model.SessionId;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/**
 * A chunkserver's session with the masters (protocol, sections 1 and 2): registers an incarnation
 * that is on the disk, sends a heartbeat every h and whenever there is news, goes from one master
 * to the next until one answers, and takes in what they answer.
 *
 * <p>Pure. Times are nanoseconds of the holder's clock. Stepped by the session's executor alone.
 */
public final class SessionCore {
  /** Urgent requests are no closer to each other than this: what comes together goes together. */
  static final long URGENT_GAP_NANOS = 2_000_000;

  /** A registration without answer counts as failed after this. */
  static final long REGISTRATION_TIMEOUT_NANOS = 2_000_000_000;

  /** The longest pause between two tries, with all masters silent. */
  private static final long MOST_RAISED_BY = 1L << 20;

  static final long MAX_BACKOFF_NANOS = 1_000_000_000;

  private static final long MIN_BACKOFF_NANOS = 20_000_000;

  /** A silent master is borne four times as long at most: less than T, so that others come in. */
  private static final int MOST_PATIENCE_SHIFT = 2;

  /** The last heartbeat of a stopping server is waited for this long. */
  static final long STOP_NANOS = 150_000_000;

  /**
   * How far the masters' log has been heard of goes to the disk no more often than this. What is
   * missed by it are numbers that are on this disk anyway, or of no copy here.
   */
  static final long STORE_ORDINAL_NANOS = 10_000_000_000L;

  /** A wake-up that is late by more than this was no accident of scheduling. */
  static final long PAUSE_NANOS = 200_000_000;

  /** Who registers. */
  public record Identity(
      ServerId server,
      String rack,
      String bootId,
      List<DiskId> disks,
      List<ServerAddress> masters) {
    public Identity {
      disks = List.copyOf(disks);
      masters = List.copyOf(masters);
      if (masters.isEmpty()) {
        throw new IllegalArgumentException("no master's address");
      }
    }
  }

  private enum Phase {
    NEW,
    /** The raised incarnation is on its way to the disk. */
    STORING,
    REGISTERING,
    /** Nobody answers: until {@code resumeAt}. */
    WAITING,
    CONNECTED,
    STOPPED
  }

  private final Identity identity;

  /** Null until the first registration. Read by others for its end only. */
  private volatile @Nullable HeldLeases leases;

  private final Outbox outbox = new Outbox();
  private final Map<ChunkHandle, ReplicaReport> replicas = new TreeMap<>();
  private List<DiskReport> disks = List.of();
  private Endpoints endpoints = Endpoints.of(new ServerAddress("unknown", 0));

  private Phase phase = Phase.NEW;
  private String clusterId;
  private long incarnation;

  /** How much the next incarnation is above; doubled while masters know a higher one. */
  private long raiseBy = 1;

  /** Of the registration under way; 0 where the raised incarnation is not on the disk. */
  private long nonce;

  private boolean registered;
  private SessionId session = new SessionId(0);
  private LeaseTerms terms = LeaseTerms.ofTtl(10_000_000_000L);

  /** The highest term seen that is on the disk. */
  private long term;

  /** The highest number of the masters' log that was heard of, from them or from copies here. */
  private long ordinal;

  /** What of it was sent to the disk, and when. */
  private long ordinalStored;

  private long ordinalStoredAt = Long.MIN_VALUE / 2;

  /** Responses that wait until their term is on the disk, in order; the first names the term. */
  private final ArrayDeque<Heartbeat.Response> untilTermStored = new ArrayDeque<>();

  /** The master wants the full list of leases; until it has answered a request that had it. */
  private boolean listDue;

  private long listSequence = -1;

  private int masterIndex;
  private @Nullable ServerAddress hint;
  private int failuresInARow;
  private int hops;

  /** The patience with a silent master is doubled so often. */
  private int patienceShift;

  private long resumeAt;

  private long attempt;
  private long attemptDeadline;

  private long connection;
  private long sequence;
  private long lastSentAt;

  /** When the oldest request was sent that nothing has answered; -1 where there is none. */
  private long unansweredSince = -1;

  /** The master wants a full report, and the replicas have been asked. */
  private boolean collecting;

  /** Replicas that told of themselves while the others were asked: what they told is newer. */
  private final Set<ChunkHandle> toldMeanwhile = new HashSet<>();

  /** A full report goes with each request until one that had it is answered. */
  private boolean fullReportDue;

  private long fullReportSequence = -1;
  private boolean sendSoon;
  private long deadWatermark;
  private List<SessionId> deadExceptions = List.of();

  private long wantedWake = Long.MAX_VALUE;
  private long pausesSeen;

  private boolean stopping;
  private long stopDeadline;

  /** The first request that gave everything back; the master has answered it. */
  private long stopSequence = -1;

  private boolean stopHeard;

  /** The step's actions. */
  private List<SessionAction> actions = new ArrayList<>();

  /**
   * @param clusterId empty where the server has never joined one
   * @param storedTerm the highest term on the disk
   * @param storedOrdinal the highest ordinal on the disk
   */
  public SessionCore(Identity identity, String clusterId, long storedTerm, long storedOrdinal) {
    this.identity = identity;
    this.clusterId = clusterId;
    this.term = storedTerm;
    this.ordinal = storedOrdinal;
    this.ordinalStored = storedOrdinal;
  }

  /**
   * Takes in one event.
   *
   * @param now never smaller than in the step before
   * @return what to do, in order; the caller owns the list
   */
  public List<SessionAction> step(SessionEvent event, long now) {
    actions = new ArrayList<>();
    if (phase != Phase.STOPPED) {
      take(event, now);
      act(now);
    }
    return actions;
  }

  private void take(SessionEvent event, long now) {
    switch (event) {
      case SessionEvent.Start start -> start(start);
      case SessionEvent.IncarnationRaised raised -> incarnationRaised(raised, now);
      case SessionEvent.NotStored failed -> notStored(now);
      case SessionEvent.TermStored stored -> termStored(stored.term(), now);
      case SessionEvent.Registered answer -> registered(answer, now);
      case SessionEvent.RegistrationFailed failed -> registrationFailed(failed, now);
      case SessionEvent.Answered answer -> answered(answer, now);
      case SessionEvent.Broken broken -> broken(broken.connection(), now);
      case SessionEvent.Woken woken -> woken(now);
      case SessionEvent.Told told -> told(told.news());
      case SessionEvent.Collected collected -> collected(collected.replicas());
      case SessionEvent.Disks newest -> disks(newest.disks());
      case SessionEvent.Stop stop -> stop(now);
    }
  }

  // ---- registration --------------------------------------------------------------------------

  private void start(SessionEvent.Start start) {
    endpoints = start.endpoints();
    disks = List.copyOf(start.disks());
    raiseIncarnation();
  }

  private void raiseIncarnation() {
    phase = Phase.STORING;
    registered = false;
    nonce = 0;
    session = new SessionId(0);
    actions.add(new SessionAction.RaiseIncarnation(raiseBy));
  }

  private void incarnationRaised(SessionEvent.IncarnationRaised raised, long now) {
    incarnation = raised.incarnation();
    nonce = raised.nonce();
    register(now);
  }

  /** Without the incarnation nothing goes on; without a term its responses wait for ever. */
  private void notStored(long now) {
    actions.add(new SessionAction.Disconnect(connection));
    phase = Phase.WAITING;
    resumeAt = now + MAX_BACKOFF_NANOS;
  }

  private void register(long now) {
    phase = Phase.REGISTERING;
    attempt++;
    attemptDeadline = now + REGISTRATION_TIMEOUT_NANOS;
    actions.add(
        new SessionAction.Register(
            attempt,
            target(),
            new Registration.Request(
                clusterId,
                identity.server,
                endpoints,
                identity.rack,
                incarnation,
                nonce,
                identity.bootId,
                identity.disks,
                term,
                ordinal)));
  }

  private void registered(SessionEvent.Registered answer, long now) {
    if (phase != Phase.REGISTERING || answer.attempt() != attempt) {
      return;
    }
    Registration.Response response = answer.response();
    if (!clusterId.isEmpty() && !clusterId.equals(response.clusterId())) {
      wrongCluster(
          "the master is of cluster " + response.clusterId() + ", this server of " + clusterId,
          now);
      return;
    }
    try {
      terms =
          new LeaseTerms(
              response.ttlNanos(),
              response.heartbeatNanos(),
              response.rpcTimeoutNanos(),
              response.driftPpm(),
              response.readingErrorNanos(),
              response.guardNanos(),
              response.stallNanos());
    } catch (LeaseFsException e) {
      actions.add(new SessionAction.Complain("the master's lease terms: " + e.getMessage()));
      nextMaster(now);
      return;
    }
    clusterId = response.clusterId();
    session = response.session();
    ordinal = Math.max(ordinal, session.value());
    registered = true;
    raiseBy = 1;
    failuresInARow = 0;
    HeldLeases known = leases;
    if (known == null) {
      // What lies below a replica's promise its core refuses, in one step with the promise.
      leases = new HeldLeases(clusterId, session, terms, term, chunk -> 0);
    } else {
      known.newSession(session);
    }
    actions.add(new SessionAction.Joined(clusterId, session, terms));
    wantFullReport();
    connect();
  }

  private void registrationFailed(SessionEvent.RegistrationFailed failed, long now) {
    if (phase != Phase.REGISTERING || failed.attempt() != attempt) {
      return;
    }
    if (failed.code() == ErrorCode.NOT_LEADER) {
      follow(failed.leader(), now);
    } else if (failed.code() == ErrorCode.WRONG_CLUSTER) {
      wrongCluster(failed.why(), now);
    } else if (failed.code() == ErrorCode.UNKNOWN_SESSION) {
      // It was registered, that answer was late, and its session has ended since: a new life. Or
      // the disk was replaced, and the masters know the old one's incarnations: soon it is above.
      raiseBy = Math.min(2 * raiseBy, MOST_RAISED_BY);
      raiseIncarnation();
    } else {
      actions.add(
          new SessionAction.Complain(
              "registration at " + target() + " failed: " + failed.code() + ": " + failed.why()));
      nextMaster(now);
    }
  }

  /**
   * A server that never joined was started wrongly, and time does not mend that. One that did goes
   * on looking for its own master: what it holds is worth more than its exit code.
   */
  private void wrongCluster(String why, long now) {
    if (leases != null) {
      actions.add(new SessionAction.Complain(why));
      nextMaster(now);
      return;
    }
    phase = Phase.STOPPED;
    actions.add(
        new SessionAction.GiveUp(
            ErrorCode.WRONG_CLUSTER,
            why,
            "start it with another data folder, or with its own cluster's master"));
    actions.add(new SessionAction.Stopped(false));
  }

  // ---- which master --------------------------------------------------------------------------

  private ServerAddress target() {
    return hint != null ? hint : identity.masters.get(masterIndex % identity.masters.size());
  }

  /** That one is not the leader: goes where it points to, but not round and round. */
  private void follow(Optional<ServerAddress> leader, long now) {
    hops++;
    if (leader.isPresent() && !leader.get().equals(target()) && hops <= 3) {
      hint = leader.get();
      resume(now);
    } else {
      nextMaster(now);
    }
  }

  /** The next one in the list; at once within the first round, then after a growing pause. */
  private void nextMaster(long now) {
    hops = 0;
    if (hint != null) {
      hint = null;
    } else {
      masterIndex = (masterIndex + 1) % identity.masters.size();
    }
    failuresInARow++;
    if (failuresInARow < identity.masters.size()) {
      resume(now);
      return;
    }
    int rounds = failuresInARow / identity.masters.size();
    if (registered && failuresInARow % identity.masters.size() == 0) {
      patienceShift = Math.min(MOST_PATIENCE_SHIFT, patienceShift + 1);
    }
    long most = registered ? terms.heartbeatNanos() : MAX_BACKOFF_NANOS;
    phase = Phase.WAITING;
    resumeAt = now + Math.min(most, MIN_BACKOFF_NANOS << Math.min(rounds, 10));
  }

  private void resume(long now) {
    if (registered) {
      connect();
    } else if (nonce == 0) {
      raiseIncarnation();
    } else {
      register(now);
    }
  }

  private void connect() {
    phase = Phase.CONNECTED;
    connection++;
    unansweredSince = -1;
    sendSoon = true;
    untilTermStored.clear();
    actions.add(new SessionAction.Connect(connection, target()));
  }

  private void broken(long which, long now) {
    if (phase == Phase.CONNECTED && which == connection) {
      actions.add(new SessionAction.Disconnect(connection));
      nextMaster(now);
    }
  }

  // ---- heartbeats ----------------------------------------------------------------------------

  private void told(News news) {
    switch (news) {
      case News.Born born -> present(born.report());
      case News.Changed changed -> present(changed.report());
      case News.Gone gone -> {
        replicas.remove(gone.chunk());
        toldMeanwhile.add(gone.chunk());
      }
      case News.Released released -> {
        release(released.lease());
        return;
      }
      case News.Sealed sealed -> {}
      case News.Started started -> {}
      case News.Failed failed -> {}
    }
    outbox.add(news);
  }

  private void present(Heartbeat.ReplicaReport report) {
    replicas.put(report.spec().handle(), report);
    noteNumbers(report);
    toldMeanwhile.add(report.spec().handle());
  }

  /** Whether a disk takes more is urgent: the next chunk should not come here in vain. */
  private void disks(List<DiskReport> newest) {
    sendSoon |= !newest.stream().map(DiskReport::full).toList().equals(full());
    disks = List.copyOf(newest);
  }

  private List<Boolean> full() {
    return disks.stream().map(DiskReport::full).toList();
  }

  private void release(LeaseName lease) {
    HeldLeases known = leases;
    if (known != null) {
      known.release(lease);
      actions.add(new SessionAction.Over(lease, "released"));
    }
  }

  private void send(HeldLeases known, long now) {
    sequence++;
    lastSentAt = now;
    sendSoon = false;
    if (unansweredSince < 0) {
      unansweredSince = now;
    }
    if (fullReportDue && fullReportSequence < 0) {
      fullReportSequence = sequence;
    }
    Outbox.Contents contents = outbox.take(sequence);
    if (listDue && listSequence < 0) {
      listSequence = sequence;
    }
    HeldLeases.Told told = known.sending(sequence, now);
    if (stopping && stopSequence < 0) {
      stopSequence = sequence;
    }
    actions.add(
        new SessionAction.Send(
            connection,
            new Heartbeat.Request(
                clusterId,
                identity.server,
                incarnation,
                sequence,
                term,
                session,
                told.digest(),
                listDue ? Optional.of(known.heldInFull()) : Optional.empty(),
                told.released(),
                told.revocationsAcknowledged(),
                contents.sealAnswers,
                contents.versionStarts,
                contents.failedMembers,
                fullReportDue,
                fullReportDue ? List.copyOf(replicas.values()) : contents.replicas,
                contents.gone,
                disks,
                openChunks(),
                pausesSeen,
                ordinal)));
  }

  private long openChunks() {
    long open = 0;
    for (Heartbeat.ReplicaReport report : replicas.values()) {
      open += report.state() == Heartbeat.ReplicaState.OPEN ? 1 : 0;
    }
    return open;
  }

  private void answered(SessionEvent.Answered answer, long now) {
    Heartbeat.Response response = answer.response();
    if (phase != Phase.CONNECTED
        || answer.connection() != connection
        || !response.clusterId().equals(clusterId)
        || response.term() < term) {
      return;
    }
    if (!untilTermStored.isEmpty()) {
      // Bounded: a master answers what it is asked, and this core asks every h.
      untilTermStored.add(response);
    } else if (response.term() > term) {
      untilTermStored.add(response);
      actions.add(new SessionAction.StoreTerm(response.term()));
    } else {
      process(response, now);
    }
  }

  private void termStored(long stored, long now) {
    if (stored > term) {
      term = stored;
      listDue = true;
      listSequence = -1;
    }
    long asked = connection;
    while (!untilTermStored.isEmpty() && connection == asked) {
      Heartbeat.Response response = untilTermStored.getFirst();
      if (response.term() > term) {
        actions.add(new SessionAction.StoreTerm(response.term()));
        return;
      }
      untilTermStored.removeFirst();
      if (response.term() == term) {
        process(response, now);
      }
    }
  }

  private void process(Heartbeat.Response response, long now) {
    HeldLeases known = leases;
    if (known == null) {
      return;
    }
    switch (response.status()) {
      case NOT_LEADER -> {
        actions.add(new SessionAction.Disconnect(connection));
        follow(response.leaderHint(), now);
      }
      case WRONG_CLUSTER -> {
        actions.add(new SessionAction.Complain("the master says: wrong cluster"));
        actions.add(new SessionAction.Disconnect(connection));
        nextMaster(now);
      }
      case OK, NEED_FULL_REPORT, UNKNOWN_SESSION, STALE_INCARNATION -> {
        HeldLeases.Outcome outcome = known.receive(response);
        over(outcome.over(), outcome.sessionLost() ? "session over" : "revoked");
        if (outcome.sessionLost()) {
          sessionGone(response.status());
        } else if (outcome.accepted()) {
          processGood(known, response, outcome, now);
        }
      }
    }
  }

  private void sessionGone(Heartbeat.Status status) {
    actions.add(new SessionAction.Complain("the session is over: " + status));
    actions.add(new SessionAction.Disconnect(connection));
    outbox.sessionEnded();
    raiseIncarnation();
  }

  private void processGood(
      HeldLeases known, Heartbeat.Response response, HeldLeases.Outcome outcome, long now) {
    hops = 0;
    failuresInARow = 0;
    ordinal = Math.max(ordinal, response.appliedOrdinal());
    if (response.answersSequence() >= sequence) {
      if (unansweredSince >= 0) {
        answeredAfter(now - unansweredSince);
      }
      unansweredSince = -1;
    } else if (unansweredSince >= 0) {
      unansweredSince = now;
    }
    // Asked again while a report is under way: it is, and will be the newest there is.
    if (response.status() == Heartbeat.Status.NEED_FULL_REPORT && !fullReportDue) {
      wantFullReport();
    }
    if (response.status() == Heartbeat.Status.OK) {
      outbox.answered(response.answersSequence());
      if (fullReportSequence >= 0 && response.answersSequence() >= fullReportSequence) {
        fullReportDue = false;
        fullReportSequence = -1;
      }
      if (listSequence >= 0 && response.answersSequence() >= listSequence) {
        listDue = false;
        listSequence = -1;
      }
    }
    for (HeldLeases.Granted granted : outcome.granted()) {
      actions.add(
          new SessionAction.Granted(granted.grant(), granted.validity(), known.endNanos() - now));
    }
    for (LeaseGrant grant : response.grants()) {
      if (known.contradicts(grant)) {
        actions.add(
            new SessionAction.Complain(
                "refused a second, different grant of the same version: " + grant));
      }
    }
    int held = known.size();
    if (response.ttlNanos() > 0 && held > 0) {
      actions.add(new SessionAction.Renewed(known.endNanos() - now, held));
    }
    if (stopping) {
      releaseAll(known);
      stopHeard |=
          response.status() == Heartbeat.Status.OK
              && stopSequence >= 0
              && response.answersSequence() >= stopSequence;
    }
    if (response.deadWatermark() != deadWatermark
        || !response.deadExceptions().equals(deadExceptions)) {
      deadWatermark = response.deadWatermark();
      deadExceptions = List.copyOf(response.deadExceptions());
      actions.add(new SessionAction.SessionsDead(deadWatermark, deadExceptions));
    }
    response.commands().forEach(command -> actions.add(new SessionAction.Obey(command)));
  }

  private void wantFullReport() {
    if (!collecting) {
      collecting = true;
      toldMeanwhile.clear();
      actions.add(new SessionAction.Collect());
    }
    listDue = true;
    listSequence = -1;
  }

  private void collected(List<ReplicaReport> reports) {
    collecting = false;
    replicas.keySet().retainAll(toldMeanwhile);
    for (ReplicaReport report : reports) {
      if (!toldMeanwhile.contains(report.spec().handle())) {
        replicas.put(report.spec().handle(), report);
        noteNumbers(report);
      }
    }
    fullReportDue = true;
    fullReportSequence = -1;
    sendSoon = true;
  }

  /** A copy proves that the log reached its numbers; one that cannot be read proves nothing. */
  private void noteNumbers(ReplicaReport report) {
    if (!report.replica().equals(ReplicaReport.UNKNOWN)) {
      ordinal = Math.max(ordinal, report.spec().handle().value());
      ordinal = Math.max(ordinal, report.replica().value());
    }
  }

  private void storeOrdinal(long now) {
    if (registered && ordinal > ordinalStored && now - ordinalStoredAt >= STORE_ORDINAL_NANOS) {
      ordinalStored = ordinal;
      ordinalStoredAt = now;
      actions.add(new SessionAction.StoreOrdinal(ordinal));
    }
  }

  private void over(List<LeaseName> ended, String why) {
    for (LeaseName lease : ended) {
      actions.add(new SessionAction.Over(lease, why));
    }
  }

  // ---- time ----------------------------------------------------------------------------------

  private void woken(long now) {
    if (wantedWake != Long.MAX_VALUE && now - wantedWake > PAUSE_NANOS) {
      pausesSeen++;
      actions.add(new SessionAction.PauseSeen(now - wantedWake));
    }
  }

  private void stop(long now) {
    stopping = true;
    stopDeadline = now + STOP_NANOS;
    HeldLeases known = leases;
    if (known != null) {
      releaseAll(known);
    }
    sendSoon = true;
  }

  private void releaseAll(HeldLeases known) {
    for (Heartbeat.HeldLease held : known.heldInFull()) {
      release(new LeaseName(held.chunk(), held.version()));
    }
  }

  /** Whatever is due now; and when to look again. */
  private void act(long now) {
    if (phase == Phase.REGISTERING && now >= attemptDeadline) {
      actions.add(new SessionAction.Complain("registration at " + target() + ": no answer"));
      nextMaster(now);
    }
    if (phase == Phase.WAITING && now >= resumeAt) {
      resume(now);
    }
    if (phase == Phase.CONNECTED
        && unansweredSince >= 0
        && now - unansweredSince >= patienceNanos()) {
      actions.add(new SessionAction.Disconnect(connection));
      nextMaster(now);
    }
    if (stopping && (now >= stopDeadline || phase != Phase.CONNECTED || stopHeard)) {
      phase = Phase.STOPPED;
      actions.add(new SessionAction.Disconnect(connection));
      actions.add(new SessionAction.Stopped(stopHeard));
      return;
    }
    storeOrdinal(now);
    HeldLeases known = leases;
    if (phase == Phase.CONNECTED && known != null && now >= nextSendAt()) {
      send(known, now);
    }
    long wake = wakeAt();
    if (wake != wantedWake) {
      wantedWake = wake;
      actions.add(new SessionAction.WakeAt(wake));
    }
  }

  /**
   * How long a silent master is borne. Where there is no other, leaving it can only help against a
   * dead connection, and looks to the master like the end of this process: so twice as long. And
   * twice as long after each whole round in which nobody answered in time: perhaps they all need
   * longer, and who is always left before it has answered is never heard.
   */
  private long patienceNanos() {
    boolean onlyOne = hint == null && identity.masters.size() == 1;
    return (onlyOne ? 2 * terms.rpcTimeoutNanos() : terms.rpcTimeoutNanos()) << patienceShift;
  }

  /** The newest request was answered after so long. */
  private void answeredAfter(long nanos) {
    if (nanos < terms.rpcTimeoutNanos()) {
      patienceShift = 0;
    }
  }

  private long nextSendAt() {
    HeldLeases known = leases;
    boolean urgent = sendSoon || outbox.hasUnsent() || (known != null && known.hasNews());
    return lastSentAt + (urgent ? URGENT_GAP_NANOS : terms.heartbeatNanos());
  }

  private long wakeAt() {
    long wake =
        switch (phase) {
          case NEW, STORING, STOPPED -> Long.MAX_VALUE;
          case REGISTERING -> attemptDeadline;
          case WAITING -> resumeAt;
          case CONNECTED ->
              unansweredSince < 0
                  ? nextSendAt()
                  : Math.min(nextSendAt(), unansweredSince + patienceNanos());
        };
    return stopping ? Math.min(wake, stopDeadline) : wake;
  }

  /** The session with which heartbeats go out; 0 where there is none. */
  public SessionId session() {
    return session;
  }

  /** When the held leases end, on the holder's clock. Any thread. */
  public long leaseEndNanos() {
    HeldLeases known = leases;
    return known == null ? Long.MIN_VALUE : known.endNanos();
  }

  /** The leases that are held and valid at this instant. */
  public List<Heartbeat.HeldLease> validLeases(long now) {
    HeldLeases known = leases;
    return known == null ? List.of() : known.validInFull(now);
  }

  /** How many leases are held, valid or not. */
  public int heldLeases() {
    HeldLeases known = leases;
    return known == null ? 0 : known.size();
  }

  public LeaseTerms terms() {
    return terms;
  }

  public boolean isConnected() {
    return phase == Phase.CONNECTED;
  }
}
