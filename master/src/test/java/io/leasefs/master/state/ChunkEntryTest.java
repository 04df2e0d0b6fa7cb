package io.leasefs.master.state;

import static org.assertj.core.api.Assertions.assertThat;

import io.leasefs.common.model.ChunkHandle;
import io.leasefs.common.model.ChunkSeal;
import io.leasefs.common.model.ChunkSpec;
import io.leasefs.common.model.Configuration;
import io.leasefs.common.model.Durability;
import io.leasefs.common.model.FileId;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Test;

class ChunkEntryTest {
  private static ChunkEntry entry(long firstSerial, Optional<ChunkSeal> seal) {
    return new ChunkEntry(
        new ChunkSpec(new ChunkHandle(50), new FileId(7), 1 << 20, Durability.REPLICATED),
        0,
        3,
        new Configuration(3, Optional.empty(), List.of(), firstSerial),
        List.of(),
        Optional.empty(),
        Optional.empty(),
        seal,
        false,
        List.of(),
        1);
  }

  @Test
  void sealThatIsOlderThanTheActiveVersionDoesNotHideTheVersionStart() {
    assertThat(entry(91, Optional.of(new ChunkSeal(90, 1_000, 1))).committedSerial()).isEqualTo(91);
    assertThat(entry(80, Optional.of(new ChunkSeal(90, 1_000, 1))).committedSerial()).isEqualTo(90);
    assertThat(entry(80, Optional.empty()).committedSerial()).isEqualTo(80);
  }
}
