package io.leasefs.chunkserver.lease;

/** Whether one lease is valid, computed at each use. Any thread; never blocks. */
@FunctionalInterface
public interface LeaseValidity {
  /**
   * True while the lease is held and its session's end has not come.
   *
   * @param now the holder's clock, nanoseconds
   */
  boolean validAt(long now);
}
