package io.leasefs.client.cli;

import io.leasefs.common.api.AdminApi.CopyName;
import io.leasefs.common.api.AdminApi.QuarantinedCopy;
import io.leasefs.common.error.ErrorCode;
import io.leasefs.common.error.LeaseFsException;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** {@code leasefs quarantine ls|rm}. */
@Command(
    description = "Copies on the servers that the log does not count and that are not deleted.",
    subcommands = {QuarantineVerb.Ls.class, QuarantineVerb.Rm.class},
    footer = {
      "",
      "Examples:",
      "  leasefs quarantine ls",
      "  leasefs quarantine rm 0x51c --replica cs2 --yes"
    })
final class QuarantineVerb extends VerbGroup {
  private static final int PAGE = 1000;

  static List<QuarantinedCopy> all(Verb verb) {
    List<QuarantinedCopy> all = new ArrayList<>();
    Optional<CopyName> after = Optional.empty();
    List<QuarantinedCopy> page;
    do {
      page = verb.await(verb.client().admin().quarantined(after, PAGE));
      all.addAll(page);
      after = page.isEmpty() ? after : Optional.of(page.get(page.size() - 1).name());
    } while (page.size() >= PAGE);
    return all;
  }

  private static Map<String, Object> json(QuarantinedCopy copy) {
    return Json.object(
        "node", copy.name().server().name(),
        "chunk", copy.name().chunk().toString(),
        "replica", copy.replica().toString(),
        "file", copy.file().toString(),
        "state", copy.state().name().toLowerCase(Locale.ROOT),
        "version", copy.version(),
        "lengthBytes", copy.lengthBytes(),
        "reason", copy.reason().name().toLowerCase(Locale.ROOT),
        "leftNanos", copy.leftNanos() < 0 ? null : copy.leftNanos());
  }

  @Command(
      name = "ls",
      description = {
        "List them. Reasons: 'lost', the log has no such chunk, and lost a part; 'ahead', the copy"
            + " has a version that the log does not know; both are kept until you remove them."
            + " 'unknown', the log has no such chunk: deleted when the time is over."
      },
      footer = {"", "Examples:", "  leasefs quarantine ls", "  leasefs quarantine ls --json"})
  static final class Ls extends Verb {
    @Override
    protected int run() {
      Listing listing =
          out()
              .listing(
                  "NODE", "CHUNK", "FILE", "STATE", ">VERSION", ">SIZE", "REASON", ">DELETED IN");
      for (QuarantinedCopy copy : all(this)) {
        listing.add(
            copy.name().chunk() + " " + copy.name().server(),
            json(copy),
            copy.name().server().name(),
            copy.name().chunk().toString(),
            copy.file().toString(),
            copy.state().name().toLowerCase(Locale.ROOT),
            Long.toString(copy.version()),
            Long.toString(copy.lengthBytes()),
            copy.reason().name().toLowerCase(Locale.ROOT),
            copy.leftNanos() < 0 ? "never" : Quantities.duration(copy.leftNanos()));
      }
      listing.finish();
      return ExitCode.DONE;
    }
  }

  @Command(
      name = "rm",
      description = "Delete copies in quarantine for ever.",
      footer = {
        "",
        "Examples:",
        "  leasefs quarantine rm 0x51c --yes",
        "  leasefs quarantine rm --all --dry-run"
      })
  static final class Rm extends Verb {
    @Option(names = "--replica", paramLabel = "NODE", description = "Only copies on this node.")
    private @Nullable String node;

    @Option(names = "--all", description = "Of all chunks.")
    private boolean all;

    @Option(names = "--dry-run", description = "Only say what would be deleted.")
    private boolean dryRun;

    @Parameters(paramLabel = "CHUNK", arity = "0..1", description = "Handle of the chunk.")
    private @Nullable String chunk;

    @Override
    protected int run() {
      if (all == (chunk != null)) {
        throw new LeaseFsException(
            ErrorCode.INVALID_ARGUMENT,
            "give either the handle of a chunk or --all",
            "see them with 'leasefs quarantine ls'");
      }
      List<QuarantinedCopy> chosen = new ArrayList<>();
      long bytes = 0;
      for (QuarantinedCopy copy : all(this)) {
        if ((all || copy.name().chunk().toString().equals(chunk))
            && (node == null || copy.name().server().name().equals(node))) {
          chosen.add(copy);
          bytes += copy.lengthBytes();
        }
      }
      if (chosen.isEmpty()) {
        throw new LeaseFsException(
            ErrorCode.NOT_FOUND,
            "no such copy in quarantine",
            "see them with 'leasefs quarantine ls'");
      }
      String what =
          Quantities.count(chosen.size(), "copy", "copies")
              + ", "
              + Quantities.count(bytes, "byte", "bytes");
      if (dryRun) {
        out()
            .answer(
                Json.object("wouldDelete", chosen.size(), "lengthBytes", bytes),
                "would delete " + what);
        return ExitCode.DONE;
      }
      confirm("delete " + what + " for ever");
      for (QuarantinedCopy copy : chosen) {
        await(client().admin().deleteQuarantined(copy.name(), copy.replica()));
      }
      out()
          .answer(
              Json.object("ordered", chosen.size(), "lengthBytes", bytes),
              "ordered to be deleted: " + what);
      return ExitCode.DONE;
    }
  }
}
