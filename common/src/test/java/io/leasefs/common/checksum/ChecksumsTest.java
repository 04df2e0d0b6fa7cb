package io.leasefs.common.checksum;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.ByteBuffer;
import java.util.Random;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class ChecksumsTest {
  @ParameterizedTest
  @ValueSource(longs = {1, 2, 3})
  void piecesCombineToTheChecksumOfTheWhole(long seed) {
    Random random = new Random(seed);
    for (int i = 0; i < 200; i++) {
      byte[] bytes = new byte[random.nextInt(5000)];
      random.nextBytes(bytes);
      int piece = 1 + random.nextInt(700);
      Checksums checksums = Checksums.of(ByteBuffer.wrap(bytes), piece);
      assertThat(checksums.combined(bytes.length, piece))
          .isEqualTo(Crc32c.of(ByteBuffer.wrap(bytes)));
      assertThat(checksums.match(ByteBuffer.wrap(bytes), piece)).isTrue();
      if (bytes.length > 0) {
        bytes[random.nextInt(bytes.length)] ^= 1;
        assertThat(checksums.match(ByteBuffer.wrap(bytes), piece)).isFalse();
      }
    }
  }
}
