package io.leasefs.chunkserver.copy;

import static org.assertj.core.api.Assertions.assertThat;

import io.leasefs.common.model.ChunkHandle;
import io.leasefs.common.model.ReplicaId;
import org.junit.jupiter.api.Test;

class CopyPausesTest {
  private static final ChunkHandle CHUNK = new ChunkHandle(7);
  private static final ReplicaId LEARNER = new ReplicaId(70);

  private final CopyPauses pauses = new CopyPauses();

  @Test
  void copyThatFailsAllTheTimeIsTriedEveryTenSecondsInTheEnd() {
    long now = 0;
    int tries = 0;
    // the order is repeated every 100 ms
    for (; now < 600_000_000_000L; now += 100_000_000L) {
      if (pauses.mayBegin(CHUNK, LEARNER, now)) {
        tries++;
        pauses.failed(CHUNK, LEARNER, now);
      }
    }
    assertThat(tries).isBetween(60, 70);
  }

  @Test
  void otherCopyOfTheChunkIsTriedAtOnce() {
    pauses.failed(CHUNK, LEARNER, 0);

    assertThat(pauses.mayBegin(CHUNK, LEARNER, 1)).isFalse();
    assertThat(pauses.mayBegin(CHUNK, new ReplicaId(71), 1)).isTrue();
    assertThat(pauses.mayBegin(new ChunkHandle(8), LEARNER, 1)).isTrue();
  }

  @Test
  void pausesBeginAnewOnceTheCopyIsHere() {
    pauses.failed(CHUNK, LEARNER, 0);
    assertThat(pauses.failed(CHUNK, LEARNER, 0)).isEqualTo(2 * CopyPauses.FIRST_NANOS);
    pauses.done(CHUNK);

    assertThat(pauses.mayBegin(CHUNK, LEARNER, 0)).isTrue();
    assertThat(pauses.failed(CHUNK, LEARNER, 0)).isEqualTo(CopyPauses.FIRST_NANOS);
  }

  @Test
  void onlySoManyFailuresAreRemembered() {
    for (int i = 0; i <= CopyPauses.MOST; i++) {
      pauses.failed(new ChunkHandle(100 + i), LEARNER, 0);
    }
    assertThat(pauses.mayBegin(new ChunkHandle(100), LEARNER, 0)).isTrue();
    assertThat(pauses.mayBegin(new ChunkHandle(101), LEARNER, 0)).isFalse();
  }
}
