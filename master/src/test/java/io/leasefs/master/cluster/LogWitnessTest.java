package io.leasefs.master.cluster;

import static org.assertj.core.api.Assertions.assertThat;

import io.leasefs.common.model.Ordinal;
import io.leasefs.common.model.ServerId;
import io.leasefs.master.cluster.LogWitness.Heard;
import org.junit.jupiter.api.Test;

class LogWitnessTest {
  private static final ServerId A = new ServerId("a");
  private static final ServerId B = new ServerId("b");

  private final LogWitness witness = new LogWitness();

  @Test
  void logThatEndsWhereServersHaveHeardOfItIsWhole() {
    witness.tell(A, 100, 3);
    witness.tell(B, 90, 2);
    assertThat(witness.ahead(100, 3)).isEmpty();
    assertThat(witness.ahead(105, 4)).isEmpty();
  }

  @Test
  void logThatEndsBeforeIsShortAndWhoHasHeardOfTheMostIsNamed() {
    witness.tell(A, 101, 3);
    witness.tell(B, 120, 3);
    assertThat(witness.ahead(100, 3)).contains(new Heard(B, 120, 3));
  }

  @Test
  void lowerTermThanWasHeardOfIsShortThoughTheLogHasGrownBeyond() {
    witness.tell(A, 100, 5);
    assertThat(witness.ahead(200, 4)).contains(new Heard(A, 100, 5));
  }

  @Test
  void whatAServerTellsLaterTakesNothingBack() {
    witness.tell(A, 120, 5);
    witness.tell(A, 100, 6);
    assertThat(witness.ahead(119, 9)).contains(new Heard(A, 120, 6));
    witness.clear();
    assertThat(witness.ahead(1, 1)).isEmpty();
  }

  @Test
  void nextGenerationLeadsAllThatAnybodyHasHeardOf() {
    assertThat(witness.nextGeneration(0)).isEqualTo(1);
    witness.tell(A, Ordinal.of(2, 7), 5);
    assertThat(witness.nextGeneration(0)).isEqualTo(3);
    witness.tell(B, 100, Ordinal.of(4, 1));
    assertThat(witness.nextGeneration(0)).isEqualTo(5);
    assertThat(witness.nextGeneration(8)).isEqualTo(9);
  }
}
