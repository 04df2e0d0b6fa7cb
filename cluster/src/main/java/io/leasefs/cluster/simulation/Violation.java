package io.leasefs.cluster.simulation;

/**
 * Something that must never be.
 *
 * @param invariant by its name in the protocol, such as I1
 * @param message with the values
 */
public record Violation(String invariant, String message) {
  @Override
  public String toString() {
    return invariant + ": " + message;
  }
}
