package io.leasefs.client.cli;

import io.leasefs.common.error.ErrorCode;
import io.leasefs.common.error.LeaseFsException;
import picocli.CommandLine.Command;
import picocli.CommandLine.Parameters;

/** {@code leasefs context ls|use|rm}. */
@Command(
    description = "Known clusters: list, choose, forget.",
    subcommands = {ContextVerb.Ls.class, ContextVerb.Use.class, ContextVerb.Rm.class},
    footer = {"", "Examples:", "  leasefs context ls", "  leasefs context use mini"})
final class ContextVerb extends VerbGroup {
  @Command(
      name = "ls",
      description = "List the contexts.",
      footer = {"", "Examples:", "  leasefs context ls", "  leasefs context ls -o name"})
  static final class Ls extends Verb {
    @Override
    protected int run() {
      ContextFile file = settings().contexts();
      Listing listing = out().listing("IN USE", "NAME", "MASTERS", "CLUSTER", "FOLDER");
      file.contexts()
          .forEach(
              (name, context) -> {
                boolean current = file.inUse().filter(name::equals).isPresent();
                listing.add(
                    name,
                    Json.object(
                        "name",
                        name,
                        "current",
                        current,
                        "masters",
                        context.masters(),
                        "cluster",
                        context.cluster().orElse(null),
                        "folder",
                        context.folder()),
                    current ? "*" : "",
                    name,
                    String.join(",", context.masters()),
                    context.cluster().orElse(""),
                    context.folder());
              });
      listing.finish();
      return ExitCode.DONE;
    }
  }

  @Command(
      name = "use",
      description = "Use this cluster from now on.",
      footer = {"", "Examples:", "  leasefs context use mini", "  leasefs context use prod"})
  static final class Use extends Verb {
    @Parameters(paramLabel = "NAME", description = "Name of the context.")
    private String name = "";

    @Override
    protected int run() throws Exception {
      settings().contexts().using(name).write();
      out().answer(Json.object("current", name), "");
      return ExitCode.DONE;
    }
  }

  @Command(
      name = "rm",
      description = "Forget a cluster; nothing in it is touched.",
      footer = {"", "Examples:", "  leasefs context rm mini", "  leasefs context rm old"})
  static final class Rm extends Verb {
    @Parameters(paramLabel = "NAME", description = "Name of the context.")
    private String name = "";

    @Override
    protected int run() throws Exception {
      ContextFile file = settings().contexts();
      if (!file.contexts().containsKey(name)) {
        throw new LeaseFsException(
            ErrorCode.NOT_FOUND,
            "no context named '" + name + "'",
            "see them with 'leasefs context ls'");
      }
      file.without(name).write();
      out().answer(Json.object("removed", name), "");
      return ExitCode.DONE;
    }
  }
}
