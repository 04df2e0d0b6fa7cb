package io.leasefs.chunkserver.fault;

import java.util.function.Consumer;
import java.util.function.Supplier;

/**
 * One stream to or from a party that may be cut off or far away. Messages wait for their delay, in
 * order. Once the stream has lost a message in either direction it loses all that follow, and those
 * on their way, and with the healing it breaks.
 */
final class Line {
  private final Faults faults;
  private final Supplier<String> party;
  private final Consumer<String> broken;
  private final Runnable healing = this::healed;
  private final Way out;
  private final Way in;
  private volatile boolean lost;
  private volatile boolean over;

  Line(FaultyNetwork network, Supplier<String> party, Consumer<String> broken) {
    this.faults = network.faults();
    this.party = party;
    this.broken = broken;
    this.out = network.way(() -> faults.delayToNanos(party.get()));
    this.in = network.way(() -> faults.delayFromNanos(party.get()));
    faults.onHeal(healing);
  }

  /** Lets a message of so many bytes go to the party: at once, later or never. */
  void send(long bytes, Runnable delivery) {
    send(bytes, delivery, () -> delivery);
  }

  /**
   * Likewise, of a message that does not stay as it is.
   *
   * @param kept makes what can be delivered later
   */
  void send(long bytes, Runnable delivery, Supplier<Runnable> kept) {
    if (letsOut() && !out.holds(bytes, () -> arrival(kept.get()))) {
      delivery.run();
    }
  }

  private Runnable arrival(Runnable delivery) {
    return () -> {
      if (letsOut()) {
        delivery.run();
      }
    };
  }

  /** Lets a message of the party arrive: at once, later or never. */
  void receive(long bytes, Runnable delivery) {
    receive(bytes, delivery, () -> {});
  }

  /**
   * Likewise.
   *
   * @param loss runs where it never arrives
   */
  void receive(long bytes, Runnable delivery, Runnable loss) {
    if (!letsIn()) {
      loss.run();
      return;
    }
    Runnable arrival =
        () -> {
          if (letsIn()) {
            delivery.run();
          } else {
            loss.run();
          }
        };
    if (!in.holds(bytes, () -> arrival)) {
      delivery.run();
    }
  }

  /** What is on its way to the party. */
  Way out() {
    return out;
  }

  /** What is on its way from the party. */
  Way in() {
    return in;
  }

  private boolean letsOut() {
    lost |= faults.dropsTo(party.get());
    return !lost && !over;
  }

  private boolean letsIn() {
    lost |= faults.dropsFrom(party.get());
    return !lost && !over;
  }

  /** The stream has ended; a cut party does not learn of it before the healing. */
  boolean end() {
    over = true;
    faults.forget(healing);
    return !lost;
  }

  private void healed() {
    if (lost && !over && !faults.isCut(party.get())) {
      boolean _ = end();
      broken.accept("reset: the line was cut");
    }
  }
}
