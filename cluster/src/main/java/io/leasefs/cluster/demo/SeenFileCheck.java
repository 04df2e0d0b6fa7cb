package io.leasefs.cluster.demo;

import io.leasefs.cluster.demo.Evidence.Acknowledged;
import io.leasefs.cluster.demo.Evidence.Found;
import io.leasefs.cluster.demo.HistoryCheck.RecordName;
import io.leasefs.cluster.demo.HistoryCheck.Story;
import io.leasefs.cluster.demo.SeenFile.Look;
import io.leasefs.cluster.history.FileHistory;
import io.leasefs.cluster.history.LongHistory;
import io.leasefs.common.api.ChunkApi.ReadMode;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/**
 * One file: its records lie where they were acknowledged, seen and found in the end, and there is
 * an order of all operations that explains what each was told. Pure.
 *
 * @param stale default reads that saw less than what was known when they were called
 * @param pieces of the history that were judged
 * @param undecided of how many of them it was not found out
 */
record SeenFileCheck(long stale, long pieces, long undecided, List<String> failures) {
  /** Appends in a piece of the history. */
  private static final int PIECE = 256;

  static SeenFileCheck of(Story story, SeenFile seen, long budget) {
    return new Judge(story, seen).judge(budget);
  }

  private static final class Judge {
    private final Story story;
    private final SeenFile seen;
    private final String file;
    private final List<Acknowledged> acknowledged;
    private final List<Found> seenInOrder = new ArrayList<>();
    private final Map<Long, Found> found = new HashMap<>();
    private final List<String> failures = new ArrayList<>();

    Judge(Story story, SeenFile seen) {
      this.story = story;
      this.seen = seen;
      this.file = seen.file();
      this.acknowledged =
          story.acknowledged().stream().filter(each -> each.file().equals(file)).toList();
      for (int place = 0; place < seen.places(); place++) {
        seen.at(place).ifPresent(seenInOrder::add);
      }
      for (Found each : story.found()) {
        if (each.file().equals(file)) {
          found.put(each.offset(), each);
        }
      }
    }

    SeenFileCheck judge(long budget) {
      places();
      LongHistory.Result order = new LongHistory.Result(0, 0, Optional.empty());
      if (failures.isEmpty()) { // where records do not keep their places, there is no order
        order = LongHistory.check(appends(), reads(), PIECE, budget);
      }
      order
          .impossible()
          .ifPresent(why -> failures.add(file + " cannot have been as clients saw it: " + why));
      return new SeenFileCheck(stale(), order.windows(), order.undecided(), failures);
    }

    // ---- content ---------------------------------------------------------------------------

    private void places() {
      if (seen.contradicted() > 0) {
        failures.add(
            "%s showed what it cannot hold, %d times: %s"
                .formatted(file, seen.contradicted(), String.join("; ", seen.contradictions())));
      }
      Set<RecordName> refused = new HashSet<>();
      story.refused().stream()
          .filter(each -> each.file().equals(file))
          .forEach(each -> refused.add(new RecordName(each.client(), each.number())));
      long readTo = readTo();
      List<String> gone = new ArrayList<>();
      List<String> none = new ArrayList<>();
      for (Found each : seenInOrder) {
        if (each.offset() < readTo && !name(each).equals(nameAt(each.offset()))) {
          gone.add(told(each));
        }
        if (each.client() < 0 || refused.contains(name(each))) {
          none.add(told(each));
        }
      }
      HistoryCheck.tell(gone, file + " has lost what readers saw", failures::add);
      HistoryCheck.tell(none, file + " showed records that are none of it", failures::add);
      List<String> elsewhere = new ArrayList<>();
      for (Acknowledged each : acknowledged) {
        RecordName there = nameAt(each.offset());
        if (there != null && !there.equals(name(each))) {
          elsewhere.add(name(each) + " at " + each.offset() + ", where " + there + " lies");
        }
      }
      HistoryCheck.tell(elsewhere, file + " acknowledged records where others lie", failures::add);
    }

    /** So far the file could be read in the end. */
    private long readTo() {
      return story.unreadable().stream()
          .filter(each -> each.file().equals(file))
          .mapToLong(HistoryCheck.Unreadable::offset)
          .min()
          .orElse(Long.MAX_VALUE);
    }

    private @Nullable RecordName nameAt(long offset) {
      Found there = found.get(offset);
      return there == null ? null : name(there);
    }

    private static RecordName name(Acknowledged record) {
      return new RecordName(record.client(), record.number());
    }

    private static RecordName name(Found record) {
      // What is no record has no number; two of them are not told apart.
      return new RecordName(record.client(), record.client() < 0 ? 0 : record.number());
    }

    private static String told(Found record) {
      return (record.client() < 0 ? "no record" : name(record)) + " at " + record.offset();
    }

    // ---- order -----------------------------------------------------------------------------

    private List<LongHistory.Append> appends() {
      List<LongHistory.Append> appends = new ArrayList<>();
      for (Acknowledged each : acknowledged) {
        appends.add(
            append(name(each), each.offset(), each.submittedNanos(), since(each.atNanos())));
      }
      Map<RecordName, Long> unanswered = new HashMap<>();
      story.unanswered().stream()
          .filter(each -> each.file().equals(file))
          .forEach(
              each ->
                  unanswered.put(
                      new RecordName(each.client(), each.number()), each.submittedNanos()));
      // Only those who read can tell where they lie, and if they do.
      Map<RecordName, Long> places = new HashMap<>();
      for (List<Found> all : List.of(seenInOrder, List.copyOf(found.values()))) {
        all.stream()
            .filter(each -> unanswered.containsKey(name(each)))
            .forEach(each -> places.put(name(each), each.offset()));
      }
      unanswered.forEach(
          (name, submitted) ->
              appends.add(
                  append(name, places.getOrDefault(name, -1L), submitted, FileHistory.NEVER)));
      return appends;
    }

    private LongHistory.Append append(
        RecordName name, long offset, long submittedNanos, long answered) {
      return new LongHistory.Append(
          name, offset, Writers.RECORD_BYTES, since(submittedNanos), answered);
    }

    private List<LongHistory.Read> reads() {
      List<LongHistory.Read> reads = new ArrayList<>();
      boolean writesOn = story.writesOn().contains(file);
      for (Look look : seen.looks()) {
        long oldest = look.kind().oldestNanos(writesOn, story.grantorNanos());
        long called = since(look.calledNanos());
        // A state that was the newest so long before, or at any time since.
        long from = Math.max(0, called - oldest);
        reads.add(
            new LongHistory.Read(
                "read, " + look.kind() + ",", look.end(), from, since(look.answeredNanos())));
      }
      return reads;
    }

    private long since(long nanos) {
      return nanos - story.beganNanos();
    }

    // ---- how old ---------------------------------------------------------------------------

    private long stale() {
      TreeMap<Long, Long> known = new TreeMap<>();
      acknowledged.forEach(
          each -> known.merge(each.atNanos(), each.offset() + Writers.RECORD_BYTES, Math::max));
      seen.looks().forEach(look -> known.merge(look.answeredNanos(), look.end(), Math::max));
      long highest = 0;
      for (Map.Entry<Long, Long> each : known.entrySet()) {
        highest = Math.max(highest, each.getValue());
        each.setValue(highest);
      }
      return seen.looks().stream()
          .filter(look -> look.kind().mode() == ReadMode.DEFAULT)
          .filter(
              look -> {
                Map.Entry<Long, Long> before = known.lowerEntry(look.calledNanos());
                return before != null && before.getValue() > look.end();
              })
          .count();
    }
  }
}
