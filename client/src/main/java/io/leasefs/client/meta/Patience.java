package io.leasefs.client.meta;

import io.leasefs.common.error.LeaseFsException;
import io.leasefs.common.model.ServerAddress;
import java.util.Optional;

/** Is told while masters do not answer, and may end the waiting. Any thread; must not block. */
@FunctionalInterface
public interface Patience {
  /** Goes on as long as there is time. */
  Patience UNTIL_THE_LIMIT = (asked, failure, waitedNanos, leftNanos) -> Optional.empty();

  /**
   * An attempt has failed, and another would follow.
   *
   * @param waitedNanos since the request began
   * @param leftNanos until it is given up
   * @return what the request ends with; empty to go on
   */
  Optional<LeaseFsException> after(
      ServerAddress asked, LeaseFsException failure, long waitedNanos, long leftNanos);
}
