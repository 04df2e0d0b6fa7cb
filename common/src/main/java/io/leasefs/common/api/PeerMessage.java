package io.leasefs.common.api;

import io.leasefs.common.model.ChunkHandle;
import io.leasefs.common.model.ChunkSpec;
import io.leasefs.common.model.Member;
import io.leasefs.common.model.ServerId;
import java.util.List;

/**
 * What chunkservers say to each other about one chunk. Between two servers messages of one chunk
 * arrive in order or not at all (a broken stream loses what was under way); every one is safe to
 * repeat.
 */
public sealed interface PeerMessage {
  ChunkHandle chunk();

  /**
   * Down the chain: append this. {@code chain} is the whole chain (head first), so that the
   * receiver knows its upstream and downstream.
   */
  record Forward(ChunkSpec spec, List<Member> chain, long committedSerial, Mutation mutation)
      implements PeerMessage {
    @Override
    public ChunkHandle chunk() {
      return spec.handle();
    }
  }

  /**
   * Down the chain, where no mutation is at hand to carry it: everything up to here is committed.
   * With serial 0 a member that was not well is asked how it is.
   */
  record Committed(ChunkHandle chunk, long version, long serial) implements PeerMessage {}

  /** Up the chain: how far the sender and all below it are. */
  record ChainProgress(ChunkHandle chunk, long version, List<MemberProgress> members)
      implements PeerMessage {}

  /** How far one member is: its last serial held under the chunk's durability, and its health. */
  record MemberProgress(ServerId server, long lastSerial, Health health) {}

  /** What a member knows of itself or, of its downstream, has seen. */
  enum Health {
    GOOD,
    /** Its stream was reset or it is silent. */
    UNREACHABLE,
    /** Its disk refused or stalls. */
    DISK_FAILED,
    /** It has promised a higher version: the sender's configuration is over. */
    PROMISED_HIGHER,
    /** It holds something else under a serial, or does not know the chunk. */
    DIVERGED,
    /** It works, and its disk is nearly full: the chunk should grow no more. */
    NEARLY_FULL;

    /** True where it does its part of the chain. */
    public boolean works() {
      return this == GOOD || this == NEARLY_FULL;
    }
  }

  /** Seed to target: this is my history; cut to what we share and tell where that ends. */
  record Reconcile(
      ChunkSpec spec,
      Member target,
      long version,
      ServerId seed,
      List<VersionStart> history,
      long lastSerial,
      long committedSerial)
      implements PeerMessage {
    @Override
    public ChunkHandle chunk() {
      return spec.handle();
    }
  }

  /** Target to seed: cut, durable; send what follows {@code commonSerial}. */
  record Reconciled(ChunkHandle chunk, ServerId target, long version, long commonSerial)
      implements PeerMessage {}

  /** Target to seed: no, and why. */
  record ReconcileRefused(
      ChunkHandle chunk, ServerId target, long version, long promised, boolean damaged)
      implements PeerMessage {}

  /** Seed to target: a mutation that the target lacks, or the VERSION_START that ends them. */
  record Recovery(ChunkHandle chunk, long version, ServerId seed, Mutation mutation)
      implements PeerMessage {}

  /** Target to seed: I have everything up to here, durable; asks for more of the window. */
  record RecoveryProgress(ChunkHandle chunk, ServerId target, long version, long lastSerial)
      implements PeerMessage {}

  /** Any member to the primary: what is committed now? For a read that has arrived before. */
  record CommittedQuery(ChunkHandle chunk, ServerId from, long version, long queryNumber)
      implements PeerMessage {}

  /** The primary's answer, under its lease; refused where it is not the primary any more. */
  record CommittedAnswer(
      ChunkHandle chunk, long version, long queryNumber, boolean valid, long serial, long length)
      implements PeerMessage {}

  /**
   * Down the chain, for a strict read: has anybody promised above this version? Whoever has not
   * passes it on; the last member answers.
   */
  record PromiseQuery(ChunkHandle chunk, long version, long queryNumber, List<Member> chain)
      implements PeerMessage {}

  /** Up the chain: nobody from the sender down has ({@code standing}), or somebody has. */
  record PromiseAnswer(ChunkHandle chunk, long version, long queryNumber, boolean standing)
      implements PeerMessage {}
}
