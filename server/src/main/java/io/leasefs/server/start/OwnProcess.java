package io.leasefs.server.start;

import io.leasefs.common.error.ErrorCode;
import io.leasefs.common.error.LeaseFsException;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.TimeUnit;

/**
 * What a server can do to its own process when it is told to fail on purpose. Both happen a moment
 * after the call, so that whoever ordered it is answered. Any thread.
 */
public final class OwnProcess {
  /** Time for the answer to leave. */
  private static final long ANSWER_MILLIS = 50;

  /** As after SIGKILL. */
  private static final int KILLED = 137;

  OwnProcess() {}

  /** Ends it with nothing stopped, flushed or said: as SIGKILL does. */
  public void kill() {
    Thread end =
        new Thread(
            () -> {
              pause();
              Runtime.getRuntime().halt(KILLED);
            },
            "kill on demand");
    end.setDaemon(true);
    end.start();
  }

  private static void pause() {
    try {
      TimeUnit.MILLISECONDS.sleep(ANSWER_MILLIS);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt(); // so it ends at once
    }
  }

  /**
   * All of its threads stand still for this long: SIGSTOP, and SIGCONT from a shell that lives on.
   *
   * @throws LeaseFsException INVALID_ARGUMENT where the kernel would not do it
   */
  public void freeze(long nanos) {
    long pid = ProcessHandle.current().pid();
    if (pid == 1) {
      throw new LeaseFsException(
          ErrorCode.INVALID_ARGUMENT,
          "process 1 of a container cannot be stopped from within",
          "freeze it from outside, or start the container with an init process");
    }
    try {
      new ProcessBuilder(command(pid, nanos))
          .redirectOutput(ProcessBuilder.Redirect.DISCARD)
          .redirectError(ProcessBuilder.Redirect.DISCARD)
          .start();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private static List<String> command(long pid, long nanos) {
    return List.of(
        "/bin/sh",
        "-c",
        "sleep \"$1\"; kill -STOP \"$2\"; sleep \"$3\"; kill -CONT \"$2\"",
        "freeze",
        seconds(ANSWER_MILLIS * 1_000_000),
        Long.toString(pid),
        seconds(nanos));
  }

  private static String seconds(long nanos) {
    return String.format(Locale.ROOT, "%.3f", nanos / 1e9);
  }
}
