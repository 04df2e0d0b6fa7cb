package io.leasefs.cluster.demo;

import io.leasefs.cluster.demo.Evidence.Acknowledged;
import io.leasefs.cluster.demo.Evidence.Copy;
import io.leasefs.cluster.demo.Evidence.Found;
import io.leasefs.cluster.demo.Evidence.Refused;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;

/**
 * Whether every acknowledged record is in its file, once and in its order. Pure.
 *
 * @param lost acknowledged, and not in the file
 * @param doubled more than once in the file, or refused and in the file
 * @param outOfOrder of one client, in the file before one that it was acknowledged after
 */
record RecordCheck(long lost, long doubled, long outOfOrder) {
  private record Name(String file, int client, long number) {}

  static RecordCheck of(
      List<Acknowledged> acknowledged, List<Refused> refused, List<Found> foundInOrder) {
    Map<Name, Integer> times = new HashMap<>();
    long outOfOrder = 0;
    Map<String, Long> newest = new HashMap<>();
    for (Found found : foundInOrder) {
      times.merge(new Name(found.file(), found.client(), found.number()), 1, Integer::sum);
      String stream = found.file() + "#" + found.client();
      long before = newest.getOrDefault(stream, 0L);
      if (found.number() < before) {
        outOfOrder++;
      }
      newest.put(stream, Math.max(before, found.number()));
    }
    long lost = 0;
    for (Acknowledged record : acknowledged) {
      if (!times.containsKey(new Name(record.file(), record.client(), record.number()))) {
        lost++;
      }
    }
    long doubled = times.values().stream().filter(n -> n > 1).count();
    for (Refused record : refused) {
      if (times.containsKey(new Name(record.file(), record.client(), record.number()))) {
        doubled++;
      }
    }
    return new RecordCheck(lost, doubled, outOfOrder);
  }

  /** Chunks whose replicas are not the same. */
  static List<String> differing(List<Copy> copies) {
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
}
