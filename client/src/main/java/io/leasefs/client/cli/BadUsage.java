package io.leasefs.client.cli;

import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Locale;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import picocli.CommandLine;
import picocli.CommandLine.MissingParameterException;
import picocli.CommandLine.Model.ArgSpec;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Model.OptionSpec;
import picocli.CommandLine.MutuallyExclusiveArgsException;
import picocli.CommandLine.OverwrittenOptionException;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.UnmatchedArgumentException;

/**
 * What is wrong with a command line, in the words of its help: what, and what to do. Pure.
 *
 * @param message what is wrong
 * @param hint what to do
 * @param similar true where the hint only names what may have been meant
 */
record BadUsage(String message, String hint, boolean similar) {
  private static final Pattern VALUE = Pattern.compile("'([^']*)' is not a|but was '([^']*)'");

  /** Reads the parser's failure; {@code verbs} are all there are, loaded or not. */
  static BadUsage of(ParameterException error, Collection<String> verbs) {
    CommandLine at = error.getCommandLine();
    CommandSpec spec = at.getCommandSpec();
    String command = spec.qualifiedName();
    String help = "see '" + command + " --help'";
    if (error instanceof UnmatchedArgumentException unmatched) {
      return unmatched(unmatched, spec, verbs);
    }
    if (error instanceof OverwrittenOptionException twice) {
      return new BadUsage(name(twice.getOverwritten()) + ": is given twice", help, false);
    }
    if (error instanceof MutuallyExclusiveArgsException) {
      String names = firstLine(error).replaceFirst("^Error: ", "").replaceFirst(" are mut.*", "");
      return new BadUsage(names + ": only one of these can be given", help, false);
    }
    if (error instanceof MissingParameterException missing) {
      return new BadUsage(missing(missing), help, false);
    }
    ArgSpec argument = error.getArgSpec();
    if (argument != null) {
      return new BadUsage(name(argument) + ": " + wrongValue(argument, error), help, false);
    }
    return new BadUsage(firstLine(error), help, false);
  }

  private static BadUsage unmatched(
      UnmatchedArgumentException error, CommandSpec spec, Collection<String> verbs) {
    String word = error.getUnmatched().isEmpty() ? "" : error.getUnmatched().get(0);
    String command = spec.qualifiedName();
    List<String> known = new ArrayList<>();
    String message;
    boolean option = word.length() > 1 && word.startsWith("-");
    if (option) {
      spec.options().forEach(each -> known.addAll(List.of(each.names())));
      message = "no such option: " + word;
    } else if (spec.subcommands().isEmpty()) {
      return new BadUsage(
          "'" + word + "' is one word too many", "see '" + command + " --help'", false);
    } else if (word.equals("help") && spec.parent() != null) {
      return new BadUsage("no such verb: help", command + " --help", true);
    } else {
      known.addAll(spec.parent() == null ? verbs : spec.subcommands().keySet());
      message = "no such verb: " + word;
    }
    List<String> meant = similar(word, known);
    return meant.isEmpty()
        ? new BadUsage(
            message,
            "see '" + (spec.parent() == null ? "leasefs help" : command + " --help") + "'",
            false)
        : new BadUsage(
            message,
            meant.stream().map(each -> command + " " + each).collect(Collectors.joining(" or ")),
            true);
  }

  private static String missing(MissingParameterException error) {
    List<ArgSpec> arguments = error.getMissing();
    String text = firstLine(error);
    if (text.contains("(specify one of these)")) {
      return "one of these is needed: "
          + text.substring(text.indexOf(": (") + 3).replace(" | ", ", ").replace(")", "");
    }
    ArgSpec first =
        error.getArgSpec() != null || arguments.isEmpty() ? error.getArgSpec() : arguments.get(0);
    if (first == null) {
      return text;
    }
    if (first.isOption()) {
      return text.startsWith("Missing required option")
          ? arguments.stream()
              .map(each -> name(each) + " " + each.paramLabel())
              .collect(Collectors.joining(", ", "", " is needed"))
          : name(first) + ": its " + first.paramLabel() + " is missing";
    }
    if (first.arity().min() > 1) {
      return first.paramLabel() + ": at least " + first.arity().min() + " are needed";
    }
    return arguments.stream().map(ArgSpec::paramLabel).collect(Collectors.joining(" and "))
        + (arguments.size() > 1 ? " are missing" : " is missing");
  }

  private static String wrongValue(ArgSpec argument, ParameterException error) {
    String value = error.getValue();
    if (value == null) {
      Matcher matcher = VALUE.matcher(firstLine(error));
      if (!matcher.find()) {
        return firstLine(error);
      }
      value = matcher.group(1) == null ? matcher.group(2) : matcher.group(1);
    }
    Class<?> type = argument.auxiliaryTypes()[0];
    if (type.isEnum()) {
      List<String> names = new ArrayList<>();
      for (Object constant : type.getEnumConstants()) {
        names.add(String.valueOf(constant).toLowerCase(Locale.ROOT));
      }
      return "'" + value + "' is none of: " + String.join(", ", names);
    }
    if (type == int.class || type == long.class) {
      boolean digits = value.matches("[+-]?\\d+");
      return "'" + value + (digits ? "' is too large a number" : "' is not a whole number");
    }
    return "'" + value + "' cannot be";
  }

  private static String name(ArgSpec argument) {
    return argument instanceof OptionSpec option ? option.longestName() : argument.paramLabel();
  }

  private static String firstLine(Exception error) {
    String message = String.valueOf(error.getMessage());
    return message.lines().findFirst().orElse(message);
  }

  /** The nearest, if only one letter is wrong, or two in a long word. */
  static List<String> similar(String word, Collection<String> known) {
    List<String> near = new ArrayList<>();
    int nearest = word.length() < 3 ? 0 : word.length() < 8 ? 1 : 2;
    for (String each : known) {
      int distance =
          each.length() > 1 && !each.equals("--") && word.startsWith(each + "=")
              ? nearest
              : distance(word, each);
      if (distance < nearest) {
        nearest = distance;
        near.clear();
      }
      if (distance == nearest && distance < word.length()) {
        near.add(each);
      }
    }
    return near.size() > 3 ? List.of() : near;
  }

  /** How many letters are to be changed, added, left out, or swapped with the next. */
  private static int distance(String a, String b) {
    int[][] steps = new int[a.length() + 1][b.length() + 1];
    for (int i = 0; i <= a.length(); i++) {
      for (int j = 0; j <= b.length(); j++) {
        if (i == 0 || j == 0) {
          steps[i][j] = i + j;
          continue;
        }
        int change = a.charAt(i - 1) == b.charAt(j - 1) ? 0 : 1;
        steps[i][j] =
            Math.min(steps[i - 1][j - 1] + change, Math.min(steps[i - 1][j], steps[i][j - 1]) + 1);
        if (i > 1
            && j > 1
            && a.charAt(i - 1) == b.charAt(j - 2)
            && a.charAt(i - 2) == b.charAt(j - 1)) {
          steps[i][j] = Math.min(steps[i][j], steps[i - 2][j - 2] + 1);
        }
      }
    }
    return steps[a.length()][b.length()];
  }
}
