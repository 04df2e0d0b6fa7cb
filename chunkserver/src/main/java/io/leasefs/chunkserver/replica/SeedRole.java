package io.leasefs.chunkserver.replica;

import io.leasefs.chunkserver.replica.ReplicaImage.SealPoint;
import io.leasefs.common.api.Heartbeat;
import io.leasefs.common.api.Heartbeat.MemberFailure;
import io.leasefs.common.api.Heartbeat.RecoverCommand;
import io.leasefs.common.api.Mutation;
import io.leasefs.common.api.MutationKind;
import io.leasefs.common.api.PeerMessage;
import io.leasefs.common.api.VersionStart;
import io.leasefs.common.checksum.Checksums;
import io.leasefs.common.model.Member;
import io.leasefs.common.model.ServerId;
import io.leasefs.common.model.SessionId;
import java.nio.ByteBuffer;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/**
 * The seed of one version: starts it at the end of its own order and hands that order to the
 * targets, record by record, in a bounded window (protocol, section 4, step 4).
 */
final class SeedRole {
  private static final long AGAIN_NANOS = 300_000_000;

  /** Most bytes read back at once for one target. */
  private static final long WINDOW_BYTES = 4L << 20;

  private final Replica replica;
  private final long version;

  /** The serial of the version start: what is recovered ends here. */
  private final long end;

  private final TreeMap<ServerId, Target> targets = new TreeMap<>();

  /** By the id of the read-back that is under way for them. */
  private final TreeMap<Long, Target> reading = new TreeMap<>();

  private static final class Target {
    final Member member;
    boolean reconciled;
    boolean readingBack;
    long acknowledged;
    long sent;
    long movedAt;

    Target(Member member) {
      this.member = member;
    }
  }

  private SeedRole(Replica replica, long version, long end) {
    this.replica = replica;
    this.version = version;
    this.end = end;
  }

  /** Starts the version here, where that has not been done, and takes the role. */
  static SeedRole begin(Replica replica, RecoverCommand command, Runnable whenStarted) {
    ChunkLog log = replica.log;
    if (log.version() < command.version()) {
      replica.join(command.version());
      replica.append(versionStart(replica, command), true, false, whenStarted);
    } else {
      replica.join(command.version());
    }
    return new SeedRole(replica, command.version(), startSerial(log));
  }

  private static long startSerial(ChunkLog log) {
    return log.history().get(log.history().size() - 1).firstSerial();
  }

  private static Mutation versionStart(Replica replica, RecoverCommand command) {
    ChunkLog log = replica.log;
    boolean sealed = log.seal() != null;
    long flags = 0;
    if (command.reopen() && sealed) {
      flags = Mutation.REOPENS;
    } else if (command.seal() && !sealed) {
      flags = Mutation.SEALS;
    }
    return new Mutation(
        command.version(),
        log.lastSerial() + 1,
        MutationKind.VERSION_START,
        flags,
        replica.spec.file(),
        new SessionId(0),
        0,
        0,
        log.lastLength(),
        Math.max(command.fenceFloor(), log.fence()),
        Checksums.NONE,
        ByteBuffer.allocate(0));
  }

  long version() {
    return version;
  }

  /** Takes on the targets that it does not know yet. */
  void targets(List<Heartbeat.Target> wanted) {
    for (Heartbeat.Target each : wanted) {
      Member member = each.member();
      Target known = targets.get(member.server());
      if (member.equals(replica.self) || (known != null && known.member.equals(member))) {
        continue;
      }
      Target target = new Target(member);
      targets.put(member.server(), target);
      reconcile(target);
    }
  }

  private void reconcile(Target target) {
    target.reconciled = false;
    target.movedAt = replica.now();
    ChunkLog log = replica.log;
    List<VersionStart> history = List.copyOf(log.history());
    replica.send(
        target.member.server(),
        new PeerMessage.Reconcile(
            replica.spec,
            target.member,
            version,
            replica.self.server(),
            history,
            end,
            Math.min(log.committedSerial(), end)));
  }

  void reconciled(PeerMessage.Reconciled message) {
    Target target = targets.get(message.target());
    if (target != null && message.version() == version && !target.reconciled) {
      target.reconciled = true;
      target.acknowledged = message.commonSerial();
      target.sent = message.commonSerial();
      target.movedAt = replica.now();
      pump(target);
    }
  }

  void refused(PeerMessage.ReconcileRefused message) {
    Target target = targets.get(message.target());
    if (target != null && message.version() == version) {
      fail(
          target,
          MemberFailure.UNREACHABLE,
          message.damaged() ? "has committed what the seed lacks" : "has promised higher");
    }
  }

  void progress(PeerMessage.RecoveryProgress message) {
    Target target = targets.get(message.target());
    if (target == null || message.version() != version) {
      return;
    }
    if (message.lastSerial() >= end) {
      targets.remove(message.target());
    } else if (target.reconciled && message.lastSerial() > target.acknowledged) {
      target.acknowledged = message.lastSerial();
      target.movedAt = replica.now();
      pump(target);
    }
  }

  /** Reads the next records back once the last ones have arrived. */
  private void pump(Target target) {
    target.sent = Math.max(target.sent, target.acknowledged);
    if (target.reconciled
        && !target.readingBack
        && target.sent < end
        && target.acknowledged == target.sent) {
      target.readingBack = true;
      reading.put(replica.disk.readBack(target.sent + 1, WINDOW_BYTES, replica.now()), target);
    }
  }

  /** Records have been read back. */
  void read(long id, List<Mutation> records) {
    Target target = reading.remove(id);
    if (target == null || targets.get(target.member.server()) != target) {
      return;
    }
    target.readingBack = false;
    if (!target.reconciled) {
      return; // it is being reconciled anew
    }
    if (records.isEmpty() || records.get(0).serial() > target.sent + 1) {
      fail(
          target,
          MemberFailure.NEEDS_COPY,
          "the seed's journal does not reach back to serial " + (target.sent + 1));
      return;
    }
    for (Mutation mutation : records) {
      if (mutation.serial() == target.sent + 1 && mutation.serial() <= end) {
        target.sent++;
        replica.send(
            target.member.server(),
            new PeerMessage.Recovery(replica.handle(), version, replica.self.server(), mutation));
      }
    }
    target.movedAt = replica.now();
  }

  private void fail(Target target, MemberFailure failure, String why) {
    targets.remove(target.member.server());
    replica.emit(
        new ReplicaAction.ReportFailedMember(
            new Heartbeat.FailedMember(
                replica.handle(), version, target.member.server(), failure, why)));
  }

  boolean busy() {
    return !targets.isEmpty();
  }

  /** Whatever was lost is made up for from the beginning: all of it may be repeated. */
  void tick() {
    for (Map.Entry<ServerId, Target> entry : targets.entrySet()) {
      Target target = entry.getValue();
      if (replica.now() - target.movedAt >= AGAIN_NANOS && !target.readingBack) {
        reconcile(target);
      }
    }
  }

  /** The master has activated or sealed the version: who is not there yet is not in it. */
  void activated() {
    targets.clear();
    reading.clear();
  }

  /** What the master is told of the version start here; null until the seal's checksum is known. */
  static Heartbeat.@Nullable VersionStarted started(Replica replica, ServerId seed) {
    ChunkLog log = replica.log;
    SealPoint seal = log.seal();
    if (seal != null && seal.checksum().isEmpty()) {
      return null;
    }
    long first = startSerial(log);
    return new Heartbeat.VersionStarted(
        replica.handle(),
        replica.self.replica(),
        log.version(),
        seed,
        first,
        log.lastLength(),
        seal == null ? Optional.empty() : seal.seal());
  }
}
