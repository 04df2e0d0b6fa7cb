package io.leasefs.chunkserver.fault;

import io.leasefs.common.error.ErrorCode;
import io.leasefs.common.error.LeaseFsException;
import io.leasefs.common.model.ServerId;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.CopyOnWriteArraySet;

/**
 * Which faults are on now.
 *
 * <p>Commands: {@code cut master|clients|NAME [in|out|both]} drops what comes from there, goes
 * there, or both; {@code heal [master|clients|NAME]} ends cuts, all of them and every other fault
 * where nothing is named; {@code slow-disk MILLIS} delays every write and fsync; {@code full-disk}
 * refuses writes; {@code kill} ends the process as SIGKILL does; {@code freeze MILLIS} has it stand
 * still as a whole; {@code ls} does nothing. A stream that lost something while it was cut stays
 * dead until the healing breaks it, for no message may overtake a lost one.
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
      case "heal" -> heal(arguments);
      case "slow-disk" -> diskDelayNanos = millis(arguments) * 1_000_000;
      case "full-disk" -> diskFull = true;
      case "kill" -> harm().kill();
      case "freeze" -> {
        long forMillis = millis(arguments);
        harm().freeze(forMillis * 1_000_000);
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
    String direction = arguments.size() < 2 ? "both" : arguments.get(1);
    if (!List.of("in", "out", "both").contains(direction)) {
      throw bad("direction '" + direction + "'");
    }
    synchronized (this) {
      if (!direction.equals("out")) {
        cutIn.add(party);
      }
      if (!direction.equals("in")) {
        cutOut.add(party);
      }
    }
  }

  private void heal(List<String> arguments) {
    synchronized (this) {
      if (arguments.isEmpty()) {
        cutIn.clear();
        cutOut.clear();
      } else {
        arguments.forEach(cutIn::remove);
        arguments.forEach(cutOut::remove);
      }
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

  private static long millis(List<String> arguments) {
    try {
      long millis = arguments.size() == 1 ? Long.parseLong(arguments.get(0)) : -1;
      if (millis >= 0 && millis <= MAX_DELAY_MILLIS) {
        return millis;
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
        "cut master|clients|NAME [in|out|both], heal [NAME], slow-disk MILLIS, full-disk, kill,"
            + " freeze MILLIS, ls");
  }

  synchronized boolean dropsFrom(String party) {
    return cutIn.contains(party);
  }

  synchronized boolean dropsTo(String party) {
    return cutOut.contains(party);
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
    if (diskDelayNanos > 0) {
      on.add("slow-disk " + diskDelayNanos / 1_000_000);
    }
    if (diskFull) {
      on.add("full-disk");
    }
    return on;
  }
}
