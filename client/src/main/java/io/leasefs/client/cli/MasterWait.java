package io.leasefs.client.cli;

import io.leasefs.client.meta.Patience;
import io.leasefs.common.error.ErrorCode;
import io.leasefs.common.error.LeaseFsException;
import io.leasefs.common.model.ServerAddress;
import java.net.UnknownHostException;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * Breaks the silence while no master answers: one line after a second; and an end at once where no
 * master's name is that of a host. Any thread.
 */
final class MasterWait implements Patience {
  private static final long SILENCE_NANOS = 1_000_000_000L;

  private final Set<ServerAddress> unknown = new HashSet<>();
  private final List<ServerAddress> masters;
  private final @Nullable String hint;
  private final Consumer<String> note;
  private boolean told;

  /**
   * A wait for these.
   *
   * @param hint what to do where none of them is a host; null for the usual
   */
  MasterWait(List<ServerAddress> masters, @Nullable String hint, Consumer<String> note) {
    this.masters = List.copyOf(masters);
    this.hint = hint;
    this.note = note;
  }

  @Override
  public synchronized Optional<LeaseFsException> after(
      ServerAddress asked, LeaseFsException failure, long waitedNanos, long leftNanos) {
    if (isUnknownHost(failure)) {
      unknown.add(asked);
      if (unknown.containsAll(masters)) {
        return Optional.of(
            new LeaseFsException(
                ErrorCode.UNREACHABLE,
                asked + ": there is no host named '" + asked.host() + "'",
                hint == null ? "check the name of the master" : hint,
                failure));
      }
    }
    boolean silent =
        failure.code() == ErrorCode.UNREACHABLE || failure.code() == ErrorCode.TIMED_OUT;
    if (silent && !told && waitedNanos >= SILENCE_NANOS && leftNanos >= SILENCE_NANOS) {
      told = true;
      note.accept(
          "leasefs: no answer from "
              + asked
              + " yet ("
              + why(asked, failure)
              + "); trying for "
              + Quantities.duration(leftNanos)
              + " more");
    }
    return Optional.empty();
  }

  private static boolean isUnknownHost(Throwable failure) {
    for (Throwable cause = failure; cause != null; cause = cause.getCause()) {
      if (cause instanceof UnknownHostException) {
        return true;
      }
    }
    return false;
  }

  private static String why(ServerAddress asked, LeaseFsException failure) {
    String text = String.valueOf(failure.getMessage()).replace("cannot reach " + asked + ": ", "");
    int end = text.indexOf(": /");
    String reason = end > 0 ? text.substring(0, end) : text;
    return reason.isEmpty()
        ? "silence"
        : Character.toLowerCase(reason.charAt(0)) + reason.substring(1);
  }
}
