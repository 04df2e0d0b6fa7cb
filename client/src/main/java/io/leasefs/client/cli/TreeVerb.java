package io.leasefs.client.cli;

import io.leasefs.common.model.FilePath;
import io.leasefs.common.model.FileStatus;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** {@code leasefs tree}. */
@Command(
    description = "Show a folder and all below it as a tree.",
    footer = {"", "Examples:", "  leasefs tree /", "  leasefs tree -L 2 -h /logs"})
final class TreeVerb extends Verb {
  @Option(names = "-L", paramLabel = "DEPTH", description = "So many levels at the most.")
  private int depth = Integer.MAX_VALUE;

  @Option(names = "-h", description = "Sizes in KiB, MiB, GiB.")
  private boolean human;

  @Parameters(paramLabel = "PATH", arity = "0..1", description = "Default: /", defaultValue = "/")
  private String path = "/";

  private long files;
  private long folders;

  @Override
  protected int run() {
    FileStatus top = client().stat(path);
    if (out().isJson()) {
      out().answer(object(top, 0), "");
      return ExitCode.DONE;
    }
    out().line(top.path().text());
    print(top.path(), "", 0);
    note(
        Quantities.count(folders, "folder", "folders")
            + ", "
            + Quantities.count(files, "file", "files"));
    return ExitCode.DONE;
  }

  private List<FileStatus> children(FilePath folder) {
    List<FileStatus> children = new ArrayList<>();
    client().list(folder.text()).forEachRemaining(children::add);
    return children;
  }

  private void print(FilePath folder, String indent, int level) {
    if (level >= depth) {
      return;
    }
    List<FileStatus> children = children(folder);
    for (int i = 0; i < children.size(); i++) {
      FileStatus child = children.get(i);
      boolean last = i == children.size() - 1;
      out()
          .line(
              indent
                  + (last ? "└── " : "├── ")
                  + child.path().name()
                  + (child.folder() ? "/" : "  " + FileRows.size(child, human)));
      if (child.folder()) {
        folders++;
        print(child.path(), indent + (last ? "    " : "│   "), level + 1);
      } else {
        files++;
      }
    }
  }

  private Map<String, Object> object(FileStatus status, int level) {
    Map<String, Object> object = FileRows.json(status);
    if (status.folder() && level < depth) {
      List<Object> below = new ArrayList<>();
      for (FileStatus child : children(status.path())) {
        below.add(object(child, level + 1));
      }
      object.put("children", below);
    }
    return object;
  }
}
