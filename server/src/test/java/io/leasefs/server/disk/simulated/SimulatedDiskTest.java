package io.leasefs.server.disk.simulated;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.leasefs.common.edge.DiskFile;
import io.leasefs.common.edge.DiskFullException;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.HashSet;
import java.util.Set;
import org.junit.jupiter.api.Test;

class SimulatedDiskTest {
  private final SimulatedDisk disk = new SimulatedDisk(3, 1 << 20);

  @Test
  void aKilledProcessLosesNothingThatItWrote() throws IOException {
    DiskFile file = disk.open("f", true);
    file.write(filled(5000, 1), 0);
    disk.killProcess();
    assertThat(disk.bytes("f")).isEqualTo(filled(5000, 1).array());
    assertThatThrownBy(file::size).hasMessageContaining("closed");
  }

  @Test
  void aPowerCutKeepsWhatWasForcedAndAnySectorsOfTheRest() throws IOException {
    Set<String> outcomes = new HashSet<>();
    for (int seed = 0; seed < 60; seed++) {
      SimulatedDisk cut = new SimulatedDisk(seed, 1 << 20);
      DiskFile file = cut.open("f", true);
      cut.forceFolder("");
      file.write(filled(1024, 1), 0);
      file.force();
      file.write(filled(1024, 2), 512);
      cut.cutPower();
      byte[] bytes = cut.bytes("f");
      assertThat(bytes.length).isIn(1024, 1536);
      assertThat(Arrays.copyOf(bytes, 512)).containsOnly(1);
      assertThat(bytes[512]).isIn((byte) 1, (byte) 2);
      assertThat(bytes[1023]).isEqualTo(bytes[512]);
      outcomes.add(bytes.length + "/" + bytes[512] + "/" + bytes[bytes.length - 1]);
    }
    assertThat(outcomes).contains("1024/1/1", "1536/2/2", "1536/1/0", "1536/2/0");
  }

  @Test
  void aNameSurvivesAPowerCutForCertainOnlyOnceItsFolderIsForced() throws IOException {
    Set<Boolean> outcomes = new HashSet<>();
    for (int seed = 0; seed < 30; seed++) {
      SimulatedDisk cut = new SimulatedDisk(seed, 1 << 20);
      cut.open("kept", true).close();
      cut.forceFolder("");
      DiskFile file = cut.open("new", true);
      file.write(filled(1, 9), 0);
      file.force();
      cut.rename("new", "kept");
      cut.cutPower();
      assertThat(cut.exists("kept")).isTrue();
      outcomes.add(cut.bytes("kept").length == 1);
    }
    assertThat(outcomes).containsExactlyInAnyOrder(true, false);
  }

  @Test
  void afterAFailedForceALaterOneDoesNotBringTheBytesBack() throws IOException {
    int lost = 0;
    for (int seed = 0; seed < 20; seed++) {
      SimulatedDisk failing = new SimulatedDisk(seed, 1 << 20);
      DiskFile file = failing.open("f", true);
      failing.forceFolder("");
      file.write(filled(4096, 1), 0);
      file.force();
      file.write(filled(4096, 2), 0);
      failing.failForces("f", 1);
      assertThatThrownBy(file::force).hasMessageContaining("Input/output error");
      file.force();
      failing.cutPower();
      for (byte one : failing.bytes("f")) {
        lost += one == 1 ? 1 : 0;
      }
    }
    assertThat(lost).isPositive();
  }

  @Test
  void aFullDiskTakesAPartOfTheWrite() throws IOException {
    disk.setTotalBytes(1000);
    DiskFile file = disk.open("f", true);
    assertThatThrownBy(() -> file.write(filled(1200, 1), 0)).isInstanceOf(DiskFullException.class);
    assertThat(disk.bytes("f")).hasSize(1000);
    assertThat(disk.freeBytes()).isZero();
  }

  @Test
  void diesAtTheOperationItWasToldTo() throws IOException {
    DiskFile file = disk.open("f", true);
    disk.dieAfter(1);
    file.write(filled(10, 1), 0);
    assertThatThrownBy(() -> file.write(filled(10, 2), 10)).hasMessageContaining("dead");
    assertThatThrownBy(file::size).hasMessageContaining("dead");
    disk.killProcess();
    assertThat(disk.bytes("f").length).isBetween(10, 20);
  }

  @Test
  void losesFlipsAndRollsBack() throws IOException {
    DiskFile file = disk.open("f", true);
    file.write(filled(10, 1), 0);
    SimulatedDisk.Image image = disk.image();
    disk.loseWrites("f", 1);
    file.write(filled(10, 2), 0);
    assertThat(disk.bytes("f")).containsOnly(1);
    disk.flipBit("f", 3, 7);
    assertThat(disk.bytes("f")[3]).isEqualTo((byte) 0x81);
    disk.restore(image);
    assertThat(disk.bytes("f")).containsOnly(1);
    disk.wipe();
    assertThat(disk.names()).isEmpty();
  }

  private static ByteBuffer filled(int length, int value) {
    byte[] bytes = new byte[length];
    Arrays.fill(bytes, (byte) value);
    return ByteBuffer.wrap(bytes);
  }
}
