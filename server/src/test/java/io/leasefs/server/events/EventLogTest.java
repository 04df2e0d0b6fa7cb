package io.leasefs.server.events;

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

class EventLogTest {
  private final List<ClusterEvent> heard = new ArrayList<>();
  private final EventLog log =
      new EventLog(new ServerId("cs1"), () -> 77, () -> 1_000, 3, heard::add);

  @Test
  void numbersFromOneAndKeepsTheNewest() {
    for (int i = 0; i < 5; i++) {
      record("n", "" + i);
    }
    assertThat(log.after(0, 100)).extracting(ClusterEvent::number).containsExactly(3L, 4L, 5L);
    assertThat(log.after(3, 1)).extracting(ClusterEvent::number).containsExactly(4L);
    assertThat(log.after(5, 10)).isEmpty();
    assertThat(log.lastNumber()).isEqualTo(5);
    assertThat(heard).extracting(ClusterEvent::number).containsExactly(1L, 2L, 3L, 4L, 5L);
  }

  @Test
  void lineIsJsonWithEveryAwkwardCharacterEscaped() {
    record("why", "a \"b\" \\ \n c");
    assertThat(EventLines.toJson(heard.get(0)))
        .isEqualTo(
            "{\"number\":1,\"recorder\":\"cs1\",\"wallMillis\":1000,\"monotonicNanos\":77,"
                + "\"kind\":\"HOLDER_GRANTED\",\"subject\":\"cs2\",\"chunk\":\"0x51c\",\"version\":8,\"fields\":{\"why\":\"a"
                + " \\\"b\\\" \\\\ \\u000a c\"}}");
  }

  private void record(String name, String value) {
    log.record(
        EventKind.HOLDER_GRANTED,
        Optional.of(new ServerId("cs2")),
        Optional.of(new ChunkHandle(0x51c)),
        8,
        Map.of(name, value));
  }
}
