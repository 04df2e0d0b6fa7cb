package io.leasefs.master.state;

import io.leasefs.common.model.Durability;
import java.nio.charset.StandardCharsets;
import org.jspecify.annotations.Nullable;

/**
 * A file or folder in memory. There are millions: no path, no map, names as bytes; what few files
 * have (openings, fence floor) lies in the namespace's side tables.
 */
abstract sealed class Inode {
  final long id;
  byte[] name;
  @Nullable Folder parent;
  long modifiedMillis;
  long createdMillis;
  short mode;

  private Inode(long id, byte[] name, int mode, long wallMillis) {
    this.id = id;
    this.name = name;
    this.mode = (short) mode;
    this.modifiedMillis = wallMillis;
    this.createdMillis = wallMillis;
  }

  String nameText() {
    return new String(name, StandardCharsets.UTF_8);
  }

  int modeBits() {
    return mode & 0xffff;
  }

  /** Holds children, ordered by name as unsigned bytes. */
  static final class Folder extends Inode {
    final Children children = new Children();

    Folder(long id, byte[] name, int mode, long wallMillis) {
      super(id, name, mode, wallMillis);
    }
  }

  /** Holds the handles of its chunks. */
  static final class File extends Inode {
    private static final long[] NONE = {};

    short replication;
    final boolean synced;
    final int chunkBytes;
    long[] chunks = NONE;

    File(
        long id,
        byte[] name,
        int mode,
        long wallMillis,
        int replication,
        Durability durability,
        long chunkBytes) {
      super(id, name, mode, wallMillis);
      this.replication = (short) replication;
      this.synced = durability == Durability.SYNCED;
      this.chunkBytes = Math.toIntExact(chunkBytes);
    }

    Durability durability() {
      return synced ? Durability.SYNCED : Durability.REPLICATED;
    }

    void addChunk(long handle) {
      long[] longer = java.util.Arrays.copyOf(chunks, chunks.length + 1);
      longer[chunks.length] = handle;
      chunks = longer;
    }
  }
}
