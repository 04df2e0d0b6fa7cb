package io.leasefs.client.cli;

import io.leasefs.common.api.AdminApi;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;

/** {@code leasefs df}. */
@Command(
    description = "Show the free space of the chunkservers' disks.",
    footer = {
      "",
      "Used is whatever lies on the disk. Chunkservers that share a disk show it each. What"
          + " LeaseFS",
      "itself stores is shown by 'leasefs du -s /'.",
      "",
      "Examples:",
      "  leasefs df -h",
      "  leasefs df --json"
    })
final class DfVerb extends Verb {
  @Option(names = "-h", description = "Sizes in KiB, MiB, GiB.")
  private boolean human;

  @Override
  protected int run() {
    Listing listing = out().listing("NODE", ">DISK SIZE", ">DISK USED", ">FREE", ">USE");
    for (AdminApi.NodeStatus node : await(client().admin().nodes())) {
      long used = node.totalBytes() - node.freeBytes();
      listing.add(
          node.server().name(),
          Json.object(
              "node", node.server().name(),
              "totalBytes", node.totalBytes(),
              "usedBytes", used,
              "freeBytes", node.freeBytes()),
          node.server().name(),
          size(node.totalBytes()),
          size(used),
          size(node.freeBytes()),
          node.totalBytes() == 0 ? "-" : 100 * used / node.totalBytes() + "%");
    }
    listing.finish();
    return ExitCode.DONE;
  }

  private String size(long bytes) {
    return human ? Quantities.human(bytes) : Long.toString(bytes);
  }
}
