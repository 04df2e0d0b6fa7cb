package io.leasefs.cluster.history;

import static org.assertj.core.api.Assertions.assertThat;

import io.leasefs.cluster.history.LongHistory.Append;
import io.leasefs.cluster.history.LongHistory.Read;
import io.leasefs.cluster.history.LongHistory.Result;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Random;
import org.junit.jupiter.api.Test;

/** Windows say together what the whole history would say. */
class LongHistoryTest {
  private static final long BUDGET = 100_000;
  private static final int BYTES = 10;

  private final List<Append> appends = new ArrayList<>();
  private final List<Read> reads = new ArrayList<>();

  /** The next record, between these instants. */
  private void append(long called, long answered) {
    int number = appends.size();
    appends.add(new Append("A" + number, (long) BYTES * number, BYTES, called, answered));
  }

  private void read(int records, long called, long answered) {
    reads.add(new Read("R" + reads.size(), (long) BYTES * records, called, answered));
  }

  private Result inWindowsOf(int size) {
    return LongHistory.check(appends, reads, size, BUDGET);
  }

  @Test
  void nothingIsNoWindow() {
    assertThat(inWindowsOf(2)).isEqualTo(new Result(0, 0, Optional.empty()));
  }

  @Test
  void oneAfterAnotherInSeveralWindows() {
    for (int i = 0; i < 5; i++) {
      append(10L * i, 10L * i + 2);
      read(i + 1, 10L * i + 3, 10L * i + 4);
    }
    assertThat(inWindowsOf(2)).isEqualTo(new Result(3, 0, Optional.empty()));
  }

  @Test
  void readOfAnEarlierWindowThatWasCalledAfterALaterAnswerIsFound() {
    append(0, 1);
    append(2, 3);
    read(2, 100, 101); // of the first window, in which nothing contradicts it
    append(4, 5);

    assertThat(inWindowsOf(2).impossible())
        .hasValueSatisfying(why -> assertThat(why).contains("all up to R0"));
  }

  @Test
  void readsOfOneStateHaveNoOrderAmongThemselves() {
    append(0, 1);
    append(2, 3);
    read(2, 10, 11);
    read(2, 20, 21);
    read(2, 4, 30);
    append(31, 32);

    assertThat(inWindowsOf(1).impossible()).isEmpty();
    assertThat(inWindowsOf(2).impossible()).isEmpty();
  }

  @Test
  void eachReadOfOneStateCounts() {
    append(0, 1);
    append(50, 60);
    read(2, 10, 20); // what had not been called
    read(2, 55, 56);
    read(2, 57, 58);
    assertThat(inWindowsOf(2).impossible()).isPresent();

    reads.set(0, new Read("late", BYTES, 70, 71));
    assertThat(inWindowsOf(2).impossible()).isPresent();
  }

  @Test
  void appendThatWasNeverAnsweredIsWhereItWasRead() {
    append(0, FileHistory.NEVER);
    append(5, 6);
    read(1, 7, 8);

    assertThat(inWindowsOf(2).impossible()).isPresent();
    reads.clear();
    read(2, 7, 8);
    assertThat(inWindowsOf(2).impossible()).isEmpty();
  }

  @Test
  void gapIsFilledByWhatMayLieAnywhereAndByNothingElse() {
    append(0, 1);
    appends.add(new Append("later", 2 * BYTES, BYTES, 10, 11));
    assertThat(inWindowsOf(2).impossible()).isPresent();

    appends.add(new Append("lost", -1, BYTES, 5, FileHistory.NEVER));
    assertThat(inWindowsOf(2).impossible()).isEmpty();
  }

  @Test
  void lengthAtWhichNoRecordEndsIsImpossible() {
    append(0, 1);
    reads.add(new Read("R", BYTES + 1, 2, 3));

    assertThat(inWindowsOf(1).impossible()).contains("R saw 11 bytes, and no record ends there");
  }

  @Test
  void windowsOfAnySizeSayWhatTheWholeSays() {
    int impossible = 0;
    for (int seed = 0; seed < 300; seed++) {
      story(new Random(0x9e3779b97f4a7c15L * seed));
      boolean whole = inWindowsOf(1000).impossible().isEmpty();
      for (int size : new int[] {1, 2, 7}) {
        assertThat(inWindowsOf(size).impossible().isEmpty())
            .as("seed %d, windows of %d", seed, size)
            .isEqualTo(whole);
      }
      impossible += whole ? 0 : 1;
    }
    assertThat(impossible).isBetween(50, 250);
  }

  /** Forty operations of a true file; some are told later or earlier than they were. */
  private void story(Random random) {
    appends.clear();
    reads.clear();
    for (long instant = 0; instant < 40 * 10; instant += 10) {
      long called = instant - random.nextInt(40);
      long answered = instant + random.nextInt(40);
      if (random.nextInt(15) == 0) {
        called = instant + 1 + random.nextInt(30);
        answered = called + 20;
      }
      if (random.nextBoolean()) {
        append(called, answered);
      } else {
        read(appends.size(), called, answered);
      }
    }
  }
}
