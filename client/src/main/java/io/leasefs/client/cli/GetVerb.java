package io.leasefs.client.cli;

import io.leasefs.client.FileReader;
import io.leasefs.common.checksum.Crc32c;
import io.leasefs.common.error.ErrorCode;
import io.leasefs.common.error.LeaseFsException;
import io.leasefs.common.model.ChunkLayout;
import io.leasefs.common.model.FilePath;
import io.leasefs.common.model.FileStatus;
import java.io.BufferedOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.FileTime;
import java.util.ArrayList;
import java.util.List;
import java.util.function.LongConsumer;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** {@code leasefs get}. */
@Command(
    description = "Copy files and folders out of the cluster, or to standard output.",
    footer = {
      "",
      "A local file appears whole or not at all. Modes and times are kept.",
      "",
      "Examples:",
      "  leasefs get /docs/report.pdf .",
      "  leasefs get -r /www ./site",
      "  leasefs get /backup/app.sql - | psql app"
    })
final class GetVerb extends Verb {
  @Option(names = "-f", description = "Replace existing local files.")
  private boolean force;

  @Option(names = "-r", description = "Folders with all that is in them.")
  private boolean recursive;

  @Option(names = "--verify", description = "Read what was written and compare its checksum.")
  private boolean verify;

  @Parameters(
      paramLabel = "SRC... DST",
      arity = "2..*",
      hideParamSyntax = true,
      description = "Files and folders; then the local target, or '-'.")
  private List<String> paths = new ArrayList<>();

  /** One file or folder of the cluster and where it goes. */
  private final class Job implements ManyFiles.Copy {
    final FileStatus source;
    final Path target;

    Job(FileStatus source, Path target) {
      this.source = source;
      this.target = target;
    }

    @Override
    public void run(LongConsumer done) throws IOException {
      long unused = getFile(this, done);
    }

    @Override
    public String name() {
      return source.path().text();
    }
  }

  @Override
  protected int run() throws Exception {
    String destination = paths.get(paths.size() - 1);
    List<String> sources = paths.subList(0, paths.size() - 1);
    if (destination.equals("-")) {
      return each(
          sources,
          path -> {
            try (FileReader reader = client().open(path.text())) {
              Contents.copy(reader, 0, Long.MAX_VALUE, out().stream(), n -> {});
            }
            out().flush();
          });
    }
    Path local = Path.of(destination);
    boolean intoFolder = Files.isDirectory(local);
    if (sources.size() > 1 && !intoFolder) {
      throw new LeaseFsException(
          ErrorCode.NOT_A_DIRECTORY,
          destination + ": not a local folder, and there are several sources");
    }
    return each(
        sources,
        path -> getOne(path, intoFolder && !path.isRoot() ? local.resolve(path.name()) : local));
  }

  private void getOne(FilePath path, Path target) throws Exception {
    FileStatus status = client().stat(path.text());
    if (status.folder()) {
      if (!recursive) {
        throw new LeaseFsException(
            ErrorCode.IS_A_DIRECTORY, path + ": is a folder", "pass -r to get it whole");
      }
      getFolder(status, target);
      return;
    }
    try (Progress progress = progress("get " + path, status.lengthBytes())) {
      long bytes = getFile(new Job(status, target), progress::add);
      progress.finish("");
      if (out().isJson()) {
        out()
            .answer(
                Json.object("path", path.text(), "target", target.toString(), "lengthBytes", bytes),
                "");
      }
    }
  }

  private long getFile(Job job, LongConsumer done) throws IOException {
    Path target = job.target;
    if (Files.isDirectory(target)) {
      throw new LeaseFsException(ErrorCode.IS_A_DIRECTORY, target + ": is a local folder");
    }
    if (Files.exists(target) && !force) {
      throw new LeaseFsException(
          ErrorCode.ALREADY_EXISTS, target + ": exists already", "replace it with -f");
    }
    Path folder = target.toAbsolutePath().getParent();
    if (folder == null || !Files.isDirectory(folder)) {
      throw new LeaseFsException(
          ErrorCode.NOT_FOUND, target + ": its local folder does not exist", "make it first");
    }
    Path fresh = Files.createTempFile(folder, ".leasefs-get-", ".part");
    try {
      long copied;
      try (FileReader reader = client().open(job.source.path().text());
          OutputStream out =
              new BufferedOutputStream(
                  Files.newOutputStream(fresh, StandardOpenOption.WRITE), 1 << 20)) {
        copied = Contents.copy(reader, 0, Long.MAX_VALUE, out, done);
      }
      if (verify) {
        verify(job.source, fresh);
      }
      Files.setPosixFilePermissions(fresh, LocalModes.ofBits(job.source.mode()));
      Files.setLastModifiedTime(fresh, FileTime.fromMillis(job.source.modifiedMillis()));
      if (force) {
        Files.move(
            fresh, target, StandardCopyOption.ATOMIC_MOVE, StandardCopyOption.REPLACE_EXISTING);
      } else {
        try {
          Files.createLink(target, fresh); // fails where somebody was faster
        } catch (FileAlreadyExistsException e) {
          throw new LeaseFsException(
              ErrorCode.ALREADY_EXISTS, target + ": exists already", "replace it with -f", e);
        }
      }
      return copied;
    } finally {
      Files.deleteIfExists(fresh);
    }
  }

  private void verify(FileStatus source, Path written) throws IOException {
    try (FileChannel file = FileChannel.open(written, StandardOpenOption.READ)) {
      long offset = 0;
      for (ChunkLayout chunk : client().layout(source.path().text()).chunks()) {
        if (chunk.seal().isEmpty()) {
          throw new LeaseFsException(
              ErrorCode.BUSY,
              source.path() + ": is being written, so it has no checksum yet",
              "get it without --verify, or when it is closed");
        }
        long length = chunk.seal().get().lengthBytes();
        int crc = 0;
        ByteBuffer piece = ByteBuffer.allocate(1 << 20);
        for (long at = 0; at < length; at += piece.limit()) {
          piece.clear().limit((int) Math.min(piece.capacity(), length - at));
          while (piece.hasRemaining() && file.read(piece, offset + at + piece.position()) >= 0) {
            // until the piece is full
          }
          piece.flip();
          crc = Crc32c.combine(crc, Crc32c.of(piece), piece.remaining());
          if (piece.remaining() == 0) {
            break;
          }
        }
        if (crc != chunk.seal().get().checksum()) {
          throw new LeaseFsException(
              ErrorCode.CORRUPT,
              source.path() + ": chunk " + chunk.index() + " arrived damaged on the local disk");
        }
        offset += length;
      }
    }
  }

  private void getFolder(FileStatus source, Path target) throws Exception {
    List<Job> jobs = new ArrayList<>();
    List<Job> folders = new ArrayList<>();
    collect(source, target, jobs, folders);
    long total = jobs.stream().mapToLong(j -> j.source.lengthBytes()).sum();
    List<String> failed;
    try (Progress progress = progress("get " + source.path(), total)) {
      failed = ManyFiles.copy(jobs, progress);
      progress.finish(Quantities.count(jobs.size() - failed.size(), "file", "files"));
    }
    for (int i = folders.size() - 1; i >= 0; i--) {
      Job folder = folders.get(i);
      Files.setPosixFilePermissions(folder.target, LocalModes.ofBits(folder.source.mode()));
      Files.setLastModifiedTime(folder.target, FileTime.fromMillis(folder.source.modifiedMillis()));
    }
    if (out().isJson()) {
      out()
          .answer(
              Json.object(
                  "path",
                  source.path().text(),
                  "target",
                  target.toString(),
                  "files",
                  jobs.size() - failed.size(),
                  "lengthBytes",
                  total),
              "");
    }
    if (!failed.isEmpty()) {
      failed.forEach(this::warn);
      throw new LeaseFsException(
          ErrorCode.INTERNAL, failed.size() + " of " + jobs.size() + " were not got, see above");
    }
  }

  private void collect(FileStatus source, Path target, List<Job> jobs, List<Job> folders)
      throws IOException {
    Files.createDirectories(target);
    folders.add(new Job(source, target));
    List<FileStatus> children = new ArrayList<>();
    client().list(source.path().text()).forEachRemaining(children::add);
    for (FileStatus child : children) {
      Path below = target.resolve(child.path().name());
      if (child.folder()) {
        collect(child, below, jobs, folders);
      } else {
        jobs.add(new Job(child, below));
      }
    }
  }
}
