package io.leasefs.client.cli;

import io.leasefs.common.api.AdminApi.ClusterStatus;
import io.leasefs.common.error.ErrorCode;
import io.leasefs.common.error.LeaseFsException;
import io.leasefs.common.model.ChunkHandle;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;

/** {@code leasefs wait}. */
@Command(
    description = "Wait until the cluster is as wanted: exit 0, or 10 when the time is over.",
    footer = {
      "",
      "Examples:",
      "  leasefs wait --for nodes=4 --timeout 60s",
      "  leasefs wait --for healthy",
      "  leasefs wait --for chunk=0x51c:3   # three members"
    })
final class WaitVerb extends Verb {
  @Option(
      names = "--for",
      required = true,
      paramLabel = "WHAT",
      description = "leader, nodes=N, healthy, or chunk=CHUNK:N.")
  private String what = "";

  private String now = "no master answers";

  @Override
  protected int run() {
    check(false); // a wrong condition is told at once
    boolean so = waiting(what).within(() -> check(true));
    if (out().isJson()) {
      out().answer(Json.object("for", what, "reached", so), "");
    }
    if (!so) {
      note("leasefs: wait: '" + what + "' was not reached in time: " + now);
    }
    return so ? ExitCode.DONE : ExitCode.CHECK_FAILED;
  }

  private boolean check(boolean ask) {
    String key = what.contains("=") ? what.substring(0, what.indexOf('=')) : what;
    String value = what.substring(Math.min(what.length(), key.length() + 1));
    return switch (key) {
      case "leader" -> ask && reachable();
      case "healthy" -> {
        if (!ask || !reachable()) {
          yield false;
        }
        String health = StatusVerb.health(status());
        now = "it is " + health;
        yield health.equals("healthy");
      }
      case "nodes" -> {
        int wanted = number(value);
        if (!ask || !reachable()) {
          yield false;
        }
        int live = status().nodesLive();
        now = Quantities.count(live, "node is", "nodes are") + " live";
        yield live >= wanted;
      }
      case "chunk" -> {
        int colon = value.lastIndexOf(':');
        if (colon < 0) {
          throw unknown();
        }
        int wanted = number(value.substring(colon + 1));
        ChunkHandle chunk = ChunkHandle.parse(value.substring(0, colon));
        if (!ask) {
          yield false;
        }
        int members =
            await(client().admin().chunk(chunk)).layout().configuration().members().size();
        now = "it has " + Quantities.count(members, "member", "members");
        yield members >= wanted;
      }
      default -> throw unknown();
    };
  }

  private ClusterStatus status() {
    return await(client().admin().status());
  }

  private boolean reachable() {
    try {
      status();
      return true;
    } catch (LeaseFsException e) {
      if (e.code().exitCode() == 6) {
        return false;
      }
      throw e;
    }
  }

  private int number(String text) {
    try {
      return Integer.parseInt(text);
    } catch (NumberFormatException e) {
      throw unknown();
    }
  }

  private LeaseFsException unknown() {
    return new LeaseFsException(
        ErrorCode.INVALID_ARGUMENT,
        "not a condition: '" + what + "'",
        "one of: leader, nodes=N, healthy, chunk=CHUNK:N");
  }
}
