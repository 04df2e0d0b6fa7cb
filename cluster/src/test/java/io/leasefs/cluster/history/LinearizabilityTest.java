package io.leasefs.cluster.history;

import static org.assertj.core.api.Assertions.assertThat;

import io.leasefs.cluster.history.Linearizability.Kind;
import io.leasefs.cluster.history.Linearizability.Verdict;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;

/** Stories of one file that are and are not possible. */
class LinearizabilityTest {
  private static final long BUDGET = 100_000;

  private final FileHistory history = new FileHistory(() -> 0);

  private int append(String name) {
    return history.append(name, 10);
  }

  private int appended(String name, long offset) {
    int append = append(name);
    history.placed(append, offset);
    return append;
  }

  private int read(String name) {
    return history.read(name, false);
  }

  private void saw(int read, Integer... appends) {
    history.saw(read, List.of(appends));
  }

  private Verdict verdict() {
    return Linearizability.check(history, BUDGET);
  }

  private void possible() {
    assertThat(verdict()).returns(Kind.LINEARIZABLE, Verdict::kind);
  }

  private String impossible() {
    Verdict verdict = verdict();
    assertThat(verdict.kind()).isEqualTo(Kind.NOT_LINEARIZABLE);
    return verdict.explanation();
  }

  @Test
  void nothingIsPossible() {
    possible();
  }

  @Test
  void oneAfterAnother() {
    int a = appended("A", 0);
    saw(read("R"), a);
    int b = appended("B", 10);
    saw(read("S"), a, b);
    possible();
  }

  @Test
  void atTheSameTimeInEitherOrder() {
    int a = append("A");
    int b = append("B");
    history.placed(a, 10);
    history.placed(b, 0);
    saw(read("R"), b, a);
    possible();
  }

  @Test
  void orderOfTwoThatFollowedOneAnotherIsTurnedRound() {
    appended("A", 10);
    appended("B", 0);
    assertThat(impossible())
        .contains("A [0.000000 to 0.000000] was told 10")
        .contains("B [0.000000 to 0.000000] was told 0");
  }

  @Test
  void readMissesWhatWasAcknowledgedBeforeItBegan() {
    int a = appended("A", 0);
    appended("B", 10);
    saw(read("R"), a);
    assertThat(impossible())
        .isEqualTo(
            "no order explains: B [0.000000 to 0.000000] was told 10 and lies at 10; R [0.000000 to"
                + " 0.000000] saw 1 records");
  }

  @Test
  void readSeesWhatIsStillUnderWay() {
    int a = append("A");
    saw(read("R"), a);
    history.placed(a, 0);
    possible();
  }

  @Test
  void readThatWasUnderWayBeforeTheAppendsMaySeeAnyOfTheirStates() {
    int read = read("R");
    int a = appended("A", 0);
    appended("B", 10);
    appended("C", 20);
    saw(read, a);
    possible();
  }

  @Test
  void readSeesWhatWasCalledAfterItsAnswer() {
    int read = read("R");
    // The number that the append will have.
    saw(read, 1);
    appended("A", 0);
    assertThat(impossible()).contains("R [").contains("A [");
  }

  @Test
  void contentShrinksBetweenTwoReads() {
    int a = append("A");
    saw(read("R"), a);
    saw(read("S"));
    history.placed(a, 0);
    // The append need not be told of: that its record was there and then was not is enough.
    assertThat(impossible())
        .isEqualTo(
            "no order explains: R [0.000000 to 0.000000] saw 1 records; S [0.000000 to 0.000000]"
                + " saw 0 records");
  }

  @Test
  void twoReadsSeeTwoOrders() {
    int a = append("A");
    int b = append("B");
    saw(read("R"), a, b);
    saw(read("S"), b, a);
    assertThat(impossible()).contains("B [0.000000, not answered] lies at 10 and at 0");
  }

  @Test
  void twoAppendsAreToldTheSamePlace() {
    appended("A", 0);
    appended("B", 0);
    assertThat(impossible()).contains("lie one over the other");
  }

  @Test
  void recordsOverlap() {
    appended("A", 0);
    appended("B", 5);
    assertThat(impossible()).contains("lie one over the other");
  }

  @Test
  void gapThatNothingFills() {
    appended("A", 0);
    appended("B", 20);
    assertThat(impossible())
        .isEqualTo("no order explains: B [0.000000 to 0.000000] was told 20 and lies at 20");
  }

  @Test
  void gapFilledByAnAppendWhoseAnswerNeverCame() {
    appended("A", 0);
    append("unknown");
    appended("B", 20);
    possible();
  }

  @Test
  void gapCannotBeFilledByAnAppendThatWasCalledLater() {
    appended("A", 0);
    appended("B", 20);
    append("unknown");
    assertThat(impossible()).contains("B [0.000000 to 0.000000] was told 20");
  }

  @Test
  void gapCannotBeFilledByAnAppendOfAnotherLength() {
    appended("A", 0);
    history.append("unknown", 7);
    appended("B", 20);
    impossible();
  }

  @Test
  void twoUnknownAppendsFillOneGapInSomeOrder() {
    history.append("unknown", 4);
    history.append("unknown", 6);
    history.append("unknown", 3);
    appended("B", 10);
    possible();
  }

  @Test
  void unknownAppendMayNeverHappen() {
    append("unknown");
    saw(read("R"));
    int b = appended("B", 0);
    saw(read("S"), b);
    possible();
  }

  @Test
  void unknownAppendMayHappenMuchLater() {
    int unknown = append("unknown");
    saw(read("R"));
    int b = appended("B", 0);
    saw(read("S"), b, unknown);
    possible();
  }

  @Test
  void unknownAppendThatWasSeenStays() {
    int unknown = append("unknown");
    saw(read("R"), unknown);
    appended("B", 10);
    saw(read("S"), unknown);
    assertThat(impossible()).contains("B [").contains("S [").doesNotContain("R [");
  }

  @Test
  void refusedAppendIsNeverSeen() {
    int refused = append("A");
    history.refused(refused);
    appended("B", 0);
    possible();
    saw(read("R"), 1, refused);
    assertThat(impossible()).contains("A [0.000000, refused]").contains("R [");
  }

  @Test
  void readThatMayBeOldMaySeeWhatOnceWas() {
    int a = appended("A", 0);
    appended("B", 10);
    saw(history.read("old", true), a);
    saw(history.read("older", true));
    possible();
    saw(history.read("R", false), a);
    impossible();
  }

  @Test
  void readThatMayBeOldSeesNothingThatNeverWas() {
    int a = append("A");
    int b = append("B");
    saw(read("R"), a);
    saw(history.read("old", true), b);
    impossible();
  }

  @Test
  void readWithoutAnAnswerIsNoReason() {
    appended("A", 0);
    read("R");
    possible();
  }

  @Test
  void whatTakesTooManyStepsIsUnknownAndAlwaysTheSame() {
    // Which of 40 lengths sum up to an odd number, where all are even?
    for (int i = 0; i < 40; i++) {
      history.append("unknown", 2 + 2 * i);
    }
    appended("B", 401);
    Verdict verdict = verdict();
    assertThat(verdict.kind()).isEqualTo(Kind.UNKNOWN);
    assertThat(verdict()).isEqualTo(verdict);
  }

  /** A file that is one, with clients that are told late; then one answer is changed. */
  @Test
  void storiesOfATrueFileArePossibleAndWithAReadPutOffTheyAreNot() {
    int impossible = 0;
    for (int seed = 0; seed < 300; seed++) {
      Random random = new Random(0x9e3779b97f4a7c15L * seed); // near seeds begin alike
      FileHistory told = new FileHistory(() -> 0);
      boolean stale = random.nextBoolean();
      boolean mustFail = trueFile(random, told, stale);
      Verdict verdict = Linearizability.check(told, BUDGET);
      assertThat(verdict.kind())
          .as("seed %d: %s", seed, verdict)
          .isEqualTo(mustFail ? Kind.NOT_LINEARIZABLE : Kind.LINEARIZABLE);
      impossible += mustFail ? 1 : 0;
    }
    assertThat(impossible).isBetween(50, 250);
  }

  /** True where it was made impossible: a last read misses the newest acknowledged record. */
  private static boolean trueFile(Random random, FileHistory told, boolean stale) {
    List<Integer> content = new ArrayList<>();
    long length = 0;
    List<Runnable> answers = new ArrayList<>();
    int newest = -1;
    for (int i = 0; i < 60; i++) {
      switch (random.nextInt(4)) {
        case 0, 1 -> {
          int bytes = 1 + random.nextInt(20);
          int append = told.append("A" + i, bytes);
          if (random.nextInt(6) > 0) {
            long offset = length;
            content.add(append);
            length += bytes;
            if (random.nextInt(5) > 0) {
              answers.add(() -> told.placed(append, offset));
              newest = append;
            }
          }
        }
        case 2 -> {
          int read = told.read("R" + i, false);
          List<Integer> seen = List.copyOf(content);
          answers.add(() -> told.saw(read, seen));
        }
        default -> {
          if (!answers.isEmpty()) {
            answers.remove(random.nextInt(answers.size())).run();
          }
        }
      }
    }
    answers.forEach(Runnable::run);
    boolean possible = !stale || newest < 0;
    told.saw(
        told.read("last", false), possible ? content : content.subList(0, content.indexOf(newest)));
    return !possible;
  }
}
