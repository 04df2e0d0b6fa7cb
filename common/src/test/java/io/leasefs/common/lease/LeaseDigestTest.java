package io.leasefs.common.lease;

import static org.assertj.core.api.Assertions.assertThat;

import io.leasefs.common.model.ChunkHandle;
import java.util.HashSet;
import java.util.Set;
import org.junit.jupiter.api.Test;

class LeaseDigestTest {
  @Test
  void neighboursDiffer() {
    Set<Long> seen = new HashSet<>();
    for (long chunk = 0; chunk < 20; chunk++) {
      for (long version = 0; version < 20; version++) {
        for (long token = 0; token < 20; token++) {
          seen.add(LeaseDigest.of(new ChunkHandle(chunk), version, token));
        }
      }
    }
    assertThat(seen).hasSize(8000);
  }

  @Test
  void isTheSameOnEveryServer() {
    assertThat(LeaseDigest.of(new ChunkHandle(0x51c), 9, 77)).isEqualTo(8497141211789668770L);
  }
}
