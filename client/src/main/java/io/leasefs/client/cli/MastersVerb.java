package io.leasefs.client.cli;

import picocli.CommandLine.Command;
import picocli.CommandLine.Option;

/** {@code leasefs masters raise-generation}. */
@Command(
    description = "The masters and their log.",
    subcommands = {MastersVerb.RaiseGeneration.class},
    footer = {
      "",
      "Examples:",
      "  leasefs masters raise-generation --dry-run",
      "  leasefs masters raise-generation --yes"
    })
final class MastersVerb extends VerbGroup {
  @Command(
      name = "raise-generation",
      description =
          "Go on with a log that is short of what its servers have heard of, where there is no"
              + " newer one. What only the missing part knew is not in the file system any more;"
              + " its copies stay on the servers, in quarantine.",
      footer = {
        "",
        "Examples:",
        "  leasefs masters raise-generation --dry-run   # what is missing",
        "  leasefs masters raise-generation --yes"
      })
  static final class RaiseGeneration extends Verb {
    @Option(names = "--dry-run", description = "Only say what is missing.")
    private boolean dryRun;

    @Override
    protected int run() {
      if (dryRun) {
        await(client().admin().status()); // of a log that is short the answer is the refusal
        out()
            .answer(
                Json.object("wouldRaise", false),
                "the log is short of nothing that a chunkserver has heard of");
        return ExitCode.DONE;
      }
      confirm("go on without what is missing in the masters' log");
      int generation = await(client().admin().raiseGeneration());
      out()
          .answer(
              Json.object("generation", generation),
              "the cluster goes on in generation "
                  + generation
                  + "; see what is not in the log any more with 'leasefs quarantine ls'");
      return ExitCode.DONE;
    }
  }
}
