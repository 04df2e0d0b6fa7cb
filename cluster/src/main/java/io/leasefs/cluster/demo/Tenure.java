package io.leasefs.cluster.demo;

import io.leasefs.common.model.ClusterEvent;
import io.leasefs.common.model.EventKind;
import io.leasefs.common.model.ServerId;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;

/**
 * One server's time as primary of one chunk at one version, from both sides' records.
 *
 * @param holder the server
 * @param version of the chunk
 * @param grantedNanos when the master recorded the grant
 * @param holderEndNanos the last instant at which the holder believed itself primary: the end of
 *     its newest renewal, or earlier where it recorded that it stopped
 * @param masterEndNanos when the master recorded that the promise was over; empty: it was not
 * @param released true where the holder gave the lease back before its end
 * @param held true where the holder itself recorded that it had it: an answer may be lost
 */
public record Tenure(
    ServerId holder,
    long version,
    long grantedNanos,
    long holderEndNanos,
    Optional<Long> masterEndNanos,
    boolean released,
    boolean held) {

  /** All tenures of a chunk, in the order of their versions. */
  static List<Tenure> of(String chunk, List<ClusterEvent> events) {
    Map<Long, ClusterEvent> grants = new TreeMap<>();
    for (ClusterEvent event : events) {
      if (event.kind() == EventKind.LEASE_GRANTED && isOf(event, chunk)) {
        grants.putIfAbsent(event.version(), event);
      }
    }
    List<Tenure> tenures = new ArrayList<>();
    grants.forEach((version, grant) -> tenures.add(tenure(chunk, version, grant, events)));
    return tenures;
  }

  private static Tenure tenure(
      String chunk, long version, ClusterEvent grant, List<ClusterEvent> events) {
    ServerId holder = grant.subject().orElseThrow();
    long holderEnd = grant.monotonicNanos();
    long stopped = Long.MAX_VALUE;
    boolean held = false;
    boolean released = false;
    Optional<Long> masterEnd = Optional.empty();
    for (ClusterEvent event : events) {
      boolean thisLease = isOf(event, chunk) && event.version() == version;
      boolean ofHolder = event.recorder().equals(holder);
      switch (event.kind()) {
        case HOLDER_GRANTED -> {
          if (thisLease && ofHolder) {
            held = true;
            holderEnd = Math.max(holderEnd, endOf(event));
          }
        }
        case HOLDER_RENEWED -> {
          // a renewal is the whole session's: it counts while this lease is held
          if (ofHolder && held && stopped == Long.MAX_VALUE) {
            holderEnd = Math.max(holderEnd, endOf(event));
          }
        }
        case HOLDER_ENDED -> {
          if (thisLease && ofHolder) {
            stopped = Math.min(stopped, event.monotonicNanos());
          }
        }
        case LEASE_RELEASED, LEASE_EXPIRED, LEASE_REVOKED -> {
          if (thisLease && masterEnd.isEmpty()) {
            masterEnd = Optional.of(event.monotonicNanos());
            released = event.kind() == EventKind.LEASE_RELEASED;
          }
        }
        default -> {}
      }
    }
    return new Tenure(
        holder,
        version,
        grant.monotonicNanos(),
        Math.min(holderEnd, stopped),
        masterEnd,
        released,
        held);
  }

  private static boolean isOf(ClusterEvent event, String chunk) {
    return event.chunk().filter(c -> c.toString().equals(chunk)).isPresent();
  }

  private static long endOf(ClusterEvent event) {
    return event.monotonicNanos() + Long.parseLong(event.fields().getOrDefault("leftNanos", "0"));
  }
}
