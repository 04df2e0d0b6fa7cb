package io.leasefs.chunkserver.replica;

import io.leasefs.chunkserver.lease.LeaseValidity;
import io.leasefs.common.api.ChunkApi.ReadRequest;
import io.leasefs.common.api.Frame;
import io.leasefs.common.api.Heartbeat;
import io.leasefs.common.api.Mutation;
import io.leasefs.common.api.PeerMessage;
import io.leasefs.common.model.LeaseGrant;
import io.leasefs.common.model.ServerId;
import io.leasefs.common.model.SessionId;
import java.util.List;

/** What can happen to one copy of a chunk. Every one is safe to repeat. */
public sealed interface ReplicaEvent {
  /**
   * A client's frame. Its payload has been checked against its checksums.
   *
   * @param ticket names the frame towards the shell; it comes back in exactly one {@link
   *     ReplicaAction.Answer}, in this step or a later one
   */
  record FrameArrived(long ticket, Frame frame) implements ReplicaEvent {}

  /** A peer's message. Payloads have been checked. */
  record PeerArrived(ServerId from, PeerMessage message) implements ReplicaEvent {}

  /** The stream to or from this peer broke: what was under way is lost. */
  record PeerBroken(ServerId peer) implements ReplicaEvent {}

  /**
   * A read.
   *
   * @param ticket comes back in exactly one {@link ReplicaAction.ServeRead} or {@link
   *     ReplicaAction.RefuseRead}
   */
  record ReadArrived(long ticket, ReadRequest request) implements ReplicaEvent {}

  /** Whoever waited under this ticket (frame or read) is gone; nothing comes back for it. */
  record TicketDropped(long ticket) implements ReplicaEvent {}

  /** The lease arrived, and {@code HeldLeases} took it. */
  record Granted(LeaseGrant grant, LeaseValidity lease) implements ReplicaEvent {}

  /** The lease at this version is over: revoked, released, or the session is gone. */
  record LeaseOver(long version) implements ReplicaEvent {}

  /**
   * An order of the master: seal, recover, close, release or settled. Copy and delete are the
   * shell's (see {@link ReplicaCore#mayDelete}).
   */
  record Commanded(Heartbeat.Command command) implements ReplicaEvent {}

  /**
   * All sessions below the watermark are dead, but for the exceptions.
   *
   * @param forget true ten minutes later: their rows may go, and they are refused for ever
   */
  record SessionsDead(long watermark, List<SessionId> living, boolean forget)
      implements ReplicaEvent {
    public SessionsDead {
      living = List.copyOf(living);
    }
  }

  /** The store has carried out all disk actions up to and including this id. */
  record DiskDone(long throughId) implements ReplicaEvent {}

  /** The disk has turned nearly full, or is that no more: chunks should not grow while it is. */
  record SpaceChanged(boolean nearlyFull) implements ReplicaEvent {}

  /** A disk action failed: this copy is damaged from now on; nothing is tried again. */
  record DiskFailed(String why) implements ReplicaEvent {}

  /**
   * Answers {@link ReplicaAction.ReadBack}.
   *
   * @param records in order from the serial asked for, with payload; empty where the journal does
   *     not reach back so far
   */
  record RecordsRead(long id, List<Mutation> records) implements ReplicaEvent {
    public RecordsRead {
      records = List.copyOf(records);
    }
  }

  /** Answers {@link ReplicaAction.ComputeChecksum}. */
  record Checksummed(long id, int checksum) implements ReplicaEvent {}

  /** Scrub or a read found a block that does not match: this copy is damaged. */
  record DamageFound(String why) implements ReplicaEvent {}

  /** The store would like to compact the journal; answered by {@link ReplicaAction.Compact}. */
  record CompactionWanted() implements ReplicaEvent {}

  /** Time has passed; due by {@link ReplicaCore#wakeAt} at the latest. */
  record Tick() implements ReplicaEvent {}
}
