package io.leasefs.common.config;

import static com.google.common.base.Preconditions.checkArgument;

import io.leasefs.common.error.ErrorCode;
import io.leasefs.common.error.LeaseFsException;
import java.io.IOException;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;

/**
 * Finds the settings of a process: flags over {@code LEASEFS_*} variables over a file over
 * defaults.
 *
 * <p>The file is a flat subset of YAML, read line by line so that each complaint can name its line:
 *
 * <pre>
 * file    = { line }
 * line    = blank | "#" comment | name ":" " " value [ " #" comment ]
 * name    = word { ("." | "-") word }
 * value   = plain text | '"' text without '"' or '\' '"' | "'" text without "'" "'"
 * </pre>
 *
 * A flag, or a name in the file, that no key has is refused. A variable that no key has is not: one
 * environment serves several programs.
 */
public final class ConfigReader {
  /** Names the file itself; not a setting, so it cannot stand in a file. */
  public static final String FILE_FLAG = "--config";

  private static final String FILE_VARIABLE = "LEASEFS_CONFIG";

  private record Found(String text, String source) {}

  private final Map<String, ConfigKey<?>> byName = new LinkedHashMap<>();
  private final Map<String, ConfigKey<?>> byFlag = new LinkedHashMap<>();

  /**
   * @throws IllegalArgumentException if two keys share a name, a flag or a variable
   */
  public ConfigReader(List<ConfigKey<?>> keys) {
    Set<String> variables = new HashSet<>();
    for (ConfigKey<?> key : keys) {
      checkArgument(byName.put(key.name(), key) == null, "two keys are named %s", key.name());
      checkArgument(byFlag.put(key.flag(), key) == null, "two keys have flag %s", key.flag());
      checkArgument(variables.add(key.variable()), "two keys have variable %s", key.variable());
    }
    checkArgument(!byFlag.containsKey(FILE_FLAG), "%s names the file", FILE_FLAG);
  }

  /**
   * Reads everything and checks everything.
   *
   * @param arguments {@code --flag value}, {@code --flag=value}, or {@code --flag} of a switch;
   *     {@code --config FILE} names the file, else the variable LEASEFS_CONFIG, else there is none
   * @param environment all variables of the process
   * @throws LeaseFsException (INVALID_ARGUMENT) with one line on what is wrong, where, and one on
   *     what to do
   */
  public Config read(List<String> arguments, Map<String, String> environment) {
    Map<String, Found> flags = readFlags(arguments);
    Found fileFlag = flags.remove(FILE_FLAG);
    String file = fileFlag != null ? fileFlag.text : environment.get(FILE_VARIABLE);
    Map<String, Found> fromFile = file == null ? Map.of() : readFile(Path.of(file));

    Config.Collector collector = new Config.Collector();
    for (ConfigKey<?> key : byName.values()) {
      Found found = flags.get(key.name());
      if (found == null && environment.containsKey(key.variable())) {
        found = new Found(environment.getOrDefault(key.variable(), ""), key.variable());
      }
      if (found == null) {
        found = fromFile.get(key.name());
      }
      if (found == null) {
        found = key.defaultText().map(text -> new Found(text, "default")).orElse(null);
      }
      if (found != null) {
        collector.set(key, found.text, found.source, parse(key, found));
      } else if (key.presence() == ConfigKey.Presence.OPTIONAL) {
        collector.set(key, "", "unset", null);
      } else {
        throw refused(
            key.flag() + " is missing (" + key.meaning() + ")",
            "pass "
                + key.flag()
                + ", set "
                + key.variable()
                + ", or put '"
                + key.name()
                + ": ...' into a file given by "
                + FILE_FLAG);
      }
    }
    return collector.collect();
  }

  private static Object parse(ConfigKey<?> key, Found found) {
    try {
      return key.parse(found.text);
    } catch (IllegalArgumentException | LeaseFsException e) {
      throw refused(
          found.source + ": " + key.name() + ": " + e.getMessage(),
          key.name() + " is: " + key.meaning());
    }
  }

  private Map<String, Found> readFlags(List<String> arguments) {
    Map<String, Found> flags = new LinkedHashMap<>();
    for (int i = 0; i < arguments.size(); i++) {
      String argument = arguments.get(i);
      int equals = argument.indexOf('=');
      String flag = equals < 0 ? argument : argument.substring(0, equals);
      ConfigKey<?> key = byFlag.get(flag);
      if (key == null && !flag.equals(FILE_FLAG)) {
        throw refused("unknown argument '" + argument + "'", hintFor(flag, byFlag.keySet()));
      }
      String text;
      if (equals >= 0) {
        text = argument.substring(equals + 1);
      } else if (key != null && key.isSwitch()) {
        text = "true";
      } else {
        i++;
        if (i == arguments.size()) {
          throw refused(flag + " needs a value", "write " + flag + " VALUE");
        }
        text = arguments.get(i);
      }
      String name = key == null ? FILE_FLAG : key.name();
      if (flags.put(name, new Found(text, flag)) != null) {
        throw refused(flag + " is given twice", "leave one of them out");
      }
    }
    return flags;
  }

  private Map<String, Found> readFile(Path file) {
    String content;
    try {
      content = Files.readString(file, StandardCharsets.UTF_8);
    } catch (CharacterCodingException e) {
      throw refused(file + ": is not UTF-8 text", "save it as UTF-8");
    } catch (IOException e) {
      throw refused(
          file + ": cannot be read: " + e.getClass().getSimpleName(),
          "check the path and its permissions, or leave out " + FILE_FLAG);
    }
    Map<String, Found> found = new LinkedHashMap<>();
    int number = 0;
    for (String line : content.split("\\r?\\n", -1)) {
      number++;
      String where = file + ":" + number;
      String plain = line.strip();
      if (plain.isEmpty() || plain.startsWith("#")) {
        continue;
      }
      int colon = line.indexOf(':');
      boolean indented = Character.isWhitespace(line.charAt(0));
      boolean spaced =
          colon > 0
              && (colon + 1 == line.length() || Character.isWhitespace(line.charAt(colon + 1)));
      if (indented || !spaced) {
        throw refused(
            where + ": is not 'name: value'",
            "write one setting a line, not indented, such as 'lease.ttl: 10s'");
      }
      String name = line.substring(0, colon).strip();
      if (!byName.containsKey(name)) {
        throw refused(where + ": unknown setting '" + name + "'", hintFor(name, byName.keySet()));
      }
      String text = unquote(line.substring(colon + 1).strip(), where);
      Found earlier = found.put(name, new Found(text, where));
      if (earlier != null) {
        throw refused(
            where + ": '" + name + "' is set already at " + earlier.source,
            "leave one of them out");
      }
    }
    return found;
  }

  /** Takes off quotes, or a comment behind a value without quotes. */
  private static String unquote(String value, String where) {
    if (value.startsWith("\"") || value.startsWith("'")) {
      int end = value.indexOf(value.charAt(0), 1);
      String rest = end < 0 ? "" : value.substring(end + 1).strip();
      boolean escaped = value.charAt(0) == '"' && value.contains("\\");
      if (end < 0 || escaped || !(rest.isEmpty() || rest.startsWith("#"))) {
        throw refused(
            where + ": the quotes do not pair up, or hold a backslash",
            "write \"text\" or 'text' without the same quote or a backslash inside");
      }
      return value.substring(1, end);
    }
    int comment = value.startsWith("#") ? 0 : value.indexOf(" #");
    return comment < 0 ? value : value.substring(0, comment).strip();
  }

  private static LeaseFsException refused(String message, String hint) {
    return new LeaseFsException(ErrorCode.INVALID_ARGUMENT, message, hint);
  }

  /** The nearest known word, or all of them where none is near. */
  private static String hintFor(String word, Set<String> known) {
    Optional<String> nearest = Optional.empty();
    int best = 4;
    for (String candidate : known) {
      int distance = distance(word, candidate);
      if (distance < best) {
        best = distance;
        nearest = Optional.of(candidate);
      }
    }
    return nearest
        .map(candidate -> "did you mean " + candidate + "?")
        .orElseGet(() -> "known here: " + String.join(" ", new ArrayList<>(known)));
  }

  /** Levenshtein's distance. */
  private static int distance(String a, String b) {
    int[] row = new int[b.length() + 1];
    for (int j = 0; j <= b.length(); j++) {
      row[j] = j;
    }
    for (int i = 1; i <= a.length(); i++) {
      int diagonal = row[0];
      row[0] = i;
      for (int j = 1; j <= b.length(); j++) {
        int replace = diagonal + (a.charAt(i - 1) == b.charAt(j - 1) ? 0 : 1);
        diagonal = row[j];
        row[j] = Math.min(replace, 1 + Math.min(row[j], row[j - 1]));
      }
    }
    return row[b.length()];
  }
}
