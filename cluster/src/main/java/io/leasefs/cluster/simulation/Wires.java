package io.leasefs.cluster.simulation;

import io.leasefs.common.edge.Scheduler.Cancellable;
import io.leasefs.common.error.ErrorCode;
import io.leasefs.common.error.LeaseFsException;
import io.leasefs.common.model.ServerAddress;
import java.util.ArrayList;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * The network between hosts. What goes one way may be cut, or held back and let go at once, while
 * the other way works; calls get lost and doubled, streams stall and break; nothing of two streams
 * keeps an order.
 */
final class Wires {
  /** What a client's mutation is called on its stream. */
  static final String FRAME = "frame";

  private static final long MICRO = 1_000;
  private static final long MILLI = 1_000_000;

  /** One way between two hosts. */
  private record Pair(Host from, Host to) {}

  private final EventLoop loop;
  private final long usualNanos;
  private final Map<String, Host> hosts = new TreeMap<>();
  private final Set<Pair> cuts = new LinkedHashSet<>();
  private final Map<Pair, Long> slow = new LinkedHashMap<>();

  /** What is held back on its way, in the order in which it would have come. */
  private final Map<Pair, List<Runnable>> clogged = new LinkedHashMap<>();

  private final List<Line> lines = new ArrayList<>();

  /** Chance that a message of a call is lost; a stream only falters. */
  private double loss;

  /** Chance that a call arrives twice. */
  private double doubling;

  /** What is on a stream when its client's side breaks may still arrive. */
  private boolean lingers;

  /** So many streams break behind the next frame that is sent on them. */
  private int framesToBreakBehind;

  private long messages;

  /**
   * @param usualNanos what a message takes at most, if nothing is wrong
   */
  Wires(EventLoop loop, long usualNanos) {
    this.loop = loop;
    this.usualNanos = usualNanos;
  }

  void add(Host host) {
    hosts.put(host.name(), host);
  }

  void setRates(double newLoss, double newDoubling) {
    loss = newLoss;
    doubling = newDoubling;
  }

  /** From now on the far side of a broken stream goes on for a while with what it has got. */
  void setLingers(boolean lingers) {
    this.lingers = lingers;
  }

  /** True time. */
  long now() {
    return loop.now();
  }

  long messages() {
    return messages;
  }

  /** The host at an address. */
  Host host(ServerAddress address) {
    Host host = hosts.get(address.host());
    if (host == null) {
      throw new IllegalArgumentException("no host " + address);
    }
    return host;
  }

  // ---- harm --------------------------------------------------------------------------------

  /** Nothing gets from one to the other. */
  void cut(Host from, Host to) {
    cuts.add(new Pair(from, to));
  }

  void mend(Host from, Host to) {
    cuts.remove(new Pair(from, to));
  }

  /** What goes from one to the other takes so much longer; 0 = as usual. */
  void slow(Host from, Host to, long nanos) {
    if (nanos == 0) {
      slow.remove(new Pair(from, to));
    } else {
      slow.put(new Pair(from, to), nanos);
    }
  }

  /** What would get from one to the other is held back from now on. */
  void clog(Host from, Host to) {
    clogged.putIfAbsent(new Pair(from, to), new ArrayList<>());
  }

  /**
   * All that was held back arrives at once.
   *
   * @param shuffled in any order; but what one stream carries keeps its own
   */
  void unclog(Host from, Host to, boolean shuffled) {
    List<Runnable> held = clogged.remove(new Pair(from, to));
    if (held == null) {
      return;
    }
    if (shuffled) {
      Collections.shuffle(held, loop.random());
    }
    long after = 0;
    for (Runnable arrival : held) {
      after += MICRO;
      loop.post(to, after, "arrive", arrival);
    }
  }

  /** Puts by what has come to the end of a way that is clogged; false where that is not. */
  private boolean holds(Host from, Host to, Runnable arrival) {
    List<Runnable> held = clogged.isEmpty() ? null : clogged.get(new Pair(from, to));
    return held != null && held.add(arrival);
  }

  /** A task of a process that is gone runs to its end: what it sends is not sent. */
  boolean isEnding() {
    return loop.isEnding();
  }

  void mendAll() {
    cuts.clear();
    slow.clear();
    framesToBreakBehind = 0;
    for (Pair way : List.copyOf(clogged.keySet())) {
      unclog(way.from(), way.to(), false);
    }
  }

  /** The next stream on which a client sends a frame breaks at its side; the frame comes late. */
  void breakBehindFrame() {
    framesToBreakBehind++;
  }

  /** All streams between two hosts end, with what is under way on them. */
  void reset(Host one, Host other) {
    for (Line line : List.copyOf(lines)) {
      Host from = line.client.host();
      if ((from == one && line.far == other) || (from == other && line.far == one)) {
        line.cut("reset by the network");
      }
    }
  }

  /** A process is gone: its streams end at the other side, at once or when it has been missed. */
  void gone(Life life, boolean answered) {
    for (Line line : List.copyOf(lines)) {
      if (line.client == life || line.server == life) {
        Host other = line.client == life ? line.far : line.client.host();
        boolean told = answered && passes(life.host(), other);
        long after = told ? delay(life.host(), other) : missedNanos();
        lines.remove(line);
        line.over(after, false, told ? "reset by peer" : "no sign of life");
      }
    }
  }

  private long missedNanos() {
    return 500 * MILLI + loop.random().nextInt(4_000) * MILLI;
  }

  /** Whether anything gets from one to the other. */
  boolean passes(Host from, Host to) {
    return cuts.isEmpty() || !cuts.contains(new Pair(from, to));
  }

  private boolean lost() {
    return loss > 0 && loop.random().nextDouble() < loss;
  }

  /** A stream sends again what was lost; that takes a while. */
  private boolean falters() {
    return loss > 0 && loop.random().nextDouble() < loss / 10;
  }

  private long delay(Host from, Host to) {
    Random random = loop.random();
    long usual = 40 * MICRO + (long) (random.nextDouble() * usualNanos);
    long late = random.nextInt(100) == 0 ? random.nextInt(60) * MILLI : 0;
    Long slower = slow.isEmpty() ? null : slow.get(new Pair(from, to));
    return usual + late + (slower == null ? 0 : (long) (random.nextDouble() * slower));
  }

  // ---- calls -------------------------------------------------------------------------------

  /** What a process does when a call arrives. */
  interface Served<S, T> extends Function<S, CompletableFuture<T>> {}

  /** One question, at most one answer, a deadline. */
  <S, T> CompletableFuture<T> call(
      Life from,
      ServerAddress address,
      Class<S> service,
      String what,
      long timeoutNanos,
      Served<S, T> served) {
    loop.pass(from.host(), Point.BEFORE_SEND, what, "");
    Host to = host(address);
    CompletableFuture<T> answer = new CompletableFuture<>();
    Cancellable deadline =
        loop.post(
            from,
            timeoutNanos,
            "timeout " + what,
            () -> {
              var _ =
                  answer.completeExceptionally(
                      new LeaseFsException(
                          ErrorCode.TIMED_OUT, address + " has not answered " + what));
            });
    var _ = answer.whenComplete((value, failure) -> deadline.cancel());
    int copies = doubling > 0 && loop.random().nextDouble() < doubling ? 2 : 1;
    for (int i = 0; i < copies; i++) {
      if (passes(from.host(), to) && !lost()) {
        long late = i == 0 ? 0 : loop.random().nextInt(1_000) * MILLI;
        loop.post(
            to,
            delay(from.host(), to) + late,
            what,
            () -> arrived(from, to, address, service, what, served, answer));
      }
    }
    loop.pass(from.host(), Point.AFTER_SEND, what, "");
    return answer;
  }

  private <S, T> void arrived(
      Life from,
      Host to,
      ServerAddress address,
      Class<S> service,
      String what,
      Served<S, T> served,
      CompletableFuture<T> answer) {
    if (holds(from.host(), to, () -> arrived(from, to, address, service, what, served, answer))) {
      return;
    }
    messages++;
    Life life = to.life();
    S found = life == null ? null : life.service(service);
    if (found == null) {
      if (life != null || to.isPowered()) {
        LeaseFsException refused =
            new LeaseFsException(ErrorCode.UNREACHABLE, address + ": connection refused");
        back(to, from, what, () -> answer.completeExceptionally(refused));
      }
      return;
    }
    CompletableFuture<T> result;
    try {
      result = served.apply(found);
    } catch (LeaseFsException refused) {
      back(to, from, what, () -> answer.completeExceptionally(refused));
      return;
    }
    var _ =
        result.whenComplete(
            (value, failure) -> {
              if (loop.isEnding()) {
                return;
              }
              if (failure == null) {
                back(to, from, what, () -> answer.complete(value));
              } else {
                LeaseFsException told = told(to, what, failure);
                back(to, from, what, () -> answer.completeExceptionally(told));
              }
            });
  }

  /** What crosses the wire of a failure; anything but the one exception is a bug. */
  private LeaseFsException told(Host at, String what, Throwable failure) {
    Throwable cause =
        failure instanceof CompletionException && failure.getCause() != null
            ? failure.getCause()
            : failure;
    if (cause instanceof LeaseFsException known && known.code() != ErrorCode.INTERNAL) {
      loop.mix(known.code().name().hashCode());
      loop.remember(
          () -> at + " answers " + what + " with " + known.code() + ": " + known.getMessage());
      return new LeaseFsException(known.code(), String.valueOf(known.getMessage()), known.hint());
    }
    loop.violated("BUG", at + " answered " + what + " with " + cause);
    return new LeaseFsException(ErrorCode.INTERNAL, String.valueOf(cause));
  }

  private void back(Host from, Life to, String what, Runnable task) {
    loop.pass(from, Point.BEFORE_SEND, "answer", what);
    if (passes(from, to.host()) && !lost()) {
      var _ = loop.post(to, delay(from, to.host()), "answer " + what, () -> came(from, to, task));
    }
    loop.pass(from, Point.AFTER_SEND, "answer", what);
  }

  private void came(Host from, Life to, Runnable task) {
    if (!holds(from, to.host(), () -> ifAlive(to, task))) {
      task.run();
    }
  }

  /** What was held back on its way to a process finds another one, or none. */
  private static void ifAlive(Life to, Runnable task) {
    if (to.isAlive()) {
      task.run();
    }
  }

  // ---- streams -----------------------------------------------------------------------------

  /** What one side of a stream is told when it ends. */
  interface Broken {
    void broken(String why);
  }

  /** The server's side of a stream, once it has been accepted. */
  record Accepted<E>(E end, Runnable close) {}

  /** A stream from a process to whoever serves at an address. */
  final class Line {
    private final Life client;
    private final Host far;
    private final String what;
    private final Way down;
    private final Way up;
    private final Broken clientBroken;
    private @Nullable Life server;
    private @Nullable Runnable serverBroken;
    private boolean ended;

    /** Its client's side has broken; the server's side has not noticed, and takes what was sent. */
    private boolean lingering;

    private Line(Life client, Host far, String what, Broken clientBroken) {
      this.client = client;
      this.far = far;
      this.what = what;
      this.clientBroken = clientBroken;
      this.down = new Way(this, client.host(), far);
      this.up = new Way(this, far, client.host());
    }

    boolean isEnded() {
      return ended;
    }

    /** From the client to the server. */
    void down(String message, Runnable task) {
      down.put(message, task);
    }

    /** From the server to the client. */
    void up(String message, Runnable task) {
      up.put(message, task);
    }

    /** The client closes it; the server is told in order. */
    void close() {
      down.put(
          "close " + what,
          () -> {
            lines.remove(this);
            ended = true;
            Runnable told = serverBroken;
            if (told != null) {
              told.run();
            }
          });
    }

    /** The server has said all there is to say. */
    void done() {
      lines.remove(this);
      ended = true;
    }

    /** It breaks in the middle: both sides notice by themselves. */
    void cut(String why) {
      lines.remove(this);
      over(loop.random().nextInt(2_000) * MICRO, false, why);
    }

    /** It breaks at the client's side, and what is on its way to the server comes late. */
    private void breakLate() {
      lines.remove(this);
      over(loop.random().nextInt(2_000) * MICRO, true, "no sign of life");
    }

    private void over(long afterNanos, boolean late, String why) {
      if (ended) {
        return;
      }
      ended = true;
      var _ = loop.post(client, afterNanos, "broken " + what, () -> clientBroken.broken(why));
      Life serving = server;
      Runnable told = serverBroken;
      if (serving != null && told != null) {
        lingering = late || (lingers && loop.random().nextBoolean());
        long later = lingering ? loop.random().nextInt(4_000) * MILLI : 0;
        down.holdBack(later, late);
        var _ =
            loop.post(
                serving,
                afterNanos + later,
                "broken " + what,
                () -> {
                  lingering = false;
                  told.run();
                });
      }
    }
  }

  /** One direction of a stream: in order, or not at all. */
  private final class Way {
    private record Message(long due, String what, Runnable task) {}

    private final Line line;
    private final Host from;
    private final Host to;
    private final List<Message> queue = new ArrayList<>();
    private long last;
    private long stalledSince = -1;
    private long heldUntil;
    private long patience;

    Way(Line line, Host from, Host to) {
      this.line = line;
      this.from = from;
      this.to = to;
    }

    void put(String what, Runnable task) {
      loop.pass(from, Point.BEFORE_SEND, what, "");
      if (line.ended) {
        return;
      }
      last = Math.max(last + 1, loop.now() + delay(from, to));
      queue.add(new Message(last, what, task));
      if (queue.size() == 1) {
        pump(last - loop.now());
      }
      if (framesToBreakBehind > 0 && what.equals(FRAME) && line.serverBroken != null) {
        framesToBreakBehind--;
        line.breakLate();
      }
      loop.pass(from, Point.AFTER_SEND, what, "");
    }

    /** What is under way comes late. */
    void holdBack(long mostNanos, boolean surely) {
      if (mostNanos > 0 && (surely || loop.random().nextBoolean())) {
        heldUntil = loop.now() + (long) (loop.random().nextDouble() * mostNanos);
      }
    }

    private void pump(long delayNanos) {
      // Not bound to a process: a stream may come before who serves it is known.
      loop.post(to, delayNanos, "arrive", this::arrive);
    }

    private void arrive() {
      if ((line.ended && !(line.lingering && to == line.far))
          || queue.isEmpty()
          || holds(from, to, this::arrive)) {
        return;
      }
      if (loop.now() < heldUntil) {
        pump(heldUntil - loop.now());
        return;
      }
      if (!passes(from, to) || falters()) {
        stalled();
        return;
      }
      stalledSince = -1;
      Message message = queue.removeFirst();
      Life receiver = to == line.far ? accepting() : line.client;
      if (receiver == null || !receiver.isAlive()) {
        return;
      }
      messages++;
      loop.mix(message.what().hashCode());
      if (!queue.isEmpty()) {
        pump(queue.getFirst().due() - loop.now());
      }
      message.task().run();
    }

    /** Who runs at the far end; a stream that finds nobody is refused. */
    private @Nullable Life accepting() {
      if (line.server != null) {
        return line.server;
      }
      Life here = line.far.life();
      if (here == null) {
        lines.remove(line);
        line.over(
            line.far.isPowered() ? delay(line.far, line.client.host()) : missedNanos(),
            false,
            line.far.isPowered() ? "reset: connection refused" : "no route");
        return null;
      }
      line.server = here;
      return here;
    }

    private void stalled() {
      long now = loop.now();
      if (stalledSince < 0) {
        stalledSince = now;
        patience = missedNanos();
      }
      if (line.ended) {
        pump(20 * MILLI + loop.random().nextInt(180) * MILLI); // it lingers
        return;
      }
      if (now - stalledSince > patience) {
        line.cut("no sign of life");
      } else {
        pump(20 * MILLI + loop.random().nextInt(180) * MILLI);
      }
    }
  }

  /** Opens a stream; the first message finds who serves it. */
  <S, E> Stream<E> open(
      Life from,
      ServerAddress address,
      Class<S> service,
      String what,
      Broken broken,
      Function<Line, Function<S, Accepted<E>>> accept) {
    Host to = host(address);
    Line line = new Line(from, to, what, broken);
    lines.add(line);
    Stream<E> stream = new Stream<>(line);
    Function<S, Accepted<E>> accepts = accept.apply(line);
    line.down(
        "open " + what,
        () -> {
          Life serving = line.server;
          S found = serving == null ? null : serving.service(service);
          if (found == null) {
            line.cut("reset: connection refused");
            return;
          }
          Accepted<E> accepted = accepts.apply(found);
          stream.end = accepted.end();
          line.serverBroken = accepted.close();
        });
    return stream;
  }

  /** The client's side: what it sends arrives at the server's end, in order. */
  static final class Stream<E> {
    private final Line line;
    private @Nullable E end;

    private Stream(Line line) {
      this.line = line;
    }

    Line line() {
      return line;
    }

    void send(String message, java.util.function.Consumer<E> task) {
      line.down(
          message,
          () -> {
            E open = end;
            if (open != null) {
              task.accept(open);
            }
          });
    }
  }
}
