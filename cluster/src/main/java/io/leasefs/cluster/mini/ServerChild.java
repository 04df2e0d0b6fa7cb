package io.leasefs.cluster.mini;

import com.google.common.base.Splitter;
import io.leasefs.common.error.ErrorCode;
import io.leasefs.common.error.LeaseFsException;
import io.leasefs.common.model.ServerAddress;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.jspecify.annotations.Nullable;

/** One server of a mini-cluster: a child process that can be killed, frozen and started again. */
public final class ServerChild {
  /** Exit code of a server whose settings, folder or port cannot be used. */
  private static final int REFUSED = 2;

  private final String name;
  private final List<String> command;
  private final Path log;

  private @Nullable Process process;
  private CompletableFuture<Map<String, String>> ready = new CompletableFuture<>();

  ServerChild(String name, List<String> command, Path log) {
    this.name = name;
    this.command = command;
    this.log = log;
  }

  public String name() {
    return name;
  }

  /** Where its log lines go. */
  public Path log() {
    return log;
  }

  /** Starts the process; {@link #awaitReady} waits for it to serve. */
  public void start(List<String> moreFlags) {
    if (isAlive()) {
      throw new IllegalStateException(name + " runs already");
    }
    List<String> whole = new ArrayList<>(command);
    whole.addAll(moreFlags);
    CompletableFuture<Map<String, String>> fresh = new CompletableFuture<>();
    ready = fresh;
    try {
      ProcessBuilder builder = new ProcessBuilder(whole);
      // What is set for the command of whoever started us is not meant for servers.
      builder.environment().keySet().removeIf(variable -> variable.startsWith("LEASEFS_"));
      Process started =
          builder.redirectError(ProcessBuilder.Redirect.appendTo(log.toFile())).start();
      process = started;
      Thread reader = new Thread(() -> readOutput(started, fresh), "output of " + name);
      reader.setDaemon(true);
      reader.start();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private void readOutput(Process started, CompletableFuture<Map<String, String>> fresh) {
    try (BufferedReader lines = started.inputReader()) {
      for (String line; (line = lines.readLine()) != null; ) {
        if (line.startsWith("ready ")) {
          fresh.complete(facts(line));
        }
      }
    } catch (IOException e) {
      // the process has ended: told below
    }
    boolean refused = awaitEnd(started, 10) && started.exitValue() == REFUSED;
    fresh.completeExceptionally(
        new LeaseFsException(
            refused ? ErrorCode.INVALID_ARGUMENT : ErrorCode.UNREACHABLE,
            name + " ended before it served: " + lastLogLine(),
            "its log is " + log));
  }

  private static Map<String, String> facts(String line) {
    Map<String, String> facts = new LinkedHashMap<>();
    for (String word : Splitter.on(' ').split(line)) {
      int equals = word.indexOf('=');
      if (equals > 0) {
        facts.put(word.substring(0, equals), word.substring(equals + 1));
      }
    }
    return facts;
  }

  private String lastLogLine() {
    try {
      List<String> lines = Files.readAllLines(log);
      for (int i = lines.size() - 1; i >= 0; i--) {
        if (lines.get(i).startsWith("leasefs:")) {
          return lines.get(i);
        }
      }
      return lines.isEmpty() ? "it wrote no log" : lines.get(lines.size() - 1);
    } catch (IOException e) {
      return "its log cannot be read: " + e.getMessage();
    }
  }

  /** Waits until it serves; what its ready line said. */
  public Map<String, String> awaitReady(long limitNanos) {
    try {
      return ready.get(limitNanos, TimeUnit.NANOSECONDS);
    } catch (ExecutionException e) {
      throw e.getCause() instanceof LeaseFsException known
          ? known
          : new IllegalStateException(e.getCause());
    } catch (TimeoutException e) {
      throw new LeaseFsException(
          ErrorCode.TIMED_OUT,
          name + " does not serve after " + limitNanos / 1_000_000_000 + " s",
          "its log is " + log);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new LeaseFsException(ErrorCode.TIMED_OUT, "interrupted while " + name + " starts");
    }
  }

  /** Where it listens; it must be ready. */
  public ServerAddress address() {
    return ServerAddress.parse(
        Objects.requireNonNull(awaitReady(1).get("address"), "no address= in the ready line"));
  }

  /** What its ready line says of this; it must be ready. */
  public String fact(String key) {
    return Objects.requireNonNull(awaitReady(1).get(key), "not in the ready line: " + key);
  }

  public boolean isAlive() {
    return process != null && process.isAlive();
  }

  public long pid() {
    return Objects.requireNonNull(process).pid();
  }

  /** SIGKILL; returns once it is gone. */
  public void kill() {
    Process running = Objects.requireNonNull(process);
    running.destroyForcibly();
    awaitEnd(running, 10);
  }

  /** SIGTERM, then SIGKILL if it has not ended within so many seconds. */
  public void stop(long seconds) {
    Process running = process;
    if (running == null || !running.isAlive()) {
      return;
    }
    signal("CONT"); // a frozen process cannot end in good order
    running.destroy();
    if (!awaitEnd(running, seconds)) {
      kill();
    }
  }

  /** SIGTERM without waiting. */
  public void askToStop() {
    if (process != null && process.isAlive()) {
      process.destroy();
    }
  }

  /** SIGSTOP: it stands still as a whole. */
  public void freeze() {
    signal("STOP");
  }

  /** SIGCONT. */
  public void thaw() {
    signal("CONT");
  }

  private void signal(String signal) {
    if (!isAlive()) {
      return;
    }
    try {
      Process kill =
          new ProcessBuilder("kill", "-" + signal, Long.toString(pid()))
              .redirectError(ProcessBuilder.Redirect.DISCARD) // it may end at this very moment
              .start();
      awaitEnd(kill, 10);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private static boolean awaitEnd(Process process, long seconds) {
    try {
      return process.waitFor(seconds, TimeUnit.SECONDS);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      return false;
    }
  }
}
