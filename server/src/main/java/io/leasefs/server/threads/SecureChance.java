package io.leasefs.server.threads;

import io.leasefs.common.edge.RandomSource;
import java.security.SecureRandom;

/** Chance from the kernel. Any thread. */
public final class SecureChance implements RandomSource {
  private final SecureRandom random = new SecureRandom();

  @Override
  public long nextLong() {
    return random.nextLong();
  }
}
