package io.leasefs.server.admin;

import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.Map;

/**
 * Whether a server can do its work now.
 *
 * @param serving answers 200 if true, 503 if not
 * @param state one word, such as {@code serving}, {@code starting} or {@code unregistered}
 * @param facts more to show, printed after them in this order
 */
public record Health(boolean serving, String state, Map<String, ?> facts) {
  public Health {
    facts = Collections.unmodifiableMap(new LinkedHashMap<>(facts));
  }

  String toJson() {
    Map<String, Object> line = new LinkedHashMap<>();
    line.put("serving", serving);
    line.put("state", state);
    line.putAll(facts);
    return JsonLine.print(line);
  }
}
