package io.leasefs.server.start;

import java.util.concurrent.locks.LockSupport;

/** Harms itself as its argument says; tells of the first time in which it stood still. */
final class HarmedMain {
  private static final long STILL_NANOS = 1_000_000_000L;
  private static final long LIMIT_NANOS = 40_000_000_000L;

  private HarmedMain() {}

  public static void main(String[] arguments) {
    Runtime.getRuntime().addShutdownHook(new Thread(() -> System.out.println("stopped in order")));
    System.out.println("alive");
    long last = System.nanoTime();
    long deadline = last + LIMIT_NANOS;
    OwnProcess own = new OwnProcess();
    Runnable harm =
        arguments[0].equals("kill") ? own::kill : () -> own.freeze(STILL_NANOS + STILL_NANOS / 2);
    new Thread(harm).start();
    while (last < deadline) {
      LockSupport.parkNanos(10_000_000);
      long now = System.nanoTime();
      if (now - last > STILL_NANOS) {
        System.out.println("stood still");
        System.exit(0);
      }
      last = now;
    }
    System.exit(1);
  }
}
