package io.leasefs.chunkserver.replica;

import io.leasefs.chunkserver.lease.LeaseValidity;
import io.leasefs.chunkserver.replica.ReplicaImage.Result;
import io.leasefs.chunkserver.replica.ReplicaImage.SealPoint;
import io.leasefs.common.api.Frame;
import io.leasefs.common.api.FrameAnswer;
import io.leasefs.common.api.Heartbeat;
import io.leasefs.common.api.Mutation;
import io.leasefs.common.api.MutationKind;
import io.leasefs.common.api.PeerMessage;
import io.leasefs.common.api.PeerMessage.Health;
import io.leasefs.common.checksum.Checksums;
import io.leasefs.common.error.ErrorCode;
import io.leasefs.common.lease.LeaseTerms;
import io.leasefs.common.model.EventKind;
import io.leasefs.common.model.LeaseGrant;
import io.leasefs.common.model.Member;
import io.leasefs.common.model.ServerId;
import io.leasefs.common.model.SessionId;
import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * The head of the chain at one version: gives serials, decides what is committed, answers clients,
 * and says who in its chain has failed (protocol, section 5).
 *
 * <p><b>Its seal ends it.</b> From the moment at which the chunk's seal is committed here it leads
 * no more, however long its lease still runs. Nobody can have been told of that seal before: it is
 * committed by this role alone, once this copy and all others have it. So the master, that ends the
 * lease with a committed seal of this version, need not ask the holder again (protocol, E3 and
 * section 8), and may have the chunk reopened elsewhere before the holder hears of it. Nothing has
 * been given a serial since the seal was; what is asked of a sealed chunk any member answers.
 */
final class PrimaryRole {
  private static final ByteBuffer NOTHING = ByteBuffer.allocate(0);

  /** A lease that is not used this long is given back. */
  static final long IDLE_NANOS = 60_000_000_000L;

  private static final long REPORT_AGAIN_NANOS = 1_000_000_000;
  private static final long NEVER = Long.MIN_VALUE;

  private final Replica replica;
  private final LeaseGrant grant;
  private final @Nullable ChainLink link;
  private LeaseValidity lease;

  /** Per member below: since when it stands still behind the one before it. */
  private final long[] behindSince;

  private final long[] behindSerial;
  private final long[] reportedAt;

  /** Nothing is done under the lease any more; what is journalled may still commit. */
  private boolean over;

  private boolean lateTold;
  private long usedAt;
  private long lastAcknowledgedAt = NEVER;

  /** When it gave the newest mutation its place. */
  private long lastOrderedAt = NEVER;

  PrimaryRole(Replica replica, LeaseGrant grant, LeaseValidity lease) {
    this.replica = replica;
    this.grant = grant;
    this.lease = lease;
    List<Member> members = grant.configuration().members();
    link =
        ChainLink.below(replica, grant.version(), members, 0, grant.configuration().firstSerial());
    int below = members.size() - 1;
    behindSince = new long[below];
    behindSerial = new long[below];
    reportedAt = new long[below];
    Arrays.fill(behindSince, NEVER);
    Arrays.fill(reportedAt, NEVER);
    usedAt = replica.now();
  }

  long version() {
    return grant.version();
  }

  List<Member> members() {
    return grant.configuration().members();
  }

  /** The same lease has come again, in a later response. */
  void renew(LeaseValidity validity) {
    lease = validity;
  }

  /** May it act under its lease now. */
  boolean leads() {
    return leadsAt(replica.now());
  }

  /** May it act under its lease at this instant. */
  boolean leadsAt(long now) {
    return !over && !replica.log.sealed() && replica.actsIn(version()) && lease.validAt(now);
  }

  /** The lease is used: by a frame or a read. */
  void use() {
    usedAt = replica.now();
  }

  // ---- frames ------------------------------------------------------------------------------

  /** Decides one frame of this version, in the order of section 5. */
  void frame(long ticket, Frame frame) {
    // A sealed chunk takes nothing: it says what it knows, or waits for the seal's checksum.
    if (!leads() && !replica.log.sealed()) {
      refuseLate(ticket);
      return;
    }
    use();
    if (frame.token() < replica.log.fence()) {
      refuse(ticket, ErrorCode.FENCED, "a newer token is in force: " + replica.log.fence());
      return;
    }
    if (replica.log.table().forgotten(frame.session())) {
      refuse(ticket, ErrorCode.OUTCOME_UNKNOWN, "the session is forgotten");
      return;
    }
    String flaw = FrameChecks.flawOf(replica.spec, frame);
    if (flaw != null) {
      refuse(ticket, ErrorCode.INVALID_ARGUMENT, flaw);
      return;
    }
    if (!answeredFromTable(ticket, frame)) {
      order(ticket, frame);
    }
  }

  private void refuseLate(long ticket) {
    if (!lateTold) {
      lateTold = true;
      replica.note(EventKind.HOLDER_REFUSED_LATE, version(), replica.now());
    }
    refuse(ticket, ErrorCode.NOT_PRIMARY, "the lease is over");
  }

  /** Answers or joins what is known of the sequence; a repeated frame ends here. */
  private boolean answeredFromTable(long ticket, Frame frame) {
    DedupTable table = replica.log.table();
    boolean abort = frame.kind() == MutationKind.ABORT;
    long sequence = abort ? frame.offset() : frame.sequence();
    Result known = table.find(frame.session(), sequence);
    if (known == null) {
      return false;
    }
    if (!abort && known.applied() && !FrameChecks.sameFrame(known, frame)) {
      refuse(
          ticket,
          ErrorCode.INVALID_ARGUMENT,
          "sequence " + frame.sequence() + " was another mutation");
      return true;
    }
    replica.waiters.forResult(ticket, known);
    settle();
    return true;
  }

  /** Gives an unknown sequence its place, or says why it gets none. */
  private void order(long ticket, Frame frame) {
    ChunkLog log = replica.log;
    long floor = log.table().floor(frame.session());
    long asked = frame.kind() == MutationKind.ABORT ? frame.offset() : frame.sequence();
    if (asked < floor) {
      answer(ticket, new FrameAnswer.Expired());
      return;
    }
    long dead = log.table().deadSince(frame.session());
    if (dead > 0) {
      replica.waiters.forNotApplied(ticket, dead);
      settle();
      return;
    }
    SealPoint seal = log.seal();
    if (seal != null) {
      waitForSeal(ticket, frame, seal.serial());
      return;
    }
    if (sessionDead(frame.session())) {
      append(kindOnly(MutationKind.DEAD, frame.session().value()));
      replica.waiters.forNotApplied(ticket, log.lastSerial());
      settle();
      return;
    }
    if (frame.kind() != MutationKind.ABORT
        && frame.after() != 0
        && frame.after() >= Math.max(floor, frame.floor())
        && !applied(frame)) {
      answer(ticket, new FrameAnswer.OutOfOrder());
      return;
    }
    if (log.pendingBytes() > ReplicaCore.PENDING_BYTES + Frame.MAX_PAYLOAD) {
      refuse(ticket, ErrorCode.BUSY, "too much is pending in this chunk");
      return;
    }
    place(ticket, frame);
  }

  private boolean nearlyFull() {
    return replica.nearlyFull() || (link != null && link.nearlyFull());
  }

  private void waitForSeal(long ticket, Frame frame, long sealSerial) {
    if (frame.kind() == MutationKind.ABORT) {
      replica.waiters.forNotApplied(ticket, sealSerial);
    } else {
      replica.waiters.forFull(ticket, version(), sealSerial);
    }
    settle();
  }

  private boolean applied(Frame frame) {
    Result before = replica.log.table().find(frame.session(), frame.after());
    return before != null && before.applied();
  }

  private void place(long ticket, Frame frame) {
    ChunkLog log = replica.log;
    long tail = log.lastLength();
    int bytes = frame.payload().remaining();
    long offset = frame.offset();
    long length = tail;
    switch (frame.kind()) {
      case APPEND -> {
        offset = tail;
        length = tail + bytes;
        // A seal needs little room: the writer goes on in a chunk on other disks.
        if (length > replica.spec.capacityBytes() || nearlyFull()) {
          append(kindOnly(MutationKind.SEAL, 0));
          waitForSeal(ticket, frame, log.lastSerial());
          return;
        }
      }
      case WRITE -> {
        if (nearlyFull()) {
          refuse(ticket, ErrorCode.NO_SPACE, "a disk of this chunk is nearly full");
          return;
        }
        length = Math.max(tail, offset + bytes);
      }
      case TRUNCATE -> length = offset;
      case SEAL -> offset = tail;
      case ABORT, DEAD, FORGET, VERSION_START -> {}
    }
    if (offset < 0
        || (frame.kind() != MutationKind.ABORT && offset > tail)
        || length > replica.spec.capacityBytes()) {
      refuse(
          ticket,
          ErrorCode.INVALID_ARGUMENT,
          "offset " + offset + " leaves a gap or the chunk; its length is " + tail);
      return;
    }
    boolean seals = frame.seals() && frame.kind() != MutationKind.ABORT;
    append(
        new Mutation(
            version(),
            log.lastSerial() + 1,
            frame.kind(),
            offset,
            frame.file(),
            frame.session(),
            frame.sequence(),
            frame.floor(),
            length,
            seals ? Mutation.SEALS : 0,
            frame.checksums(),
            frame.payload()));
    long sequence = frame.kind() == MutationKind.ABORT ? frame.offset() : frame.sequence();
    Result result = log.table().find(frame.session(), sequence);
    if (result != null) {
      replica.waiters.forResult(ticket, result);
    }
    settle();
  }

  /** A mutation of the primary's own. */
  private Mutation kindOnly(MutationKind kind, long detail) {
    ChunkLog log = replica.log;
    return new Mutation(
        version(),
        log.lastSerial() + 1,
        kind,
        kind == MutationKind.SEAL ? log.lastLength() : 0,
        replica.spec.file(),
        new SessionId(0),
        0,
        0,
        log.lastLength(),
        detail,
        Checksums.NONE,
        NOTHING);
  }

  private void append(Mutation mutation) {
    lastOrderedAt = replica.now();
    replica.append(mutation, false, link != null, null);
    if (link != null) {
      link.forwardNewest();
    }
  }

  // ---- the master's wishes -----------------------------------------------------------------

  /** Seals the chunk in its own order. */
  void close() {
    if (leads() && replica.log.seal() == null) {
      append(kindOnly(MutationKind.SEAL, 0));
    } else if (replica.log.committedSeal() != null) {
      replica.emit(new ReplicaAction.ReportReplica(replica.report()));
    }
  }

  private void giveBack() {
    end();
    replica.emit(
        new ReplicaAction.ReleaseLease(new Heartbeat.LeaseName(replica.handle(), version())));
  }

  /** Nothing is done under the lease any more. */
  void end() {
    if (!over) {
      over = true;
      if (lastAcknowledgedAt != NEVER && lastOrderedAt != NEVER) {
        // What it ordered in time may commit after its lease: a fact about journals, not an act of
        // a primary. Its last act is no later than the last order.
        replica.note(
            EventKind.HOLDER_LAST_ACKNOWLEDGEMENT,
            version(),
            Math.min(lastAcknowledgedAt, lastOrderedAt));
      }
    }
  }

  /** Sessions known to be dead, as the master last told. */
  private long deadWatermark;

  private List<SessionId> living = List.of();

  void sessionsDead(long watermark, List<SessionId> exceptions) {
    deadWatermark = watermark;
    living = exceptions;
  }

  private boolean sessionDead(SessionId session) {
    return session.value() < deadWatermark && !living.contains(session);
  }

  /** Drops the rows of sessions that have been dead for long. */
  void forget(long watermark, List<SessionId> exceptions) {
    ChunkLog log = replica.log;
    if (!leads() || log.seal() != null || !log.table().worthForgetting(watermark, exceptions)) {
      return;
    }
    ByteBuffer payload = DedupTable.encodeSessions(exceptions);
    append(
        new Mutation(
            version(),
            log.lastSerial() + 1,
            MutationKind.FORGET,
            watermark,
            replica.spec.file(),
            new SessionId(0),
            0,
            0,
            log.lastLength(),
            0,
            Checksums.of(payload, Frame.PIECE),
            payload));
  }

  // ---- the chain ---------------------------------------------------------------------------

  void progress(ServerId from, PeerMessage.ChainProgress progress) {
    if (link != null && link.next().equals(from)) {
      link.heard(progress);
      settle();
      blame();
    }
  }

  void broken(ServerId peer) {
    if (link != null && link.next().equals(peer)) {
      link.broken();
      blame();
    }
  }

  /** Commits what all members have, and answers. */
  void settle() {
    if (!replica.actsIn(version())) {
      return;
    }
    long all = replica.disk.durableSerial();
    if (link != null) {
      all = Math.min(all, link.lowestSerial());
    }
    boolean moved = all > replica.log.committedSerial();
    boolean answered = replica.commitTo(all);
    // a repeated frame may wait for what was committed long ago
    answered |=
        replica.waiters.committed(replica.log.committedSerial(), replica.log.committedSeal());
    if (answered) {
      if (lastAcknowledgedAt == NEVER) {
        replica.note(EventKind.HOLDER_FIRST_ACKNOWLEDGEMENT, version(), replica.now());
      }
      lastAcknowledgedAt = replica.now();
    }
    if (moved && link != null) {
      link.tellCommittedSoon();
    }
    if (!over && replica.log.sealed()) {
      end();
      replica.note(EventKind.HOLDER_ENDED, version(), replica.now());
    }
  }

  /** Reports the first member that has failed, and stops where it is this one itself. */
  private void blame() {
    if (link == null || !replica.actsIn(version())) {
      return;
    }
    long now = replica.now();
    long before = replica.disk.durableSerial();
    for (int i = 0; i < link.size(); i++) {
      String why = complaint(i, before, now);
      if (why != null) {
        report(i, why, now);
        return;
      }
      before = link.serial(i);
    }
  }

  private @Nullable String complaint(int index, long before, long now) {
    Health health = link == null ? Health.GOOD : link.health(index);
    if (health == Health.PROMISED_HIGHER) {
      end(); // not a failure: this configuration is over
      return null;
    }
    if (!health.works()) {
      return health.toString();
    }
    long serial = link == null ? before : link.serial(index);
    if (serial >= before) {
      behindSince[index] = NEVER;
      return null;
    }
    if (behindSince[index] == NEVER || behindSerial[index] != serial) {
      behindSince[index] = now;
      behindSerial[index] = serial;
    }
    return now - behindSince[index] >= LeaseTerms.WRITE_TIMEOUT_NANOS
        ? "stands still at serial " + serial
        : null;
  }

  private void report(int index, String why, long now) {
    if (link == null
        || (reportedAt[index] != NEVER && now - reportedAt[index] < REPORT_AGAIN_NANOS)) {
      return;
    }
    reportedAt[index] = now;
    replica.emit(
        new ReplicaAction.ReportFailedMember(
            new Heartbeat.FailedMember(
                replica.handle(),
                version(),
                link.server(index),
                Heartbeat.MemberFailure.UNREACHABLE,
                why)));
  }

  // ---- time --------------------------------------------------------------------------------

  void tick() {
    long now = replica.now();
    if (link != null) {
      link.tick();
      blame();
    }
    if (!over
        && !replica.disk.idle()
        && now - replica.disk.oldestSince() > replica.terms.stallNanos()) {
      giveBack();
    }
    if (!over
        && now - usedAt >= IDLE_NANOS
        && replica.log.committedSerial() == replica.log.lastSerial()) {
      giveBack();
    }
  }

  /** Something is under way that time may decide. */
  boolean busy() {
    return !replica.disk.idle()
        || replica.log.committedSerial() < replica.log.lastSerial()
        || (link != null && link.busy());
  }

  long wakeAt() {
    long idleAt = over ? Long.MAX_VALUE : usedAt + IDLE_NANOS;
    return link == null ? idleAt : Math.min(idleAt, link.tellCommittedAt());
  }

  private void refuse(long ticket, ErrorCode code, String message) {
    answer(ticket, new FrameAnswer.Refused(code, message));
  }

  private void answer(long ticket, FrameAnswer answer) {
    replica.emit(new ReplicaAction.Answer(ticket, answer));
  }

  /** What a member of its chain is told that asks what is committed. */
  void committedQuery(PeerMessage.CommittedQuery query) {
    boolean member = members().stream().anyMatch(m -> m.server().equals(query.from()));
    boolean valid = member && leads();
    use();
    replica.send(
        query.from(),
        new PeerMessage.CommittedAnswer(
            query.chunk(),
            query.version(),
            query.queryNumber(),
            valid,
            replica.log.committedSerial(),
            replica.log.committedLength()));
  }

  /** The next member, where there is one. */
  Optional<ServerId> next() {
    return link == null ? Optional.empty() : Optional.of(link.next());
  }
}
