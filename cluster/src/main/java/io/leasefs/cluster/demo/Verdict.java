package io.leasefs.cluster.demo;

import io.leasefs.cluster.demo.Evidence.Acknowledged;
import io.leasefs.cluster.demo.Evidence.Facts;
import io.leasefs.common.model.ClusterEvent;
import io.leasefs.common.model.EventKind;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
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
 * @param lateRefusals mutations that the old primary refused after the hit because its lease was
 *     over
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
    Bounds bounds = Bounds.of(facts);
    RecordCheck records =
        RecordCheck.of(evidence.acknowledged(), evidence.refused(), evidence.found());
    List<Tenure> tenures = Tenure.of(facts.chunk(), evidence.events());
    LeaseCheck leases = LeaseCheck.of(tenures);
    long overlap =
        Math.max(
            leases.overlapNanos(),
            LeaseCheck.crossedAcknowledgements(facts.chunk(), evidence.events()));

    long gap = gap(evidence.acknowledged(), facts, true);
    long appendGap = gap(evidence.acknowledged(), facts, false);
    List<String> differing = RecordCheck.differing(evidence.copies());

    List<String> failures = new ArrayList<>();
    failIf(failures, records.lost() > 0, records.lost() + " acknowledged records are lost");
    failIf(
        failures,
        records.doubled() > 0,
        records.doubled() + " records are in the file more often than they may be");
    failIf(failures, records.outOfOrder() > 0, records.outOfOrder() + " records are out of order");
    failIf(failures, overlap > 0, "two primaries for " + overlap / MILLION + " ms");
    failIf(
        failures,
        leases.earlyGrants() > 0,
        leases.earlyGrants() + " grants came before the old holder's end");
    failIf(failures, !differing.isEmpty(), "replicas differ: " + String.join(", ", differing));
    failIf(failures, evidence.acknowledged().isEmpty(), "nothing was acknowledged");
    failIf(
        failures,
        records.strange() > 0,
        records.strange() + " records in the file are none that a client can have sent");
    List<String> uncompared = RecordCheck.uncompared(evidence.acknowledged(), evidence.copies());
    failIf(
        failures,
        !uncompared.isEmpty(),
        "fewer than two replicas were compared of " + String.join(", ", uncompared));
    boolean held =
        tenures.stream().filter(t -> t.grantedNanos() <= facts.hitAtNanos()).anyMatch(Tenure::held);
    failIf(failures, !held, "the primary before the hit has no records of its own");
    failIf(
        failures,
        bounds.newPrimary()
            && tenures.stream().noneMatch(t -> t.held() && t.grantedNanos() > facts.hitAtNanos()),
        "the chunk has no second primary in the records");
    judgeGap(failures, "the chunk", gap, bounds.gapNanos());
    judgeGap(failures, "appends", appendGap, bounds.appendGapNanos());
    return new Verdict(
        evidence.acknowledged().size(),
        records.lost(),
        records.doubled(),
        records.outOfOrder(),
        (overlap + MILLION - 1) / MILLION,
        leases.earlyGrants(),
        gap < 0 ? -1 : gap / MILLION,
        appendGap < 0 ? -1 : appendGap / MILLION,
        bounds.gapNanos() / MILLION,
        bounds.appendGapNanos() / MILLION,
        evidence.events().stream().filter(e -> isLateRefusal(e, facts)).count(),
        differing,
        failures);
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

  private static boolean isLateRefusal(ClusterEvent event, Facts facts) {
    return event.kind() == EventKind.HOLDER_REFUSED_LATE
        && event.recorder().name().equals(facts.victim())
        && event.monotonicNanos() >= facts.hitAtNanos();
  }

  private static void judgeGap(List<String> failures, String what, long gap, long limit) {
    failIf(failures, gap < 0, what + ": nothing was acknowledged again");
    failIf(
        failures,
        gap > limit,
        what + ": a gap of " + gap / MILLION + " ms, more than " + limit / MILLION + " ms");
  }

  private static void failIf(List<String> failures, boolean failed, String why) {
    if (failed) {
      failures.add(why);
    }
  }
}
