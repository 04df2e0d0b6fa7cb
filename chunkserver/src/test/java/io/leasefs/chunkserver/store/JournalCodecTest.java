package io.leasefs.chunkserver.store;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.leasefs.chunkserver.replica.ReplicaImage.Result;
import io.leasefs.chunkserver.replica.ReplicaImage.Row;
import io.leasefs.chunkserver.replica.ReplicaImage.SealPoint;
import io.leasefs.chunkserver.replica.ReplicaImage.Snapshot;
import io.leasefs.chunkserver.store.JournalCodec.Watermark;
import io.leasefs.chunkserver.store.JournalRecord.Applied;
import io.leasefs.chunkserver.store.JournalRecord.Checkpoint;
import io.leasefs.chunkserver.store.JournalRecord.Cut;
import io.leasefs.chunkserver.store.JournalRecord.Mutated;
import io.leasefs.chunkserver.store.JournalRecord.Place;
import io.leasefs.chunkserver.store.JournalRecord.Promised;
import io.leasefs.chunkserver.store.JournalRecord.Standing;
import io.leasefs.common.api.Heartbeat.Certainty;
import io.leasefs.common.api.Mutation;
import io.leasefs.common.api.MutationKind;
import io.leasefs.common.api.VersionStart;
import io.leasefs.common.checksum.Checksums;
import io.leasefs.common.checksum.Crc32c;
import io.leasefs.common.error.LeaseFsException;
import io.leasefs.common.model.ChunkHandle;
import io.leasefs.common.model.ChunkSpec;
import io.leasefs.common.model.DiskId;
import io.leasefs.common.model.Durability;
import io.leasefs.common.model.FileId;
import io.leasefs.common.model.Member;
import io.leasefs.common.model.ReplicaId;
import io.leasefs.common.model.ServerId;
import io.leasefs.common.model.SessionId;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.HexFormat;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Test;

class JournalCodecTest {
  private static final HexFormat HEX = HexFormat.of();
  private static final ByteBuffer NOTHING = ByteBuffer.allocate(0);

  private static final JournalHeader HEADER =
      new JournalHeader(
          new ChunkSpec(new ChunkHandle(0x51c), new FileId(7), 64 << 20, Durability.SYNCED),
          new Member(new ServerId("cs1"), new DiskId("ab01"), new ReplicaId(0x51d)));

  @Test
  void headerHasItsGoldenBytes() throws IOException {
    ByteBuffer sector = JournalCodec.header(HEADER);
    assertThat(hex(sector.slice(0, 56)))
        .isEqualTo(
            "4c46534a524e4c0a" // magic
                + "0001" // format
                + "000000000000051c" // handle
                + "0000000000000007" // file
                + "0000000004000000" // capacity
                + "01" // durability
                + "000000000000051d" // replica
                + "03637331" // server
                + "0461623031" // disk
                + "00000000");
    assertThat(JournalCodec.readHeader(sector, "x")).isEqualTo(HEADER);
  }

  @Test
  void aPromiseHasItsGoldenBytes() {
    assertThat(hex(encode(new Promised(7), NOTHING)))
        .isEqualTo("00000009" + "088c8bc5" + "02" + "0000000000000007");
  }

  @Test
  void aMutationHasItsGoldenBytes() {
    ByteBuffer payload = ByteBuffer.wrap("hello".getBytes(StandardCharsets.US_ASCII));
    Mutation mutation = mutation(MutationKind.WRITE, 100, payload);
    Mutated entry =
        new Mutated(mutation, Place.JOURNAL, 3, Fragments.of(100, payload, mutation.checksums()));
    assertThat(hex(encode(entry, payload)))
        .isEqualTo(
            "00000062"
                + "61336893"
                + "01" // mutation
                + "01" // payload inside
                + "0000000000000002" // version
                + "0000000000000004" // serial
                + "00" // WRITE
                + "0000000000000064" // offset
                + "0000000000000007" // file
                + "0000000000000009" // session
                + "000000000000000b" // sequence
                + "000000000000000a" // floor
                + "0000000000000800" // chunk length
                + "0000000000000001" // detail
                + "0000000000000003" // committed
                + "00000005" // payload bytes
                + "0001" // fragments
                + "9a71bb4c"
                + "68656c6c6f");
  }

  @Test
  void everyRecordComesBackAsItWent() throws IOException {
    for (JournalRecord entry :
        List.of(new Promised(9), new Cut(4, 1000), new Standing(Certainty.UNCERTAIN, true))) {
      assertThat(JournalCodec.read(encode(entry, NOTHING), false)).isEqualTo(entry);
    }
    Applied applied =
        (Applied)
            JournalCodec.read(
                encode(new Applied(8, 70_000, new int[] {0, 1}, new int[] {-5, 6}), NOTHING),
                false);
    assertThat(applied.serial()).isEqualTo(8);
    assertThat(applied.blocks()).containsExactly(0, 1);
    assertThat(applied.crcs()).containsExactly(-5, 6);
    Checkpoint checkpoint =
        (Checkpoint)
            JournalCodec.read(encode(new Checkpoint(snapshot(), new int[] {1, 2}), NOTHING), false);
    assertThat(checkpoint.snapshot()).isEqualTo(snapshot());
    assertThat(checkpoint.blockCrcs()).containsExactly(1, 2);
    assertThat(SnapshotCodec.decode(SnapshotCodec.encode(snapshot()))).isEqualTo(snapshot());
  }

  @Test
  void aMutationKeepsItsPieceChecksumsWhateverItsOffset() throws IOException {
    byte[] bytes = new byte[200_000];
    for (int i = 0; i < bytes.length; i++) {
      bytes[i] = (byte) ((i * 31) >> 3);
    }
    for (long offset : new long[] {0, 1, 65_535, 65_536, 100_000}) {
      ByteBuffer payload = ByteBuffer.wrap(bytes);
      Mutation mutation = mutation(MutationKind.APPEND, offset, payload);
      int[] fragments = Fragments.of(offset, payload, mutation.checksums());
      Mutated entry = new Mutated(mutation, Place.DATA_FILE, 3, fragments);
      Mutated back = (Mutated) JournalCodec.read(encode(entry, NOTHING), false);
      assertThat(back.mutation().checksums()).isEqualTo(mutation.checksums());
      assertThat(back.mutation()).isEqualTo(mutation.withoutPayload());
      assertThat(Fragments.match(offset, payload, back.fragments())).isTrue();
    }
  }

  @Test
  void everyFlippedBitOfARecordIsSeen() {
    ByteBuffer payload = ByteBuffer.wrap(new byte[] {1, 2, 3});
    Mutation mutation = mutation(MutationKind.WRITE, 0, payload);
    ByteBuffer bytes =
        encode(
            new Mutated(mutation, Place.JOURNAL, 3, Fragments.of(0, payload, mutation.checksums())),
            payload);
    for (int bit = 0; bit < bytes.limit() * 8; bit++) {
      ByteBuffer flipped = ByteBuffer.allocate(bytes.limit()).put(bytes.duplicate()).flip();
      flipped.put(bit / 8, (byte) (flipped.get(bit / 8) ^ (1 << (bit % 8))));
      assertThatThrownBy(() -> JournalCodec.read(flipped, true)).isInstanceOf(IOException.class);
    }
  }

  @Test
  void aNewerFormatIsRefusedInOneClearLine() {
    ByteBuffer sector = JournalCodec.header(HEADER);
    sector.putShort(8, (short) 2);
    sector.putInt(508, Crc32c.of(sector.duplicate().position(0).limit(508)));
    assertThatThrownBy(() -> JournalCodec.readHeader(sector, "chunks/1c/51c.journal"))
        .isInstanceOf(LeaseFsException.class)
        .hasMessage(
            "chunks/1c/51c.journal: journal format 2 is newer than this server, which reads 1");
  }

  @Test
  void aDamagedHeaderIsNotGuessedAt() {
    ByteBuffer sector = JournalCodec.header(HEADER);
    sector.put(20, (byte) 9);
    assertThatThrownBy(() -> JournalCodec.readHeader(sector, "x"))
        .isInstanceOf(UnreadableJournalException.class)
        .hasMessageContaining("damaged");
  }

  @Test
  void aFormatThatRottedIsDamageAndNoNewerFormat() {
    for (int bit = 0; bit < 16; bit++) {
      ByteBuffer sector = JournalCodec.header(HEADER);
      sector.put(8 + bit / 8, (byte) (sector.get(8 + bit / 8) ^ 1 << (bit % 8)));
      assertThatThrownBy(() -> JournalCodec.readHeader(sector, "x"))
          .isInstanceOf(UnreadableJournalException.class)
          .hasMessageContaining("damaged");
    }
  }

  @Test
  void theNewerWholeWatermarkCounts() throws IOException {
    ByteBuffer sectors = ByteBuffer.allocate(1024);
    sectors.put(JournalCodec.watermark(new Watermark(4, 2000, 9)));
    sectors.put(JournalCodec.watermark(new Watermark(5, 3000, 11))).flip();
    assertThat(JournalCodec.readWatermarks(sectors)).isEqualTo(new Watermark(5, 3000, 11));
    sectors.put(600, (byte) 1);
    assertThat(JournalCodec.readWatermarks(sectors)).isEqualTo(new Watermark(4, 2000, 9));
    sectors.put(100, (byte) 1);
    assertThatThrownBy(() -> JournalCodec.readWatermarks(sectors))
        .hasMessageContaining("both watermarks");
  }

  private static Snapshot snapshot() {
    return new Snapshot(
        12,
        70_000,
        List.of(new VersionStart(1, 0), new VersionStart(3, 9)),
        List.of(
            new Row(
                new SessionId(5),
                3,
                List.of(
                    new Result(4, MutationKind.APPEND, true, 10, 3, 10, false, 100, -7),
                    new Result(5, MutationKind.WRITE, false, 0, 0, 0, false, 0, 0)))),
        List.of(new SessionId(2)),
        2,
        List.of(new SessionId(1)),
        44,
        Optional.of(new SealPoint(12, 70_000, Optional.of(-3))));
  }

  private static Mutation mutation(MutationKind kind, long offset, ByteBuffer payload) {
    return new Mutation(
        2,
        4,
        kind,
        offset,
        new FileId(7),
        new SessionId(9),
        11,
        10,
        2048,
        1,
        Checksums.of(payload, 1 << 16),
        payload);
  }

  private static ByteBuffer encode(JournalRecord entry, ByteBuffer payload) {
    int inside = JournalCodec.payloadInside(entry);
    ByteBuffer bytes = ByteBuffer.allocate(JournalCodec.size(entry) + inside);
    JournalCodec.write(entry, bytes);
    return bytes.put(payload.duplicate().limit(inside)).flip();
  }

  private static String hex(ByteBuffer bytes) {
    byte[] array = new byte[bytes.remaining()];
    bytes.duplicate().get(array);
    return HEX.formatHex(array);
  }
}
