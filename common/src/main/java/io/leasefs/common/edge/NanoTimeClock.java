package io.leasefs.common.edge;

/** The clock of a client process: {@code System.nanoTime} and the wall. */
public final class NanoTimeClock implements Clock {
  @Override
  public long nanos() {
    return System.nanoTime();
  }

  @Override
  public long wallMillis() {
    return System.currentTimeMillis();
  }
}
