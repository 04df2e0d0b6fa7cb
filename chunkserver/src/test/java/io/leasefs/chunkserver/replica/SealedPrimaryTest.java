package io.leasefs.chunkserver.replica;

import static io.leasefs.chunkserver.replica.TestChain.MILLI;
import static org.assertj.core.api.Assertions.assertThat;

import io.leasefs.chunkserver.replica.TestChain.Node;
import io.leasefs.common.api.ChunkApi.ReadMode;
import io.leasefs.common.api.ChunkApi.ReadRequest;
import io.leasefs.common.api.FrameAnswer;
import io.leasefs.common.api.Heartbeat;
import io.leasefs.common.api.PeerMessage;
import io.leasefs.common.error.ErrorCode;
import io.leasefs.common.model.EventKind;
import java.util.Optional;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/**
 * What a primary is whose chunk is sealed, while its lease runs on: none (protocol, E3). The master
 * may have ended that lease with the seal, and have the chunk opened again elsewhere.
 *
 * <pre>
 *   client -> a (primary, its lease never ends) -> b -> c        version 1, one record
 * </pre>
 */
class SealedPrimaryTest {
  private final TestChain chain = new TestChain("a", "b", "c");
  private final Node a = chain.node("a");
  private final Node c = chain.node("c");
  private long tickets = 1000;

  @BeforeEach
  void grant() {
    chain.grantTo(1, 0, "a", "b", "c");
    chain.append("a", 1, 5, 1, "hello");
    chain.pass(100 * MILLI);
    assertThat(leads()).isTrue();
  }

  private boolean leads() {
    return a.core.leads(chain.now);
  }

  private void close() {
    a.step(new ReplicaEvent.Commanded(new Heartbeat.CloseCommand(TestChain.CHUNK, 1)));
  }

  private long readOpen(Node at) {
    long ticket = ++tickets;
    ReadRequest request =
        new ReadRequest(TestChain.CHUNK, 1, Optional.empty(), 0, 100, ReadMode.DEFAULT);
    at.step(new ReplicaEvent.ReadArrived(ticket, request));
    return ticket;
  }

  private static Optional<ReplicaAction.ServeRead> served(Node at, long ticket) {
    return at.all(ReplicaAction.ServeRead.class).stream()
        .filter(s -> s.ticket() == ticket)
        .findFirst();
  }

  @Test
  void leadsUntilAllHaveTheSealAndNoLongerFromThenOn() {
    c.diskRuns = false;
    close();
    chain.deliverAll();
    assertThat(leads()).as("c does not have it: nobody was told of it").isTrue();

    c.runDisk();
    chain.deliverAll();

    assertThat(leads()).isFalse();
    assertThat(a.all(ReplicaAction.Note.class))
        .filteredOn(note -> note.kind() == EventKind.HOLDER_ENDED)
        .containsExactly(new ReplicaAction.Note(EventKind.HOLDER_ENDED, 1, chain.now));
  }

  @Test
  void answersNoMemberThatAsksWhatIsCommitted() {
    close();
    chain.deliverAll();
    assertThat(leads()).isFalse();
    assertThat(c.committed()).as("the news of the commit has not left").isEqualTo(1);

    long ticket = readOpen(c);
    chain.deliver(chain.network.remove()); // the question

    assertThat(chain.network.remove().message())
        .isEqualTo(
            new PeerMessage.CommittedAnswer(
                TestChain.CHUNK, 1, 1, false, a.committed(), a.core.report().lengthBytes()));
    assertThat(served(c, ticket)).isEmpty();
  }

  @Test
  void memberThatHearsSoServesTheReadAsOfASealedChunk() {
    close();
    chain.deliverAll();
    long ticket = readOpen(c);
    chain.deliverAll();
    assertThat(served(c, ticket)).contains(new ReplicaAction.ServeRead(ticket, 2, 5, 1, true));
  }

  /** Its seal may lack a copy for ever: until it is committed the lease is all that counts. */
  @Test
  void memberThatHasTheSealOfAPrimaryWithoutALeaseServesNothing() {
    chain.node("b").diskRuns = false;
    close();
    chain.deliverAll();
    a.step(new ReplicaEvent.LeaseOver(1));
    long ticket = readOpen(c);
    chain.deliverAll();
    assertThat(served(c, ticket)).isEmpty();
    assertThat(c.all(ReplicaAction.RefuseRead.class))
        .filteredOn(refused -> refused.ticket() == ticket)
        .extracting(ReplicaAction.RefuseRead::code)
        .containsExactly(ErrorCode.NOT_PRIMARY);
  }

  @Test
  void servesOpenReadsAsOfASealedChunkLikeAnyMember() {
    close();
    chain.pass(100 * MILLI);
    for (Node at : chain.nodes.values()) {
      long ticket = readOpen(at);
      assertThat(served(at, ticket))
          .as("at %s, which asks nobody", at.self)
          .contains(new ReplicaAction.ServeRead(ticket, 2, 5, 1, true));
    }
  }

  @Test
  void givesNoSerialAnyMoreAndSaysThatTheChunkIsFull() {
    close();
    chain.pass(100 * MILLI);

    long later = chain.append("a", 1, 5, 2, "later");
    long again = chain.append("a", 1, 5, 1, "hello");

    assertThat(a.answer(later))
        .containsInstanceOf(FrameAnswer.ChunkFull.class)
        .map(full -> ((FrameAnswer.ChunkFull) full).seal())
        .isEqualTo(a.core.report().seal());
    assertThat(a.answer(again)).contains(new FrameAnswer.Applied(0, 1, 1, Optional.empty()));
    assertThat(a.last()).isEqualTo(2);
  }

  @Test
  void frameThatComesBeforeTheSealsChecksumWaitsForIt() {
    a.diskRuns = false;
    close();
    a.runOne(); // its own append; the checksum of the content is still being computed
    chain.deliverAll();
    assertThat(leads()).isFalse();
    long early = chain.append("a", 1, 5, 2, "early");
    assertThat(a.answer(early)).isEmpty();
    a.runDisk();
    assertThat(a.answer(early)).containsInstanceOf(FrameAnswer.ChunkFull.class);
  }

  @Test
  void leadsAgainInTheVersionThatOpensTheChunk() {
    close();
    chain.pass(100 * MILLI);
    chain.seal(2, "a", "b", "c");
    chain.recover("a", 2, false, true, "b", "c");
    chain.deliverAll();
    assertThat(leads()).as("not before it is granted").isFalse();

    chain.grantTo(2, 3, "a", "b", "c");

    assertThat(leads()).isTrue();
    long next = chain.append("a", 2, 5, 2, " again");
    chain.deliverAll();
    assertThat(a.answer(next)).contains(new FrameAnswer.Applied(5, 2, 4, Optional.empty()));
  }
}
