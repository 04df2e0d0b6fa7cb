package io.leasefs.client.cli;

import io.leasefs.common.model.ChunkHandle;
import io.leasefs.common.model.ClusterEvent;
import io.leasefs.common.model.EventKind;
import io.leasefs.common.model.ServerId;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;

/**
 * The tenures of the primaries of one chunk, or of a file's chunks one after the other, from the
 * master's events. Pure.
 */
final class LeaseTimeline {
  /**
   * One primary of one chunk at one version.
   *
   * @param endMillis empty while it goes on
   * @param how EXPIRED, RELEASED, REVOKED, SEALED, NEXT_VERSION (of the same holder), or empty
   * @param lostMillis when it was last heard of, if it was lost and its writers went on in the next
   *     chunk; else empty
   */
  record Tenure(
      ChunkHandle chunk,
      ServerId holder,
      long version,
      long fromMillis,
      Optional<Long> endMillis,
      String how,
      Optional<Long> lostMillis) {
    Tenure ended(long millis, String kind) {
      return new Tenure(chunk, holder, version, fromMillis, Optional.of(millis), kind, lostMillis);
    }

    Tenure lost(long millis) {
      return new Tenure(chunk, holder, version, fromMillis, endMillis, how, Optional.of(millis));
    }
  }

  /**
   * From one tenure to the next.
   *
   * @param fromMillis since when nobody took mutations
   * @param millis how long
   * @param free nobody was missed: what was given back was not wanted, or its server was stopped on
   *     purpose
   */
  private record Gap(long fromMillis, long millis, boolean free) {}

  private static final String NEXT_VERSION = "NEXT_VERSION";

  private final List<ChunkHandle> chunks;
  private final List<Tenure> tenures;
  private final List<ClusterEvent> marks;
  private final long fromMillis;
  private final long nowMillis;

  private LeaseTimeline(
      List<ChunkHandle> chunks,
      List<Tenure> tenures,
      List<ClusterEvent> marks,
      long fromMillis,
      long nowMillis) {
    this.chunks = chunks;
    this.tenures = tenures;
    this.marks = marks;
    this.fromMillis = fromMillis;
    this.nowMillis = nowMillis;
  }

  /**
   * @param chunks in the file's order
   * @param events in their order; those of other chunks are passed over
   */
  static LeaseTimeline of(
      List<ChunkHandle> chunks, List<ClusterEvent> events, long nowMillis, long sinceMillis) {
    Map<ChunkHandle, List<Tenure>> byChunk = new LinkedHashMap<>();
    chunks.forEach(chunk -> byChunk.put(chunk, new ArrayList<>()));
    Map<ServerId, Long> heardMillis = new HashMap<>();
    List<ClusterEvent> marks = new ArrayList<>();
    for (ClusterEvent event : events) {
      List<Tenure> ours = event.chunk().map(byChunk::get).orElse(null);
      if (ours != null) {
        take(ours, event, heardMillis);
      } else if (event.kind() == EventKind.SERVER_SILENT && event.subject().isPresent()) {
        heardMillis.put(event.subject().get(), heardMillis(event));
      }
      boolean recent = event.wallMillis() >= nowMillis - sinceMillis;
      if (recent && (ours != null || concerns(event, byChunk))) {
        marks.add(event);
      }
    }
    List<Tenure> tenures = byChunk.values().stream().flatMap(List::stream).toList();
    tenures =
        tenures.stream()
            .filter(t -> t.endMillis().orElse(nowMillis) >= nowMillis - sinceMillis)
            .toList();
    long first = tenures.stream().mapToLong(Tenure::fromMillis).min().orElse(nowMillis);
    return new LeaseTimeline(
        chunks, tenures, marks, Math.max(first, nowMillis - sinceMillis), nowMillis);
  }

  private static void take(
      List<Tenure> tenures, ClusterEvent event, Map<ServerId, Long> heardMillis) {
    int last = tenures.size() - 1;
    if (event.kind() == EventKind.LEASE_GRANTED && event.subject().isPresent()) {
      // Where the holder stays, its tenure at the version before is over without a gap.
      if (last >= 0
          && tenures.get(last).holder().equals(event.subject().get())
          && tenures.get(last).endMillis().isEmpty()) {
        tenures.set(last, tenures.get(last).ended(event.wallMillis(), NEXT_VERSION));
      }
      tenures.add(
          new Tenure(
              event.chunk().orElseThrow(),
              event.subject().get(),
              event.version(),
              event.wallMillis(),
              Optional.empty(),
              "",
              Optional.empty()));
    } else if (last >= 0 && tenures.get(last).endMillis().isEmpty()) {
      if (isEnd(event.kind())) {
        String how = event.kind().name().replace("LEASE_", "").replace("CHUNK_", "");
        tenures.set(last, tenures.get(last).ended(event.wallMillis(), how));
      } else if (event.kind() == EventKind.CHANGE_BEGUN
          && "EARLY_SEAL".equals(event.fields().get("reason"))) {
        Tenure open = tenures.get(last);
        long heard = heardMillis.getOrDefault(open.holder(), event.wallMillis());
        tenures.set(last, open.lost(Math.max(heard, open.fromMillis())));
      }
    }
  }

  private static long heardMillis(ClusterEvent silent) {
    String nanos = silent.fields().getOrDefault("silentNanos", "0");
    return silent.wallMillis() - Long.parseLong(nanos) / 1_000_000;
  }

  private static boolean isEnd(EventKind kind) {
    return kind == EventKind.LEASE_EXPIRED
        || kind == EventKind.LEASE_RELEASED
        || kind == EventKind.LEASE_REVOKED
        || kind == EventKind.CHUNK_SEALED;
  }

  private static boolean concerns(ClusterEvent event, Map<ChunkHandle, List<Tenure>> byChunk) {
    return (event.kind() == EventKind.SERVER_SILENT
            || event.kind() == EventKind.SERVER_REGISTERED
            || event.kind() == EventKind.SESSION_ENDED)
        && event.subject().isPresent()
        && byChunk.values().stream()
            .flatMap(List::stream)
            .anyMatch(t -> t.holder().equals(event.subject().get()));
  }

  List<Tenure> tenures() {
    return tenures;
  }

  /**
   * Milliseconds without a primary between each tenure and the next one. Between two chunks that is
   * 0, unless the first one's primary was lost: then from when it was last heard of.
   */
  List<Long> gapsMillis() {
    List<Long> gaps = new ArrayList<>();
    for (int i = 1; i < tenures.size(); i++) {
      gaps.add(gap(tenures.get(i - 1), tenures.get(i)).map(Gap::millis).orElse(0L));
    }
    return gaps;
  }

  private static Optional<Gap> gap(Tenure before, Tenure after) {
    boolean sameChunk = before.chunk().equals(after.chunk());
    if (before.how().equals(NEXT_VERSION) || (!sameChunk && before.lostMillis().isEmpty())) {
      return Optional.empty();
    }
    long from =
        sameChunk
            ? before.endMillis().orElse(after.fromMillis())
            : before.lostMillis().orElseThrow();
    return Optional.of(
        new Gap(from, Math.max(0, after.fromMillis() - from), before.how().equals("RELEASED")));
  }

  Map<String, Object> json() {
    return Json.object(
        "chunk", chunks.get(chunks.size() - 1).toString(),
        "from", Quantities.instant(fromMillis),
        "to", Quantities.instant(nowMillis),
        "tenures",
            tenures.stream()
                .map(
                    t ->
                        Json.object(
                            "chunk", t.chunk().toString(),
                            "holder", t.holder().name(),
                            "version", t.version(),
                            "from", Quantities.instant(t.fromMillis()),
                            "to", t.endMillis().map(Quantities::instant).orElse(null),
                            "ended", t.how().isEmpty() ? null : t.how(),
                            "lost", t.lostMillis().map(Quantities::instant).orElse(null)))
                .toList(),
        "gapsMillis", gapsMillis(),
        "events", marks.stream().map(EventRows::json).toList());
  }

  String draw(int width) {
    if (tenures.isEmpty()) {
      return (chunks.size() == 1 ? "chunk " + chunks.get(0) : chunks.size() + " chunks")
          + ": no lease in this time";
    }
    boolean several = tenures.stream().map(Tenure::chunk).distinct().count() > 1;
    int labels =
        Math.max(11, tenures.stream().mapToInt(t -> label(t, several).length()).max().orElse(0));
    String row = "%-" + labels + "s %s%s%s%n";
    StringBuilder text = new StringBuilder();
    text.append(
        String.format(
            "%s   %s to %s%n",
            several ? "file of " + chunks.size() + " chunks" : "chunk " + tenures.get(0).chunk(),
            Quantities.timeOfDay(fromMillis),
            Quantities.timeOfDay(nowMillis)));
    for (int i = 0; i < tenures.size(); i++) {
      Tenure tenure = tenures.get(i);
      Optional<Gap> gap = i == 0 ? Optional.empty() : gap(tenures.get(i - 1), tenure);
      if (gap.isPresent()) {
        int from = column(gap.get().fromMillis(), width);
        int to = Math.max(from + 1, column(tenure.fromMillis(), width));
        text.append(
            String.format(
                row,
                gap.get().free() ? "free" : "gap",
                " ".repeat(from),
                "░".repeat(to - from),
                String.format(Locale.ROOT, " %.2fs", gap.get().millis() / 1000.0)));
      }
      int from = column(tenure.fromMillis(), width);
      int to = Math.max(from + 1, column(tenure.endMillis().orElse(nowMillis), width));
      text.append(
          String.format(
              row,
              label(tenure, several),
              " ".repeat(from),
              "┝" + "━".repeat(to - from),
              end(tenure)));
    }
    for (ClusterEvent mark : marks) {
      text.append(EventRows.line(mark)).append('\n');
    }
    return text.toString().stripTrailing();
  }

  private static String label(Tenure tenure, boolean several) {
    return (several ? tenure.chunk() + " " : "") + tenure.holder() + " v" + tenure.version();
  }

  private static String end(Tenure tenure) {
    if (tenure.endMillis().isEmpty()) {
      return "▶";
    }
    String how = tenure.how().toLowerCase(Locale.ROOT).replace('_', ' ');
    return "┥ " + how + (tenure.lostMillis().isPresent() ? ", its primary was lost" : "");
  }

  private int column(long millis, int width) {
    long span = Math.max(1, nowMillis - fromMillis);
    long at = Math.max(0, Math.min(span, millis - fromMillis));
    return (int) (at * width / span);
  }
}
