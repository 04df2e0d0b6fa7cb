package io.leasefs.chunkserver.session;

import io.leasefs.common.api.Heartbeat.FailedMember;
import io.leasefs.common.api.Heartbeat.LeaseName;
import io.leasefs.common.api.Heartbeat.ReplicaReport;
import io.leasefs.common.api.Heartbeat.SealAnswer;
import io.leasefs.common.api.Heartbeat.VersionStarted;
import io.leasefs.common.model.ChunkHandle;
import io.leasefs.common.model.ReplicaId;

/**
 * Something that the master has to learn at once. Every request carries it until a response answers
 * one that did; newer news of the same subject takes the place of older.
 */
public sealed interface News {
  /** A lease was given back: nothing is pending, and nothing will be acknowledged under it. */
  record Released(LeaseName lease) implements News {}

  /** A promise is durable, and what the replica has. */
  record Sealed(SealAnswer answer) implements News {}

  /** A version start is durable. */
  record Started(VersionStarted started) implements News {}

  /** The primary blames a member. */
  record Failed(FailedMember failed) implements News {}

  /**
   * A replica was born: by a chunk's first mutation, its lease, or an order to seal it. Not urgent,
   * for the log names it; but it may be born so late that the log does so no more, and who has not
   * heard of it could not have it deleted.
   */
  record Born(ReplicaReport report) implements News {}

  /** A replica is new, has changed its state, or a learner has come nearer. */
  record Changed(ReplicaReport report) implements News {}

  /** A replica is not here any more. */
  record Gone(ChunkHandle chunk, ReplicaId replica) implements News {}
}
