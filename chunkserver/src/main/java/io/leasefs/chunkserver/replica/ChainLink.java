package io.leasefs.chunkserver.replica;

import io.leasefs.common.api.Mutation;
import io.leasefs.common.api.PeerMessage;
import io.leasefs.common.api.PeerMessage.Health;
import io.leasefs.common.api.PeerMessage.MemberProgress;
import io.leasefs.common.lease.LeaseTerms;
import io.leasefs.common.model.Member;
import io.leasefs.common.model.ServerId;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * A member's link to the next one down the chain: what was sent to it, how far it and all below it
 * are, and what is sent again after a loss.
 */
final class ChainLink {
  /** Standing still this long, while more was sent, means that something was lost. */
  private static final long RESEND_NANOS = 300_000_000;

  /** How long news of a commit may wait for a frame to ride on. */
  private static final long COMMITTED_ALONE_NANOS = 20_000_000;

  /** Most mutations under way while a loss is made up for. */
  private static final int RESEND_WINDOW = 32;

  private final Replica replica;
  private final long version;
  private final List<Member> chain;
  private final ServerId next;

  /** Of the next member and all below it, in chain order. */
  private final ServerId[] servers;

  private final long[] serials;
  private final Health[] healths;

  private long sent;
  private boolean resending;
  private long resentAt = Long.MIN_VALUE;
  private long progressedAt;
  private long heardAt;
  private long toldCommitted;
  private long tellCommittedAt = Long.MAX_VALUE;

  private ChainLink(Replica replica, long version, List<Member> chain, int position, long from) {
    this.replica = replica;
    this.version = version;
    this.chain = chain;
    int below = chain.size() - position - 1;
    servers = new ServerId[below];
    serials = new long[below];
    healths = new Health[below];
    for (int i = 0; i < below; i++) {
      servers[i] = chain.get(position + 1 + i).server();
      serials[i] = from;
      healths[i] = Health.GOOD;
    }
    next = servers[0];
    sent = Math.max(from, replica.log.committedSerial());
    toldCommitted = from;
    progressedAt = replica.now();
    heardAt = replica.now();
  }

  /**
   * The link below the member at this position; null where it is the last.
   *
   * @param from the serial that every member of the chain is known to have
   */
  static @Nullable ChainLink below(
      Replica replica, long version, List<Member> chain, int position, long from) {
    return position + 1 < chain.size()
        ? new ChainLink(replica, version, chain, position, from)
        : null;
  }

  ServerId next() {
    return next;
  }

  int size() {
    return servers.length;
  }

  ServerId server(int index) {
    return servers[index];
  }

  long serial(int index) {
    return serials[index];
  }

  Health health(int index) {
    return healths[index];
  }

  /** The last serial that all below have. */
  long lowestSerial() {
    long lowest = Long.MAX_VALUE;
    for (long serial : serials) {
      lowest = Math.min(lowest, serial);
    }
    return lowest;
  }

  /** Sends the newest mutation on, unless an earlier one has to be made up for first. */
  void forwardNewest() {
    long last = replica.log.lastSerial();
    if (serials[0] >= last - 1) {
      progressedAt = replica.now();
      heardAt = Math.max(heardAt, replica.now());
    }
    if (resending) {
      pump();
    } else {
      while (sent < last) {
        send(++sent);
      }
    }
  }

  private void pump() {
    sent = Math.max(sent, replica.log.committedSerial());
    long last = replica.log.lastSerial();
    while (sent < last && sent - serials[0] < RESEND_WINDOW) {
      send(++sent);
    }
    resending = sent < last;
  }

  private void send(long serial) {
    Mutation mutation = replica.log.pending(serial);
    toldCommitted = replica.log.committedSerial();
    tellCommittedAt = Long.MAX_VALUE;
    replica.send(next, new PeerMessage.Forward(replica.spec, chain, toldCommitted, mutation));
  }

  /** The commit has moved on, or somebody below seems not to know. */
  void tellCommittedSoon() {
    tellCommittedAt = Math.min(tellCommittedAt, replica.now() + COMMITTED_ALONE_NANOS);
  }

  /** Tells it now, where it was not told. */
  void tellCommitted() {
    tellCommittedAt = Long.MAX_VALUE;
    toldCommitted = replica.log.committedSerial();
    replica.send(next, new PeerMessage.Committed(replica.handle(), version, toldCommitted));
  }

  /** The next one tells how it is. */
  private void ask() {
    replica.send(next, new PeerMessage.Committed(replica.handle(), version, 0));
  }

  /** Takes in how far they are. Serials never go down: what was journalled stays so. */
  void heard(PeerMessage.ChainProgress progress) {
    heardAt = replica.now();
    for (MemberProgress member : progress.members()) {
      for (int i = 0; i < servers.length; i++) {
        if (servers[i].equals(member.server())) {
          take(i, member);
        }
      }
    }
    if (resending) {
      pump();
    }
    if (healths[0] == Health.GOOD && replica.log.committedSerial() == replica.log.lastSerial()) {
      tellCommittedSoon(); // or else it is asked how it is, from time to time
    }
  }

  private void take(int index, MemberProgress member) {
    healths[index] = member.health();
    long serial = Math.min(member.lastSerial(), replica.log.lastSerial());
    if (serial > serials[index]) {
      serials[index] = serial;
      if (index == 0) {
        progressedAt = replica.now();
      }
    }
  }

  /** Somebody below has little room left. */
  boolean nearlyFull() {
    for (Health health : healths) {
      if (health == Health.NEARLY_FULL) {
        return true;
      }
    }
    return false;
  }

  /** The stream to the next member broke. */
  void broken() {
    healths[0] = Health.UNREACHABLE;
  }

  /** The next member has been given something that it has not acknowledged. */
  boolean waiting() {
    return serials[0] < replica.log.lastSerial();
  }

  /** True while anything here needs a look from time to time. */
  boolean busy() {
    return waiting() || !healths[0].works() || tellCommittedAt != Long.MAX_VALUE;
  }

  long tellCommittedAt() {
    return tellCommittedAt;
  }

  void tick() {
    long now = replica.now();
    if (now >= tellCommittedAt) {
      tellCommitted();
    }
    if (!waiting()) {
      if (!healths[0].works() && resendDue(now)) {
        resentAt = now;
        ask();
      }
      return;
    }
    if (now - heardAt >= LeaseTerms.WRITE_TIMEOUT_NANOS
        && now - progressedAt >= LeaseTerms.WRITE_TIMEOUT_NANOS
        && healths[0].works()) {
      healths[0] = Health.UNREACHABLE;
    }
    if (now - progressedAt >= RESEND_NANOS && resendDue(now)) {
      resentAt = now;
      sent = serials[0];
      pump();
    }
  }

  private boolean resendDue(long now) {
    return resentAt == Long.MIN_VALUE || now - resentAt >= RESEND_NANOS;
  }

  /** This member's and everybody's below, for the one above. */
  List<MemberProgress> vector(MemberProgress own) {
    List<MemberProgress> members = new ArrayList<>(servers.length + 1);
    members.add(own);
    for (int i = 0; i < servers.length; i++) {
      members.add(new MemberProgress(servers[i], serials[i], healths[i]));
    }
    return members;
  }
}
