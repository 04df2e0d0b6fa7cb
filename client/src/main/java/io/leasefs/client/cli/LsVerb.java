package io.leasefs.client.cli;

import io.leasefs.common.model.FilePath;
import io.leasefs.common.model.FileStatus;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.Iterator;
import java.util.List;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** {@code leasefs ls}. */
@Command(
    description = "List files and folders.",
    footer = {
      "",
      "Examples:",
      "  leasefs ls /",
      "  leasefs ls -h -t /logs     # newest first, sizes for people",
      "  leasefs ls -R -o name /    # every path below, a line each"
    })
final class LsVerb extends Verb {
  @Option(names = "-d", description = "The folders themselves, not what is in them.")
  private boolean itself;

  @Option(names = "-h", description = "Sizes in KiB, MiB, GiB.")
  private boolean human;

  @Option(names = "-R", description = "Everything below, too.")
  private boolean recursive;

  @Option(names = "-l", description = "More of each, as -o wide.")
  private boolean wide;

  @Option(names = "-1", description = "Names only, one a line, as -o name.")
  private boolean names;

  @Option(names = "-a", description = "For those used to it: all names are always listed.")
  @SuppressWarnings("UnusedVariable") // hands type it
  private boolean all;

  @Option(names = "-t", description = "Newest first.")
  private boolean byTime;

  @Option(names = "-S", description = "Largest first.")
  private boolean bySize;

  @Option(names = "-r", description = "The other way round.")
  private boolean reverse;

  @Parameters(paramLabel = "PATH", description = "Default: /", defaultValue = "/")
  private List<String> paths = new ArrayList<>();

  @Override
  protected int run() throws Exception {
    Output out = names ? out().names() : wide ? out().wide() : out();
    Listing listing = out.listing("", ">", "", ">", "", "+>", "+", "").withoutHeader();
    int exit =
        each(
            paths,
            path -> {
              if (itself) {
                add(listing, client().stat(path.text()));
              } else {
                listFolder(listing, path);
              }
            });
    listing.finish();
    return exit;
  }

  private void listFolder(Listing listing, FilePath path) {
    Iterator<FileStatus> entries = client().list(path.text());
    if (!byTime && !bySize && !reverse) {
      while (entries.hasNext()) { // in the order of names, a page at a time
        FileStatus entry = entries.next();
        add(listing, entry);
        if (recursive && entry.folder()) {
          listFolder(listing, entry.path());
        }
      }
      return;
    }
    List<FileStatus> sorted = new ArrayList<>();
    entries.forEachRemaining(sorted::add);
    sorted.sort(order());
    for (FileStatus entry : sorted) {
      add(listing, entry);
      if (recursive && entry.folder()) {
        listFolder(listing, entry.path());
      }
    }
  }

  private Comparator<FileStatus> order() {
    Comparator<FileStatus> order = Comparator.comparing(FileStatus::path);
    if (bySize) {
      order = Comparator.comparingLong(FileStatus::lengthBytes).reversed().thenComparing(order);
    }
    if (byTime) {
      order = Comparator.comparingLong(FileStatus::modifiedMillis).reversed().thenComparing(order);
    }
    return reverse ? order.reversed() : order;
  }

  private void add(Listing listing, FileStatus status) {
    listing.add(
        status.path().text(),
        FileRows.json(status),
        FileRows.mode(status),
        status.folder() ? "-" : Integer.toString(status.replication()),
        status.openWriters() > 0 ? "open" : "",
        FileRows.size(status, human),
        Quantities.minute(status.modifiedMillis()),
        status.folder()
            ? Quantities.count(status.chunkCount(), "entry", "entries")
            : Quantities.count(status.chunkCount(), "chunk", "chunks"),
        status.id().toString(),
        status.path().text());
  }
}
