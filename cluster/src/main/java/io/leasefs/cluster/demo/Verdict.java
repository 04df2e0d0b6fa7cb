package io.leasefs.cluster.demo;

import io.leasefs.cluster.demo.Evidence.Acknowledged;
import io.leasefs.cluster.demo.Evidence.Copy;
import io.leasefs.cluster.demo.Evidence.Facts;
import io.leasefs.cluster.demo.Evidence.Found;
import io.leasefs.cluster.demo.Evidence.Refused;
import io.leasefs.common.model.ClusterEvent;
import io.leasefs.common.model.EventKind;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;

/**
 * What the evidence says. Pure: the same evidence gives the same verdict, wherever it is computed.
 *
 * @param acknowledged records that clients were told are safe
 * @param lost acknowledged, and not in the file
 * @param doubled more than once in the file, or refused and in the file
 * @param outOfOrder of one client, in the file before one that it was acknowledged after
 * @param overlapMillis longest time in which two servers were primary of the chunk
 * @param earlyGrants grants made before the old holder's end
 * @param gapMillis longest time around the hit in which the chunk acknowledged nothing; -1: it
 *     never did again
 * @param appendGapMillis the same for appends that may go on in a new chunk; -1: none measured
 * @param gapLimitMillis bound on the first
 * @param appendGapLimitMillis bound on the second
 * @param lateRefusals mutations that a primary refused because its lease was over
 * @param differing chunks whose replicas are not the same
 * @param failures why it is not passed, a line each; empty: passed
 */
public record Verdict(
    long acknowledged,
    long lost,
    long doubled,
    long outOfOrder,
    long overlapMillis,
    long earlyGrants,
    long gapMillis,
    long appendGapMillis,
    long gapLimitMillis,
    long appendGapLimitMillis,
    long lateRefusals,
    List<String> differing,
    List<String> failures) {
  private static final long MILLION = 1_000_000;

  public Verdict {
    differing = List.copyOf(differing);
    failures = List.copyOf(failures);
  }

  public boolean passed() {
    return failures.isEmpty();
  }

  /** Judges. */
  public static Verdict of(Evidence evidence) {
    Facts facts = evidence.facts();
    Map<RecordName, Integer> times = new HashMap<>();
    long outOfOrder = 0;
    Map<String, Long> newest = new HashMap<>();
    for (Found found : evidence.found()) {
      times.merge(new RecordName(found.file(), found.client(), found.number()), 1, Integer::sum);
      String stream = found.file() + "#" + found.client();
      long before = newest.getOrDefault(stream, 0L);
      if (found.number() < before) {
        outOfOrder++;
      }
      newest.put(stream, Math.max(before, found.number()));
    }
    long lost = 0;
    for (Acknowledged record : evidence.acknowledged()) {
      if (!times.containsKey(new RecordName(record.file(), record.client(), record.number()))) {
        lost++;
      }
    }
    long doubled = times.values().stream().filter(n -> n > 1).count();
    for (Refused record : evidence.refused()) {
      if (times.containsKey(new RecordName(record.file(), record.client(), record.number()))) {
        doubled++;
      }
    }

    List<Tenure> tenures = Tenure.of(facts.chunk(), evidence.events());
    long overlap = 0;
    long earlyGrants = 0;
    for (int i = 1; i < tenures.size(); i++) {
      Tenure before = tenures.get(i - 1);
      Tenure after = tenures.get(i);
      long early = before.holderEndNanos() - after.grantedNanos();
      if (early > 0 && !sameHolder(before, after)) {
        earlyGrants++;
        overlap = Math.max(overlap, early);
      }
    }
    overlap = Math.max(overlap, crossedAcknowledgements(facts.chunk(), evidence.events()));

    long gap = gap(evidence.acknowledged(), facts, true);
    long appendGap = gap(evidence.acknowledged(), facts, false);
    List<String> differing = differing(evidence.copies());

    List<String> failures = new ArrayList<>();
    failIf(failures, lost > 0, lost + " acknowledged records are lost");
    failIf(failures, doubled > 0, doubled + " records are in the file more often than they may be");
    failIf(failures, outOfOrder > 0, outOfOrder + " records are out of order");
    failIf(failures, overlap > 0, "two primaries for " + overlap / MILLION + " ms");
    failIf(failures, earlyGrants > 0, earlyGrants + " grants came before the old holder's end");
    failIf(failures, !differing.isEmpty(), "replicas differ: " + String.join(", ", differing));
    failIf(failures, evidence.acknowledged().isEmpty(), "nothing was acknowledged");
    failIf(failures, evidence.copies().isEmpty(), "no replica was compared");
    failIf(
        failures,
        facts.newPrimary() && tenures.size() < 2,
        "the chunk has no second primary in the records");
    judgeGap(failures, "the chunk", gap, facts.gapLimitNanos(), facts.gapLimitNanos() > 0);
    judgeGap(
        failures,
        "appends",
        appendGap,
        facts.appendGapLimitNanos(),
        facts.appendGapLimitNanos() > 0);
    return new Verdict(
        evidence.acknowledged().size(),
        lost,
        doubled,
        outOfOrder,
        (overlap + MILLION - 1) / MILLION,
        earlyGrants,
        gap < 0 ? -1 : gap / MILLION,
        appendGap < 0 ? -1 : appendGap / MILLION,
        facts.gapLimitNanos() / MILLION,
        facts.appendGapLimitNanos() / MILLION,
        evidence.events().stream().filter(e -> e.kind() == EventKind.HOLDER_REFUSED_LATE).count(),
        differing,
        failures);
  }

  private record RecordName(String file, int client, long number) {}

  private static boolean sameHolder(Tenure before, Tenure after) {
    return before.holder().equals(after.holder());
  }

  /**
   * The longest time between a primary's first acknowledgement and a later one by a holder before
   * it, by the servers' own records. (What clients were told does not count here: a retried record
   * is answered by the new primary with the version under which the old one ordered it.)
   */
  private static long crossedAcknowledgements(String chunk, List<ClusterEvent> events) {
    long longest = 0;
    for (ClusterEvent last : events) {
      for (ClusterEvent first : events) {
        boolean crossed =
            last.kind() == EventKind.HOLDER_LAST_ACKNOWLEDGEMENT
                && first.kind() == EventKind.HOLDER_FIRST_ACKNOWLEDGEMENT
                && isOf(last, chunk)
                && isOf(first, chunk)
                && last.version() < first.version()
                && !last.recorder().equals(first.recorder());
        if (crossed) {
          longest = Math.max(longest, at(last) - at(first));
        }
      }
    }
    return longest;
  }

  private static boolean isOf(ClusterEvent event, String chunk) {
    return event.chunk().filter(c -> c.toString().equals(chunk)).isPresent();
  }

  private static long at(ClusterEvent event) {
    return event.monotonicNanos() - Long.parseLong(event.fields().getOrDefault("agoNanos", "0"));
  }

  /**
   * Time from the last acknowledgement before the hit took effect to the next: in the chunk itself,
   * or in the file that may go on in another chunk.
   */
  private static long gap(List<Acknowledged> records, Facts facts, boolean inChunk) {
    TreeSet<Long> times = new TreeSet<>();
    Set<String> files = new HashSet<>();
    for (Acknowledged record : records) {
      files.add(record.file());
      boolean counts =
          inChunk ? record.chunk().equals(facts.chunk()) : record.file().equals(Evidence.APPENDS);
      if (counts) {
        times.add(record.atNanos());
      }
    }
    if (!inChunk && !files.contains(Evidence.APPENDS)) {
      return -1;
    }
    // what was under way at the hit may still be answered: the gap that counts is the longest one
    // that begins no earlier than the last acknowledgement before the hit
    Long from = times.floor(facts.hitAtNanos());
    if (from == null) {
      return -1;
    }
    long longest = -1;
    long previous = from;
    for (long time : times.tailSet(from, false)) {
      longest = Math.max(longest, time - previous);
      previous = time;
    }
    return longest;
  }

  private static List<String> differing(List<Copy> copies) {
    Map<String, Set<String>> contents = new TreeMap<>();
    for (Copy copy : copies) {
      contents
          .computeIfAbsent(copy.chunk(), c -> new TreeSet<>())
          .add(copy.lengthBytes() + " " + copy.checksum());
    }
    List<String> differing = new ArrayList<>();
    contents.forEach(
        (chunk, different) -> {
          if (different.size() > 1) {
            differing.add(chunk);
          }
        });
    return differing;
  }

  private static void judgeGap(
      List<String> failures, String what, long gap, long limit, boolean asked) {
    failIf(failures, asked && gap < 0, what + ": nothing was acknowledged again");
    failIf(
        failures,
        asked && gap > limit,
        what + ": a gap of " + gap / MILLION + " ms, more than " + limit / MILLION + " ms");
  }

  private static void failIf(List<String> failures, boolean failed, String why) {
    if (failed) {
      failures.add(why);
    }
  }
}
