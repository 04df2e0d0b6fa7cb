package io.leasefs.common.config;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class DataSizeTest {
  @ParameterizedTest
  @CsvSource({
    "0, 0",
    "512, 512",
    "512B, 512",
    "64KiB, 65536",
    "64MiB, 67108864",
    "64 MiB, 67108864",
    "1.5GiB, 1610612736",
    "2TiB, 2199023255552",
    "9223372036854775807, 9223372036854775807"
  })
  void textGivesBytes(String text, long bytes) {
    assertThat(DataSize.parse(text)).isEqualTo(new DataSize(bytes));
  }

  @ParameterizedTest
  @ValueSource(
      strings = {"", "64M", "64MB", "64mib", "-1", "1e3", "MiB", "1.5", "0.3KiB", "1,5GiB"})
  void otherTextIsRefusedWithTheTextInTheMessage(String text) {
    assertThatThrownBy(() -> DataSize.parse(text))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining("'" + text + "'");
  }

  @Test
  void sizeBeyondALongIsRefused() {
    assertThatThrownBy(() -> DataSize.parse("8388608TiB"))
        .isInstanceOf(IllegalArgumentException.class);
  }

  @ParameterizedTest
  @CsvSource({
    "0, 0B",
    "1, 1B",
    "1024, 1KiB",
    "1536, 1536B",
    "67108864, 64MiB",
    "1610612736, 1536MiB"
  })
  void largestExactUnitIsPrinted(long bytes, String text) {
    assertThat(new DataSize(bytes)).hasToString(text);
  }

  @ParameterizedTest
  @ValueSource(longs = {1, 2, 3})
  void printedSizeIsReadBackTheSame(long seed) {
    Random random = new Random(seed);
    for (int i = 0; i < 1000; i++) {
      DataSize size = new DataSize((random.nextLong() & Long.MAX_VALUE) >> random.nextInt(63));
      assertThat(DataSize.parse(size.toString())).isEqualTo(size);
    }
  }
}
