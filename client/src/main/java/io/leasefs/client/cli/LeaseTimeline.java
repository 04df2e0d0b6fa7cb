package io.leasefs.client.cli;

import io.leasefs.common.model.ChunkHandle;
import io.leasefs.common.model.ClusterEvent;
import io.leasefs.common.model.EventKind;
import io.leasefs.common.model.ServerId;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;

/** The tenures of a chunk's primaries, from the master's events. Pure. */
final class LeaseTimeline {
  /**
   * One primary at one version.
   *
   * @param endMillis empty while it goes on
   * @param how EXPIRED, RELEASED, REVOKED, SEALED, NEXT_VERSION (of the same holder), or empty
   */
  record Tenure(
      ServerId holder, long version, long fromMillis, Optional<Long> endMillis, String how) {}

  private static final String NEXT_VERSION = "NEXT_VERSION";

  private final ChunkHandle chunk;
  private final List<Tenure> tenures;
  private final List<ClusterEvent> marks;
  private final long fromMillis;
  private final long nowMillis;

  private LeaseTimeline(
      ChunkHandle chunk,
      List<Tenure> tenures,
      List<ClusterEvent> marks,
      long fromMillis,
      long nowMillis) {
    this.chunk = chunk;
    this.tenures = tenures;
    this.marks = marks;
    this.fromMillis = fromMillis;
    this.nowMillis = nowMillis;
  }

  static LeaseTimeline of(
      ChunkHandle chunk, List<ClusterEvent> events, long nowMillis, long sinceMillis) {
    List<Tenure> tenures = new ArrayList<>();
    List<ClusterEvent> marks = new ArrayList<>();
    for (ClusterEvent event : events) {
      boolean ours = event.chunk().filter(chunk::equals).isPresent();
      if (ours && event.kind() == EventKind.LEASE_GRANTED && event.subject().isPresent()) {
        goneOn(tenures, event.subject().get(), event.wallMillis());
        tenures.add(
            new Tenure(
                event.subject().get(), event.version(), event.wallMillis(), Optional.empty(), ""));
      } else if (ours && isEnd(event.kind()) && !tenures.isEmpty()) {
        endLast(
            tenures,
            event.wallMillis(),
            event.kind().name().replace("LEASE_", "").replace("CHUNK_", ""));
      }
      boolean recent = event.wallMillis() >= nowMillis - sinceMillis;
      if (recent && (ours || concerns(event, tenures))) {
        marks.add(event);
      }
    }
    tenures.removeIf(t -> t.endMillis().orElse(nowMillis) < nowMillis - sinceMillis);
    long first = nowMillis;
    for (Tenure tenure : tenures) {
      first = Math.min(first, tenure.fromMillis());
    }
    return new LeaseTimeline(
        chunk, tenures, marks, Math.max(first, nowMillis - sinceMillis), nowMillis);
  }

  /** The holder has got the next version: its tenure at the one before is over, without a gap. */
  private static void goneOn(List<Tenure> tenures, ServerId holder, long millis) {
    if (!tenures.isEmpty() && tenures.get(tenures.size() - 1).holder().equals(holder)) {
      endLast(tenures, millis, NEXT_VERSION);
    }
  }

  private static void endLast(List<Tenure> tenures, long millis, String how) {
    int last = tenures.size() - 1;
    Tenure open = tenures.get(last);
    if (open.endMillis().isEmpty()) {
      tenures.set(
          last,
          new Tenure(open.holder(), open.version(), open.fromMillis(), Optional.of(millis), how));
    }
  }

  private static boolean isEnd(EventKind kind) {
    return kind == EventKind.LEASE_EXPIRED
        || kind == EventKind.LEASE_RELEASED
        || kind == EventKind.LEASE_REVOKED
        || kind == EventKind.CHUNK_SEALED;
  }

  private static boolean concerns(ClusterEvent event, List<Tenure> tenures) {
    return (event.kind() == EventKind.SERVER_SILENT
            || event.kind() == EventKind.SERVER_REGISTERED
            || event.kind() == EventKind.SESSION_ENDED)
        && event.subject().isPresent()
        && tenures.stream().anyMatch(t -> t.holder().equals(event.subject().get()));
  }

  List<Tenure> tenures() {
    return tenures;
  }

  /** Milliseconds from one tenure's end to the next one's beginning, in their order. */
  List<Long> gapsMillis() {
    List<Long> gaps = new ArrayList<>();
    for (int i = 1; i < tenures.size(); i++) {
      Tenure before = tenures.get(i - 1);
      long end = before.endMillis().orElse(tenures.get(i).fromMillis());
      gaps.add(tenures.get(i).fromMillis() - end);
    }
    return gaps;
  }

  Map<String, Object> json() {
    return Json.object(
        "chunk", chunk.toString(),
        "from", Quantities.instant(fromMillis),
        "to", Quantities.instant(nowMillis),
        "tenures",
            tenures.stream()
                .map(
                    t ->
                        Json.object(
                            "holder", t.holder().name(),
                            "version", t.version(),
                            "from", Quantities.instant(t.fromMillis()),
                            "to", t.endMillis().map(Quantities::instant).orElse(null),
                            "ended", t.how().isEmpty() ? null : t.how()))
                .toList(),
        "gapsMillis", gapsMillis(),
        "events", marks.stream().map(EventRows::json).toList());
  }

  String draw(int width) {
    if (tenures.isEmpty()) {
      return "chunk " + chunk + ": no lease in this time";
    }
    StringBuilder text = new StringBuilder();
    text.append(
        String.format(
            "chunk %s   %s to %s%n",
            chunk, Quantities.timeOfDay(fromMillis), Quantities.timeOfDay(nowMillis)));
    List<Long> gaps = gapsMillis();
    for (int i = 0; i < tenures.size(); i++) {
      Tenure tenure = tenures.get(i);
      if (i > 0 && !tenures.get(i - 1).how().equals(NEXT_VERSION)) {
        long end = tenures.get(i - 1).endMillis().orElse(tenure.fromMillis());
        int from = column(end, width);
        int to = Math.max(from + 1, column(tenure.fromMillis(), width));
        text.append(
            String.format(
                Locale.ROOT,
                "%-12s%s%s %.2fs%n",
                // What was given back was not missed: nobody wrote, or its server was stopped on
                // purpose.
                tenures.get(i - 1).how().equals("RELEASED") ? "free" : "gap",
                " ".repeat(from),
                "░".repeat(to - from),
                gaps.get(i - 1) / 1000.0));
      }
      int from = column(tenure.fromMillis(), width);
      int to = Math.max(from + 1, column(tenure.endMillis().orElse(nowMillis), width));
      text.append(
          String.format(
              "%-12s%s┝%s%s%n",
              tenure.holder() + " v" + tenure.version(),
              " ".repeat(from),
              "━".repeat(to - from),
              tenure.endMillis().isEmpty()
                  ? "▶"
                  : "┥ " + tenure.how().toLowerCase(Locale.ROOT).replace('_', ' ')));
    }
    for (ClusterEvent mark : marks) {
      text.append(EventRows.line(mark)).append('\n');
    }
    return text.toString().stripTrailing();
  }

  private int column(long millis, int width) {
    long span = Math.max(1, nowMillis - fromMillis);
    long at = Math.max(0, Math.min(span, millis - fromMillis));
    return (int) (at * width / span);
  }
}
