package io.leasefs.chunkserver.store;

import io.leasefs.common.api.Mutation;
import io.leasefs.common.api.MutationKind;

/**
 * A record that is in the journal and not committed yet.
 *
 * @param serial of the mutation
 * @param kind of the mutation
 * @param offset bytes from the chunk's start
 * @param length bytes of payload
 * @param chunkLength the chunk's length after it
 * @param fragments see {@link Fragments}
 * @param payloadAt where the payload is in the journal; -1 where it lies in its place
 */
@SuppressWarnings("ArrayRecordComponent") // never compared
record Pending(
    long serial,
    MutationKind kind,
    long offset,
    int length,
    long chunkLength,
    int[] fragments,
    long payloadAt) {
  static final long IN_PLACE = -1;

  static Pending of(Mutation mutation, int[] fragments, long payloadAt) {
    return new Pending(
        mutation.serial(),
        mutation.kind(),
        mutation.offset(),
        mutation.payloadBytes(),
        mutation.chunkLength(),
        fragments,
        payloadAt);
  }

  /** True where it changes the content by bytes that lie in the data file already. */
  boolean isInPlace() {
    return writes() && payloadAt == IN_PLACE;
  }

  /** True where it puts bytes into the chunk. */
  boolean writes() {
    return length > 0 && (kind == MutationKind.WRITE || kind == MutationKind.APPEND);
  }

  /** True where the data file has to be changed once it is committed. */
  boolean changesFile() {
    return kind == MutationKind.TRUNCATE || (writes() && payloadAt != IN_PLACE);
  }
}
