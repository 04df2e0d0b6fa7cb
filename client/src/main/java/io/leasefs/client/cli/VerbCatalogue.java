package io.leasefs.client.cli;

import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine;
import picocli.CommandLine.Help;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Model.UsageMessageSpec;

/** All verbs by name and group, each with the class that is loaded when it is used. */
public final class VerbCatalogue {
  /** The groups of the help page, in its order. */
  public enum Group {
    FILES("FILES"),
    LEASES("LEASES & LOCKS"),
    CLUSTER("CLUSTER"),
    SERVICES("SERVICES"),
    TOOLS("TOOLS");

    private final String title;

    Group(String title) {
      this.title = title;
    }
  }

  private record Entry(Group group, String className) {}

  private final Map<String, Entry> entries = new LinkedHashMap<>();

  /** The verbs of this module. */
  public static VerbCatalogue ofClient() {
    VerbCatalogue catalogue = new VerbCatalogue();
    catalogue.ours(
        Group.FILES,
        List.of(
            "ls",
            "tree",
            "stat",
            "cat",
            "head",
            "tail",
            "put",
            "get",
            "append",
            "record",
            "cp",
            "mv",
            "rm",
            "restore",
            "mkdir",
            "rmdir",
            "touch",
            "setrep",
            "du",
            "df",
            "checksum",
            "test"));
    catalogue.ours(Group.LEASES, List.of("lease", "why"));
    catalogue.ours(
        Group.CLUSTER,
        List.of(
            "status", "events", "node", "chunk", "fsck", "quarantine", "masters", "trash", "wait"));
    catalogue.ours(Group.TOOLS, List.of("context", "config", "fault", "completion", "version"));
    return catalogue;
  }

  private void ours(Group group, List<String> verbs) {
    for (String verb : verbs) {
      String name = Character.toUpperCase(verb.charAt(0)) + verb.substring(1);
      add(group, verb, "io.leasefs.client.cli." + name + "Verb");
    }
  }

  /** Adds a verb of another module; its class has a constructor without arguments. */
  public VerbCatalogue add(Group group, String verb, String className) {
    entries.put(verb, new Entry(group, className));
    return this;
  }

  boolean knows(String verb) {
    return entries.containsKey(verb);
  }

  Set<String> names() {
    return entries.keySet();
  }

  /** The command tree: whole, or with one verb only. */
  CommandLine tree(RootCommand root, @Nullable String only) {
    CommandLine tree = new CommandLine(root);
    for (Map.Entry<String, Entry> entry : entries.entrySet()) {
      if (only == null || only.equals(entry.getKey())) {
        CommandLine verb = new CommandLine(load(entry.getValue().className()));
        dress(verb.getCommandSpec(), entry.getKey());
        tree.addSubcommand(entry.getKey(), verb);
      }
    }
    if (only == null) {
      CommandLine help = new CommandLine(new HelpVerb());
      dress(help.getCommandSpec(), "help");
      tree.addSubcommand("help", help);
      sections(tree);
    }
    HelpOption.addTo(tree.getCommandSpec());
    exitCodes(tree.getCommandSpec().usageMessage());
    return tree;
  }

  /** What all pages of help share. */
  private static void dress(CommandSpec spec, String name) {
    spec.name(name);
    HelpOption.addTo(spec);
    UsageMessageSpec usage = spec.usageMessage();
    usage.sortOptions(false);
    exitCodes(usage);
    HelpPage.dress(spec);
    for (Map.Entry<String, CommandLine> sub : spec.subcommands().entrySet()) {
      dress(sub.getValue().getCommandSpec(), sub.getKey());
    }
  }

  private static void exitCodes(UsageMessageSpec usage) {
    usage.exitCodeListHeading("%nExit codes:%n");
    Map<String, String> codes = new LinkedHashMap<>();
    for (String line : ExitCode.LIST) {
      codes.put(line.substring(0, line.indexOf(':')), line.substring(line.indexOf(':') + 1));
    }
    usage.exitCodeList(codes);
  }

  private static Object load(String className) {
    try {
      return Class.forName(className).getDeclaredConstructor().newInstance();
    } catch (ReflectiveOperationException e) {
      throw new IllegalStateException("the verb's class cannot be made: " + className, e);
    }
  }

  private void sections(CommandLine tree) {
    tree.getHelpSectionMap()
        .put(
            UsageMessageSpec.SECTION_KEY_COMMAND_LIST,
            help -> {
              StringBuilder text = new StringBuilder();
              for (Group group : Group.values()) {
                appendGroup(text, help, group);
              }
              return text.append('\n').toString();
            });
  }

  private void appendGroup(StringBuilder text, Help help, Group group) {
    StringBuilder rows = new StringBuilder();
    for (Map.Entry<String, Entry> entry : entries.entrySet()) {
      if (entry.getValue().group() == group) {
        Help sub = help.subcommands().get(entry.getKey());
        if (sub != null) {
          String[] description = sub.commandSpec().usageMessage().description();
          rows.append(
              String.format(
                  "  %-12s %s%n", entry.getKey(), description.length == 0 ? "" : description[0]));
        }
      }
    }
    if (rows.length() > 0) {
      text.append('\n').append(group.title).append('\n').append(rows);
    }
  }
}
