package io.leasefs.server.start;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;

/**
 * Replaces small files as a whole: after a crash there is the old content or the new one, never a
 * mixture. Blocks on the disk; one writer per file.
 */
public final class DurableFile {
  private DurableFile() {}

  /**
   * Writes a sibling, fsyncs it, renames it over the target and fsyncs the folder; all of it is on
   * the disk when this returns.
   */
  public static void replace(Path target, byte[] content) throws IOException {
    Path folder = target.toAbsolutePath().getParent();
    if (folder == null) {
      throw new IOException(target + " names no file in a folder");
    }
    Path sibling = folder.resolve(target.getFileName() + ".new");
    try (FileChannel file =
        FileChannel.open(
            sibling,
            StandardOpenOption.CREATE,
            StandardOpenOption.TRUNCATE_EXISTING,
            StandardOpenOption.WRITE)) {
      ByteBuffer rest = ByteBuffer.wrap(content);
      while (rest.hasRemaining()) {
        file.write(rest);
      }
      file.force(true);
    }
    Files.move(
        sibling, target, StandardCopyOption.ATOMIC_MOVE, StandardCopyOption.REPLACE_EXISTING);
    forceFolder(folder);
  }

  /** Puts the names in a folder on the disk. */
  static void forceFolder(Path folder) throws IOException {
    try (FileChannel channel = FileChannel.open(folder, StandardOpenOption.READ)) {
      channel.force(true);
    }
  }
}
