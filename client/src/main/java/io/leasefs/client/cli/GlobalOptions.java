package io.leasefs.client.cli;

import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Option;
import picocli.CommandLine.ScopeType;

/** Options that every verb takes, before or after its name. */
final class GlobalOptions {
  @Option(
      names = {"-m", "--master"},
      paramLabel = "HOST:PORT",
      split = ",",
      scope = ScopeType.INHERIT,
      description = "Masters to ask. Default: $LEASEFS_MASTER, then the context.")
  List<String> masters = new ArrayList<>();

  @Option(
      names = "--context",
      paramLabel = "NAME",
      scope = ScopeType.INHERIT,
      description = "Cluster by its name in the configuration file.")
  @Nullable String context;

  @Option(
      names = {"-o", "--output"},
      paramLabel = "FORMAT",
      scope = ScopeType.INHERIT,
      description = "One of: ${COMPLETION-CANDIDATES}.")
  @Nullable OutputFormat output;

  @Option(
      names = "--json",
      scope = ScopeType.INHERIT,
      description = "The same as -o json; JSON lines for streams.")
  boolean json;

  @Option(
      names = {"-q", "--quiet"},
      scope = ScopeType.INHERIT,
      description = "No progress, no summaries.")
  boolean quiet;

  @Option(
      names = {"-v", "--verbose"},
      scope = ScopeType.INHERIT,
      description = "More on what was tried; twice: still more.")
  boolean[] verbose = new boolean[0];

  @Option(
      names = "--timeout",
      paramLabel = "DURATION",
      scope = ScopeType.INHERIT,
      description = "Longest wait without progress, 0 = none. Default: 30s.")
  @Nullable String timeout;

  @Option(
      names = "--deadline",
      paramLabel = "DURATION",
      scope = ScopeType.INHERIT,
      description = "Longest time for the whole command, 0 = none. Default: 0.")
  @Nullable String deadline;

  @Option(
      names = "--progress",
      paramLabel = "WHEN",
      scope = ScopeType.INHERIT,
      description = "One of: ${COMPLETION-CANDIDATES}. Default: AUTO.")
  Progress.When progress = Progress.When.AUTO;

  @Option(names = "--no-color", scope = ScopeType.INHERIT, description = "No colour.")
  boolean noColor;

  @Option(
      names = "--yes",
      scope = ScopeType.INHERIT,
      description = "Do not ask before something is destroyed.")
  boolean yes;

  @Option(
      names = "--trace",
      scope = ScopeType.INHERIT,
      description = "Print the stack trace of an error; every event of a simulation.")
  boolean trace;
}
