package io.leasefs.client.cli;

import io.leasefs.client.CreateOptions;
import io.leasefs.client.RecordAppender;
import io.leasefs.common.error.ErrorCode;
import io.leasefs.common.error.LeaseFsException;
import io.leasefs.common.model.AppendResult;
import io.leasefs.common.model.FileStatus;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.ArrayDeque;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** {@code leasefs record}. */
@Command(
    description = "Append records, each whole and exactly once, and print where they are.",
    footer = {
      "",
      "Examples:",
      "  leasefs record event.json /logs/events",
      "  printf 'a\\nb\\n' | leasefs record --per-line - /logs/events"
    })
final class RecordVerb extends Verb {
  private static final int UNDER_WAY = 64;

  @Option(names = "--per-line", description = "Each line, with its end, is a record.")
  private boolean perLine;

  @Option(names = "--create", description = "Make the file where there is none.")
  private boolean create;

  @Parameters(index = "0", paramLabel = "SRC", description = "Local file, or '-'.")
  private String source = "";

  @Parameters(index = "1", paramLabel = "DST", description = "A file of the cluster.")
  private String target = "";

  private record Sent(int length, CompletableFuture<AppendResult> result) {}

  private final ArrayDeque<Sent> underWay = new ArrayDeque<>();
  private long number;

  @Override
  protected int run() throws IOException {
    try (InputStream in =
            source.equals("-") ? streams().in() : Files.newInputStream(Path.of(source));
        RecordAppender appender = open()) {
      for (byte @Nullable [] record = next(in); record != null; record = next(in)) {
        if (record.length > RecordAppender.MAX_RECORD_BYTES) {
          throw new LeaseFsException(
              ErrorCode.RECORD_TOO_LARGE,
              "a record of more than 1 MiB",
              "split it, or use 'leasefs append'");
        }
        if (underWay.size() >= UNDER_WAY) {
          tellFirst();
        }
        underWay.add(new Sent(record.length, appender.appendAsync(ByteBuffer.wrap(record))));
      }
      while (!underWay.isEmpty()) {
        tellFirst();
      }
    } catch (NoSuchFileException e) {
      throw new LeaseFsException(
          ErrorCode.NOT_FOUND, source + ": no such local file", "check the name", e);
    }
    return ExitCode.DONE;
  }

  private RecordAppender open() {
    try {
      return client().recordAppender(target);
    } catch (LeaseFsException e) {
      if (create && e.code() == ErrorCode.NOT_FOUND) {
        // without a chunk: the first record makes it
        FileStatus unused =
            client().touch(target, CreateOptions.DEFAULT, System.currentTimeMillis());
        return client().recordAppender(target);
      }
      throw e;
    }
  }

  /** The next record; null at the end. */
  private byte @Nullable [] next(InputStream in) throws IOException {
    if (!perLine) {
      if (number > 0 || !underWay.isEmpty()) {
        return null;
      }
      return in.readNBytes(RecordAppender.MAX_RECORD_BYTES + 1);
    }
    ByteArrayOutputStream line = new ByteArrayOutputStream();
    int b;
    while ((b = in.read()) >= 0) {
      line.write(b);
      if (b == '\n' || line.size() > RecordAppender.MAX_RECORD_BYTES) {
        break;
      }
    }
    return line.size() == 0 ? null : line.toByteArray();
  }

  private void tellFirst() {
    Sent sent = underWay.remove();
    AppendResult result = await(sent.result());
    out()
        .event(
            Json.object(
                "number", number,
                "path", target,
                "fileOffset", result.fileOffset(),
                "lengthBytes", sent.length(),
                "chunk", result.chunk().toString(),
                "chunkOffset", result.chunkOffset(),
                "version", result.version(),
                "serial", result.serial(),
                "sequence", result.sequence()),
            String.format(
                "%-6d %s  chunk %s  offset %-10d %d B  seq %d",
                number,
                target,
                result.chunk(),
                result.fileOffset(),
                sent.length(),
                result.sequence()));
    number++;
  }
}
