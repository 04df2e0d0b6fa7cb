package io.leasefs.client.cli;

import io.leasefs.client.CreateOptions;
import io.leasefs.client.FileReader;
import io.leasefs.common.error.ErrorCode;
import io.leasefs.common.error.LeaseFsException;
import io.leasefs.common.model.FilePath;
import io.leasefs.common.model.FileStatus;
import java.io.IOException;
import java.nio.channels.Channels;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.function.LongConsumer;
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

  @Parameters(
      paramLabel = "SRC... DST",
      arity = "2..*",
      hideParamSyntax = true,
      description = "The target may be a folder.")
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
    List<Job> jobs = new ArrayList<>();
    collect(source, target, jobs);
    long total = jobs.stream().mapToLong(job -> job.source.lengthBytes()).sum();
    List<String> failed;
    try (Progress progress = progress("cp " + target, total)) {
      failed = ManyFiles.copy(jobs, progress);
      progress.finish(Quantities.count(jobs.size() - failed.size(), "file", "files"));
    }
    if (out().isJson()) {
      out()
          .answer(
              Json.object(
                  "path",
                  target.text(),
                  "files",
                  jobs.size() - failed.size(),
                  "lengthBytes",
                  total),
              "");
    }
    if (!failed.isEmpty()) {
      failed.forEach(this::warn);
      throw new LeaseFsException(
          ErrorCode.INTERNAL, failed.size() + " of " + jobs.size() + " were not copied, see above");
    }
  }

  /** One file and where it goes. */
  private final class Job implements ManyFiles.Copy {
    final FileStatus source;
    final FilePath target;

    Job(FileStatus source, FilePath target) {
      this.source = source;
      this.target = target;
    }

    @Override
    public void run(LongConsumer done) throws IOException {
      copyBytes(source, target, done);
    }

    @Override
    public String name() {
      return source.path().text();
    }
  }

  private void collect(FileStatus folder, FilePath target, List<Job> jobs) {
    List<FileStatus> children = new ArrayList<>();
    client().list(folder.path().text()).forEachRemaining(children::add);
    FileStatus unused = client().mkdir(target.text(), true, folder.mode());
    for (FileStatus child : children) {
      FilePath to = target.child(child.path().name());
      if (child.folder()) {
        collect(child, to, jobs);
      } else {
        jobs.add(new Job(child, to));
      }
    }
  }

  private void copyFile(FileStatus source, FilePath target) throws Exception {
    try (Progress progress = progress("cp " + target, source.lengthBytes())) {
      copyBytes(source, target, progress::add);
      progress.finish("");
      if (out().isJson()) {
        out().answer(FileRows.json(client().stat(target.text())), "");
      }
    }
  }

  private void copyBytes(FileStatus source, FilePath target, LongConsumer done) throws IOException {
    CreateOptions options =
        CreateOptions.DEFAULT
            .withReplication(source.replication())
            .withChunkBytes(source.chunkBytes())
            .withDurability(source.durability())
            .withMode(source.mode());
    try (FileReader reader = client().open(source.path().text())) {
      long unused =
          Objects.requireNonNull(puts)
              .put(
                  Channels.newChannel(reader.stream()),
                  target.text(),
                  options,
                  force,
                  Optional.empty(),
                  done);
    }
  }
}
