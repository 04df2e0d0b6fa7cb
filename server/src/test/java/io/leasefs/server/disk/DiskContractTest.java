package io.leasefs.server.disk;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.leasefs.common.edge.Disk;
import io.leasefs.common.edge.DiskFile;
import io.leasefs.server.disk.simulated.SimulatedDisk;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.util.stream.Stream;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** The same contract for the real disk and the simulated one. */
class DiskContractTest {
  @TempDir static Path folder;

  static Stream<Disk> disks() throws IOException {
    return Stream.of(new LocalDisk(folder.resolve("root")), new SimulatedDisk(1, 1 << 20));
  }

  @ParameterizedTest
  @MethodSource("disks")
  void writesGatherAtAPositionAndGapsReadAsZeros(Disk disk) throws IOException {
    try (DiskFile file = disk.open("f", true)) {
      file.write(new ByteBuffer[] {bytes("ab"), bytes(""), bytes("cde")}, 3);
      ByteBuffer read = ByteBuffer.allocate(20);
      assertThat(file.read(read, 0)).isEqualTo(8);
      assertThat(text(read)).isEqualTo("\0\0\0abcde");
      assertThat(file.size()).isEqualTo(8);
      file.truncate(4);
      file.write(bytes("z"), 6);
      read.clear();
      assertThat(file.read(read, 0)).isEqualTo(7);
      assertThat(text(read)).isEqualTo("\0\0\0a\0\0z");
      assertThat(file.read(ByteBuffer.allocate(1), 7)).isEqualTo(-1);
      file.force();
    }
  }

  @ParameterizedTest
  @MethodSource("disks")
  void namesAreCreatedRenamedListedAndDeleted(Disk disk) throws IOException {
    disk.createFolder("a/b");
    disk.open("a/b/new", true).close();
    disk.open("a/b/old", true).close();
    disk.rename("a/b/new", "a/b/old");
    disk.forceFolder("a/b");
    assertThat(disk.list("a/b")).containsExactly("old");
    assertThat(disk.list("a")).containsExactly("b");
    assertThat(disk.exists("a/b")).isTrue();
    disk.delete("a/b/old");
    disk.delete("a/b/old");
    assertThat(disk.exists("a/b/old")).isFalse();
    assertThat(disk.list("nowhere")).isEmpty();
  }

  @ParameterizedTest
  @MethodSource("disks")
  void errorsNameTheFile(Disk disk) {
    assertThatThrownBy(() -> disk.open("missing", false))
        .isInstanceOf(IOException.class)
        .hasMessageContaining("open")
        .hasMessageContaining("missing");
  }

  @ParameterizedTest
  @MethodSource("disks")
  void knowsItsSpace(Disk disk) throws IOException {
    assertThat(disk.freeBytes()).isPositive().isLessThanOrEqualTo(disk.totalBytes());
  }

  private static ByteBuffer bytes(String text) {
    return ByteBuffer.wrap(text.getBytes(UTF_8));
  }

  private static String text(ByteBuffer read) {
    return UTF_8.decode(read.duplicate().flip()).toString();
  }
}
