package io.leasefs.chunkserver.store;

import io.leasefs.chunkserver.replica.ReplicaImage;
import io.leasefs.chunkserver.replica.ReplicaImage.Snapshot;
import io.leasefs.common.api.Mutation;
import io.leasefs.common.api.MutationKind;
import io.leasefs.common.api.VersionStart;
import io.leasefs.common.checksum.Checksums;
import io.leasefs.common.model.FileId;
import io.leasefs.common.model.SessionId;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.Random;

/** What a chunk ought to be: its records and, by them, its bytes after every serial. */
final class ChunkModel {
  final List<Mutation> records = new ArrayList<>();
  private final Random random;
  private long version = 1;
  long committed;

  ChunkModel(Random random) {
    this.random = random;
  }

  long lastSerial() {
    return records.size();
  }

  long length() {
    return records.isEmpty() ? 0 : records.get(records.size() - 1).chunkLength();
  }

  long lengthAt(long serial) {
    return serial == 0 ? 0 : records.get((int) serial - 1).chunkLength();
  }

  /** Some next mutation. */
  Mutation next(boolean overwrites) {
    int dice = random.nextInt(100);
    if (overwrites && dice < 25 && length() > 0) {
      long offset = random.nextLong(length() + 1);
      return add(MutationKind.WRITE, offset, payload(1 + random.nextInt(maxPayload())));
    }
    if (overwrites && dice < 32 && length() > 0) {
      return add(MutationKind.TRUNCATE, random.nextLong(length() + 1), new byte[0]);
    }
    if (dice < 38) {
      return add(MutationKind.ABORT, random.nextInt(50), new byte[0]);
    }
    if (dice < 42) {
      version += 1 + random.nextInt(2);
      return add(MutationKind.VERSION_START, 0, new byte[0]);
    }
    if (dice < 45) {
      return add(MutationKind.FORGET, 77, payload(16));
    }
    return add(MutationKind.APPEND, length(), payload(1 + random.nextInt(maxPayload())));
  }

  private int maxPayload() {
    return random.nextInt(4) == 0 ? 150_000 : 3_000;
  }

  private byte[] payload(int length) {
    byte[] bytes = new byte[length];
    random.nextBytes(bytes);
    return bytes;
  }

  Mutation add(MutationKind kind, long offset, byte[] payload) {
    long length =
        switch (kind) {
          case APPEND -> length() + payload.length;
          case WRITE -> Math.max(length(), offset + payload.length);
          case TRUNCATE -> offset;
          case SEAL, ABORT, DEAD, FORGET, VERSION_START -> length();
        };
    ByteBuffer bytes = ByteBuffer.wrap(payload);
    Mutation mutation =
        new Mutation(
            version,
            lastSerial() + 1,
            kind,
            offset,
            new FileId(7),
            new SessionId(5),
            lastSerial() + 1,
            1,
            length,
            0,
            Checksums.of(bytes, 1 << 16),
            bytes);
    records.add(mutation);
    return mutation;
  }

  void cutTo(long serial) {
    while (lastSerial() > serial) {
      records.remove(records.size() - 1);
    }
    version = Math.max(version, 1);
  }

  /** The bytes right after a serial. */
  byte[] contentAt(long serial) {
    byte[] content = new byte[0];
    for (Mutation record : records.subList(0, (int) serial)) {
      switch (record.kind()) {
        case WRITE, APPEND -> {
          content = Arrays.copyOf(content, (int) record.chunkLength());
          record.payload().duplicate().get(content, (int) record.offset(), record.payloadBytes());
        }
        case TRUNCATE -> content = Arrays.copyOf(content, (int) record.offset());
        case SEAL, ABORT, DEAD, FORGET, VERSION_START -> {}
      }
    }
    return content;
  }

  /** As a core would hand it over for compaction. */
  Snapshot snapshotAt(long serial) {
    List<VersionStart> history = new ArrayList<>();
    history.add(new VersionStart(1, 0));
    for (Mutation record : records.subList(0, (int) serial)) {
      if (record.kind() == MutationKind.VERSION_START) {
        history.add(new VersionStart(record.version(), record.serial()));
      }
    }
    return new Snapshot(
        serial, lengthAt(serial), history, List.of(), List.of(), 0, List.of(), 0, Optional.empty());
  }

  /** The image's records are this model's, header by header, from its snapshot to its end. */
  boolean agreesWith(ReplicaImage image) {
    long serial = image.snapshot().serial();
    if (image.snapshot().lengthBytes() != lengthAt(serial)) {
      return false;
    }
    for (Mutation found : image.tail()) {
      serial++;
      Mutation expected = records.get((int) serial - 1);
      Mutation wanted =
          expected.kind() == MutationKind.FORGET ? expected : expected.withoutPayload();
      if (!found.equals(wanted)) {
        return false;
      }
    }
    return true;
  }
}
