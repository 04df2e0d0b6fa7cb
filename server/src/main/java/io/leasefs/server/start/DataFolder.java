package io.leasefs.server.start;

import io.leasefs.common.error.ErrorCode;
import io.leasefs.common.error.LeaseFsException;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.channels.FileLock;
import java.nio.channels.OverlappingFileLockException;
import java.nio.charset.StandardCharsets;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.Optional;
import java.util.Set;
import java.util.UUID;
import java.util.stream.Stream;

/**
 * A server's data folder: locked while the process lives, and marked with whose data it is. The
 * files {@code VERSION} and {@code lock} are this class's; everything else belongs to the server.
 * Used by the main thread, but for {@link #joinCluster}, which one other thread may call.
 */
public final class DataFolder implements AutoCloseable {
  private static final String VERSION = "VERSION";
  private static final String LOCK = "lock";

  /** What an empty folder may hold: our own beginnings, and the root of a fresh ext4 volume. */
  private static final Set<String> NOT_DATA = Set.of(LOCK, VERSION + ".new", "lost+found");

  private final Path path;
  private final FileChannel lockFile;
  private FolderIdentity identity;

  private DataFolder(Path path, FileChannel lockFile, FolderIdentity identity) {
    this.path = path;
    this.lockFile = lockFile;
    this.identity = identity;
  }

  /**
   * Makes the folder where there is none, locks it, and checks that it is this server's.
   *
   * @param path the folder
   * @param role {@code master} or {@code chunkserver}
   * @param server name of the server within its role
   * @param cluster the cluster that the operator named, if any
   * @throws LeaseFsException when the folder is in use, another server's or cluster's, of a newer
   *     format, damaged, not a LeaseFS folder, or cannot be written
   */
  public static DataFolder open(Path path, String role, String server, Optional<String> cluster) {
    checkName("server", server);
    cluster.ifPresent(id -> checkName("cluster", id));
    try {
      createFolder(path);
      FileChannel lockFile = lock(path);
      try {
        return new DataFolder(path, lockFile, identify(path, role, server, cluster));
      } catch (IOException | RuntimeException e) {
        lockFile.close();
        throw e;
      }
    } catch (IOException e) {
      throw new LeaseFsException(
          ErrorCode.INVALID_ARGUMENT,
          path + ": the data folder cannot be used: " + e,
          "check that it can be written by user " + System.getProperty("user.name"),
          e);
    }
  }

  /** A fresh id for a cluster: 32 hexadecimal digits, random. */
  public static String newClusterId() {
    return UUID.randomUUID().toString().replace("-", "");
  }

  public Path path() {
    return path;
  }

  /** Whose data this is, as it stands on the disk. */
  public synchronized FolderIdentity identity() {
    return identity;
  }

  /** The cluster that this folder belongs to, once it has joined one. */
  public synchronized Optional<String> cluster() {
    return identity.cluster();
  }

  /**
   * Marks the folder as part of a cluster, for ever; on the disk when this returns. Does nothing if
   * it is marked so already.
   *
   * @throws LeaseFsException if it belongs to another cluster
   */
  public synchronized void joinCluster(String cluster) throws IOException {
    checkName("cluster", cluster);
    Optional<String> joined = identity.cluster();
    if (joined.isPresent()) {
      checkSameCluster(path, joined.get(), cluster);
      return;
    }
    FolderIdentity whole =
        new FolderIdentity(
            identity.format(), identity.role(), identity.server(), Optional.of(cluster));
    DurableFile.replace(path.resolve(VERSION), whole.toBytes());
    identity = whole;
  }

  /** Unlocks the folder. */
  @Override
  public void close() throws IOException {
    lockFile.close();
  }

  private static void createFolder(Path path) throws IOException {
    try {
      Files.createDirectories(path);
    } catch (FileAlreadyExistsException e) {
      throw new LeaseFsException(
          ErrorCode.INVALID_ARGUMENT,
          path + ": the data folder is a file",
          "give the path of a folder by --data",
          e);
    }
  }

  private static FileChannel lock(Path path) throws IOException {
    FileChannel channel =
        FileChannel.open(
            path.resolve(LOCK),
            StandardOpenOption.CREATE,
            StandardOpenOption.READ,
            StandardOpenOption.WRITE);
    try {
      // Kept by the open channel; the kernel gives it back when the process ends, however it ends.
      FileLock lock = channel.tryLock();
      if (lock != null) {
        channel.truncate(0);
        String owner = ProcessHandle.current().pid() + "\n";
        channel.write(ByteBuffer.wrap(owner.getBytes(StandardCharsets.UTF_8)));
        return channel;
      }
    } catch (OverlappingFileLockException e) {
      // another server in this very process: the same answer
    }
    ByteBuffer owner = ByteBuffer.allocate(20);
    channel.read(owner, 0);
    channel.close();
    String pid = new String(owner.array(), 0, owner.position(), StandardCharsets.UTF_8).strip();
    throw new LeaseFsException(
        ErrorCode.INVALID_ARGUMENT,
        path + ": the data folder is in use" + (pid.isEmpty() ? "" : " by process " + pid),
        "stop that server, or give this one a folder of its own by --data");
  }

  private static FolderIdentity identify(
      Path path, String role, String server, Optional<String> cluster) throws IOException {
    Path file = path.resolve(VERSION);
    if (!Files.exists(file)) {
      try (Stream<Path> entries = Files.list(path)) {
        Optional<Path> stranger =
            entries.filter(entry -> !NOT_DATA.contains(entry.getFileName().toString())).findFirst();
        if (stranger.isPresent()) {
          throw new LeaseFsException(
              ErrorCode.INVALID_ARGUMENT,
              path + ": the folder has no file VERSION, but holds " + stranger.get().getFileName(),
              "give an empty folder or a new one by --data");
        }
      }
      FolderIdentity fresh =
          new FolderIdentity(FolderIdentity.newestFormat(role), role, server, cluster);
      DurableFile.replace(file, fresh.toBytes());
      return fresh;
    }
    FolderIdentity found = FolderIdentity.fromBytes(Files.readAllBytes(file), file);
    if (!found.role().equals(role) || !found.server().equals(server)) {
      throw new LeaseFsException(
          ErrorCode.INVALID_ARGUMENT,
          path
              + ": the folder belongs to "
              + found.role()
              + " "
              + found.server()
              + ", not to "
              + role
              + " "
              + server,
          "give this server its own folder by --data, or start it under its old name");
    }
    if (cluster.isPresent() && found.cluster().isPresent()) {
      checkSameCluster(path, found.cluster().get(), cluster.get());
    }
    FolderIdentity now =
        new FolderIdentity(found.format(), role, server, found.cluster().or(() -> cluster))
            .inNewestFormat();
    if (!now.equals(found)) {
      DurableFile.replace(file, now.toBytes());
    }
    return now;
  }

  private static void checkSameCluster(Path path, String found, String wanted) {
    if (!found.equals(wanted)) {
      throw new LeaseFsException(
          ErrorCode.WRONG_CLUSTER,
          path + ": the folder belongs to cluster " + found + ", not to " + wanted,
          "connect it to its own cluster, or give another folder by --data");
    }
  }

  private static void checkName(String what, String name) {
    if (!FolderIdentity.isName(name)) {
      throw new LeaseFsException(
          ErrorCode.INVALID_ARGUMENT,
          "'" + name + "' cannot name a " + what,
          "use 1 to 63 letters, digits, dots, dashes and underscores, the first a letter or digit");
    }
  }
}
