package io.leasefs.chunkserver.fault;

import io.leasefs.common.error.ErrorCode;
import io.leasefs.common.error.LeaseFsException;
import io.leasefs.common.model.ServerId;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.concurrent.CopyOnWriteArraySet;

/**
 * Which faults are on now.
 *
 * <p>Commands: {@code cut master|clients|NAME [in|out|both]} drops what comes from there, goes
 * there, or both; {@code delay master|clients|NAME MILLIS [in|out|both]} has it take longer; {@code
 * heal [master|clients|NAME]} ends cuts and delays, all of them and every other fault where nothing
 * is named; {@code slow-disk MILLIS} delays every write and fsync; {@code full-disk} refuses
 * writes; {@code kill} ends the process as SIGKILL does; {@code freeze MILLIS} has it stand still
 * as a whole; {@code ls} does nothing. A stream that lost something while it was cut stays dead
 * until the healing breaks it, for no message may overtake a lost one.
 */
public final class Faults {
  /** The masters, as a party that can be cut off. */
  public static final String MASTER = "master";

  /** All clients, as a party that can be cut off. */
  public static final String CLIENTS = "clients";

  private static final long MAX_DELAY_MILLIS = 600_000;

  /** Guarded by this: parties whose messages do not arrive here. */
  private final Set<String> cutIn = new TreeSet<>();

  /** Guarded by this: parties that messages from here do not reach. */
  private final Set<String> cutOut = new TreeSet<>();

  /** Guarded by this: how long messages of a party take to arrive here, nanoseconds. */
  private final Map<String, Long> delayIn = new TreeMap<>();

  /** Guarded by this: how long messages from here take to arrive at a party, nanoseconds. */
  private final Map<String, Long> delayOut = new TreeMap<>();

  /** False while nobody is cut off or far away: then nothing else has to be looked at. */
  private volatile boolean linesSuffer;

  /** Told of every healing. */
  private final CopyOnWriteArraySet<Runnable> healings = new CopyOnWriteArraySet<>();

  private final Optional<Harm> harm;
  private volatile long diskDelayNanos;
  private volatile boolean diskFull;

  /** Of a server that shares its process with others: that one is not its to harm. */
  public Faults() {
    this(Optional.empty());
  }

  /** Of a server that may do this to its process. */
  public Faults(Optional<Harm> harm) {
    this.harm = harm;
  }

  /** Carries out a command. Throws INVALID_ARGUMENT where it makes no sense. */
  public void command(String command, List<String> arguments) {
    switch (command) {
      case "cut" -> cut(arguments);
      case "delay" -> delay(arguments);
      case "heal" -> heal(arguments);
      case "slow-disk" -> diskDelayNanos = nanos(arguments);
      case "full-disk" -> diskFull = true;
      case "kill" -> harm().kill();
      case "freeze" -> {
        long forNanos = nanos(arguments);
        harm().freeze(forNanos);
      }
      case "ls" -> {}
      default -> throw bad("unknown fault '" + command + "'");
    }
  }

  private Harm harm() {
    return harm.orElseThrow(
        () ->
            new LeaseFsException(
                ErrorCode.PERMISSION, "this server shares its process with others"));
  }

  private void cut(List<String> arguments) {
    if (arguments.isEmpty() || arguments.size() > 2) {
      throw bad("cut whom?");
    }
    String party = party(arguments.get(0));
    String direction = direction(arguments, 1);
    synchronized (this) {
      if (!direction.equals("out")) {
        cutIn.add(party);
      }
      if (!direction.equals("in")) {
        cutOut.add(party);
      }
      lookAtLines();
    }
  }

  private void delay(List<String> arguments) {
    if (arguments.size() < 2 || arguments.size() > 3) {
      throw bad("delay whom, and how long?");
    }
    String party = party(arguments.get(0));
    long nanos = nanos(arguments.subList(1, 2));
    String direction = direction(arguments, 2);
    synchronized (this) {
      if (!direction.equals("out")) {
        delayIn.put(party, nanos);
      }
      if (!direction.equals("in")) {
        delayOut.put(party, nanos);
      }
      delayIn.values().remove(0L);
      delayOut.values().remove(0L);
      lookAtLines();
    }
  }

  private static String direction(List<String> arguments, int index) {
    String direction = arguments.size() <= index ? "both" : arguments.get(index);
    if (!List.of("in", "out", "both").contains(direction)) {
      throw bad("direction '" + direction + "'");
    }
    return direction;
  }

  /** Holding this. */
  private void lookAtLines() {
    linesSuffer = !(cutIn.isEmpty() && cutOut.isEmpty() && delayIn.isEmpty() && delayOut.isEmpty());
  }

  private void heal(List<String> arguments) {
    synchronized (this) {
      for (Set<String> parties : List.of(cutIn, cutOut, delayIn.keySet(), delayOut.keySet())) {
        if (arguments.isEmpty()) {
          parties.clear();
        } else {
          arguments.forEach(parties::remove);
        }
      }
      lookAtLines();
    }
    if (arguments.isEmpty()) {
      diskDelayNanos = 0;
      diskFull = false;
    }
    healings.forEach(Runnable::run);
  }

  private static String party(String name) {
    return name.equals(MASTER) || name.equals(CLIENTS) ? name : new ServerId(name).name();
  }

  private static long nanos(List<String> arguments) {
    try {
      long millis = arguments.size() == 1 ? Long.parseLong(arguments.get(0)) : -1;
      if (millis >= 0 && millis <= MAX_DELAY_MILLIS) {
        return millis * 1_000_000;
      }
    } catch (NumberFormatException e) {
      // the same answer as for a number out of bounds
    }
    throw bad("how many milliseconds, 0 to " + MAX_DELAY_MILLIS + "?");
  }

  private static LeaseFsException bad(String what) {
    return new LeaseFsException(
        ErrorCode.INVALID_ARGUMENT,
        "fault: " + what,
        "cut master|clients|NAME [in|out|both], delay master|clients|NAME MILLIS [in|out|both],"
            + " heal [NAME], slow-disk MILLIS, full-disk, kill, freeze MILLIS, ls");
  }

  boolean dropsFrom(String party) {
    return isIn(cutIn, party);
  }

  boolean dropsTo(String party) {
    return isIn(cutOut, party);
  }

  private boolean isIn(Set<String> parties, String party) {
    if (!linesSuffer) {
      return false;
    }
    synchronized (this) {
      return parties.contains(party);
    }
  }

  long delayFromNanos(String party) {
    return delayNanos(delayIn, party);
  }

  long delayToNanos(String party) {
    return delayNanos(delayOut, party);
  }

  private long delayNanos(Map<String, Long> delays, String party) {
    if (!linesSuffer) {
      return 0;
    }
    synchronized (this) {
      return delays.getOrDefault(party, 0L);
    }
  }

  synchronized boolean isCut(String party) {
    return cutIn.contains(party) || cutOut.contains(party);
  }

  long diskDelayNanos() {
    return diskDelayNanos;
  }

  boolean diskFull() {
    return diskFull;
  }

  void onHeal(Runnable task) {
    healings.add(task);
  }

  void forget(Runnable task) {
    healings.remove(task);
  }

  /** What is on, for people. */
  public synchronized List<String> list() {
    List<String> on = new ArrayList<>();
    cutIn.forEach(party -> on.add("cut " + party + " in"));
    cutOut.forEach(party -> on.add("cut " + party + " out"));
    delayIn.forEach((party, nanos) -> on.add("delay " + party + " " + nanos / 1_000_000 + " in"));
    delayOut.forEach((party, nanos) -> on.add("delay " + party + " " + nanos / 1_000_000 + " out"));
    if (diskDelayNanos > 0) {
      on.add("slow-disk " + diskDelayNanos / 1_000_000);
    }
    if (diskFull) {
      on.add("full-disk");
    }
    return on;
  }
}
