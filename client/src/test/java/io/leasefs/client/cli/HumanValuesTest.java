package io.leasefs.client.cli;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.Map;
import org.junit.jupiter.api.Test;

class HumanValuesTest {
  @Test
  void textWithBlanksIsQuotedInALine() {
    assertThat(HumanValues.inline(Map.of("why", "ran out"))).isEqualTo("why=\"ran out\"");
  }

  @Test
  void wordsAndQuantitiesStandAsTheyAre() {
    assertThat(HumanValues.inline(Map.of("reason", "REOPEN"))).isEqualTo("reason=REOPEN");
    assertThat(HumanValues.inline(Map.of("lengthBytes", 3 << 20))).isEqualTo("length=3.0MiB");
  }
}
