package io.leasefs.client.cli;

import io.leasefs.client.CreateOptions;
import io.leasefs.client.FileReader;
import io.leasefs.common.error.ErrorCode;
import io.leasefs.common.error.LeaseFsException;
import io.leasefs.common.model.FilePath;
import io.leasefs.common.model.FileStatus;
import java.nio.channels.Channels;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** {@code leasefs cp}. */
@Command(
    description = "Copy files and folders inside the cluster.",
    footer = {"", "Examples:", "  leasefs cp /a /b", "  leasefs cp -r /www /www-old"})
final class CpVerb extends Verb {
  @Option(names = "-r", description = "Folders with all that is in them.")
  private boolean recursive;

  @Option(names = "-f", description = "Replace existing files.")
  private boolean force;

  @Parameters(paramLabel = "PATH", arity = "2..*", description = "Sources, then the target.")
  private List<String> paths = new ArrayList<>();

  private @Nullable Puts puts;

  @Override
  protected int run() throws Exception {
    FilePath target = FilePath.parse(paths.get(paths.size() - 1));
    List<String> sources = paths.subList(0, paths.size() - 1);
    Optional<FileStatus> there = client().find(target.text());
    boolean intoFolder = there.isPresent() && there.get().folder();
    if (sources.size() > 1 && !intoFolder) {
      throw new LeaseFsException(
          ErrorCode.NOT_A_DIRECTORY, target + ": not a folder, and there are several sources");
    }
    puts = new Puts(client());
    return each(
        sources,
        source ->
            copy(client().stat(source.text()), intoFolder ? target.child(source.name()) : target));
  }

  private void copy(FileStatus source, FilePath target) throws Exception {
    if (!source.folder()) {
      copyFile(source, target);
      return;
    }
    if (!recursive) {
      throw new LeaseFsException(
          ErrorCode.IS_A_DIRECTORY, source.path() + ": is a folder", "pass -r to copy it whole");
    }
    if (target.isWithin(source.path())) {
      throw new LeaseFsException(
          ErrorCode.INVALID_ARGUMENT, target + ": lies in " + source.path() + " itself");
    }
    FileStatus unused = client().mkdir(target.text(), true, source.mode());
    List<FileStatus> children = new ArrayList<>();
    client().list(source.path().text()).forEachRemaining(children::add);
    for (FileStatus child : children) {
      copy(child, target.child(child.path().name()));
    }
  }

  private void copyFile(FileStatus source, FilePath target) throws Exception {
    CreateOptions options =
        CreateOptions.DEFAULT
            .withReplication(source.replication())
            .withChunkBytes(source.chunkBytes())
            .withDurability(source.durability())
            .withMode(source.mode());
    try (Progress progress = progress("cp " + target, source.lengthBytes());
        FileReader reader = client().open(source.path().text())) {
      java.util.Objects.requireNonNull(puts)
          .put(
              Channels.newChannel(reader.stream()),
              target.text(),
              options,
              force,
              Optional.empty(),
              progress::add);
      progress.finish("");
      if (out().isJson()) {
        out().answer(FileRows.json(client().stat(target.text())), "");
      }
    }
  }
}
