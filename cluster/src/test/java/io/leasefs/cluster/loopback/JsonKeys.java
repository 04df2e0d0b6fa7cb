package io.leasefs.cluster.loopback;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import com.google.common.base.Splitter;
import com.google.gson.JsonElement;
import java.io.IOException;
import java.io.InputStream;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;

/**
 * Which keys the JSON of each verb has, nested ones as {@code outer.inner}; values do not count.
 */
final class JsonKeys {
  /** Below these the keys are data. */
  private static final Set<String> OPEN = Set.of("fields");

  private final Map<String, Set<String>> byVerb = new LinkedHashMap<>();

  /** Takes in a verb's answer, which must have so many JSON values; any number where negative. */
  void of(String verb, CommandLineRun run, int values) {
    List<JsonElement> answers = run.mustBe(0).json();
    if (values >= 0) {
      assertThat(answers).as(verb).hasSize(values);
    }
    Set<String> keys = new TreeSet<>();
    answers.forEach(answer -> collect(answer, "", keys));
    assertThat(keys).as(verb).isNotEmpty();
    byVerb.put(verb, keys);
  }

  private static void collect(JsonElement element, String prefix, Set<String> keys) {
    if (element.isJsonArray()) {
      element.getAsJsonArray().forEach(inner -> collect(inner, prefix, keys));
    } else if (element.isJsonObject()) {
      element
          .getAsJsonObject()
          .asMap()
          .forEach(
              (key, value) -> {
                keys.add(prefix + key);
                if (!OPEN.contains(key) && !key.equals("children")) {
                  collect(value, prefix + key + ".", keys);
                }
              });
    }
  }

  /** Compares with the lines {@code verb: key key? ...} of a file beside this class. */
  void mustBeThoseOf(String resource) throws IOException {
    Map<String, Set<String>> needed = new LinkedHashMap<>();
    Map<String, Set<String>> allowed = new LinkedHashMap<>();
    try (InputStream in = JsonKeys.class.getResourceAsStream(resource)) {
      assertThat(in).as(resource).isNotNull();
      for (String line : new String(in.readAllBytes(), UTF_8).lines().toList()) {
        int colon = line.indexOf(": ");
        Set<String> must = new TreeSet<>();
        Set<String> may = new TreeSet<>();
        for (String key : Splitter.on(' ').split(line.substring(colon + 2))) {
          boolean sometimes = key.endsWith("?");
          String name = sometimes ? key.substring(0, key.length() - 1) : key;
          may.add(name);
          if (!sometimes) {
            must.add(name);
          }
        }
        needed.put(line.substring(0, colon), must);
        allowed.put(line.substring(0, colon), may);
      }
    }
    List<String> differences = new ArrayList<>();
    byVerb.forEach(
        (verb, keys) -> {
          Set<String> must = needed.getOrDefault(verb, Set.of());
          Set<String> may = allowed.getOrDefault(verb, Set.of());
          if (!keys.containsAll(must) || !may.containsAll(keys)) {
            differences.add(verb + ": " + String.join(" ", keys));
          }
        });
    assertThat(differences).as("answers that differ from %s", resource).isEmpty();
    assertThat(needed.keySet()).isEqualTo(byVerb.keySet());
  }
}
