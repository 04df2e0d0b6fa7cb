package io.leasefs.client.cli;

import io.leasefs.common.api.AdminApi.ClusterStatus;
import io.leasefs.common.model.ClusterEvent;
import java.util.Map;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;

/** {@code leasefs status}. */
@Command(
    description = "Show the whole cluster in one look.",
    footer = {
      "",
      "Examples:",
      "  leasefs status",
      "  leasefs status -w               # again every two seconds",
      "  leasefs status --check --json   # exit 10 unless healthy"
    })
final class StatusVerb extends Verb {
  private static final long PAUSE_MILLIS = 2000;

  @Option(names = "-w", description = "Again every two seconds.")
  private boolean watch;

  @Option(names = "--check", description = "Exit 10 unless the cluster is healthy.")
  private boolean check;

  @Override
  protected int run() throws InterruptedException {
    while (true) {
      ClusterStatus status = await(client().admin().status());
      String health = health(status);
      out().answer(json(status, health), text(status, health));
      out().flush();
      if (!watch) {
        return check && !health.equals("healthy") ? ExitCode.CHECK_FAILED : ExitCode.DONE;
      }
      Thread.sleep(PAUSE_MILLIS);
    }
  }

  /** One word, worst first. */
  static String health(ClusterStatus status) {
    if (status.damaged() > 0 || status.unavailable() > 0) {
      return "damaged";
    }
    if (!status.reportsIn()) {
      return "starting";
    }
    boolean whole =
        status.underReplicated() == 0 && status.nodesDead() == 0 && status.nodesSilent() == 0;
    return whole ? "healthy" : "degraded";
  }

  private static Map<String, Object> json(ClusterStatus status, String health) {
    return Json.object(
        "clusterId", status.clusterId(),
        "health", health,
        "version", status.version(),
        "leader", status.leader().name(),
        "term", status.term(),
        "logIndex", status.logIndex(),
        "upMillis", status.upMillis(),
        "reportsIn", status.reportsIn(),
        "nodesLive", status.nodesLive(),
        "nodesSilent", status.nodesSilent(),
        "nodesDraining", status.nodesDraining(),
        "nodesDead", status.nodesDead(),
        "usedBytes", status.usedBytes(),
        "totalBytes", status.totalBytes(),
        "files", status.files(),
        "folders", status.folders(),
        "chunks", status.chunks(),
        "replicas", status.replicas(),
        "underReplicated", status.underReplicated(),
        "stale", status.stale(),
        "damaged", status.damaged(),
        "unavailable", status.unavailable(),
        "leasesHeld", status.leasesHeld(),
        "trashEntries", status.trashEntries(),
        "quarantined", status.quarantined(),
        "lastReassignment", status.lastReassignment().map(EventRows::json).orElse(null));
  }

  private static String text(ClusterStatus s, String health) {
    return String.format(
        "cluster  %s  %s   version %s   up %s%n"
            + "master   %s (term %d)  log index %d%n"
            + "nodes    %d live%s, %d draining, %d dead   their disks: %s used of %s%n"
            + "files    %d    folders %d    chunks %d    trash %d%n"
            + "replicas %d    under-replicated %d  stale %d  damaged %d  unavailable %d%n"
            + "leases   %d held%s%s%s",
        s.clusterId(),
        health,
        s.version(),
        Quantities.duration(s.upMillis() * 1_000_000),
        s.leader(),
        s.term(),
        s.logIndex(),
        s.nodesLive(),
        s.nodesSilent() == 0 ? "" : ", " + s.nodesSilent() + " silent",
        s.nodesDraining(),
        s.nodesDead(),
        Quantities.human(s.usedBytes()),
        Quantities.human(s.totalBytes()),
        s.files(),
        s.folders(),
        s.chunks(),
        s.trashEntries(),
        s.replicas(),
        s.underReplicated(),
        s.stale(),
        s.damaged(),
        s.unavailable(),
        s.leasesHeld(),
        s.lastReassignment().map(StatusVerb::reassignment).orElse(""),
        quarantined(s.quarantined()),
        next(health));
  }

  private static String quarantined(long copies) {
    return copies == 0
        ? ""
        : System.lineSeparator()
            + "quarantine "
            + Quantities.count(copies, "copy", "copies")
            + " that the log does not count: see 'leasefs quarantine ls'";
  }

  /** What to look at next, on a line of its own. */
  private static String next(String health) {
    return switch (health) {
      case "damaged", "degraded" ->
          System.lineSeparator()
              + health
              + ": see 'leasefs fsck' for files, 'leasefs node ls' for servers,"
              + " 'leasefs why PATH' for what it waits for";
      default -> "";
    };
  }

  private static String reassignment(ClusterEvent event) {
    return "   last reassignment: chunk "
        + event.chunk().map(Object::toString).orElse("?")
        + " to "
        + event.subject().map(Object::toString).orElse("?")
        + ", version "
        + event.version()
        + ", at "
        + Quantities.timeOfDay(event.wallMillis());
  }
}
