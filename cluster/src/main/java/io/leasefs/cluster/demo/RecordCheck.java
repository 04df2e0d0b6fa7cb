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
 * @param outOfOrder of one client, in the file before one that it was acknowledged after; or at an
 *     offset that is not above the one before
 * @param strange no whole record, or one that nobody can have sent: each client sends one when the
 *     one before it is answered
 */
record RecordCheck(long lost, long doubled, long outOfOrder, long strange) {
  private record Name(String file, int client, long number) {}

  static RecordCheck of(
      List<Acknowledged> acknowledged, List<Refused> refused, List<Found> foundInOrder) {
    Map<Name, Integer> times = new HashMap<>();
    long outOfOrder = 0;
    Map<String, Long> newest = new HashMap<>();
    Map<String, Long> ends = new HashMap<>();
    for (Found found : foundInOrder) {
      times.merge(new Name(found.file(), found.client(), found.number()), 1, Integer::sum);
      String stream = found.file() + "#" + found.client();
      long before = newest.getOrDefault(stream, 0L);
      newest.put(stream, Math.max(before, found.number()));
      Long end = ends.put(found.file(), found.offset());
      if (found.number() < before || (end != null && found.offset() <= end)) {
        outOfOrder++;
      }
    }
    long strange = strange(acknowledged, refused, foundInOrder);
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
    return new RecordCheck(lost, doubled, outOfOrder, strange);
  }

  private static long strange(
      List<Acknowledged> acknowledged, List<Refused> refused, List<Found> all) {
    Map<String, Long> answered = new HashMap<>();
    for (Acknowledged record : acknowledged) {
      answered.merge(record.file() + "#" + record.client(), record.number(), Math::max);
    }
    for (Refused record : refused) {
      answered.merge(record.file() + "#" + record.client(), record.number(), Math::max);
    }
    return all.stream()
        .filter(
            found ->
                found.client() < 0
                    || found.number()
                        > answered.getOrDefault(found.file() + "#" + found.client(), 0L) + 1)
        .count();
  }

  /** Chunks of acknowledged records of which fewer than two replicas were compared. */
  static List<String> uncompared(List<Acknowledged> acknowledged, List<Copy> copies) {
    Map<String, Set<String>> servers = new TreeMap<>();
    acknowledged.forEach(record -> servers.computeIfAbsent(record.chunk(), c -> new TreeSet<>()));
    for (Copy copy : copies) {
      servers.computeIfAbsent(copy.chunk(), c -> new TreeSet<>()).add(copy.server());
    }
    return servers.entrySet().stream()
        .filter(entry -> entry.getValue().size() < 2)
        .map(Map.Entry::getKey)
        .toList();
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
