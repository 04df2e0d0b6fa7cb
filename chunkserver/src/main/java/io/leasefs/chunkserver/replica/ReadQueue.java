package io.leasefs.chunkserver.replica;

import io.leasefs.chunkserver.replica.QueryBatch.WaitingRead;
import io.leasefs.chunkserver.replica.ReplicaImage.SealPoint;
import io.leasefs.common.api.ChunkApi.ReadMode;
import io.leasefs.common.api.ChunkApi.ReadRequest;
import io.leasefs.common.api.PeerMessage;
import io.leasefs.common.error.ErrorCode;
import io.leasefs.common.model.ChunkSeal;
import io.leasefs.common.model.ServerId;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** Which reads may be served, and which wait for what (protocol, section 7). */
final class ReadQueue {
  private static final long TIMEOUT_NANOS = 1_000_000_000;

  /** Most reads that wait at once. */
  private static final int MOST_WAITING = 4096;

  private final Replica replica;
  private final QueryBatch committedQueries = new QueryBatch(this::askCommitted);
  private final QueryBatch promiseQueries = new QueryBatch(this::askPromises);
  private final List<Unpublished> unpublished = new ArrayList<>();
  private @Nullable PrimaryRole primary;
  private @Nullable SecondaryRole secondary;
  private @Nullable Relay relay;

  /** Reads that may be served once this serial is published here. */
  private record Unpublished(long ticket, long since, long serial) {}

  /** A strict read's question that was passed down. */
  private record Relay(ServerId from, long version, long queryNumber) {}

  ReadQueue(Replica replica) {
    this.replica = replica;
  }

  /** The roles have changed; whoever waited is told to look again. */
  void roles(@Nullable PrimaryRole newPrimary, @Nullable SecondaryRole newSecondary) {
    if (primary != newPrimary || secondary != newSecondary) {
      primary = newPrimary;
      secondary = newSecondary;
      refuse(committedQueries.drain(), ErrorCode.STALE_VERSION, "the primary has changed");
      refuse(promiseQueries.drain(), ErrorCode.STALE_VERSION, "the primary has changed");
      unpublished.forEach(
          u -> refuse(u.ticket(), ErrorCode.STALE_VERSION, "the primary has changed"));
      unpublished.clear();
    }
  }

  /** A read has arrived. */
  void read(long ticket, ReadRequest request) {
    boolean ofContentOnly = request.seal().isPresent() || request.mode() == ReadMode.STALE_OK;
    if (!replica.sound() && !(ofContentOnly && replica.readable())) {
      refuse(ticket, ErrorCode.CORRUPT, "this copy is damaged");
    } else if (request.seal().isPresent()) {
      readSealed(ticket, request.seal().get());
    } else if (request.mode() == ReadMode.STALE_OK) {
      serve(ticket);
    } else if (!replica.actsIn(request.version())) {
      refuse(ticket, ErrorCode.STALE_VERSION, "not active at version " + request.version());
    } else {
      readOpen(ticket, request.mode());
    }
  }

  /** Its bytes never change: any holder of this very seal may serve it, whatever was promised. */
  private void readSealed(long ticket, ChunkSeal wanted) {
    SealPoint seal = replica.log.seal();
    if (seal == null || !same(seal, wanted)) {
      refuse(ticket, ErrorCode.STALE_VERSION, "does not hold the seal at " + wanted.serial());
      return;
    }
    replica.commitTo(seal.serial()); // only committed seals are logged, and so told to readers
    serve(ticket);
  }

  private boolean same(SealPoint seal, ChunkSeal wanted) {
    return seal.serial() == wanted.serial()
        && seal.lengthBytes() == wanted.lengthBytes()
        && (seal.checksum().isPresent()
            ? seal.checksum().get() == wanted.checksum()
            : replica.log.committedSerial() >= seal.serial());
  }

  private void readOpen(long ticket, ReadMode mode) {
    if (committedQueries.size() + promiseQueries.size() + unpublished.size() >= MOST_WAITING) {
      refuse(ticket, ErrorCode.BUSY, "too many reads wait");
    } else if (mode == ReadMode.STRICT) {
      readStrict(ticket);
    } else if (replica.log.sealed()) {
      serve(ticket); // and says that it is sealed: the reader asks the master what became of it
    } else if (primary != null && primary.leads()) {
      primary.use();
      serve(ticket);
    } else if (primary == null && secondary != null) {
      committedQueries.add(ticket, replica.now());
    } else {
      refuse(ticket, ErrorCode.NOT_PRIMARY, "no valid lease here, nor a primary to ask");
    }
  }

  private void readStrict(long ticket) {
    if (primary == null) {
      refuse(ticket, ErrorCode.NOT_PRIMARY, "a strict read goes to the primary");
    } else if (primary.next().isEmpty()) {
      serve(ticket); // alone, it has asked itself
    } else {
      primary.use();
      promiseQueries.add(ticket, replica.now());
    }
  }

  private void askCommitted(long number) {
    if (secondary != null) {
      replica.send(
          secondary.primary(),
          new PeerMessage.CommittedQuery(
              replica.handle(), replica.self.server(), secondary.version(), number));
    }
  }

  private void askPromises(long number) {
    if (primary != null && primary.next().isPresent()) {
      replica.send(
          primary.next().get(),
          new PeerMessage.PromiseQuery(
              replica.handle(), primary.version(), number, primary.members()));
    }
  }

  /** The primary has told what is committed. */
  void committedAnswer(ServerId from, PeerMessage.CommittedAnswer answer) {
    if (secondary == null
        || !from.equals(secondary.primary())
        || answer.version() != secondary.version()) {
      return;
    }
    List<WaitingRead> reads = committedQueries.answered(answer.queryNumber(), replica.now());
    if (!answer.valid()) {
      // What is committed stays so, whoever leads: perhaps that is the seal.
      secondary.committed(answer.serial());
      if (replica.log.sealed()) {
        reads.forEach(read -> serve(read.ticket()));
      } else {
        refuse(reads, ErrorCode.NOT_PRIMARY, "the primary has no valid lease");
      }
      return;
    }
    for (WaitingRead read : reads) {
      unpublished.add(new Unpublished(read.ticket(), read.since(), answer.serial()));
    }
    secondary.committed(answer.serial());
    published();
  }

  /** Serves whoever waited for what is published by now. */
  void published() {
    Iterator<Unpublished> each = unpublished.iterator();
    while (each.hasNext()) {
      Unpublished read = each.next();
      if (read.serial() <= replica.log.committedSerial()) {
        each.remove();
        serve(read.ticket());
      }
    }
  }

  /** Somebody above asks whether anyone has promised higher. */
  void promiseQuery(ServerId from, PeerMessage.PromiseQuery query) {
    int position = positionIn(query);
    if (position < 0 || !replica.actsIn(query.version())) {
      answerPromise(from, query.version(), query.queryNumber(), false);
    } else if (position == query.chain().size() - 1) {
      answerPromise(from, query.version(), query.queryNumber(), true);
    } else {
      relay = new Relay(from, query.version(), query.queryNumber());
      replica.send(query.chain().get(position + 1).server(), query);
    }
  }

  private int positionIn(PeerMessage.PromiseQuery query) {
    return query.chain().indexOf(replica.self);
  }

  private void answerPromise(ServerId to, long version, long number, boolean standing) {
    replica.send(to, new PeerMessage.PromiseAnswer(replica.handle(), version, number, standing));
  }

  /** Nobody from the sender down has promised higher, or somebody has. */
  void promiseAnswer(ServerId from, PeerMessage.PromiseAnswer answer) {
    boolean standing = answer.standing() && replica.actsIn(answer.version());
    if (primary != null && primary.version() == answer.version()) {
      if (primary.next().filter(from::equals).isPresent()) {
        promisesTold(answer.queryNumber(), standing);
      }
    } else if (relay != null
        && relay.version() == answer.version()
        && relay.queryNumber() == answer.queryNumber()) {
      answerPromise(relay.from(), answer.version(), answer.queryNumber(), standing);
      relay = null;
    }
  }

  private void promisesTold(long number, boolean standing) {
    List<WaitingRead> reads = promiseQueries.answered(number, replica.now());
    if (standing) {
      reads.forEach(read -> serve(read.ticket()));
    } else {
      refuse(reads, ErrorCode.STALE_VERSION, "a member has promised a higher version");
    }
  }

  private void serve(long ticket) {
    ChunkLog log = replica.log;
    replica.emit(
        new ReplicaAction.ServeRead(
            ticket,
            log.committedSerial(),
            log.committedLength(),
            log.versionAt(log.committedSerial()),
            log.committedSeal() != null));
  }

  private void refuse(List<WaitingRead> reads, ErrorCode code, String message) {
    reads.forEach(read -> refuse(read.ticket(), code, message));
  }

  private void refuse(long ticket, ErrorCode code, String message) {
    replica.emit(new ReplicaAction.RefuseRead(ticket, code, message));
  }

  void drop(long ticket) {
    committedQueries.drop(ticket);
    promiseQueries.drop(ticket);
    unpublished.removeIf(read -> read.ticket() == ticket);
  }

  void tick() {
    long now = replica.now();
    String late = "no answer in time";
    refuse(committedQueries.tick(now, TIMEOUT_NANOS), ErrorCode.TIMED_OUT, late);
    refuse(promiseQueries.tick(now, TIMEOUT_NANOS), ErrorCode.TIMED_OUT, late);
    Iterator<Unpublished> each = unpublished.iterator();
    while (each.hasNext()) {
      Unpublished read = each.next();
      if (now - read.since() >= TIMEOUT_NANOS) {
        each.remove();
        refuse(read.ticket(), ErrorCode.TIMED_OUT, late);
      }
    }
  }

  boolean busy() {
    return committedQueries.size() + promiseQueries.size() + unpublished.size() > 0;
  }
}
