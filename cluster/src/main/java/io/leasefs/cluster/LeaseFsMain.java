package io.leasefs.cluster;

import io.leasefs.cluster.cli.VersionCommand;
import java.lang.reflect.InvocationTargetException;
import java.util.Arrays;
import java.util.Map;
import picocli.CommandLine;
import picocli.CommandLine.Command;

/** The program {@code leasefs}: one verb a run. */
@Command(
    name = "leasefs",
    description = "A distributed file system whose heart is the lease.",
    subcommands = VersionCommand.class,
    synopsisSubcommandLabel = "COMMAND")
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
    CommandLine commandLine = commandLine();
    if (arguments.length == 0) {
      commandLine.usage(System.out);
      System.exit(0);
    }
    System.exit(commandLine.execute(arguments));
  }

  /** All verbs but the services, ready to be executed. */
  static CommandLine commandLine() {
    return new CommandLine(new LeaseFsMain());
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
