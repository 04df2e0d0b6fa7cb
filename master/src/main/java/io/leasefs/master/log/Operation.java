package io.leasefs.master.log;

import io.leasefs.common.api.MasterApi.Publication;
import io.leasefs.common.model.ChunkHandle;
import io.leasefs.common.model.ChunkSeal;
import io.leasefs.common.model.DiskId;
import io.leasefs.common.model.Durability;
import io.leasefs.common.model.Endpoints;
import io.leasefs.common.model.FileId;
import io.leasefs.common.model.FilePath;
import io.leasefs.common.model.Member;
import io.leasefs.common.model.ReplicaId;
import io.leasefs.common.model.RequestId;
import io.leasefs.common.model.SealedChunk;
import io.leasefs.common.model.ServerId;
import io.leasefs.common.model.SessionId;
import java.util.List;
import java.util.Optional;

/**
 * An entry of the master's log (protocol, section 3). It carries everything that its application
 * needs: wall time, placements, and, where the decision read a clock, the <em>term</em> in which it
 * was read; such an entry is rejected in another term. "The ordinal" below is the entry's own.
 */
public sealed interface Operation {

  // ---------------------------------------------------------------- parts

  /**
   * A client's request: repeated, it gets the result of the first time. The first one of a client
   * makes its session, unless the client may be a forgotten one: not known, and told of no newer
   * forgetting on connecting; then it is refused with UNKNOWN_SESSION.
   *
   * @param ttlNanos time to live of a session that this call makes
   */
  record ClientCall(RequestId id, long ttlNanos) {}

  /** A place for a replica, at the incarnation and in the session that the decision saw. */
  record Placement(ServerId server, DiskId disk, long incarnation, SessionId session) {}

  /** A replica that takes part in a change, at the incarnation that it answered in. */
  record Participant(Member member, long incarnation) {}

  /** The one source of a version's history. */
  record Seed(ServerId server, long incarnation) {}

  /** A lease by name. */
  record LeaseId(ChunkHandle chunk, long version, SessionId session) {}

  /** Why a chunk's configuration changes. */
  enum ChangeReason {
    /** The primary's lease ended or was given back; the next use needs a primary. */
    NO_PRIMARY,
    /** The primary is silent or dead. */
    PRIMARY_LOST,
    /** The primary blames a secondary. */
    MEMBER_FAILED,
    /** A caught-up learner joins. */
    MEMBER_JOINS,
    /** The primary hands over: drain, rebalance, stalled disk. */
    HAND_OVER,
    /** A writer goes on without waiting for the lease. */
    EARLY_SEAL,
    /** The last writer has closed or died and there is no primary to seal the chunk. */
    CLOSE,
    /** The file is being deleted: sealed for ever. */
    DELETE,
    /** A closed file is appended to. */
    REOPEN,
    /** An open for writing brought a token. */
    FENCE
  }

  // ---------------------------------------------------------------- cluster and servers

  /** The first entry of a cluster: its identity. Rejected where there is one already. */
  record FoundCluster(String clusterId, long wallMillis) implements Operation {}

  /**
   * A part of the log is missing: from the next entry on all ordinals are of this generation, and
   * the versions of all chunks are led by it, so that none is given twice. Sessions and leases of
   * servers end, and changes of chunks begin anew. Rejected unless it is above the present one.
   */
  record RaiseGeneration(int generation) implements Operation {}

  /**
   * A chunkserver's incarnation. A newer one ends the older session and all its leases in this
   * entry (proof of death). A lower one, or the same with another nonce, is rejected; the same with
   * the same nonce gets the same session again, while that lives.
   */
  record RegisterServer(
      ServerId server,
      Endpoints endpoints,
      String rack,
      long incarnation,
      long nonce,
      String bootId,
      long ttlNanos,
      List<DiskId> disks,
      long wallMillis)
      implements Operation {
    public RegisterServer {
      disks = List.copyOf(disks);
    }
  }

  /** No leases, copies or new chunks for this server; {@code undo} takes it back. */
  record DrainServer(ServerId server, boolean undo) implements Operation {}

  /** Forgets a server without a live session that holds nothing any more. */
  record RemoveServer(ServerId server) implements Operation {}

  /**
   * Sessions of servers or clients whose time ran out on the clock of the leader of this term.
   * Their leases, openings and unfinished puts end in this entry. Unknown ones are skipped.
   */
  record EndSessions(long term, List<SessionId> sessions, long wallMillis) implements Operation {
    public EndSessions {
      sessions = List.copyOf(sessions);
    }
  }

  /** Forgets all clients whose session ended at or before this ordinal, ten minutes after. */
  record ForgetClients(long term, long endedThrough) implements Operation {}

  // ---------------------------------------------------------------- files, by clients

  /**
   * Creates a file, opens it, and where {@code firstChunk} is not empty makes its first chunk at
   * version 1 with the first placement as primary. Name under {@link FilePath#HIDDEN_PREFIX}: an
   * unfinished put, which vanishes with the session unless renamed.
   *
   * @param term of the leader that chose the places: it takes effect in no other, for a later
   *     leader may have refused the request since, without an entry, and nobody would ever close
   *     the file; 0 in entries of older programs, which hold in any
   */
  record CreateFile(
      ClientCall call,
      FilePath path,
      boolean parents,
      int replication,
      long chunkBytes,
      Durability durability,
      int mode,
      List<Placement> firstChunk,
      long wallMillis,
      long term)
      implements Operation {
    public CreateFile {
      firstChunk = List.copyOf(firstChunk);
    }
  }

  /** Opens a file for appending. A token above 0 becomes the file's fence floor. */
  record OpenForWrite(ClientCall call, FilePath path, long token, long wallMillis)
      implements Operation {}

  /**
   * Compare-and-set after chunk {@code afterIndex} (-1: the file is empty): logs its seal, ends its
   * lease and any pending change, and makes the next chunk. Where there is a successor already,
   * that is the answer. Rejected where the chunk is not sealed and no seal is given.
   */
  record AddChunk(
      ClientCall call,
      FileId file,
      int afterIndex,
      Optional<ChunkSeal> seal,
      List<Placement> placements,
      long wallMillis)
      implements Operation {
    public AddChunk {
      placements = List.copyOf(placements);
    }
  }

  /**
   * Ends an opening. A committed seal of the last chunk is logged with it (idempotent in the
   * length); one of a chunk behind which the file goes on was logged then. Handle 0, before format
   * 2, stands for the last chunk. Where the last opening ends and the last chunk is not sealed, the
   * chunk is listed in {@code StateView.chunksToClose}. With a publication the file is renamed in
   * the same step, or all of it is rejected.
   */
  record CloseFile(
      ClientCall call,
      FileId file,
      long openNumber,
      Optional<SealedChunk> sealed,
      Optional<Publication> publication,
      boolean endSession,
      long wallMillis)
      implements Operation {}

  record Mkdir(ClientCall call, FilePath path, boolean parents, int mode, long wallMillis)
      implements Operation {}

  /** With {@code replace}, a file at the target goes into the trash. */
  record Rename(ClientCall call, FilePath from, FilePath to, boolean replace, long wallMillis)
      implements Operation {}

  /** Into the trash, or, with {@code skipTrash}, among the doomed. */
  record Delete(
      ClientCall call, FilePath path, boolean recursive, boolean skipTrash, long wallMillis)
      implements Operation {}

  /** The newest trashed file or folder of this path comes back. */
  record Restore(ClientCall call, FilePath path, long wallMillis) implements Operation {}

  /** Sets what is given. */
  record SetAttributes(
      ClientCall call,
      FilePath path,
      Optional<Integer> replication,
      Optional<Integer> mode,
      Optional<Long> modifiedMillis,
      long wallMillis)
      implements Operation {}

  /** All that was deleted before this wall time is doomed. Without a call: by the master itself. */
  record EmptyTrash(Optional<ClientCall> call, long deletedBeforeMillis) implements Operation {}

  // ---------------------------------------------------------------- real deletion

  /**
   * Removes doomed files whose chunks are all sealed and free of leases and changes, with their
   * chunks; and doomed folders that are empty. Those that are not are skipped.
   */
  record PurgeFiles(List<FileId> files) implements Operation {
    public PurgeFiles {
      files = List.copyOf(files);
    }
  }

  // ---------------------------------------------------------------- changing a configuration

  /**
   * Step 1: version = last allocated + 1; replaces a pending change. {@code revoke}: the present
   * holder is not the next primary, its lease is revoked with it. {@code seal}: the version start
   * is followed by a SEAL. A sealed chunk is only begun by REOPEN.
   */
  record BeginChange(
      ChunkHandle chunk,
      long version,
      ChangeReason reason,
      boolean revoke,
      boolean seal,
      Optional<Seed> seed)
      implements Operation {}

  /** Step 3: the seed of this version, once for ever, and whom it brings to its history. */
  record RecoverChange(ChunkHandle chunk, long version, Seed seed, List<Participant> targets)
      implements Operation {
    public RecoverChange {
      targets = List.copyOf(targets);
    }
  }

  /**
   * Step 5. Members: seed or targets that acknowledged the version start, the primary first.
   * Checked at apply: incarnations registered, at least {@code minReplicas}, the primary's session
   * alive, and the gate: no other session's lease is in the chunk's record any more.
   */
  record Activate(
      ChunkHandle chunk,
      long version,
      SessionId primary,
      List<Participant> members,
      long firstSerial,
      int minReplicas)
      implements Operation {
    public Activate {
      members = List.copyOf(members);
    }
  }

  /**
   * A committed seal. Of the active version (no members given): ends the lease and drops a pending
   * change. Of the pending version: its members as for Activate, with neither primary nor gate; the
   * old holder's lease stays, revoked, until it has ended.
   */
  record SealChunk(
      ChunkHandle chunk,
      long version,
      ChunkSeal seal,
      List<Participant> members,
      long firstSerial,
      int minReplicas,
      long wallMillis)
      implements Operation {
    public SealChunk {
      members = List.copyOf(members);
    }
  }

  /** Gives a pending change up: its version stays allocated. */
  record AbandonChange(ChunkHandle chunk, long version) implements Operation {}

  // ---------------------------------------------------------------- leases

  /** Asks the holder for its lease back; repeated in every response until it has ended. */
  record RevokeLease(LeaseId lease) implements Operation {}

  /** Released, or revocation acknowledged, by their holders. Unknown ones are skipped. */
  record EndLeases(List<LeaseId> leases) implements Operation {
    public EndLeases {
      leases = List.copyOf(leases);
    }
  }

  /** A revocation ran out on the clock of the leader of this term. */
  record ExpireRevocation(long term, LeaseId lease) implements Operation {}

  // ---------------------------------------------------------------- replicas

  /**
   * A learner; its replica id is the ordinal.
   *
   * @param replaces the member at that server whose copy is given up for it: only of an open chunk
   *     whose change has no seed yet
   */
  record OrderReplica(ChunkHandle chunk, Placement place, Optional<ReplicaId> replaces)
      implements Operation {}

  /** A learner of a sealed chunk holds its logged length and checksum: it becomes a member. */
  record JoinReplica(
      ChunkHandle chunk,
      ServerId server,
      ReplicaId replica,
      long incarnation,
      long lengthBytes,
      int checksum)
      implements Operation {}

  /** Takes out a learner, or a member of a sealed chunk; never the last one. */
  record RemoveReplica(ChunkHandle chunk, ServerId server, ReplicaId replica)
      implements Operation {}

  // ---------------------------------------------------------------- order only

  /** Changes nothing: what was applied before it is up to date. */
  record Barrier() implements Operation {}
}
