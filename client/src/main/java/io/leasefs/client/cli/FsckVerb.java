package io.leasefs.client.cli;

import io.leasefs.common.api.AdminApi.Finding;
import io.leasefs.common.api.AdminApi.Severity;
import io.leasefs.common.model.FilePath;
import java.util.List;
import java.util.Locale;
import picocli.CommandLine.Command;
import picocli.CommandLine.Parameters;

/** {@code leasefs fsck}. */
@Command(
    description = "Check everything below a path; nothing is changed.",
    footer = {
      "",
      "Examples:",
      "  leasefs fsck",
      "  leasefs fsck /logs --json   # exit 10 on findings"
    })
final class FsckVerb extends Verb {
  private static final int PAGE = 1000;

  @Parameters(paramLabel = "PATH", arity = "0..1", description = "Default: /", defaultValue = "/")
  private String path = "/";

  @Override
  protected int run() {
    FilePath top = FilePath.parse(path);
    Listing listing = out().listing("SEVERITY", "PATH", "CHUNK", "WHAT");
    boolean bad = false;
    String after = "";
    List<Finding> page;
    do {
      page = await(client().admin().check(top, after, PAGE));
      for (Finding finding : page) {
        bad |= finding.severity() != Severity.PENDING;
        after = finding.path().text();
        String severity = finding.severity().name().toLowerCase(Locale.ROOT);
        String chunk = finding.chunk().map(Object::toString).orElse("-");
        listing.add(
            finding.path().text(),
            Json.object(
                "severity",
                severity,
                "path",
                finding.path().text(),
                "chunk",
                finding.chunk().map(Object::toString).orElse(null),
                "what",
                finding.what()),
            severity,
            finding.path().text(),
            chunk,
            finding.what());
      }
    } while (page.size() >= PAGE);
    listing.finish();
    int quarantined = QuarantineVerb.all(this).size();
    if (quarantined > 0) {
      note(
          Quantities.count(quarantined, "copy is", "copies are")
              + " in quarantine, of no file here: see 'leasefs quarantine ls'");
    }
    note(
        listing.size() == 0
            ? "all is well below " + top
            : Quantities.count(listing.size(), "finding", "findings"));
    return bad ? ExitCode.CHECK_FAILED : ExitCode.DONE;
  }
}
