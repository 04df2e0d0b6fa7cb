package io.leasefs.common.model;

import java.util.Collections;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;

/**
 * One thing that happened, as the server that saw it recorded it.
 *
 * @param number 1, 2, 3 ... per recording process
 * @param recorder who recorded it
 * @param wallMillis for people
 * @param monotonicNanos the recorder's CLOCK_MONOTONIC; comparable between processes of one machine
 * @param kind what happened
 * @param subject the server it happened to, where there is one
 * @param chunk the chunk concerned, where there is one
 * @param version of the chunk; 0 where it does not apply
 * @param fields more, by name; durations end in Nanos or Millis
 */
public record ClusterEvent(
    long number,
    ServerId recorder,
    long wallMillis,
    long monotonicNanos,
    EventKind kind,
    Optional<ServerId> subject,
    Optional<ChunkHandle> chunk,
    long version,
    Map<String, String> fields) {
  public ClusterEvent {
    fields = Collections.unmodifiableMap(new TreeMap<>(fields));
  }
}
