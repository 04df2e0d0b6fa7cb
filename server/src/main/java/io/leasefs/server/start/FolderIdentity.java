package io.leasefs.server.start;

import static com.google.common.base.Preconditions.checkArgument;

import io.leasefs.common.error.ErrorCode;
import io.leasefs.common.error.LeaseFsException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;
import java.util.regex.Pattern;
import java.util.zip.CRC32C;

/**
 * Whose data a folder holds: content of its file {@code VERSION}.
 *
 * <pre>
 * format: 1
 * role: chunkserver
 * server: cs1
 * cluster: 6f0c6d3e4b5a4f0e9a60c2f1f6a0a9d1
 * crc32c: 3f720915
 * </pre>
 *
 * Lines in this order, each ended by one line feed; {@code cluster} is left out until the server
 * has joined one; the CRC-32C (Castagnoli) is over all bytes before its own line. The first and the
 * last line are the same in every format to come, so that an old program can say what it does not
 * know, and tells it from a digit that rotted.
 *
 * @param format version of the formats of all files in the folder
 * @param role {@code master} or {@code chunkserver}
 * @param server name of the server within its role
 * @param cluster id of the cluster, once it is known
 */
public record FolderIdentity(int format, String role, String server, Optional<String> cluster) {
  private static final String MASTER = "master";

  private static final Pattern WORD = Pattern.compile("[A-Za-z0-9][A-Za-z0-9._-]{0,62}");
  private static final Pattern FIRST_LINE = Pattern.compile("format: (\\d{1,9})");

  /**
   * The newest format that this program reads, and the one that it writes. Of a master's folder: 2,
   * in which a close names the chunk that it seals; 3, in which to raise the generation ends
   * sessions and leads versions. Of a chunkserver's: 2, in which the file {@code server} has an
   * ordinal.
   */
  public static int newestFormat(String role) {
    return role.equals(MASTER) ? 3 : 2;
  }

  public FolderIdentity {
    checkArgument(format >= 1, "format %s is not 1 or more", format);
    checkArgument(WORD.matcher(role).matches(), "not a role: '%s'", role);
    checkArgument(isName(server), "not a server's name: '%s'", server);
    cluster.ifPresent(id -> checkArgument(isName(id), "not a cluster's id: '%s'", id));
  }

  /**
   * Whether it can name a server or a cluster: 1 to 63 letters, digits, dots, dashes, underscores.
   */
  public static boolean isName(String text) {
    return WORD.matcher(text).matches();
  }

  byte[] toBytes() {
    StringBuilder lines = new StringBuilder();
    lines.append("format: ").append(format).append('\n');
    lines.append("role: ").append(role).append('\n');
    lines.append("server: ").append(server).append('\n');
    cluster.ifPresent(id -> lines.append("cluster: ").append(id).append('\n'));
    String crc = crc(lines.toString());
    lines.append("crc32c: ").append(crc).append('\n');
    return lines.toString().getBytes(StandardCharsets.UTF_8);
  }

  /** The same in the newest format, which programs that do not know it refuse. */
  FolderIdentity inNewestFormat() {
    return new FolderIdentity(newestFormat(role), role, server, cluster);
  }

  /**
   * @param file for messages only
   * @throws LeaseFsException for a newer format or a damaged file
   */
  static FolderIdentity fromBytes(byte[] bytes, Path file) {
    String content = new String(bytes, StandardCharsets.UTF_8);
    int crcLine = content.lastIndexOf("crc32c: ");
    if (crcLine < 0
        || !content
            .substring(crcLine)
            .equals("crc32c: " + crc(content.substring(0, crcLine)) + "\n")) {
      throw damaged(file);
    }
    String first = content.substring(0, content.indexOf('\n'));
    var format = FIRST_LINE.matcher(first);
    if (format.matches() && Integer.parseInt(format.group(1)) > newestFormat(MASTER)) {
      throw newer(format.group(1), newestFormat(MASTER), file);
    }
    Map<String, String> lines = new LinkedHashMap<>();
    for (String line : content.substring(0, crcLine).split("\n", 0)) {
      int colon = line.indexOf(": ");
      if (colon < 0 || lines.put(line.substring(0, colon), line.substring(colon + 2)) != null) {
        throw damaged(file);
      }
    }
    FolderIdentity found;
    try {
      found =
          new FolderIdentity(
              Integer.parseInt(lines.getOrDefault("format", "")),
              lines.getOrDefault("role", ""),
              lines.getOrDefault("server", ""),
              Optional.ofNullable(lines.get("cluster")));
    } catch (IllegalArgumentException e) {
      throw damaged(file);
    }
    if (found.format() > newestFormat(found.role())) {
      throw newer(lines.getOrDefault("format", ""), newestFormat(found.role()), file);
    }
    return found;
  }

  private static LeaseFsException newer(String format, int newest, Path file) {
    return new LeaseFsException(
        ErrorCode.INVALID_ARGUMENT,
        file + ": the folder has format " + format + ", this program knows formats up to " + newest,
        "start the version of LeaseFS that wrote it, or a newer one");
  }

  private static LeaseFsException damaged(Path file) {
    return new LeaseFsException(
        ErrorCode.CORRUPT,
        file + ": is damaged",
        "restore the folder from a copy; if it holds nothing needed, start with an empty one");
  }

  private static String crc(String lines) {
    CRC32C crc = new CRC32C();
    crc.update(lines.getBytes(StandardCharsets.UTF_8));
    return String.format("%08x", crc.getValue());
  }
}
