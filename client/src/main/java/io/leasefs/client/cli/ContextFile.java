package io.leasefs.client.cli;

import io.leasefs.common.error.ErrorCode;
import io.leasefs.common.error.LeaseFsException;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import org.snakeyaml.engine.v2.api.Dump;
import org.snakeyaml.engine.v2.api.DumpSettings;
import org.snakeyaml.engine.v2.api.Load;
import org.snakeyaml.engine.v2.api.LoadSettings;
import org.snakeyaml.engine.v2.common.FlowStyle;
import org.snakeyaml.engine.v2.exceptions.YamlEngineException;

/**
 * The user's file of known clusters: {@code ~/.config/leasefs/config.yaml}, or LEASEFS_CONFIG.
 *
 * @param path where it is
 * @param current name of the context in use, if any
 * @param previous name of the one that was in use before, if any
 * @param contexts by name
 */
public record ContextFile(
    Path path, Optional<String> current, Optional<String> previous, Map<String, Context> contexts) {
  /**
   * One cluster.
   *
   * @param masters addresses
   * @param folder of a mini-cluster: its data; empty else
   * @param cluster id of the cluster, where known: another one at these addresses is refused
   */
  public record Context(List<String> masters, String folder, Optional<String> cluster) {}

  public ContextFile {
    contexts = Collections.unmodifiableMap(new TreeMap<>(contexts));
  }

  /** Where the file lies for this environment. */
  public static Path locate(Map<String, String> environment) {
    String given = environment.get("LEASEFS_CONFIG");
    if (given != null) {
      return Path.of(given);
    }
    String base = environment.get("XDG_CONFIG_HOME");
    Path folder =
        base != null && !base.isEmpty()
            ? Path.of(base)
            : Path.of(environment.getOrDefault("HOME", "."), ".config");
    return folder.resolve("leasefs").resolve("config.yaml");
  }

  /** Reads; a missing file is an empty one, an unreadable one is refused in one line. */
  public static ContextFile read(Path path) {
    try {
      Object root =
          new Load(LoadSettings.builder().setLabel(path.toString()).build())
              .loadFromString(Files.readString(path));
      return root == null ? empty(path) : parse(path, root);
    } catch (NoSuchFileException e) {
      return empty(path);
    } catch (IOException | YamlEngineException e) {
      throw malformed(path, String.valueOf(e.getMessage()).lines().findFirst().orElse(""));
    }
  }

  private static ContextFile empty(Path path) {
    return new ContextFile(path, Optional.empty(), Optional.empty(), Map.of());
  }

  private static ContextFile parse(Path path, Object root) {
    if (!(root instanceof Map<?, ?> map)) {
      throw malformed(path, "not a mapping");
    }
    Map<String, Context> contexts = new TreeMap<>();
    if (map.get("contexts") instanceof Map<?, ?> named) {
      for (Map.Entry<?, ?> entry : named.entrySet()) {
        if (!(entry.getValue() instanceof Map<?, ?> context)
            || !(context.get("masters") instanceof List<?> masters)) {
          throw malformed(path, "context " + entry.getKey() + " has no list of masters");
        }
        Object folder = context.get("folder");
        Object cluster = context.get("cluster");
        contexts.put(
            String.valueOf(entry.getKey()),
            new Context(
                masters.stream().map(String::valueOf).toList(),
                folder == null ? "" : folder.toString(),
                Optional.ofNullable(cluster).map(String::valueOf)));
      }
    }
    return new ContextFile(path, name(map, "current"), name(map, "previous"), contexts);
  }

  private static Optional<String> name(Map<?, ?> map, String key) {
    Object value = map.get(key);
    return value == null ? Optional.empty() : Optional.of(value.toString());
  }

  private static LeaseFsException malformed(Path path, String why) {
    return new LeaseFsException(
        ErrorCode.INVALID_ARGUMENT,
        path + ": cannot be read as configuration: " + why,
        "mend or remove the file");
  }

  /** The same with one context more, or another in its place. */
  public ContextFile with(String name, Context context, boolean use) {
    Map<String, Context> changed = new TreeMap<>(contexts);
    changed.put(name, context);
    ContextFile more = new ContextFile(path, current, previous, changed);
    return use ? more.using(name) : more;
  }

  /** The one to use: that was chosen, or else the only one there is. */
  public Optional<String> inUse() {
    return current
        .filter(contexts::containsKey)
        .or(
            () ->
                contexts.size() == 1
                    ? Optional.of(contexts.keySet().iterator().next())
                    : Optional.empty());
  }

  /** The same without it; if it was in use, then the one before it is again. */
  public ContextFile without(String name) {
    Map<String, Context> changed = new TreeMap<>(contexts);
    changed.remove(name);
    Optional<String> before = previous.filter(changed::containsKey);
    return current.filter(name::equals).isPresent()
        ? new ContextFile(path, before, Optional.empty(), changed)
        : new ContextFile(path, current, before, changed);
  }

  /** The same with another one in use. */
  public ContextFile using(String name) {
    if (!contexts.containsKey(name)) {
      throw new LeaseFsException(
          ErrorCode.NOT_FOUND,
          "no context named '" + name + "'",
          "see them with 'leasefs context ls'");
    }
    Optional<String> before = current.filter(name::equals).isPresent() ? previous : current;
    return new ContextFile(path, Optional.of(name), before, contexts);
  }

  /** Writes the file whole: beside it, then renamed. */
  public void write() throws IOException {
    Map<String, Object> root = new LinkedHashMap<>();
    current.ifPresent(c -> root.put("current", c));
    previous.ifPresent(c -> root.put("previous", c));
    Map<String, Object> named = new LinkedHashMap<>();
    contexts.forEach(
        (name, context) -> {
          Map<String, Object> one = new LinkedHashMap<>();
          one.put("masters", context.masters());
          if (!context.folder().isEmpty()) {
            one.put("folder", context.folder());
          }
          context.cluster().ifPresent(id -> one.put("cluster", id));
          named.put(name, one);
        });
    root.put("contexts", named);
    String text =
        new Dump(DumpSettings.builder().setDefaultFlowStyle(FlowStyle.BLOCK).build())
            .dumpToString(root);
    Path folder = path.toAbsolutePath().getParent();
    if (folder != null) {
      Files.createDirectories(folder);
    }
    Path fresh = path.resolveSibling(path.getFileName() + "." + ProcessHandle.current().pid());
    Files.writeString(fresh, text);
    Files.move(fresh, path, StandardCopyOption.ATOMIC_MOVE, StandardCopyOption.REPLACE_EXISTING);
  }
}
