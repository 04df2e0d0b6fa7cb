package io.leasefs.common.config;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class HostPortTest {
  @Test
  void hostAndPortAreTakenApart() {
    assertThat(HostPort.parse("cs1:9866")).isEqualTo(new HostPort("cs1", 9866));
    assertThat(HostPort.parse("[::1]:0")).isEqualTo(new HostPort("::1", 0));
  }

  @ParameterizedTest
  @ValueSource(strings = {"cs1:9866", "[::1]:9866", "127.0.0.1:0"})
  void printedAsItWasWritten(String text) {
    assertThat(HostPort.parse(text)).hasToString(text);
  }

  @ParameterizedTest
  @ValueSource(strings = {"", "cs1", ":9866", "cs1:", "cs1:x", "cs1:65536", "::1:9866", "a b:1"})
  void otherTextIsRefused(String text) {
    assertThatThrownBy(() -> HostPort.parse(text)).isInstanceOf(IllegalArgumentException.class);
  }

  @Test
  void listIsSeparatedByCommas() {
    assertThat(HostPort.parseList("m1:1, m2:2"))
        .containsExactly(new HostPort("m1", 1), new HostPort("m2", 2));
    assertThatThrownBy(() -> HostPort.parseList("m1:1,"))
        .isInstanceOf(IllegalArgumentException.class);
  }
}
