package io.leasefs.cluster.demo;

import io.leasefs.client.FileReader;
import io.leasefs.client.LeaseFs;
import io.leasefs.cluster.demo.Evidence.Copy;
import io.leasefs.cluster.demo.Evidence.Found;
import io.leasefs.common.api.ChunkApi;
import io.leasefs.common.api.ChunkApi.ReadMode;
import io.leasefs.common.api.ChunkApi.ReadRequest;
import io.leasefs.common.error.ErrorCode;
import io.leasefs.common.error.LeaseFsException;
import io.leasefs.common.model.ChunkLayout;
import io.leasefs.common.model.Location;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.Optional;

/** What is there after the harm: the records of a file, and the bytes of each of its replicas. */
final class ReadBack {
  private final LeaseFs client;

  ReadBack(LeaseFs client) {
    this.client = client;
  }

  /** Every record of the file, in its order. */
  List<Found> records(String path) {
    List<Found> found = new ArrayList<>();
    records(path, found);
    return found;
  }

  /** The same into a list, which has all records before the first that cannot be read. */
  void records(String path, List<Found> found) {
    try (FileReader reader = client.open(path)) {
      byte[] piece = new byte[Writers.RECORD_BYTES * 1024];
      long offset = 0;
      int filled = 0;
      for (int got = 0; got >= 0; ) {
        got = reader.read(piece, filled, piece.length - filled);
        filled += Math.max(0, got);
        int whole = filled - filled % Writers.RECORD_BYTES;
        for (int at = 0; at < whole; at += Writers.RECORD_BYTES) {
          found.add(Writers.parse(path, piece, at, offset + at));
        }
        System.arraycopy(piece, whole, piece, 0, filled - whole);
        offset += whole;
        filled -= whole;
      }
      if (filled > 0) {
        found.add(new Found(path, -1, offset, offset)); // half a record is none
      }
    }
  }

  /** Every replica's bytes, as that very server gives them; servers that are gone are left out. */
  List<Copy> copies(String path) {
    List<Copy> copies = new ArrayList<>();
    for (ChunkLayout chunk : client.layout(path).chunks()) {
      for (Location location : chunk.locations()) {
        copy(chunk, location).ifPresent(copies::add);
      }
    }
    return copies;
  }

  private Optional<Copy> copy(ChunkLayout chunk, Location location) {
    MessageDigest digest = sha256();
    ChunkApi server = client.chunkServer(location.address());
    try {
      ChunkApi.ReadEnd end =
          LeaseFs.join(
              server.read(
                  new ReadRequest(
                      chunk.handle(),
                      chunk.configuration().version(),
                      chunk.seal(),
                      0,
                      Long.MAX_VALUE,
                      ReadMode.STALE_OK),
                  part -> digest.update(part.payload().duplicate())));
      return Optional.of(
          new Copy(
              chunk.handle().toString(),
              location.member().server().name(),
              end.committedLength(),
              HexFormat.of().formatHex(digest.digest())));
    } catch (LeaseFsException e) {
      if (e.code() == ErrorCode.UNREACHABLE || e.code() == ErrorCode.TIMED_OUT) {
        return Optional.empty(); // it was killed
      }
      throw e;
    }
  }

  private static MessageDigest sha256() {
    try {
      return MessageDigest.getInstance("SHA-256");
    } catch (NoSuchAlgorithmException e) {
      throw new IllegalStateException(e);
    }
  }
}
