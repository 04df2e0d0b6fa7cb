package io.leasefs.cluster.simulation;

import java.io.IOException;
import java.io.StringWriter;
import java.io.UncheckedIOException;
import java.net.MalformedURLException;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.LongFunction;
import java.util.stream.Stream;
import javax.tools.JavaCompiler;
import javax.tools.StandardJavaFileManager;
import javax.tools.StandardLocation;
import javax.tools.ToolProvider;

/**
 * One bug, as a change of production source by exact text: compiled apart, and put before the real
 * classes on a class path of its own. A text that has changed, or is there twice, is an error: so
 * no planted bug rots unseen.
 *
 * <p>Its file: lines {@code rule:} (section of the protocol), {@code bug:} (what is wrong), {@code
 * from:} (the first seed to try), then, once or more, {@code in:} (the class), {@code was:} and
 * {@code is:}, each of these two followed by lines of source.
 *
 * @param name of the file
 * @param rule the section of the protocol that is broken
 * @param bug what is wrong, in a sentence
 * @param from the first seed to try
 * @param changes to production classes
 */
record PlantedBug(String name, String rule, String bug, long from, List<Change> changes) {
  /** One change; {@code type} is a class's full name. */
  record Change(String type, String was, String is) {}

  /** Modules whose sources may be changed. */
  private static final List<String> MODULES =
      List.of("common", "client", "server", "master", "chunkserver", "cluster");

  /** All that there are, by name: the project's own, or those of {@code -Dplanted.folder}. */
  static List<PlantedBug> all() {
    String other = System.getProperty("planted.folder", "");
    Path folder = other.isEmpty() ? project().resolve("cluster/src/test/planted") : Path.of(other);
    try (Stream<Path> files = Files.list(folder)) {
      return files
          .filter(file -> file.toString().endsWith(".bug"))
          .sorted()
          .map(PlantedBug::read)
          .toList();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** The project's folder, above wherever the tests run. */
  private static Path project() {
    Path folder = Path.of("").toAbsolutePath();
    while (folder != null && !Files.exists(folder.resolve("cluster/src/test/planted"))) {
      folder = folder.getParent();
    }
    if (folder == null) {
      throw new IllegalStateException("the project's sources are not above " + Path.of(""));
    }
    return folder;
  }

  private static PlantedBug read(Path file) {
    Map<String, String> head = new LinkedHashMap<>();
    List<Change> changes = new ArrayList<>();
    String type = "";
    StringBuilder was = new StringBuilder();
    StringBuilder is = new StringBuilder();
    StringBuilder into = was;
    try {
      for (String line : Files.readAllLines(file)) {
        if (line.startsWith("in: ")) {
          add(changes, type, was, is);
          type = line.substring(4).trim();
        } else if (line.equals("was:")) {
          add(changes, type, was, is);
          into = was;
        } else if (line.equals("is:")) {
          into = is;
        } else if (type.isEmpty()) {
          int colon = line.indexOf(':');
          if (colon < 0) {
            throw new IllegalArgumentException(
                file + ": no 'rule:', 'bug:', 'from:' or 'in:': " + line);
          }
          head.put(line.substring(0, colon), line.substring(colon + 1).trim());
        } else {
          into.append(line).append('\n');
        }
      }
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
    add(changes, type, was, is);
    String name = file.getFileName().toString().replace(".bug", "");
    return new PlantedBug(
        name,
        head.getOrDefault("rule", ""),
        head.getOrDefault("bug", ""),
        Long.parseLong(head.getOrDefault("from", "1")),
        changes);
  }

  private static void add(List<Change> changes, String type, StringBuilder was, StringBuilder is) {
    if (!was.isEmpty()) {
      changes.add(new Change(type, was.toString(), is.toString()));
      was.setLength(0);
      is.setLength(0);
    }
  }

  /** What the simulator of a world with this bug says of a seed; empty where it finds nothing. */
  LongFunction<Optional<String>> plant(Path folder) {
    Path classes = folder.resolve(name);
    compile(changed(), classes);
    try {
      Class<?> simulation =
          Class.forName(Simulation.class.getName(), true, new Planted(classes, locations()));
      return seed -> {
        try {
          Object outcome = simulation.getMethod("run", long.class).invoke(null, seed);
          Optional<?> violation =
              (Optional<?>) outcome.getClass().getMethod("violation").invoke(outcome);
          return violation.map(Object::toString);
        } catch (ReflectiveOperationException e) {
          throw new IllegalStateException(name + ", seed " + seed, e);
        }
      };
    } catch (ClassNotFoundException e) {
      throw new IllegalStateException(e);
    }
  }

  /**
   * Looks for the texts that it replaces.
   *
   * @throws IllegalStateException one of them is not there once
   */
  void check() {
    changed();
  }

  /** The changed sources, by their path in their module. */
  private Map<Path, String> changed() {
    Map<Path, String> sources = new LinkedHashMap<>();
    for (Change change : changes) {
      Path relative = Path.of(change.type().replace('.', '/') + ".java");
      String source = sources.computeIfAbsent(relative, PlantedBug::source);
      int at = source.indexOf(change.was());
      if (at < 0 || source.indexOf(change.was(), at + 1) >= 0) {
        throw new IllegalStateException(
            String.format(
                "%s: the text, to the ends of its lines, is there %s in %s: bring the planted bug"
                    + " up to date:%n%s",
                name, at < 0 ? "no more" : "twice", relative, change.was()));
      }
      sources.put(
          relative,
          source.substring(0, at) + change.is() + source.substring(at + change.was().length()));
    }
    return sources;
  }

  private static String source(Path relative) {
    for (String module : MODULES) {
      Path file = project().resolve(module).resolve("src/main/java").resolve(relative);
      if (Files.exists(file)) {
        try {
          return Files.readString(file);
        } catch (IOException e) {
          throw new UncheckedIOException(e);
        }
      }
    }
    throw new IllegalStateException("no such class: " + relative);
  }

  private void compile(Map<Path, String> sources, Path classes) {
    JavaCompiler compiler = ToolProvider.getSystemJavaCompiler();
    StringWriter complaints = new StringWriter();
    try (StandardJavaFileManager files = compiler.getStandardFileManager(null, null, null)) {
      Files.createDirectories(classes);
      files.setLocationFromPaths(StandardLocation.CLASS_OUTPUT, List.of(classes));
      List<Path> written = new ArrayList<>();
      for (Map.Entry<Path, String> source : sources.entrySet()) {
        Path file = classes.resolve("source").resolve(source.getKey());
        Files.createDirectories(file.getParent());
        Files.writeString(file, source.getValue());
        written.add(file);
      }
      boolean good =
          compiler
              .getTask(
                  complaints,
                  files,
                  null,
                  List.of("-proc:none", "-nowarn", "-parameters"),
                  null,
                  files.getJavaFileObjectsFromPaths(written))
              .call();
      if (!good) {
        throw new IllegalStateException(name + " does not compile: " + complaints);
      }
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** Where the project's own classes lie. */
  private static List<URL> locations() {
    List<URL> locations = new ArrayList<>();
    for (Class<?> known :
        List.of(
            Simulation.class,
            io.leasefs.master.Master.class,
            io.leasefs.chunkserver.ChunkServer.class,
            io.leasefs.client.LeaseFs.class,
            io.leasefs.server.events.EventLog.class,
            io.leasefs.common.lease.LeaseTerms.class,
            io.leasefs.proto.v1.OperationProto.class)) {
      locations.add(known.getProtectionDomain().getCodeSource().getLocation());
    }
    return locations;
  }

  /** Defines all of the project's classes anew, the changed ones first; others are its parent's. */
  private static final class Planted extends URLClassLoader {
    Planted(Path classes, List<URL> locations) {
      super(urls(classes, locations), PlantedBug.class.getClassLoader());
    }

    private static URL[] urls(Path classes, List<URL> locations) {
      List<URL> urls = new ArrayList<>();
      try {
        urls.add(classes.toUri().toURL());
      } catch (MalformedURLException e) {
        throw new IllegalStateException(e);
      }
      urls.addAll(locations);
      return urls.toArray(new URL[0]);
    }

    @Override
    protected Class<?> loadClass(String name, boolean resolve) throws ClassNotFoundException {
      if (!name.startsWith("io.leasefs.")) {
        return super.loadClass(name, resolve);
      }
      synchronized (getClassLoadingLock(name)) {
        Class<?> loaded = findLoadedClass(name);
        return loaded == null ? findClass(name) : loaded;
      }
    }
  }
}
