package io.leasefs.client.cli;

import io.leasefs.client.CreateOptions;
import io.leasefs.client.FileWriter;
import io.leasefs.common.error.ErrorCode;
import io.leasefs.common.error.LeaseFsException;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** {@code leasefs append}. */
@Command(
    description = "Append a local file or standard input to a file.",
    footer = {
      "",
      "Examples:",
      "  leasefs append more.log /logs/web.log",
      "  tail -f web.log | leasefs append - /logs/web.log"
    })
final class AppendVerb extends Verb {
  @Option(names = "--create", description = "Make the file where there is none.")
  private boolean create;

  @Parameters(index = "0", paramLabel = "SRC", description = "Local file, or '-'.")
  private String source = "";

  @Parameters(index = "1", paramLabel = "DST", description = "A file of the cluster.")
  private String target = "";

  @Override
  protected int run() throws IOException {
    boolean piped = source.equals("-");
    try (InputStream in = piped ? streams().in() : Files.newInputStream(Path.of(source));
        Progress progress = progress("append " + target, piped ? -1 : Files.size(Path.of(source)));
        FileWriter writer = open()) {
      long written = Puts.copy(in, writer, progress::add);
      writer.flush();
      progress.finish("");
      if (out().isJson()) {
        out().answer(Json.object("path", target, "appendedBytes", written), "");
      }
    } catch (NoSuchFileException e) {
      throw new LeaseFsException(
          ErrorCode.NOT_FOUND, source + ": no such local file", "check the name", e);
    }
    return ExitCode.DONE;
  }

  private FileWriter open() {
    try {
      return client().append(target);
    } catch (LeaseFsException e) {
      if (create && e.code() == ErrorCode.NOT_FOUND) {
        return client().create(target, CreateOptions.DEFAULT);
      }
      throw e;
    }
  }
}
