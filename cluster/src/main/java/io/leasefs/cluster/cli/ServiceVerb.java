package io.leasefs.cluster.cli;

import io.leasefs.client.cli.ExitCode;
import io.leasefs.client.cli.Verb;
import java.util.ArrayList;
import java.util.List;
import picocli.CommandLine.Command;
import picocli.CommandLine.Parameters;

/**
 * The services as they show in help and completion. {@code LeaseFsMain} starts them before the
 * command line is parsed: they have settings of their own, listed by their own {@code --help}.
 */
public abstract class ServiceVerb extends Verb {
  @Parameters(paramLabel = "SETTING", description = "See 'leasefs <service> --help'.")
  private List<String> settings = new ArrayList<>();

  @Override
  protected int run() {
    out().line("put the name of the service first: leasefs master|chunkserver " + settings);
    return ExitCode.USAGE;
  }

  @Command(
      description = "Run a master; its settings are listed by 'leasefs master --help'.",
      footer = {
        "",
        "Examples:",
        "  leasefs master --id 1 --data /var/lib/leasefs/master",
        "  leasefs master --config conf/master.conf --lease-ttl 5s"
      })
  public static final class MasterVerb extends ServiceVerb {}

  @Command(
      description = "Run a chunkserver; its settings are listed by 'leasefs chunkserver --help'.",
      footer = {
        "",
        "Examples:",
        "  leasefs chunkserver --name cs1 --data /var/lib/leasefs/cs1 --master 127.0.0.1:9800",
        "  leasefs chunkserver --config conf/chunkserver.conf"
      })
  public static final class ChunkServerVerb extends ServiceVerb {}
}
