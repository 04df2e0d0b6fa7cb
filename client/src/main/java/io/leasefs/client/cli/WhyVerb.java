package io.leasefs.client.cli;

import io.leasefs.common.api.AdminApi;
import io.leasefs.common.model.ChunkHandle;
import java.util.List;
import picocli.CommandLine.Command;
import picocli.CommandLine.Parameters;

/** {@code leasefs why}. */
@Command(
    description = "Say what keeps a file or chunk waiting: whose promise, until when.",
    footer = {"", "Examples:", "  leasefs why /logs/web.log", "  leasefs why 0x51c --json"})
final class WhyVerb extends Verb {
  @Parameters(paramLabel = "CHUNK", description = "Handle, PATH#INDEX, or PATH for all its chunks.")
  private String chunk = "";

  @Override
  protected int run() {
    List<ChunkHandle> handles = ChunkNames.all(client(), chunk);
    Listing listing = out().listing("", "", "").withoutHeader();
    for (ChunkHandle handle : handles) {
      for (AdminApi.Wait wait : await(client().admin().why(handle))) {
        listing.add(
            handle.toString(),
            Json.object(
                "chunk", handle.toString(),
                "what", wait.what(),
                "holder", wait.holder().map(Object::toString).orElse(null),
                "untilNanos", wait.untilNanos() < 0 ? null : wait.untilNanos()),
            "chunk " + handle + ":",
            wait.what(),
            wait.untilNanos() < 0
                ? ""
                : "(at most " + Quantities.duration(wait.untilNanos()) + " more)");
      }
    }
    listing.finish();
    if (listing.size() == 0 && !out().isJson()) {
      out()
          .line(
              "nothing waits: "
                  + Quantities.count(handles.size(), "chunk", "chunks")
                  + " can be read and written, and all copies are where they should be");
    }
    return ExitCode.DONE;
  }
}
