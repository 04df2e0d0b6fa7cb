package io.leasefs.cluster.demo;

import static org.assertj.core.api.Assertions.assertThat;

import io.leasefs.common.model.ClusterEvent;
import io.leasefs.common.model.EventKind;
import io.leasefs.common.model.ServerId;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Random;
import org.junit.jupiter.api.Test;

class WrongClocksTest {
  private static ClusterEvent renewed(String server, long leftNanos) {
    return new ClusterEvent(
        1,
        new ServerId(server),
        0,
        7_000,
        EventKind.HOLDER_RENEWED,
        Optional.of(new ServerId(server)),
        Optional.empty(),
        0,
        Map.of("leftNanos", Long.toString(leftNanos), "leases", "1"));
  }

  @Test
  void whatASlowServerMeasuredLastsLongerThanItSays() {
    WrongClocks clocks = new WrongClocks(Map.of("cs1", -10_000L, "cs2", 10_000L), Map.of());
    List<ClusterEvent> events =
        clocks.trueTimes(
            List.of(renewed("cs1", 990_000), renewed("cs2", 1_010_000), renewed("cs3", 5)));
    assertThat(events)
        .extracting(event -> event.fields().get("leftNanos"))
        .containsExactly("1000000", "1000000", "5");
    assertThat(events).extracting(ClusterEvent::monotonicNanos).containsOnly(7_000L);
  }

  @Test
  void clocksAreWrongWithinTheBoundAndSomeAlmostAtIt() {
    for (int seed = 0; seed < 50; seed++) {
      WrongClocks clocks = WrongClocks.draw(new Random(seed), 10_000, 5);
      assertThat(clocks.driftPpm()).hasSize(6);
      assertThat(clocks.driftPpm().values())
          .allSatisfy(d -> assertThat(d).isBetween(-9_500L, 9_500L));
      assertThat(clocks.flags().get("master")).hasSize(2);
    }
    assertThat(WrongClocks.draw(new Random(1), 10_000, 5).driftPpm().values())
        .anyMatch(d -> Math.abs(d) == 9_500);
  }
}
