package io.leasefs.cluster.cli;

import io.leasefs.client.cli.ExitCode;
import io.leasefs.client.cli.Json;
import io.leasefs.client.cli.Verb;
import io.leasefs.cluster.mini.RestartRequests;
import io.leasefs.common.error.ErrorCode;
import io.leasefs.common.error.LeaseFsException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.regex.Pattern;
import picocli.CommandLine.Command;
import picocli.CommandLine.Parameters;

/** {@code leasefs mini restart}. */
@Command(
    name = "restart",
    description = "Start a server of the mini-cluster in use again: one that has ended, or any.",
    footer = {"", "Examples:", "  leasefs mini restart cs2", "  leasefs mini restart master"})
final class MiniRestartVerb extends Verb {
  private static final Pattern NAME = Pattern.compile("master|cs[0-9]{1,2}");
  private static final long TAKEN_WITHIN_NANOS = 5_000_000_000L;
  private static final long LOOK_MILLIS = 20;

  @Parameters(paramLabel = "SERVER", description = "master, cs1, cs2, ...")
  private String server = "";

  @Override
  protected int run() throws Exception {
    if (!NAME.matcher(server).matches()) {
      throw new LeaseFsException(
          ErrorCode.INVALID_ARGUMENT,
          "SERVER: '" + server + "' cannot be one of a mini-cluster",
          "say master, cs1, cs2, ...");
    }
    Path folder =
        settings()
            .miniFolder()
            .map(Path::of)
            .filter(Files::isDirectory)
            .orElseThrow(
                () ->
                    new LeaseFsException(
                        ErrorCode.INVALID_ARGUMENT,
                        "the context in use is of no mini-cluster",
                        "start one with 'leasefs mini', or choose it with --context"));
    RestartRequests requests = new RestartRequests(folder);
    requests.ask(server);
    String why = answer(requests, folder);
    if (!why.isEmpty()) {
      throw new LeaseFsException(ErrorCode.UNREACHABLE, why, "see its log in " + folder + "/log");
    }
    out().answer(Json.object("server", server, "running", true), server + " runs again");
    return ExitCode.DONE;
  }

  private String answer(RestartRequests requests, Path folder) throws Exception {
    long begun = System.nanoTime();
    while (true) {
      Optional<String> answer = requests.answer(server);
      if (answer.isPresent()) {
        return answer.get();
      }
      if (System.nanoTime() - begun > TAKEN_WITHIN_NANOS && requests.cancel(server)) {
        throw new LeaseFsException(
            ErrorCode.UNREACHABLE,
            "nobody runs the mini-cluster in " + folder,
            "start it with 'leasefs mini --data " + folder + "'");
      }
      if (System.nanoTime() - begun > timeoutNanos() && timeoutNanos() > 0) {
        throw new LeaseFsException(
            ErrorCode.TIMED_OUT,
            server + " has not started yet; it is still being tried",
            "see its log in " + folder + "/log");
      }
      TimeUnit.MILLISECONDS.sleep(LOOK_MILLIS);
    }
  }
}
