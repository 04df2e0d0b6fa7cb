package io.leasefs.common.lease;

import static org.assertj.core.api.Assertions.assertThat;

import io.leasefs.common.model.ChunkHandle;
import java.util.HashSet;
import java.util.Set;
import org.junit.jupiter.api.Test;

class LeaseDigestTest {
  @Test
  void neighboursAllDiffer() {
    Set<Long> seen = new HashSet<>();
    for (int chunk = 0; chunk < 20; chunk++) {
      for (int version = 1; version <= 20; version++) {
        for (int token = 0; token < 20; token++) {
          seen.add(LeaseDigest.of(new ChunkHandle(chunk), version, token));
        }
      }
    }
    assertThat(seen).hasSize(20 * 20 * 20).doesNotContain(0L);
  }

  @Test
  void valueIsPartOfTheContractBetweenServersOfDifferentBuilds() {
    assertThat(LeaseDigest.of(new ChunkHandle(0x51c), 8, 33)).isEqualTo(2052440690068722168L);
  }
}
