package io.leasefs.common.edge;

import java.io.IOException;
import java.util.List;

/**
 * One folder on one disk. Names are relative, with {@code /} between parts.
 *
 * <p><b>Threads</b>: any. <b>Blocking</b>: every call may block for as long as the disk does.
 * <b>Failure</b>: {@link IOException}; after a failed {@link DiskFile#force} what was written since
 * the last good one is unknown for ever (never retry it as if nothing had happened).
 * <b>Durability</b>: bytes written survive the death of the process at once; they survive a power
 * cut only after {@link DiskFile#force} returned. A created, renamed or deleted name survives a
 * power cut only after {@link #forceFolder} of its folder. Until then a crash may keep any subset
 * of the changes, at a grain of a sector.
 */
public interface Disk {
  /** Opens for reading and writing; creates an empty file where there is none and create is set. */
  DiskFile open(String name, boolean create) throws IOException;

  /** True where the name is a file or folder. */
  boolean exists(String name) throws IOException;

  /** Removes a file; nothing happens where there is none. */
  void delete(String name) throws IOException;

  /** Atomically replaces {@code to} by {@code from}, within this disk. */
  void rename(String from, String to) throws IOException;

  /** Creates the folder and its missing parents. */
  void createFolder(String name) throws IOException;

  /** Names (last part only) in a folder, sorted; empty where the folder is missing. */
  List<String> list(String folder) throws IOException;

  /** Makes creations, renames and deletions in this folder durable. */
  void forceFolder(String folder) throws IOException;

  /**
   * Makes everything that was written to this disk before the call durable: contents, lengths and
   * names. Cheaper than forcing many files one by one.
   */
  void forceAll() throws IOException;

  /** Bytes that may still be written. */
  long freeBytes() throws IOException;

  /** Size of the disk, bytes. */
  long totalBytes() throws IOException;
}
