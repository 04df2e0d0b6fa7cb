package io.leasefs.server.start;

import com.google.common.base.Joiner;
import com.sun.management.ThreadMXBean;
import io.leasefs.common.config.Config;
import io.leasefs.common.config.ConfigKey;
import io.leasefs.common.config.ConfigReader;
import io.leasefs.common.error.LeaseFsException;
import io.micrometer.core.instrument.FunctionCounter;
import io.micrometer.core.instrument.binder.jvm.JvmMemoryMetrics;
import io.micrometer.core.instrument.binder.jvm.JvmThreadMetrics;
import io.micrometer.core.instrument.binder.system.FileDescriptorMetrics;
import io.micrometer.core.instrument.binder.system.ProcessorMetrics;
import io.micrometer.core.instrument.binder.system.UptimeMetrics;
import io.micrometer.prometheusmetrics.PrometheusConfig;
import io.micrometer.prometheusmetrics.PrometheusMeterRegistry;
import java.io.IOException;
import java.io.PrintStream;
import java.lang.management.ManagementFactory;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The life of a server process, the common part of every main: reads the settings, sets up the log,
 * lets the server start, and stops its parts in reverse order at SIGTERM or SIGINT.
 *
 * <p>Exit codes: 2 when a setting, folder or port cannot be used (one line and a hint on stderr;
 * any other error code of a {@link LeaseFsException} gives its own), 1 when anything else fails,
 * 143 or 130 after SIGTERM or SIGINT (the JVM's own), 0 after {@code --help}.
 */
public final class ServerProcess implements AutoCloseable {
  private static final Logger logger = LoggerFactory.getLogger(ServerProcess.class);

  /** Builds and starts all parts of a server; returns once it serves. Runs on the main thread. */
  public interface Start {
    /**
     * Starts the server. Each part that must be stopped is told to {@link #onStop} as soon as it
     * runs.
     *
     * @throws LeaseFsException for what its operator can remove: ends the process with the exit
     *     code of its error code
     * @throws Exception for anything else
     */
    void start(ServerProcess process) throws Exception;
  }

  private record Part(String what, AutoCloseable stop) {}

  private final String role;
  private final Config config;
  private final PrometheusMeterRegistry metrics;

  /** True where other servers share this JVM: then it is not this one's to print into or to end. */
  private final boolean within;

  /** Guarded by this. */
  private final Deque<Part> parts = new ArrayDeque<>();

  /** Guarded by this. */
  private boolean stopping;

  /** Guarded by this. */
  private Map<String, Object> facts = Map.of();

  /** Guarded by this. */
  private @Nullable Throwable halted;

  private ServerProcess(String role, Config config, boolean within) {
    this.role = role;
    this.config = config;
    this.within = within;
    this.metrics = new PrometheusMeterRegistry(PrometheusConfig.DEFAULT);
  }

  /**
   * Runs a server. Returns when it serves, having started threads that keep the JVM alive, or ends
   * the JVM with an exit code.
   *
   * @param role {@code master} or {@code chunkserver}: the verb, and the name in every message
   * @param arguments what follows the verb
   * @param keys all settings of this server; those of the log are added
   */
  public static void run(
      String role, List<String> arguments, List<ConfigKey<?>> keys, Start server) {
    List<ConfigKey<?>> all = withLogKeys(keys);
    if (arguments.contains("--help") || arguments.contains("-h")) {
      printHelp(System.out, role, all);
      System.exit(0);
    }
    try {
      Config config = new ConfigReader(all).read(arguments, System.getenv());
      LogSetup.forServer(config.get(ServerKeys.LOG_LEVEL), config.find(ServerKeys.LOG_FILE));
      ServerProcess process = new ServerProcess(role, config, false);
      process.bindProcessMetrics();
      Runtime.getRuntime().addShutdownHook(new Thread(process::stop, "stop"));
      for (Config.Setting setting : config.settings()) {
        logger.info(
            "setting name={} value={} source={}", setting.name(), setting.text(), setting.source());
      }
      server.start(process);
      if (config.get(ServerKeys.END_WITH_INPUT)) {
        Thread watch = new Thread(ServerProcess::endWithInput, "standard input");
        watch.setDaemon(true);
        watch.start();
      }
    } catch (LeaseFsException e) {
      refuse(role, e);
    } catch (Exception e) {
      logger.error("start failed role={}", role, e);
      System.err.println("leasefs: " + role + ": start failed: " + e);
      System.exit(1);
    }
  }

  private static void endWithInput() {
    try {
      while (System.in.read() >= 0) {
        // nothing is said there
      }
    } catch (IOException e) {
      // as good as its end
    }
    logger.info("standard input has ended: so does this server");
    System.exit(0);
  }

  /**
   * Runs a server inside this JVM, beside others; {@link #close} stops it. It leaves the log, the
   * streams and the life of the JVM alone.
   *
   * @throws LeaseFsException for what its operator can remove; what had started is stopped
   * @throws Exception for anything else
   */
  public static ServerProcess within(
      String role, List<String> arguments, List<ConfigKey<?>> keys, Start server) throws Exception {
    Config config = new ConfigReader(withLogKeys(keys)).read(arguments, Map.of());
    ServerProcess process = new ServerProcess(role, config, true);
    try {
      server.start(process);
      return process;
    } catch (Exception e) {
      process.close();
      throw e;
    }
  }

  private static List<ConfigKey<?>> withLogKeys(List<ConfigKey<?>> keys) {
    List<ConfigKey<?>> all = new ArrayList<>(keys);
    all.add(ServerKeys.END_WITH_INPUT);
    all.add(ServerKeys.LOG_FILE);
    all.add(ServerKeys.LOG_LEVEL);
    return all;
  }

  /** The settings. */
  public Config config() {
    return config;
  }

  /** Where all metrics of this process go. */
  public PrometheusMeterRegistry metrics() {
    return metrics;
  }

  /**
   * Has a part stopped at the end of the process; the one told last is stopped first. If the
   * process is stopping already, the part is stopped at once.
   *
   * @param what for the log
   * @param stop must return in bounded time: the process waits for it
   */
  public void onStop(String what, AutoCloseable stop) {
    synchronized (this) {
      if (!stopping) {
        parts.push(new Part(what, stop));
        return;
      }
    }
    stop(new Part(what, stop));
  }

  /**
   * Says on stdout, in one line of {@code key=value}, that the server serves, and where: what a
   * parent process waits for when it let the kernel choose the ports.
   */
  public void ready(Map<String, ?> facts) {
    synchronized (this) {
      this.facts = new LinkedHashMap<>(facts);
    }
    String line =
        "ready role=" + role + " " + Joiner.on(' ').withKeyValueSeparator('=').join(facts);
    logger.info(line);
    if (!within) {
      System.out.println(line);
      System.out.flush();
    }
  }

  /** What the server said when it was ready. */
  public synchronized Map<String, Object> facts() {
    return facts;
  }

  /**
   * Ends the process at once, without stopping its parts: for a broken invariant, where going on
   * could harm what is on the disk. Exit code 1.
   */
  public void halt(String why, Throwable cause) {
    logger.error("halt role={} reason={}", role, why, cause);
    if (within) {
      synchronized (this) {
        halted = cause;
      }
      return;
    }
    System.err.println("leasefs: " + role + ": halted: " + why + ": " + cause);
    System.err.flush();
    Runtime.getRuntime().halt(1);
  }

  /**
   * Ends the process as a server that cannot start: with what its operator can remove, and the exit
   * code of that. Returns at once; the parts are stopped.
   */
  public void refuse(LeaseFsException why) {
    logger.error("refused role={} reason=\"{}\"", role, why.getMessage());
    if (within) {
      synchronized (this) {
        halted = why;
      }
      return;
    }
    // Not on a thread that a part waits for when it is stopped.
    new Thread(() -> refuse(role, why), "refuse").start();
  }

  /** Why it would have ended its process at once, if it would. */
  public synchronized Optional<Throwable> halted() {
    return Optional.ofNullable(halted);
  }

  /** The process, for faults on demand; empty where other servers share it. */
  public Optional<OwnProcess> own() {
    return within ? Optional.empty() : Optional.of(new OwnProcess());
  }

  /** Stops all parts in reverse order, as SIGTERM does. */
  @Override
  public void close() {
    stop();
  }

  private void stop() {
    logger.info("stopping role={}", role);
    while (true) {
      Part part;
      synchronized (this) {
        stopping = true;
        part = parts.poll();
      }
      if (part == null) {
        logger.info("stopped role={}", role);
        return;
      }
      stop(part);
    }
  }

  private static void stop(Part part) {
    long begun = System.nanoTime();
    try {
      part.stop.close();
      logger.info("stopped part={} millis={}", part.what, (System.nanoTime() - begun) / 1_000_000);
    } catch (Exception e) {
      // the other parts must be stopped all the same
      logger.error("stop failed part={}", part.what, e);
    }
  }

  @SuppressWarnings("resource") // they live as long as the process
  private void bindProcessMetrics() {
    metrics.config().commonTags("role", role);
    new JvmMemoryMetrics().bindTo(metrics);
    new JvmThreadMetrics().bindTo(metrics);
    new ProcessorMetrics().bindTo(metrics);
    new FileDescriptorMetrics().bindTo(metrics);
    new UptimeMetrics().bindTo(metrics);
    if (ManagementFactory.getThreadMXBean() instanceof ThreadMXBean threads) {
      var _ =
          FunctionCounter.builder(
                  "leasefs.heap.allocated.bytes",
                  threads,
                  ThreadMXBean::getTotalThreadAllocatedBytes)
              .description("heap allocated since the start")
              .register(metrics);
    }
  }

  private static void refuse(String role, LeaseFsException e) {
    System.err.println("leasefs: " + role + ": " + e.getMessage());
    if (e.hint() != null) {
      System.err.println("hint: " + e.hint());
    }
    System.exit(e.code().exitCode());
  }

  private static void printHelp(PrintStream out, String role, List<ConfigKey<?>> keys) {
    out.println("Usage: leasefs " + role + " [--config FILE] [--SETTING VALUE]...");
    out.println();
    out.println(
        "Settings, each as a flag, a variable LEASEFS_..., or a line 'name: value' of FILE:");
    for (ConfigKey<?> key : keys) {
      String fallback = key.defaultText().map(text -> " (default " + text + ")").orElse("");
      out.printf("  %-22s %s%s%n", key.flag(), key.meaning(), fallback);
    }
    out.println();
    out.println("Exit codes: 1 failed, 2 wrong setting, folder or port, 130 and 143 stopped");
  }
}
