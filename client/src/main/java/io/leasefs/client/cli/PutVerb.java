package io.leasefs.client.cli;

import io.leasefs.client.CreateOptions;
import io.leasefs.common.api.MasterApi;
import io.leasefs.common.error.ErrorCode;
import io.leasefs.common.error.LeaseFsException;
import io.leasefs.common.model.Durability;
import io.leasefs.common.model.FilePath;
import io.leasefs.common.model.FileStatus;
import java.io.IOException;
import java.nio.channels.Channels;
import java.nio.channels.FileChannel;
import java.nio.channels.ReadableByteChannel;
import java.nio.file.FileVisitOption;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.function.LongConsumer;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** {@code leasefs put}. */
@Command(
    description = "Write local files, folders or standard input into the cluster.",
    footer = {
      "",
      "A file appears whole or not at all: it is written as a hidden sibling and renamed at the",
      "end. Modes and times of local files and folders are kept. With -r -f a folder is merged"
          + " into",
      "one that exists: files of the same name are replaced, others stay. Symbolic links named on",
      "the command line are followed; those found inside a folder are told and left out (exit 1),",
      "or followed with --follow-links.",
      "",
      "Examples:",
      "  leasefs put report.pdf /docs/",
      "  leasefs put -r ./site /www          # folder 'site' becomes /www/site, or /www if new",
      "  pg_dump app | leasefs put - /backup/app.sql"
    })
final class PutVerb extends Verb {
  @Option(names = "-f", description = "Replace existing files; the old ones go to the trash.")
  private boolean force;

  @Option(names = "-p", description = "Make missing parents.")
  private boolean parents;

  @Option(names = "-r", description = "Folders with all that is in them.")
  private boolean recursive;

  @Option(names = "--follow-links", description = "With -r: follow symbolic links.")
  private boolean followLinks;

  @Option(
      names = "--replication",
      paramLabel = "N",
      defaultValue = "0",
      description = "Copies, 1 to 16. Default: the cluster's.")
  private int replication;

  @Option(
      names = "--chunk-size",
      paramLabel = "SIZE",
      defaultValue = "0",
      description = "1MiB to 1GiB. Default: the cluster's.")
  private String chunkSize = "0";

  @Option(names = "--sync", description = "Acknowledged means fsynced by every copy.")
  private boolean sync;

  @Option(names = "--direct", description = "Write in place, not beside it.")
  private boolean direct;

  @Option(names = "--size", paramLabel = "N", description = "Bytes that '-' must bring.")
  private @Nullable String size;

  @Parameters(
      paramLabel = "SRC... DST",
      arity = "2..*",
      hideParamSyntax = true,
      description = "Local files and folders, or '-'; then the target.")
  private List<String> paths = new ArrayList<>();

  /** One local file and where it goes. */
  private final class Job implements ManyFiles.Copy {
    final Path source;
    final String target;

    Job(Path source, String target) {
      this.source = source;
      this.target = target;
    }

    @Override
    public void run(LongConsumer done) throws IOException {
      long unused = putFile(this, done);
    }

    @Override
    public String name() {
      return source.toString();
    }
  }

  private @Nullable Puts puts;

  @Override
  protected int run() throws Exception {
    String destination = paths.get(paths.size() - 1);
    List<String> sources = paths.subList(0, paths.size() - 1);
    checkSize(sources);
    Optional<FileStatus> there = client().find(destination);
    boolean intoFolder =
        there.map(FileStatus::folder).orElse(destination.endsWith("/") && !destination.equals("/"));
    if (sources.size() > 1 && !intoFolder) {
      throw new LeaseFsException(
          ErrorCode.NOT_A_DIRECTORY,
          destination + ": not a folder, and there are several sources",
          "make it with 'leasefs mkdir " + destination + "'");
    }
    if (replication > 1) {
      warnOfTooFewServers(replication);
    }
    puts = new Puts(client());
    int failed = 0;
    for (String source : sources) {
      try {
        putOne(source, target(source, destination, intoFolder));
      } catch (LeaseFsException e) {
        if (sources.size() == 1) {
          throw e;
        }
        failed++;
        report(e);
      } catch (IOException e) {
        if (sources.size() == 1) {
          throw e;
        }
        failed++;
        report(LocalFailure.of(e));
      }
    }
    return failed == 0 ? ExitCode.DONE : ExitCode.FAILED;
  }

  private static String target(String source, String destination, boolean intoFolder) {
    FilePath base = FilePath.parse(destination);
    if (!intoFolder) {
      return base.text();
    }
    Path name = Path.of(source).toAbsolutePath().normalize().getFileName();
    if (source.equals("-") || name == null) {
      throw new LeaseFsException(
          ErrorCode.IS_A_DIRECTORY,
          base + ": is a folder",
          "name the file that standard input shall become");
    }
    return base.child(name.toString()).text();
  }

  /** Only what comes from a pipe has to be announced; a file that is not so long is told. */
  private void checkSize(List<String> sources) throws IOException {
    if (size == null || sources.equals(List.of("-"))) {
      return;
    }
    long announced = Quantities.parseSize(size);
    Path file = Path.of(sources.get(0));
    if (sources.size() > 1 || Files.isDirectory(file)) {
      throw new LeaseFsException(
          ErrorCode.INVALID_ARGUMENT,
          "--size is the size of one file or of standard input",
          "leave it away");
    }
    if (Files.exists(file) && Files.size(file) != announced) {
      throw new LeaseFsException(
          ErrorCode.INVALID_ARGUMENT,
          file + ": has " + Files.size(file) + " bytes, not " + announced + " as --size says",
          "leave --size away: the size of a file is known");
    }
  }

  private void putOne(String source, String target) throws Exception {
    if (source.equals("-")) {
      long total = size == null ? -1 : Quantities.parseSize(size);
      ReadableByteChannel in = Channels.newChannel(streams().in());
      try (Progress progress = progress("put " + target, total)) {
        long written =
            transfer(
                total < 0 ? in : new ExactlySized(in, target, total),
                target,
                options(0644),
                Optional.empty(),
                progress::add);
        progress.finish("");
        tell(target, written);
      }
      return;
    }
    Path local = Path.of(source);
    if (Files.isDirectory(local)) {
      if (!recursive) {
        throw new LeaseFsException(
            ErrorCode.IS_A_DIRECTORY, source + ": is a local folder", "pass -r to put it whole");
      }
      putFolder(local, target);
      return;
    }
    if (!Files.exists(local)) {
      throw new LeaseFsException(
          ErrorCode.NOT_FOUND, source + ": no such local file", "check the name");
    }
    try (Progress progress = progress("put " + target, Files.size(local))) {
      long written = putFile(new Job(local, target), progress::add);
      progress.finish("");
      tell(target, written);
    }
  }

  private void tell(String target, long written) {
    if (out().isJson()) {
      out().answer(Json.object("path", target, "lengthBytes", written), "");
    }
  }

  private long transfer(
      ReadableByteChannel in,
      String target,
      CreateOptions options,
      Optional<Long> modifiedMillis,
      LongConsumer done)
      throws IOException {
    Puts running = Objects.requireNonNull(puts);
    return direct
        ? running.putDirectly(in, target, options, done)
        : running.put(in, target, options, force, modifiedMillis, done);
  }

  private CreateOptions options(int mode) {
    CreateOptions options =
        CreateOptions.DEFAULT
            .withParents(parents)
            .withReplication(replication)
            .withMode(mode)
            .withDurability(sync ? Durability.SYNCED : Durability.REPLICATED);
    long chunkBytes = Quantities.parseSize(chunkSize);
    return chunkBytes == 0 ? options : options.withChunkBytes(chunkBytes);
  }

  private long putFile(Job job, LongConsumer done) throws IOException {
    Optional<Long> modified = Optional.of(Files.getLastModifiedTime(job.source).toMillis());
    try (FileChannel channel = FileChannel.open(job.source, StandardOpenOption.READ)) {
      long written = transfer(channel, job.target, options(mode(job.source)), modified, done);
      if (direct) {
        FileStatus unused =
            client()
                .setAttributes(
                    job.target,
                    new MasterApi.Attributes(Optional.empty(), Optional.empty(), modified));
      }
      return written;
    }
  }

  private static int mode(Path path) throws IOException {
    try {
      return LocalModes.toBits(Files.getPosixFilePermissions(path));
    } catch (UnsupportedOperationException e) {
      return 0644;
    }
  }

  private void putFolder(Path source, String target) throws Exception {
    Optional<FileStatus> there = client().find(target);
    if (there.isPresent() && !there.get().folder()) {
      throw new LeaseFsException(
          ErrorCode.NOT_A_DIRECTORY,
          target + ": is a file, and " + source + " is a folder",
          "put it under another name, or 'leasefs rm " + target + "' first");
    }
    if (there.isPresent() && !force && !target.equals("/")) {
      throw new LeaseFsException(
          ErrorCode.ALREADY_EXISTS,
          target + ": exists already",
          "-f replaces files in it and keeps all others, or 'leasefs rm -r " + target + "' first");
    }
    List<Path> folders = new ArrayList<>();
    List<Job> jobs = new ArrayList<>();
    List<String> refused = new ArrayList<>();
    long total = 0;
    FileVisitOption[] visit =
        followLinks ? new FileVisitOption[] {FileVisitOption.FOLLOW_LINKS} : new FileVisitOption[0];
    Path top = source.toRealPath();
    try (Stream<Path> walk = Files.walk(top, visit)) {
      for (Path path : (Iterable<Path>) walk.sorted()::iterator) {
        if (!followLinks && Files.isSymbolicLink(path)) {
          refused.add(path + ": is a symbolic link");
        } else if (Files.isDirectory(path)) {
          folders.add(path);
        } else if (Files.isRegularFile(path)) {
          long bytes = Files.size(path);
          jobs.add(new Job(path, below(target, top, path)));
          total += bytes;
        } else if (!Files.exists(path, LinkOption.NOFOLLOW_LINKS)) {
          refused.add(path + ": has gone");
        } else {
          refused.add(path + ": is no file and no folder");
        }
      }
    }
    for (Path folder : folders) {
      FileStatus unused =
          client()
              .mkdir(
                  below(target, top, folder),
                  parents || there.isPresent() || !folder.equals(top),
                  mode(folder));
    }
    int wanted = jobs.size() + refused.size();
    boolean allCanBePut = refused.isEmpty();
    try (Progress progress = progress("put " + target, total)) {
      refused.addAll(ManyFiles.copy(jobs, progress));
      progress.finish(Quantities.count(wanted - refused.size(), "file", "files"));
    }
    for (int i = folders.size() - 1; i >= 0; i--) {
      Path folder = folders.get(i);
      FileStatus unused =
          client()
              .setAttributes(
                  below(target, top, folder),
                  new MasterApi.Attributes(
                      Optional.empty(),
                      Optional.of(mode(folder)),
                      Optional.of(Files.getLastModifiedTime(folder).toMillis())));
    }
    if (out().isJson()) {
      out()
          .answer(
              Json.object("path", target, "files", wanted - refused.size(), "lengthBytes", total),
              "");
    }
    if (!refused.isEmpty()) {
      refused.forEach(this::warn);
      throw new LeaseFsException(
          ErrorCode.INTERNAL,
          refused.size() + " of " + wanted + " were not put, see above",
          allCanBePut ? null : "with -f --follow-links what links lead to is put, too");
    }
  }

  private static String below(String target, Path top, Path path) {
    String relative = top.relativize(path).toString();
    return relative.isEmpty() ? target : (target.equals("/") ? "" : target) + "/" + relative;
  }
}
