package io.leasefs.common.model;

/**
 * The two advertised addresses of a server; a client is told the one that belongs to the listener
 * it came in on.
 *
 * @param internal for peers, and for clients inside the servers' network
 * @param external for clients outside it; equal to internal where there is only one network
 */
public record Endpoints(ServerAddress internal, ServerAddress external) {
  /** One network. */
  public static Endpoints of(ServerAddress both) {
    return new Endpoints(both, both);
  }
}
