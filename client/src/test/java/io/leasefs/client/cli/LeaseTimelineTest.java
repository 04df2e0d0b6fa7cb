package io.leasefs.client.cli;

import static org.assertj.core.api.Assertions.assertThat;

import io.leasefs.common.model.ChunkHandle;
import io.leasefs.common.model.ClusterEvent;
import io.leasefs.common.model.EventKind;
import io.leasefs.common.model.ServerId;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.junit.jupiter.api.Test;

class LeaseTimelineTest {
  private static final ChunkHandle CHUNK = new ChunkHandle(7);

  private final List<ClusterEvent> events = new ArrayList<>();

  private void event(long millis, EventKind kind, String server, long version) {
    events.add(
        new ClusterEvent(
            events.size() + 1,
            new ServerId("master1"),
            millis,
            millis * 1_000_000,
            kind,
            Optional.of(new ServerId(server)),
            Optional.of(CHUNK),
            version,
            Map.of()));
  }

  private LeaseTimeline timeline() {
    return LeaseTimeline.of(CHUNK, events, 100_000, 100_000);
  }

  @Test
  void tenureEndsWhereTheSameHolderGetsTheNextVersion() {
    event(10_000, EventKind.LEASE_GRANTED, "cs1", 1);
    event(20_000, EventKind.LEASE_GRANTED, "cs1", 2);
    assertThat(timeline().tenures())
        .extracting(LeaseTimeline.Tenure::endMillis)
        .containsExactly(Optional.of(20_000L), Optional.empty());
    assertThat(timeline().gapsMillis()).containsExactly(0L);
    assertThat(timeline().draw(40).lines().filter(line -> line.contains("▶"))).hasSize(1);
    assertThat(timeline().draw(40)).contains("next version").doesNotContain("gap");
  }

  @Test
  void leaseThatWasGivenBackLeavesNoGap() {
    event(10_000, EventKind.LEASE_GRANTED, "cs1", 1);
    event(70_000, EventKind.LEASE_RELEASED, "cs1", 1);
    event(95_000, EventKind.LEASE_GRANTED, "cs2", 2);
    assertThat(timeline().draw(40)).contains("released", "free").doesNotContain("gap");
  }

  @Test
  void gapLiesBetweenTheEndOfOneHolderAndTheGrantOfAnother() {
    event(10_000, EventKind.LEASE_GRANTED, "cs1", 1);
    event(30_000, EventKind.LEASE_EXPIRED, "cs1", 1);
    event(30_250, EventKind.LEASE_GRANTED, "cs2", 2);
    assertThat(timeline().gapsMillis()).containsExactly(250L);
    assertThat(timeline().draw(40)).contains("cs1 v1", "expired", "0.25s", "cs2 v2", "▶");
  }
}
