package io.leasefs.chunkserver.replica;

import static io.leasefs.chunkserver.replica.TestChain.MILLI;
import static org.assertj.core.api.Assertions.assertThat;

import io.leasefs.chunkserver.replica.TestChain.Node;
import io.leasefs.common.api.ChunkApi.ReadMode;
import io.leasefs.common.api.ChunkApi.ReadRequest;
import io.leasefs.common.api.Heartbeat;
import io.leasefs.common.error.ErrorCode;
import io.leasefs.common.model.ChunkSeal;
import java.util.Optional;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/**
 *
 *
 * <pre>
 *   client -> a (primary) -> b -> c        version 1; readers ask any of them
 * </pre>
 */
class ReadsTest {
  private final TestChain chain = new TestChain("a", "b", "c");
  private final Node a = chain.node("a");
  private final Node b = chain.node("b");
  private final Node c = chain.node("c");
  private boolean leaseValid = true;
  private long tickets = 1000;

  @BeforeEach
  void grant() {
    a.step(new ReplicaEvent.Granted(TestChain.grant(1, 0, "a", "b", "c"), at -> leaseValid));
    chain.append("a", 1, 5, 1, "hello");
    chain.deliverAll();
  }

  private long read(Node at, long version, ReadMode mode, Optional<ChunkSeal> seal) {
    long ticket = ++tickets;
    at.step(
        new ReplicaEvent.ReadArrived(
            ticket, new ReadRequest(TestChain.CHUNK, version, seal, 0, 100, mode)));
    return ticket;
  }

  private long read(Node at, ReadMode mode) {
    return read(at, 1, mode, Optional.empty());
  }

  private static Optional<ReplicaAction.ServeRead> served(Node at, long ticket) {
    return at.all(ReplicaAction.ServeRead.class).stream()
        .filter(s -> s.ticket() == ticket)
        .findFirst();
  }

  private static Optional<ErrorCode> refusal(Node at, long ticket) {
    return at.all(ReplicaAction.RefuseRead.class).stream()
        .filter(s -> s.ticket() == ticket)
        .map(ReplicaAction.RefuseRead::code)
        .findFirst();
  }

  @Test
  void primaryServesCommittedBytesUnderItsLease() {
    chain.append("a", 1, 5, 2, "pending");
    long ticket = read(a, ReadMode.DEFAULT);
    assertThat(served(a, ticket)).contains(new ReplicaAction.ServeRead(ticket, 1, 5, 1, false));
  }

  @Test
  @Tag("F41")
  void primaryWhoseLeaseIsOverServesNoLeaseRead() {
    leaseValid = false;
    long ticket = read(a, ReadMode.DEFAULT);
    assertThat(refusal(a, ticket)).contains(ErrorCode.NOT_PRIMARY);
  }

  @Test
  void secondaryAsksThePrimaryAfterTheReadArrived() {
    assertThat(c.committed()).isZero();
    long ticket = read(c, ReadMode.DEFAULT);
    assertThat(served(c, ticket)).isEmpty();
    chain.deliverAll();
    assertThat(served(c, ticket)).map(ReplicaAction.ServeRead::serial).contains(1L);
  }

  @Test
  void readThatArrivesWhileAQuestionIsOutWaitsForTheNextOne() {
    long first = read(c, ReadMode.DEFAULT);
    long second = read(c, ReadMode.DEFAULT);
    chain.deliver(chain.network.remove()); // the question
    chain.deliver(chain.network.remove()); // its answer
    assertThat(served(c, first)).isPresent();
    assertThat(served(c, second)).isEmpty();
    chain.deliverAll();
    assertThat(served(c, second)).isPresent();
  }

  @Test
  void secondaryIsRefusedWhereThePrimaryHasNoLease() {
    leaseValid = false;
    long ticket = read(c, ReadMode.DEFAULT);
    chain.deliverAll();
    assertThat(refusal(c, ticket)).contains(ErrorCode.NOT_PRIMARY);
  }

  @Test
  void readTimesOutWhereThePrimaryIsSilent() {
    chain.cut.add("a");
    long ticket = read(c, ReadMode.DEFAULT);
    chain.pass(1200 * MILLI);
    assertThat(refusal(c, ticket)).contains(ErrorCode.TIMED_OUT);
  }

  @Test
  void readOfAnotherVersionIsStale() {
    assertThat(refusal(a, read(a, 2, ReadMode.DEFAULT, Optional.empty())))
        .contains(ErrorCode.STALE_VERSION);
  }

  @Test
  void strictReadNeedsNoLeaseButEveryMembersWord() {
    leaseValid = false;
    long ticket = read(a, ReadMode.STRICT);
    assertThat(served(a, ticket)).isEmpty();
    chain.deliverAll();
    assertThat(served(a, ticket)).isPresent();
  }

  @Test
  void strictReadIsRefusedOnceAnyMemberHasPromisedHigher() {
    chain.seal(2, "c");
    chain.network.clear();
    long ticket = read(a, ReadMode.STRICT);
    chain.deliverAll();
    assertThat(served(a, ticket)).isEmpty();
    assertThat(refusal(a, ticket)).contains(ErrorCode.STALE_VERSION);
  }

  @Test
  void staleReadIsServedByAnyMember() {
    long ticket = read(c, 9, ReadMode.STALE_OK, Optional.empty());
    assertThat(served(c, ticket)).isPresent();
  }

  @Test
  void sealedChunkIsServedByAnyHolderOfThatSealWhateverItPromisedSince() {
    a.step(new ReplicaEvent.Commanded(new Heartbeat.CloseCommand(TestChain.CHUNK, 1)));
    chain.pass(100 * MILLI);
    ChunkSeal seal = c.core.report().seal().orElseThrow();
    chain.seal(2, "c");
    long ticket = read(c, 1, ReadMode.DEFAULT, Optional.of(seal));
    assertThat(served(c, ticket)).contains(new ReplicaAction.ServeRead(ticket, 2, 5, 1, true));
    ChunkSeal other = new ChunkSeal(seal.serial(), seal.lengthBytes() + 1, seal.checksum());
    assertThat(refusal(c, read(c, 1, ReadMode.DEFAULT, Optional.of(other))))
        .contains(ErrorCode.STALE_VERSION);
  }

  @Test
  void copyWithBadBlocksServesTheOthersAndActsNoMore() {
    a.step(new ReplicaEvent.Commanded(new Heartbeat.CloseCommand(TestChain.CHUNK, 1)));
    chain.pass(100 * MILLI);
    ChunkSeal seal = c.core.report().seal().orElseThrow();
    c.step(new ReplicaEvent.DamageFound("block 0 does not match"));

    assertThat(served(c, read(c, 1, ReadMode.DEFAULT, Optional.of(seal)))).isPresent();
    assertThat(served(c, read(c, ReadMode.STALE_OK))).isPresent();
    assertThat(refusal(c, read(c, ReadMode.DEFAULT))).contains(ErrorCode.CORRUPT);
    assertThat(c.core.report().state()).isEqualTo(Heartbeat.ReplicaState.DAMAGED);
  }

  @Test
  void copyWhoseDiskHasFailedServesNothing() {
    b.step(new ReplicaEvent.DamageFound("block 0 does not match"));
    b.step(new ReplicaEvent.DiskFailed("cannot write"));
    assertThat(refusal(b, read(b, ReadMode.STALE_OK))).contains(ErrorCode.CORRUPT);
  }

  @Test
  void droppedReadIsNeverAnswered() {
    long ticket = read(c, ReadMode.DEFAULT);
    c.step(new ReplicaEvent.TicketDropped(ticket));
    chain.deliverAll();
    assertThat(served(c, ticket)).isEmpty();
    assertThat(refusal(c, ticket)).isEmpty();
  }
}
