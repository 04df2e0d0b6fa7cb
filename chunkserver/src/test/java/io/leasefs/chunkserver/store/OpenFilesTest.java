package io.leasefs.chunkserver.store;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.leasefs.common.edge.DiskFile;
import io.leasefs.server.disk.simulated.SimulatedDisk;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

class OpenFilesTest {
  private final SimulatedDisk disk = new SimulatedDisk(1, 1 << 20);
  private final OpenFiles files = new OpenFiles(disk, 3);

  @Test
  void closesTheLeastRecentlyUsedCleanFilesAndOpensThemAgainWhenUsed() throws IOException {
    List<DiskFile> all = new ArrayList<>();
    for (int i = 0; i < 8; i++) {
      DiskFile file = files.create("f" + i);
      file.write(ByteBuffer.wrap(new byte[] {(byte) i}), 0);
      file.force();
      all.add(file);
    }
    assertThat(files.count()).isLessThanOrEqualTo(4);
    for (int i = 0; i < 8; i++) {
      ByteBuffer one = ByteBuffer.allocate(1);
      assertThat(all.get(i).read(one, 0)).isEqualTo(1);
      assertThat(one.get(0)).isEqualTo((byte) i);
      assertThat(files.count()).isLessThanOrEqualTo(4);
    }
  }

  @Test
  void keepsFilesWithUnforcedBytesOpen() throws IOException {
    List<DiskFile> all = new ArrayList<>();
    for (int i = 0; i < 8; i++) {
      DiskFile file = files.create("f" + i);
      file.write(ByteBuffer.wrap(new byte[] {(byte) i}), 0);
      all.add(file);
    }
    assertThat(files.count()).isEqualTo(8);
    disk.failForces("f0", 1);
    assertThatThrownBy(() -> all.get(0).force()).isInstanceOf(IOException.class);
    for (int i = 1; i < 8; i++) {
      all.get(i).force();
    }
    // f0 stays: its failure must not be forgotten by closing it.
    files.create("g").close();
    var _ = files.create("h");
    var _ = files.create("i");
    assertThat(files.count()).isLessThan(8);
    all.get(0).close();
    assertThatThrownBy(() -> all.get(0).size()).hasMessageContaining("closed");
  }
}
