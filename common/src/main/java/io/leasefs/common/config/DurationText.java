package io.leasefs.common.config;

import static com.google.common.base.Preconditions.checkArgument;

import java.math.BigDecimal;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** Durations as people write them: {@code 10s}, {@code 200ms}, {@code 1.5m}. A unit is required. */
public final class DurationText {
  private static final Pattern TEXT = Pattern.compile("(\\d+(?:\\.\\d+)?) ?(ns|us|ms|s|m|h|d)");
  private static final String EXPECTED =
      "a duration such as 10s, 200ms, 1.5m or 2h (units ns, us, ms, s, m, h, d)";

  /** Nanoseconds of each unit, largest first. */
  private static final Map<String, Long> UNITS = new LinkedHashMap<>();

  static {
    UNITS.put("d", 86_400_000_000_000L);
    UNITS.put("h", 3_600_000_000_000L);
    UNITS.put("m", 60_000_000_000L);
    UNITS.put("s", 1_000_000_000L);
    UNITS.put("ms", 1_000_000L);
    UNITS.put("us", 1_000L);
    UNITS.put("ns", 1L);
  }

  private DurationText() {}

  /**
   * Reads what {@link #print} prints, and fractions that give whole nanoseconds.
   *
   * @throws IllegalArgumentException with what was expected instead
   */
  public static Duration parse(String text) {
    Matcher matcher = TEXT.matcher(text.strip());
    checkArgument(matcher.matches(), "'%s' is not %s", text, EXPECTED);
    long unitNanos = UNITS.getOrDefault(matcher.group(2), 1L);
    BigDecimal nanos = new BigDecimal(matcher.group(1)).multiply(BigDecimal.valueOf(unitNanos));
    try {
      return Duration.ofNanos(nanos.longValueExact());
    } catch (ArithmeticException e) {
      throw new IllegalArgumentException(
          "'" + text + "' is not a whole number of nanoseconds below 292 years", e);
    }
  }

  /**
   * The shortest exact form: the largest unit that divides it, but no longer unit than seconds for
   * what is under two minutes, as in {@code 90s}.
   *
   * @throws IllegalArgumentException for a negative duration
   */
  public static String print(Duration duration) {
    checkArgument(!duration.isNegative(), "a duration is zero or more, not %s", duration);
    long nanos = duration.toNanos();
    if (nanos == 0) {
      return "0s";
    }
    for (Map.Entry<String, Long> unit : UNITS.entrySet()) {
      boolean plain = unit.getValue() <= 1_000_000_000L || nanos >= 120_000_000_000L;
      if (plain && nanos % unit.getValue() == 0) {
        return nanos / unit.getValue() + unit.getKey();
      }
    }
    throw new AssertionError("every duration is a whole number of nanoseconds: " + nanos);
  }
}
