package io.leasefs.client.cli;

import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import picocli.CommandLine.Help;
import picocli.CommandLine.Model.ArgGroupSpec;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Model.OptionSpec;
import picocli.CommandLine.Model.PositionalParamSpec;
import picocli.CommandLine.Model.UsageMessageSpec;

/** The page of help of a verb: its own options; a line for those that all verbs share. */
final class HelpPage {
  private static final int WIDTH = 80;
  private static final String INDENT = "        ";
  private static final String EXAMPLES = "Examples:";

  private HelpPage() {}

  /** Has the verb's page look so. */
  static void dress(CommandSpec spec) {
    UsageMessageSpec usage = spec.usageMessage();
    usage.footer(reflow(usage.footer()).toArray(String[]::new));
    usage
        .sectionMap()
        .put(UsageMessageSpec.SECTION_KEY_SYNOPSIS, help -> synopsis(help.commandSpec()));
    usage
        .sectionMap()
        .put(UsageMessageSpec.SECTION_KEY_OPTION_LIST, help -> ownOptions(help) + shared());
    usage
        .sectionMap()
        .put(
            UsageMessageSpec.SECTION_KEY_PARAMETER_LIST,
            help -> help.parameterList(layout(help), help.parameterLabelRenderer()));
    usage.commandListHeading("%nCommands:%n");
  }

  private static String shared() {
    return String.format(
        "%nOptions of all commands (-m, -o, --json, -q, -v, --timeout, --yes and others):%n"
            + "see 'leasefs help options'%n");
  }

  private static String ownOptions(Help help) {
    return help.optionListExcludingGroups(
        own(help.commandSpec()),
        layout(help),
        null, // as they are written down
        help.parameterLabelRenderer());
  }

  private static Help.Layout layout(Help help) {
    CommandSpec spec = help.commandSpec();
    return help.createDefaultLayout(own(spec), spec.positionalParameters(), help.colorScheme());
  }

  private static List<OptionSpec> own(CommandSpec spec) {
    return spec.options().stream().filter(option -> !option.inherited()).toList();
  }

  private static String synopsis(CommandSpec spec) {
    List<String> words = new ArrayList<>();
    for (OptionSpec option : own(spec)) {
      if (option.group() != null || option.usageHelp()) {
        continue;
      }
      String name = option.longestName() + (option.arity().max() == 0 ? "" : " " + label(option));
      String many = option.isMultiValue() ? "..." : "";
      words.add(option.required() ? name + many : "[" + name + "]" + many);
    }
    Set<ArgGroupSpec> groups = new LinkedHashSet<>(spec.argGroups());
    groups.forEach(group -> words.add(group.synopsis()));
    for (PositionalParamSpec parameter : spec.positionalParameters()) {
      String many = parameter.arity().max() > 1 && !parameter.hideParamSyntax() ? "..." : "";
      words.add(
          parameter.arity().min() == 0
              ? "[" + label(parameter) + many + "]"
              : label(parameter) + many);
    }
    if (!spec.subcommands().isEmpty()) {
      words.add("COMMAND");
    }
    StringBuilder text = new StringBuilder();
    String line = spec.qualifiedName();
    int used = "Usage: ".length() + line.length();
    text.append(line);
    for (String word : words) {
      if (used + 1 + word.length() > WIDTH) {
        text.append(System.lineSeparator()).append(INDENT);
        used = INDENT.length();
      } else {
        text.append(' ');
        used++;
      }
      text.append(word);
      used += word.length();
    }
    return text.append(System.lineSeparator()).toString();
  }

  private static String label(picocli.CommandLine.Model.ArgSpec argument) {
    String label = argument.paramLabel();
    return label.startsWith("<") ? "N" : label;
  }

  /** Paragraphs are filled to the width; a comment that makes an example too long goes above it. */
  static List<String> reflow(String[] footer) {
    List<String> lines = new ArrayList<>();
    StringBuilder paragraph = new StringBuilder();
    boolean examples = false;
    for (String line : footer) {
      examples |= line.equals(EXAMPLES);
      if (examples) {
        fill(paragraph, lines);
        int comment = line.indexOf(" # ");
        if (line.length() >= WIDTH && comment > 0) {
          lines.add("  " + line.substring(comment + 1));
          lines.add(line.substring(0, comment).stripTrailing());
        } else {
          lines.add(line);
        }
      } else if (line.isEmpty()) {
        fill(paragraph, lines);
        lines.add("");
      } else {
        if (line.startsWith("Exit ")) {
          fill(paragraph, lines);
        }
        paragraph.append(paragraph.length() == 0 ? "" : " ").append(line);
      }
    }
    fill(paragraph, lines);
    return lines;
  }

  private static void fill(StringBuilder paragraph, List<String> lines) {
    StringBuilder line = new StringBuilder();
    for (String word : paragraph.toString().split(" ", -1)) {
      if (line.length() > 0 && line.length() + 1 + word.length() >= WIDTH) {
        lines.add(line.toString());
        line.setLength(0);
      }
      line.append(line.length() == 0 ? "" : " ").append(word);
    }
    if (line.length() > 0) {
      lines.add(line.toString());
    }
    paragraph.setLength(0);
  }
}
