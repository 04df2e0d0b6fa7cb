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
    try (TimerThread timers = new TimerThread("test")) {
      timers.after(1_000_000, never::countDown).cancel();
      var unused = timers.after(20_000_000, later::countDown);
      assertThat(later.await(10, TimeUnit.SECONDS)).isTrue();
      unused.cancel();
    }
    assertThat(never.getCount()).isEqualTo(1);
  }
}
