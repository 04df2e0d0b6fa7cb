package io.leasefs.client.cli;

import io.leasefs.common.model.ClusterEvent;
import io.leasefs.common.model.ServerId;
import java.util.Map;

/** How an event is shown. */
final class EventRows {
  private EventRows() {}

  static Map<String, Object> json(ClusterEvent event) {
    return Json.object(
        "number", event.number(),
        "recorder", event.recorder().name(),
        "time", Quantities.instant(event.wallMillis()),
        "monotonicNanos", event.monotonicNanos(),
        "kind", event.kind().name(),
        "subject", event.subject().map(ServerId::name).orElse(null),
        "chunk", event.chunk().map(Object::toString).orElse(null),
        "version", event.version() == 0 ? null : event.version(),
        "fields", event.fields());
  }

  /** {@code 17:13:41.204 LEASE_GRANTED chunk=0x51c version=9 cs4 ...}. */
  static String line(ClusterEvent event) {
    StringBuilder text =
        new StringBuilder(
            String.format(
                "%s  %-8s %-28s",
                Quantities.timeOfDay(event.wallMillis()), event.recorder(), event.kind()));
    event.chunk().ifPresent(chunk -> text.append(" chunk=").append(chunk));
    if (event.version() != 0) {
      text.append(" version=").append(event.version());
    }
    event.subject().ifPresent(subject -> text.append(" node=").append(subject));
    if (!event.fields().isEmpty()) {
      text.append(' ').append(HumanValues.inline(event.fields()));
    }
    return text.toString();
  }
}
