package io.leasefs.client.cli;

import java.nio.file.attribute.PosixFilePermission;
import java.util.EnumMap;
import java.util.EnumSet;
import java.util.Map;
import java.util.Set;

/** Permission bits of local files, as of chmod. */
final class LocalModes {
  private static final Map<PosixFilePermission, Integer> BITS =
      new EnumMap<>(
          Map.of(
              PosixFilePermission.OWNER_READ, 0400,
              PosixFilePermission.OWNER_WRITE, 0200,
              PosixFilePermission.OWNER_EXECUTE, 0100,
              PosixFilePermission.GROUP_READ, 0040,
              PosixFilePermission.GROUP_WRITE, 0020,
              PosixFilePermission.GROUP_EXECUTE, 0010,
              PosixFilePermission.OTHERS_READ, 0004,
              PosixFilePermission.OTHERS_WRITE, 0002,
              PosixFilePermission.OTHERS_EXECUTE, 0001));

  private LocalModes() {}

  static int toBits(Set<PosixFilePermission> permissions) {
    int bits = 0;
    for (PosixFilePermission permission : permissions) {
      bits |= BITS.getOrDefault(permission, 0);
    }
    return bits;
  }

  static Set<PosixFilePermission> ofBits(int bits) {
    Set<PosixFilePermission> permissions = EnumSet.noneOf(PosixFilePermission.class);
    BITS.forEach(
        (permission, bit) -> {
          if ((bits & bit) != 0) {
            permissions.add(permission);
          }
        });
    return permissions;
  }
}
