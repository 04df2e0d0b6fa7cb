package io.leasefs.chunkserver.session;

import io.leasefs.common.checksum.Crc32c;
import io.leasefs.common.edge.Disk;
import io.leasefs.common.edge.DiskFile;
import io.leasefs.common.error.ErrorCode;
import io.leasefs.common.error.LeaseFsException;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * What a server must not forget about its masters: the highest term that it has seen, its cluster,
 * and how far it has heard of their log. (Its incarnation is the disk's.) File {@code server} of
 * the data folder:
 *
 * <pre>
 * term: 281474976710658
 * cluster: 6f0c6d3e4b5a4f0e9a60c2f1f6a0a9d1
 * ordinal: 4711
 * crc32c: 6dbfc7d4
 * </pre>
 *
 * The CRC is over all bytes before its line; the cluster is empty until the server has joined one;
 * the ordinal, of an entry of the masters' log, is left out in folders of format 1. Replaced as a
 * whole and fsynced. A file that does not read is an error: nothing is made up, for with a lower
 * term the orders of a deposed master would be obeyed. Used by one thread at a time.
 */
public final class ServerRecord {
  private static final String NAME = "server";
  private static final Pattern FORM =
      Pattern.compile(
          "(term: (\\d{1,19})\ncluster: (\\S*)\n(?:ordinal: (\\d{1,19})\n)?)"
              + "crc32c: ([0-9a-f]{8})\n");

  private final Disk disk;
  private long term;
  private String clusterId = "";
  private long ordinal;

  private ServerRecord(Disk disk) {
    this.disk = disk;
  }

  /**
   * Reads it; a folder without one belongs to a server that never was.
   *
   * @throws LeaseFsException CORRUPT where it does not read
   */
  public static ServerRecord open(Disk disk) throws IOException {
    ServerRecord record = new ServerRecord(disk);
    if (disk.exists(NAME)) {
      record.read();
    }
    return record;
  }

  private void read() throws IOException {
    String text;
    try (DiskFile file = disk.open(NAME, false)) {
      ByteBuffer bytes = ByteBuffer.allocate((int) Math.min(file.size(), 4096));
      while (bytes.hasRemaining() && file.read(bytes, bytes.position()) > 0) {}
      text = new String(bytes.array(), 0, bytes.position(), StandardCharsets.UTF_8);
    }
    Matcher matcher = FORM.matcher(text);
    if (!matcher.matches() || !matcher.group(5).equals(crc(matcher.group(1)))) {
      throw new LeaseFsException(
          ErrorCode.CORRUPT, "the file '" + NAME + "' of the data folder is damaged");
    }
    term = Long.parseLong(matcher.group(2));
    clusterId = matcher.group(3);
    ordinal = matcher.group(4) == null ? 0 : Long.parseLong(matcher.group(4));
  }

  public long term() {
    return term;
  }

  /** Empty where it has never joined one. */
  public String clusterId() {
    return clusterId;
  }

  /** The highest ordinal of the masters' log that was heard of; 0 where none was noted. */
  public long ordinal() {
    return ordinal;
  }

  /** On the disk when this returns; a lower one changes nothing. */
  public void storeTerm(long seen) throws IOException {
    if (seen > term) {
      write(seen, clusterId, ordinal);
      term = seen;
    }
  }

  /** On the disk when this returns. */
  public void storeCluster(String joined) throws IOException {
    if (!joined.equals(clusterId)) {
      write(term, joined, ordinal);
      clusterId = joined;
    }
  }

  /** On the disk when this returns; a lower one changes nothing. */
  public void storeOrdinal(long heard) throws IOException {
    if (heard > ordinal) {
      write(term, clusterId, heard);
      ordinal = heard;
    }
  }

  private void write(long newTerm, String newCluster, long newOrdinal) throws IOException {
    String body =
        "term: " + newTerm + "\ncluster: " + newCluster + "\nordinal: " + newOrdinal + "\n";
    String text = body + "crc32c: " + crc(body) + "\n";
    String sibling = NAME + ".new";
    disk.delete(sibling);
    try (DiskFile file = disk.open(sibling, true)) {
      file.write(ByteBuffer.wrap(text.getBytes(StandardCharsets.UTF_8)), 0);
      file.force();
    }
    disk.rename(sibling, NAME);
    disk.forceFolder("");
  }

  private static String crc(String body) {
    return String.format("%08x", Crc32c.of(ByteBuffer.wrap(body.getBytes(StandardCharsets.UTF_8))));
  }
}
