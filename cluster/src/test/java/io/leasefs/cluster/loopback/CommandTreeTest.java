package io.leasefs.cluster.loopback;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import com.google.common.base.Splitter;
import io.leasefs.client.cli.Streams;
import io.leasefs.cluster.LeaseFsMain;
import java.io.InputStream;
import java.io.OutputStream;
import java.io.PrintStream;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import picocli.CommandLine;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Model.OptionSpec;

/** Walks the whole tree of commands: what each page of help must have. No cluster is needed. */
class CommandTreeTest {
  /** Every page ends with these, and with the codes of signals. */
  private static final List<String> CODES =
      List.of("0", "1", "2", "3", "4", "5", "6", "7", "8", "9", "10", "130", "141", "143");

  private final Shell shell = new Shell(Map.of("HOME", "/nonexistent"));

  private static CommandLine tree() {
    return LeaseFsMain.cli(
            new Streams(
                InputStream.nullInputStream(),
                OutputStream.nullOutputStream(),
                new PrintStream(OutputStream.nullOutputStream(), true, UTF_8),
                false,
                false,
                false,
                Map.of()))
        .wholeTree();
  }

  /** Every command but the root, such as {@code lease ls}. */
  static Stream<String> commands() {
    List<String> names = new ArrayList<>();
    collect(tree(), "", names);
    return names.stream();
  }

  private static void collect(CommandLine at, String prefix, List<String> names) {
    at.getSubcommands()
        .forEach(
            (name, sub) -> {
              names.add(prefix + name);
              collect(sub, prefix + name + " ", names);
            });
  }

  private static CommandSpec spec(String command) {
    CommandLine at = tree();
    for (String word : words(command)) {
      at = Objects.requireNonNull(at.getSubcommands().get(word), word);
    }
    return at.getCommandSpec();
  }

  private static List<String> words(String command) {
    return Splitter.on(' ').splitToList(command);
  }

  @Test
  void treeHoldsTheVerbsThatAreDue() {
    assertThat(commands())
        .contains(
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
            "mv",
            "cp",
            "rm",
            "restore",
            "mkdir",
            "rmdir",
            "touch",
            "du",
            "df",
            "test",
            "checksum",
            "setrep",
            "lease ls",
            "lease get",
            "lease watch",
            "lease timeline",
            "chunk ls",
            "chunk get",
            "chunk verify",
            "node ls",
            "node get",
            "node drain",
            "node undrain",
            "node rm",
            "trash ls",
            "trash empty",
            "fsck",
            "status",
            "why",
            "events",
            "wait",
            "context ls",
            "context use",
            "context rm",
            "config view",
            "master",
            "chunkserver",
            "mini",
            "mini restart",
            "demo failover",
            "demo pause",
            "demo partition",
            "demo drain",
            "demo secondary",
            "demo verify",
            "version",
            "completion");
  }

  @ParameterizedTest
  @MethodSource("commands")
  void commandHasDescriptionExamplesJsonAndExitCodes(String command) {
    CommandSpec spec = spec(command);
    assertThat(spec.usageMessage().description()).as("description").isNotEmpty();
    assertThat(spec.usageMessage().description()[0]).matches("[A-Z].*[.:]");
    List<String> footer = Arrays.asList(spec.usageMessage().footer());
    assertThat(footer).as("footer").contains("Examples:");
    List<String> examples =
        footer.subList(footer.indexOf("Examples:") + 1, footer.size()).stream()
            .filter(line -> line.contains("leasefs "))
            .toList();
    assertThat(examples).as("examples").hasSizeGreaterThanOrEqualTo(2);
    String shown = command.equals("help") ? "leasefs" : "leasefs " + words(command).get(0);
    assertThat(examples).anyMatch(line -> line.contains(shown));
    assertThat(spec.findOption("--json")).as("--json").isNotNull();
    assertThat(spec.findOption("--help")).as("--help").isNotNull();
    assertThat(spec.usageMessage().exitCodeList().keySet()).containsAll(CODES);
  }

  @ParameterizedTest
  @MethodSource("commands")
  void everyOptionIsDescribedAndAnEnumCanBeCompleted(String command) {
    for (OptionSpec option : spec(command).options()) {
      assertThat(option.description()).as("%s", option).isNotEmpty();
      if (option.type().isEnum() || option.auxiliaryTypes()[0].isEnum()) {
        List<String> candidates = new ArrayList<>();
        option.completionCandidates().forEach(candidates::add);
        assertThat(candidates).as("candidates of %s", option).isNotEmpty();
        assertThat(String.join(" ", option.description())).contains(candidates);
      }
    }
  }

  @ParameterizedTest
  @MethodSource("commands")
  void pageOfHelpIsPrintedOnStandardOutput(String command) {
    List<String> words = new ArrayList<>(words(command));
    words.add("--help");
    CommandLineRun page = shell.run(words.toArray(String[]::new)).mustBe(0);
    assertThat(page.err()).isEmpty();
    assertThat(page.out())
        .contains("Usage: leasefs " + words(command).get(0))
        .contains("Examples:")
        .contains("Exit codes:")
        .doesNotContain("${");
    assertThat(page.out().lines()).allMatch(line -> line.length() <= 80, "at most 80 wide");
    assertThat(page.out()).contains("see 'leasefs help options'").doesNotContain("--no-color");
  }

  @Test
  void helpOfOneVerbIsTheSameByBothWays() {
    String page = shell.run("put", "--help").mustBe(0).out();
    assertThat(shell.run("help", "put").mustBe(0).out()).isEqualTo(page);
    assertThat(shell.run("help", "lease", "timeline").mustBe(0).out())
        .isEqualTo(shell.run("lease", "timeline", "--help").mustBe(0).out());
    assertThat(shell.run("help", "lss").mustBe(2).err()).contains("Did you mean: leasefs ls");
  }

  @Test
  void choicesAreDescribedOnThePageToo() {
    assertThat(shell.run("test", "--help").mustBe(0).out())
        .startsWith("Usage: leasefs test (-e | -f | -d | -s | -z) PATH\n")
        .containsPattern("-d +It is a folder.");
  }

  @Test
  void optionsOfAllCommandsAreOnAPageOfTheirOwn() {
    assertThat(shell.run("help", "options").mustBe(0).out())
        .contains("--master", "--timeout", "--no-color", "--yes");
  }

  @Test
  void overviewHasTheGroupsInOrderAndEachVerbOnce() {
    String page = shell.run("help").mustBe(0).out();
    assertThat(page).containsSubsequence("FILES", "LEASES & LOCKS", "CLUSTER", "SERVICES", "TOOLS");
    for (String verb : tree().getSubcommands().keySet()) {
      if (!verb.equals("help")) {
        assertThat(page.lines().filter(line -> line.startsWith("  " + verb + " ")))
            .as(verb)
            .hasSize(1);
      }
    }
    assertThat(shell.run("--help").mustBe(0).out()).isEqualTo(page);
  }

  @Test
  void noVerbAtAllShowsTheOverview() {
    assertThat(shell.run().mustBe(0).out()).isEqualTo(shell.run("help").mustBe(0).out());
  }

  @Test
  void unknownWordIsAnsweredWithTheNearestOne() {
    CommandLineRun run = shell.run("lss");
    assertThat(run.exit()).isEqualTo(2);
    assertThat(run.out()).isEmpty();
    assertThat(run.err()).contains("Did you mean: leasefs ls");
    assertThat(shell.run("lease", "timelin").mustBe(2).err())
        .contains("Did you mean: leasefs lease timeline");
  }

  @Test
  void unknownOptionNamesItselfAndThePageOfHelp() {
    CommandLineRun run = shell.run("ls", "--nonsense");
    assertThat(run.exit()).isEqualTo(2);
    assertThat(run.err()).contains("--nonsense").contains("leasefs ls");
  }

  @Test
  void groupWithoutVerbSaysWhichThereAre() {
    assertThat(shell.run("lease").mustBe(2).err()).contains("ls").contains("timeline");
  }
}
