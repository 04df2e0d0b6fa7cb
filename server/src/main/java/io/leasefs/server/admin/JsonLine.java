package io.leasefs.server.admin;

import java.util.Map;
import org.jspecify.annotations.Nullable;

/** Prints one JSON value in one line. Keys keep their order. */
public final class JsonLine {
  private JsonLine() {}

  /**
   * Prints null, booleans, numbers, maps and iterables of such values; anything else as the string
   * of its toString.
   */
  public static String print(@Nullable Object value) {
    StringBuilder out = new StringBuilder();
    append(out, value);
    return out.toString();
  }

  private static void append(StringBuilder out, @Nullable Object value) {
    if (value == null || value instanceof Boolean) {
      out.append(value);
    } else if (value instanceof Double || value instanceof Float) {
      double number = ((Number) value).doubleValue();
      out.append(Double.isFinite(number) ? value.toString() : "null");
    } else if (value instanceof Number) {
      out.append(value);
    } else if (value instanceof Map<?, ?> map) {
      String separator = "{";
      for (Map.Entry<?, ?> entry : map.entrySet()) {
        out.append(separator);
        quote(out, String.valueOf(entry.getKey()));
        out.append(':');
        append(out, entry.getValue());
        separator = ",";
      }
      out.append(map.isEmpty() ? "{}" : "}");
    } else if (value instanceof Iterable<?> list) {
      String separator = "";
      out.append('[');
      for (Object element : list) {
        out.append(separator);
        append(out, element);
        separator = ",";
      }
      out.append(']');
    } else {
      quote(out, value.toString());
    }
  }

  private static void quote(StringBuilder out, String text) {
    out.append('"');
    for (int i = 0; i < text.length(); i++) {
      char c = text.charAt(i);
      switch (c) {
        case '"' -> out.append("\\\"");
        case '\\' -> out.append("\\\\");
        case '\n' -> out.append("\\n");
        case '\r' -> out.append("\\r");
        case '\t' -> out.append("\\t");
        default -> {
          if (c < ' ' || (Character.isSurrogate(c) && !paired(text, i))) {
            out.append(String.format("\\u%04x", (int) c));
          } else {
            out.append(c);
          }
        }
      }
    }
    out.append('"');
  }

  private static boolean paired(String text, int i) {
    char c = text.charAt(i);
    return Character.isHighSurrogate(c)
        ? i + 1 < text.length() && Character.isLowSurrogate(text.charAt(i + 1))
        : i > 0 && Character.isHighSurrogate(text.charAt(i - 1));
  }
}
