package io.leasefs.server.disk;

import io.leasefs.common.edge.Disk;
import io.leasefs.common.edge.DiskFile;
import io.leasefs.common.edge.DiskFullException;
import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.file.DirectoryStream;
import java.nio.file.FileStore;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Set;

/**
 * A folder of the machine's file system as a {@link Disk}.
 *
 * <p>Any thread, but never interrupt one that is inside a call: an interrupt closes the channel
 * (java.nio's contract), and the file with it for everybody. Every error names file and operation;
 * a full disk is a {@link DiskFullException}. Once a force of a file has failed, each later one on
 * the same open file fails too: the kernel reports a lost page only once (PostgreSQL's
 * "fsyncgate").
 */
public final class LocalDisk implements Disk {
  private static final Set<StandardOpenOption> OPEN =
      Set.of(StandardOpenOption.READ, StandardOpenOption.WRITE);
  private static final Set<StandardOpenOption> CREATE =
      Set.of(StandardOpenOption.READ, StandardOpenOption.WRITE, StandardOpenOption.CREATE);

  private final Path root;

  /** Creates the root folder where it is missing. */
  public LocalDisk(Path root) throws IOException {
    this.root = root.toAbsolutePath().normalize();
    Files.createDirectories(this.root);
  }

  /** Where the names start. */
  public Path root() {
    return root;
  }

  @Override
  public DiskFile open(String name, boolean create) throws IOException {
    Path path = path(name);
    try {
      return new LocalFile(path, FileChannel.open(path, create ? CREATE : OPEN));
    } catch (IOException e) {
      throw named("open", path, e);
    }
  }

  @Override
  public boolean exists(String name) {
    return Files.exists(path(name));
  }

  @Override
  public void delete(String name) throws IOException {
    Path path = path(name);
    try {
      Files.deleteIfExists(path);
    } catch (IOException e) {
      throw named("delete", path, e);
    }
  }

  @Override
  public void rename(String from, String to) throws IOException {
    Path source = path(from);
    try {
      Files.move(
          source, path(to), StandardCopyOption.ATOMIC_MOVE, StandardCopyOption.REPLACE_EXISTING);
    } catch (IOException e) {
      throw named("rename to " + to, source, e);
    }
  }

  @Override
  public void createFolder(String name) throws IOException {
    Path path = path(name);
    try {
      Files.createDirectories(path);
    } catch (IOException e) {
      throw named("create folder", path, e);
    }
  }

  @Override
  public List<String> list(String folder) throws IOException {
    Path path = path(folder);
    if (!Files.isDirectory(path)) {
      return List.of();
    }
    List<String> names = new ArrayList<>();
    try (DirectoryStream<Path> entries = Files.newDirectoryStream(path)) {
      for (Path entry : entries) {
        names.add(String.valueOf(entry.getFileName()));
      }
    } catch (IOException e) {
      throw named("list", path, e);
    }
    Collections.sort(names);
    return names;
  }

  @Override
  public void forceFolder(String folder) throws IOException {
    Path path = path(folder);
    // Linux takes fsync of a folder through a channel opened for reading; java.nio allows that.
    try (FileChannel channel = FileChannel.open(path, StandardOpenOption.READ)) {
      channel.force(true);
    } catch (IOException e) {
      throw named("force folder", path, e);
    }
  }

  @Override
  public void forceAll() throws IOException {
    try {
      FileSystemSync.sync(root);
    } catch (IOException e) {
      throw named("force all", root, e);
    }
  }

  @Override
  public long freeBytes() throws IOException {
    return store().getUsableSpace();
  }

  @Override
  public long totalBytes() throws IOException {
    return store().getTotalSpace();
  }

  private FileStore store() throws IOException {
    return Files.getFileStore(root);
  }

  private Path path(String name) {
    Path path = root.resolve(name).normalize();
    if (!path.startsWith(root)) {
      throw new IllegalArgumentException("outside the disk's folder: " + name);
    }
    return path;
  }

  static IOException named(String operation, Path path, IOException cause) {
    String message = operation + " " + path + ": " + cause.getMessage();
    if (isFull(cause)) {
      DiskFullException full = new DiskFullException(message);
      full.initCause(cause);
      return full;
    }
    return new IOException(message, cause);
  }

  /** java.nio has no type for ENOSPC and EDQUOT, only the C library's text. */
  private static boolean isFull(IOException cause) {
    String text = String.valueOf(cause.getMessage());
    return text.contains("No space left on device") || text.contains("Disk quota exceeded");
  }
}
