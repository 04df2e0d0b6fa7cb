package io.leasefs.client.cli;

import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/** The command without a verb: it holds what all verbs share. */
@Command(
    name = "leasefs",
    sortOptions = false,
    synopsisSubcommandLabel = "COMMAND",
    description = "A distributed file system whose heart is the lease.",
    footer = {
      "See 'leasefs help COMMAND' for one of them, with examples and exit codes.",
      "",
      "Examples:",
      "  leasefs mini                     # a cluster on this machine, until Ctrl-C",
      "  leasefs put report.pdf /docs/    # in another terminal",
      "  leasefs demo failover            # a primary is killed, nothing is lost"
    })
final class RootCommand implements Runnable {
  @Option(names = "--version", description = "Show the version of this program.")
  private boolean version;

  @Mixin GlobalOptions options = new GlobalOptions();
  @Spec @Nullable CommandSpec spec;

  final Streams streams;

  RootCommand(Streams streams) {
    this.streams = streams;
  }

  @Override
  public void run() {
    CommandSpec here = java.util.Objects.requireNonNull(spec);
    if (version) {
      here.commandLine().getOut().println(VersionVerb.line());
      return;
    }
    here.commandLine().usage(here.commandLine().getOut());
  }
}
