package io.leasefs.client.cli;

import picocli.CommandLine.Command;
import picocli.CommandLine.Option;

/** {@code --help}; {@code -h} is kept for human-readable sizes. */
@Command
final class HelpOption {
  @Option(names = "--help", usageHelp = true, description = "Show this page.")
  boolean help;
}
