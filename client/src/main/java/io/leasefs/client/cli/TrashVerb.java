package io.leasefs.client.cli;

import io.leasefs.common.api.MasterApi;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;

/** {@code leasefs trash ls|empty}. */
@Command(
    description = "What was removed and can come back.",
    subcommands = {TrashVerb.Ls.class, TrashVerb.Empty.class},
    footer = {"", "Examples:", "  leasefs trash ls", "  leasefs trash empty --yes"})
final class TrashVerb extends VerbGroup {
  @Command(
      name = "ls",
      description = "List the trash, newest first.",
      footer = {"", "Examples:", "  leasefs trash ls", "  leasefs trash ls --json"})
  static final class Ls extends Verb {
    @Override
    protected int run() {
      Listing listing = out().listing("DELETED", ">SIZE", "KIND", "PATH");
      for (MasterApi.Trashed entry : client().trash()) {
        listing.add(
            entry.path().text(),
            Json.object(
                "path", entry.path().text(),
                "id", entry.id().toString(),
                "folder", entry.folder(),
                "deleted", Quantities.instant(entry.deletedMillis()),
                "lengthBytes", entry.lengthBytes()),
            Quantities.minute(entry.deletedMillis()),
            Long.toString(entry.lengthBytes()),
            entry.folder() ? "folder" : "file",
            entry.path().text());
      }
      listing.finish();
      return ExitCode.DONE;
    }
  }

  @Command(
      name = "empty",
      description = "Remove what is in the trash for ever.",
      footer = {
        "",
        "Examples:",
        "  leasefs trash empty --yes",
        "  leasefs trash empty --older 1h --yes"
      })
  static final class Empty extends Verb {
    @Option(
        names = "--older",
        paramLabel = "DURATION",
        defaultValue = "0",
        description = "Only what was removed longer ago than this.")
    private String older = "0";

    @Option(names = "--dry-run", description = "Only say how many entries there are.")
    private boolean dryRun;

    @Override
    protected int run() {
      long millis = Quantities.parseDuration(older) / 1_000_000;
      if (dryRun) {
        long before = System.currentTimeMillis() - millis;
        long count = client().trash().stream().filter(e -> e.deletedMillis() <= before).count();
        out()
            .answer(
                Json.object("wouldRemove", count),
                "would remove " + Quantities.count(count, "entry", "entries"));
        return ExitCode.DONE;
      }
      confirm("remove the trash for ever");
      int removed = client().emptyTrash(millis);
      out()
          .answer(
              Json.object("removed", removed),
              "removed " + Quantities.count(removed, "entry", "entries"));
      return ExitCode.DONE;
    }
  }
}
