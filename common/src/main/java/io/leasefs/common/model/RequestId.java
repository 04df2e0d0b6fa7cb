package io.leasefs.common.model;

/**
 * Names one request of a client for ever, so that a repeated request is answered and not repeated.
 *
 * @param client who asks
 * @param sequence 1, 2, 3 ... per client
 * @param floor the lowest sequence whose answer the client still awaits; results below it may be
 *     forgotten
 */
public record RequestId(ClientId client, long sequence, long floor) {
  public RequestId {
    if (sequence < 1 || floor < 1 || floor > sequence) {
      throw new IllegalArgumentException("1 <= floor <= sequence: " + floor + ", " + sequence);
    }
  }

  @Override
  public String toString() {
    return client + "-" + sequence;
  }
}
