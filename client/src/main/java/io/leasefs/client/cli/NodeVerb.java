package io.leasefs.client.cli;

import io.leasefs.common.api.AdminApi;
import io.leasefs.common.api.AdminApi.NodeState;
import io.leasefs.common.api.AdminApi.NodeStatus;
import io.leasefs.common.error.ErrorCode;
import io.leasefs.common.error.LeaseFsException;
import io.leasefs.common.model.ServerId;
import java.util.Locale;
import java.util.Map;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** {@code leasefs node ls|get|drain|undrain|rm}. */
@Command(
    description = "Chunkservers: look, empty, take back, forget.",
    subcommands = {
      NodeVerb.Ls.class,
      NodeVerb.Get.class,
      NodeVerb.Drain.class,
      NodeVerb.Undrain.class,
      NodeVerb.Rm.class
    },
    footer = {"", "Examples:", "  leasefs node ls", "  leasefs node drain cs2 --wait"})
final class NodeVerb extends VerbGroup {
  private static Map<String, Object> json(NodeStatus node) {
    return Json.object(
        "node", node.server().name(),
        "state", node.state().name().toLowerCase(Locale.ROOT),
        "address", node.address().toString(),
        "internalAddress", node.endpoints().internal().toString(),
        "externalAddress", node.endpoints().external().toString(),
        "rack", node.rack(),
        "session", node.session().toString(),
        "incarnation", node.incarnation(),
        "silentNanos", node.silentNanos(),
        "leaseLeftNanos", node.leaseLeftNanos(),
        "leases", node.leases(),
        "replicas", node.replicas(),
        "freeBytes", node.freeBytes(),
        "totalBytes", node.totalBytes(),
        "disks", node.disks().stream().map(Object::toString).toList());
  }

  static NodeStatus find(Verb verb, String name) {
    ServerId id = new ServerId(name);
    for (NodeStatus node : verb.await(verb.client().admin().nodes())) {
      if (node.server().equals(id)) {
        return node;
      }
    }
    throw new LeaseFsException(
        ErrorCode.NOT_FOUND, "no node named '" + name + "'", "see them with 'leasefs node ls'");
  }

  @Command(
      name = "ls",
      description = "List the chunkservers.",
      footer = {"", "Examples:", "  leasefs node ls", "  leasefs node ls -o wide"})
  static final class Ls extends Verb {
    @Override
    protected int run() {
      Listing listing =
          out()
              .listing(
                  "NODE",
                  "STATE",
                  "ADDRESS",
                  "RACK",
                  ">LEASES",
                  ">REPLICAS",
                  ">FREE",
                  ">LAST SEEN",
                  "+SESSION",
                  "+INCARNATION");
      for (NodeStatus node : await(client().admin().nodes())) {
        listing.add(
            node.server().name(),
            json(node),
            node.server().name(),
            node.state().name().toLowerCase(Locale.ROOT),
            node.address().toString(),
            node.rack(),
            Long.toString(node.leases()),
            Long.toString(node.replicas()),
            Quantities.human(node.freeBytes()),
            node.silentNanos() < 0 ? "never" : Quantities.duration(node.silentNanos()) + " ago",
            node.session().toString(),
            Long.toString(node.incarnation()));
      }
      listing.finish();
      return ExitCode.DONE;
    }
  }

  @Command(
      name = "get",
      description = "Show one chunkserver.",
      footer = {"", "Examples:", "  leasefs node get cs1", "  leasefs node get cs1 --json"})
  static final class Get extends Verb {
    @Parameters(paramLabel = "NODE", description = "Name of the node.")
    private String name = "";

    @Override
    protected int run() {
      Map<String, Object> object = json(find(this, name));
      out().answer(object, HumanValues.lines(object));
      return ExitCode.DONE;
    }
  }

  @Command(
      name = "drain",
      description = "Move leases and copies away from a chunkserver; it takes no new ones.",
      footer = {
        "",
        "Examples:",
        "  leasefs node drain cs2",
        "  leasefs node drain cs2 --wait --timeout 10m"
      })
  static final class Drain extends Verb {
    @Option(names = "--wait", description = "Until nothing is left on it.")
    private boolean wait;

    @Parameters(paramLabel = "NODE", description = "Name of the node.")
    private String name = "";

    @Override
    protected int run() {
      find(this, name);
      await(client().admin().drain(new ServerId(name), false));
      if (wait) {
        waiting("node " + name + " to be drained")
            .until(
                () -> find(this, name).state() == NodeState.DRAINED,
                () -> ", " + left(find(this, name)),
                "'leasefs why PATH' tells what a file's copies wait for; it goes on meanwhile");
      }
      AdminApi.NodeStatus node = find(this, name);
      out()
          .answer(
              json(node),
              node.state() == NodeState.DRAINED
                  ? name + " is drained"
                  : name
                      + " is being drained, "
                      + left(node)
                      + ": 'leasefs node ls' shows how far it is");
      return ExitCode.DONE;
    }

    private static String left(NodeStatus node) {
      return Quantities.count(node.replicas(), "replica is", "replicas are") + " left";
    }
  }

  @Command(
      name = "undrain",
      description = "Take a drained chunkserver back.",
      footer = {"", "Examples:", "  leasefs node undrain cs2", "  leasefs node undrain cs2 --json"})
  static final class Undrain extends Verb {
    @Parameters(paramLabel = "NODE", description = "Name of the node.")
    private String name = "";

    @Override
    protected int run() {
      find(this, name);
      await(client().admin().drain(new ServerId(name), true));
      out().answer(json(find(this, name)), name + " takes chunks again");
      return ExitCode.DONE;
    }
  }

  @Command(
      name = "rm",
      description = "Forget a dead or drained chunkserver.",
      footer = {"", "Examples:", "  leasefs node rm cs2 --yes", "  leasefs node rm cs2 --dry-run"})
  static final class Rm extends Verb {
    @Option(names = "--dry-run", description = "Only say what would be done.")
    private boolean dryRun;

    @Parameters(paramLabel = "NODE", description = "Name of the node.")
    private String name = "";

    @Override
    protected int run() {
      AdminApi.NodeStatus node = find(this, name);
      if (dryRun) {
        out()
            .answer(
                Json.object("wouldRemove", name, "replicas", node.replicas()),
                "would forget "
                    + name
                    + ", which has "
                    + Quantities.count(node.replicas(), "replica", "replicas"));
        return ExitCode.DONE;
      }
      confirm("forget node " + name);
      try {
        await(client().admin().removeNode(node.server()));
      } catch (LeaseFsException e) {
        throw e.hint() == null && node.state() != NodeState.DEAD
            ? e.hinting(
                "empty it first: 'leasefs node drain " + name + " --wait', or stop it for good")
            : e;
      }
      out().answer(Json.object("removed", name), name + " is forgotten");
      return ExitCode.DONE;
    }
  }
}
