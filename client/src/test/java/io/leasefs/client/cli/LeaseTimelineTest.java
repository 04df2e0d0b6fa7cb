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
    event(millis, kind, server, Optional.of(CHUNK), version, Map.of());
  }

  private void event(
      long millis,
      EventKind kind,
      String server,
      Optional<ChunkHandle> chunk,
      long version,
      Map<String, String> fields) {
    events.add(
        new ClusterEvent(
            events.size() + 1,
            new ServerId("master1"),
            millis,
            millis * 1_000_000,
            kind,
            Optional.of(new ServerId(server)),
            chunk,
            version,
            fields));
  }

  private LeaseTimeline timeline() {
    return LeaseTimeline.of(List.of(CHUNK), events, 100_000, 100_000);
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

  @Test
  void gapBetweenTwoChunksIsFromWhenALostPrimaryWasLastHeardOf() {
    ChunkHandle next = new ChunkHandle(8);
    event(10_000, EventKind.LEASE_GRANTED, "cs1", 1);
    event(
        30_000,
        EventKind.SERVER_SILENT,
        "cs1",
        Optional.empty(),
        0,
        Map.of("silentNanos", "300000000"));
    event(
        30_500,
        EventKind.CHANGE_BEGUN,
        "cs1",
        Optional.of(CHUNK),
        2,
        Map.of("reason", "EARLY_SEAL"));
    event(30_600, EventKind.CHUNK_SEALED, "cs1", 2);
    event(30_700, EventKind.LEASE_GRANTED, "cs2", Optional.of(next), 1, Map.of());
    event(60_000, EventKind.CHUNK_SEALED, "cs2", Optional.of(next), 1, Map.of());
    ChunkHandle third = new ChunkHandle(9);
    event(60_010, EventKind.LEASE_GRANTED, "cs3", Optional.of(third), 1, Map.of());
    LeaseTimeline timeline =
        LeaseTimeline.of(List.of(CHUNK, next, third), events, 100_000, 100_000);
    // A chunk that is full leaves no gap: its writer has the next one before.
    assertThat(timeline.gapsMillis()).containsExactly(1_000L, 0L);
    assertThat(timeline.draw(40))
        .contains("file of 3 chunks", "0x7 cs1 v1", "its primary was lost", "1.00s", "0x8 cs2 v1");
    assertThat(timeline.draw(40).lines().filter(line -> line.startsWith("gap"))).hasSize(1);
  }
}
