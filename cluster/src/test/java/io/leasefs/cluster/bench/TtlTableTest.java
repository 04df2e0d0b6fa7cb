package io.leasefs.cluster.bench;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.leasefs.cluster.demo.Verdict;
import java.util.List;
import org.junit.jupiter.api.Test;

class TtlTableTest {
  private static final String PAGE =
      """
      # TYPE leasefs_heartbeats_answered_total counter
      leasefs_heartbeats_answered_total{role="chunkserver"} 12.0
      leasefs_heartbeats_answered_total{role="other"} 3.5
      leasefs_heartbeats_answered_total_more 99.0
      up 1
      """;

  private static Verdict verdict(List<String> failures) {
    return new Verdict(100, 0, 0, 0, 0, 0, 3205, 310, 3901, 3901, 0, List.of(), failures);
  }

  @Test
  void valuesOfOneMeterAreAddedWhateverTheirLabels() {
    assertThat(ServerMeters.value(PAGE, "leasefs_heartbeats_answered_total")).isEqualTo(15.5);
    assertThat(ServerMeters.value(PAGE, "up")).isEqualTo(1);
    assertThatThrownBy(() -> ServerMeters.value(PAGE, "leasefs_heartbeats"))
        .hasMessageContaining("no meter named leasefs_heartbeats");
  }

  @Test
  void rowHasAsManyColumnsAsTheHeadingAndTellsAFailure() {
    TtlTable.Row row = new TtlTable.Row(3_000_000_000L, 3.333, 512.4, verdict(List.of()));
    assertThat(row.markdown()).isEqualTo("| 3.0s | 3.33 | 512 | 3.21 s | 0.31 s |");
    for (String line : TtlTable.heading()) {
      assertThat(line.chars().filter(c -> c == '|')).hasSize(6);
    }
    TtlTable.Row failed = new TtlTable.Row(1, 1, 1, verdict(List.of("1 record is lost")));
    assertThat(failed.markdown()).contains("FAILED [1 record is lost]");
  }
}
