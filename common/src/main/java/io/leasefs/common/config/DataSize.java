package io.leasefs.common.config;

import static com.google.common.base.Preconditions.checkArgument;

import java.math.BigDecimal;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * A number of bytes as people write it: {@code 64MiB}, {@code 1.5GiB}, {@code 512}. Units are
 * binary only (B, KiB, MiB, GiB, TiB): a setting must not depend on what somebody takes "M" for.
 *
 * @param bytes zero or more
 */
public record DataSize(long bytes) implements Comparable<DataSize> {
  private static final Pattern TEXT = Pattern.compile("(\\d+(?:\\.\\d+)?) ?(B|KiB|MiB|GiB|TiB)?");
  private static final String[] UNITS = {"B", "KiB", "MiB", "GiB", "TiB"};
  private static final String EXPECTED = "a size such as 512, 64KiB, 64MiB, 1.5GiB or 2TiB";

  public DataSize {
    checkArgument(bytes >= 0, "a size is zero or more bytes, not %s", bytes);
  }

  /**
   * Reads what {@link #toString} prints, and fractions that give a whole number of bytes.
   *
   * @throws IllegalArgumentException with what was expected instead
   */
  public static DataSize parse(String text) {
    Matcher matcher = TEXT.matcher(text.strip());
    checkArgument(matcher.matches(), "'%s' is not %s", text, EXPECTED);
    String unit = matcher.group(2);
    int power = 0;
    while (unit != null && !UNITS[power].equals(unit)) {
      power++;
    }
    BigDecimal bytes =
        new BigDecimal(matcher.group(1)).multiply(BigDecimal.valueOf(1L << (10 * power)));
    try {
      return new DataSize(bytes.longValueExact());
    } catch (ArithmeticException e) {
      throw new IllegalArgumentException(
          "'" + text + "' is not a whole number of bytes below 8388608TiB", e);
    }
  }

  /** The shortest exact form: the largest unit that divides it, as in {@code 64MiB}. */
  @Override
  public String toString() {
    int power = 0;
    long count = bytes;
    while (power + 1 < UNITS.length && count != 0 && count % 1024 == 0) {
      count /= 1024;
      power++;
    }
    return count + UNITS[power];
  }

  @Override
  public int compareTo(DataSize other) {
    return Long.compare(bytes, other.bytes);
  }
}
