package io.leasefs.server.start;

import static com.google.common.base.Preconditions.checkArgument;

import io.leasefs.common.config.ConfigKey;
import io.leasefs.common.model.ServerAddress;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;

/** The settings that both servers have. */
public final class ServerKeys {
  private static final List<String> LEVELS = List.of("error", "warn", "info", "debug", "trace");

  /** The data folder. */
  public static final ConfigKey<Path> DATA =
      ConfigKey.path("data", "folder for everything that this server keeps");

  /** Second listener, for clients that reach this host by another address. */
  public static final ConfigKey<ServerAddress> LISTEN_EXTERNAL =
      ConfigKey.address(
              "listen.external",
              "second listener; who connects here is told the external addresses of all servers")
          .optional();

  /** What other hosts use to reach the first listener. */
  public static final ConfigKey<ServerAddress> ADVERTISE =
      ConfigKey.address("advertise", "address told to others for --listen, if it is not the same")
          .optional();

  /** What other hosts use to reach the second listener. */
  public static final ConfigKey<ServerAddress> ADVERTISE_EXTERNAL =
      ConfigKey.address(
              "advertise.external",
              "address told to others for --listen-external, if it is not the same")
          .optional();

  /** Health, metrics and console. */
  public static final ConfigKey<ServerAddress> ADMIN =
      ConfigKey.address("admin", "HTTP address of health, metrics and console")
          .withDefault("127.0.0.1:0");

  /** T. */
  public static final ConfigKey<Duration> LEASE_TTL =
      ConfigKey.duration("lease.ttl", "time to live of a lease, 1s to 60s").withDefault("10s");

  /** Whether the fault verbs work here. */
  public static final ConfigKey<Boolean> ALLOW_FAULTS =
      ConfigKey.onOff("allow-faults", "take orders to fail on purpose; never in production");

  /** The cluster that this server must be part of. */
  public static final ConfigKey<String> CLUSTER_ID =
      ConfigKey.text("cluster-id", "cluster that this server must be part of").optional();

  static final ConfigKey<Boolean> END_WITH_INPUT =
      ConfigKey.onOff("end-with-input", "end when standard input does: with whoever started it");

  static final ConfigKey<Path> LOG_FILE =
      ConfigKey.path("log.file", "log into this file, 10 of 10 MiB, instead of stderr").optional();

  static final ConfigKey<String> LOG_LEVEL =
      ConfigKey.of("log.level", "error, warn, info, debug or trace", ServerKeys::logLevel)
          .withDefault("info");

  private ServerKeys() {}

  /** The first listener, on loopback unless told otherwise. */
  public static ConfigKey<ServerAddress> listen(int defaultPort) {
    return ConfigKey.address("listen", "address of the listener for servers and clients")
        .withDefault("127.0.0.1:" + defaultPort);
  }

  private static String logLevel(String text) {
    checkArgument(LEVELS.contains(text), "'%s' is none of %s", text, LEVELS);
    return text;
  }
}
