package io.leasefs.client.cli;

import io.leasefs.common.error.ErrorCode;
import io.leasefs.common.error.LeaseFsException;
import java.util.Objects;
import picocli.AutoComplete;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Parameters;

/** {@code leasefs completion bash|zsh|fish}. */
@Command(
    description = "Print the completion script of a shell.",
    footer = {
      "",
      "Examples:",
      "  source <(leasefs completion bash)",
      "  leasefs completion fish > ~/.config/fish/completions/leasefs.fish"
    })
final class CompletionVerb extends Verb {
  /** Shells that are known. */
  enum Shell {
    BASH,
    ZSH,
    FISH
  }

  @Parameters(paramLabel = "SHELL", description = "One of: ${COMPLETION-CANDIDATES}.")
  private Shell shell = Shell.BASH;

  @Override
  protected int run() {
    CommandLine root = Objects.requireNonNull(spec).root().commandLine();
    if (root.getSubcommands().size() < 3) {
      throw new LeaseFsException(ErrorCode.INTERNAL, "the command tree was not loaded whole");
    }
    if (shell == Shell.FISH) {
      out().line(fish(root));
    } else {
      String head = shell == Shell.ZSH ? "autoload -U +X bashcompinit && bashcompinit\n" : "";
      out().line(head + AutoComplete.bash("leasefs", root));
    }
    return ExitCode.DONE;
  }

  private static String fish(CommandLine root) {
    StringBuilder script = new StringBuilder("complete -c leasefs -f\n");
    root.getSubcommands()
        .forEach(
            (name, verb) -> {
              line(script, "__fish_use_subcommand", name, verb);
              verb.getSubcommands()
                  .forEach(
                      (sub, command) ->
                          line(script, "__fish_seen_subcommand_from " + name, sub, command));
            });
    return script.toString();
  }

  private static void line(StringBuilder script, String when, String name, CommandLine command) {
    String[] description = command.getCommandSpec().usageMessage().description();
    script.append(
        String.format(
            "complete -c leasefs -n '%s' -a %s -d '%s'%n",
            when, name, description.length == 0 ? "" : description[0].replace("'", "")));
  }
}
