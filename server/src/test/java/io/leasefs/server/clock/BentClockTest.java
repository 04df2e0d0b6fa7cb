package io.leasefs.server.clock;

import static org.assertj.core.api.Assertions.assertThat;

import io.leasefs.common.edge.Clock;
import org.junit.jupiter.api.Test;

class BentClockTest {
  private long nanos = 5_000_000_000L;

  private final Clock real =
      new Clock() {
        @Override
        public long nanos() {
          return nanos;
        }

        @Override
        public long wallMillis() {
          return 1_000;
        }
      };

  @Test
  void isRightAtFirstAndThenGainsOrLosesAtItsRate() {
    Clock fast = new BentClock(real, 10_000, 0);
    Clock slow = new BentClock(real, -10_000, 0);
    assertThat(fast.nanos()).isEqualTo(nanos);
    nanos += 1_000_000_000L;
    assertThat(fast.nanos()).isEqualTo(nanos + 10_000_000);
    assertThat(slow.nanos()).isEqualTo(nanos - 10_000_000);
  }

  @Test
  void neverGoesBackAndDoesNotOverflowInYears() {
    Clock slow = new BentClock(real, -500_000, 0);
    long before = slow.nanos();
    for (int i = 0; i < 1_000; i++) {
      nanos += 999;
      assertThat(slow.nanos()).isGreaterThanOrEqualTo(before);
      before = slow.nanos();
    }
    long year = 365L * 86_400 * 1_000_000_000;
    Clock fast = new BentClock(real, 500_000, 0);
    long begun = fast.nanos();
    nanos += 50 * year;
    assertThat(fast.nanos() - begun).isEqualTo(75 * year);
  }

  @Test
  void wallClockIsOffByAConstant() {
    assertThat(new BentClock(real, 0, -86_400_000).wallMillis()).isEqualTo(1_000 - 86_400_000);
  }
}
