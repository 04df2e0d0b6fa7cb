package io.leasefs.client.cli;

import com.google.gson.Gson;
import com.google.gson.GsonBuilder;
import java.util.LinkedHashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** JSON as the command line prints it: camelCase keys in the order they were put. */
public final class Json {
  private static final Gson COMPACT = new GsonBuilder().disableHtmlEscaping().create();
  private static final Gson PRETTY =
      new GsonBuilder().disableHtmlEscaping().setPrettyPrinting().create();

  private Json() {}

  /** An object of the given key, value, key, value ...; null values are left out. */
  public static Map<String, Object> object(@Nullable Object... keysAndValues) {
    Map<String, Object> object = new LinkedHashMap<>();
    for (int i = 0; i < keysAndValues.length; i += 2) {
      Object value = keysAndValues[i + 1];
      if (value != null) {
        object.put(String.valueOf(keysAndValues[i]), value);
      }
    }
    return object;
  }

  /** One line. */
  public static String line(Object value) {
    return COMPACT.toJson(value);
  }

  /** Many lines, for one answer. */
  public static String pretty(Object value) {
    return PRETTY.toJson(value);
  }
}
