package io.leasefs.cluster.history;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** One order explains all that was answered, or it is told what does not fit. */
class OrderCertificateTest {
  private final OrderCertificate certificate = new OrderCertificate();

  /** Three records of 10 bytes; the answer to the second comes last. */
  @BeforeEach
  void goodOnes() {
    assertThat(certificate.acknowledged("a", 1, 5, 0, 10, 100, 150)).isEmpty();
    assertThat(certificate.acknowledged("c", 2, 9, 20, 10, 110, 160)).isEmpty();
    assertThat(certificate.acknowledged("b", 1, 7, 10, 10, 120, 170)).isEmpty();
  }

  @Test
  void theSameAnswerAgainIsNothingNew() {
    assertThat(certificate.acknowledged("b", 1, 7, 10, 10, 120, 180)).isEmpty();
  }

  @Test
  void oneSerialOfTwoRecordsIsWrong() {
    assertThat(certificate.acknowledged("d", 2, 9, 20, 10, 170, 200))
        .hasValueSatisfying(why -> assertThat(why).startsWith("serial 9 is of "));
  }

  @Test
  void offsetsThatDoNotGrowWithTheSerialsAreWrong() {
    assertThat(certificate.acknowledged("d", 2, 11, 25, 10, 165, 200)).isPresent();
    assertThat(certificate.acknowledged("e", 1, 6, 30, 10, 165, 200)).isPresent();
  }

  @Test
  void versionThatDoesNotGrowWithTheSerialsIsWrong() {
    assertThat(certificate.acknowledged("d", 1, 11, 30, 10, 165, 200)).isPresent();
  }

  @Test
  void recordThatIsSentAfterAnAcknowledgementAndStandsBeforeItIsWrong() {
    OrderCertificate sparse = new OrderCertificate();
    assertThat(sparse.acknowledged("a", 1, 9, 50, 10, 100, 150)).isEmpty();
    assertThat(sparse.acknowledged("b", 1, 8, 30, 10, 151, 170))
        .hasValueSatisfying(why -> assertThat(why).contains("was sent after serial 9"));
    assertThat(sparse.acknowledged("c", 1, 7, 10, 10, 150, 170)).isEmpty();
  }
}
