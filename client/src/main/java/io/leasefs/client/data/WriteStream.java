package io.leasefs.client.data;

import io.leasefs.common.error.ErrorCode;
import io.leasefs.common.error.LeaseFsException;
import org.jspecify.annotations.Nullable;

/**
 * Writes of one writer that make sense only one after another: once one of them is given up, so are
 * all later ones. What is in the file of them is then a beginning of the stream, without a hole.
 * Used in the mailbox of one file.
 */
final class WriteStream {
  private @Nullable LeaseFsException failure;

  boolean isBroken() {
    return failure != null;
  }

  void breakWith(LeaseFsException why) {
    failure = why;
  }

  /** Why nothing more is written. */
  LeaseFsException failure() {
    LeaseFsException why = failure;
    return why == null
        ? new LeaseFsException(ErrorCode.INTERNAL, "a stream that is whole has no failure")
        : why;
  }
}
