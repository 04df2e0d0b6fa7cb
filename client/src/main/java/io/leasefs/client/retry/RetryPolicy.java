package io.leasefs.client.retry;

import io.leasefs.common.error.ErrorCode;

/**
 * When a failed request is asked again. Pure.
 *
 * @param firstPauseNanos pause before the second attempt
 * @param maxPauseNanos pauses double up to this
 * @param maxBackOffs how often a request is repeated that a server refused for lack of something
 */
public record RetryPolicy(long firstPauseNanos, long maxPauseNanos, int maxBackOffs) {
  /** 20 ms doubling to 1 s; eight refusals for lack of something. */
  public static final RetryPolicy DEFAULT = new RetryPolicy(20_000_000, 1_000_000_000, 8);

  public RetryPolicy {
    if (firstPauseNanos <= 0 || maxPauseNanos < firstPauseNanos || maxBackOffs < 0) {
      throw new IllegalArgumentException(
          "0 < " + firstPauseNanos + " <= " + maxPauseNanos + ", 0 <= " + maxBackOffs);
    }
  }

  /**
   * Whether a request to the master that failed so is asked again.
   *
   * @param failures how often this request has failed, this time included
   */
  public boolean asksAgain(ErrorCode code, int failures) {
    return switch (code.reaction()) {
      case RETRY -> true;
      case BACK_OFF -> failures <= maxBackOffs;
      case TELL, REFRESH, OTHER_REPLICA -> false;
    };
  }

  /**
   * The pause before the next attempt: doubling, and a quarter of it by chance, so that clients
   * that failed together do not come back together.
   *
   * @param failures at least 1
   * @param random any 64 bits
   */
  public long pauseNanos(int failures, long random) {
    long pause =
        failures > 40
            ? maxPauseNanos
            : Math.min(maxPauseNanos, firstPauseNanos << Math.min(failures - 1, 20));
    long quarter = Math.max(1, pause / 4);
    return pause - Long.remainderUnsigned(random, quarter);
  }
}
