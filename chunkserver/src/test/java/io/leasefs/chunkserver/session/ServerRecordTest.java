package io.leasefs.chunkserver.session;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.leasefs.server.disk.LocalDisk;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.zip.CRC32C;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class ServerRecordTest {
  @TempDir private Path folder;

  private ServerRecord open() throws IOException {
    return ServerRecord.open(new LocalDisk(folder));
  }

  @Test
  void remembersAllThreeAndNeverLess() throws IOException {
    ServerRecord record = open();
    record.storeTerm(7);
    record.storeCluster("c1");
    record.storeOrdinal(4711);
    record.storeOrdinal(4000);
    record.storeTerm(6);
    ServerRecord again = open();
    assertThat(again.term()).isEqualTo(7);
    assertThat(again.clusterId()).isEqualTo("c1");
    assertThat(again.ordinal()).isEqualTo(4711);
  }

  @Test
  void fileOfBeforeOrdinalsIsRead() throws IOException {
    String body = "term: 2\ncluster: c1\n";
    CRC32C crc = new CRC32C();
    crc.update(body.getBytes(UTF_8));
    Files.writeString(
        folder.resolve("server"), body + String.format("crc32c: %08x\n", crc.getValue()));
    assertThat(open().term()).isEqualTo(2);
    assertThat(open().ordinal()).isZero();
  }

  @Test
  void flippedDigitIsDamage() throws IOException {
    open().storeOrdinal(4711);
    Path file = folder.resolve("server");
    Files.writeString(file, Files.readString(file).replace("4711", "4710"));
    assertThatThrownBy(this::open).hasMessageContaining("damaged");
  }
}
