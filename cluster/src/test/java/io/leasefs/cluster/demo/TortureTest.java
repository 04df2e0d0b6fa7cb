package io.leasefs.cluster.demo;

import static org.assertj.core.api.Assertions.assertThat;

import io.leasefs.client.cli.Quantities;
import java.util.List;
import java.util.Locale;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/**
 * The long one: an hour of {@code leasefs torture}, or what {@code -Dleasefs.torture=DURATION}
 * says. In the profile {@code torture} only.
 */
class TortureTest {
  @Test
  @Tag("torture")
  void nothingIsLostInAnHourOfFaults() throws Exception {
    long durationNanos = Quantities.parseDuration(System.getProperty("leasefs.torture", "1h"));
    Torture torture =
        new Torture(
            durationNanos,
            3_000_000_000L,
            Long.getLong("leasefs.torture.seed", 1),
            List.of(),
            (seconds, line) ->
                System.out.println(String.format(Locale.ROOT, "[%7.1fs] %s", seconds, line)));
    TortureVerdict verdict = torture.run(false);
    System.out.println(verdict);
    assertThat(verdict.failures()).isEmpty();
    assertThat(verdict.passed()).isTrue();
  }

  @Test
  void anHourFitsIntoMemoryAndIsNotVoid() {
    long hour = 3_600_000_000_000L;
    assertThat(Torture.restNanos(120_000_000_000L)).isZero();
    // Nine clients, each with one record at a time.
    long atMost = 9 * hour / Torture.restNanos(hour);
    assertThat(atMost).isBetween(3_600 * TortureVerdict.LEAST_PER_SECOND * 2, 1_200_100L);
  }
}
