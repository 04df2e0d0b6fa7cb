package io.leasefs.common.config;

import static com.google.common.base.Preconditions.checkArgument;

import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/** The settings of a process, all of them readable, each with its source. Immutable. */
public final class Config {
  /**
   * A setting as it was found.
   *
   * @param name as in a file
   * @param text as it was written; empty where an optional setting is not set
   * @param source such as {@code --lease-ttl}, {@code LEASEFS_LEASE_TTL}, {@code
   *     /etc/leasefs.conf:7}, {@code default} or {@code unset}
   */
  public record Setting(String name, String text, String source) {}

  private record Value(Setting setting, @Nullable Object parsed) {}

  private final Map<String, Value> values;

  private Config(Map<String, Value> values) {
    this.values = values;
  }

  /** Collects settings in the order in which they are to be shown. */
  static final class Collector {
    private final Map<String, Value> values = new LinkedHashMap<>();

    void set(ConfigKey<?> key, String text, String source, @Nullable Object parsed) {
      values.put(key.name(), new Value(new Setting(key.name(), text, source), parsed));
    }

    Config collect() {
      return new Config(new LinkedHashMap<>(values));
    }
  }

  /**
   * The value of a setting that is required or has a default.
   *
   * @throws IllegalArgumentException for a key that was not read here, or an optional one that is
   *     not set
   */
  public <T> T get(ConfigKey<T> key) {
    return find(key)
        .orElseThrow(
            () -> new IllegalArgumentException("optional setting is not set: " + key.name()));
  }

  /**
   * The value of a setting, if it is set or has a default.
   *
   * @throws IllegalArgumentException for a key that was not read here
   */
  public <T> Optional<T> find(ConfigKey<T> key) {
    @SuppressWarnings("unchecked") // only the key's own parser made it
    T parsed = (T) value(key).parsed;
    return Optional.ofNullable(parsed);
  }

  /** A setting with its source. */
  public Setting setting(ConfigKey<?> key) {
    return value(key).setting;
  }

  /** All settings in the order of their keys. */
  public List<Setting> settings() {
    return values.values().stream().map(Value::setting).toList();
  }

  private Value value(ConfigKey<?> key) {
    Value value = values.get(key.name());
    checkArgument(value != null, "setting was not read here: %s", key.name());
    return value;
  }
}
