package io.leasefs.client.cli;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.util.Properties;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;

/** {@code leasefs version}. */
@Command(
    description = "Version of this program, and of the cluster if asked.",
    footer = {
      "",
      "Examples:",
      "  leasefs version",
      "  leasefs version --check-cluster    # exit 10 where the two differ"
    })
public final class VersionVerb extends Verb {
  @Option(names = "--check-cluster", description = "Ask the master for its version too.")
  private boolean checkCluster;

  /** Version of this build. */
  static String version() {
    return property("version");
  }

  /** The commit that this build was made of; "unknown" where the build was not told. */
  public static String commit() {
    return property("commit");
  }

  private static String property(String name) {
    Properties properties = new Properties();
    try (InputStream in = VersionVerb.class.getResourceAsStream("/leasefs-version.properties")) {
      if (in != null) {
        properties.load(in);
      }
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
    String value = properties.getProperty(name, "unknown");
    return value.startsWith("${") ? "unknown" : value; // a build without Maven fills in nothing
  }

  /** This build in a line. */
  static String line() {
    return "leasefs " + version() + " (Java " + Runtime.version() + ")";
  }

  @Override
  protected int run() {
    String ours = version();
    if (!checkCluster) {
      out().answer(Json.object("version", ours, "java", Runtime.version().toString()), line());
      return ExitCode.DONE;
    }
    String theirs = client().greeting().version();
    out()
        .answer(
            Json.object("version", ours, "clusterVersion", theirs, "equal", ours.equals(theirs)),
            "leasefs " + ours + "\ncluster " + theirs);
    return ours.equals(theirs) ? ExitCode.DONE : ExitCode.CHECK_FAILED;
  }
}
