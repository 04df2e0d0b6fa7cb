package io.leasefs.client.cli;

import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;

/** The command without a verb: it holds what all verbs share. */
@Command(
    name = "leasefs",
    sortOptions = false,
    synopsisSubcommandLabel = "COMMAND",
    description = "A distributed file system whose heart is the lease.")
final class RootCommand implements Runnable {
  @Mixin GlobalOptions options = new GlobalOptions();
  @Spec @Nullable CommandSpec spec;

  final Streams streams;

  RootCommand(Streams streams) {
    this.streams = streams;
  }

  @Override
  public void run() {
    CommandSpec here = java.util.Objects.requireNonNull(spec);
    throw new ParameterException(here.commandLine(), "say what to do: leasefs COMMAND");
  }
}
