package io.leasefs.server.start;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import io.leasefs.common.error.LeaseFsException;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Optional;
import java.util.zip.CRC32C;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class FolderIdentityTest {
  private static final Path FILE = Path.of("/data/VERSION");
  private static final FolderIdentity CS1 =
      new FolderIdentity(1, "chunkserver", "cs1", Optional.of("c0ffee"));

  @Test
  void fileIsReadBackAsItWasWritten() {
    FolderIdentity alone = new FolderIdentity(2, "master", "1", Optional.empty());
    assertThat(FolderIdentity.fromBytes(CS1.toBytes(), FILE)).isEqualTo(CS1);
    assertThat(FolderIdentity.fromBytes(alone.toBytes(), FILE)).isEqualTo(alone);
  }

  /** Pins the format: a change of it is a new format version. */
  @Test
  void fileIsFiveLinesOfText() {
    assertThat(new String(CS1.toBytes(), UTF_8))
        .startsWith("format: 1\nrole: chunkserver\nserver: cs1\ncluster: c0ffee\ncrc32c: ")
        .matches("(?s).*crc32c: [0-9a-f]{8}\n");
  }

  @Test
  void everyFlippedBitIsSeen() {
    byte[] good = CS1.toBytes();
    for (int bit = 0; bit < good.length * 8; bit++) {
      byte[] bad = good.clone();
      bad[bit / 8] ^= (byte) (1 << (bit % 8));
      assertThatThrownBy(() -> FolderIdentity.fromBytes(bad, FILE))
          .isInstanceOf(LeaseFsException.class)
          .hasMessage("/data/VERSION: is damaged");
    }
  }

  @ParameterizedTest
  @ValueSource(ints = {0, 1, 9, 40})
  void cutFileIsDamaged(int length) {
    byte[] cut = Arrays.copyOf(CS1.toBytes(), length);
    assertThatThrownBy(() -> FolderIdentity.fromBytes(cut, FILE)).hasMessageContaining("damaged");
  }

  @Test
  void newerFormatIsRefusedWhateverElseItHolds() {
    String body = "format: 4\nwhatever the future wants\n";
    CRC32C crc = new CRC32C();
    crc.update(body.getBytes(UTF_8));
    byte[] newer = (body + String.format("crc32c: %08x\n", crc.getValue())).getBytes(UTF_8);
    LeaseFsException e =
        catchThrowableOfType(LeaseFsException.class, () -> FolderIdentity.fromBytes(newer, FILE));
    assertThat(e)
        .hasMessage("/data/VERSION: the folder has format 4, this program knows formats up to 3");
    assertThat(e.hint()).contains("newer");
  }

  @Test
  void chunkserversFolderOfTheMastersFormatIsNewer() {
    byte[] newer = new FolderIdentity(3, "chunkserver", "cs1", Optional.empty()).toBytes();
    assertThatThrownBy(() -> FolderIdentity.fromBytes(newer, FILE))
        .hasMessageContaining("format 3, this program knows formats up to 2");
  }
}
