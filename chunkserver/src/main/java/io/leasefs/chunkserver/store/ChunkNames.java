package io.leasefs.chunkserver.store;

import io.leasefs.common.edge.Disk;
import io.leasefs.common.model.ChunkHandle;
import java.io.IOException;
import java.util.HexFormat;
import java.util.Optional;

/**
 * Names of a chunk's files on its disk: {@code chunks/5c/51c.data} beside {@code .journal}, fanned
 * out over 256 folders by the handle's last two digits.
 */
record ChunkNames(ChunkHandle handle) {
  static final String ROOT = "chunks";
  static final String JOURNAL = ".journal";
  static final String DATA = ".data";

  /** What is being written and is not a chunk yet. */
  static final String NEW = ".new";

  /** Left behind where a write or fsync failed: this copy is not to be trusted. */
  static final String FAILED = ".failed";

  static String folder(int fan) {
    return ROOT + "/" + HexFormat.of().toHexDigits((byte) fan);
  }

  String folder() {
    return folder((int) (handle.value() & 0xff));
  }

  String data() {
    return base() + DATA;
  }

  String journal() {
    return base() + JOURNAL;
  }

  String failed() {
    return base() + FAILED;
  }

  /** From now on no start trusts this copy; durable when it returns. */
  void markFailed(Disk disk) throws IOException {
    disk.open(failed(), true).close();
    disk.forceFolder(folder());
  }

  private String base() {
    return folder() + "/" + Long.toHexString(handle.value());
  }

  /** The chunk whose journal has this name. */
  static Optional<ChunkHandle> ofJournal(String name) {
    if (!name.endsWith(JOURNAL)) {
      return Optional.empty();
    }
    try {
      String digits = name.substring(0, name.length() - JOURNAL.length());
      return Optional.of(new ChunkHandle(Long.parseUnsignedLong(digits, 16)));
    } catch (IllegalArgumentException e) {
      return Optional.empty();
    }
  }
}
