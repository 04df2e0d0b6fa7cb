package io.leasefs.chunkserver.replica;

import io.leasefs.common.api.Mutation;
import io.leasefs.common.api.PeerMessage.ChainProgress;
import io.leasefs.common.api.PeerMessage.Forward;
import io.leasefs.common.api.PeerMessage.Health;
import io.leasefs.common.api.PeerMessage.MemberProgress;
import io.leasefs.common.model.Member;
import io.leasefs.common.model.ServerId;
import java.util.List;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/**
 * A place in the chain below the primary, at one version: appends in the primary's order, passes
 * on, and tells the one above how far it and all below it are (protocol, section 5).
 */
final class SecondaryRole {
  /** Most mutations held back after a gap. */
  static final int HELD_BACK = 64;

  private static final long PROGRESS_NANOS = 100_000_000;

  private final Replica replica;
  private final long version;
  private final List<Member> chain;
  private final ServerId upstream;
  private final @Nullable ChainLink link;
  private final TreeMap<Long, Mutation> heldBack = new TreeMap<>();
  private long committed;
  private boolean diverged;
  private boolean progressDue;
  private long toldAt;

  /**
   * A role at this position of the chain.
   *
   * @param from the serial of the version start, which all members have
   */
  SecondaryRole(Replica replica, long version, List<Member> chain, int position, long from) {
    this.replica = replica;
    this.version = version;
    this.chain = chain;
    this.upstream = chain.get(position - 1).server();
    this.link = ChainLink.below(replica, version, chain, position, from);
    this.committed = from;
    this.toldAt = replica.now();
  }

  long version() {
    return version;
  }

  boolean isIn(List<Member> members) {
    return chain.equals(members);
  }

  ServerId primary() {
    return chain.get(0).server();
  }

  /** A mutation from above. */
  void forward(ServerId from, Forward forward) {
    if (!from.equals(upstream)) {
      return;
    }
    committed(forward.committedSerial()); // before it is passed on, so that it rides along
    Mutation mutation = forward.mutation();
    long last = replica.log.lastSerial();
    if (mutation.serial() == last + 1) {
      append(mutation);
      while (!heldBack.isEmpty() && heldBack.firstKey() == replica.log.lastSerial() + 1) {
        append(heldBack.pollFirstEntry().getValue());
      }
    } else if (mutation.serial() > last) {
      if (heldBack.size() < HELD_BACK) {
        heldBack.put(mutation.serial(), mutation);
      }
      progressDue = true;
    } else {
      diverged |= !same(mutation);
      progressDue = true; // it was lost on its way up, or this is its double
    }
  }

  private void append(Mutation mutation) {
    replica.append(mutation, false, link != null, null);
    if (link != null) {
      link.forwardNewest();
    }
  }

  /** Is this the mutation that is already here under its serial. */
  private boolean same(Mutation mutation) {
    if (mutation.serial() <= replica.log.committedSerial()) {
      return replica.log.versionAt(mutation.serial()) == mutation.version();
    }
    Mutation own = replica.log.pending(mutation.serial());
    return own.version() == mutation.version()
        && own.kind() == mutation.kind()
        && own.offset() == mutation.offset()
        && own.session().equals(mutation.session())
        && own.sequence() == mutation.sequence()
        && own.payloadBytes() == mutation.payloadBytes()
        && own.checksums().equals(mutation.checksums());
  }

  /** Everything up to this serial is committed, as the primary says. */
  void committed(long serial) {
    committed = Math.max(committed, serial);
    settle();
  }

  /**
   * The same, by a message of its own, which is passed on. Serial 0 asks how we are. What is known
   * already is not answered: the one above tells it again whenever it hears from us.
   */
  void committedAlone(ServerId from, long serial) {
    if (!from.equals(upstream)) {
      return;
    }
    progressDue |= serial == 0;
    committed(serial);
    if (link != null) {
      link.tellCommitted();
    }
  }

  void progress(ServerId from, ChainProgress progress) {
    if (link != null && link.next().equals(from)) {
      link.heard(progress);
      progressDue = true;
    }
  }

  void broken(ServerId peer) {
    if (link != null && link.next().equals(peer)) {
      link.broken();
      progressDue = true;
    }
  }

  /** Something became durable here. */
  void durable() {
    progressDue = true;
    settle();
  }

  private void settle() {
    long before = replica.log.committedSerial();
    if (replica.actsIn(version)) {
      replica.commitTo(committed);
    }
    if (link != null && replica.log.committedSerial() > before) {
      link.tellCommittedSoon();
    }
  }

  /** At the end of a step: tells the one above, once, whatever has changed. */
  void flush() {
    if (progressDue) {
      progressDue = false;
      toldAt = replica.now();
      Health health = diverged ? Health.DIVERGED : replica.health(version);
      // an acknowledgement re-checks the promise as it leaves
      long serial = replica.actsIn(version) ? replica.disk.durableSerial() : 0;
      MemberProgress own = new MemberProgress(replica.self.server(), serial, health);
      replica.send(
          upstream,
          new ChainProgress(
              replica.handle(), version, link == null ? List.of(own) : link.vector(own)));
    }
  }

  /** A higher version is promised: the one above is told, as the last thing in this role. */
  void end() {
    progressDue = true;
    flush();
  }

  boolean busy() {
    return replica.log.committedSerial() < replica.log.lastSerial()
        || !heldBack.isEmpty()
        || (link != null && link.busy());
  }

  long wakeAt() {
    return link == null ? Long.MAX_VALUE : link.tellCommittedAt();
  }

  void tick() {
    if (link != null) {
      link.tick();
    }
    if (busy() && replica.now() - toldAt >= PROGRESS_NANOS) {
      progressDue = true;
    }
  }
}
