package io.leasefs.cluster.simulation;

import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;

/**
 * What one run was.
 *
 * @param seed decides all of it
 * @param digest of everything that happened: the same for the same seed and program
 * @param events how many events were run
 * @param simulatedNanos how much time passed in the world
 * @param acknowledged records whose append was acknowledged
 * @param unknown records whose outcome the client never learnt
 * @param grants leases granted
 * @param tenures versions of chunks under which something was acknowledged
 * @param failovers leases that went from one server to another
 * @param masters how many there were
 * @param elections how often one of several masters was elected
 * @param handOverNanos shortest true time from the end of a lease that ran out to the grant of its
 *     chunk to another server; {@link #NONE}: there was none, or clocks were out of their bound
 * @param earlyHandOverNanos likewise for leases that were given back or whose holder died
 * @param faultsByKind how many faults there were, by kind
 * @param struck the kinds of all faults, in order
 * @param stops how many tasks were stopped in the middle, by where
 * @param histories files whose history was checked for linearizability
 * @param undecided histories of which it was not found out within the budget
 * @param convergeNanos from the end of faults until all clients had written and closed
 * @param violation what must not have been, if anything
 * @param newest the last that happened, where something was violated
 * @param drawn the sizes, terms and kinds of faults of this seed
 */
public record Outcome(
    long seed,
    long digest,
    long events,
    long simulatedNanos,
    long acknowledged,
    long unknown,
    long grants,
    long tenures,
    long failovers,
    int masters,
    int elections,
    long handOverNanos,
    long earlyHandOverNanos,
    Map<String, Integer> faultsByKind,
    List<String> struck,
    Map<String, Integer> stops,
    long histories,
    long undecided,
    long convergeNanos,
    Optional<Violation> violation,
    List<String> newest,
    String drawn) {
  /** A gap that there was not. */
  public static final long NONE = Checks.NONE;

  public Outcome {
    newest = List.copyOf(newest);
    struck = List.copyOf(struck);
    stops = Collections.unmodifiableMap(new TreeMap<>(stops));
    faultsByKind = Collections.unmodifiableMap(new TreeMap<>(faultsByKind));
  }

  /** How many faults there were, of all kinds. */
  public long faults() {
    return faultsByKind.values().stream().mapToLong(Integer::longValue).sum();
  }

  /** True where this invariant was violated. */
  boolean breaks(String invariant) {
    return violation.filter(broken -> broken.invariant().equals(invariant)).isPresent();
  }

  public boolean passed() {
    return violation.isEmpty();
  }
}
