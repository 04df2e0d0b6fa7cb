package io.leasefs.client.cli;

import com.google.common.util.concurrent.Uninterruptibles;
import io.leasefs.client.LeaseFs;
import io.leasefs.client.meta.MasterRouter;
import io.leasefs.common.error.ErrorCode;
import io.leasefs.common.error.LeaseFsException;
import io.leasefs.common.model.FilePath;
import io.leasefs.common.model.ServerAddress;
import java.io.IOException;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicBoolean;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Spec;

/** What every verb can do: print, ask, connect. A verb is run once, on the main thread. */
public abstract class Verb implements Callable<Integer> {
  @Spec @Nullable CommandSpec spec;

  private @Nullable Output output;
  private @Nullable LeaseFs client;
  private long timeoutNanos;

  /** Does the work; the answer is the exit code. */
  protected abstract int run() throws Exception;

  @Override
  public final Integer call() throws Exception {
    try { // wrong settings are told before anything is done
      output = new Output(streams().out(), format(), colour());
      timeoutNanos = settings().timeoutNanos();
      long deadline = settings().deadlineNanos();
      return deadline == 0 ? run() : runWithin(deadline);
    } catch (LeaseFsException e) {
      if (!MasterRouter.isUnanswered(e)) {
        throw e;
      }
      throw settings().contextHint().map(e::hinting).orElse(e);
    } finally {
      if (client != null) {
        client.close();
      }
    }
  }

  /** Runs; whatever it waits for is interrupted when the time for the whole command is over. */
  private int runWithin(long nanos) throws Exception {
    Thread runner = Thread.currentThread();
    CountDownLatch done = new CountDownLatch(1);
    AtomicBoolean late = new AtomicBoolean();
    Thread watch =
        new Thread(
            () -> {
              try {
                if (!done.await(nanos, TimeUnit.NANOSECONDS)) {
                  late.set(true);
                  runner.interrupt();
                }
              } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
              }
            },
            "deadline");
    watch.setDaemon(true);
    watch.start();
    try {
      return run();
    } catch (Exception e) {
      if (!late.get()) {
        throw e;
      }
      throw new LeaseFsException(
          ErrorCode.TIMED_OUT,
          "not done within " + Quantities.duration(nanos) + ", the --deadline",
          "run it again, or pass a longer --deadline",
          e);
    } finally {
      done.countDown();
      Uninterruptibles.joinUninterruptibly(watch); // it interrupts no more
      boolean unused = Thread.interrupted(); // the client is still to be closed
    }
  }

  private RootCommand root() {
    return (RootCommand) Objects.requireNonNull(spec).root().userObject();
  }

  GlobalOptions options() {
    return root().options;
  }

  /** The streams of this run. */
  protected Streams streams() {
    return root().streams;
  }

  /** Name of the verb as typed, such as {@code lease ls}. */
  protected String verbName() {
    return Objects.requireNonNull(spec).qualifiedName().replaceFirst("^leasefs ", "");
  }

  /** Standard output in the wanted format. */
  public Output out() {
    return Objects.requireNonNull(output);
  }

  private boolean colour() {
    return streams().outIsTerminal()
        && !options().noColor
        && !streams().environment().containsKey("NO_COLOR");
  }

  private OutputFormat format() {
    if (options().json) {
      return OutputFormat.JSON;
    }
    if (options().output != null) {
      return options().output;
    }
    return settings().output();
  }

  /** Where each setting comes from. */
  protected Settings settings() {
    return new Settings(options(), streams().environment());
  }

  /** The longest wait without progress, nanoseconds; 0 = none. */
  protected long timeoutNanos() {
    return timeoutNanos;
  }

  /** True where the user wants no summaries. */
  protected boolean quiet() {
    return options().quiet;
  }

  /** True where the user wants to see every step. */
  protected boolean trace() {
    return options().trace;
  }

  protected boolean verbose() {
    return options().verbose.length > 0;
  }

  /** A client of the chosen cluster, closed when the verb ends. */
  protected LeaseFs client() {
    if (client == null) {
      client = settings().connect(this::note);
    }
    return client;
  }

  /** Waits for an answer, at most the time limit. */
  protected <T> T await(CompletableFuture<T> answer) {
    try {
      long limit = timeoutNanos();
      return limit == 0 ? answer.get() : answer.get(limit, TimeUnit.NANOSECONDS);
    } catch (ExecutionException e) {
      throw e.getCause() instanceof LeaseFsException known
          ? known
          : new LeaseFsException(ErrorCode.INTERNAL, "a bug: " + e.getCause(), null, e.getCause());
    } catch (TimeoutException e) {
      throw new LeaseFsException(
          ErrorCode.TIMED_OUT,
          "no answer within " + Quantities.duration(timeoutNanos()),
          "ask again, or pass a longer --timeout");
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new LeaseFsException(ErrorCode.TIMED_OUT, "interrupted while waiting for an answer");
    }
  }

  /** A wait for something of the cluster, bounded by the time limit. */
  protected Waiting waiting(String what) {
    return new Waiting(what, timeoutNanos());
  }

  /** A line for the person, not for the next program, nor beside JSON. */
  protected void note(String line) {
    if (!quiet() && (!out().isJson() || streams().errIsTerminal())) {
      streams().err().println(line);
    }
  }

  /** A line that is said even when quiet. */
  protected void warn(String line) {
    streams().err().println("leasefs: " + verbName() + ": " + line);
  }

  /** Progress on standard error. */
  protected Progress progress(String what, long totalBytes) {
    return new Progress(
        streams().err(),
        options().quiet || (out().isJson() && options().progress == Progress.When.AUTO)
            ? Progress.When.NEVER
            : options().progress,
        streams().errIsTerminal(),
        verbose(),
        what,
        totalBytes);
  }

  /**
   * Asks before something is destroyed. Off a terminal only {@code --yes} will do.
   *
   * @throws LeaseFsException where the answer is no
   */
  protected void confirm(String what) {
    if (options().yes) {
      return;
    }
    if (!streams().inIsTerminal()) {
      throw new LeaseFsException(
          ErrorCode.INVALID_ARGUMENT, what + ": not confirmed", "add --yes to do it");
    }
    streams().err().print(what + "? [y/N] ");
    streams().err().flush();
    try {
      int answer = streams().in().read();
      for (int rest = answer; rest != '\n' && rest >= 0; ) {
        rest = streams().in().read();
      }
      if (answer == 'y' || answer == 'Y') {
        return;
      }
    } catch (IOException e) {
      // no answer is a no
    }
    throw new LeaseFsException(ErrorCode.INTERNAL, what + ": not done");
  }

  /** The error of one of several paths. */
  protected void report(LeaseFsException error) {
    new ErrorReport(error, verbName()).print(streams().err(), out().isJson());
  }

  /** Says so where more copies are wanted than there are servers; nothing is refused for it. */
  protected void warnOfTooFewServers(int copies) {
    int live = await(client().admin().status()).nodesLive();
    if (copies > live) {
      note(
          "leasefs: warning: "
              + Quantities.count(copies, "copy is", "copies are")
              + " wanted, "
              + Quantities.count(live, "server is", "servers are")
              + " there");
    }
  }

  /** Work on one of several paths. */
  protected interface PathWork {
    void on(FilePath path) throws Exception;
  }

  /**
   * Does the work on each path; a failing one is reported and the others are done all the same.
   *
   * @return 0, or the one path's exit code, or 1 where some of several failed
   */
  protected int each(List<String> paths, PathWork work) throws Exception {
    if (paths.size() == 1) {
      work.on(FilePath.parse(paths.get(0)));
      return ExitCode.DONE;
    }
    int failed = 0;
    List<ServerAddress> unused = settings().masters(); // no cluster: told once
    for (String path : paths) {
      try {
        work.on(FilePath.parse(path));
      } catch (LeaseFsException e) {
        if (e.code() == ErrorCode.UNREACHABLE || MasterRouter.isUnanswered(e)) {
          throw e; // the others would wait in vain, too
        }
        failed++;
        report(e);
      } catch (IOException e) {
        failed++;
        report(LocalFailure.of(e));
      }
    }
    return failed == 0 ? ExitCode.DONE : ExitCode.FAILED;
  }
}
