package io.leasefs.client.cli;

import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Model.OptionSpec;

/** {@code --help}, and {@code -h} where that does not mean human-readable sizes. */
final class HelpOption {
  private HelpOption() {}

  static void addTo(CommandSpec spec) {
    OptionSpec.Builder option =
        spec.findOption("-h") == null
            ? OptionSpec.builder("-h", "--help")
            : OptionSpec.builder("--help");
    spec.addOption(option.usageHelp(true).description("Show this page.").build());
  }
}
