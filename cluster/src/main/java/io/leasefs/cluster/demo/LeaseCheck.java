package io.leasefs.cluster.demo;

import io.leasefs.common.model.ClusterEvent;
import io.leasefs.common.model.EventKind;
import java.util.ArrayList;
import java.util.List;

/**
 * Whether one chunk ever had two primaries, by the servers' own records. Pure.
 *
 * @param tenures how many there were
 * @param earlyGrants grants to another server before the old holder's end
 * @param overlapNanos by how much, at most
 * @param closestNanos shortest time between a holder's end and the next grant to another server;
 *     {@link Long#MAX_VALUE} where there was none
 */
record LeaseCheck(long tenures, long earlyGrants, long overlapNanos, long closestNanos) {
  static LeaseCheck of(List<Tenure> tenures) {
    long earlyGrants = 0;
    long overlap = 0;
    long closest = Long.MAX_VALUE;
    for (int i = 1; i < tenures.size(); i++) {
      Tenure before = tenures.get(i - 1);
      Tenure after = tenures.get(i);
      if (before.holder().equals(after.holder())) {
        continue;
      }
      long distance = after.grantedNanos() - before.holderEndNanos();
      closest = Math.min(closest, distance);
      if (distance < 0) {
        earlyGrants++;
        overlap = Math.max(overlap, -distance);
      }
    }
    return new LeaseCheck(tenures.size(), earlyGrants, overlap, closest);
  }

  /**
   * The longest time between a primary's first acknowledgement and a later one by a holder before
   * it. (What clients were told does not count here: a retried record is answered by the new
   * primary with the version under which the old one ordered it.)
   */
  static long crossedAcknowledgements(String chunk, List<ClusterEvent> events) {
    List<ClusterEvent> lasts = ofKind(EventKind.HOLDER_LAST_ACKNOWLEDGEMENT, chunk, events);
    List<ClusterEvent> firsts = ofKind(EventKind.HOLDER_FIRST_ACKNOWLEDGEMENT, chunk, events);
    long longest = 0;
    for (ClusterEvent last : lasts) {
      for (ClusterEvent first : firsts) {
        if (last.version() < first.version() && !last.recorder().equals(first.recorder())) {
          longest = Math.max(longest, at(last) - at(first));
        }
      }
    }
    return longest;
  }

  private static List<ClusterEvent> ofKind(
      EventKind kind, String chunk, List<ClusterEvent> events) {
    List<ClusterEvent> found = new ArrayList<>();
    for (ClusterEvent event : events) {
      if (event.kind() == kind
          && event.chunk().filter(c -> c.toString().equals(chunk)).isPresent()) {
        found.add(event);
      }
    }
    return found;
  }

  private static long at(ClusterEvent event) {
    return event.monotonicNanos() - Long.parseLong(event.fields().getOrDefault("agoNanos", "0"));
  }
}
