package io.leasefs.common.model;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.leasefs.common.error.LeaseFsException;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class ServerAddressTest {
  @Test
  void hostAndPortAreTakenApart() {
    assertThat(ServerAddress.parse("cs1:9866")).isEqualTo(new ServerAddress("cs1", 9866));
    assertThat(ServerAddress.parse(" [::1]:0 ")).isEqualTo(new ServerAddress("::1", 0));
  }

  @ParameterizedTest
  @ValueSource(strings = {"cs1:9866", "[::1]:9866", "127.0.0.1:0", "a_b-c.example:65535"})
  void printedAsItWasWritten(String text) {
    assertThat(ServerAddress.parse(text)).hasToString(text);
  }

  @ParameterizedTest
  @ValueSource(
      strings = {"", "cs1", ":9866", "cs1:", "cs1:x", "cs1:65536", "cs1:-1", "::1:9866", "a b:1"})
  void otherTextIsRefused(String text) {
    assertThatThrownBy(() -> ServerAddress.parse(text))
        .isInstanceOf(LeaseFsException.class)
        .hasMessageStartingWith("not an address: '" + text);
  }
}
