package io.leasefs.client.cli;

import io.leasefs.common.model.FileStatus;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** {@code leasefs stat}. */
@Command(
    description = "Show all that is known of a file or folder.",
    footer = {
      "",
      "Examples:",
      "  leasefs stat /logs/web.log",
      "  leasefs stat --format '{path} {lengthBytes}' /logs/web.log",
      "  leasefs stat --json /logs"
    })
final class StatVerb extends Verb {
  @Option(
      names = "--format",
      paramLabel = "FMT",
      description = "Text with {key} for the keys of the JSON form.")
  private @Nullable String format;

  @Parameters(paramLabel = "PATH", arity = "1..*", description = "Files and folders.")
  private List<String> paths = new ArrayList<>();

  @Override
  protected int run() throws Exception {
    return each(
        paths,
        path -> {
          FileStatus status = client().stat(path.text());
          Map<String, Object> object = FileRows.json(status);
          if (format != null) {
            String text = format;
            for (Map.Entry<String, Object> entry : object.entrySet()) {
              text = text.replace("{" + entry.getKey() + "}", String.valueOf(entry.getValue()));
            }
            out().line(text);
            return;
          }
          out().answer(object, HumanValues.lines(object));
        });
  }
}
