package io.leasefs.cluster.simulation;

import static java.util.Objects.requireNonNull;

import io.leasefs.chunkserver.ChunkServer;
import io.leasefs.chunkserver.replica.ReplicaCore;
import io.leasefs.chunkserver.replica.ReplicaImage.Snapshot;
import io.leasefs.common.api.ChunkApi.NamedAnswer;
import io.leasefs.common.api.Frame;
import io.leasefs.common.api.FrameAnswer;
import io.leasefs.common.api.Heartbeat;
import io.leasefs.common.api.VersionStart;
import io.leasefs.common.model.ChunkHandle;
import io.leasefs.common.model.LeaseGrant;
import io.leasefs.common.model.Member;
import io.leasefs.common.model.ReplicaId;
import io.leasefs.common.model.ServerId;
import io.leasefs.master.replicated.ReplicatedState;
import io.leasefs.master.state.ChunkEntry;
import io.leasefs.master.state.StateView;
import java.io.IOException;
import java.util.HashMap;
import java.util.HashSet;
import java.util.IdentityHashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/** The invariants of protocol section 10, over all chunkservers at once. */
final class Checks implements Watch {
  /** A smallest gap where there was none. */
  static final long NONE = Long.MAX_VALUE;

  private record Version(ChunkHandle chunk, long version) {}

  /** What a copy has promised to the outside. */
  private static final class Promise {
    long promised;
    long accepted;
  }

  private record Asked(ChunkHandle chunk, long session, long sequence) {}

  /** One copy of a chunk at a server. */
  record CopyName(ServerId server, ChunkHandle chunk, ReplicaId replica) {}

  private record Standing(long leaseEnd, int leases) {}

  private record Seen(
      long steps, long promised, long accepted, long lastSerial, Heartbeat.ReplicaState state) {
    boolean turnedTo(Seen now) {
      return now.promised > promised
          || now.accepted > accepted
          || now.lastSerial < lastSerial
          || now.state != state;
    }
  }

  private record Holder(ServerId server, long version) {
    @Override
    public String toString() {
      return server + " at version " + version;
    }
  }

  private record Given(ServerId server, long incarnation, Heartbeat.LeaseName lease) {}

  /** A lease as its holder has it, or had it last. */
  private static final class Hold {
    private final long version;

    /** True time at which the holder stops. */
    private long end;

    /** It has stopped before its lease ran out: gave it back, lost its session, or died. */
    private boolean early;

    Hold(long version) {
      this.version = version;
    }

    void stop(long now) {
      if (end > now) {
        end = now;
        early = true;
      }
    }
  }

  private final EventLoop loop;

  /** How long before its end a holder stops what cannot be checked again. */
  private final long guardNanos;

  private final int minReplicas;
  private final boolean clocksInBound;

  /** Leases that their holder said it would not use any more. */
  private final Set<Given> givenBack = new HashSet<>();

  /** Leases by the incarnation that some master, replaced or not, has granted them to. */
  private final Set<Given> granted = new HashSet<>();

  /** Servers that may have lost what they acknowledged, as the policy of their files allows. */
  private final Set<ServerId> forgetful = new TreeSet<>();

  /** The frames that ever came to some chunkserver, and those that came for dropped chunks. */
  private final Set<Asked> arrived = new HashSet<>();

  private final Set<Asked> late = new HashSet<>();

  /** The definite answers that left a chunkserver. */
  private final Map<Asked, FrameAnswer.Applied> places = new HashMap<>();

  private final Map<ServerId, ChunkServer> servers = new TreeMap<>();
  private final Map<ServerId, Host> hosts = new TreeMap<>();
  private final Map<ServerId, Standing> standing = new TreeMap<>();
  private final Map<ServerId, Map<ChunkHandle, Hold>> holds = new TreeMap<>();

  /** What was seen of each core, and after which of its steps. */
  private final IdentityHashMap<ReplicaCore, Seen> seen = new IdentityHashMap<>();

  /** Of whose copies one has promised, started a version, been cut, or become something else. */
  private @Nullable ServerId turned;

  private final Map<Version, List<Member>> chains = new LinkedHashMap<>();
  private final Map<CopyName, Promise> promises = new LinkedHashMap<>();

  /** The highest serial that was acknowledged to a client with this copy as a member. */
  private final Map<CopyName, Long> acknowledged = new HashMap<>();

  private final Map<ServerId, Long> incarnations = new TreeMap<>();
  private final Map<Version, ServerId> primaries = new LinkedHashMap<>();
  private final Map<ChunkHandle, ServerId> newest = new TreeMap<>();
  private final Map<ServerId, Long> terms = new TreeMap<>();

  /** Copies that a process has told to be gone: it must not bear them again. */
  private final Map<ServerId, Set<ChunkHandle>> gone = new TreeMap<>();

  private @Nullable CommittedSince committedSince;
  private @Nullable Supplier<ReplicatedState> log;

  /** The most that any master was seen to have applied. */
  private long mostApplied;

  private @Nullable Granting granting;
  private long highestTerm;
  private long highestTermSince;
  private long grants;
  private long failovers;
  private long handOverNanos = NONE;
  private long earlyHandOverNanos = NONE;

  /**
   * @param guardNanos how long before its end a holder stops what cannot be checked again
   * @param minReplicas fewest copies with which anything is acknowledged
   * @param clocksInBound leases exclude one another; else writes must be safe without
   */
  Checks(EventLoop loop, long guardNanos, int minReplicas, boolean clocksInBound) {
    this.loop = loop;
    this.guardNanos = guardNanos;
    this.minReplicas = minReplicas;
    this.clocksInBound = clocksInBound;
  }

  /** The servers that got the newest lease of some chunk. */
  List<ServerId> primaries() {
    return List.copyOf(new TreeSet<>(newest.values()));
  }

  /** How many leases were granted. */
  long grants() {
    return grants;
  }

  /** How often a chunk's lease went to another server. */
  long failovers() {
    return failovers;
  }

  /**
   * The shortest time between the end of a lease that ran out, on its holder's clock, and the grant
   * of its chunk to another server: true time, nanoseconds; {@link #NONE}: there was no such gap.
   */
  long handOverNanos() {
    return handOverNanos;
  }

  /** Likewise for leases that ended earlier: given back, revoked, or their holder died. */
  long earlyHandOverNanos() {
    return earlyHandOverNanos;
  }

  /** The server may lack from now on what it has acknowledged. */
  void forgets(ServerId id) {
    forgetful.add(id);
    acknowledged.keySet().removeIf(copy -> copy.server().equals(id));
  }

  /** The highest version that this copy has told that it promised; 0: none. */
  long promised(CopyName copy) {
    Promise promise = promises.get(copy);
    return promise == null ? 0 : promise.promised;
  }

  /** The highest serial that was acknowledged with this copy as a member; 0: none. */
  long acknowledged(CopyName copy) {
    return acknowledged.getOrDefault(copy, 0L);
  }

  /** Likewise what its copies have promised. */
  void forgetsPromises(ServerId id) {
    promises.keySet().removeIf(copy -> copy.server().equals(id));
  }

  /** The server's disk is another one, or an old one: it knows nothing of what it has told. */
  void lostDisk(ServerId id) {
    forgets(id);
    forgetsPromises(id);
    terms.remove(id);
  }

  void started(ServerId id, ChunkServer server, Host host) {
    servers.put(id, server);
    gone.remove(id);
    hosts.put(id, host);
    standing.remove(id);
  }

  void ended(ServerId id) {
    servers.remove(id);
    standing.remove(id);
    holds.getOrDefault(id, Map.of()).values().forEach(hold -> hold.stop(loop.now()));
  }

  /** All that can be asked at any time. */
  void all() {
    onePrimary();
    copies();
    histories();
  }

  // ---- leases ------------------------------------------------------------------------------

  /** A chunkserver's session has done something. */
  void sessionStepped(ServerId id) {
    ChunkServer server = servers.get(id);
    if (server == null) {
      return;
    }
    Standing now = new Standing(server.leaseEndNanos(), server.validLeases().size());
    if (!now.equals(standing.put(id, now))) {
      onePrimary();
      hold(id, server);
    }
  }

  private void hold(ServerId id, ChunkServer server) {
    Map<ChunkHandle, Hold> known = holds.computeIfAbsent(id, i -> new TreeMap<>());
    Map<ChunkHandle, Hold> valid = new TreeMap<>();
    for (Heartbeat.HeldLease lease : server.validLeases()) {
      Hold hold = known.get(lease.chunk());
      if (hold == null || hold.version != lease.version()) {
        hold = new Hold(lease.version());
      }
      Host host = requireNonNull(hosts.get(id));
      hold.end = loop.now() + host.trueNanos(server.leaseEndNanos() - host.nanos());
      hold.early = false;
      valid.put(lease.chunk(), hold);
    }
    known.forEach(
        (chunk, hold) -> {
          if (!valid.containsKey(chunk)) {
            hold.stop(loop.now());
          }
        });
    known.putAll(valid);
  }

  /** I2 once more, from the other side: when did the earlier holders of this chunk stop? */
  private void handedOver(LeaseGrant grant, ServerId primary) {
    if (!clocksInBound) {
      return;
    }
    for (Map.Entry<ServerId, Map<ChunkHandle, Hold>> each : holds.entrySet()) {
      Hold hold = each.getKey().equals(primary) ? null : each.getValue().remove(grant.handle());
      if (hold == null || hasSealed(each.getKey(), grant.handle(), hold.version)) {
        continue;
      }
      long gap = loop.now() - hold.end;
      if (gap < 0) {
        loop.violated(
            "I2",
            "chunk "
                + grant.handle()
                + " is granted to "
                + primary
                + " at version "
                + grant.version()
                + " while version "
                + hold.version
                + " is held by "
                + each.getKey()
                + " for "
                + -gap
                + " ns more");
      }
      if (hold.early) {
        earlyHandOverNanos = Math.min(earlyHandOverNanos, gap);
      } else {
        handOverNanos = Math.min(handOverNanos, gap);
      }
    }
  }

  /**
   * I1: at any instant at most one valid holder per chunk that it has not sealed. I12: none uses
   * what it gave back. I13: nor what another incarnation of it was granted, or nobody.
   */
  private void onePrimary() {
    Map<ChunkHandle, Holder> holders = new HashMap<>();
    for (Map.Entry<ServerId, ChunkServer> each : servers.entrySet()) {
      for (Heartbeat.HeldLease lease : each.getValue().validLeases()) {
        Holder holder = new Holder(each.getKey(), lease.version());
        long incarnation = incarnations.getOrDefault(each.getKey(), 0L);
        Heartbeat.LeaseName name = new Heartbeat.LeaseName(lease.chunk(), lease.version());
        Given given = new Given(each.getKey(), incarnation, name);
        if (givenBack.contains(given)) {
          loop.violated("I12", each.getKey() + " has given back " + name + " and uses it");
        }
        if (!granted.contains(given)) {
          loop.violated(
              "I13",
              each.getKey()
                  + " uses "
                  + name
                  + ", which incarnation "
                  + incarnation
                  + " never got");
        }
        Holder other = holders.get(lease.chunk());
        if (other == null || hasSealed(other.server(), lease.chunk(), other.version())) {
          holders.put(lease.chunk(), holder);
        } else if (clocksInBound && !hasSealed(each.getKey(), lease.chunk(), lease.version())) {
          loop.violated(
              "I1",
              "chunk " + lease.chunk() + " has two valid holders: " + other + " and " + holder);
        }
      }
    }
  }

  /** Whether an entry proposed since an instant has committed in a term. */
  interface CommittedSince {
    boolean holds(long instant, long term);
  }

  /** Told of each grant as it leaves a master for the first time. */
  interface Granting {
    /**
     * A grant leaves.
     *
     * @param termNanos how long this leader's term has been heard of
     */
    void leaves(ServerId leader, ServerId to, long termNanos);
  }

  void onGrant(Granting told) {
    granting = told;
  }

  /** What the masters' log says by now. */
  void newestLogIs(Supplier<ReplicatedState> newest) {
    log = newest;
  }

  /** There are several masters: each renewal needs an entry of its leader's term. */
  void renewalsNeed(CommittedSince entry) {
    committedSince = entry;
  }

  @Override
  public void renews(Heartbeat.Response response, long receivedNanos) {
    if (committedSince != null && !committedSince.holds(receivedNanos, response.term())) {
      loop.violated(
          "I14",
          response.leader()
              + " of term "
              + response.term()
              + " renews a session, and nothing has committed since the heartbeat came");
    }
  }

  @Override
  public void answered(ServerId to, long incarnation, Heartbeat.Response response) {
    boolean leads =
        response.status() == Heartbeat.Status.OK
            || response.status() == Heartbeat.Status.NEED_FULL_REPORT;
    if (leads && response.term() < highestTerm) {
      if (committedSince == null) {
        loop.violated("I3", "a master of term " + response.term() + " speaks after " + highestTerm);
      }
      // It was replaced and does not know it; what it says counts where it is believed: I1.
      response.grants().forEach(grant -> got(to, incarnation, grant));
      return;
    }
    if (leads && response.term() > highestTerm) {
      highestTerm = response.term();
      highestTermSince = loop.now();
    }
    for (LeaseGrant grant : response.grants()) {
      got(to, incarnation, grant);
      Version version = new Version(grant.handle(), grant.version());
      List<Member> members = grant.configuration().members();
      List<Member> before = chains.putIfAbsent(version, members);
      if (before == null) {
        grants++;
        ServerId primary = members.getFirst().server();
        guarded(grant, primary);
        handedOver(grant, primary);
        ServerId last = newest.put(grant.handle(), primary);
        failovers += last == null || last.equals(primary) ? 0 : 1;
        loop.note("GRANT chunk " + grant.handle() + " version " + grant.version() + " " + members);
        if (granting != null) {
          granting.leaves(response.leader(), to, loop.now() - highestTermSince);
        }
      } else if (!before.equals(members)) {
        loop.violated("I4", version + " was granted to " + before + " and to " + members);
      }
    }
  }

  private void got(ServerId to, long incarnation, LeaseGrant grant) {
    granted.add(
        new Given(to, incarnation, new Heartbeat.LeaseName(grant.handle(), grant.version())));
  }

  /** I2: each holder's end, guard included, comes before a conflicting lease leaves the master. */
  private void guarded(LeaseGrant grant, ServerId primary) {
    for (Map.Entry<ServerId, ChunkServer> each : servers.entrySet()) {
      if (!clocksInBound || each.getKey().equals(primary)) {
        continue;
      }
      for (Heartbeat.HeldLease lease : each.getValue().leasesValidAgo(guardNanos)) {
        if (lease.chunk().equals(grant.handle())
            && !hasSealed(each.getKey(), lease.chunk(), lease.version())) {
          loop.violated(
              "I2",
              "version "
                  + grant.version()
                  + " of chunk "
                  + grant.handle()
                  + " is granted to "
                  + primary
                  + " while acts of "
                  + each.getKey()
                  + " under version "
                  + lease.version()
                  + " may still go on");
        }
      }
    }
  }

  /**
   * True where this holder's own copy is sealed in the version of its lease, or a later one. That
   * seal was acknowledged: it is committed, so it is durable at every member, the holder first. By
   * the protocol (E3: a session's claim is shortened by "seal acknowledgement"; section 8: the
   * master logs the length and ends the lease in one entry) the lease is given up with it, though
   * the holder hears of that entry later. It does nothing under that lease any more, which {@link
   * #copy} and the core's own invariant watch. A holder that has not sealed itself is never left
   * out: its lease ends by the gate alone.
   */
  private boolean hasSealed(ServerId holder, ChunkHandle chunk, long version) {
    ChunkServer server = servers.get(holder);
    return server != null
        && server
            .copy(chunk)
            .map(copy -> copy.core().report())
            .filter(report -> report.state() == Heartbeat.ReplicaState.SEALED)
            .filter(report -> report.accepted() >= version)
            .isPresent();
  }

  // ---- promises ----------------------------------------------------------------------------

  @Override
  public void sent(Heartbeat.Request request) {
    Long incarnation = incarnations.put(request.server(), request.incarnation());
    if (incarnation != null && incarnation > request.incarnation()) {
      loop.violated(
          "I3", request.server() + " is " + request.incarnation() + " after " + incarnation);
    }
    Long term = terms.put(request.server(), request.highestTerm());
    if (term != null && term > request.highestTerm()) {
      loop.violated(
          "I3", request.server() + " follows term " + request.highestTerm() + " after " + term);
    }
    request.released().forEach(name -> givesBack(request, name));
    request.revocationsAcknowledged().forEach(name -> givesBack(request, name));
    for (Heartbeat.SealAnswer answer : request.sealAnswers()) {
      loop.mix(answer.lastSerial());
      loop.remember(
          () ->
              request.server()
                  + " answers the seal of chunk "
                  + answer.chunk()
                  + " version "
                  + answer.version()
                  + ": promised "
                  + answer.promised()
                  + " serial "
                  + answer.lastSerial()
                  + " "
                  + answer.certainty());
      if (answer.certainty() == Heartbeat.Certainty.DAMAGED) {
        continue; // promised or not: nobody counts on it
      }
      told(
          new CopyName(request.server(), answer.chunk(), answer.replica()),
          answer.promised(),
          answer.accepted());
    }
    request.replicasGone().forEach(chunk -> isGone(request.server(), chunk));
    for (Heartbeat.VersionStarted started : request.versionStarts()) {
      told(
          new CopyName(request.server(), started.chunk(), started.replica()),
          started.version(),
          started.version());
    }
  }

  /** Section 4: no copy is deleted that its chunk counts on. */
  private void isGone(ServerId server, ChunkHandle chunk) {
    ChunkServer running = servers.get(server);
    if (running == null || running.copy(chunk).isPresent()) {
      return; // it has got another one since
    }
    gone.computeIfAbsent(server, s -> new HashSet<>()).add(chunk);
    // Who is replaced at its own server has nothing that counts any more.
    logged(chunk)
        .flatMap(entry -> entry.active().memberAt(server).filter(m -> !entry.isReplaced(m)))
        .ifPresent(
            member ->
                loop.violated("I19", member + " is a member of " + chunk + " and is deleted"));
  }

  /** What is logged of a chunk; empty also where the newest log is not at hand. */
  private Optional<ChunkEntry> logged(ChunkHandle chunk) {
    return isNewest() ? newestLog().read(view -> view.chunk(chunk)) : Optional.empty();
  }

  private ReplicatedState newestLog() {
    return requireNonNull(log).get();
  }

  /** A master that starts again has for a moment applied less than it once had. */
  private boolean isNewest() {
    if (log == null) {
      return false;
    }
    long now = newestLog().read(StateView::lastApplied);
    mostApplied = Math.max(mostApplied, now);
    return now == mostApplied;
  }

  private boolean isPurged(ChunkHandle chunk) {
    return isNewest()
        && chunk.value() <= mostApplied
        && newestLog().read(view -> view.chunk(chunk)).isEmpty();
  }

  private void givesBack(Heartbeat.Request request, Heartbeat.LeaseName name) {
    givenBack.add(new Given(request.server(), request.incarnation(), name));
    Hold hold = holds.getOrDefault(request.server(), Map.of()).get(name.chunk());
    if (hold != null && hold.version <= name.version()) {
      hold.stop(loop.now());
    }
  }

  private void told(CopyName copy, long promised, long accepted) {
    Promise promise = promises.computeIfAbsent(copy, c -> new Promise());
    promise.promised = Math.max(promise.promised, promised);
    promise.accepted = Math.max(promise.accepted, accepted);
  }

  /** A chunkserver's copies have done something: those that have are looked at. */
  void coresStepped(ServerId id) {
    ChunkServer server = servers.get(id);
    if (server != null) {
      server.eachCore(
          core -> {
            Seen before = seen.get(core);
            if (before == null || before.steps() != core.steps()) {
              if (before == null) {
                isNew(id, core);
              }
              Seen now = look(core.steps(), copy(id, core));
              if (before != null && before.turnedTo(now)) {
                turned = id;
              }
              seen.put(core, now);
            }
          });
    }
  }

  private static Seen look(long steps, Heartbeat.ReplicaReport report) {
    return new Seen(
        steps, report.promised(), report.accepted(), report.lastSerial(), report.state());
  }

  /** The server whose copies have turned last, once. */
  Optional<ServerId> turned() {
    Optional<ServerId> last = Optional.ofNullable(turned);
    turned = null;
    return last;
  }

  /** Section 8: never a handle that this incarnation has deleted. */
  private void isNew(ServerId id, ReplicaCore core) {
    ChunkHandle chunk = core.report().spec().handle();
    boolean born = core.self().replica().value() == chunk.value();
    if (born && gone.getOrDefault(id, Set.of()).contains(chunk)) {
      loop.violated("I3", id + " bears chunk " + chunk + " again, which it has deleted");
    }
  }

  private void copies() {
    servers.forEach((id, server) -> server.eachCore(core -> copy(id, core)));
  }

  /**
   * I3, I7: no copy takes back what it has told; and what each core says of itself. I2: who has
   * sealed leads no more, for his lease may have ended with the seal.
   */
  private Heartbeat.ReplicaReport copy(ServerId id, ReplicaCore core) {
    Heartbeat.ReplicaReport report = core.report();
    if (report.state() == Heartbeat.ReplicaState.DAMAGED) {
      return report;
    }
    CopyName name = new CopyName(id, report.spec().handle(), report.replica());
    Promise promise = promises.get(name);
    if (promise != null && report.promised() < promise.promised) {
      loop.violated(
          "I3", name + " promised " + promise.promised + " and has now " + report.promised());
    }
    if (report.state() == Heartbeat.ReplicaState.SEALED
        && core.leads(requireNonNull(hosts.get(id)).nanos())) {
      loop.violated("I2", name + " has sealed and leads all the same");
    }
    try {
      core.invariant();
    } catch (IllegalStateException e) {
      loop.violated("CORE", id + ": " + e.getMessage());
    }
    return report;
  }

  // ---- acknowledgements --------------------------------------------------------------------

  /**
   * Section 8: a chunk is sealed before it is dropped. What had come before may be told to be done
   * later, for the seal counts it.
   */
  @Override
  public void arrives(Frame frame) {
    Asked asked = new Asked(frame.chunk(), frame.session().value(), frame.sequence());
    if (arrived.add(asked) && isPurged(frame.chunk())) {
      late.add(asked);
    }
  }

  @Override
  public void acknowledges(ServerId server, NamedAnswer answer) {
    if (!(answer.answer() instanceof FrameAnswer.Applied applied)) {
      return;
    }
    FrameAnswer.Applied before =
        places.putIfAbsent(new Asked(answer.chunk(), answer.session(), answer.sequence()), applied);
    if (before != null
        && (before.offset() != applied.offset()
            || before.version() != applied.version()
            || before.serial() != applied.serial())) {
      loop.violated(
          "I9", server + " answers " + applied + " to what was answered " + before + ": " + answer);
    }
    if (late.contains(new Asked(answer.chunk(), answer.session(), answer.sequence()))) {
      loop.violated(
          "I6", server + " acknowledges " + answer + ", which came when its chunk was dropped");
    }
    // What was recovered into a later version is acknowledged by the members of that.
    long at = acceptedAt(server, answer.chunk());
    Version version = new Version(answer.chunk(), at);
    List<Member> chain = chains.get(version);
    if (chain == null) {
      return;
    }
    // Who holds a version's start may tell of what it has recovered into it and knows to be
    // committed, even where the version went on without it. A copy of a sealed chunk that was made
    // later becomes a member without a new version (section 4); and one that is a member no more,
    // and has not been told, has all that was sealed.
    if (applied.version() == at
        && !holdsWhatIsSealed(server, answer.chunk())
        && chain.stream()
            .noneMatch(
                member ->
                    report(member, answer.chunk()) != null && member.server().equals(server))) {
      loop.violated(
          "I11",
          server + " acknowledges " + applied + " in " + version + ", which it is no member of");
    }
    long promised =
        chain.stream()
            .filter(member -> member.server().equals(server))
            .map(member -> report(member, answer.chunk()))
            .mapToLong(own -> own == null ? 0 : own.promised())
            .max()
            .orElse(0);
    // What an earlier version has ordered is committed with the start of this one, and stays so.
    // Nor is anything wrong with an answer that was decided before the promise and leaves after it:
    // one thread sends a stream's answers, also those of other chunks, and may be stopped
    // meanwhile.
    // All members had the mutation when it was decided, each before its own promise, so the next
    // version has it; to the client it is as if the answer had been long on its way.
    boolean decidedEarlier = loop.hasBeenStopped();
    // A copy that has sealed tells what it knows to whoever asks late (I7: sealed bytes apart): the
    // seal is committed and all before it, so every later version has it.
    boolean sealed =
        chain.stream()
            .filter(member -> member.server().equals(server))
            .map(member -> report(member, answer.chunk()))
            .anyMatch(own -> own != null && own.state() == Heartbeat.ReplicaState.SEALED);
    if (before == null && applied.version() == at && promised > at && !decidedEarlier && !sealed) {
      loop.violated(
          "I7",
          server + " acknowledges " + applied + " in " + version + " and has promised " + promised);
    }
    if (chain.size() < minReplicas) {
      loop.violated("I18", server + " acknowledges " + applied + " with no more than " + chain);
    }
    for (Member member : chain) {
      Heartbeat.ReplicaReport report = report(member, answer.chunk());
      if (report != null
          && !forgetful.contains(member.server())
          && report.state() != Heartbeat.ReplicaState.DAMAGED
          && report.accepted() == at
          && report.lastSerial() < applied.serial()) {
        loop.violated(
            "I6",
            server
                + " acknowledges "
                + applied
                + " of chunk "
                + answer.chunk()
                + " in version "
                + at
                + ", and "
                + member
                + " holds no more than "
                + report.lastSerial());
      }
      if (report != null && report.accepted() == at && report.lastSerial() >= applied.serial()) {
        acknowledged.merge(
            new CopyName(member.server(), answer.chunk(), member.replica()),
            applied.serial(),
            Math::max);
      }
    }
    if (primaries.putIfAbsent(version, chain.getFirst().server()) == null) {
      loop.note("FIRST ACKNOWLEDGEMENT chunk " + answer.chunk() + " version " + at);
    }
  }

  private boolean holdsWhatIsSealed(ServerId server, ChunkHandle chunk) {
    ChunkServer holder = servers.get(server);
    return holder != null
        && logged(chunk)
            .filter(ChunkEntry::isSealed)
            .flatMap(entry -> holder.copy(chunk).filter(copy -> hasSeal(copy, entry)))
            .isPresent();
  }

  private static boolean hasSeal(ChunkServer.Copy copy, ChunkEntry entry) {
    Heartbeat.ReplicaReport report = copy.core().report();
    return report.state() == Heartbeat.ReplicaState.SEALED && report.seal().equals(entry.seal());
  }

  private long acceptedAt(ServerId id, ChunkHandle chunk) {
    ChunkServer server = servers.get(id);
    return server == null
        ? 0
        : server.copy(chunk).map(copy -> copy.core().report().accepted()).orElse(0L);
  }

  private Heartbeat.@Nullable ReplicaReport report(Member member, ChunkHandle chunk) {
    ChunkServer server = servers.get(member.server());
    if (server == null) {
      return null;
    }
    ChunkServer.Copy copy = server.copy(chunk).orElse(null);
    return copy != null && copy.core().self().equals(member) ? copy.core().report() : null;
  }

  /** How many versions have acknowledged something: one more than the failovers, per chunk. */
  long tenures() {
    return primaries.size();
  }

  // ---- at rest -----------------------------------------------------------------------------

  /**
   * A copy that its chunk does not count, or the log has no such chunk; null where there is none.
   */
  @Nullable String ownerless() {
    for (Map.Entry<ServerId, ChunkServer> each : servers.entrySet()) {
      for (ChunkServer.Copy copy : each.getValue().copies()) {
        Heartbeat.ReplicaReport report = copy.core().report();
        Optional<ChunkEntry> entry = logged(report.spec().handle());
        boolean owned =
            entry.isPresent()
                && (!areAllActive(entry.get())
                    || entry.get().learner(each.getKey(), report.replica()).isPresent()
                    || entry
                        .get()
                        .active()
                        .memberAt(each.getKey())
                        .filter(member -> member.replica().equals(report.replica()))
                        .isPresent());
        if (!owned) {
          return each.getKey() + " has a copy that nobody counts: " + report + ", chunk " + entry;
        }
      }
    }
    return null;
  }

  /**
   * A copy that is no member's is deleted only while enough members are known to be good. Of a
   * sealed chunk one may not be, for long: it had started a reopening that was given up.
   */
  private boolean areAllActive(ChunkEntry entry) {
    return entry.active().members().stream()
        .map(member -> report(member, entry.handle()))
        .allMatch(report -> report != null && report.accepted() == entry.active().version());
  }

  /** Whether a member of the chunk runs that is neither damaged nor uncertain. */
  boolean hasGoodMember(ChunkEntry entry) {
    return entry.active().members().stream()
        .map(member -> copy(member, entry.handle()))
        .anyMatch(copy -> copy != null && copy.core().certainty() == Heartbeat.Certainty.CERTAIN);
  }

  /** I10: what is different between the members of a chunk; empty where nothing is. */
  @Nullable String difference(ChunkHandle chunk, List<Member> members) {
    Snapshot first = null;
    Integer content = null;
    Member by = null;
    for (Member member : members) {
      ChunkServer.Copy copy = copy(member, chunk);
      if (copy == null) {
        return "chunk " + chunk + " is not at " + member;
      }
      Snapshot snapshot = copy.core().snapshot();
      int checksum = copy.stored().checksum();
      if (first == null || content == null) {
        first = snapshot;
        content = checksum;
        by = member;
      } else if (!first.equals(snapshot)) {
        return "chunk " + chunk + ": " + by + " has " + first + ", " + member + " has " + snapshot;
      } else if (content != checksum) {
        return "chunk " + chunk + ": content differs between " + by + " and " + member;
      }
    }
    return null;
  }

  /** A member whose content does not match its own checksums; empty where all do. */
  @Nullable String damage(ChunkHandle chunk, List<Member> members) {
    for (Member member : members) {
      ChunkServer.Copy copy = copy(member, chunk);
      try {
        if (copy != null && !copy.stored().badBlocks(0, Long.MAX_VALUE).isEmpty()) {
          return "chunk " + chunk + " is damaged at " + member + " and nobody has noticed";
        }
      } catch (IOException e) {
        return "chunk " + chunk + " cannot be read at " + member + ": " + e.getMessage();
      }
    }
    return null;
  }

  private ChunkServer.@Nullable Copy copy(Member member, ChunkHandle chunk) {
    ChunkServer server = servers.get(member.server());
    if (server == null) {
      return null;
    }
    return server
        .copy(chunk)
        .filter(copy -> copy.core().self().replica().equals(member.replica()))
        .orElse(null);
  }

  /** I4: versions start at the same serial in every history. */
  private void histories() {
    Map<Version, Long> starts = new LinkedHashMap<>();
    for (Map.Entry<ServerId, ChunkServer> each : servers.entrySet()) {
      for (ChunkServer.Copy copy : each.getValue().copies()) {
        for (VersionStart start : copy.core().snapshot().history()) {
          Version version = new Version(copy.stored().handle(), start.version());
          Long other = starts.putIfAbsent(version, start.firstSerial());
          if (other != null && other != start.firstSerial()) {
            loop.violated(
                "I4",
                version
                    + " starts at "
                    + other
                    + " and, at "
                    + each.getKey()
                    + ", at "
                    + start.firstSerial());
          }
        }
      }
    }
  }
}
