package io.leasefs.common.config;

import static com.google.common.base.Preconditions.checkArgument;

import io.leasefs.common.model.ServerAddress;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.function.Function;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * One setting that a process knows: its name in the file ({@code lease.ttl}), from which its flag
 * ({@code --lease-ttl}) and its variable ({@code LEASEFS_LEASE_TTL}) follow, how its text is read,
 * and what holds when nobody sets it. Immutable.
 *
 * @param <T> type of the value
 */
public final class ConfigKey<T> {
  private static final Pattern NAME = Pattern.compile("[a-z][a-z0-9]*(?:[.-][a-z0-9]+)*");

  /** Who must set it. */
  enum Presence {
    DEFAULTED,
    REQUIRED,
    OPTIONAL
  }

  private final String name;
  private final String meaning;
  private final Function<String, T> parser;
  private final Presence presence;
  private final @Nullable String defaultText;
  private final boolean isSwitch;

  private ConfigKey(
      String name,
      String meaning,
      Function<String, T> parser,
      Presence presence,
      @Nullable String defaultText,
      boolean isSwitch) {
    checkArgument(NAME.matcher(name).matches(), "not a name for a setting: %s", name);
    this.name = name;
    this.meaning = meaning;
    this.parser = parser;
    this.presence = presence;
    this.defaultText = defaultText;
    this.isSwitch = isSwitch;
  }

  /**
   * A required setting with a reader of its own.
   *
   * @param parser throws IllegalArgumentException or LeaseFsException, whose message says what was
   *     expected
   */
  public static <T> ConfigKey<T> of(String name, String meaning, Function<String, T> parser) {
    return new ConfigKey<>(name, meaning, parser, Presence.REQUIRED, null, false);
  }

  /** A required text, not empty. */
  public static ConfigKey<String> text(String name, String meaning) {
    return of(name, meaning, ConfigKey::nonEmpty);
  }

  /** A required whole number within bounds, both included. */
  public static ConfigKey<Long> number(String name, String meaning, long min, long max) {
    return of(name, meaning, text -> wholeNumber(text, min, max));
  }

  /** A switch, off unless set: {@code --name} alone, or true/false. */
  public static ConfigKey<Boolean> onOff(String name, String meaning) {
    return new ConfigKey<>(
        name, meaning, ConfigKey::trueOrFalse, Presence.DEFAULTED, "false", true);
  }

  /** A required {@link DataSize}. */
  public static ConfigKey<DataSize> size(String name, String meaning) {
    return of(name, meaning, DataSize::parse);
  }

  /** A required duration, as {@link DurationText} reads it. */
  public static ConfigKey<Duration> duration(String name, String meaning) {
    return of(name, meaning, DurationText::parse);
  }

  /** A required {@link ServerAddress}. */
  public static ConfigKey<ServerAddress> address(String name, String meaning) {
    return of(name, meaning, ServerAddress::parse);
  }

  /** One or more required {@link ServerAddress}, separated by commas. */
  public static ConfigKey<List<ServerAddress>> addresses(String name, String meaning) {
    return of(name, meaning, ConfigKey::addressList);
  }

  /** A required path of a file or folder. */
  public static ConfigKey<Path> path(String name, String meaning) {
    return of(name, meaning, text -> Path.of(nonEmpty(text)));
  }

  /**
   * The same setting with a default.
   *
   * @throws IllegalArgumentException if the default itself cannot be read
   */
  public ConfigKey<T> withDefault(String text) {
    T unused = parser.apply(text);
    return new ConfigKey<>(name, meaning, parser, Presence.DEFAULTED, text, isSwitch);
  }

  /** The same setting, which may stay unset. */
  public ConfigKey<T> optional() {
    return new ConfigKey<>(name, meaning, parser, Presence.OPTIONAL, null, isSwitch);
  }

  /** Name in a file, such as {@code lease.ttl}. */
  public String name() {
    return name;
  }

  /** One line for a help page. */
  public String meaning() {
    return meaning;
  }

  /** Flag on the command line, such as {@code --lease-ttl}. */
  public String flag() {
    return "--" + name.replace('.', '-');
  }

  /** Environment variable, such as {@code LEASEFS_LEASE_TTL}. */
  public String variable() {
    return "LEASEFS_" + name.replace('.', '_').replace('-', '_').toUpperCase(Locale.ROOT);
  }

  /** What holds when nobody sets it. */
  public Optional<String> defaultText() {
    return Optional.ofNullable(defaultText);
  }

  Presence presence() {
    return presence;
  }

  /** Whether the flag may stand alone, without a value. */
  boolean isSwitch() {
    return isSwitch;
  }

  /** Throws IllegalArgumentException or LeaseFsException with what was expected instead. */
  T parse(String text) {
    return parser.apply(text);
  }

  @Override
  public String toString() {
    return name;
  }

  private static List<ServerAddress> addressList(String text) {
    List<ServerAddress> list = new ArrayList<>();
    for (String part : text.split(",", -1)) {
      list.add(ServerAddress.parse(part));
    }
    return List.copyOf(list);
  }

  private static String nonEmpty(String text) {
    checkArgument(!text.isBlank(), "it is empty");
    checkArgument(text.chars().noneMatch(c -> c < ' '), "it contains a control character");
    return text;
  }

  private static Boolean trueOrFalse(String text) {
    checkArgument(
        text.equals("true") || text.equals("false"), "'%s' is neither true nor false", text);
    return text.equals("true");
  }

  private static Long wholeNumber(String text, long min, long max) {
    try {
      long number = Long.parseLong(text.strip());
      if (number >= min && number <= max) {
        return number;
      }
    } catch (NumberFormatException e) {
      // the same answer as for a number out of bounds
    }
    throw new IllegalArgumentException(
        "'" + text + "' is not a whole number from " + min + " to " + max);
  }
}
