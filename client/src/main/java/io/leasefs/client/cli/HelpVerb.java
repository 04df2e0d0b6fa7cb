package io.leasefs.client.cli;

import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Help;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;
import picocli.CommandLine.UnmatchedArgumentException;

/** {@code leasefs help}. */
@Command(
    description = "Show the page of help of a command, or the overview.",
    footer = {
      "",
      "Examples:",
      "  leasefs help put",
      "  leasefs help options",
      "  leasefs help lease timeline"
    })
final class HelpVerb implements Runnable {
  @Spec @Nullable CommandSpec spec;

  @Parameters(paramLabel = "COMMAND", arity = "0..*", description = "Default: all, an overview.")
  private List<String> words = new ArrayList<>();

  @Override
  public void run() {
    CommandLine page = Objects.requireNonNull(spec).root().commandLine();
    if (words.equals(List.of("options"))) {
      Help overview = page.getHelp();
      page.getOut()
          .print("Options of all commands:" + System.lineSeparator() + overview.optionList());
      page.getOut().flush();
      return;
    }
    for (int i = 0; i < words.size(); i++) {
      CommandLine below = page.getSubcommands().get(words.get(i));
      if (below == null) {
        throw new UnmatchedArgumentException(page, words.subList(i, words.size()));
      }
      page = below;
    }
    page.usage(spec.root().commandLine().getOut());
  }
}
