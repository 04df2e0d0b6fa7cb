package io.leasefs.client.cli;

import java.io.PrintStream;
import java.util.Locale;

/** A line of progress on standard error; called from one thread. */
public final class Progress implements AutoCloseable {
  /** When progress is shown. */
  public enum When {
    /** Live on a terminal, else only the last line of many files that took over a second. */
    AUTO,
    ALWAYS,
    /** A new line each second, no control characters. */
    PLAIN,
    NEVER
  }

  private static final long SECOND = 1_000_000_000;

  private final PrintStream err;
  private final When when;
  private final boolean live;
  private final boolean verbose;
  private final String what;
  private final long total;
  private final long started = System.nanoTime();
  private long shown = started;
  private long done;
  private String suffix = "";
  private boolean finished;

  /** {@code total} below 0: not known. */
  Progress(PrintStream err, When when, boolean terminal, boolean verbose, String what, long total) {
    this.err = err;
    this.when = when;
    this.live = when == When.ALWAYS || (when == When.AUTO && terminal);
    this.verbose = verbose;
    this.what = what;
    this.total = total;
  }

  /** So many bytes more are done. */
  public void add(long bytes) {
    done += bytes;
    long now = System.nanoTime();
    if (live && now - shown > SECOND / 5) {
      shown = now;
      err.print("\r\033[K" + text(now));
      err.flush();
    } else if (when == When.PLAIN && now - shown > SECOND) {
      shown = now;
      err.println(text(now));
    }
  }

  public long done() {
    return done;
  }

  /** Ends with a summary line; the suffix tells how many files they were, empty: one. */
  public void finish(String suffix) {
    this.suffix = suffix;
    finished = true;
  }

  private String text(long now) {
    double seconds = Math.max((now - started) / 1e9, 1e-3);
    String rate =
        done < 1 << 20 // says nothing of the cluster
            ? ""
            : String.format(Locale.ROOT, "  %.1f MiB/s", done / seconds / (1 << 20));
    String percent = total > 0 ? String.format(Locale.ROOT, "  %3d%%", 100 * done / total) : "";
    String time = String.format(Locale.ROOT, "%d:%02d", (long) seconds / 60, (long) seconds % 60);
    return what
        + percent
        + "  "
        + Quantities.human(done)
        + rate
        + "  "
        + time
        + (suffix.isEmpty() ? "" : "  " + suffix);
  }

  @Override
  public void close() {
    long now = System.nanoTime();
    if (live) {
      err.print("\r\033[K");
      err.flush();
    }
    boolean worthALine =
        when == When.ALWAYS
            || when == When.PLAIN
            || (when == When.AUTO
                && (live || verbose || (!suffix.isEmpty() && now - started > SECOND)));
    if (finished && worthALine) {
      err.println(text(now));
    }
  }
}
