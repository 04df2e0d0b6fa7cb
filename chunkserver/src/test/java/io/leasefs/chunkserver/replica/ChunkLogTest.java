package io.leasefs.chunkserver.replica;

import static io.leasefs.chunkserver.replica.TestChain.FILE;
import static io.leasefs.chunkserver.replica.TestChain.SPEC;
import static io.leasefs.chunkserver.replica.TestChain.member;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.leasefs.common.api.Frame;
import io.leasefs.common.api.Heartbeat.Certainty;
import io.leasefs.common.api.Mutation;
import io.leasefs.common.api.MutationKind;
import io.leasefs.common.api.VersionStart;
import io.leasefs.common.checksum.Checksums;
import io.leasefs.common.model.SessionId;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;

class ChunkLogTest {
  private static ChunkLog empty() {
    return new ChunkLog(ReplicaImage.newborn(SPEC, member("a"), Certainty.CERTAIN));
  }

  private static Mutation start(long version, long serial) {
    return mutation(version, serial, MutationKind.VERSION_START, 0, 0, 0, 0, 0, 0);
  }

  private static Mutation append(long version, long serial) {
    return mutation(version, serial, MutationKind.APPEND, 5, serial, 0, serial, 0, 1);
  }

  private static Mutation mutation(
      long version,
      long serial,
      MutationKind kind,
      long session,
      long sequence,
      long floor,
      long length,
      long detail,
      int bytes) {
    ByteBuffer payload = ByteBuffer.allocate(bytes);
    return new Mutation(
        version,
        serial,
        kind,
        0,
        FILE,
        new SessionId(session),
        sequence,
        floor,
        length,
        detail,
        Checksums.of(payload, Frame.PIECE),
        payload);
  }

  @Test
  void ordersAgreeUpToTheShorterEndOfTheLastVersionBothStartedAlike() {
    ChunkLog log = empty();
    log.append(append(1, 1));
    log.append(append(1, 2));
    log.append(start(3, 3));
    log.append(append(3, 4));
    VersionStart one = new VersionStart(1, 0);
    assertThat(log.commonWith(List.of(one), 1)).isEqualTo(1);
    assertThat(log.commonWith(List.of(one), 9)).isEqualTo(2);
    assertThat(log.commonWith(List.of(one, new VersionStart(2, 2)), 9)).isEqualTo(1);
    assertThat(log.commonWith(List.of(one, new VersionStart(3, 3)), 3)).isEqualTo(3);
    assertThat(log.commonWith(List.of(one, new VersionStart(3, 3)), 9)).isEqualTo(4);
    assertThat(log.commonWith(List.of(one, new VersionStart(3, 3), new VersionStart(4, 4)), 9))
        .isEqualTo(3);
  }

  /** Simulation, seed 7645: the two copies had different dead sessions. */
  @Test
  void whoIsDeclaredDeadAfterForgettingIsSoWheneverThatIsCommitted() {
    ByteBuffer nobody = ByteBuffer.allocate(0);
    Mutation forget =
        new Mutation(
            1,
            1,
            MutationKind.FORGET,
            9,
            FILE,
            new SessionId(0),
            0,
            0,
            0,
            0,
            Checksums.of(nobody, Frame.PIECE),
            nobody);
    Mutation dead = mutation(1, 2, MutationKind.DEAD, 0, 0, 0, 0, 5, 0);
    ChunkLog early = empty();
    early.append(forget);
    early.commit(1);
    early.append(dead);
    early.commit(2);
    ChunkLog late = empty();
    late.append(forget);
    late.append(dead);
    late.commit(2);

    assertThat(early.snapshot().deadSessions()).containsExactly(new SessionId(5));
    assertThat(late.snapshot()).isEqualTo(early.snapshot());
  }

  @Test
  void whatIsCommittedIsNeverCut() {
    ChunkLog log = empty();
    log.append(append(1, 1));
    log.commit(1);
    assertThatThrownBy(() -> log.cut(0)).isInstanceOf(IllegalStateException.class);
  }

  /** One path for all: a cut leaves what would be there had the rest never come. */
  @Test
  void cutLeavesTheStateOfThoseThatStay() {
    for (int seed = 0; seed < 300; seed++) {
      Random random = new Random(seed);
      List<Mutation> all = mutations(random);
      int committed = random.nextInt(all.size() + 1);
      int left = committed + random.nextInt(all.size() - committed + 1);
      ChunkLog log = empty();
      all.forEach(log::append);
      log.commit(committed);
      log.cut(left);
      log.invariant();
      ChunkLog fresh = empty();
      all.subList(0, left).forEach(fresh::append);
      fresh.commit(committed);
      assertSame(log, fresh, seed);
      log.commit(left);
      fresh.commit(left);
      assertSame(log, fresh, seed);
      ChunkLog reloaded =
          new ChunkLog(
              new ReplicaImage(
                  SPEC, member("a"), 1, false, Certainty.CERTAIN, log.snapshot(), left, List.of()));
      assertThat(reloaded.snapshot()).as("seed %d", seed).isEqualTo(log.snapshot());
    }
  }

  private static void assertSame(ChunkLog one, ChunkLog other, int seed) {
    assertThat(one.snapshot()).as("seed %d", seed).isEqualTo(other.snapshot());
    assertThat(one.history()).as("seed %d", seed).isEqualTo(other.history());
    assertThat(one.lastSerial()).isEqualTo(other.lastSerial());
    assertThat(one.lastLength()).isEqualTo(other.lastLength());
    assertThat(one.seal()).isEqualTo(other.seal());
    assertThat(one.fence()).isEqualTo(other.fence());
    assertThat(one.pendingBytes()).isEqualTo(other.pendingBytes());
    for (long session = 1; session <= 3; session++) {
      SessionId id = new SessionId(session);
      assertThat(one.table().floor(id)).isEqualTo(other.table().floor(id));
      assertThat(one.table().deadSince(id)).isEqualTo(other.table().deadSince(id));
    }
  }

  private static List<Mutation> mutations(Random random) {
    List<Mutation> all = new ArrayList<>();
    long version = 1;
    long length = 0;
    long[] next = {0, 1, 1, 1};
    for (int serial = 1; serial <= 30; serial++) {
      int session = 1 + random.nextInt(3);
      switch (random.nextInt(8)) {
        case 0 -> {
          version++;
          long flags = random.nextInt(3); // plain, seals, reopens
          Mutation plain =
              mutation(version, serial, MutationKind.VERSION_START, 0, 0, 0, length, version, 0);
          all.add(withOffset(plain, flags));
        }
        case 1 ->
            all.add(mutation(version, serial, MutationKind.DEAD, 0, 0, 0, length, session, 0));
        case 2 -> {
          long target = next[session]++;
          all.add(
              withOffset(
                  mutation(
                      version,
                      serial,
                      MutationKind.ABORT,
                      session,
                      next[session]++,
                      0,
                      length,
                      0,
                      0),
                  target));
        }
        case 3 ->
            all.add(
                withOffset(
                    mutation(version, serial, MutationKind.FORGET, 0, 0, 0, length, 0, 0),
                    random.nextInt(3)));
        default -> {
          long floor = Math.max(0, next[session] - random.nextInt(4));
          length += 3;
          all.add(
              mutation(
                  version,
                  serial,
                  MutationKind.APPEND,
                  session,
                  next[session]++,
                  floor,
                  length,
                  0,
                  3));
        }
      }
    }
    return all;
  }

  private static Mutation withOffset(Mutation m, long offset) {
    return new Mutation(
        m.version(),
        m.serial(),
        m.kind(),
        offset,
        m.file(),
        m.session(),
        m.sequence(),
        m.floor(),
        m.chunkLength(),
        m.detail(),
        m.checksums(),
        m.payload());
  }
}
