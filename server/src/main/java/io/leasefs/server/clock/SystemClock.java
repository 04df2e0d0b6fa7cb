package io.leasefs.server.clock;

import io.leasefs.common.edge.Clock;
import java.util.function.LongSupplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The clocks of a server process: {@link LeaseClocks} of the kernel's CLOCK_MONOTONIC and
 * CLOCK_BOOTTIME. Any thread; allocates nothing.
 *
 * <p>Both count from the start of the process: readings of the two may not be compared with each
 * other, nor with those of another process.
 */
public final class SystemClock {
  private static final Logger logger = LoggerFactory.getLogger(SystemClock.class);

  /** Reads one clock of the kernel, in nanoseconds from an origin of its own. */
  interface Reading {
    long nanos();
  }

  /** For whoever holds a lease: a chunkserver. */
  private static final Clock HOLDER;

  /** For whoever grants leases: a master. */
  private static final Clock GRANTOR;

  static {
    Reading monotonic = System::nanoTime; // CLOCK_MONOTONIC, as the JVM reads it on Linux
    Reading boot = bootOr(monotonic, () -> BootClock.nanos(BootClock.CLOCK_BOOTTIME));
    HOLDER = holder(monotonic, boot);
    GRANTOR = grantor(monotonic, boot);
  }

  private SystemClock() {}

  /** The clock of a lease's holder, never behind true elapsed time but for its drift. */
  public static Clock holder() {
    return HOLDER;
  }

  /** The clock of a lease's grantor, never ahead of true elapsed time but for its drift. */
  public static Clock grantor() {
    return GRANTOR;
  }

  /** The boot clock where it can be had; else the other one, said once in the log. */
  static Reading bootOr(Reading monotonic, Reading boot) {
    try {
      boot.nanos();
      return boot;
    } catch (IllegalStateException | LinkageError e) {
      logger.warn(
          "boot clock unavailable: a suspended machine would count its leases as valid after it"
              + " wakes up reason=\"{}\"",
          e.toString());
      return monotonic;
    }
  }

  static Clock holder(Reading monotonic, Reading boot) {
    return new OfLeases(LeaseClocks.holder(monotonic::nanos, boot::nanos));
  }

  static Clock grantor(Reading monotonic, Reading boot) {
    return new OfLeases(LeaseClocks.grantor(monotonic::nanos, boot::nanos));
  }

  private record OfLeases(LongSupplier elapsed) implements Clock {
    @Override
    public long nanos() {
      return elapsed.getAsLong();
    }

    @Override
    public long wallMillis() {
      return System.currentTimeMillis();
    }
  }
}
