package io.leasefs.cluster.simulation;

import static org.assertj.core.api.Assertions.assertThat;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.Logger;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.function.LongFunction;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.slf4j.LoggerFactory;

/**
 * How strong the simulator is: bugs planted in production classes, one at a time, each of which it
 * must find. Minutes of work: not part of every build, {@code mvn -Pplanted -pl cluster -am test}
 * runs it.
 */
@Tag("planted")
class PlantedBugsTest {
  private static final int MOST_SEEDS = 2_000;
  private static final int AT_LEAST = 30;

  /** What became of one. */
  private record Found(PlantedBug bug, long seed, Optional<String> violation, long millis) {
    @Override
    public String toString() {
      String what = violation.map(text -> text.split(":", 2)[0]).orElse("MISSED");
      return String.format(
          Locale.ROOT,
          "%-44s %-6s %5d %-7s %6.1fs  %s",
          bug.name(),
          bug.rule(),
          seed,
          what,
          millis / 1e3,
          bug.bug());
    }
  }

  @TempDir Path folder;

  @Test
  void everyPlantedBugIsFound() throws Exception {
    ((Logger) LoggerFactory.getLogger("io.leasefs")).setLevel(Level.OFF);
    List<PlantedBug> bugs =
        PlantedBug.all().stream()
            .filter(bug -> bug.name().matches(System.getProperty("planted.name", ".*")))
            .toList();
    bugs.forEach(PlantedBug::check); // else the last one might end hours of search
    List<Future<Found>> searches = new ArrayList<>();
    List<Found> all = new ArrayList<>();
    List<Found> missed = new ArrayList<>();
    try (ExecutorService workers =
        Executors.newFixedThreadPool(Integer.getInteger("planted.jobs", 2))) {
      for (PlantedBug bug : bugs) {
        searches.add(workers.submit(() -> search(bug)));
      }
      for (Future<Found> search : searches) {
        Found found = search.get();
        all.add(found);
        if (found.violation().isEmpty()) {
          missed.add(found);
        }
      }
    } finally {
      ((Logger) LoggerFactory.getLogger("io.leasefs")).setLevel(null);
    }
    System.out.println("planted bug, section, seed that shows it, invariant");
    all.forEach(System.out::println);
    assertThat(missed).isEmpty();
    if (System.getProperty("planted.name") == null
        && System.getProperty("planted.folder") == null) {
      assertThat(bugs).hasSizeGreaterThanOrEqualTo(AT_LEAST);
    }
  }

  private Found search(PlantedBug bug) {
    long begun = System.nanoTime();
    LongFunction<Optional<String>> world = bug.plant(folder);
    int most = Integer.getInteger("planted.seeds", MOST_SEEDS);
    Optional<String> violation = Optional.empty();
    long seed = bug.from() - 1;
    while (violation.isEmpty() && seed < most) {
      seed++;
      violation = world.apply(seed);
    }
    Found found = new Found(bug, seed, violation, (System.nanoTime() - begun) / 1_000_000);
    System.out.println(found);
    return found;
  }
}
