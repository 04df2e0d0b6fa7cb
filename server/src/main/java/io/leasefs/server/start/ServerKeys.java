package io.leasefs.server.start;

import static com.google.common.base.Preconditions.checkArgument;

import io.leasefs.common.config.Config;
import io.leasefs.common.config.ConfigKey;
import io.leasefs.common.edge.Clock;
import io.leasefs.common.error.ErrorCode;
import io.leasefs.common.error.LeaseFsException;
import io.leasefs.common.model.ServerAddress;
import io.leasefs.server.clock.BentClock;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;

/** The settings that both servers have. */
public final class ServerKeys {
  private static final long MOST_DRIFT_PPM = 500_000;
  private static final long MOST_WALL_SECONDS = 1_000_000_000;
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

  /** How wrong the clock of leases is, on purpose. */
  public static final ConfigKey<Long> FAULT_DRIFT =
      ConfigKey.number(
              "fault.drift",
              "parts per million by which this server's clock is too fast; with --allow-faults",
              -MOST_DRIFT_PPM,
              MOST_DRIFT_PPM)
          .withDefault("0");

  /** How wrong the wall clock is, on purpose. */
  public static final ConfigKey<Long> FAULT_WALL =
      ConfigKey.number(
              "fault.wall",
              "seconds by which this server's wall clock is ahead; with --allow-faults",
              -MOST_WALL_SECONDS,
              MOST_WALL_SECONDS)
          .withDefault("0");

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

  /**
   * The clock that this server is to go by: the real one, unless it is bent for a test.
   *
   * @throws LeaseFsException where it is to be bent, and no faults are allowed
   */
  public static Clock clock(Config config, Clock real) {
    long driftPpm = config.get(FAULT_DRIFT);
    long wallSeconds = config.get(FAULT_WALL);
    if (driftPpm == 0 && wallSeconds == 0) {
      return real;
    }
    if (!config.get(ALLOW_FAULTS)) {
      throw new LeaseFsException(
          ErrorCode.INVALID_ARGUMENT,
          "fault.drift, fault.wall: this server does not allow faults",
          "add --allow-faults, or leave them away");
    }
    return new BentClock(real, driftPpm, wallSeconds * 1_000);
  }

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
