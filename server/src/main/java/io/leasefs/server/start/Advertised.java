package io.leasefs.server.start;

import io.leasefs.common.config.Config;
import io.leasefs.common.config.ConfigKey;
import io.leasefs.common.error.ErrorCode;
import io.leasefs.common.error.LeaseFsException;
import io.leasefs.common.model.Endpoints;
import io.leasefs.common.model.ServerAddress;
import java.util.List;
import java.util.Optional;

/** Works out which addresses a server tells others for its one or two listeners. */
public final class Advertised {
  private static final List<String> WILDCARDS = List.of("0.0.0.0", "::", "0:0:0:0:0:0:0:0");

  private Advertised() {}

  /**
   * The addresses to advertise. Internal is {@code --advertise}, else where the first listener
   * listens. External is {@code --advertise-external}, else where the second one listens, else the
   * internal address. Port 0 stands for the port that the kernel chose.
   *
   * @param listenKey the server's own {@link ServerKeys#listen}
   * @param port of the first listener, as bound
   * @param externalPort of the second listener, as bound, if there is one
   * @throws LeaseFsException (INVALID_ARGUMENT) if a listener takes all addresses of the host and
   *     nothing says which to tell, or if an external address is set without a second listener
   */
  public static Endpoints endpoints(
      Config config, ConfigKey<ServerAddress> listenKey, int port, Optional<Integer> externalPort) {
    ServerAddress internal = choose(config, ServerKeys.ADVERTISE, config.get(listenKey), port);
    Optional<ServerAddress> listenExternal = config.find(ServerKeys.LISTEN_EXTERNAL);
    if (listenExternal.isEmpty() || externalPort.isEmpty()) {
      if (config.find(ServerKeys.ADVERTISE_EXTERNAL).isPresent()) {
        throw new LeaseFsException(
            ErrorCode.INVALID_ARGUMENT,
            "--advertise-external is set, but there is no second listener",
            "pass --listen-external HOST:PORT, too");
      }
      return Endpoints.of(internal);
    }
    return new Endpoints(
        internal,
        choose(config, ServerKeys.ADVERTISE_EXTERNAL, listenExternal.get(), externalPort.get()));
  }

  private static ServerAddress choose(
      Config config, ConfigKey<ServerAddress> advertiseKey, ServerAddress listen, int boundPort) {
    ServerAddress address = config.find(advertiseKey).orElse(listen);
    if (WILDCARDS.contains(address.host())) {
      throw new LeaseFsException(
          ErrorCode.INVALID_ARGUMENT,
          "a listener on " + listen + " does not say by which address others reach it",
          "pass " + advertiseKey.flag() + " HOST:PORT");
    }
    return address.port() == 0 ? new ServerAddress(address.host(), boundPort) : address;
  }
}
