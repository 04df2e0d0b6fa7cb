package io.leasefs.cluster.demo;

import io.leasefs.cluster.demo.Evidence.Acknowledged;
import io.leasefs.cluster.demo.Evidence.Copy;
import io.leasefs.cluster.demo.HistoryCheck.Unreadable;
import io.leasefs.common.model.ClusterEvent;
import io.leasefs.common.model.EventKind;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;

/**
 * What came out of a torture. Pure: the same evidence gives the same verdict.
 *
 * @param acknowledged records that clients were told are safe
 * @param clientsEnded appends whose outcome nobody could tell: another client went on
 * @param chunks that had a primary
 * @param tenures how many times somebody was primary of one of them
 * @param earlyGrants grants to another server before the old holder's end or death
 * @param overlapMillis longest time in which two servers were primary of a chunk
 * @param closestMillis shortest time between a holder's end and the next grant; -1: there was none
 * @param lateRefusals mutations that a primary refused because its lease was over
 * @param history of what readers saw while all this went on
 * @param perSecond acknowledged records a second before the first fault
 * @param faults how often each was done
 * @param isVoid too little was going on for this to prove anything
 * @param failures why it is not passed, a line each
 */
public record TortureVerdict(
    long acknowledged,
    long lost,
    long doubled,
    long outOfOrder,
    long clientsEnded,
    long chunks,
    long tenures,
    long earlyGrants,
    long overlapMillis,
    long closestMillis,
    long lateRefusals,
    HistoryCheck history,
    long perSecond,
    Map<String, Integer> faults,
    List<String> differing,
    boolean isVoid,
    List<String> failures) {
  /** Below so many acknowledged records a second before the first fault, it proves nothing. */
  public static final long LEAST_PER_SECOND = 50;

  /** The simulator's, too. */
  private static final long HISTORY_STEPS = 100_000;

  private static final long MILLION = 1_000_000;

  /**
   * What it is made of.
   *
   * @param broken what could not be done when all was healed, a line each
   * @param events each server's in the order of its file
   */
  record Evidence(
      long perSecond,
      boolean converged,
      List<String> broken,
      HistoryCheck.Story story,
      List<Copy> copies,
      List<ClusterEvent> events,
      List<Harms.Death> deaths,
      Map<String, Integer> faults,
      long clientsEnded) {}

  public TortureVerdict {
    faults = new LinkedHashMap<>(faults);
    differing = List.copyOf(differing);
    failures = List.copyOf(failures);
  }

  /** True where it proves something, and nothing is wrong. */
  public boolean passed() {
    return !isVoid && failures.isEmpty();
  }

  static TortureVerdict of(Evidence evidence) {
    return of(evidence, HISTORY_STEPS);
  }

  /**
   * Judges.
   *
   * @param steps budget for each piece of a file's history
   */
  static TortureVerdict of(Evidence evidence, long steps) {
    HistoryCheck.Story story = evidence.story();
    List<Acknowledged> acknowledged = story.acknowledged();
    RecordCheck records = RecordCheck.of(readable(story), story.refused(), story.found());
    HistoryCheck history = HistoryCheck.of(story, steps);
    List<String> differing = RecordCheck.differing(evidence.copies());
    long tenures = 0;
    long early = 0;
    long overlap = 0;
    long closest = Long.MAX_VALUE;
    Map<String, List<ClusterEvent>> byChunk = byChunk(evidence.events(), evidence.deaths());
    for (Map.Entry<String, List<ClusterEvent>> chunk : byChunk.entrySet()) {
      List<Tenure> alive = new ArrayList<>();
      for (Tenure tenure : Tenure.of(chunk.getKey(), chunk.getValue())) {
        alive.add(untilDeath(tenure, evidence.deaths()));
      }
      LeaseCheck leases = LeaseCheck.of(alive);
      tenures += leases.tenures();
      early += leases.earlyGrants();
      closest = Math.min(closest, leases.closestNanos());
      overlap = Math.max(overlap, leases.overlapNanos());
      overlap =
          Math.max(overlap, LeaseCheck.crossedAcknowledgements(chunk.getKey(), chunk.getValue()));
    }
    List<String> failures = new ArrayList<>();
    failIf(failures, records.lost() > 0, records.lost() + " acknowledged records are lost");
    failIf(
        failures,
        records.doubled() > 0,
        records.doubled() + " records are in the file more often than they may be");
    failIf(failures, records.outOfOrder() > 0, records.outOfOrder() + " records are out of order");
    failIf(failures, early > 0, early + " grants came before the old holder's end");
    failIf(failures, overlap > 0, "two primaries for " + overlap / MILLION + " ms");
    failIf(failures, !differing.isEmpty(), "replicas differ: " + String.join(", ", differing));
    failIf(
        failures,
        records.strange() > 0,
        records.strange() + " records in the files are none that a client can have sent");
    List<String> uncompared = RecordCheck.uncompared(acknowledged, evidence.copies());
    failIf(
        failures,
        !uncompared.isEmpty() || evidence.copies().isEmpty(),
        "fewer than two replicas were compared of " + String.join(", ", uncompared));
    List<String> cut = cutRecords(evidence.events());
    failIf(
        failures,
        !cut.isEmpty(),
        "leases cannot be judged, records of events outgrew their files: "
            + String.join(", ", cut));
    failIf(
        failures,
        !evidence.converged(),
        "not every file could be written and read again when healed");
    failures.addAll(evidence.broken());
    for (Unreadable each : story.unreadable()) {
      long there = acknowledged.stream().filter(record -> isBehind(record, each)).count();
      failures.add(
          each.file()
              + " cannot be read from byte "
              + each.offset()
              + " on, where "
              + there
              + " acknowledged records are: "
              + each.why());
    }
    failures.addAll(history.failures());
    boolean isVoid =
        evidence.perSecond() < LEAST_PER_SECOND
            || evidence.faults().isEmpty()
            || history.reads() == 0;
    return new TortureVerdict(
        acknowledged.size(),
        records.lost(),
        records.doubled(),
        records.outOfOrder(),
        evidence.clientsEnded(),
        byChunk.size(),
        tenures,
        early,
        (overlap + MILLION - 1) / MILLION,
        closest == Long.MAX_VALUE ? -1 : Math.floorDiv(closest, MILLION),
        evidence.events().stream().filter(e -> e.kind() == EventKind.HOLDER_REFUSED_LATE).count(),
        history,
        evidence.perSecond(),
        evidence.faults(),
        differing,
        isVoid,
        failures);
  }

  /** Of what cannot be read nobody knows whether it is lost. */
  private static List<Acknowledged> readable(HistoryCheck.Story story) {
    return story.acknowledged().stream()
        .filter(record -> story.unreadable().stream().noneMatch(each -> isBehind(record, each)))
        .toList();
  }

  private static boolean isBehind(Acknowledged record, Unreadable from) {
    return record.file().equals(from.file()) && record.offset() >= from.offset();
  }

  /** A dead process is no primary, whatever it was promised. */
  private static Tenure untilDeath(Tenure tenure, List<Harms.Death> deaths) {
    long end = tenure.holderEndNanos();
    for (Harms.Death death : deaths) {
      if (death.server().equals(tenure.holder().name())
          && death.atNanos() >= tenure.grantedNanos()) {
        end = Math.min(end, death.atNanos());
      }
    }
    return new Tenure(
        tenure.holder(),
        tenure.version(),
        tenure.grantedNanos(),
        end,
        tenure.masterEndNanos(),
        tenure.released(),
        tenure.held());
  }

  /**
   * Events of each chunk that was granted, in order, and among them the renewals of whoever held it
   * at that time. (A renewal is the whole session's: given to every chunk that ever was, they would
   * not fit into memory after an hour.)
   */
  private static Map<String, List<ClusterEvent>> byChunk(
      List<ClusterEvent> events, List<Harms.Death> deaths) {
    Map<String, List<ClusterEvent>> byChunk = new TreeMap<>();
    for (ClusterEvent event : events) {
      if (event.kind() == EventKind.LEASE_GRANTED) {
        event.chunk().ifPresent(chunk -> byChunk.put(chunk.toString(), new ArrayList<>()));
      }
    }
    List<ClusterEvent> sorted = new ArrayList<>(events);
    sorted.sort(Comparator.comparingLong(ClusterEvent::monotonicNanos));
    List<Harms.Death> dying = new ArrayList<>(deaths);
    dying.sort(Comparator.comparingLong(Harms.Death::atNanos));
    Held held = new Held();
    int died = 0;
    for (ClusterEvent event : sorted) {
      while (died < dying.size() && dying.get(died).atNanos() <= event.monotonicNanos()) {
        held.died(dying.get(died).server());
        died++;
      }
      if (event.kind() == EventKind.HOLDER_RENEWED) {
        for (String chunk : held.chunksOf(event.recorder().name())) {
          List<ClusterEvent> list = byChunk.get(chunk);
          if (list != null) {
            list.add(event);
          }
        }
      } else if (event.chunk().isPresent()) {
        held.take(event);
        List<ClusterEvent> list = byChunk.get(event.chunk().get().toString());
        if (list != null) {
          list.add(event);
        }
      }
    }
    return byChunk;
  }

  /** Which leases each server has, by its own record. */
  private static final class Held {
    private record Lease(String chunk, long version) {}

    private final Map<String, Set<Lease>> byServer = new HashMap<>();

    void take(ClusterEvent event) {
      Lease lease = new Lease(event.chunk().orElseThrow().toString(), event.version());
      Set<Lease> leases =
          byServer.computeIfAbsent(event.recorder().name(), name -> new LinkedHashSet<>());
      switch (event.kind()) {
        case HOLDER_GRANTED -> leases.add(lease);
        case HOLDER_ENDED -> leases.remove(lease);
        default -> {}
      }
    }

    void died(String server) {
      byServer.remove(server);
    }

    Set<String> chunksOf(String server) {
      Set<String> chunks = new LinkedHashSet<>();
      byServer.getOrDefault(server, Set.of()).forEach(lease -> chunks.add(lease.chunk()));
      return chunks;
    }
  }

  /** Servers whose record of events outgrew its file, so that its beginning is lost. */
  private static List<String> cutRecords(List<ClusterEvent> events) {
    Map<String, Long> first = new TreeMap<>();
    events.forEach(event -> first.putIfAbsent(event.recorder().name(), event.number()));
    return first.entrySet().stream()
        .filter(entry -> entry.getValue() != 1)
        .map(entry -> entry.getKey() + " begins at event " + entry.getValue())
        .toList();
  }

  private static void failIf(List<String> failures, boolean failed, String why) {
    if (failed) {
      failures.add(why);
    }
  }
}
