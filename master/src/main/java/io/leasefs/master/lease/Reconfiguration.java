package io.leasefs.master.lease;

import io.leasefs.common.api.Heartbeat.Certainty;
import io.leasefs.common.api.Heartbeat.Command;
import io.leasefs.common.api.Heartbeat.MemberFailure;
import io.leasefs.common.api.Heartbeat.RecoverCommand;
import io.leasefs.common.api.Heartbeat.SealAnswer;
import io.leasefs.common.api.Heartbeat.SealCommand;
import io.leasefs.common.api.Heartbeat.Target;
import io.leasefs.common.api.Heartbeat.VersionStarted;
import io.leasefs.common.model.ChunkSeal;
import io.leasefs.common.model.Configuration;
import io.leasefs.common.model.Member;
import io.leasefs.common.model.ReplicaId;
import io.leasefs.common.model.ServerAddress;
import io.leasefs.common.model.ServerId;
import io.leasefs.common.model.SessionId;
import io.leasefs.master.log.Operation;
import io.leasefs.master.log.Operation.Activate;
import io.leasefs.master.log.Operation.BeginChange;
import io.leasefs.master.log.Operation.ChangeReason;
import io.leasefs.master.log.Operation.LeaseId;
import io.leasefs.master.log.Operation.Participant;
import io.leasefs.master.log.Operation.RecoverChange;
import io.leasefs.master.log.Operation.RevokeLease;
import io.leasefs.master.log.Operation.SealChunk;
import io.leasefs.master.log.Operation.Seed;
import io.leasefs.master.state.ChunkEntry;
import io.leasefs.master.state.ChunkEntry.Learner;
import io.leasefs.master.state.ChunkEntry.Pending;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import org.jspecify.annotations.Nullable;

/**
 * One version of one chunk on its way from Begin to Activate (protocol, section 4).
 *
 * <h2>How it works</h2>
 *
 * What the log says of the change is an argument; what this class remembers is only what replicas
 * answered to the leader of now. {@link #plan} is asked after every event and at the time that it
 * names; it says which commands the servers should have by now (whoever sends them repeats them),
 * and what to propose next. So a lost message, a lost answer and a new leader are nothing special.
 *
 * <h2>Whom it waits for</h2>
 *
 * For no member against which there is evidence, and for the others at most {@link #PATIENCE_NANOS}
 * after the first usable answer: any one certain member has all that was acknowledged, because an
 * acknowledgement took them all. For the same reason any of them may seed: a seed that reaches
 * nobody, though the others are heard here, is passed over in the next version, even where it has
 * accepted more: that was never active. Without any certain member it waits for every member of the
 * active configuration, and never starts below what anyone knows to be committed.
 *
 * <h2>Who needs a copy</h2>
 *
 * A member that lost records which the seed's journal has no more (they are in the seed's content)
 * cannot be brought to the seed's history record by record. That is nobody's fault: neither is the
 * seed passed over for it, nor is the member waited for. It does not count for a version with that
 * seed, nor for the next ones ({@link #needsCopy}); where too few are left, the change waits,
 * sealed and with no seed named, until repair has made a copy that can take part ({@link
 * #loneSeed}).
 *
 * <p>Times are nanoseconds of the master's clock. Pure; the control loop is its only user.
 */
public final class Reconfiguration {
  /** How long the others are waited for, once it could go on without them. */
  public static final long PATIENCE_NANOS = 100_000_000;

  /**
   * The same for a change that is made for a joining copy: without it there would be no point, and
   * it has up to 4 MiB to take over and to make durable.
   */
  public static final long JOIN_PATIENCE_NANOS = 2_000_000_000;

  private static final long STALLED_NANOS = 5_000_000_000L;

  /**
   * A seed that has reached nobody for so long, while all are heard here, may be the one cut off.
   */
  private static final long ALONE_NANOS = 2_000_000_000L;

  /** What the master knows of servers now. */
  public interface Servers {
    /** The session of the incarnation that is registered and not ended. */
    Optional<SessionId> session(ServerId server);

    /** The registered incarnation; empty where its session has ended. */
    Optional<Long> incarnation(ServerId server);

    /** There is evidence that it is not there: silent, stream reset, session ended. */
    boolean suspect(ServerId server);

    /** It is to get no leases. */
    boolean draining(ServerId server);

    /** How many chunk leases it holds. */
    int leases(ServerId server);

    /** Where peers reach it. */
    ServerAddress address(ServerId server);
  }

  /**
   * The chunk's settings that the change needs.
   *
   * @param minReplicas fewest members of a configuration
   * @param goal members of a configuration, where there are as many; never more
   * @param fenceFloor smallest token that frames of the file may carry
   * @param caughtUp learners that may join
   */
  public record Settings(int minReplicas, int goal, long fenceFloor, Set<ReplicaId> caughtUp) {}

  /**
   * What is to be done now.
   *
   * @param proposal the next entry, where its time has come
   * @param commands what each server should have been told by now
   * @param waiting what is waited for, and until when
   */
  public record Plan(
      Optional<Operation> proposal, Map<ServerId, Command> commands, Optional<Waiting> waiting) {}

  /**
   * One clear sentence for people; the instant is when it is looked at again at the latest.
   *
   * @param untilNanos {@link Long#MAX_VALUE} where only an event helps
   */
  public record Waiting(String what, Optional<ServerId> whom, long untilNanos) {}

  private record Answered(ServerId server, SealAnswer answer, long incarnation) {}

  private record Started(VersionStarted start, long incarnation) {}

  private record Copy(ServerId server, ReplicaId replica) {
    static Copy of(Member member) {
      return new Copy(member.server(), member.replica());
    }
  }

  /** A seed whose journal begins after this serial, which is the last one of a copy. */
  private record Gap(ServerId seed, long lastSerial) {}

  private final long version;
  private final long begunNanos;
  private final Map<ServerId, Answered> answers = new TreeMap<>();
  private final Map<ServerId, Started> starts = new TreeMap<>();
  private final Set<ServerId> blamed = new TreeSet<>();

  /** Copies that a seed's journal does not reach; they carry over to the next version. */
  private final Map<Copy, Gap> gaps = new LinkedHashMap<>();

  /** Targets that this version's seed said it could not bring to its history. */
  private final Set<ServerId> refused = new TreeSet<>();

  /** Who seeds, or would, as of the last plan. */
  private @Nullable ServerId leading;

  private @Nullable ServerId loneSeed;
  private @Nullable Long usableSince;
  private @Nullable Long enoughSince;
  private @Nullable Long recoveringSince;

  /**
   * @param version of the pending change
   * @param blamed members against which there is evidence from elsewhere
   */
  public Reconfiguration(long version, Set<ServerId> blamed, long now) {
    this.version = version;
    this.begunNanos = now;
    this.blamed.addAll(blamed);
  }

  /** The change goes on in another version: what is known of its members stays known. */
  public Reconfiguration(long version, Reconfiguration before, long now) {
    this(version, before.blamed, now);
    gaps.putAll(before.gaps);
  }

  public long version() {
    return version;
  }

  /** When this leader took the change up. */
  public long begunNanos() {
    return begunNanos;
  }

  /** Members that are not waited for. */
  public Set<ServerId> blamed() {
    return Set.copyOf(blamed);
  }

  /** Somebody could not reach this member. */
  public void blame(ServerId server) {
    blamed.add(server);
  }

  /** A replica has promised; false where the answer is of another version. */
  public boolean sealed(ServerId server, long incarnation, SealAnswer answer) {
    if (answer.version() != version || answer.promised() > version) {
      return false;
    }
    answers.put(server, new Answered(server, answer, incarnation));
    Copy copy = new Copy(server, answer.replica());
    Gap gap = gaps.get(copy);
    if (gap != null && answer.lastSerial() > gap.lastSerial()) {
      gaps.remove(copy); // it has taken records since: perhaps it can take the rest
    }
    return true;
  }

  /**
   * A replica that had answered that it is damaged says that it is not any more: its disk had no
   * room, and has. What it answered is void, and it is asked again; false where it had not.
   */
  public boolean mended(ServerId server, ReplicaId replica) {
    Answered answered = answers.get(server);
    boolean news =
        answered != null
            && answered.answer.replica().equals(replica)
            && answered.answer.certainty() == Certainty.DAMAGED;
    if (news) {
      answers.remove(server);
    }
    return news;
  }

  /** The seed of this version cannot bring this target to its history. */
  public void targetFailed(ServerId seed, Member target, MemberFailure failure) {
    switch (failure) {
      case UNREACHABLE -> refused.add(target.server());
      case NEEDS_COPY -> {
        Answered answered = answers.get(target.server());
        long last = answered == null ? -1 : answered.answer.lastSerial();
        gaps.put(Copy.of(target), new Gap(seed, last));
      }
    }
  }

  /**
   * True where a seed has said that records alone do not bring this copy to its history. It falls
   * away when the copy has taken more records, and does not count while another seed leads.
   */
  public boolean needsCopy(Member member) {
    Gap gap = gaps.get(Copy.of(member));
    return gap != null && (leading == null || leading.equals(gap.seed()));
  }

  private boolean canFollow(Member member, ServerId seed) {
    Gap gap = gaps.get(Copy.of(member));
    return gap == null || !gap.seed().equals(seed);
  }

  /**
   * The member with which this change would go on, if only there were enough others: it is certain,
   * and has promised this version, so it has all that was ever acknowledged. As of the last plan;
   * empty where nothing is lacking, or a seed is named, or no certain member is known.
   */
  public Optional<ServerId> loneSeed() {
    return Optional.ofNullable(loneSeed);
  }

  /** A replica has the version start on disk; false where it is of another version. */
  public boolean started(ServerId server, long incarnation, VersionStarted start) {
    if (start.version() != version) {
      return false;
    }
    starts.put(server, new Started(start, incarnation));
    return true;
  }

  /** What a member has promised at most, by its answers here. */
  public Optional<SealAnswer> answerOf(ServerId server) {
    return Optional.ofNullable(answers.get(server)).map(Answered::answer);
  }

  /** What to do now; {@code chunk} has this version pending. */
  public Plan plan(ChunkEntry chunk, Servers servers, Settings settings, long now) {
    Pending pending = chunk.pending().orElseThrow();
    loneSeed = null;
    leading = pending.seed().map(Seed::server).orElse(null);
    return pending.seed().isEmpty()
        ? sealing(chunk, pending, servers, settings, now)
        : pending.step() == ChunkEntry.Step.BEGUN
            ? seedNamedByBegin(chunk, pending, servers, settings, now)
            : recovering(chunk, pending, servers, settings, now);
  }

  // ------------------------------------------------------------------ seal

  private Plan sealing(
      ChunkEntry chunk, Pending pending, Servers servers, Settings settings, long now) {
    Map<ServerId, Command> commands = sealCommands(chunk, servers);
    List<Answered> certain = new ArrayList<>();
    List<Answered> uncertain = new ArrayList<>();
    List<ServerId> silent = new ArrayList<>();
    List<ServerId> awaited = new ArrayList<>();
    long committed = 0;
    for (Member member : chunk.active().members()) {
      if (chunk.isReplaced(member)) {
        continue; // it has answered that it has nothing that counts
      }
      Answered answered = answerIn(member, servers);
      if (answered == null) {
        silent.add(member.server());
        if (!servers.suspect(member.server()) && !blamed.contains(member.server())) {
          awaited.add(member.server());
        }
        continue;
      }
      committed = Math.max(committed, answered.answer.committedSerial());
      switch (answered.answer.certainty()) {
        case CERTAIN -> certain.add(answered);
        case UNCERTAIN -> uncertain.add(answered);
        case DAMAGED, UNKNOWN_CHUNK -> {
          // never counts as empty, and never seeds
        }
      }
    }
    boolean useUncertain = certain.isEmpty() && silent.isEmpty();
    if (!useUncertain) {
      // What the log has as the chunk's end, or its version's start, all members have stored. Who
      // says that he is certain and has less has lost it unawares.
      committed = Math.max(committed, chunk.committedSerial());
    }
    List<Answered> usable = new ArrayList<>();
    for (Answered candidate : useUncertain ? uncertain : certain) {
      if (candidate.answer.lastSerial() >= committed) {
        usable.add(candidate);
      }
    }
    if (usable.isEmpty()) {
      return waiting(commands, noUsableSeed(certain, uncertain, silent, committed));
    }
    if (usableSince == null) {
      usableSince = now;
    }
    Answered best = best(usable, useUncertain);
    leading = best.server;
    awaited.addAll(awaitedLearners(chunk, servers, settings));
    List<Participant> able = ableToJoin(chunk, best.server, servers, settings);
    if (able.size() < settings.minReplicas()) {
      boolean hasAll = !useUncertain && best.answer.accepted() >= chunk.active().version();
      loneSeed = hasAll ? best.server : null;
      return waiting(
          commands,
          new Waiting(
              "only "
                  + able.size()
                  + " of at least "
                  + settings.minReplicas()
                  + " copies can be reached; a copy is being made or awaited",
              first(silent),
              Long.MAX_VALUE));
    }
    long until = usableSince + patience(pending);
    if (!awaited.isEmpty() && now < until) {
      return waiting(
          commands,
          new Waiting("answers to the seal of version " + version, first(awaited), until));
    }
    return proposal(
        commands,
        recover(chunk, new Seed(best.server, best.incarnation), able, pending, servers, settings));
  }

  private Answered best(List<Answered> usable, boolean uncertain) {
    Answered best = usable.get(0);
    for (Answered candidate : usable) {
      boolean worse = !uncertain && isWorse(candidate, best);
      boolean better = !uncertain && isWorse(best, candidate);
      if (better || (!worse && isAhead(candidate.answer, best.answer))) {
        best = candidate;
      }
    }
    return best;
  }

  private static Waiting noUsableSeed(
      List<Answered> certain, List<Answered> uncertain, List<ServerId> silent, long committed) {
    String what;
    if (!certain.isEmpty()) {
      what = "a copy that holds everything committed (serial " + committed + ")";
    } else if (!uncertain.isEmpty()) {
      what =
          silent.isEmpty()
              ? "a copy that holds everything committed (serial " + committed + ")"
              : "every member to answer: the copies reached so far went through a power cut and may"
                  + " lack acknowledged bytes";
    } else {
      what = "an undamaged member to answer";
    }
    return new Waiting(what, first(silent), Long.MAX_VALUE);
  }

  /** There is evidence against this one, and none against the other. */
  private boolean isWorse(Answered one, Answered other) {
    return blamed.contains(one.server) && !blamed.contains(other.server);
  }

  private static boolean isAhead(SealAnswer one, SealAnswer other) {
    return one.accepted() != other.accepted()
        ? one.accepted() > other.accepted()
        : one.lastSerial() > other.lastSerial();
  }

  /** The seed and as many others as the goal asks for: who is being emptied goes first. */
  private static RecoverChange recover(
      ChunkEntry chunk,
      Seed seed,
      List<Participant> able,
      Pending pending,
      Servers servers,
      Settings settings) {
    List<Participant> targets = new ArrayList<>();
    List<Participant> draining = new ArrayList<>();
    for (Participant participant : able) {
      ServerId server = participant.member().server();
      if (!server.equals(seed.server())) {
        (servers.draining(server) ? draining : targets).add(participant);
      }
    }
    targets.addAll(draining);
    int most = Math.max(settings.goal(), settings.minReplicas()) - 1;
    return new RecoverChange(
        chunk.handle(),
        pending.version(),
        seed,
        List.copyOf(targets.subList(0, Math.min(most, targets.size()))));
  }

  private Plan seedNamedByBegin(
      ChunkEntry chunk, Pending pending, Servers servers, Settings settings, long now) {
    Seed seed = pending.seed().orElseThrow();
    if (lostSeed(chunk, seed, servers)) {
      return proposal(Map.of(), again(chunk, pending));
    }
    Map<ServerId, Command> commands = sealCommands(chunk, servers);
    List<Participant> able = ableToJoin(chunk, seed.server(), servers, settings);
    boolean seedSealed =
        able.stream().anyMatch(participant -> participant.member().server().equals(seed.server()));
    List<ServerId> awaited = new ArrayList<>();
    for (Member member : chunk.active().members()) {
      ServerId server = member.server();
      if (answerIn(member, servers) == null
          && !chunk.isReplaced(member)
          && !servers.suspect(server)
          && !blamed.contains(server)) {
        awaited.add(server);
      }
    }
    awaited.addAll(awaitedLearners(chunk, servers, settings));
    if (seedSealed && usableSince == null) {
      usableSince = now;
    }
    long until = usableSince == null ? Long.MAX_VALUE : usableSince + patience(pending);
    if (!seedSealed
        || able.size() < settings.minReplicas()
        || (!awaited.isEmpty() && now < until)) {
      return waiting(
          commands,
          new Waiting("answers to the seal of version " + version, first(awaited), until));
    }
    return proposal(commands, recover(chunk, seed, able, pending, servers, settings));
  }

  private static long patience(Pending pending) {
    return pending.reason() == ChangeReason.MEMBER_JOINS ? JOIN_PATIENCE_NANOS : PATIENCE_NANOS;
  }

  /** Members and learners that have promised this version and can take the seed's history. */
  private List<Participant> ableToJoin(
      ChunkEntry chunk, ServerId seed, Servers servers, Settings settings) {
    List<Participant> able = new ArrayList<>();
    for (Member member : chunk.active().members()) {
      Answered answered = answerIn(member, servers);
      if (answered != null
          && canFollow(member, seed)
          && (answered.answer.certainty() == Certainty.CERTAIN
              || answered.answer.certainty() == Certainty.UNCERTAIN)) {
        able.add(new Participant(member, answered.incarnation));
      }
    }
    for (Learner learner : chunk.learners()) {
      Answered answered = answerIn(learner.member(), servers);
      if (answered != null
          && canFollow(learner.member(), seed)
          && settings.caughtUp().contains(learner.member().replica())
          && answered.answer.certainty() != Certainty.DAMAGED
          && answered.answer.certainty() != Certainty.UNKNOWN_CHUNK) {
        able.add(new Participant(learner.member(), answered.incarnation));
      }
    }
    return able;
  }

  /** Caught-up learners that have not promised yet; they are waited for like members. */
  private List<ServerId> awaitedLearners(ChunkEntry chunk, Servers servers, Settings settings) {
    List<ServerId> awaited = new ArrayList<>();
    for (Learner learner : chunk.learners()) {
      ServerId server = learner.member().server();
      if (settings.caughtUp().contains(learner.member().replica())
          && answerIn(learner.member(), servers) == null
          && !servers.suspect(server)
          && !blamed.contains(server)) {
        awaited.add(server);
      }
    }
    return awaited;
  }

  /** Everyone is told until the version starts: a member that comes late may still be needed. */
  private Map<ServerId, Command> sealCommands(ChunkEntry chunk, Servers servers) {
    Map<ServerId, Command> commands = new LinkedHashMap<>();
    for (Member member : chunk.active().members()) {
      if (chunk.isReplaced(member)) {
        continue;
      }
      Optional<Configuration> birth =
          chunk.mayBeBorn(member) ? Optional.of(chunk.active()) : Optional.empty();
      // A disk may have had no room for a birth: then it is asked again, until there is some.
      if (answerIn(member, servers) == null || (birth.isPresent() && hasNothing(member, servers))) {
        commands.put(member.server(), new SealCommand(chunk.spec(), member, version, birth));
      }
    }
    for (Learner learner : chunk.learners()) {
      // A seal may come before the copy: then it is asked again, until there is one.
      if (answerIn(learner.member(), servers) == null || hasNothing(learner.member(), servers)) {
        commands.put(
            learner.member().server(),
            new SealCommand(chunk.spec(), learner.member(), version, Optional.empty()));
      }
    }
    return commands;
  }

  // ------------------------------------------------------------------ recover and activate

  private Plan recovering(
      ChunkEntry chunk, Pending pending, Servers servers, Settings settings, long now) {
    if (recoveringSince == null) {
      recoveringSince = now;
    }
    Seed seed = pending.seed().orElseThrow();
    if (lostSeed(chunk, seed, servers)) {
      return proposal(Map.of(), again(chunk, pending));
    }
    List<Participant> all = new ArrayList<>();
    memberAt(chunk, seed.server())
        .ifPresent(member -> all.add(new Participant(member, seed.incarnation())));
    all.addAll(pending.targets());
    List<Participant> started = new ArrayList<>();
    List<ServerId> awaited = new ArrayList<>();
    int possible = 0;
    List<Target> targets = new ArrayList<>();
    for (Participant participant : all) {
      ServerId server = participant.member().server();
      boolean same = servers.incarnation(server).equals(Optional.of(participant.incarnation()));
      if (same && hasStarted(participant)) {
        started.add(participant);
        possible++;
      } else if (!canFollow(participant.member(), seed.server())) {
        continue; // not in this version
      } else if (same && !servers.suspect(server)) {
        awaited.add(server);
        possible++;
      }
      if (same && !server.equals(seed.server())) {
        targets.add(new Target(participant.member(), servers.address(server)));
      }
    }
    Map<ServerId, Command> commands = new LinkedHashMap<>();
    if (!awaited.isEmpty()) {
      commands.put(
          seed.server(),
          new RecoverCommand(
              chunk.spec(),
              version,
              targets,
              pending.seal(),
              pending.reason() == ChangeReason.REOPEN,
              settings.fenceFloor()));
    }
    if (possible < settings.minReplicas()) {
      return proposal(Map.of(), again(chunk, pending));
    }
    if (started.size() < settings.minReplicas()) {
      boolean passedOver = reachesNobody(chunk, seed, started, awaited);
      long limit = recoveringSince + (passedOver ? ALONE_NANOS : STALLED_NANOS);
      if (now >= limit) {
        if (passedOver) {
          blamed.clear(); // who blamed the others was cut off from them
          blamed.add(seed.server());
        } else {
          blamed.addAll(awaited);
        }
        return proposal(Map.of(), again(chunk, pending));
      }
      return waiting(
          commands,
          new Waiting(
              "copies to take over the history of " + seed.server(), first(awaited), limit));
    }
    if (enoughSince == null) {
      enoughSince = now;
    }
    awaited.removeAll(refused); // asked again, but not waited for
    if (!awaited.isEmpty() && now < enoughSince + patience(pending)) {
      return waiting(
          commands,
          new Waiting(
              "copies to take over the history of " + seed.server(),
              first(awaited),
              enoughSince + patience(pending)));
    }
    return finish(chunk, pending, started, commands, servers, settings);
  }

  /** True where another member, which is heard and not blamed, could seed instead. */
  private boolean reachesNobody(
      ChunkEntry chunk, Seed seed, List<Participant> started, List<ServerId> awaited) {
    boolean alone = started.stream().allMatch(one -> one.member().server().equals(seed.server()));
    return alone
        && !blamed.contains(seed.server())
        && chunk.active().members().stream()
            .map(Member::server)
            .anyMatch(
                member ->
                    !member.equals(seed.server())
                        && awaited.contains(member)
                        && !blamed.contains(member));
  }

  private Plan finish(
      ChunkEntry chunk,
      Pending pending,
      List<Participant> started,
      Map<ServerId, Command> commands,
      Servers servers,
      Settings settings) {
    VersionStarted start = startOf(started.get(0));
    for (Participant participant : started) {
      if (startOf(participant).firstSerial() != start.firstSerial()) {
        // one seed, one incarnation: cannot be, and must not be activated if it is
        throw new IllegalStateException(
            "version starts differ chunk=" + chunk.handle() + " " + start + " " + participant);
      }
    }
    if (start.seal().isPresent() && pending.reason() != ChangeReason.REOPEN) {
      return seal(chunk, start, start.seal().get(), started, commands, settings);
    }
    Optional<Participant> primary = choosePrimary(chunk, pending, started, servers);
    if (primary.isEmpty()) {
      return waiting(
          commands,
          new Waiting("a member that may become primary", Optional.empty(), Long.MAX_VALUE));
    }
    ServerId chosen = primary.get().member().server();
    SessionId session = servers.session(chosen).orElseThrow();
    if (!gateIsOpenFor(chunk, session)) {
      return openGate(chunk, commands);
    }
    List<Participant> members = new ArrayList<>();
    members.add(primary.get());
    for (Participant participant : started) {
      if (!participant.equals(primary.get())) {
        members.add(participant);
      }
    }
    return proposal(
        commands,
        new Activate(
            chunk.handle(),
            version,
            session,
            members,
            start.firstSerial(),
            settings.minReplicas()));
  }

  private Plan seal(
      ChunkEntry chunk,
      VersionStarted start,
      ChunkSeal seal,
      List<Participant> started,
      Map<ServerId, Command> commands,
      Settings settings) {
    boolean overwrites = false;
    for (Answered answered : answers.values()) {
      overwrites |= answered.answer.overwritesAboveCommitted();
    }
    // a leader that has heard no answers itself cannot know: it waits for the gate too
    if ((overwrites || answers.isEmpty()) && chunk.lease().isPresent()) {
      return openGate(chunk, commands);
    }
    return proposal(
        commands,
        new SealChunk(
            chunk.handle(),
            version,
            seal,
            started,
            start.firstSerial(),
            settings.minReplicas(),
            0));
  }

  /**
   * The holder is not to go on. Where that was not known when the change began (a primary that is
   * alive, but answered too late to take part), its lease is not revoked yet: without that it would
   * be renewed for ever.
   */
  private static Plan openGate(ChunkEntry chunk, Map<ServerId, Command> commands) {
    ChunkEntry.Lease lease = chunk.lease().orElseThrow();
    return lease.revoked()
        ? waiting(commands, gate(chunk))
        : proposal(
            commands,
            new RevokeLease(new LeaseId(chunk.handle(), lease.version(), lease.session())));
  }

  /** True where the chunk's record has no lease that forbids this session's. */
  private static boolean gateIsOpenFor(ChunkEntry chunk, SessionId session) {
    return chunk.lease().isEmpty()
        || (chunk.lease().get().session().equals(session) && !chunk.lease().get().revoked());
  }

  private static Waiting gate(ChunkEntry chunk) {
    return new Waiting(
        "the lease of version " + chunk.lease().orElseThrow().version() + " to end",
        Optional.of(chunk.lease().orElseThrow().server()),
        Long.MAX_VALUE);
  }

  private static Optional<Participant> choosePrimary(
      ChunkEntry chunk, Pending pending, List<Participant> started, Servers servers) {
    Participant best = null;
    for (Participant participant : started) {
      ServerId server = participant.member().server();
      Optional<SessionId> session = servers.session(server);
      if (session.isEmpty()) {
        continue;
      }
      boolean holds =
          chunk.lease().isPresent()
              && chunk.lease().get().session().equals(session.get())
              && !chunk.lease().get().revoked();
      if (holds && pending.reason() != ChangeReason.HAND_OVER) {
        return Optional.of(participant);
      }
      if (best == null || isBetterPrimary(server, best.member().server(), servers)) {
        best = participant;
      }
    }
    return Optional.ofNullable(best);
  }

  private static boolean isBetterPrimary(ServerId one, ServerId other, Servers servers) {
    if (servers.suspect(one) != servers.suspect(other)) {
      return servers.suspect(other);
    }
    if (servers.draining(one) != servers.draining(other)) {
      return servers.draining(other);
    }
    return servers.leases(one) < servers.leases(other);
  }

  /** A named seed that has registered since, cannot be reached, or proved bad, is none. */
  private boolean lostSeed(ChunkEntry chunk, Seed seed, Servers servers) {
    if (!servers.incarnation(seed.server()).equals(Optional.of(seed.incarnation()))
        || servers.suspect(seed.server())) {
      return true;
    }
    Answered answered = answers.get(seed.server());
    if (answered == null || answered.incarnation != seed.incarnation()) {
      return false;
    }
    return switch (answered.answer.certainty()) {
      case CERTAIN -> false;
      case UNCERTAIN -> anyCertain(chunk, servers);
      case DAMAGED, UNKNOWN_CHUNK -> true;
    };
  }

  /**
   * True where this member needs a whole copy: it has answered, in its present incarnation, that it
   * has no good one, or its seed cannot bring it up record by record ({@link #needsCopy}).
   */
  public boolean lacks(Member member, Servers servers) {
    if (needsCopy(member)) {
      return true;
    }
    Answered answered = answerIn(member, servers);
    return answered != null
        && switch (answered.answer.certainty()) {
          case CERTAIN, UNCERTAIN -> false;
          case DAMAGED, UNKNOWN_CHUNK -> true;
        };
  }

  /**
   * True where this member's copy can be of no use to a change whose seed has all that was
   * acknowledged: it has answered, in its present incarnation, that it knows nothing of the chunk,
   * or has lost records in a power cut which the seed can only give it as a whole copy. A damaged
   * copy is not meant: it may be whole, on a disk that has no room.
   */
  public boolean isLost(Member member, Servers servers) {
    Answered answered = answerIn(member, servers);
    return answered != null
        && (answered.answer.certainty() == Certainty.UNKNOWN_CHUNK
            || (answered.answer.certainty() == Certainty.UNCERTAIN && needsCopy(member)));
  }

  private boolean hasNothing(Member member, Servers servers) {
    Answered answered = answerIn(member, servers);
    return answered != null && answered.answer.certainty() == Certainty.UNKNOWN_CHUNK;
  }

  private boolean anyCertain(ChunkEntry chunk, Servers servers) {
    for (Member member : chunk.active().members()) {
      Answered answered = answerIn(member, servers);
      if (answered != null && answered.answer.certainty() == Certainty.CERTAIN) {
        return true;
      }
    }
    return false;
  }

  private BeginChange again(ChunkEntry chunk, Pending pending) {
    return new BeginChange(
        chunk.handle(),
        chunk.lastVersion() + 1,
        pending.reason(),
        false,
        pending.seal(),
        Optional.empty());
  }

  // ------------------------------------------------------------------ small parts

  /** The answer of this very replica in the incarnation that is registered now. */
  private @Nullable Answered answerIn(Member member, Servers servers) {
    Answered answered = answers.get(member.server());
    return answered != null
            && answered.answer.replica().equals(member.replica())
            && servers.incarnation(member.server()).equals(Optional.of(answered.incarnation))
        ? answered
        : null;
  }

  private boolean hasStarted(Participant participant) {
    Started started = starts.get(participant.member().server());
    return started != null
        && started.incarnation == participant.incarnation()
        && started.start.replica().equals(participant.member().replica());
  }

  private VersionStarted startOf(Participant participant) {
    Started started = starts.get(participant.member().server());
    if (started == null) {
      throw new IllegalStateException("has not started: " + participant);
    }
    return started.start;
  }

  private static Optional<Member> memberAt(ChunkEntry chunk, ServerId server) {
    return chunk.active().memberAt(server);
  }

  private static Optional<ServerId> first(List<ServerId> servers) {
    return servers.isEmpty() ? Optional.empty() : Optional.of(servers.get(0));
  }

  private static Plan waiting(Map<ServerId, Command> commands, Waiting waiting) {
    return new Plan(Optional.empty(), commands, Optional.of(waiting));
  }

  private static Plan proposal(Map<ServerId, Command> commands, Operation operation) {
    return new Plan(Optional.of(operation), commands, Optional.empty());
  }
}
