package io.leasefs.server.clock;

import static org.assertj.core.api.Assertions.assertThat;

import com.sun.management.ThreadMXBean;
import io.leasefs.common.edge.Clock;
import java.lang.management.ManagementFactory;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.junit.jupiter.api.Test;

class SystemClockTest {
  private long monotonicNanos = 1_000;
  private long bootNanos = 77_000;

  @Test
  void holderCountsTheTimeOfASuspensionAndGrantorDoesNot() {
    Clock holder = SystemClock.holder(() -> monotonicNanos, () -> bootNanos);
    Clock grantor = SystemClock.grantor(() -> monotonicNanos, () -> bootNanos);
    monotonicNanos += 5;
    bootNanos += 5;
    assertThat(holder.nanos()).isEqualTo(5);
    assertThat(grantor.nanos()).isEqualTo(5);
    bootNanos += 3_600; // suspended
    monotonicNanos += 1;
    bootNanos += 1;
    assertThat(holder.nanos()).isEqualTo(3_606);
    assertThat(grantor.nanos()).isEqualTo(6);
  }

  @Test
  void monotonicClockStandsInWhereTheBootClockCannotBeHad() {
    SystemClock.Reading monotonic = () -> monotonicNanos;
    SystemClock.Reading used =
        SystemClock.bootOr(
            monotonic,
            () -> {
              throw new IllegalStateException("no such clock");
            });
    assertThat(used).isSameAs(monotonic);
  }

  @Test
  void realClocksMoveOnAtTheSameRate() {
    long holderBegun = SystemClock.holder().nanos();
    long grantorBegun = SystemClock.grantor().nanos();
    long deadline = System.nanoTime() + 20_000_000;
    while (System.nanoTime() < deadline) {
      Thread.onSpinWait();
    }
    long grantorElapsed = SystemClock.grantor().nanos() - grantorBegun;
    long holderElapsed = SystemClock.holder().nanos() - holderBegun;
    assertThat(grantorElapsed).isGreaterThanOrEqualTo(20_000_000);
    assertThat(holderElapsed).isGreaterThanOrEqualTo(grantorElapsed);
  }

  @Test
  void readingAllocatesNothing() {
    ThreadMXBean threads = (ThreadMXBean) ManagementFactory.getThreadMXBean();
    Clock clock = SystemClock.holder();
    long sum = 0;
    long calls = 200_000;
    double bytesPerCall = Double.MAX_VALUE;
    // the first rounds run before the compiler has done its work
    for (int round = 0; round < 20 && bytesPerCall >= 0.1; round++) {
      long before = threads.getCurrentThreadAllocatedBytes();
      for (int i = 0; i < calls; i++) {
        sum += clock.nanos();
      }
      bytesPerCall = (threads.getCurrentThreadAllocatedBytes() - before) / (double) calls;
    }
    assertThat(sum).isNotZero();
    assertThat(bytesPerCall).isLessThan(0.1);
  }

  @Test
  void manyThreadsNeverSeeTheirClockGoBack() throws Exception {
    Clock clock = SystemClock.holder();
    Callable<Boolean> reader =
        () -> {
          long last = clock.nanos();
          for (int i = 0; i < 20_000; i++) {
            long now = clock.nanos();
            if (now < last) {
              return false;
            }
            last = now;
          }
          return true;
        };
    try (ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor()) {
      List<Future<Boolean>> outcomes = new ArrayList<>();
      for (int i = 0; i < 200; i++) {
        outcomes.add(threads.submit(reader));
      }
      for (Future<Boolean> outcome : outcomes) {
        assertThat(outcome.get()).isTrue();
      }
    }
  }
}
