package io.leasefs.cluster.history;

import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;

/**
 * One chunk's records in the order that their answers name, by (version, serial): what shows,
 * without any search, that they took effect one after the other. Each serial is one record's; with
 * the serials grow versions and offsets, and no two records overlap; and a record that was sent
 * after another one was acknowledged has the larger serial.
 */
public final class OrderCertificate {
  private record Place(Object record, long version, long offset, int length) {}

  private final TreeMap<Long, Place> bySerial = new TreeMap<>();

  /** When the highest acknowledged serial became so high. */
  private final TreeMap<Long, Long> highestAt = new TreeMap<>();

  /**
   * A record is acknowledged.
   *
   * @param submitted when it was sent for the first time; nanoseconds of true time, like {@code
   *     now}
   * @return what is wrong with it
   */
  public Optional<String> acknowledged(
      Object record, long version, long serial, long offset, int length, long submitted, long now) {
    Place place = new Place(record, version, offset, length);
    Place same = bySerial.putIfAbsent(serial, place);
    if (same != null && !same.equals(place)) {
      return Optional.of("serial " + serial + " is of " + same + " and of " + place);
    }
    Map.Entry<Long, Place> before = bySerial.lowerEntry(serial);
    if (before != null && !follows(before.getValue(), place)) {
      return Optional.of(told(serial, place) + " comes after " + told(before));
    }
    Map.Entry<Long, Place> after = bySerial.higherEntry(serial);
    if (after != null && !follows(place, after.getValue())) {
      return Optional.of(told(after) + " comes after " + told(serial, place));
    }
    Map.Entry<Long, Long> known = highestAt.lowerEntry(submitted);
    if (known != null && known.getValue() >= serial) {
      return Optional.of(
          told(serial, place)
              + " was sent after serial "
              + known.getValue()
              + " had been acknowledged");
    }
    Map.Entry<Long, Long> highest = highestAt.lastEntry();
    if (highest == null || highest.getValue() < serial) {
      highestAt.put(now, serial);
    }
    return Optional.empty();
  }

  private static boolean follows(Place first, Place second) {
    return first.version <= second.version && first.offset + first.length <= second.offset;
  }

  private static String told(Map.Entry<Long, Place> entry) {
    return told(entry.getKey(), entry.getValue());
  }

  private static String told(long serial, Place place) {
    return "serial " + serial + ", " + place;
  }
}
