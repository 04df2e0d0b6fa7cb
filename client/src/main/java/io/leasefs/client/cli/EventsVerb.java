package io.leasefs.client.cli;

import io.leasefs.common.model.ClusterEvent;
import io.leasefs.common.model.EventKind;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;

/** {@code leasefs events}. */
@Command(
    description = "Show what happened to leases, replicas and servers.",
    footer = {
      "",
      "Examples:",
      "  leasefs events --since 10m",
      "  leasefs events -f --kind LEASE_GRANTED --kind LEASE_EXPIRED"
    })
final class EventsVerb extends Verb {
  private static final int PAGE = 500;
  private static final long FOLLOW_NANOS = 10_000_000_000L;

  @Option(
      names = {"-f", "--follow"},
      description = "Go on as they happen.")
  private boolean follow;

  @Option(names = "--since", paramLabel = "AGO", description = "Only those younger than this.")
  private @Nullable String since;

  @Option(
      names = "--kind",
      paramLabel = "KIND",
      description = "Only this kind; may be repeated. One of: ${COMPLETION-CANDIDATES}.")
  private List<EventKind> kinds = new ArrayList<>();

  @Override
  protected int run() {
    long from =
        since == null
            ? Long.MIN_VALUE
            : System.currentTimeMillis() - Quantities.parseDuration(since) / 1_000_000;
    long after = 0;
    while (true) {
      List<ClusterEvent> page =
          await(client().admin().events(after, PAGE, follow ? FOLLOW_NANOS : 0));
      for (ClusterEvent event : page) {
        after = Math.max(after, event.number());
        if (event.wallMillis() >= from && (kinds.isEmpty() || kinds.contains(event.kind()))) {
          out().event(EventRows.json(event), EventRows.line(event));
        }
      }
      if (page.isEmpty() && !follow) {
        return ExitCode.DONE;
      }
    }
  }
}
