package io.leasefs.common.model;

/**
 * Names one request of a client for ever, so that a repeated request is answered and not repeated.
 *
 * @param client who asks
 * @param sequence 1, 2, 3 ... per client
 * @param floor the lowest sequence whose answer the client still awaits; results below it may be
 *     forgotten
 * @param newestForgetting what the master's greeting named so, fixed before the first attempt: the
 *     master refuses it from a client that it may have forgotten since, so that an old request
 *     under way is not taken for a new one
 */
public record RequestId(ClientId client, long sequence, long floor, long newestForgetting) {
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
