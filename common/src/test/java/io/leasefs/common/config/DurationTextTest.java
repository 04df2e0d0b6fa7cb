package io.leasefs.common.config;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.time.Duration;
import java.util.Random;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class DurationTextTest {
  @ParameterizedTest
  @CsvSource({
    "10s, PT10S",
    "200ms, PT0.2S",
    "1.5m, PT1M30S",
    "2h, PT2H",
    "7d, PT168H",
    "0s, PT0S",
    "1 s, PT1S",
    "3us, PT0.000003S",
    "4ns, PT0.000000004S"
  })
  void textGivesDuration(String text, String expected) {
    assertThat(DurationText.parse(text)).isEqualTo(Duration.parse(expected));
  }

  @ParameterizedTest
  @ValueSource(strings = {"", "10", "10S", "-1s", "s", "1h30m", "0.1ns", "1000000d", "ten s"})
  void otherTextIsRefusedWithTheTextInTheMessage(String text) {
    assertThatThrownBy(() -> DurationText.parse(text))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining("'" + text + "'");
  }

  @ParameterizedTest
  @CsvSource({
    "PT0S, 0s",
    "PT10S, 10s",
    "PT1M30S, 90s",
    "PT1M, 60s",
    "PT2M, 2m",
    "PT1.5S, 1500ms",
    "PT48H, 2d",
    "PT0.0000015S, 1500ns"
  })
  void largestExactUnitIsPrinted(String duration, String text) {
    assertThat(DurationText.print(Duration.parse(duration))).isEqualTo(text);
  }

  @ParameterizedTest
  @ValueSource(longs = {1, 2, 3})
  void printedDurationIsReadBackTheSame(long seed) {
    Random random = new Random(seed);
    for (int i = 0; i < 1000; i++) {
      Duration duration =
          Duration.ofNanos((random.nextLong() & Long.MAX_VALUE) >> random.nextInt(63));
      assertThat(DurationText.parse(DurationText.print(duration))).isEqualTo(duration);
    }
  }
}
