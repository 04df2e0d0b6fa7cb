package io.leasefs.cluster.demo;

import io.leasefs.cluster.demo.Evidence.Acknowledged;
import io.leasefs.cluster.demo.Evidence.Found;
import io.leasefs.cluster.demo.Evidence.Refused;
import io.leasefs.cluster.demo.Evidence.Unanswered;
import io.leasefs.cluster.history.OrderCertificate;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.function.Consumer;

/**
 * Whether what writers were told and what readers saw meanwhile can have happened one operation at
 * a time, by the same checks as in the simulator. Pure.
 *
 * @param reads that met the end of their file
 * @param failedReads that got no answer
 * @param staleReads default reads that saw less than what had been acknowledged or seen when they
 *     were called, as far as the protocol allows it
 * @param histories pieces of files' histories that were judged
 * @param undecided of how many it was not found out within the budget
 * @param failures what is wrong, a line each
 */
public record HistoryCheck(
    long reads,
    long failedReads,
    long staleReads,
    long histories,
    long undecided,
    List<String> failures) {
  /** Of so many pieces one may stay undecided. */
  private static final long UNDECIDED_ONE_IN = 100;

  /** More examples of the same say nothing new. */
  private static final int MOST_TOLD = 3;

  public HistoryCheck {
    failures = List.copyOf(failures);
  }

  /**
   * All that was done, and told of it.
   *
   * @param beganNanos from here times are counted, for people
   * @param grantorNanos T_G
   * @param writesOn files whose appends may go on in a new chunk, so that there are early seals
   * @param found in the end, in the order of each file
   * @param unreadable what could not be read in the end
   */
  record Story(
      long beganNanos,
      long grantorNanos,
      Set<String> writesOn,
      List<Acknowledged> acknowledged,
      List<Refused> refused,
      List<Unanswered> unanswered,
      List<Found> found,
      List<Unreadable> unreadable,
      List<SeenFile> seen) {}

  /** A file that could not be read from there on when all was healed. */
  record Unreadable(String file, long offset, String why) {}

  /** A record's name among those of its file; made into text only for people. */
  record RecordName(int client, long number) {
    @Override
    public String toString() {
      return "record " + number + " of client " + client;
    }
  }

  /**
   * Judges.
   *
   * @param budget for each piece of a history, in steps
   */
  static HistoryCheck of(Story story, long budget) {
    List<String> failures = new ArrayList<>();
    orders(story.acknowledged(), failures::add);
    long reads = 0;
    long failed = 0;
    long stale = 0;
    long histories = 0;
    long undecided = 0;
    for (SeenFile seen : story.seen()) {
      SeenFileCheck file = SeenFileCheck.of(story, seen, budget);
      reads += seen.looks().size();
      failed += seen.failures();
      stale += file.stale();
      histories += file.pieces();
      undecided += file.undecided();
      failures.addAll(file.failures());
    }
    if (undecided * UNDECIDED_ONE_IN > histories) {
      failures.add(undecided + " of " + histories + " pieces of histories could not be decided");
    }
    return new HistoryCheck(reads, failed, stale, histories, undecided, failures);
  }

  /** Acknowledgements of each chunk by (version, serial): of these no order is to be searched. */
  private static void orders(List<Acknowledged> acknowledged, Consumer<String> failures) {
    Map<String, List<Acknowledged>> byChunk = new TreeMap<>();
    for (Acknowledged each : acknowledged) {
      byChunk.computeIfAbsent(each.chunk(), chunk -> new ArrayList<>()).add(each);
    }
    byChunk.forEach(
        (chunk, records) -> {
          records.sort(Comparator.comparingLong(Acknowledged::atNanos));
          OrderCertificate order = new OrderCertificate();
          List<String> wrong = new ArrayList<>();
          for (Acknowledged each : records) {
            order
                .acknowledged(
                    new RecordName(each.client(), each.number()),
                    each.version(),
                    each.serial(),
                    each.offset(),
                    Writers.RECORD_BYTES,
                    each.submittedNanos(),
                    each.atNanos())
                .ifPresent(wrong::add);
          }
          tell(wrong, "answers of chunk " + chunk + " contradict one another", failures);
        });
  }

  /** A line where there is something to tell, with a few examples. */
  static void tell(List<String> examples, String what, Consumer<String> failures) {
    if (!examples.isEmpty()) {
      failures.accept(
          what
              + ", "
              + examples.size()
              + " times: "
              + String.join("; ", examples.subList(0, Math.min(MOST_TOLD, examples.size()))));
    }
  }
}
