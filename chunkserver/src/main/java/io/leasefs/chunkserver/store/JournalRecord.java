package io.leasefs.chunkserver.store;

import io.leasefs.chunkserver.replica.ReplicaImage;
import io.leasefs.common.api.Heartbeat.Certainty;
import io.leasefs.common.api.Mutation;

/** One record of a chunk's journal. */
sealed interface JournalRecord {
  /**
   * A mutation.
   *
   * @param mutation its payload is empty where it is not wanted or lies in the data file
   * @param place where the payload is; of no account where there is none
   * @param committedSerial highest serial known to be committed when it was written
   * @param fragments see {@link Fragments}
   */
  @SuppressWarnings("ArrayRecordComponent") // never compared; an array saves a copy per record
  record Mutated(Mutation mutation, Place place, long committedSerial, int[] fragments)
      implements JournalRecord {
    /** True where the payload is in the journal, right behind the record's fields. */
    boolean inside() {
      return place != Place.DATA_FILE;
    }
  }

  /** Where a payload is. */
  enum Place {
    /** At its offset in the data file. */
    DATA_FILE,
    /** In the journal; it goes to its place once it is committed. */
    JOURNAL,
    /** In both at once: the journal's bytes stand in until the data file's are durable. */
    BOTH
  }

  /** This copy has promised the version. */
  record Promised(long version) implements JournalRecord {}

  /** All mutations above the serial are gone. */
  record Cut(long serial, long lengthBytes) implements JournalRecord {}

  /**
   * Everything up to the serial is committed; payload inside the journal up to there may be in its
   * place in the data file from now on. The blocks that it changes have these checksums.
   */
  @SuppressWarnings("ArrayRecordComponent") // never compared
  record Applied(long serial, long lengthBytes, int[] blocks, int[] crcs)
      implements JournalRecord {}

  /** How far this copy can be trusted, and whether it is a learner. */
  record Standing(Certainty certainty, boolean learner) implements JournalRecord {}

  /**
   * The state right after a serial: begins a compacted journal. Everything up to it is in place and
   * durable.
   */
  @SuppressWarnings("ArrayRecordComponent") // never compared
  record Checkpoint(ReplicaImage.Snapshot snapshot, int[] blockCrcs) implements JournalRecord {}
}
