package io.leasefs.client;

import io.leasefs.common.api.ChunkApi.ReadMode;
import io.leasefs.common.api.Frame;
import io.leasefs.common.error.ErrorCode;
import io.leasefs.common.error.LeaseFsException;
import io.leasefs.common.model.ServerAddress;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/**
 * How a client works. Start from {@link #of} and change what is needed.
 *
 * @param masters at least one
 * @param clusterId where set, another cluster is refused with WRONG_CLUSTER
 * @param timeout bound on each wait without progress
 * @param writeWindowBytes most payload of one file under way, at least 1 MiB
 * @param readAheadParts parts of 1 MiB that a sequential read asks for ahead, 0 to 64
 * @param readMode how fresh reads are
 * @param shortLived true for a process of few operations: its session ends with its last close
 * @param writesOn true: an append whose primary is silent goes on in a new chunk; false: it waits
 *     for the chunk's next primary
 */
public record LeaseFsConfig(
    List<ServerAddress> masters,
    Optional<String> clusterId,
    Duration timeout,
    long writeWindowBytes,
    int readAheadParts,
    ReadMode readMode,
    boolean shortLived,
    boolean writesOn) {
  public LeaseFsConfig {
    masters = List.copyOf(masters);
    check(!masters.isEmpty(), "no master address");
    check(!timeout.isNegative() && !timeout.isZero(), "the timeout must be above zero: " + timeout);
    check(
        writeWindowBytes >= Frame.MAX_PAYLOAD,
        "the write window holds at least 1 MiB: " + writeWindowBytes);
    check(
        readAheadParts >= 0 && readAheadParts <= 64,
        "0 to 64 parts are read ahead: " + readAheadParts);
  }

  private static void check(boolean holds, String message) {
    if (!holds) {
      throw new LeaseFsException(ErrorCode.INVALID_ARGUMENT, message);
    }
  }

  /** The defaults: 30 s, 8 MiB under way per file, four parts read ahead. */
  public static LeaseFsConfig of(List<ServerAddress> masters) {
    return new LeaseFsConfig(
        masters,
        Optional.empty(),
        Duration.ofSeconds(30),
        8L * Frame.MAX_PAYLOAD,
        4,
        ReadMode.DEFAULT,
        false,
        true);
  }

  /** The defaults for masters written as {@code HOST:PORT[,HOST:PORT...]}. */
  public static LeaseFsConfig of(String masters) {
    List<ServerAddress> addresses = new ArrayList<>();
    for (String master : masters.split(",", -1)) {
      addresses.add(ServerAddress.parse(master.strip()));
    }
    return of(addresses);
  }

  /** The same, with this cluster only. */
  public LeaseFsConfig withClusterId(String id) {
    return new LeaseFsConfig(
        masters,
        Optional.of(id),
        timeout,
        writeWindowBytes,
        readAheadParts,
        readMode,
        shortLived,
        writesOn);
  }

  /** The same, with this bound on each wait. */
  public LeaseFsConfig withTimeout(Duration bound) {
    return new LeaseFsConfig(
        masters,
        clusterId,
        bound,
        writeWindowBytes,
        readAheadParts,
        readMode,
        shortLived,
        writesOn);
  }

  /** The same, with so much payload of one file under way. */
  public LeaseFsConfig withWriteWindowBytes(long bytes) {
    return new LeaseFsConfig(
        masters, clusterId, timeout, bytes, readAheadParts, readMode, shortLived, writesOn);
  }

  /** The same, with so many parts read ahead. */
  public LeaseFsConfig withReadAheadParts(int parts) {
    return new LeaseFsConfig(
        masters, clusterId, timeout, writeWindowBytes, parts, readMode, shortLived, writesOn);
  }

  /** The same, with reads of this freshness. */
  public LeaseFsConfig withReadMode(ReadMode mode) {
    return new LeaseFsConfig(
        masters, clusterId, timeout, writeWindowBytes, readAheadParts, mode, shortLived, writesOn);
  }

  /** The same, with appends that go on in a new chunk, or wait for the chunk's next primary. */
  public LeaseFsConfig withWritesOn(boolean goOn) {
    return new LeaseFsConfig(
        masters, clusterId, timeout, writeWindowBytes, readAheadParts, readMode, shortLived, goOn);
  }

  /** The same, for a process of few operations. */
  public LeaseFsConfig withShortLived(boolean isShort) {
    return new LeaseFsConfig(
        masters, clusterId, timeout, writeWindowBytes, readAheadParts, readMode, isShort, writesOn);
  }
}
