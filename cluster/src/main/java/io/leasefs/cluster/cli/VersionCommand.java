package io.leasefs.cluster.cli;

import io.leasefs.server.admin.JsonLine;
import java.io.PrintWriter;
import java.util.LinkedHashMap;
import java.util.Map;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/** {@code leasefs version}: of the program and of what runs it. */
@Command(
    name = "version",
    description = "Print the version of this program.",
    footer = {
      "",
      "Examples:",
      "  leasefs version",
      "  leasefs version --json",
      "",
      "Exit codes: 0 done, 2 wrong usage"
    })
public final class VersionCommand implements Runnable {
  @Spec
  @SuppressWarnings("NullAway.Init") // picocli sets it before run
  private CommandSpec spec;

  @Option(names = "--json", description = "Print one line of JSON.")
  private boolean json;

  @Override
  public void run() {
    CommandLine commandLine = spec.commandLine();
    PrintWriter out = commandLine.getOut();
    String version = VersionCommand.class.getPackage().getImplementationVersion();
    Map<String, Object> line = new LinkedHashMap<>();
    line.put("version", version == null ? "development" : version);
    line.put("java", Runtime.version().toString());
    if (json) {
      out.println(JsonLine.print(line));
    } else {
      out.println("leasefs " + line.get("version") + " (Java " + line.get("java") + ")");
    }
    out.flush();
  }
}
