package io.leasefs.master.control;

import io.leasefs.common.error.ErrorCode;
import io.leasefs.common.error.LeaseFsException;
import io.leasefs.common.model.Ordinal;
import io.leasefs.master.cluster.LogWitness.Heard;

/**
 * A leader's log is short: a chunkserver has heard of more.
 *
 * @param heard of what
 * @param lastApplied where the log ends
 * @param term of the leader, led by the generation
 * @param sinceNanos when that was seen; no lease was given or renewed afterwards
 */
record Shortage(Heard heard, long lastApplied, long term, long sinceNanos) {
  /** In one line. */
  String line() {
    String what =
        heard.ordinal() > lastApplied
            ? "it ends at "
                + entry(lastApplied)
                + ", and "
                + heard.server()
                + " has heard of "
                + entry(heard.ordinal())
            : "its term is "
                + term(term)
                + ", and "
                + heard.server()
                + " has heard of term "
                + term(heard.term());
    return "the master's log is short: " + what + "; nothing is changed, given or deleted";
  }

  /** What everybody is told who wants more than to look. */
  LeaseFsException refusal() {
    return new LeaseFsException(
        ErrorCode.LOG_SHORT,
        line(),
        "put the newest copy of the master's folder back; where there is none,"
            + " 'leasefs masters raise-generation' goes on without what is missing");
  }

  private static String entry(long ordinal) {
    return "entry " + term(ordinal);
  }

  private static String term(long led) {
    return Ordinal.generation(led) == 0
        ? Long.toString(Ordinal.index(led))
        : Ordinal.index(led) + " of generation " + Ordinal.generation(led);
  }
}
