package io.leasefs.cluster;

import io.leasefs.client.cli.Cli;
import io.leasefs.client.cli.Streams;
import io.leasefs.client.cli.VerbCatalogue;
import io.leasefs.client.cli.VerbCatalogue.Group;
import java.lang.reflect.InvocationTargetException;
import java.util.Arrays;
import java.util.Map;

/** The program {@code leasefs}: one verb a run. */
public final class LeaseFsMain {
  /**
   * Mains of the services. They have settings, not options, and read them themselves. By name, so
   * that a short verb loads nothing of them.
   */
  private static final Map<String, String> SERVICES =
      Map.of(
          "master", "io.leasefs.master.MasterMain",
          "chunkserver", "io.leasefs.chunkserver.ChunkServerMain");

  private LeaseFsMain() {}

  public static void main(String[] arguments) throws Exception {
    String service = arguments.length == 0 ? null : SERVICES.get(arguments[0]);
    if (service != null) {
      runService(service, Arrays.copyOfRange(arguments, 1, arguments.length));
      return;
    }
    System.exit(cli(Streams.ofProcess()).run(arguments));
  }

  /** All verbs, reading and writing these streams. */
  public static Cli cli(Streams streams) {
    VerbCatalogue catalogue = VerbCatalogue.ofClient();
    catalogue.add(Group.SERVICES, "master", "io.leasefs.cluster.cli.ServiceVerb$MasterVerb");
    catalogue.add(
        Group.SERVICES, "chunkserver", "io.leasefs.cluster.cli.ServiceVerb$ChunkServerVerb");
    catalogue.add(Group.SERVICES, "mini", "io.leasefs.cluster.cli.MiniVerb");
    catalogue.add(Group.TOOLS, "demo", "io.leasefs.cluster.cli.DemoVerb");
    catalogue.add(Group.TOOLS, "simulate", "io.leasefs.cluster.cli.SimulateVerb");
    catalogue.add(Group.TOOLS, "torture", "io.leasefs.cluster.cli.TortureVerb");
    catalogue.add(Group.TOOLS, "bench", "io.leasefs.cluster.cli.BenchVerb");
    return new Cli(catalogue, streams);
  }

  private static void runService(String main, String[] arguments) throws Exception {
    try {
      Class.forName(main).getMethod("main", String[].class).invoke(null, (Object) arguments);
    } catch (InvocationTargetException e) {
      if (e.getCause() instanceof Exception cause) {
        throw cause;
      }
      throw e;
    }
  }
}
