package io.leasefs.client.cli;

import io.leasefs.common.error.ErrorCode;
import io.leasefs.common.error.LeaseFsException;
import java.io.PrintWriter;
import java.nio.charset.StandardCharsets;
import java.nio.file.InvalidPathException;
import java.util.Arrays;
import java.util.Locale;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ExecutionException;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine;
import picocli.CommandLine.ParameterException;

/**
 * Runs one command line. Only the class of the verb that was asked for is loaded, so that a cold
 * start stays short; help and completion load all.
 */
public final class Cli {
  private final VerbCatalogue catalogue;
  private final Streams streams;

  public Cli(VerbCatalogue catalogue, Streams streams) {
    this.catalogue = catalogue;
    this.streams = streams;
  }

  /** Runs; never throws. */
  public int run(String... arguments) {
    CommandLine commandLine = commandLine(arguments);
    try {
      int exit = commandLine.execute(arguments);
      streams.out().flush();
      return exit;
    } catch (StandardOutput.ClosedPipeException e) {
      return ExitCode.CLOSED_PIPE;
    } catch (LeaseFsException e) {
      streams.err().println("leasefs: " + e.getMessage() + "\nhint: " + e.hint());
      return e.code().exitCode();
    } catch (java.io.IOException e) {
      streams.err().println("leasefs: standard output: " + e.getMessage());
      return ExitCode.FAILED;
    }
  }

  /** The whole tree: for help, completion and the test that walks it. */
  public CommandLine wholeTree() {
    return configure(catalogue.tree(new RootCommand(streams), null));
  }

  private CommandLine commandLine(String[] arguments) {
    String verb = firstVerb(arguments);
    return configure(catalogue.tree(new RootCommand(streams), verb));
  }

  /** The known verb among the arguments, if only that one has to be loaded. */
  private @Nullable String firstVerb(String[] arguments) {
    for (String argument : arguments) {
      if (argument.equals("help") || argument.equals("--help") || argument.equals("completion")) {
        return null;
      }
    }
    for (String argument : arguments) {
      if (catalogue.knows(argument)) {
        return argument;
      }
    }
    return null;
  }

  private CommandLine configure(CommandLine commandLine) {
    PrintWriter err = new PrintWriter(streams.err(), true, StandardCharsets.UTF_8);
    PrintWriter out = new PrintWriter(streams.out(), true, StandardCharsets.UTF_8);
    return commandLine
        .setOut(out)
        .setErr(err)
        .setCaseInsensitiveEnumValuesAllowed(true)
        .setAbbreviatedOptionsAllowed(false)
        .setUsageHelpAutoWidth(false)
        .setParameterExceptionHandler(this::badUsage)
        .setExecutionExceptionHandler(
            (error, at, parsed) -> failed(error, at.getCommandSpec().qualifiedName(), parsed));
  }

  private int badUsage(ParameterException error, String[] arguments) {
    BadUsage usage = BadUsage.of(error, catalogue.names());
    String where = error.getCommandLine().getCommandSpec().qualifiedName();
    String verb = where.replaceFirst("^leasefs ?", "");
    if (wantsJson(arguments)) {
      String hint = usage.similar() ? "did you mean: " + usage.hint() : usage.hint();
      new ErrorReport(new LeaseFsException(ErrorCode.INVALID_ARGUMENT, usage.message(), hint), verb)
          .print(streams.err(), true);
      return ExitCode.USAGE;
    }
    streams.err().println("leasefs: " + (verb.isEmpty() ? "" : verb + ": ") + usage.message());
    streams
        .err()
        .println(usage.similar() ? "Did you mean: " + usage.hint() + "?" : "hint: " + usage.hint());
    return ExitCode.USAGE;
  }

  /** The command line could not be read, so that it is looked at word by word. */
  private boolean wantsJson(String[] arguments) {
    String wanted = streams.environment().getOrDefault("LEASEFS_OUTPUT", "");
    for (int i = 0; i < arguments.length; i++) {
      if (arguments[i].equals("--json")) {
        return true;
      }
      if (arguments[i].startsWith("--output=")) {
        wanted = arguments[i].substring("--output=".length());
      } else if ((arguments[i].equals("-o") || arguments[i].equals("--output"))
          && i + 1 < arguments.length) {
        wanted = arguments[i + 1];
      }
    }
    return wanted.toLowerCase(Locale.ROOT).startsWith("json");
  }

  private int failed(Exception thrown, String qualifiedName, CommandLine.ParseResult parsed) {
    Throwable error = thrown;
    while ((error instanceof ExecutionException || error instanceof CompletionException)
        && error.getCause() != null) {
      error = error.getCause();
    }
    if (error instanceof StandardOutput.ClosedPipeException) {
      return ExitCode.CLOSED_PIPE;
    }
    String verb = qualifiedName.replaceFirst("^leasefs ?", "");
    RootCommand root = (RootCommand) parsed.commandSpec().root().userObject();
    boolean json = wantsJson(parsed.originalArgs().toArray(String[]::new));
    if (root.options.trace) {
      error.printStackTrace(streams.err());
    }
    LeaseFsException told = told(error);
    new ErrorReport(told, verb).print(streams.err(), json);
    return told.code().exitCode();
  }

  private static LeaseFsException told(Throwable error) {
    if (error instanceof LeaseFsException known) {
      return known;
    }
    if (error instanceof java.io.UncheckedIOException
        && error.getCause() instanceof java.io.IOException local) {
      return LocalFailure.of(local);
    }
    if (error instanceof java.io.IOException local) {
      return LocalFailure.of(local);
    }
    if (error instanceof InvalidPathException invalid) {
      return new LeaseFsException(
          ErrorCode.INVALID_ARGUMENT,
          "'" + invalid.getInput().replace("\0", "\\0") + "' is no path of a local file",
          "check the name",
          error);
    }
    return new LeaseFsException(
        ErrorCode.INTERNAL,
        "a bug: " + error,
        "run it again with --trace and report what it prints",
        error);
  }

  @Override
  public String toString() {
    return "Cli" + Arrays.toString(catalogue.names().toArray());
  }
}
