package io.leasefs.chunkserver.store;

import java.util.Arrays;

/** Longs in an array that grows. Not thread-safe. */
final class LongList {
  private long[] values = new long[8];
  private int size;

  void add(long value) {
    if (size == values.length) {
      values = Arrays.copyOf(values, size * 2);
    }
    values[size++] = value;
  }

  long get(int index) {
    if (index >= size) {
      throw new IndexOutOfBoundsException(index + " of " + size);
    }
    return values[index];
  }

  int size() {
    return size;
  }

  void cutTo(int newSize) {
    size = newSize;
  }
}
