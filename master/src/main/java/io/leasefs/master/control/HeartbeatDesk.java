package io.leasefs.master.control;

import io.leasefs.common.api.ClusterApi.HeartbeatStream;
import io.leasefs.common.api.Heartbeat.Command;
import io.leasefs.common.api.Heartbeat.FailedMember;
import io.leasefs.common.api.Heartbeat.HeldLease;
import io.leasefs.common.api.Heartbeat.ReplicaReport;
import io.leasefs.common.api.Heartbeat.ReplicaState;
import io.leasefs.common.api.Heartbeat.Request;
import io.leasefs.common.api.Heartbeat.Response;
import io.leasefs.common.api.Heartbeat.SealAnswer;
import io.leasefs.common.api.Heartbeat.Status;
import io.leasefs.common.api.Heartbeat.VersionStarted;
import io.leasefs.common.model.ChunkHandle;
import io.leasefs.common.model.EventKind;
import io.leasefs.common.model.LeaseGrant;
import io.leasefs.common.model.Member;
import io.leasefs.common.model.ServerAddress;
import io.leasefs.common.model.ServerId;
import io.leasefs.common.model.SessionId;
import io.leasefs.master.cluster.ServerRegistry.Server;
import io.leasefs.master.lease.LeaseTable;
import io.leasefs.master.lease.LeaseTable.Answer;
import io.leasefs.master.state.ChunkEntry;
import io.leasefs.master.state.ServerEntry;
import io.leasefs.master.state.StateView;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.concurrent.Executor;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * The streams of heartbeats. A request is taken in when it arrives; it is answered, and the session
 * renewed, only after a barrier begun later has been applied in this term. The newest request may
 * be answered again whenever there is news, which is how grants and commands travel at once. Tasks
 * of the control loop, but for the public face of a stream.
 */
final class HeartbeatDesk {
  /** Renewals alone begin at most a hundred barriers a second. */
  private static final long BARRIER_PAUSE_NANOS = 10_000_000;

  /** One stream; newest wins. */
  private final class Stream implements HeartbeatStream {
    final Consumer<Response> responses;
    final Consumer<String> broken;
    boolean open = true;
    @Nullable Request newest;

    /**
     * The newest request that a barrier backs: what is answered. Under load {@link #newest} is
     * ahead of it all the time, and shows best what the server has.
     */
    @Nullable Request backed;

    Stream(Consumer<Response> responses, Consumer<String> broken) {
      this.responses = responses;
      this.broken = broken;
    }

    @Override
    public void send(Request request) {
      serial.execute(() -> received(this, request));
    }

    @Override
    public void close() {
      serial.execute(() -> closed(this));
    }
  }

  private final Soft soft;
  private final Executor serial;
  private final ChangeDesk changes;
  private final Runnable whenShort;
  private final Map<ServerId, Stream> streams = new TreeMap<>();

  /** The newest request that was taken in of each server, over all its streams. */
  private final Map<ServerId, Taken> taken = new TreeMap<>();

  private record Taken(SessionId session, long sequence) {}

  private boolean barrierInFlight;
  private boolean barrierWanted;
  private long nextBarrierNanos = Long.MIN_VALUE;
  private long responseNumber;

  /**
   * @param whenShort a server has heard of more than this log has, and that is no accident
   */
  HeartbeatDesk(Soft soft, Executor serial, ChangeDesk changes, Runnable whenShort) {
    this.soft = soft;
    this.serial = serial;
    this.changes = changes;
    this.whenShort = whenShort;
  }

  /** Any thread. */
  HeartbeatStream open(Consumer<Response> responses, Consumer<String> broken) {
    return new Stream(responses, broken);
  }

  /** The role changed: nothing that was received counts any more. */
  void clear() {
    barrierInFlight = false;
    barrierWanted = false;
    nextBarrierNanos = Long.MIN_VALUE;
    for (Stream stream : streams.values()) {
      stream.newest = null;
      stream.backed = null;
    }
  }

  /** Streams that stood before this master led are known to the new registry. */
  void lead() {
    streams.keySet().forEach(server -> soft.servers.linked(server, true));
  }

  private void closed(Stream stream) {
    if (!stream.open) {
      return;
    }
    stream.open = false;
    stream.broken.accept("closed");
    for (Map.Entry<ServerId, Stream> one : new TreeMap<>(streams).entrySet()) {
      if (one.getValue() == stream) {
        streams.remove(one.getKey());
        soft.servers.linked(one.getKey(), false);
        if (soft.serving()) {
          changes.serverChanged(one.getKey());
        }
      }
    }
  }

  private void received(Stream stream, Request request) {
    received(stream, request, soft.alone());
  }

  /**
   * @param fresh nothing has been acknowledged, before the request came, that is not applied here
   */
  private void received(Stream stream, Request request, boolean fresh) {
    if (!stream.open) {
      return;
    }
    if (hasHeardOfMore(request)) {
      if (fresh) {
        whenShort.run();
        stream.responses.accept(bare(request, Status.NOT_LEADER));
        return;
      }
      // Another master may lead, and have told of it.
      soft.afterBarrier(
          (good, failure) -> {
            if (good) {
              received(stream, request, true);
            }
          });
      if (request.highestTerm() <= soft.term()) {
        return;
      }
    }
    Status refused = refuse(request);
    if (refused == Status.NOT_LEADER || (refused != Status.OK && fresh)) {
      stream.responses.accept(bare(request, refused));
      return;
    }
    if (refused != Status.OK) {
      // Another leader may have logged its session since: told of its end it would drop its leases.
      soft.afterBarrier(
          (good, failure) -> {
            if (good) {
              received(stream, request, true);
            }
          });
      return;
    }
    ServerId id = request.server();
    if (isLate(request)) {
      return;
    }
    Server server = soft.servers.find(id);
    if (server == null || !soft.leases.heard(request.session(), soft.clock.nanos())) {
      // its end is under way: the answer waits until that entry's fate is known
      return;
    }
    Stream before = streams.put(id, stream);
    if (before != stream) {
      soft.servers.linked(id, true);
      soft.outbox.resend(id);
      if (before != null && before.open) {
        before.open = false;
        before.broken.accept("replaced by a newer stream of " + id);
      }
    }
    boolean wasSilent =
        soft.clock.nanos() - server.heardNanos() >= soft.settings.terms().evidenceNanos();
    soft.servers.heard(id, soft.clock.nanos(), request.disks(), request.openChunks());
    Request last = stream.newest;
    if (last == null || request.sequence() > last.sequence()) {
      stream.newest = request;
    }
    taken.put(id, new Taken(request.session(), request.sequence()));
    takeIn(server, request);
    if (before != stream || wasSilent) {
      changes.serverChanged(id);
    }
    barrierWanted = true;
    pumpBarrier();
  }

  /**
   * A newer one of the same session was here already: it comes late, on a stream that its server
   * has left. What it says of copies is out of date, its stream must not replace the newer one, and
   * whatever in it still counts was told again in the newer one.
   */
  private boolean isLate(Request request) {
    Taken newest = taken.get(request.server());
    return newest != null
        && newest.session().equals(request.session())
        && newest.sequence() >= request.sequence();
  }

  /** A server of this cluster tells of a log that this leader does not have. */
  private boolean hasHeardOfMore(Request request) {
    if (!request.clusterId().equals(soft.read(view -> view.clusterId().orElse("")))) {
      return false;
    }
    soft.witness.tell(request.server(), request.highestOrdinal(), request.highestTerm());
    return soft.serving()
        && (request.highestOrdinal() > soft.read(StateView::lastApplied)
            || request.highestTerm() > soft.term());
  }

  private Status refuse(Request request) {
    if (!soft.serving() || request.highestTerm() > soft.term()) {
      return Status.NOT_LEADER;
    }
    String cluster = soft.read(view -> view.clusterId().orElse(""));
    if (!request.clusterId().equals(cluster)) {
      return Status.WRONG_CLUSTER;
    }
    Optional<ServerEntry> logged = soft.read(view -> view.server(request.server()));
    if (logged.isEmpty()) {
      return Status.UNKNOWN_SESSION;
    }
    if (request.incarnation() < logged.get().incarnation()) {
      return Status.STALE_INCARNATION;
    }
    return logged.get().session().equals(Optional.of(request.session()))
            && request.incarnation() == logged.get().incarnation()
            && soft.leases.knows(request.session())
        ? Status.OK
        : Status.UNKNOWN_SESSION;
  }

  private Response bare(Request request, Status status) {
    Optional<ServerAddress> hint = Optional.empty();
    return new Response(
        soft.read(view -> view.clusterId().orElse("")),
        soft.term(),
        soft.role.leader().orElse(soft.settings.self()),
        ++responseNumber,
        request.sequence(),
        status,
        hint,
        0,
        List.of(),
        List.of(),
        List.of(),
        0,
        List.of(),
        0);
  }

  private void takeIn(Server server, Request request) {
    ServerId id = server.id();
    for (ReplicaReport report : request.replicas()) {
      noteDamage(id, report);
    }
    if (request.fullReport() && isOfThisReign(request)) {
      soft.replicas.replace(id, request.replicas());
      soft.servers.reportedInFull(id);
    } else {
      soft.replicas.put(id, request.replicas());
    }
    for (ChunkHandle gone : request.replicasGone()) {
      soft.replicas.remove(id, gone);
    }
    changes.givenBack(id, server, request.released(), false);
    changes.givenBack(id, server, request.revocationsAcknowledged(), true);
    // Who has not heard of this term may yet get, and take, what was granted in an older one.
    if (request.heldInFull().isPresent() && request.highestTerm() == soft.term()) {
      List<HeldLease> held = request.heldInFull().get();
      changes.neverHeld(id, soft.leases.neverHeld(request.session(), held));
    }
    for (SealAnswer answer : request.sealAnswers()) {
      changes.sealAnswered(id, request.incarnation(), answer);
    }
    for (VersionStarted start : request.versionStarts()) {
      soft.replicas.started(id, start.chunk(), start.replica(), start.version());
      changes.versionStarted(id, request.incarnation(), start);
    }
    for (FailedMember failed : request.failedMembers()) {
      changes.memberFailed(id, failed);
    }
    for (ReplicaReport report : request.replicas()) {
      changes.mended(id, report);
      changes.reported(id, report);
    }
  }

  /**
   * A report that was sent under an earlier leader may arrive late: what came after it was told to
   * that one, and would be told to this one never.
   */
  private boolean isOfThisReign(Request request) {
    return request.highestTerm() == soft.term()
        || request.session().value() > soft.beforeThisReign; // nobody knew that session before
  }

  private void noteDamage(ServerId server, ReplicaReport report) {
    ChunkHandle chunk = report.spec().handle();
    boolean known =
        soft.replicas
            .find(chunk, server)
            .filter(before -> before.state() == ReplicaState.DAMAGED)
            .isPresent();
    if (report.state() == ReplicaState.DAMAGED && !known) {
      soft.event(
          EventKind.REPLICA_DAMAGED,
          Optional.of(server),
          Optional.of(chunk),
          report.accepted(),
          Map.of("replica", report.replica().toString()));
    }
  }

  // ------------------------------------------------------------------ answers

  void pumpBarrier() {
    if (barrierInFlight || !barrierWanted) {
      return;
    }
    if (!soft.alone() && soft.clock.nanos() < nextBarrierNanos) {
      return;
    }
    nextBarrierNanos = soft.clock.nanos() + BARRIER_PAUSE_NANOS;
    barrierInFlight = true;
    barrierWanted = false;
    Map<Stream, Request> backs = new LinkedHashMap<>();
    for (Stream stream : streams.values()) {
      if (stream.newest != null && !stream.newest.equals(stream.backed)) {
        backs.put(stream, stream.newest);
      }
    }
    soft.afterBarrier(
        (good, failure) -> {
          barrierInFlight = false;
          if (good) {
            backs.forEach(this::backed);
          }
          pumpBarrier();
        });
  }

  private void backed(Stream stream, Request request) {
    stream.backed = request;
    answer(stream);
  }

  /** When a barrier that is wanted may begin. */
  long nextLook() {
    return barrierWanted && !barrierInFlight ? nextBarrierNanos : Long.MAX_VALUE;
  }

  /** Sends what is new to whoever has not heard it. */
  void flush() {
    for (Map.Entry<ServerId, Stream> one : streams.entrySet()) {
      Stream stream = one.getValue();
      Request newest = stream.newest;
      if (newest != null
          && stream.backed != null
          && (soft.outbox.hasNews(one.getKey()) || soft.leases.hasUnsent(newest.session()))) {
        answer(stream);
      }
    }
  }

  /** Repeats to everyone what is still to be done. */
  void repeat() {
    for (Map.Entry<ServerId, Stream> one : streams.entrySet()) {
      Stream stream = one.getValue();
      Request newest = stream.newest;
      if (newest != null
          && stream.backed != null
          && (!soft.outbox.isEmpty(one.getKey()) || soft.leases.hasNews(newest.session()))) {
        answer(stream);
      }
    }
  }

  /**
   * Answers the newest request that a barrier backs with all that is known by now: a renewal counts
   * from that request, and what the server holds is seen in the newest one. Answering only the
   * newest would renew nothing as long as requests come faster than barriers.
   */
  private void answer(Stream stream) {
    Request request = stream.newest;
    Request backed = stream.backed;
    if (request == null
        || backed == null
        || !stream.open
        || !backed.session().equals(request.session())
        || backed.incarnation() != request.incarnation()
        || !soft.leases.knows(request.session())) {
      return;
    }
    SessionId session = request.session();
    Server server = soft.servers.find(request.server());
    if (server == null || soft.leases.isEnding(session)) {
      return;
    }
    Answer answer = soft.leases.answer(session, request.heldDigest(), request.heldInFull());
    boolean needFull = answer.needFull() || !server.reportedInFull();
    long now = soft.clock.nanos();
    List<Command> commands = soft.outbox.take(request.server(), now);
    stream.responses.accept(
        new Response(
            request.clusterId(),
            soft.term(),
            soft.settings.self(),
            ++responseNumber,
            backed.sequence(),
            needFull ? Status.NEED_FULL_REPORT : Status.OK,
            Optional.empty(),
            answer.ttlNanos(),
            grants(answer),
            answer.revocations(),
            commands,
            soft.deadWatermark,
            soft.living,
            soft.read(StateView::lastApplied)));
  }

  private List<LeaseGrant> grants(Answer answer) {
    List<LeaseGrant> grants = new ArrayList<>();
    for (LeaseTable.Lease lease : answer.grants()) {
      ChunkEntry entry = soft.read(view -> view.chunk(lease.chunk())).orElse(null);
      if (entry != null
          && entry.lease().isPresent()
          && entry.lease().get().version() == lease.version()
          && !entry.lease().get().revoked()) {
        grants.add(grant(soft, entry));
      }
    }
    return grants;
  }

  /** The grant of a chunk's lease, as it travels. */
  static LeaseGrant grant(Soft soft, ChunkEntry entry) {
    Map<ServerId, ServerAddress> peers = new TreeMap<>();
    for (Member member : entry.active().members()) {
      Server server = soft.servers.find(member.server());
      if (server != null) {
        peers.put(member.server(), server.endpoints().internal());
      }
    }
    return new LeaseGrant(entry.spec(), entry.lease().orElseThrow().token(), entry.active(), peers);
  }

  /** Whether a stream of this server stands. */
  boolean isConnected(ServerId server) {
    return streams.containsKey(server);
  }
}
