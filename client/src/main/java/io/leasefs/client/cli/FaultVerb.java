package io.leasefs.client.cli;

import io.leasefs.common.api.AdminApi.NodeStatus;
import io.leasefs.common.error.ErrorCode;
import io.leasefs.common.error.LeaseFsException;
import java.util.ArrayList;
import java.util.List;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** {@code leasefs fault ls|cut|delay|heal|kill|freeze|slow-disk|full-disk}. */
@Command(
    description = "Have chunkservers fail on purpose, where they were started to allow it.",
    subcommands = {
      FaultVerb.Ls.class,
      FaultVerb.Cut.class,
      FaultVerb.Delay.class,
      FaultVerb.Heal.class,
      FaultVerb.Kill.class,
      FaultVerb.Freeze.class,
      FaultVerb.SlowDisk.class,
      FaultVerb.FullDisk.class
    },
    footer = {
      "",
      "Examples:",
      "  leasefs fault cut cs2 master --yes",
      "  leasefs fault ls",
      "  leasefs fault heal"
    })
final class FaultVerb extends VerbGroup {
  private static final String PARTY = "Name of another node, or: master, clients.";
  private static final String WAY = "in, out or both, as the node sees it. Default: both.";

  /** What all orders to one node share. */
  abstract static class Order extends Verb {
    @Option(names = "--dry-run", description = "Only say what would be done.")
    private boolean dryRun;

    @Parameters(index = "0", paramLabel = "NODE", description = "Name of the node.")
    private String name = "";

    abstract String command();

    List<String> arguments() {
      return List.of();
    }

    @Override
    protected int run() {
      NodeStatus node = NodeVerb.find(this, name);
      String order = (command() + " " + String.join(" ", arguments())).strip();
      if (dryRun) {
        out()
            .answer(Json.object("node", name, "would", order), "would tell " + name + ": " + order);
        return ExitCode.DONE;
      }
      confirm("tell " + name + ": " + order);
      List<String> on = await(client().chunkServer(node.address()).fault(command(), arguments()));
      out().answer(Json.object("node", name, "told", order, "faults", on), "");
      return ExitCode.DONE;
    }
  }

  /** The named nodes, or all. */
  private static List<NodeStatus> nodes(Verb verb, List<String> names) {
    if (names.isEmpty()) {
      return verb.await(verb.client().admin().nodes());
    }
    List<NodeStatus> nodes = new ArrayList<>();
    names.forEach(name -> nodes.add(NodeVerb.find(verb, name)));
    return nodes;
  }

  /** What a node says to the command, or why it says nothing. */
  private static String answer(Verb verb, NodeStatus node, String command) {
    try {
      List<String> on =
          verb.await(verb.client().chunkServer(node.address()).fault(command, List.of()));
      return on.isEmpty() ? "none" : String.join(", ", on);
    } catch (LeaseFsException e) {
      if (e.code() == ErrorCode.PERMISSION) {
        return "not allowed";
      }
      if (e.code() == ErrorCode.UNREACHABLE || e.code() == ErrorCode.TIMED_OUT) {
        return "does not answer";
      }
      throw e;
    }
  }

  private static void table(Verb verb, List<String> names, String command) {
    Listing listing = verb.out().listing("NODE", "FAULTS");
    for (NodeStatus node : nodes(verb, names)) {
      String answer = answer(verb, node, command);
      listing.add(
          node.server().name(),
          Json.object("node", node.server().name(), "faults", answer),
          node.server().name(),
          answer);
    }
    listing.finish();
  }

  @Command(
      name = "ls",
      description = "List the faults that are on.",
      footer = {"", "Examples:", "  leasefs fault ls", "  leasefs fault ls cs2 --json"})
  static final class Ls extends Verb {
    @Parameters(paramLabel = "NODE", arity = "0..*", description = "Names. Default: all nodes.")
    private List<String> names = List.of();

    @Override
    protected int run() {
      table(this, names, "ls");
      return ExitCode.DONE;
    }
  }

  @Command(
      name = "heal",
      description = "End all faults.",
      footer = {"", "Examples:", "  leasefs fault heal", "  leasefs fault heal cs2 --json"})
  static final class Heal extends Verb {
    @Parameters(paramLabel = "NODE", arity = "0..*", description = "Names. Default: all nodes.")
    private List<String> names = List.of();

    @Override
    protected int run() {
      table(this, names, "heal");
      return ExitCode.DONE;
    }
  }

  @Command(
      name = "cut",
      description = "Lose all messages between a node and somebody.",
      footer = {
        "",
        "Examples:",
        "  leasefs fault cut cs2 master --yes",
        "  leasefs fault cut cs2 cs3 out --yes",
        "  leasefs fault cut cs2 clients in --yes"
      })
  static final class Cut extends Order {
    @Parameters(index = "1", paramLabel = "PARTY", description = PARTY)
    private String party = "";

    @Parameters(index = "2", arity = "0..1", paramLabel = "WAY", description = WAY)
    private String way = "both";

    @Override
    String command() {
      return "cut";
    }

    @Override
    List<String> arguments() {
      return List.of(party, way);
    }
  }

  @Command(
      name = "delay",
      description = "Have all messages between a node and somebody take longer.",
      footer = {
        "",
        "Examples:",
        "  leasefs fault delay cs2 master 500ms --yes",
        "  leasefs fault delay cs2 cs3 50ms out --yes",
        "  leasefs fault heal cs2"
      })
  static final class Delay extends Order {
    @Parameters(index = "1", paramLabel = "PARTY", description = PARTY)
    private String party = "";

    @Parameters(
        index = "2",
        paramLabel = "DURATION",
        description = "Such as 200ms, for each message; 0ms ends it.")
    private String duration = "";

    @Parameters(index = "3", arity = "0..1", paramLabel = "WAY", description = WAY)
    private String way = "both";

    @Override
    String command() {
      return "delay";
    }

    @Override
    List<String> arguments() {
      return List.of(party, millis(duration), way);
    }
  }

  private static String millis(String duration) {
    return Long.toString(Quantities.parseDuration(duration) / 1_000_000);
  }

  @Command(
      name = "kill",
      description = "End a chunkserver as SIGKILL does.",
      footer = {
        "",
        "Examples:",
        "  leasefs fault kill cs2 --yes",
        "  leasefs fault kill cs2 --dry-run"
      })
  static final class Kill extends Order {
    @Override
    String command() {
      return "kill";
    }
  }

  /** An order that takes a time. */
  abstract static class Timed extends Order {
    @Parameters(index = "1", paramLabel = "DURATION", description = "Such as 200ms or 12s.")
    private String duration = "";

    @Override
    List<String> arguments() {
      return List.of(millis(duration));
    }
  }

  @Command(
      name = "freeze",
      description = "Have a chunkserver stand still as a whole, and go on after a while.",
      footer = {
        "",
        "Examples:",
        "  leasefs fault freeze cs2 12s --yes",
        "  leasefs fault freeze cs2 500ms --yes"
      })
  static final class Freeze extends Timed {
    @Override
    String command() {
      return "freeze";
    }
  }

  @Command(
      name = "slow-disk",
      description = "Have each write and flush of a chunkserver's disk take longer.",
      footer = {
        "",
        "Examples:",
        "  leasefs fault slow-disk cs2 200ms --yes",
        "  leasefs fault heal cs2"
      })
  static final class SlowDisk extends Timed {
    @Override
    String command() {
      return "slow-disk";
    }
  }

  @Command(
      name = "full-disk",
      description = "Have a chunkserver's disk refuse all writes, as if it were full.",
      footer = {"", "Examples:", "  leasefs fault full-disk cs2 --yes", "  leasefs fault heal cs2"})
  static final class FullDisk extends Order {
    @Override
    String command() {
      return "full-disk";
    }
  }
}
