package io.leasefs.server.threads;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

class ThreadsTest {
  @Test
  void serialThreadKeepsTheOrderAndOutlivesAFailedTask() throws Exception {
    List<Integer> seen = Collections.synchronizedList(new ArrayList<>());
    CountDownLatch done = new CountDownLatch(1);
    try (SerialThread serial = new SerialThread("test")) {
      serial.execute(() -> seen.add(1));
      serial.execute(
          () -> {
            throw new IllegalStateException("on purpose");
          });
      serial.execute(() -> seen.add(2));
      serial.execute(done::countDown);
      assertThat(done.await(10, TimeUnit.SECONDS)).isTrue();
    }
    assertThat(seen).containsExactly(1, 2);
  }

  @Test
  void cancelledTimerDoesNotFire() throws Exception {
    CountDownLatch later = new CountDownLatch(1);
    CountDownLatch never = new CountDownLatch(1);
    CountDownLatch cancelled = new CountDownLatch(1);
    try (TimerThread timers = new TimerThread("test")) {
      // The thread is held back until the cancellation, else a slow machine could fire before it.
      var held = timers.after(0, () -> awaitQuietly(cancelled));
      timers.after(1, never::countDown).cancel();
      cancelled.countDown();
      var last = timers.after(2, later::countDown);
      assertThat(later.await(10, TimeUnit.SECONDS)).isTrue();
      held.cancel();
      last.cancel();
    }
    assertThat(never.getCount()).isEqualTo(1);
  }

  private static void awaitQuietly(CountDownLatch latch) {
    try {
      if (!latch.await(10, TimeUnit.SECONDS)) {
        throw new IllegalStateException("not cancelled within 10 s");
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }
}
