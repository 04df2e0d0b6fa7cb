package io.leasefs.cluster.simulation;

import io.leasefs.common.edge.Scheduler.Cancellable;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.PriorityQueue;
import java.util.Random;
import java.util.function.BiConsumer;
import java.util.function.Consumer;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * Virtual time, and everything that is going to happen, in order. Of what is due at the same
 * instant the seed chooses. Each event belongs to a host; while that is frozen it waits, and when
 * its process is gone it is dropped.
 */
final class EventLoop {
  /** The instant, in nanoseconds, at which every world begins. */
  private static final long BEGINNING = 1_000_000_000;

  /** Events and notes kept for a failure's report. */
  private static final int REMEMBERED = 60;

  /** No run is so long. */
  private static final long MOST_STEPS = 1_000_000;

  /** So many cancelled events may wait among the others. */
  private static final int FEW = 64;

  private static final long FNV_PRIME = 0x100000001b3L;

  /** A task that was stopped in the middle goes on. */
  private static final String GOES_ON = "goes on";

  /** Which thread of a process runs a task in production. */
  private enum OnThread {
    /** Its executor sees to it that nothing runs that must wait for it. */
    OF_ITS_EXECUTOR,
    TIMER,
    NETWORK,
    /** It is none of ours: never stopped in the middle, and waits for nobody. */
    NONE
  }

  private static OnThread threadOf(String what) {
    return switch (what) {
      case SimulatedWorld.SESSION, SimulatedWorld.CORE, SimulatedWorld.CONTROL, Life.DISK ->
          OnThread.OF_ITS_EXECUTOR;
      case Life.TIMER -> OnThread.TIMER;
      case GOES_ON, "log", "follow", "learn" -> OnThread.NONE;
      default -> OnThread.NETWORK;
    };
  }

  /** Something that is going to happen. */
  static final class Event implements Comparable<Event> {
    private final long at;
    private final int tie;
    private final long order;
    private final @Nullable Host host;
    private final @Nullable Life life;
    private final String what;
    private final Runnable task;
    private boolean cancelled;

    private Event(
        long at,
        int tie,
        long order,
        @Nullable Host host,
        @Nullable Life life,
        String what,
        Runnable task) {
      this.at = at;
      this.tie = tie;
      this.order = order;
      this.host = host;
      this.life = life;
      this.what = what;
      this.task = task;
    }

    String what() {
      return what;
    }

    void run() {
      task.run();
    }

    @Override
    public int compareTo(Event other) {
      if (at != other.at) {
        return at < other.at ? -1 : 1;
      }
      return tie != other.tie ? Integer.compare(tie, other.tie) : Long.compare(order, other.order);
    }
  }

  /** Something for the report of a failure; made into text only where it is read. */
  private record Note(long at, Supplier<String> text) {
    @Override
    public String toString() {
      return stamp(at) + " " + text.get();
    }
  }

  private final Random random;
  private final @Nullable Consumer<String> trace;
  private final PriorityQueue<Event> events = new PriorityQueue<>();
  private final ArrayDeque<Note> newest = new ArrayDeque<>();
  private Consumer<Host> died = host -> {};
  private BiConsumer<Host, String> stepped = (host, what) -> {};
  private long now = BEGINNING;
  private long order;
  private long steps;
  private long mostSteps = Long.MAX_VALUE;
  private boolean cut;

  /** How many at most of the events that wait are cancelled. */
  private int cancelled;

  private long digest = 0xcbf29ce484222325L;
  private @Nullable Violation violation;

  /** Runs now, instead of this loop's own thread; null: that does. */
  private @Nullable Strand current;

  /** Those that have no task. */
  private final ArrayDeque<Strand> idle = new ArrayDeque<>();

  /** Those whose task is stopped, each with the number of the event that lets it go on. */
  private final Map<Strand, Long> stopped = new LinkedHashMap<>();

  private long goings;

  private final Map<Point, Integer> stops = new EnumMap<>(Point.class);

  /**
   * @param trace told of every event, where one wants to read them
   */
  EventLoop(long seed, @Nullable Consumer<String> trace) {
    this.random = new Chance(seed);
    this.trace = trace;
  }

  /** Told of a process that has died in the middle of a task. */
  void onDeath(Consumer<Host> listener) {
    died = listener;
  }

  /** Told of a host on which something has happened, and what. */
  void onStep(BiConsumer<Host, String> listener) {
    stepped = listener;
  }

  /** The one source of chance. */
  Random random() {
    return random;
  }

  /** True time, nanoseconds; no process sees it. */
  long now() {
    return now;
  }

  long steps() {
    return steps;
  }

  long digest() {
    return digest;
  }

  /** Nothing happens after so many events. */
  void cutAfter(long events) {
    mostSteps = events;
  }

  /** True once an event was due that is beyond the last one allowed. */
  boolean isCut() {
    return cut;
  }

  /** Nothing more is going to happen: it was cut, or something must not have been. */
  boolean isOver() {
    return cut || violation != null;
  }

  /** The first thing that must not be; what comes after it is of no interest. */
  @Nullable Violation violation() {
    return violation;
  }

  /** The newest events and notes, oldest first. */
  List<String> newest() {
    return newest.stream().map(Note::toString).toList();
  }

  void violated(String invariant, String message) {
    if (violation == null) {
      violation = new Violation(invariant, message);
      note("VIOLATION " + invariant + ": " + message);
    }
  }

  /** A line in the trace, and in the digest. */
  void note(String line) {
    mix(line.hashCode());
    remember(() -> line);
  }

  /** A line in the trace, made only where somebody reads it: not in the digest. */
  void remember(Supplier<String> line) {
    Note note = new Note(now, line);
    if (newest.size() == REMEMBERED) {
      newest.removeFirst();
    }
    newest.addLast(note);
    if (trace != null) {
      trace.accept(note.toString());
    }
  }

  /** A value in the digest. */
  void mix(long value) {
    digest = (digest ^ value) * FNV_PRIME;
    digest ^= digest >>> 29;
  }

  /** Nanoseconds since the beginning, as {@link #stamp} tells them. */
  long sinceTheBeginning() {
    return now - BEGINNING;
  }

  /** An instant, for people. */
  static String stamp(long at) {
    return String.format(Locale.ROOT, "%11.6f", (at - BEGINNING) / 1e9);
  }

  /** Something of the world, not of a process. */
  void post(long delayNanos, String what, Runnable task) {
    var _ = add(delayNanos, random.nextInt(), null, null, what, task);
  }

  /** Something in one process: dropped where that is gone. */
  Cancellable post(Life life, long delayNanos, String what, Runnable task) {
    Event event = add(delayNanos, random.nextInt(), life.host(), life, what, task);
    return () -> cancel(event);
  }

  /** Something that reaches a host, whichever process runs there then. */
  void post(Host host, long delayNanos, String what, Runnable task) {
    var _ = add(delayNanos, random.nextInt(), host, null, what, task);
  }

  private Event add(
      long delayNanos,
      int tie,
      @Nullable Host host,
      @Nullable Life life,
      String what,
      Runnable task) {
    Event event = new Event(now + Math.max(0, delayNanos), tie, ++order, host, life, what, task);
    events.add(event);
    return event;
  }

  private void cancel(Event event) {
    if (event.cancelled) {
      return;
    }
    event.cancelled = true;
    cancelled++;
    // Most deadlines are cancelled long before they are due.
    if (cancelled > FEW && cancelled > events.size() / 2) {
      events.removeIf(each -> each.cancelled);
      cancelled = 0;
    }
  }

  /** What a frozen host had put off, in the order in which it was due. */
  void resume(List<Event> deferred) {
    for (Event event : new ArrayList<>(deferred)) {
      if (!event.cancelled) {
        var _ = add(0, Integer.MIN_VALUE, event.host, event.life, event.what, event.task);
      }
    }
    deferred.clear();
  }

  /** The next event; false where there is none before the limit, which then is the time. */
  boolean step(long limit) {
    Event event = events.peek();
    if (event == null || event.at > limit) {
      now = Math.max(now, limit);
      return false;
    }
    var _ = events.poll();
    now = Math.max(now, event.at);
    if (event.cancelled || (event.life != null && !event.life.isAlive())) {
      return true;
    }
    Host host = event.host;
    if (host != null && host.isFrozen()) {
      host.defer(event);
      return true;
    }
    if (host != null && !host.stopped().isEmpty() && waitsBehind(event, host)) {
      return true;
    }
    if (steps >= mostSteps) {
      cut = true;
      return false;
    }
    steps++;
    if (steps > MOST_STEPS) {
      violated("I19", "something goes on for ever: " + event.what);
    }
    mix(now);
    mix(event.what.hashCode());
    if (host != null) {
      mix(host.name().hashCode());
    }
    if (trace != null) {
      trace.accept(stamp(now) + " " + (host == null ? "world" : host.name()) + " " + event.what);
    }
    run(event, host);
    return true;
  }

  private void run(Event event, @Nullable Host host) {
    Aim aim = host == null ? null : host.aim();
    if (host != null
        && aim != null
        && aim.isAt(event.what)
        && threadOf(event.what) != OnThread.NONE) {
      Strand strand = idle.isEmpty() ? new Strand(this) : idle.removeLast();
      strand.take(event, host);
      goOn(strand);
      return;
    }
    Throwable thrown = null;
    try {
      event.task.run();
    } catch (ProcessDied | RuntimeException e) {
      thrown = e;
    }
    conclude(event, host, thrown);
  }

  // ---- tasks stopped in the middle ---------------------------------------------------------

  /** A process passes a point at which its task may be stopped; that task alone pays attention. */
  void pass(Host host, Point point, String what, String more) {
    Strand running = current;
    if (running != null && running.host() == host) {
      running.pass(point, what, more);
    }
  }

  /** What runs now was stopped in the middle: what it does may have been decided long before. */
  boolean hasBeenStopped() {
    Strand running = current;
    return running != null && running.hasBeenStopped();
  }

  /** What runs now is a task of a process that is gone: nothing that it still does happens. */
  boolean isEnding() {
    Strand running = current;
    return running != null && running.isDying();
  }

  /** On the strand's own thread, which waits from here on. */
  void stopped(Strand strand, Point point, String where, Aim aim) {
    Host host = strand.host();
    note(
        String.format(
            Locale.ROOT,
            "PAUSE INSIDE %s, %s, at %s for %d ms",
            host,
            strand.event().what,
            where,
            aim.pauseNanos() / 1_000_000));
    stops.merge(point, 1, Integer::sum);
    host.stopped().add(strand);
    stopped.put(strand, goOnIn(strand, aim.pauseNanos()));
  }

  /** The event cannot be cancelled: a frozen host may have put it off. So it has a number. */
  private long goOnIn(Strand strand, long nanos) {
    long number = ++goings;
    Host host = strand.host();
    var _ =
        add(
            nanos,
            random.nextInt(),
            host,
            host.life(),
            GOES_ON,
            () -> {
              if (Objects.equals(stopped.get(strand), number)) {
                goOn(strand);
              }
            });
    return number;
  }

  private void goOn(Strand strand) {
    Host host = strand.host();
    if (stopped.remove(strand) != null) {
      remember(() -> host + " goes on with " + strand.event().what);
      host.stopped().remove(strand);
    }
    current = strand;
    strand.go();
    current = null;
    if (!strand.isDone()) {
      return;
    }
    idle.addLast(strand);
    resume(strand.behind());
    if (!strand.isDying()) {
      conclude(strand.event(), host, strand.thrown());
    }
  }

  /** Whether it would run on the thread of a task that is stopped; then it waits for that. */
  private static boolean waitsBehind(Event event, Host host) {
    OnThread thread = threadOf(event.what);
    if (thread != OnThread.TIMER && thread != OnThread.NETWORK) {
      return false;
    }
    for (Strand strand : host.stopped()) {
      if (threadOf(strand.event().what) == thread) {
        strand.behind().add(event);
        return true;
      }
    }
    return false;
  }

  /** The process of this host is gone: its tasks that were stopped come to their end. */
  void abandon(Host host) {
    host.setAim(null);
    for (Strand strand : List.copyOf(host.stopped())) {
      end(strand);
    }
  }

  private void end(Strand strand) {
    strand.die();
    goOn(strand);
  }

  /** All tasks that are stopped go on now. */
  void goOn() {
    stopped.replaceAll((strand, number) -> goOnIn(strand, 0));
  }

  /** How many tasks were stopped in the middle, by where. */
  Map<Point, Integer> stops() {
    return stops;
  }

  /** Nothing happens any more. */
  void close() {
    List.copyOf(stopped.keySet()).forEach(this::end);
    idle.forEach(Strand::close);
    idle.clear();
  }

  private void conclude(Event event, @Nullable Host host, @Nullable Throwable thrown) {
    if (thrown == null) {
      if (host != null) {
        stepped.accept(host, event.what);
      }
    } else if (thrown instanceof ProcessDied) {
      if (host != null) {
        died.accept(host);
      }
    } else if (thrown instanceof Error error) {
      throw error;
    } else {
      StackTraceElement[] frames = thrown.getStackTrace();
      violated(
          "BUG",
          (host == null ? "world" : host.name())
              + " "
              + event.what
              + ": "
              + thrown
              + (frames.length == 0 ? "" : " at " + frames[0]));
    }
  }
}
