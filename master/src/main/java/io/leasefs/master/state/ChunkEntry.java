package io.leasefs.master.state;

import io.leasefs.common.model.ChunkHandle;
import io.leasefs.common.model.ChunkSeal;
import io.leasefs.common.model.ChunkSpec;
import io.leasefs.common.model.Configuration;
import io.leasefs.common.model.Member;
import io.leasefs.common.model.Ordinal;
import io.leasefs.common.model.ReplicaId;
import io.leasefs.common.model.ServerId;
import io.leasefs.common.model.SessionId;
import io.leasefs.master.log.Operation.ChangeReason;
import io.leasefs.master.log.Operation.Participant;
import io.leasefs.master.log.Operation.Seed;
import java.util.List;
import java.util.Optional;

/**
 * What the log says of a chunk (protocol, section 3).
 *
 * @param spec its constants
 * @param index position in its file, from 0
 * @param lastVersion the last one allocated, to whatever became of it; led by the generation where
 *     the chunk is from an earlier one
 * @param active the newest active configuration
 * @param birth while the active version is 1: the members with their incarnations at the birth, but
 *     those that were given up since
 * @param pending the change under way
 * @param lease the last primary's right, until it is known to have ended
 * @param seal the logged committed seal
 * @param sealedForEver never reopened: its file is being deleted
 * @param learners ordered copies that are no members yet
 * @param references files that hold it; 1 until snapshots
 */
public record ChunkEntry(
    ChunkSpec spec,
    int index,
    long lastVersion,
    Configuration active,
    List<Participant> birth,
    Optional<Pending> pending,
    Optional<Lease> lease,
    Optional<ChunkSeal> seal,
    boolean sealedForEver,
    List<Learner> learners,
    int references) {
  public ChunkEntry {
    birth = List.copyOf(birth);
    learners = List.copyOf(learners);
  }

  /** How far a change has come. */
  public enum Step {
    BEGUN,
    RECOVERING
  }

  /**
   * A change under way.
   *
   * @param seal a SEAL follows the version start
   * @param seed named with Begin, or by RecoverChange
   * @param targets set by RecoverChange: whom the seed brings to its history (itself left out)
   * @param since ordinal of its Begin
   */
  public record Pending(
      long version,
      Step step,
      ChangeReason reason,
      boolean seal,
      Optional<Seed> seed,
      List<Participant> targets,
      long since) {
    public Pending {
      targets = List.copyOf(targets);
    }
  }

  /**
   * A primary's right.
   *
   * @param version the newest version that it was granted for
   * @param token constant for the tenure
   * @param revoked asked back, not yet known to have ended
   */
  public record Lease(
      SessionId session, ServerId server, long version, long token, boolean revoked) {}

  /**
   * A copy on its way.
   *
   * @param incarnation of the server when it was ordered
   * @param version the chunk's active version then
   */
  public record Learner(Member member, long incarnation, long version) {}

  public ChunkHandle handle() {
    return spec.handle();
  }

  public boolean isSealed() {
    return seal.isPresent();
  }

  /**
   * The serial up to which all is known to be committed. A chunk whose seal is older than its
   * active version ends with that version's start.
   */
  public long committedSerial() {
    return Math.max(seal.map(ChunkSeal::serial).orElse(0L), active.firstSerial());
  }

  public Optional<Learner> learner(ServerId server, ReplicaId replica) {
    for (Learner learner : learners) {
      if (learner.member().server().equals(server) && learner.member().replica().equals(replica)) {
        return Optional.of(learner);
      }
    }
    return Optional.empty();
  }

  /** The learner at this server, if any. */
  public Optional<Learner> learnerAt(ServerId server) {
    for (Learner learner : learners) {
      if (learner.member().server().equals(server)) {
        return Optional.of(learner);
      }
    }
    return Optional.empty();
  }

  /** True where the copy of this member is given up: another is on its way to its server. */
  public boolean isReplaced(Member member) {
    return learnerAt(member.server()).isPresent();
  }

  /**
   * True where the member may give birth to the chunk when it is asked to promise: of a chunk that
   * was sealed once every member has had a copy.
   */
  public boolean mayBeBorn(Member member) {
    return active.version() == 1
        && seal.isEmpty()
        && birth.stream().anyMatch(one -> one.member().equals(member));
  }

  ChunkEntry withActive(Configuration configuration, List<Participant> newBirth) {
    return new ChunkEntry(
        spec,
        index,
        lastVersion,
        configuration,
        newBirth,
        pending,
        lease,
        seal,
        sealedForEver,
        learners,
        references);
  }

  ChunkEntry withPending(Optional<Pending> change) {
    return new ChunkEntry(
        spec,
        index,
        change.isPresent() ? change.get().version() : lastVersion,
        active,
        birth,
        change,
        lease,
        seal,
        sealedForEver,
        learners,
        references);
  }

  /**
   * All later versions lead those of earlier generations; whatever change was under way is not gone
   * on with, for the part of the log that is missing may have done so, with another seed.
   */
  ChunkEntry inGeneration(int generation) {
    return new ChunkEntry(
        spec,
        index,
        Ordinal.of(generation, Ordinal.index(lastVersion)),
        active,
        birth,
        Optional.empty(),
        lease,
        seal,
        sealedForEver,
        learners,
        references);
  }

  /** Without a lease there is no primary either. */
  ChunkEntry withLease(Optional<Lease> newLease) {
    Configuration configuration =
        newLease.isPresent() || active.primary().isEmpty()
            ? active
            : new Configuration(
                active.version(), Optional.empty(), active.members(), active.firstSerial());
    return new ChunkEntry(
        spec,
        index,
        lastVersion,
        configuration,
        birth,
        pending,
        newLease,
        seal,
        sealedForEver,
        learners,
        references);
  }

  ChunkEntry withSeal(Optional<ChunkSeal> newSeal, boolean forEver) {
    return new ChunkEntry(
        spec,
        index,
        lastVersion,
        active,
        birth,
        pending,
        lease,
        newSeal,
        forEver,
        learners,
        references);
  }

  ChunkEntry withLearners(List<Learner> newLearners) {
    return new ChunkEntry(
        spec,
        index,
        lastVersion,
        active,
        birth,
        pending,
        lease,
        seal,
        sealedForEver,
        newLearners,
        references);
  }
}
