package io.leasefs.client.retry;

import static org.assertj.core.api.Assertions.assertThat;

import io.leasefs.common.error.ErrorCode;
import java.util.Random;
import org.junit.jupiter.api.Test;

class RetryPolicyTest {
  private final RetryPolicy policy = new RetryPolicy(1000, 8000, 2);

  @Test
  void pausesDoubleUpToTheLargest() {
    assertThat(policy.pauseNanos(1, 0)).isEqualTo(1000);
    assertThat(policy.pauseNanos(2, 0)).isEqualTo(2000);
    assertThat(policy.pauseNanos(4, 0)).isEqualTo(8000);
    assertThat(policy.pauseNanos(5, 0)).isEqualTo(8000);
    assertThat(policy.pauseNanos(1_000_000, 0)).isEqualTo(8000);
  }

  @Test
  void chanceShortensAPauseByAtMostAQuarter() {
    Random random = new Random(1);
    for (int i = 0; i < 1000; i++) {
      assertThat(policy.pauseNanos(3, random.nextLong())).isBetween(3000L, 4000L);
    }
  }

  @Test
  void lackIsRepeatedABoundedNumberOfTimesAndFinalErrorsNever() {
    assertThat(policy.asksAgain(ErrorCode.BUSY, 2)).isTrue();
    assertThat(policy.asksAgain(ErrorCode.BUSY, 3)).isFalse();
    assertThat(policy.asksAgain(ErrorCode.UNREACHABLE, 1000)).isTrue();
    assertThat(policy.asksAgain(ErrorCode.NOT_FOUND, 1)).isFalse();
    assertThat(policy.asksAgain(ErrorCode.FENCED, 1)).isFalse();
  }
}
