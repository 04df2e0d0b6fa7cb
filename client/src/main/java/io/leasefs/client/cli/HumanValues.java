package io.leasefs.client.cli;

import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;

/** The values of a JSON form as people read them: with units, not in raw nanoseconds. Pure. */
final class HumanValues {
  private HumanValues() {}

  /** A line each. */
  static String lines(Map<String, ?> object) {
    int width = 0;
    for (String key : object.keySet()) {
      width = Math.max(width, key(key, object.get(key)).length());
    }
    StringBuilder text = new StringBuilder();
    for (Map.Entry<String, ?> entry : object.entrySet()) {
      String key = key(entry.getKey(), entry.getValue());
      text.append(key)
          .append(" ".repeat(width + 2 - key.length()))
          .append(value(entry.getKey(), entry.getValue()))
          .append(System.lineSeparator());
    }
    return text.toString().stripTrailing();
  }

  /** {@code key=value} with a blank between. */
  static String inline(Map<String, ?> object) {
    return object.entrySet().stream()
        .map(e -> key(e.getKey(), e.getValue()) + "=" + oneWord(e.getKey(), e.getValue()))
        .collect(Collectors.joining(" "));
  }

  /** A quantity without its blank, a text with blanks in quotes. */
  private static String oneWord(String key, Object value) {
    String text = value(key, value);
    if (isNumber(value) && isQuantity(key)) {
      return text.replaceFirst(" \\(.*\\)$", "").replace(" ", "");
    }
    return text.indexOf(' ') < 0 ? text : '"' + text + '"';
  }

  /** Without its unit, where the value is shown in one that suits it. */
  private static String key(String key, Object value) {
    return isNumber(value) && isQuantity(key) ? key.replaceFirst("(Nanos|Millis|Bytes)$", "") : key;
  }

  private static boolean isQuantity(String key) {
    return (key.endsWith("Nanos") && !key.startsWith("monotonic"))
        || key.endsWith("Millis")
        || key.endsWith("Bytes");
  }

  private static boolean isNumber(Object value) {
    return value instanceof Number || (value instanceof String text && text.matches("-?\\d{1,18}"));
  }

  private static String value(String key, Object value) {
    if (value instanceof Map<?, ?> map) {
      return map.entrySet().stream()
          .map(
              e -> {
                String inner = String.valueOf(e.getKey());
                return key(inner, e.getValue()) + "=" + oneWord(inner, e.getValue());
              })
          .collect(Collectors.joining(" "));
    }
    if (value instanceof List<?> list) {
      return list.stream().map(String::valueOf).collect(Collectors.joining(" "));
    }
    if (!isNumber(value) || !isQuantity(key)) {
      return String.valueOf(value);
    }
    long number = Long.parseLong(String.valueOf(value));
    if (key.endsWith("Bytes")) {
      return number < 1024
          ? Quantities.human(number)
          : Quantities.human(number) + " (" + number + " bytes)";
    }
    if (number < 0) {
      return "-";
    }
    return Quantities.duration(key.endsWith("Nanos") ? number : number * 1_000_000);
  }
}
