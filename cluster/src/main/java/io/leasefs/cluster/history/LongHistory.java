package io.leasefs.cluster.history;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/**
 * The history of one file, of any length, judged in windows by {@link Linearizability}: memory and
 * time grow with the history, not with its square.
 *
 * <h2>Why the windows say together what the whole would say</h2>
 *
 * <p>Content never changes, so the records' places name the one order of the file's states, and a
 * read's length names the state that it saw. That order explains the history unless something was
 * answered before something else was called that comes earlier in it (Herlihy and Wing, 1990).
 * Where both are in one window, that window's check finds it. Where they are not, it is found in
 * the later window: that begins with one append which stands for everything earlier, and was called
 * when the last of that was called.
 *
 * <p>Of reads that saw the same state two are kept, the one that was called last and the one that
 * was answered first. No other could be answered too early, or called too late, without them.
 *
 * <p>Where nobody knows what lies at some place, all appends of which nothing is known may, in each
 * window anew.
 */
public final class LongHistory {
  /**
   * An append.
   *
   * @param name made into text only for people
   * @param offset where it lies; negative: nobody knows
   * @param length at least 1
   * @param called nanoseconds since the beginning
   * @param answered likewise; {@link FileHistory#NEVER}: nothing was told
   */
  public record Append(Object name, long offset, long length, long called, long answered) {
    private long end() {
      return offset + length;
    }
  }

  /**
   * A read up to the end of the file.
   *
   * @param name made into text only for people
   * @param end the length that it saw
   * @param called nanoseconds since the beginning; earlier where it may be as old as that
   * @param answered likewise
   */
  public record Read(Object name, long end, long called, long answered) {}

  /**
   * What came of it.
   *
   * @param windows how many were judged
   * @param undecided of how many it was not found out within the budget
   * @param impossible what no order explains; nothing is judged behind it
   */
  public record Result(long windows, long undecided, Optional<String> impossible) {}

  /** One call or answer of an operation in a window. */
  private record Event(long at, boolean isAnswer, int operation) {}

  /** Calls before answers of the same instant: they may have overlapped. */
  private static final Comparator<Event> ORDER =
      Comparator.comparingLong(Event::at).thenComparing(Event::isAnswer);

  private final List<Append> placed = new ArrayList<>();
  private final List<Append> homeless = new ArrayList<>();
  private final List<Read> reads;
  private final int size;
  private final long budget;

  private long windows;
  private long undecided;
  private @Nullable String impossible;

  /** Where the next window begins. */
  private long begin;

  /** What was called last of all that comes before it. */
  private @Nullable Object lastCalled;

  private long lastCall = Long.MIN_VALUE;

  private LongHistory(List<Append> appends, List<Read> reads, int size, long budget) {
    appends.forEach(append -> (append.offset() < 0 ? homeless : placed).add(append));
    placed.sort(Comparator.comparingLong(Append::offset));
    this.reads = telling(reads);
    this.size = size;
    this.budget = budget;
  }

  /**
   * Judges a history.
   *
   * @param size most appends in a window
   * @param budget of each window, see {@link Linearizability#check}
   */
  public static Result check(List<Append> appends, List<Read> reads, int size, long budget) {
    LongHistory history = new LongHistory(appends, reads, size, budget);
    history.judge();
    return new Result(history.windows, history.undecided, Optional.ofNullable(history.impossible));
  }

  private static List<Read> telling(List<Read> reads) {
    TreeMap<Long, Read> calledLast = new TreeMap<>();
    TreeMap<Long, Read> answeredFirst = new TreeMap<>();
    for (Read read : reads) {
      calledLast.merge(read.end(), read, (a, b) -> b.called() > a.called() ? b : a);
      answeredFirst.merge(read.end(), read, (a, b) -> b.answered() < a.answered() ? b : a);
    }
    List<Read> telling = new ArrayList<>();
    for (Read read : calledLast.values()) {
      telling.add(read);
      Read first = answeredFirst.get(read.end());
      if (first != null && !first.equals(read)) {
        telling.add(first);
      }
    }
    return telling;
  }

  private void judge() {
    int append = 0;
    int read = 0;
    while (impossible == null && (append < placed.size() || read < reads.size())) {
      int nextAppend = Math.min(placed.size(), append + size);
      boolean isLast = nextAppend == placed.size();
      long end = isLast ? Long.MAX_VALUE : placed.get(nextAppend - 1).end();
      int nextRead = read;
      while (nextRead < reads.size() && reads.get(nextRead).end() <= end) {
        nextRead++;
      }
      List<Append> appends = placed.subList(append, nextAppend);
      List<Read> seen = reads.subList(read, nextRead);
      judge(appends, seen);
      appends.forEach(each -> before(each.name(), each.called()));
      seen.forEach(each -> before(each.name(), each.called()));
      begin = end;
      append = nextAppend;
      read = nextRead;
    }
  }

  private void before(Object name, long called) {
    if (called > lastCall) {
      lastCall = called;
      lastCalled = name;
    }
  }

  private void judge(List<Append> appends, List<Read> seen) {
    windows++;
    List<Append> inPlace = new ArrayList<>();
    if (begin > 0) {
      inPlace.add(new Append("all up to " + lastCalled, 0, begin, lastCall, FileHistory.NEVER));
    }
    inPlace.addAll(appends);
    for (Read read : seen) {
      int last = upTo(inPlace, read.end()) - 1;
      if (read.end() != (last < 0 ? 0 : inPlace.get(last).end())) {
        impossible = read.name() + " saw " + read.end() + " bytes, and no record ends there";
        return;
      }
    }
    Linearizability.Verdict verdict =
        Linearizability.check(
            window(inPlace, hasGap(inPlace) ? homeless : List.of(), seen), budget);
    switch (verdict.kind()) {
      case LINEARIZABLE -> {}
      case UNKNOWN -> undecided++;
      case NOT_LINEARIZABLE -> impossible = verdict.explanation();
    }
  }

  private static boolean hasGap(List<Append> inPlace) {
    long end = 0;
    for (Append append : inPlace) {
      if (append.offset() > end) {
        return true;
      }
      end = append.end();
    }
    return false;
  }

  /** The operations are numbered: those in place, those without a place, the reads. */
  private static FileHistory window(List<Append> inPlace, List<Append> anywhere, List<Read> seen) {
    List<Append> appends = new ArrayList<>(inPlace);
    appends.addAll(anywhere);
    List<Event> events = new ArrayList<>();
    for (int i = 0; i < appends.size(); i++) {
      Append append = appends.get(i);
      events.add(new Event(append.called(), false, i));
      if (append.offset() >= 0) {
        events.add(new Event(append.answered(), true, i)); // never: after all others
      }
    }
    for (int i = 0; i < seen.size(); i++) {
      events.add(new Event(seen.get(i).called(), false, appends.size() + i));
      events.add(new Event(seen.get(i).answered(), true, appends.size() + i));
    }
    events.sort(ORDER);
    int[] numbers = new int[appends.size() + seen.size()];
    int calls = 0;
    for (Event event : events) {
      if (!event.isAnswer()) {
        numbers[event.operation()] = calls++; // as the history will number them
      }
    }
    List<Integer> content = new ArrayList<>();
    for (int i = 0; i < inPlace.size(); i++) {
      content.add(numbers[i]);
    }
    long[] now = {0};
    FileHistory history = new FileHistory(() -> now[0]);
    for (Event event : events) {
      now[0] = event.at() == FileHistory.NEVER ? now[0] : event.at();
      int operation = event.operation();
      boolean isRead = operation >= appends.size();
      if (!event.isAnswer()) {
        int _ =
            isRead
                ? history.read(seen.get(operation - appends.size()).name(), false)
                : history.append(appends.get(operation).name(), appends.get(operation).length());
      } else if (isRead) {
        long end = seen.get(operation - appends.size()).end();
        history.saw(numbers[operation], content.subList(0, upTo(inPlace, end)));
      } else {
        history.placed(numbers[operation], appends.get(operation).offset());
      }
    }
    return history;
  }

  /** How many of them lie below that place. */
  private static int upTo(List<Append> inPlace, long end) {
    int from = 0;
    int to = inPlace.size();
    while (from < to) {
      int middle = (from + to) >>> 1;
      if (inPlace.get(middle).end() <= end) {
        from = middle + 1;
      } else {
        to = middle;
      }
    }
    return from;
  }
}
