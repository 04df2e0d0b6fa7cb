package io.leasefs.client.cli;

import io.leasefs.common.api.MasterApi;
import io.leasefs.common.model.FilePath;
import io.leasefs.common.model.FileStatus;
import java.util.ArrayList;
import java.util.List;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** {@code leasefs du}. */
@Command(
    description = "Show how much lies below a path.",
    footer = {"", "Examples:", "  leasefs du -h /", "  leasefs du -s -h /logs /backup"})
final class DuVerb extends Verb {
  @Option(names = "-s", description = "Only the total of each path.")
  private boolean summary;

  @Option(names = "-h", description = "Sizes in KiB, MiB, GiB.")
  private boolean human;

  @Parameters(paramLabel = "PATH", description = "Default: /", defaultValue = "/")
  private List<String> paths = new ArrayList<>();

  @Override
  protected int run() throws Exception {
    Listing listing = out().listing(">BYTES", ">STORED", ">FILES", "PATH");
    int exit =
        each(
            paths,
            path -> {
              FileStatus status = client().stat(path.text());
              if (summary || !status.folder()) {
                add(listing, path);
              } else {
                client().list(path.text()).forEachRemaining(entry -> add(listing, entry.path()));
              }
            });
    listing.finish();
    return exit;
  }

  private void add(Listing listing, FilePath path) {
    MasterApi.Usage usage = client().usage(path.text());
    listing.add(
        path.text(),
        Json.object(
            "path", path.text(),
            "lengthBytes", usage.lengthBytes(),
            "storedBytes", usage.storedBytes(),
            "files", usage.files(),
            "folders", usage.folders(),
            "chunks", usage.chunks()),
        size(usage.lengthBytes()),
        size(usage.storedBytes()),
        Long.toString(usage.files()),
        path.text());
  }

  private String size(long bytes) {
    return human ? Quantities.human(bytes) : Long.toString(bytes);
  }
}
