package io.leasefs.common.model;

import java.util.HexFormat;

/** A client process: 128 bits drawn at its start and never kept, or given by the user. */
public record ClientId(long high, long low) implements Comparable<ClientId> {
  @Override
  public int compareTo(ClientId other) {
    int first = Long.compareUnsigned(high, other.high);
    return first != 0 ? first : Long.compareUnsigned(low, other.low);
  }

  @Override
  public String toString() {
    HexFormat hex = HexFormat.of();
    return hex.toHexDigits(high) + hex.toHexDigits(low);
  }
}
