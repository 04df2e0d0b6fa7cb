package io.leasefs.cluster.loopback;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.Map;
import java.util.Random;
import java.util.TreeMap;
import java.util.stream.Stream;
import java.util.zip.CRC32C;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** A folder as people have them: many small files and a large one, there and back. */
@Timeout(300)
class BigFolderTest {
  private static final int SMALL_FILES = 400;
  private static final int LARGE_BYTES = (40 << 20) + 12_345;

  @TempDir Path local;

  @Test
  void folderOfManySmallFilesAndALargeOneComesBackAsItWas() throws Exception {
    Path source = Files.createDirectories(local.resolve("source"));
    Random random = new Random(1);
    for (int i = 0; i < SMALL_FILES; i++) {
      Path folder = Files.createDirectories(source.resolve("d" + i % 20));
      write(folder.resolve("f" + i), random, random.nextInt(8000));
    }
    write(source.resolve("large"), random, LARGE_BYTES);
    Files.setPosixFilePermissions(
        source.resolve("d1"), PosixFilePermissions.fromString("rwxr-x---"));
    Files.setPosixFilePermissions(
        source.resolve("d1/f1"), PosixFilePermissions.fromString("rw-------"));
    Files.setLastModifiedTime(source.resolve("d3/f3"), FileTime.fromMillis(1_577_934_245_678L));
    Files.setLastModifiedTime(source.resolve("d7"), FileTime.fromMillis(1_557_104_523_000L));
    Path back = local.resolve("back");
    try (InProcessCluster cluster = InProcessCluster.start(3)) {
      Shell shell = cluster.shell();
      shell.run("put", "-r", "--chunk-size", "16MiB", source.toString(), "/big").mustBe(0);
      assertThat(shell.run("chunk", "ls", "-o", "name", "/big/large").mustBe(0).outLines())
          .hasSize(3);
      shell.run("get", "-r", "/big", back.toString()).mustBe(0);
    }
    assertThat(picture(back)).isEqualTo(picture(source));
  }

  private static void write(Path file, Random random, int length) throws IOException {
    byte[] bytes = new byte[length];
    random.nextBytes(bytes);
    Files.write(file, bytes);
  }

  /** Every path below with its mode, time, length and checksum. */
  private static Map<String, String> picture(Path top) throws IOException {
    Map<String, String> picture = new TreeMap<>();
    try (Stream<Path> all = Files.walk(top)) {
      for (Path path : (Iterable<Path>) all::iterator) {
        String text =
            PosixFilePermissions.toString(
                    Files.getPosixFilePermissions(path, LinkOption.NOFOLLOW_LINKS))
                + " "
                + Files.getLastModifiedTime(path).toMillis();
        if (Files.isRegularFile(path)) {
          CRC32C crc = new CRC32C();
          crc.update(Files.readAllBytes(path));
          text += " " + Files.size(path) + " " + crc.getValue();
        }
        picture.put(top.relativize(path).toString(), text);
      }
    }
    return picture;
  }
}
