package io.leasefs.chunkserver.store;

import io.leasefs.common.checksum.Crc32c;
import io.leasefs.common.edge.Disk;
import io.leasefs.common.edge.DiskFile;
import io.leasefs.common.error.ErrorCode;
import io.leasefs.common.error.LeaseFsException;
import io.leasefs.common.model.DiskId;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;

/**
 * What a disk says of itself in its file {@code disk}, replaced as a whole, in lines:
 *
 * <pre>
 * format 1
 * id 6f1d0c2b7a5e4d3c9b8a7f6e5d4c3b2a
 * incarnation 7
 * boot 4f2c1f5e-8f0e-4a52-9c5d-0c3a3c2b1a00
 * clean no
 * crc 1e1c5ce2
 * </pre>
 *
 * @param id drawn when the disk was first used
 * @param incarnation raised at each start and before each new registration
 * @param boot the kernel's boot id, as of the last start
 * @param clean true where everything was flushed before the last stop
 */
record DiskState(DiskId id, long incarnation, String boot, boolean clean) {
  static final String NAME = "disk";
  static final int FORMAT = 1;

  /**
   * Empty where the disk was never used.
   *
   * @throws LeaseFsException CORRUPT where it does not read
   */
  static Optional<DiskState> read(Disk disk) throws IOException {
    if (!disk.exists(NAME)) {
      return Optional.empty();
    }
    try (DiskFile file = disk.open(NAME, false)) {
      ByteBuffer bytes = Journal.read(file, 0, (int) file.size());
      return Optional.of(parse(StandardCharsets.UTF_8.decode(bytes).toString()));
    }
  }

  /** Durable when it returns. */
  void write(Disk disk) throws IOException {
    String fresh = NAME + ChunkNames.NEW;
    disk.delete(fresh);
    try (DiskFile file = disk.open(fresh, true)) {
      file.write(StandardCharsets.UTF_8.encode(text()), 0);
      file.force();
    }
    disk.rename(fresh, NAME);
    disk.forceFolder("");
  }

  private String text() {
    String body =
        "format "
            + FORMAT
            + "\nid "
            + id
            + "\nincarnation "
            + incarnation
            + "\nboot "
            + boot
            + "\nclean "
            + (clean ? "yes" : "no")
            + "\n";
    return body + "crc " + checksum(body) + "\n";
  }

  private static String checksum(String body) {
    return Integer.toHexString(Crc32c.of(StandardCharsets.UTF_8.encode(body)));
  }

  private static DiskState parse(String text) {
    Map<String, String> values = new LinkedHashMap<>();
    for (String line : text.split("\n", -1)) {
      int space = line.indexOf(' ');
      if (space > 0) {
        values.put(line.substring(0, space), line.substring(space + 1));
      }
    }
    try {
      // First, and so in any format: a digit that rotted makes no newer one.
      int crcAt = text.indexOf("\ncrc ") + 1;
      if (crcAt == 0 || !checksum(text.substring(0, crcAt)).equals(values.get("crc"))) {
        throw damaged();
      }
      int format = Integer.parseInt(values.getOrDefault("format", ""));
      if (format > FORMAT) {
        throw new LeaseFsException(
            ErrorCode.INVALID_ARGUMENT,
            "the disk's format " + format + " is newer than this server, which reads " + FORMAT,
            "start the LeaseFS version that wrote it, or a newer one");
      }
      return new DiskState(
          new DiskId(values.getOrDefault("id", "")),
          Long.parseLong(values.getOrDefault("incarnation", "")),
          values.getOrDefault("boot", ""),
          values.getOrDefault("clean", "").equals("yes"));
    } catch (IllegalArgumentException e) {
      throw damaged();
    }
  }

  private static LeaseFsException damaged() {
    return new LeaseFsException(
        ErrorCode.CORRUPT, "the file '" + NAME + "' of the data folder is damaged");
  }
}
