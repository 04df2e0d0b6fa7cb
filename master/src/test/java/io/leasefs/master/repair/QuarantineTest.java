package io.leasefs.master.repair;

import static org.assertj.core.api.Assertions.assertThat;

import io.leasefs.common.api.AdminApi.QuarantineReason;
import io.leasefs.common.model.ChunkHandle;
import io.leasefs.common.model.Ordinal;
import org.junit.jupiter.api.Test;

class QuarantineTest {
  @Test
  void unknownChunkOfAnEarlierGenerationIsKeptForEver() {
    ChunkHandle early = new ChunkHandle(50);
    assertThat(Quarantine.ofUnknown(early, 0)).isEqualTo(QuarantineReason.UNKNOWN);
    assertThat(Quarantine.ofUnknown(early, 1)).isEqualTo(QuarantineReason.LOST);
    assertThat(Quarantine.ofUnknown(new ChunkHandle(Ordinal.of(1, 60)), 1))
        .isEqualTo(QuarantineReason.UNKNOWN);
  }

  @Test
  void withoutARaisedGenerationNoCopyIsAheadByThis() {
    assertThat(Quarantine.isAhead(3, 5, 6)).isFalse();
    assertThat(Quarantine.isAhead(7, 5, 6)).isFalse(); // a promise of a change that is not logged
  }

  @Test
  void versionAboveTheActiveOneOfBeforeIsAhead() {
    long last = Ordinal.of(1, 4);
    assertThat(Quarantine.isAhead(3, 3, last)).isFalse();
    assertThat(Quarantine.isAhead(4, 3, last)).isTrue();
  }

  @Test
  void onceTheChunkHasGoneOnAnyVersionOfBeforeIsAhead() {
    long active = Ordinal.of(1, 5);
    assertThat(Quarantine.isAhead(2, active, active)).isTrue();
    assertThat(Quarantine.isAhead(Ordinal.of(1, 4), active, active)).isFalse();
  }

  @Test
  void raisedAgainVersionsOfTheLastGenerationAreJudgedLikewise() {
    long last = Ordinal.of(2, 9);
    long active = Ordinal.of(1, 8);
    assertThat(Quarantine.isAhead(Ordinal.of(1, 9), active, last)).isTrue();
    assertThat(Quarantine.isAhead(Ordinal.of(1, 8), active, last)).isFalse();
  }
}
