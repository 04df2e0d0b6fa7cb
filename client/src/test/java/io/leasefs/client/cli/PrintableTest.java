package io.leasefs.client.cli;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

class PrintableTest {
  @Test
  void whatWouldMoveACursorOrTurnTextRoundIsSpeltOut() {
    assertThat(Printable.of("a\nb\tc\rd")).isEqualTo("a\\nb\\tc\\rd");
    assertThat(Printable.of("\u001b[2J\u0000")).isEqualTo("\\u001b[2J\\u0000");
    assertThat(Printable.of("x\u202egnp.exe")).isEqualTo("x\\u202egnp.exe");
  }

  @Test
  void otherTextStaysAsItIs() {
    String text = "/b\u00fccher/\u6f22\u5b57 a\ud83d\ude00.txt";
    assertThat(Printable.of(text)).isSameAs(text);
  }
}
