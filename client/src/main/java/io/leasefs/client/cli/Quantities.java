package io.leasefs.client.cli;

import io.leasefs.common.error.ErrorCode;
import io.leasefs.common.error.LeaseFsException;
import java.time.Instant;
import java.time.ZoneOffset;
import java.time.format.DateTimeFormatter;
import java.util.Locale;

/** Sizes, durations and times as people write and read them. */
public final class Quantities {
  private static final String[] UNITS = {"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
  private static final DateTimeFormatter MINUTES =
      DateTimeFormatter.ofPattern("yyyy-MM-dd HH:mm", Locale.ROOT).withZone(ZoneOffset.UTC);
  private static final DateTimeFormatter MILLIS =
      DateTimeFormatter.ofPattern("HH:mm:ss.SSS", Locale.ROOT).withZone(ZoneOffset.UTC);

  /** A hundred years: sums with it do not overflow. */
  private static final double LONGEST = 100 * 365 * 86_400e9;

  private Quantities() {}

  /** {@code 64.0 MiB}. */
  public static String human(long bytes) {
    double value = bytes;
    int unit = 0;
    while (value >= 1024 && unit < UNITS.length - 1) {
      value /= 1024;
      unit++;
    }
    return unit == 0 ? bytes + " B" : String.format(Locale.ROOT, "%.1f %s", value, UNITS[unit]);
  }

  /** {@code 9.8s}, {@code 210ms}, {@code 3m}, {@code 2h}. */
  public static String duration(long nanos) {
    long millis = nanos / 1_000_000;
    if (millis < 1000) {
      return millis + "ms";
    }
    if (millis < 120_000) {
      return String.format(Locale.ROOT, "%.1fs", millis / 1000.0);
    }
    long minutes = millis / 60_000;
    if (minutes < 120) {
      return minutes + "m";
    }
    return minutes < 48 * 60 ? minutes / 60 + "h" : minutes / 60 / 24 + "d";
  }

  /** {@code 1 file}, {@code 2 files}. */
  public static String count(long number, String one, String many) {
    return number + " " + (number == 1 ? one : many);
  }

  /** RFC 3339, UTC. */
  public static String instant(long wallMillis) {
    return Instant.ofEpochMilli(wallMillis).toString();
  }

  /** {@code 2026-11-29 17:14}, UTC. */
  public static String minute(long wallMillis) {
    return MINUTES.format(Instant.ofEpochMilli(wallMillis));
  }

  /** {@code 17:14:03.204}, UTC. */
  public static String timeOfDay(long wallMillis) {
    return MILLIS.format(Instant.ofEpochMilli(wallMillis));
  }

  /**
   * Reads {@code 10s}, {@code 1.5s}, {@code 200ms}, {@code 2m}, {@code 1h}, {@code 0}; nanoseconds.
   */
  public static long parseDuration(String text) {
    String trimmed = text.trim().toLowerCase(Locale.ROOT);
    int split = 0;
    while (split < trimmed.length()
        && (Character.isDigit(trimmed.charAt(split)) || trimmed.charAt(split) == '.')) {
      split++;
    }
    double unit =
        switch (trimmed.substring(split)) {
          case "ns" -> 1;
          case "us" -> 1e3;
          case "ms" -> 1e6;
          case "s", "" -> 1e9;
          case "m" -> 60e9;
          case "h" -> 3600e9;
          case "d" -> 86_400e9;
          default -> -1;
        };
    try {
      if (unit > 0 && split > 0) {
        return (long) Math.min(LONGEST, Double.parseDouble(trimmed.substring(0, split)) * unit);
      }
    } catch (NumberFormatException e) {
      // falls through to the one error below
    }
    throw new LeaseFsException(
        ErrorCode.INVALID_ARGUMENT,
        "not a duration: '" + text + "'",
        "write it as 10s, 200ms, 2m or 1h");
  }

  /** Reads {@code 4096}, {@code 64KiB}, {@code 64k}, {@code 1.5MiB}, {@code 1G}; bytes. */
  public static long parseSize(String text) {
    String trimmed = text.trim().toLowerCase(Locale.ROOT);
    int split = 0;
    while (split < trimmed.length()
        && (Character.isDigit(trimmed.charAt(split)) || trimmed.charAt(split) == '.')) {
      split++;
    }
    long unit =
        switch (trimmed.substring(split).trim()) {
          case "", "b" -> 1L;
          case "k", "kib", "kb" -> 1L << 10;
          case "m", "mib", "mb" -> 1L << 20;
          case "g", "gib", "gb" -> 1L << 30;
          case "t", "tib", "tb" -> 1L << 40;
          default -> -1L;
        };
    try {
      if (unit > 0 && split > 0) {
        return (long) (Double.parseDouble(trimmed.substring(0, split)) * unit);
      }
    } catch (NumberFormatException e) {
      // falls through to the one error below
    }
    throw new LeaseFsException(
        ErrorCode.INVALID_ARGUMENT,
        "not a size: '" + text + "'",
        "write it as 4096, 64KiB or 1GiB");
  }
}
