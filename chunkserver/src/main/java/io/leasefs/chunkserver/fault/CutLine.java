package io.leasefs.chunkserver.fault;

import java.util.function.Consumer;
import java.util.function.Supplier;

/**
 * One stream to or from a party that may be cut off. Once it has lost a message in either direction
 * it loses all that follow, and with the healing it breaks.
 */
final class CutLine {
  private final Faults faults;
  private final Supplier<String> party;
  private final Consumer<String> broken;
  private final Runnable healing = this::healed;
  private volatile boolean lost;
  private volatile boolean over;

  /**
   * @param party whom the stream leads to; may be learned late, and is empty until then
   * @param broken told at the healing, if anything was lost
   */
  CutLine(Faults faults, Supplier<String> party, Consumer<String> broken) {
    this.faults = faults;
    this.party = party;
    this.broken = broken;
    faults.onHeal(healing);
  }

  /** True where a message on its way to the party goes through. */
  boolean letsOut() {
    lost |= faults.dropsTo(party.get());
    return !lost && !over;
  }

  /** True where a message of the party goes through. */
  boolean letsIn() {
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
