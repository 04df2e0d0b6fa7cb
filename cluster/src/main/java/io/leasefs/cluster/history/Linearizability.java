package io.leasefs.cluster.history;

import io.leasefs.cluster.history.FileHistory.Operation;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.BitSet;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/**
 * Whether all that clients saw of a file can have happened one at a time, each operation at some
 * instant between its call and its answer. The file is the simplest there is: an append puts its
 * record at the end and tells where that was, a read tells all records.
 *
 * <h2>Search</h2>
 *
 * <p>As by Wing and Gong (1993): depth first through the orders that the calls and answers allow.
 * As by Lowe (2017): what has been reached once, the same operations done and the same content, is
 * not searched again; and an operation is put in its place only when an answer needs it there
 * ("just in time"). An append whose answer never came may be put anywhere after its call, or
 * nowhere.
 *
 * <h2>What makes it quick</h2>
 *
 * <p>Content never changes, so where a record lies is known as soon as an answer or any read has
 * told it, and at that place no other is tried. A read changes nothing, so it is done as soon as
 * the content is what it saw. Contents are nodes of one tree: equal ones are the same node.
 */
public final class Linearizability {
  /** No more operations than these are told to people. */
  private static final int MOST_TOLD = 12;

  /** What may be tried for each that is to be left out of an explanation. */
  private static final long MOST_LEFT_OUT = 10_000;

  /** What came of it. */
  public enum Kind {
    LINEARIZABLE,
    NOT_LINEARIZABLE,
    /** More had to be tried than was allowed. */
    UNKNOWN
  }

  /**
   * The answer.
   *
   * @param steps how many operations were put in their place
   * @param explanation few operations that no order explains, where there is none
   */
  public record Verdict(Kind kind, long steps, String explanation) {}

  /** One content: a record behind another content. */
  private static final class Content {
    private final int id;
    private final long length;
    private final int append;
    private final @Nullable Content sibling;
    private @Nullable Content child;

    /** Reads that saw just this. */
    private final List<Integer> reads = new ArrayList<>();

    private Content(int id, long length, int append, @Nullable Content sibling) {
      this.id = id;
      this.length = length;
      this.append = append;
      this.sibling = sibling;
    }
  }

  /** How far a search has come: the event that is next, and what is done though not answered. */
  private record Point(int event, int content, BitSet done) {}

  private record Branch(int event, Content content, BitSet done) {}

  private final List<Operation> operations;
  private long budget;
  private final Content empty = new Content(0, 0, -1, null);
  private final @Nullable Content[] seenBy;
  private final TreeMap<Long, Integer> placed = new TreeMap<>();
  private final long[] places;

  /** Appends of which nobody knows where they lie. */
  private final List<Integer> homeless = new ArrayList<>();

  /** Calls and answers in order: twice the operation, and one more where it is the answer. */
  private final int[] events;

  private int contents = 1;
  private long steps;
  private @Nullable String contradiction;

  private Linearizability(FileHistory history, long budget) {
    this.operations = history.operations();
    this.budget = budget;
    this.seenBy = new Content[operations.size()];
    this.places = new long[operations.size()];
    Arrays.fill(places, -1);
    learn();
    this.events = inOrder();
  }

  /**
   * Judges a history.
   *
   * @param budget how many operations may be put in their place before it is given up: steps, not
   *     time, so that the answer is always the same
   */
  public static Verdict check(FileHistory history, long budget) {
    return new Linearizability(history, budget).judge();
  }

  private Verdict judge() {
    if (contradiction != null) {
      return new Verdict(Kind.NOT_LINEARIZABLE, 0, contradiction);
    }
    Kind kind = search(new BitSet());
    long needed = steps;
    return new Verdict(kind, needed, kind == Kind.NOT_LINEARIZABLE ? explanation() : "");
  }

  // ---- what is known beforehand ------------------------------------------------------------

  private void learn() {
    for (int i = 0; i < operations.size(); i++) {
      Operation operation = operations.get(i);
      if (operation.isRead() && operation.answered() != FileHistory.NEVER) {
        Content content = empty;
        for (int append : operation.content()) {
          lies(append, content.length);
          content = behind(content, append);
        }
        seenBy[i] = content;
        content.reads.add(i);
      } else if (operation.offset() >= 0) {
        lies(i, operation.offset());
      }
    }
    for (int i = 0; i < operations.size(); i++) {
      if (!operations.get(i).isRead() && places[i] < 0) {
        homeless.add(i);
      }
    }
    Map.Entry<Long, Integer> before = null;
    for (Map.Entry<Long, Integer> each : placed.entrySet()) {
      if (before != null
          && before.getKey() + operations.get(before.getValue()).length() > each.getKey()) {
        overlap(before.getValue(), each.getValue());
      }
      before = each;
    }
  }

  private void lies(int append, long place) {
    if (places[append] >= 0 && places[append] != place && contradiction == null) {
      contradiction = operations.get(append) + " lies at " + places[append] + " and at " + place;
    }
    places[append] = place;
    Integer other = placed.put(place, append);
    if (other != null && other != append) {
      overlap(other, append);
    }
  }

  private void overlap(int one, int other) {
    if (contradiction == null) {
      contradiction =
          operations.get(one)
              + " at "
              + places[one]
              + " and "
              + operations.get(other)
              + " at "
              + places[other]
              + " lie one over the other";
    }
  }

  private Content behind(Content content, int append) {
    for (Content each = content.child; each != null; each = each.sibling) {
      if (each.append == append) {
        return each;
      }
    }
    long length = content.length + operations.get(append).length();
    Content made = new Content(contents++, length, append, content.child);
    content.child = made;
    return made;
  }

  private int[] inOrder() {
    TreeMap<Long, Integer> ordered = new TreeMap<>();
    for (int i = 0; i < operations.size(); i++) {
      Operation operation = operations.get(i);
      ordered.put(operation.called(), 2 * i);
      if (operation.answered() != FileHistory.NEVER) {
        ordered.put(operation.answered(), 2 * i + 1);
      }
    }
    return ordered.values().stream().mapToInt(Integer::intValue).toArray();
  }

  // ---- the search --------------------------------------------------------------------------

  /**
   * Looks for an order.
   *
   * @param free operations of which the history is to say nothing: appends may happen at any time,
   *     reads need not be explained
   */
  private Kind search(BitSet free) {
    Set<Point> reached = new HashSet<>();
    ArrayDeque<Branch> open = new ArrayDeque<>();
    BitSet first = new BitSet();
    finished(empty, first, 0, free);
    open.push(new Branch(0, empty, first));
    while (!open.isEmpty()) {
      Branch branch = open.pop();
      int event = branch.event();
      Content content = branch.content();
      BitSet done = branch.done();
      while (true) {
        event = needed(event, content, done, free);
        if (event == events.length) {
          return Kind.LINEARIZABLE;
        }
        if (steps++ >= budget) {
          return Kind.UNKNOWN;
        }
        List<Integer> next = candidates(event, content, done, free);
        if (next.size() != 1) {
          if (!next.isEmpty() && reached.add(new Point(event, content.id, (BitSet) done.clone()))) {
            for (int append : next.reversed()) {
              BitSet then = (BitSet) done.clone();
              open.push(new Branch(event, put(append, event, content, then, free), then));
            }
          }
          break;
        }
        content = put(next.getFirst(), event, content, done, free);
      }
    }
    return Kind.NOT_LINEARIZABLE;
  }

  /** The next event that is the answer to something not done yet; the number of all: none. */
  private int needed(int from, Content content, BitSet done, BitSet free) {
    int event = from;
    for (; event < events.length; event++) {
      int operation = events[event] >> 1;
      boolean answer = (events[event] & 1) == 1;
      if (free.get(operation)) {
        continue;
      }
      if (!answer) {
        if (seenBy[operation] == content) {
          done.set(operation);
        }
      } else if (!done.get(operation)) {
        return event;
      } else if (operations.get(operation).isRead()) {
        done.clear(operation); // it is over: two ways to here differ no more in it
      }
    }
    return event;
  }

  /** The appends that can be put behind this content before that event. */
  private List<Integer> candidates(int event, Content content, BitSet done, BitSet free) {
    int wanted = events[event] >> 1;
    Content seen = seenBy[wanted];
    if (seen == null ? places[wanted] < content.length : seen.length <= content.length) {
      return List.of(); // content only grows
    }
    Map.Entry<Long, Integer> known = placed.ceilingEntry(content.length);
    if (known != null && known.getKey() == content.length) {
      int append = known.getValue();
      return possible(append, event, done, free) ? List.of(append) : List.of();
    }
    long room = known == null ? Long.MAX_VALUE : known.getKey() - content.length;
    List<Integer> next = new ArrayList<>();
    for (int append : homeless) {
      if (operations.get(append).length() <= room && possible(append, event, done, free)) {
        next.add(append);
      }
    }
    return next;
  }

  private boolean possible(int append, int event, BitSet done, BitSet free) {
    if (done.get(append)) {
      return false;
    }
    Operation operation = operations.get(append);
    return free.get(append)
        || (!operation.isRefused() && operation.called() <= instantOf(events[event]));
  }

  private long instantOf(int event) {
    Operation operation = operations.get(event >> 1);
    return (event & 1) == 1 ? operation.answered() : operation.called();
  }

  private Content put(int append, int event, Content content, BitSet done, BitSet free) {
    done.set(append);
    Content longer = behind(content, append);
    finished(longer, done, instantOf(events[event]), free);
    return longer;
  }

  /** Reads that were called by then, or may be older, and saw just this. */
  private void finished(Content content, BitSet done, long instant, BitSet free) {
    for (int read : content.reads) {
      Operation operation = operations.get(read);
      boolean called = operation.mayBeOld() || operation.called() <= instant;
      if (called && operation.answered() >= instant && !free.get(read)) {
        done.set(read);
      }
    }
  }

  // ---- for people --------------------------------------------------------------------------

  /** Leaves out what can be left out without an order being found. */
  private String explanation() {
    BitSet free = new BitSet();
    int size = operations.size();
    budget = Math.min(budget, MOST_LEFT_OUT);
    for (int piece = Math.max(1, size / 2); ; piece /= 2) {
      for (int from = 0; from < size; from += piece) {
        BitSet without = (BitSet) free.clone();
        without.set(from, Math.min(size, from + piece));
        steps = 0;
        if (without.cardinality() > free.cardinality()
            && search(without) == Kind.NOT_LINEARIZABLE) {
          free = without;
        }
      }
      if (piece == 1) {
        break;
      }
    }
    StringBuilder text = new StringBuilder("no order explains");
    int told = 0;
    for (int i = 0; i < size && told < MOST_TOLD; i++) {
      Operation operation = operations.get(i);
      if (!free.get(i)) {
        text.append(told == 0 ? ": " : "; ").append(operation);
        text.append(!operation.isRead() && places[i] >= 0 ? " and lies at " + places[i] : "");
        told++;
      }
    }
    return text.toString();
  }
}
