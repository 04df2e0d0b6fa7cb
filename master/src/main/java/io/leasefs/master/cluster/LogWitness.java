package io.leasefs.master.cluster;

import io.leasefs.common.model.Ordinal;
import io.leasefs.common.model.ServerId;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;

/**
 * How far chunkservers have heard of this cluster's log, by their own words. They heard of it from
 * a master that had applied it, so it was committed: a log that ends before is an older copy of it,
 * or has lost its end. Soft; the control loop is its only user.
 */
public final class LogWitness {
  /**
   * What one server has heard of.
   *
   * @param ordinal the highest number of the log
   * @param term the highest of a leader, led by the generation as an ordinal is
   */
  public record Heard(ServerId server, long ordinal, long term) {}

  private final Map<ServerId, Heard> heard = new TreeMap<>();

  /** Nothing was heard. */
  public void clear() {
    heard.clear();
  }

  /** A server of this cluster tells what it has heard of. */
  public void tell(ServerId server, long ordinal, long term) {
    heard.merge(
        server,
        new Heard(server, ordinal, term),
        (old, now) ->
            new Heard(server, Math.max(old.ordinal, now.ordinal), Math.max(old.term, now.term)));
  }

  /**
   * Who has heard of more than a leader has whose log ends there: of those the one that has heard
   * of the most. Only where nothing that was committed before the server spoke is missing at a
   * leader for another reason: it is alone, or has applied an entry that it appended since.
   */
  public Optional<Heard> ahead(long lastApplied, long term) {
    Heard most = null;
    for (Heard one : heard.values()) {
      if ((one.ordinal > lastApplied || one.term > term)
          && (most == null || one.ordinal > most.ordinal)) {
        most = one;
      }
    }
    return Optional.ofNullable(most);
  }

  /** A generation that leads all numbers and terms that anybody has heard of. */
  public int nextGeneration(int own) {
    int highest = own;
    for (Heard one : heard.values()) {
      highest = Math.max(highest, Ordinal.generation(one.ordinal));
      highest = Math.max(highest, Ordinal.generation(one.term));
    }
    return highest + 1;
  }
}
