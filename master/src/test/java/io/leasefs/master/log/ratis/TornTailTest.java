package io.leasefs.master.log.ratis;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.leasefs.common.error.ErrorCode;
import io.leasefs.common.error.LeaseFsException;
import java.io.ByteArrayOutputStream;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.OptionalInt;
import java.util.Random;
import java.util.zip.CRC32C;
import org.junit.jupiter.api.Test;

class TornTailTest {
  private final ByteArrayOutputStream segment = new ByteArrayOutputStream();
  private int last;

  TornTailTest() {
    segment.writeBytes("RaftLog1".getBytes(StandardCharsets.US_ASCII));
  }

  /** Appends an entry with so many bytes of content. */
  private TornTailTest entry(int index, int content) {
    ByteArrayOutputStream entry = new ByteArrayOutputStream();
    entry.write(0x08);
    entry.write(3); // the term
    entry.write(0x10);
    entry.write(index);
    byte[] noise = new byte[content];
    new Random(index).nextBytes(noise);
    for (int i = 0; i < noise.length; i++) {
      noise[i] |= 1; // no zeros
    }
    entry.writeBytes(noise);
    ByteArrayOutputStream frame = new ByteArrayOutputStream();
    int length = entry.size();
    for (; length > 0x7f; length >>>= 7) {
      frame.write((length & 0x7f) | 0x80);
    }
    frame.write(length);
    frame.writeBytes(entry.toByteArray());
    CRC32C crc = new CRC32C();
    crc.update(frame.toByteArray());
    frame.writeBytes(ByteBuffer.allocate(4).putInt((int) crc.getValue()).array());
    last = segment.size();
    segment.writeBytes(frame.toByteArray());
    return this;
  }

  private byte[] withZeros() {
    return Arrays.copyOf(segment.toByteArray(), 16_384);
  }

  private static void refused(byte[] bytes, String why) {
    assertThatThrownBy(() -> TornTail.tornAt(bytes))
        .isInstanceOfSatisfying(
            LeaseFsException.class, e -> assertThat(e.code()).isEqualTo(ErrorCode.CORRUPT))
        .hasMessageContaining(why);
  }

  @Test
  void wholeSegmentIsLeftAsItIs() {
    entry(1, 100).entry(2, 3000).entry(3, 10);
    assertThat(TornTail.tornAt(withZeros())).isEmpty();
    assertThat(TornTail.tornAt(segment.toByteArray())).isEmpty();
    assertThat(TornTail.tornAt(new byte[0])).isEmpty();
    assertThat(TornTail.tornAt(new byte[1000])).isEmpty();
  }

  @Test
  void lastEntryWhoseLaterSectorsWereNeverWrittenIsTorn() {
    entry(1, 100).entry(2, 3000);
    byte[] bytes = withZeros();
    Arrays.fill(bytes, 1024, bytes.length, (byte) 0);
    assertThat(TornTail.tornAt(bytes)).isEqualTo(OptionalInt.of(last));
  }

  @Test
  void lastEntryThatLacksASectorInItsMiddleOrItsBeginningIsTorn() {
    entry(1, 100).entry(2, 3000);
    byte[] bytes = withZeros();
    Arrays.fill(bytes, 1024, 1536, (byte) 0);
    assertThat(TornTail.tornAt(bytes)).isEqualTo(OptionalInt.of(last));
    bytes = withZeros();
    Arrays.fill(bytes, last, 512, (byte) 0);
    assertThat(TornTail.tornAt(bytes)).isEqualTo(OptionalInt.of(last));
  }

  @Test
  void lastEntryInWhichTheFileEndsIsTorn() {
    entry(1, 100).entry(2, 3000);
    byte[] whole = segment.toByteArray();
    for (int cut = last + 1; cut < whole.length; cut += 7) {
      assertThat(TornTail.tornAt(Arrays.copyOf(whole, cut))).isEqualTo(OptionalInt.of(last));
    }
  }

  @Test
  void damageBeforeAValidEntryIsRefused() {
    entry(1, 100).entry(2, 3000);
    int damaged = last;
    entry(3, 50);
    for (int at = damaged; at < last; at += 101) {
      byte[] bytes = withZeros();
      bytes[at] ^= 0x10;
      refused(bytes, "the entry at byte " + damaged + " is damaged: valid entries follow at byte");
    }
    byte[] bytes = withZeros();
    Arrays.fill(bytes, 1024, 2048, (byte) 0);
    refused(bytes, "valid entries follow");
  }

  /** Ratis would take all the rest for one torn entry. */
  @Test
  void damagedLengthThatPointsBeyondTheEndIsRefused() {
    entry(1, 100).entry(2, 3000);
    int damaged = last;
    byte[] whole = entry(3, 50).segment.toByteArray();
    whole[damaged + 1] = 0x7f;
    refused(whole, "valid entries follow");
  }

  @Test
  void lastEntryThatIsThereAndWrongIsDamageForItMayHaveBeenAcknowledged() {
    entry(1, 100).entry(2, 3000);
    for (int at = last; at < segment.size(); at += 53) {
      byte[] bytes = withZeros();
      bytes[at] ^= 0x10;
      refused(bytes, "all of it was written");
    }
  }
}
