package io.leasefs.cluster;

import static java.util.Objects.requireNonNull;
import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/**
 * The page of scenarios (src/test/scenarios.md) against the tests of all modules: each of the 64 is
 * asserted by a test that has its tag, or says what it waits for; and the tests that the page names
 * are those that have the tag.
 */
class ScenariosTest {
  private static final String PAGE = "cluster/src/test/scenarios.md";
  private static final Pattern SCENARIO = Pattern.compile("(?m)^\\*\\*(F\\d\\d)\\*\\*");
  private static final Pattern TAG = Pattern.compile("@Tag\\(\"(F\\d\\d)\"\\)");
  private static final Pattern NAMED = Pattern.compile("`(\\w+Test\\.\\w+)`");
  private static final Pattern METHOD = Pattern.compile("void (\\w+)\\(");
  private static final Pattern RUNS =
      Pattern.compile("@(?:Test|ParameterizedTest|RepeatedTest)\\b(?:(?!\\bvoid\\b)[\\s\\S])*$");

  /** What the page says of one. */
  private record Scenario(String name, String text) {
    boolean waits() {
      return text.contains("*Waits*:");
    }

    /** The tests that the page names for it. */
    List<String> named() {
      return NAMED.matcher(text).results().map(found -> found.group(1)).toList();
    }
  }

  /** The folder of all modules: the first one above that has the page. */
  private static Path project() {
    Path folder = Path.of("").toAbsolutePath();
    while (!Files.exists(folder.resolve(PAGE))) {
      folder = requireNonNull(folder.getParent(), "the page is not above " + Path.of(""));
    }
    return folder;
  }

  private static List<Scenario> scenarios() throws IOException {
    String page = Files.readString(project().resolve(PAGE));
    List<Scenario> all = new ArrayList<>();
    Matcher names = SCENARIO.matcher(page);
    List<Integer> starts = new ArrayList<>();
    while (names.find()) {
      starts.add(names.start());
    }
    starts.add(page.length());
    for (int i = 0; i + 1 < starts.size(); i++) {
      String text = page.substring(starts.get(i), starts.get(i + 1));
      all.add(new Scenario(text.substring(2, 5), text));
    }
    return all;
  }

  /** Tests by the tags they have, of all modules. */
  private static Map<String, Set<String>> tests() throws IOException {
    Map<String, Set<String>> tests = new TreeMap<>();
    try (Stream<Path> modules = Files.list(project())) {
      for (Path module : modules.toList()) {
        Path sources = module.resolve("src/test/java");
        if (Files.isDirectory(sources)) {
          try (Stream<Path> files = Files.walk(sources)) {
            for (Path file : files.filter(f -> f.toString().endsWith("Test.java")).toList()) {
              collect(file, tests);
            }
          }
        }
      }
    }
    return tests;
  }

  private static void collect(Path file, Map<String, Set<String>> tests) throws IOException {
    String source = Files.readString(file);
    Matcher tags = TAG.matcher(source);
    while (tags.find()) {
      Matcher method = METHOD.matcher(source);
      assertThat(method.find(tags.end())).as("%s: %s is on no test", file, tags.group()).isTrue();
      String before = source.substring(0, method.start());
      assertThat(RUNS.matcher(before).find())
          .as("%s: %s has a scenario's tag and is run", file, method.group(1))
          .isTrue();
      assertThat(source.substring(tags.end(), method.start())).doesNotContain("@Disabled");
      String name = file.getFileName().toString().replace(".java", "") + "." + method.group(1);
      tests.computeIfAbsent(tags.group(1), tag -> new TreeSet<>()).add(name);
    }
  }

  @Test
  void eachOfTheSixtyFourIsAssertedByATestOrSaysWhatItWaitsFor() throws IOException {
    List<Scenario> scenarios = scenarios();
    assertThat(scenarios)
        .extracting(Scenario::name)
        .containsExactlyElementsOf(
            Stream.iterate(1, n -> n + 1).limit(64).map(n -> "F%02d".formatted(n)).toList());
    Map<String, Set<String>> tests = tests();
    List<String> neither = new ArrayList<>();
    List<String> both = new ArrayList<>();
    for (Scenario scenario : scenarios) {
      boolean tested = tests.containsKey(scenario.name());
      if (!tested && !scenario.waits()) {
        neither.add(scenario.name());
      }
      if (tested && scenario.waits()) {
        both.add(scenario.name() + " " + tests.get(scenario.name()));
      }
    }
    assertThat(neither).as("neither tested nor waiting").isEmpty();
    assertThat(both).as("tested, and said to wait").isEmpty();
    assertThat(tests.keySet())
        .as("tags without a scenario")
        .isSubsetOf(scenarios.stream().map(Scenario::name).toList());
  }

  @Test
  void thePageNamesTheTestsThatHaveTheTagAndNoOthers() throws IOException {
    Map<String, Set<String>> tests = tests();
    for (Scenario scenario : scenarios()) {
      assertThat(scenario.named())
          .as("tests that the page names for %s", scenario.name())
          .containsExactlyInAnyOrderElementsOf(tests.getOrDefault(scenario.name(), Set.of()));
    }
  }
}
