package io.leasefs.cluster;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * The fenced blocks of README.md. A block is one of three: {@code console}, whose lines all begin
 * with "$ " and are run by {@link ReadmeIT}; {@code java}, which another test runs; or one that a
 * comment before it, {@code <!-- not run: REASON -->}, leaves out.
 */
final class ReadmePage {
  private static final Pattern LEFT_OUT = Pattern.compile("<!-- not run: \\S.*-->");
  private static final String FENCE = "```";
  private static final String PROMPT = "$ ";

  /** The folder of this module, which Maven tells, or below the root of the source tree. */
  static final Path MODULE = Path.of(System.getProperty("basedir", "cluster")).toAbsolutePath();

  /** A command and the line that it is on, counted from 1. */
  record Step(int line, String command) {}

  private final List<Step> steps = new ArrayList<>();
  private final List<String> problems = new ArrayList<>();

  private ReadmePage(List<String> lines) {
    String before = "";
    for (int i = 0; i < lines.size(); i++) {
      String line = lines.get(i);
      if (line.startsWith(FENCE)) {
        int end = i + 1;
        while (end < lines.size() && !lines.get(end).startsWith(FENCE)) {
          end++;
        }
        block(i + 1, line.substring(FENCE.length()), before, lines.subList(i + 1, end));
        i = end;
        before = "";
      } else if (!line.isBlank()) {
        before = line;
      }
    }
  }

  static ReadmePage of(List<String> lines) {
    return new ReadmePage(lines);
  }

  static ReadmePage read() throws IOException {
    return new ReadmePage(Files.readAllLines(MODULE.resolveSibling("README.md"), UTF_8));
  }

  private void block(int line, String kind, String before, List<String> content) {
    Matcher leftOut = LEFT_OUT.matcher(before);
    if (leftOut.matches() || kind.equals("java")) {
      return;
    }
    if (!kind.equals("console")) {
      problems.add("line " + line + ": a block that is neither run nor said to be left out");
      return;
    }
    for (int i = 0; i < content.size(); i++) {
      String text = content.get(i);
      if (text.startsWith(PROMPT)) {
        steps.add(new Step(line + 1 + i, text.substring(PROMPT.length())));
      } else {
        problems.add("line " + (line + 1 + i) + ": not a command: " + text);
      }
    }
  }

  /** All commands to run, in order. */
  List<Step> steps() {
    return List.copyOf(steps);
  }

  /** Blocks and lines of which nobody can say whether they work. */
  List<String> problems() {
    return List.copyOf(problems);
  }
}
