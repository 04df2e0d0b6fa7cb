package io.leasefs.server.start;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.leasefs.common.config.Config;
import io.leasefs.common.config.ConfigKey;
import io.leasefs.common.config.ConfigReader;
import io.leasefs.common.model.Endpoints;
import io.leasefs.common.model.ServerAddress;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.junit.jupiter.api.Test;

class AdvertisedTest {
  private static final ConfigKey<ServerAddress> LISTEN = ServerKeys.listen(0);

  @Test
  void listenerIsToldWithThePortThatTheKernelChose() {
    assertThat(endpoints()).hasToString("Endpoints[internal=127.0.0.1:41, external=127.0.0.1:41]");
  }

  @Test
  void advertisedAddressWins() {
    assertThat(endpoints("--listen=0.0.0.0:9800", "--advertise=m1:9800").internal())
        .hasToString("m1:9800");
  }

  @Test
  void secondListenerGivesTheExternalAddress() {
    assertThat(endpoints("--listen-external=127.0.0.1:0").external()).hasToString("127.0.0.1:42");
    assertThat(
            endpoints("--listen-external=0.0.0.0:9801", "--advertise-external=localhost:19801")
                .external())
        .hasToString("localhost:19801");
  }

  @Test
  void listenerOnAllAddressesMustSayWhichOneToTell() {
    assertThatThrownBy(() -> endpoints("--listen=0.0.0.0:9800"))
        .hasMessage("a listener on 0.0.0.0:9800 does not say by which address others reach it");
    assertThatThrownBy(() -> endpoints("--listen-external=[::]:9801"))
        .hasMessageContaining("[::]:9801");
  }

  @Test
  void externalAddressWithoutASecondListenerIsRefused() {
    assertThatThrownBy(() -> endpoints("--advertise-external=localhost:19801"))
        .hasMessageContaining("no second listener");
  }

  private static Endpoints endpoints(String... flags) {
    Config config =
        new ConfigReader(
                List.of(
                    LISTEN,
                    ServerKeys.LISTEN_EXTERNAL,
                    ServerKeys.ADVERTISE,
                    ServerKeys.ADVERTISE_EXTERNAL))
            .read(List.of(flags), Map.of());
    Optional<Integer> externalPort = config.find(ServerKeys.LISTEN_EXTERNAL).map(address -> 42);
    return Advertised.endpoints(config, LISTEN, 41, externalPort);
  }
}
