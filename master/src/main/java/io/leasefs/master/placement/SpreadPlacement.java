package io.leasefs.master.placement;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * The paper's rules (GFS, section 4.2): disks of below-average use, few recent creations on one
 * server, and copies spread over racks. One after another it takes the candidate with the fewest
 * copies on its rack, then the least cost; never two on one server. The primary is then the one
 * with the fewest leases.
 */
public final class SpreadPlacement implements PlacementPolicy {
  @Override
  public List<Candidate> choose(
      List<Candidate> candidates, List<String> taken, int count, long bytesNeeded, long salt) {
    Map<String, Integer> copiesOnRack = new HashMap<>();
    for (String rack : taken) {
      copiesOnRack.merge(rack, 1, Integer::sum);
    }
    List<Candidate> rest = new ArrayList<>();
    for (Candidate candidate : candidates) {
      if (candidate.freeBytes() >= bytesNeeded) {
        rest.add(candidate);
      }
    }
    List<Candidate> chosen = new ArrayList<>();
    while (chosen.size() < count && !rest.isEmpty()) {
      Candidate best = rest.get(0);
      for (Candidate candidate : rest) {
        if (isBetter(candidate, best, copiesOnRack, salt)) {
          best = candidate;
        }
      }
      Candidate taking = best;
      chosen.add(taking);
      copiesOnRack.merge(taking.rack(), 1, Integer::sum);
      rest.removeIf(candidate -> candidate.server().equals(taking.server()));
    }
    moveFewestLeasesFirst(chosen);
    return chosen;
  }

  private static boolean isBetter(
      Candidate one, Candidate other, Map<String, Integer> copiesOnRack, long salt) {
    int onRack = copiesOnRack.getOrDefault(one.rack(), 0);
    int onOtherRack = copiesOnRack.getOrDefault(other.rack(), 0);
    if (onRack != onOtherRack) {
      return onRack < onOtherRack;
    }
    double cost = cost(one);
    double otherCost = cost(other);
    return cost != otherCost
        ? cost < otherCost
        : mix(one.server().hashCode(), salt) < mix(other.server().hashCode(), salt);
  }

  /** A copy placed in the last minute weighs like two percent of a full disk. */
  private static double cost(Candidate candidate) {
    double used =
        candidate.totalBytes() <= 0
            ? 1
            : 1 - (double) candidate.freeBytes() / candidate.totalBytes();
    // in steps of five percent, so that a few bytes more or less do not decide
    return Math.floor(used * 20) / 20 + 0.02 * candidate.recentCreations();
  }

  private static long mix(long value, long salt) {
    long z = (value ^ salt) * 0xbf58476d1ce4e5b9L;
    return z ^ (z >>> 31);
  }

  private static void moveFewestLeasesFirst(List<Candidate> chosen) {
    int first = 0;
    for (int i = 1; i < chosen.size(); i++) {
      if (chosen.get(i).leases() < chosen.get(first).leases()) {
        first = i;
      }
    }
    if (first > 0) {
      chosen.add(0, chosen.remove(first));
    }
  }
}
