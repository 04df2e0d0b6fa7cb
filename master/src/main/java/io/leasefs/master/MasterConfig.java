package io.leasefs.master;

import io.leasefs.common.config.Config;
import io.leasefs.common.config.ConfigKey;
import io.leasefs.common.config.DataSize;
import io.leasefs.common.error.ErrorCode;
import io.leasefs.common.error.LeaseFsException;
import io.leasefs.common.lease.LeaseTerms;
import io.leasefs.common.model.ChunkSpec;
import io.leasefs.common.model.ServerAddress;
import io.leasefs.common.model.ServerId;
import io.leasefs.server.start.ServerKeys;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.SortedMap;
import java.util.TreeMap;

/** The settings of a master, checked. Immutable. */
record MasterConfig(
    ServerId self,
    LeaseTerms terms,
    long chunkBytes,
    int replication,
    long trashExpiryMillis,
    long quarantineNanos,
    Optional<SortedMap<ServerId, ServerAddress>> peers) {
  static final ConfigKey<Long> ID =
      ConfigKey.number("id", "number of this master", 1, 99).withDefault("1");
  static final ConfigKey<ServerAddress> LISTEN = ServerKeys.listen(9800);
  static final ConfigKey<DataSize> CHUNK_SIZE =
      ConfigKey.size(
              "chunk.size", "capacity of a chunk where its file does not choose, 1MiB to 1GiB")
          .withDefault("64MiB");
  static final ConfigKey<Long> REPLICATION =
      ConfigKey.number("replication", "copies of a chunk where its file does not choose", 1, 16)
          .withDefault("3");
  static final ConfigKey<Duration> TRASH_EXPIRY =
      ConfigKey.duration("trash.expiry", "what lies longer in the trash is dropped")
          .withDefault("6h");
  static final ConfigKey<Duration> QUARANTINE_EXPIRY =
      ConfigKey.duration(
              "quarantine.expiry", "copies of chunks that the log does not know are kept so long")
          .withDefault("24h");
  static final ConfigKey<String> PEERS =
      ConfigKey.text(
              "peers", "all masters' log addresses, this one's included: 1=HOST:PORT,2=HOST:PORT")
          .optional();

  /** All keys, in the order in which they are shown. */
  static List<ConfigKey<?>> keys() {
    return List.of(
        ID,
        ServerKeys.DATA,
        LISTEN,
        ServerKeys.LISTEN_EXTERNAL,
        ServerKeys.ADVERTISE,
        ServerKeys.ADVERTISE_EXTERNAL,
        ServerKeys.ADMIN,
        ServerKeys.CLUSTER_ID,
        ServerKeys.LEASE_TTL,
        CHUNK_SIZE,
        REPLICATION,
        TRASH_EXPIRY,
        QUARANTINE_EXPIRY,
        PEERS,
        ServerKeys.ALLOW_FAULTS,
        ServerKeys.FAULT_DRIFT,
        ServerKeys.FAULT_WALL);
  }

  /** Checks what single keys cannot. */
  static MasterConfig of(Config config) {
    long chunkBytes = config.get(CHUNK_SIZE).bytes();
    if (chunkBytes < ChunkSpec.MIN_CAPACITY || chunkBytes > ChunkSpec.MAX_CAPACITY) {
      throw new LeaseFsException(
          ErrorCode.INVALID_ARGUMENT,
          "--chunk-size " + chunkBytes + " is not between 1 MiB and 1 GiB",
          "64MiB suits most");
    }
    return new MasterConfig(
        name(config.get(ID)),
        LeaseTerms.ofTtl(config.get(ServerKeys.LEASE_TTL).toNanos()),
        chunkBytes,
        config.get(REPLICATION).intValue(),
        config.get(TRASH_EXPIRY).toMillis(),
        config.get(QUARANTINE_EXPIRY).toNanos(),
        config.find(PEERS).map(MasterConfig::peers));
  }

  private static ServerId name(long number) {
    return new ServerId("master" + number);
  }

  private static SortedMap<ServerId, ServerAddress> peers(String text) {
    SortedMap<ServerId, ServerAddress> peers = new TreeMap<>();
    for (String part : text.split(",", -1)) {
      int equals = part.indexOf('=');
      try {
        peers.put(
            name(Long.parseLong(part.substring(0, Math.max(0, equals)).strip())),
            ServerAddress.parse(part.substring(equals + 1).strip()));
      } catch (NumberFormatException e) {
        throw new LeaseFsException(
            ErrorCode.INVALID_ARGUMENT,
            "--peers: '" + part + "' is not NUMBER=HOST:PORT",
            "write --peers 1=HOST:PORT,2=HOST:PORT,3=HOST:PORT",
            e);
      }
    }
    return peers;
  }
}
