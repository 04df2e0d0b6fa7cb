package io.leasefs.client.cli;

import io.leasefs.common.error.ErrorCode;
import io.leasefs.common.error.LeaseFsException;
import java.util.function.BooleanSupplier;
import java.util.function.Supplier;

/** Asks again, at a gentle pace, until something is so or the time is over. */
public final class Waiting {
  private static final long FIRST_PAUSE_MILLIS = 20;
  private static final long LONGEST_PAUSE_MILLIS = 500;

  private final String what;
  private final long deadlineNanos;

  /** {@code limitNanos} 0: no limit. */
  Waiting(String what, long limitNanos) {
    this.what = what;
    this.deadlineNanos = limitNanos == 0 ? 0 : System.nanoTime() + limitNanos;
  }

  /** Returns when so; fails with TIMED_OUT, saying what it waited for. */
  public void until(BooleanSupplier so) {
    until(so, () -> "", "ask again, or see 'leasefs status'");
  }

  /**
   * Likewise.
   *
   * @param soFar what the error adds: how far it has come
   */
  void until(BooleanSupplier so, Supplier<String> soFar, String hint) {
    if (!within(so)) {
      throw new LeaseFsException(
          ErrorCode.TIMED_OUT, "waited in vain for " + what + soFar.get(), hint);
    }
  }

  /** True when so; false when the time is over. */
  public boolean within(BooleanSupplier so) {
    long pause = FIRST_PAUSE_MILLIS;
    while (!so.getAsBoolean()) {
      if (deadlineNanos != 0 && System.nanoTime() - deadlineNanos > 0) {
        return false;
      }
      try {
        Thread.sleep(pause);
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt();
        throw new LeaseFsException(ErrorCode.TIMED_OUT, "interrupted while waiting for " + what);
      }
      pause = Math.min(LONGEST_PAUSE_MILLIS, pause * 2);
    }
    return true;
  }
}
