package io.leasefs.cluster.history;

import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.function.LongSupplier;

/**
 * What clients did with one file, and what they were told: calls and answers in the order in which
 * they happened, which is the order of the calls of these methods.
 */
public final class FileHistory {
  /** Not answered, or not known. */
  public static final long NEVER = Long.MAX_VALUE;

  /** One append or one read of the whole file. */
  public static final class Operation {
    private final Object name;
    private final boolean read;
    private final boolean mayBeOld;
    private final long length;
    private final long called;
    private final long calledAt;
    private long answeredAt;
    private long answered = NEVER;
    private long offset = -1;
    private boolean refused;
    private List<Integer> content = List.of();

    private Operation(
        Object name, boolean read, boolean mayBeOld, long length, long called, long calledAt) {
      this.name = name;
      this.read = read;
      this.mayBeOld = mayBeOld;
      this.length = length;
      this.called = called;
      this.calledAt = calledAt;
    }

    boolean isRead() {
      return read;
    }

    /** A read that only promises some state of the file that once was. */
    boolean mayBeOld() {
      return mayBeOld;
    }

    /** Of the record of an append, in bytes. */
    long length() {
      return length;
    }

    /** When it was called: before this nothing of it can have happened. */
    long called() {
      return called;
    }

    /** When it was answered: by then it had happened; {@link #NEVER}: it may happen still. */
    long answered() {
      return answered;
    }

    /** Where an append was told to lie; negative: nothing was told. */
    long offset() {
      return offset;
    }

    /** True for an append of which was said that it never happens. */
    boolean isRefused() {
      return refused;
    }

    /** The appends whose records a read has seen, in their order in the file. */
    List<Integer> content() {
      return content;
    }

    private static String at(long nanos) {
      return String.format(Locale.ROOT, "%.6f", nanos / 1e9);
    }

    @Override
    public String toString() {
      if (refused) {
        return name + " [" + at(calledAt) + ", refused]";
      }
      if (answered == NEVER) {
        return name + " [" + at(calledAt) + ", not answered]";
      }
      return name
          + (mayBeOld ? ", which may be old" : "")
          + (" [" + at(calledAt) + " to " + at(answeredAt) + "]")
          + (read ? " saw " + content.size() + " records" : " was told " + offset);
    }
  }

  private final LongSupplier clock;
  private final List<Operation> operations = new ArrayList<>();
  private long instant;

  /**
   * Nothing yet.
   *
   * @param clock nanoseconds since the beginning; only for people: the order is that of the calls
   */
  public FileHistory(LongSupplier clock) {
    this.clock = clock;
  }

  /**
   * An append is called.
   *
   * @param name made into text only for people
   * @param length of its record, at least 1
   * @return its number
   */
  public int append(Object name, long length) {
    if (length < 1) {
      throw new IllegalArgumentException("length " + length);
    }
    operations.add(new Operation(name, false, false, length, ++instant, clock.getAsLong()));
    return operations.size() - 1;
  }

  /** An append is acknowledged. */
  public void placed(int append, long offset) {
    Operation operation = operations.get(append);
    operation.answered = ++instant;
    operation.answeredAt = clock.getAsLong();
    operation.offset = offset;
  }

  /** An append has failed for certain: its record is never in the file. */
  public void refused(int append) {
    operations.get(append).refused = true;
  }

  /**
   * A read of the whole file is called.
   *
   * @param mayBeOld it promises only a state that once was
   */
  public int read(Object name, boolean mayBeOld) {
    operations.add(new Operation(name, true, mayBeOld, 0, ++instant, clock.getAsLong()));
    return operations.size() - 1;
  }

  /** A read is answered with the records of these appends. */
  public void saw(int read, List<Integer> appends) {
    Operation operation = operations.get(read);
    operation.answered = ++instant;
    operation.answeredAt = clock.getAsLong();
    operation.content = List.copyOf(appends);
  }

  List<Operation> operations() {
    return operations;
  }
}
