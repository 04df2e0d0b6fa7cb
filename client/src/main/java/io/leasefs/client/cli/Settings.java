package io.leasefs.client.cli;

import io.leasefs.client.LeaseFs;
import io.leasefs.client.LeaseFsConfig;
import io.leasefs.common.error.ErrorCode;
import io.leasefs.common.error.LeaseFsException;
import io.leasefs.common.model.ServerAddress;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.function.Consumer;
import java.util.function.Function;

/**
 * The settings of one run: flag, then variable, then context, then default; each with its source.
 */
public final class Settings {
  static final String MASTER = "master";
  static final String CONTEXT = "context";
  static final String TIMEOUT = "timeout";
  static final String DEADLINE = "deadline";
  static final String OUTPUT = "output";

  /** All, in the order that {@code config view} prints. */
  static final List<String> KEYS = List.of(MASTER, CONTEXT, TIMEOUT, DEADLINE, OUTPUT);

  private static final Map<String, String> DEFAULTS =
      Map.of(TIMEOUT, "30s", DEADLINE, "0", OUTPUT, "table", CONTEXT, "", MASTER, "");

  private final GlobalOptions options;
  private final Map<String, String> environment;

  Settings(GlobalOptions options, Map<String, String> environment) {
    this.options = options;
    this.environment = environment;
  }

  /** A value and where it came from. */
  record Sourced(String text, String source) {}

  Sourced value(String key) {
    String flag = flag(key);
    if (flag != null) {
      return new Sourced(flag, "flag");
    }
    String variable = "LEASEFS_" + key.toUpperCase(Locale.ROOT);
    String set = environment.get(variable);
    if (set != null && !set.isEmpty()) {
      return new Sourced(set, variable);
    }
    if (key.equals(CONTEXT)) {
      ContextFile file = contexts();
      if (file.inUse().isPresent()) {
        return new Sourced(file.inUse().get(), file.path().toString());
      }
    }
    if (key.equals(MASTER)) {
      Sourced name = value(CONTEXT);
      if (!name.text().isEmpty()) {
        return new Sourced(
            String.join(",", context(name.text()).masters()), "context " + name.text());
      }
    }
    return new Sourced(java.util.Objects.requireNonNull(DEFAULTS.get(key)), "default");
  }

  private ContextFile.Context context(String name) {
    ContextFile file = contexts();
    ContextFile.Context context = file.contexts().get(name);
    if (context == null) {
      throw new LeaseFsException(
          ErrorCode.INVALID_ARGUMENT,
          "no context named '" + name + "' in " + file.path(),
          "see them with 'leasefs context ls'; a mini-cluster takes its own away when it ends");
    }
    return context;
  }

  /** The cluster that must answer: known only where the masters are those of a context. */
  private Optional<String> cluster() {
    return byContext() ? context(value(CONTEXT).text()).cluster() : Optional.empty();
  }

  private boolean byContext() {
    return value(MASTER).source().startsWith("context ");
  }

  /** What to do when the masters do not answer that a context named; empty where none did. */
  Optional<String> contextHint() {
    if (!byContext()) {
      return Optional.empty();
    }
    String name = value(CONTEXT).text();
    ContextFile file = contexts();
    String folder = context(name).folder();
    return Optional.of(
        "context '"
            + name
            + "' ("
            + (folder.isEmpty() ? file.path() : folder)
            + ") is in use; "
            + (file.contexts().size() > 1 ? "'leasefs context use NAME' or " : "")
            + "'leasefs context rm "
            + name
            + "'");
  }

  private @org.jspecify.annotations.Nullable String flag(String key) {
    return switch (key) {
      case MASTER -> options.masters.isEmpty() ? null : String.join(",", options.masters);
      case CONTEXT -> options.context;
      case TIMEOUT -> options.timeout;
      case DEADLINE -> options.deadline;
      case OUTPUT -> options.output == null ? null : options.output.name();
      default -> throw new IllegalArgumentException(key);
    };
  }

  /** The file of contexts as it is now. */
  public ContextFile contexts() {
    return ContextFile.read(ContextFile.locate(environment));
  }

  /** The folder of the mini-cluster that the context in use names, if it does. */
  public Optional<String> miniFolder() {
    String name = value(CONTEXT).text();
    return Optional.ofNullable(contexts().contexts().get(name))
        .map(ContextFile.Context::folder)
        .filter(f -> !f.isEmpty());
  }

  long timeoutNanos() {
    return read(TIMEOUT, Quantities::parseDuration);
  }

  long deadlineNanos() {
    return read(DEADLINE, Quantities::parseDuration);
  }

  OutputFormat output() {
    return read(OUTPUT, Settings::format);
  }

  private static OutputFormat format(String text) {
    List<String> names = new ArrayList<>();
    for (OutputFormat format : OutputFormat.values()) {
      if (format.name().equalsIgnoreCase(text)) {
        return format;
      }
      names.add(format.name().toLowerCase(Locale.ROOT));
    }
    throw new LeaseFsException(
        ErrorCode.INVALID_ARGUMENT,
        "no such format: '" + text + "'",
        "one of: " + String.join(", ", names));
  }

  /** The value as it is meant; a wrong one is told with where it came from. */
  private <T> T read(String key, Function<String, T> reader) {
    Sourced value = value(key);
    try {
      return reader.apply(value.text());
    } catch (LeaseFsException e) {
      String source = value.source().equals("flag") ? "--" + key : value.source();
      throw e.saying(source + ": " + e.getMessage());
    }
  }

  /** Addresses of the masters. */
  public List<ServerAddress> masters() {
    String text = value(MASTER).text();
    if (text.isEmpty()) {
      ContextFile file = contexts();
      if (!file.contexts().isEmpty()) {
        throw new LeaseFsException(
            ErrorCode.INVALID_ARGUMENT,
            "no context is in use, and there are several: "
                + String.join(", ", file.contexts().keySet()),
            "choose one: 'leasefs context use " + file.contexts().keySet().iterator().next() + "'");
      }
      throw new LeaseFsException(
          ErrorCode.INVALID_ARGUMENT,
          "no master is known",
          "start a cluster with 'leasefs mini', or pass -m HOST:PORT, or set LEASEFS_MASTER");
    }
    return read(
        MASTER,
        all ->
            List.of(all.split(",")).stream().map(String::trim).map(ServerAddress::parse).toList());
  }

  LeaseFs connect(Consumer<String> note) {
    long timeout = timeoutNanos();
    List<ServerAddress> masters = masters();
    LeaseFsConfig config =
        LeaseFsConfig.of(masters)
            .withTimeout(timeout == 0 ? Duration.ofDays(365) : Duration.ofNanos(timeout))
            .withShortLived(true);
    return LeaseFs.connect(
        cluster().map(config::withClusterId).orElse(config),
        new MasterWait(masters, contextHint().orElse(null), note));
  }
}
