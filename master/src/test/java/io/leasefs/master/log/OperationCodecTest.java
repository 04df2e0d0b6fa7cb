package io.leasefs.master.log;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.leasefs.common.error.LeaseFsException;
import io.leasefs.common.model.Ordinal;
import io.leasefs.master.state.MetadataState;
import java.util.Random;
import java.util.Set;
import java.util.TreeSet;
import org.junit.jupiter.api.Test;

class OperationCodecTest {
  @Test
  void everyOperationComesBackUnchanged() {
    Set<String> seen = new TreeSet<>();
    for (int seed = 100; seed < 106; seed++) {
      MetadataState state = new MetadataState();
      RandomOperations random = new RandomOperations(new Random(seed), state);
      for (int step = 1; step <= 1500; step++) {
        Operation operation = random.next();
        assertThat(OperationCodec.decode(OperationCodec.encode(operation))).isEqualTo(operation);
        state.apply(Ordinal.of(state.generation(), step), 3, operation);
        seen.add(operation.getClass().getSimpleName());
      }
    }
    assertThat(seen).hasSize(Operation.class.getPermittedSubclasses().length);
  }

  @Test
  void unknownTagIsAnErrorAndNeverSkipped() {
    byte[] tagOfTheFuture = {(byte) 0xca, 0x3e, 0x00};
    assertThatThrownBy(() -> OperationCodec.decode(tagOfTheFuture))
        .isInstanceOf(LeaseFsException.class)
        .hasMessageContaining("of a kind that this version does not know");
  }

  @Test
  void bytesThatAreNoMessageAreAnError() {
    assertThatThrownBy(() -> OperationCodec.decode(new byte[] {0x0a, 0x7f}))
        .isInstanceOf(LeaseFsException.class);
  }
}
