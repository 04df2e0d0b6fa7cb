package io.leasefs.master.state;

import io.leasefs.common.error.ErrorCode;
import io.leasefs.common.error.LeaseFsException;
import io.leasefs.common.model.ChunkHandle;
import io.leasefs.common.model.ChunkSeal;
import io.leasefs.common.model.ChunkSpec;
import io.leasefs.common.model.Configuration;
import io.leasefs.common.model.FileId;
import io.leasefs.common.model.Member;
import io.leasefs.common.model.ReplicaId;
import io.leasefs.common.model.ServerId;
import io.leasefs.common.model.SessionId;
import io.leasefs.master.log.Operation.AbandonChange;
import io.leasefs.master.log.Operation.Activate;
import io.leasefs.master.log.Operation.BeginChange;
import io.leasefs.master.log.Operation.ChangeReason;
import io.leasefs.master.log.Operation.EndLeases;
import io.leasefs.master.log.Operation.ExpireRevocation;
import io.leasefs.master.log.Operation.JoinReplica;
import io.leasefs.master.log.Operation.LeaseId;
import io.leasefs.master.log.Operation.OrderReplica;
import io.leasefs.master.log.Operation.Participant;
import io.leasefs.master.log.Operation.Placement;
import io.leasefs.master.log.Operation.RecoverChange;
import io.leasefs.master.log.Operation.RemoveReplica;
import io.leasefs.master.log.Operation.RevokeLease;
import io.leasefs.master.log.Operation.SealChunk;
import io.leasefs.master.log.Operation.Seed;
import io.leasefs.master.log.OperationResult.Done;
import io.leasefs.master.log.OperationResult.Ordered;
import io.leasefs.master.log.OperationResult.Value;
import io.leasefs.master.state.ChunkEntry.Learner;
import io.leasefs.master.state.ChunkEntry.Lease;
import io.leasefs.master.state.ChunkEntry.Pending;
import io.leasefs.master.state.ChunkEntry.Step;
import io.leasefs.master.state.FileEntry.Place;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;

/**
 * What operations do to chunks: birth, the four steps of a change, seals, leases, replicas
 * (protocol, sections 4 and 8). Each method checks everything, then changes; a thrown {@link
 * LeaseFsException} is a rejection that has changed nothing.
 */
final class ChunkChanges {
  private final Namespace namespace;
  private final ChunkTable chunks;
  private final SessionTable sessions;

  ChunkChanges(Namespace namespace, ChunkTable chunks, SessionTable sessions) {
    this.namespace = namespace;
    this.chunks = chunks;
    this.sessions = sessions;
  }

  // ---------------------------------------------------------------- birth

  /** Throws BUSY where a placement is out of date: the request may be asked again. */
  void checkPlacements(List<Placement> placements) {
    Set<ServerId> servers = new HashSet<>();
    for (Placement place : placements) {
      checkPlacement(place);
      if (!servers.add(place.server())) {
        throw new LeaseFsException(
            ErrorCode.INVALID_ARGUMENT, place.server() + ": two replicas at one server");
      }
    }
  }

  private void checkPlacement(Placement place) {
    ServerEntry server = sessions.server(place.server());
    if (server == null
        || server.incarnation() != place.incarnation()
        || !server.session().equals(Optional.of(place.session()))) {
      throw new LeaseFsException(
          ErrorCode.BUSY, place.server() + ": not in the session that was chosen; choose again");
    }
  }

  /** Version 1 with its primary's lease, one entry; the first placement is the primary. */
  ChunkHandle birth(Inode.File file, List<Placement> placements, long ordinal) {
    ChunkHandle handle = new ChunkHandle(ordinal);
    List<Member> members = new ArrayList<>();
    List<Participant> birth = new ArrayList<>();
    for (Placement place : placements) {
      Member member = new Member(place.server(), place.disk(), new ReplicaId(ordinal));
      members.add(member);
      birth.add(new Participant(member, place.incarnation()));
    }
    Placement first = placements.getFirst();
    ChunkSpec spec = new ChunkSpec(handle, new FileId(file.id), file.chunkBytes, file.durability());
    chunks.put(
        new ChunkEntry(
            spec,
            file.chunks.length,
            1,
            new Configuration(1, Optional.of(first.server()), members, 0),
            birth,
            Optional.empty(),
            Optional.of(new Lease(first.session(), first.server(), 1, ordinal, false)),
            Optional.empty(),
            false,
            List.of(),
            1));
    file.addChunk(handle.value());
    return handle;
  }

  // ---------------------------------------------------------------- begin, recover, activate

  Value begin(BeginChange operation, long ordinal) {
    ChunkEntry chunk = require(operation.chunk());
    if (operation.version() != chunk.lastVersion() + 1) {
      throw stale(chunk, "version " + operation.version() + " is not the next one");
    }
    boolean reopen = operation.reason() == ChangeReason.REOPEN;
    if (chunk.isSealed() != reopen) {
      throw stale(chunk, chunk.isSealed() ? "is sealed" : "is not sealed");
    }
    if (reopen) {
      checkReopen(chunk, operation);
    }
    operation.seed().ifPresent(seed -> checkSeed(chunk, seed));
    Pending pending =
        new Pending(
            operation.version(),
            Step.BEGUN,
            operation.reason(),
            operation.seal(),
            operation.seed(),
            List.of(),
            ordinal);
    ChunkEntry begun = chunk.withPending(Optional.of(pending));
    chunks.put(operation.revoke() ? revoked(begun) : begun);
    return Done.DONE;
  }

  private void checkReopen(ChunkEntry chunk, BeginChange operation) {
    Inode.File file = namespace.requireFile(chunk.spec().file());
    boolean last = file.chunks[file.chunks.length - 1] == chunk.handle().value();
    if (!last
        || chunk.sealedForEver()
        || chunk.references() != 1
        || operation.seal()
        || namespace.placeOf(file) == Place.DOOMED) {
      throw stale(chunk, "cannot be reopened");
    }
  }

  private void checkSeed(ChunkEntry chunk, Seed seed) {
    if (chunk.active().memberAt(seed.server()).isEmpty()) {
      throw stale(chunk, "seed " + seed.server() + " is no member");
    }
    if (!sessions.lives(seed.server(), seed.incarnation())) {
      throw stale(chunk, "seed " + seed.server() + " is not in incarnation " + seed.incarnation());
    }
  }

  Value recover(RecoverChange operation) {
    ChunkEntry chunk = require(operation.chunk());
    Pending pending = requirePending(chunk, operation.version());
    if (pending.seed().isPresent() && !pending.seed().get().equals(operation.seed())) {
      throw stale(chunk, "version " + pending.version() + " has another seed");
    }
    checkSeed(chunk, operation.seed());
    for (Participant target : operation.targets()) {
      boolean known =
          chunk.active().members().contains(target.member())
              || chunk.learners().stream().anyMatch(l -> l.member().equals(target.member()));
      if (!known || target.member().server().equals(operation.seed().server())) {
        throw stale(chunk, "target " + target.member() + " is neither member nor learner");
      }
      checkIncarnation(chunk, target);
    }
    Pending recovering =
        new Pending(
            pending.version(),
            Step.RECOVERING,
            pending.reason(),
            pending.seal(),
            Optional.of(operation.seed()),
            operation.targets(),
            pending.since());
    chunks.put(chunk.withPending(Optional.of(recovering)));
    return Done.DONE;
  }

  Value activate(Activate operation, long ordinal) {
    ChunkEntry chunk = require(operation.chunk());
    Pending pending = requirePending(chunk, operation.version());
    List<Member> members =
        checkMembers(chunk, pending, operation.members(), operation.minReplicas());
    ServerId primary = members.getFirst().server();
    SessionEntry session = sessions.session(operation.primary());
    if (session == null || !session.server().equals(Optional.of(primary))) {
      throw stale(chunk, "session " + operation.primary() + " of " + primary + " has ended");
    }
    Optional<Lease> old = chunk.lease();
    boolean continues =
        old.isPresent() && old.get().session().equals(operation.primary()) && !old.get().revoked();
    if (old.isPresent() && !continues) {
      throw new LeaseFsException(
          ErrorCode.BUSY,
          "chunk " + chunk.handle() + ": the lease of " + old.get().server() + " has not ended");
    }
    long token = continues ? old.get().token() : ordinal;
    ChunkEntry active =
        withoutLearners(chunk, members)
            .withActive(
                new Configuration(
                    operation.version(), Optional.of(primary), members, operation.firstSerial()),
                List.of())
            .withPending(Optional.empty())
            .withSeal(Optional.empty(), false)
            .withLease(
                Optional.of(
                    new Lease(operation.primary(), primary, operation.version(), token, false)));
    chunks.put(active);
    return Done.DONE;
  }

  Value abandon(AbandonChange operation) {
    ChunkEntry chunk = require(operation.chunk());
    Optional<Pending> pending = chunk.pending();
    if (pending.isEmpty() || pending.get().version() != operation.version()) {
      throw stale(chunk, "version " + operation.version() + " is not pending");
    }
    // A seed may have started it; of a deleted file that is sealed nobody needs to know.
    boolean dropped = chunk.isSealed() && isDoomed(chunk);
    if (pending.get().step() != Step.BEGUN && !dropped) {
      throw stale(chunk, "version " + operation.version() + " has a seed already");
    }
    chunks.put(chunk.withPending(Optional.empty()));
    return Done.DONE;
  }

  private static Pending requirePending(ChunkEntry chunk, long version) {
    return chunk
        .pending()
        .filter(p -> p.version() == version)
        .orElseThrow(() -> stale(chunk, "version " + version + " is not pending"));
  }

  /** Only replicas of the seed's history, in the incarnation that is registered, and enough. */
  private List<Member> checkMembers(
      ChunkEntry chunk, Pending pending, List<Participant> participants, int minReplicas) {
    Optional<Seed> seed = pending.seed();
    if (pending.step() != Step.RECOVERING || seed.isEmpty()) {
      throw stale(chunk, "version " + pending.version() + " has no seed yet");
    }
    if (participants.isEmpty() || participants.size() < minReplicas) {
      throw new LeaseFsException(
          ErrorCode.TOO_FEW_SERVERS,
          "chunk " + chunk.handle() + ": " + participants.size() + " of at least " + minReplicas);
    }
    List<Member> members = new ArrayList<>();
    Set<ServerId> servers = new HashSet<>();
    for (Participant participant : participants) {
      Member member = participant.member();
      boolean isSeed =
          member.server().equals(seed.get().server())
              && participant.incarnation() == seed.get().incarnation()
              && chunk.active().members().contains(member);
      if (!isSeed && !pending.targets().contains(participant)) {
        throw stale(chunk, member + " is not of version " + pending.version());
      }
      if (!servers.add(member.server())) {
        throw stale(chunk, member + " is named twice");
      }
      checkIncarnation(chunk, participant);
      members.add(member);
    }
    return members;
  }

  private void checkIncarnation(ChunkEntry chunk, Participant participant) {
    if (!sessions.lives(participant.member().server(), participant.incarnation())) {
      throw stale(
          chunk,
          participant.member().server() + " is not in incarnation " + participant.incarnation());
    }
  }

  private static ChunkEntry withoutLearners(ChunkEntry chunk, List<Member> members) {
    List<Learner> left = new ArrayList<>(chunk.learners());
    left.removeIf(l -> members.stream().anyMatch(m -> m.server().equals(l.member().server())));
    return chunk.withLearners(left);
  }

  // ---------------------------------------------------------------- seals

  Value seal(SealChunk operation) {
    ChunkEntry chunk = require(operation.chunk());
    if (chunk.seal().equals(Optional.of(operation.seal()))
        && chunk.active().version() == operation.version()) {
      return Done.DONE;
    }
    if (operation.version() == chunk.active().version() && operation.members().isEmpty()) {
      checkSeal(chunk, operation.seal());
      logSeal(chunk, operation.seal(), operation.wallMillis());
    } else {
      sealPending(chunk, operation);
    }
    return Done.DONE;
  }

  private void sealPending(ChunkEntry chunk, SealChunk operation) {
    Pending pending = requirePending(chunk, operation.version());
    List<Member> members =
        checkMembers(chunk, pending, operation.members(), operation.minReplicas());
    ChunkSeal seal = operation.seal();
    if (seal.serial() <= operation.firstSerial() && chunk.seal().isPresent()) {
      throw stale(chunk, "seal " + seal.serial() + " is older than the version start");
    }
    checkLength(chunk, seal);
    if (chunk.seal().isPresent() && chunk.seal().get().lengthBytes() != seal.lengthBytes()) {
      throw new LeaseFsException(
          ErrorCode.CORRUPT,
          "chunk " + chunk.handle() + ": sealed at " + chunk.seal().get() + ", now " + seal);
    }
    boolean forEver = pending.reason() == ChangeReason.DELETE || isDoomed(chunk);
    ChunkEntry sealed =
        revoked(withoutLearners(chunk, members))
            .withActive(
                new Configuration(
                    operation.version(), Optional.empty(), members, operation.firstSerial()),
                List.of())
            .withPending(Optional.empty())
            .withSeal(Optional.of(seal), forEver);
    chunks.put(sealed);
    touchFile(chunk, seal, operation.wallMillis());
  }

  /** Throws unless this can be the committed seal of the active version. */
  void checkSeal(ChunkEntry chunk, ChunkSeal seal) {
    if (chunk.isSealed()) {
      if (!chunk.seal().get().equals(seal)) {
        throw stale(chunk, "is sealed at " + chunk.seal().get() + ", not at " + seal);
      }
      return;
    }
    if (seal.serial() <= chunk.active().firstSerial()) {
      throw stale(
          chunk, "seal " + seal.serial() + " is older than version " + chunk.active().version());
    }
    checkLength(chunk, seal);
  }

  private static void checkLength(ChunkEntry chunk, ChunkSeal seal) {
    if (seal.lengthBytes() < 0 || seal.lengthBytes() > chunk.spec().capacityBytes()) {
      throw new LeaseFsException(
          ErrorCode.INVALID_ARGUMENT, "chunk " + chunk.handle() + ": no such length: " + seal);
    }
  }

  /**
   * Logs a committed seal of the active version: its lease and a pending change end with it.
   *
   * <p>No gate is needed, for the holder has acknowledged that seal itself: the active version's
   * primary alone commits it, once its own copy and all others have it, and leads no more from then
   * on. A seal that came with a version start ({@link #sealPending}) may be unknown to the holder:
   * there the lease is revoked, and whoever reopens the chunk waits at the gate.
   */
  void logSeal(ChunkEntry chunk, ChunkSeal seal, long wallMillis) {
    if (chunk.isSealed()) {
      return;
    }
    chunks.put(
        chunk
            .withPending(Optional.empty())
            .withSeal(Optional.of(seal), isDoomed(chunk))
            .withLease(Optional.empty()));
    touchFile(chunk, seal, wallMillis);
  }

  private boolean isDoomed(ChunkEntry chunk) {
    return namespace.placeOf(namespace.requireFile(chunk.spec().file())) == Place.DOOMED;
  }

  /**
   * The first seal of bytes tells that the file has changed. Sealing again, as a repair does, or
   * sealing a chunk that nobody wrote to, must not undo a time that the user has set since.
   */
  private void touchFile(ChunkEntry before, ChunkSeal seal, long wallMillis) {
    if (!before.isSealed() && seal.lengthBytes() > 0) {
      namespace.requireFile(before.spec().file()).modifiedMillis = wallMillis;
    }
  }

  // ---------------------------------------------------------------- leases

  Value revoke(RevokeLease operation) {
    ChunkEntry chunk = require(operation.lease().chunk());
    if (!names(chunk, operation.lease())) {
      throw stale(chunk, "no such lease: " + operation.lease());
    }
    chunks.put(revoked(chunk));
    return Done.DONE;
  }

  Value end(EndLeases operation) {
    for (LeaseId lease : operation.leases()) {
      ChunkEntry chunk = chunks.find(lease.chunk());
      if (chunk != null && names(chunk, lease)) {
        chunks.put(chunk.withLease(Optional.empty()));
      }
    }
    return Done.DONE;
  }

  Value expire(ExpireRevocation operation, long entryTerm) {
    SessionChanges.checkTerm(operation.term(), entryTerm);
    ChunkEntry chunk = require(operation.lease().chunk());
    if (!names(chunk, operation.lease()) || !chunk.lease().get().revoked()) {
      throw stale(chunk, "no such revocation: " + operation.lease());
    }
    chunks.put(chunk.withLease(Optional.empty()));
    return Done.DONE;
  }

  /** All rights of a session that has ended, in the same entry. */
  void endSession(SessionId session) {
    for (ChunkHandle handle : List.copyOf(chunks.leasesOf(session))) {
      chunks.put(chunks.get(handle).withLease(Optional.empty()));
    }
  }

  private static boolean names(ChunkEntry chunk, LeaseId id) {
    return chunk
        .lease()
        .filter(l -> l.version() == id.version() && l.session().equals(id.session()))
        .isPresent();
  }

  private static ChunkEntry revoked(ChunkEntry chunk) {
    return chunk.withLease(
        chunk.lease().map(l -> new Lease(l.session(), l.server(), l.version(), l.token(), true)));
  }

  // ---------------------------------------------------------------- replicas

  Value order(OrderReplica operation, long ordinal) {
    ChunkEntry chunk = require(operation.chunk());
    checkPlacement(operation.place());
    ServerId server = operation.place().server();
    Optional<Member> member = chunk.active().memberAt(server);
    if (!member.map(Member::replica).equals(operation.replaces())
        || chunk.learnerAt(server).isPresent()) {
      throw stale(chunk, server + " has a replica already");
    }
    if (member.isPresent()
        && (chunk.isSealed()
            || chunk.pending().flatMap(Pending::seed).isPresent()
            || chunk.pending().isEmpty())) {
      throw stale(chunk, "the copy at " + server + " may yet be needed");
    }
    ReplicaId replica = new ReplicaId(ordinal);
    List<Learner> learners = new ArrayList<>(chunk.learners());
    learners.add(
        new Learner(
            new Member(server, operation.place().disk(), replica),
            operation.place().incarnation(),
            chunk.active().version()));
    // Who is given up is never born again: what it has promised is gone with its copy.
    List<Participant> birth = new ArrayList<>(chunk.birth());
    birth.removeIf(one -> one.member().server().equals(server));
    chunks.put(chunk.withActive(chunk.active(), birth).withLearners(learners));
    return new Ordered(replica);
  }

  Value join(JoinReplica operation) {
    ChunkEntry chunk = require(operation.chunk());
    Learner learner =
        chunk
            .learner(operation.server(), operation.replica())
            .orElseThrow(() -> stale(chunk, "no such learner at " + operation.server()));
    if (!sessions.lives(operation.server(), operation.incarnation())) {
      throw stale(chunk, operation.server() + " has registered anew");
    }
    boolean matches =
        chunk.seal().isPresent()
            && chunk.pending().isEmpty()
            && chunk.seal().get().lengthBytes() == operation.lengthBytes()
            && chunk.seal().get().checksum() == operation.checksum();
    if (!matches) {
      throw stale(chunk, "the copy at " + operation.server() + " is not what is sealed");
    }
    List<Member> members = new ArrayList<>(chunk.active().members());
    members.removeIf(member -> member.server().equals(operation.server())); // it was replaced
    members.add(learner.member());
    chunks.put(
        withoutLearners(chunk, members)
            .withActive(withMembers(chunk.active(), members), chunk.birth()));
    return Done.DONE;
  }

  Value remove(RemoveReplica operation) {
    ChunkEntry chunk = require(operation.chunk());
    Optional<Learner> learner = chunk.learner(operation.server(), operation.replica());
    if (learner.isPresent()) {
      List<Learner> left = new ArrayList<>(chunk.learners());
      left.remove(learner.get());
      chunks.put(chunk.withLearners(left));
      return Done.DONE;
    }
    List<Member> members = new ArrayList<>(chunk.active().members());
    boolean was =
        members.removeIf(
            m -> m.server().equals(operation.server()) && m.replica().equals(operation.replica()));
    if (!was) {
      throw stale(chunk, "no such replica at " + operation.server());
    }
    if (!chunk.isSealed() || chunk.pending().isPresent()) {
      throw stale(chunk, "a member of an open chunk leaves by a new version");
    }
    if (members.isEmpty()) {
      throw stale(chunk, operation.server() + " has the last copy");
    }
    chunks.put(chunk.withActive(withMembers(chunk.active(), members), chunk.birth()));
    return Done.DONE;
  }

  private static Configuration withMembers(Configuration old, List<Member> members) {
    return new Configuration(old.version(), old.primary(), members, old.firstSerial());
  }

  /** Forgets the learners at a server that is removed. */
  void removeLearners(ServerId server) {
    for (ChunkHandle handle : List.copyOf(chunks.at(server))) {
      ChunkEntry chunk = chunks.get(handle);
      List<Learner> left = new ArrayList<>(chunk.learners());
      left.removeIf(l -> l.member().server().equals(server));
      chunks.put(chunk.withLearners(left));
    }
  }

  /** The generation is raised: what this log says of versions is not all that there was. */
  void raise(int generation) {
    for (ChunkEntry chunk : List.copyOf(chunks.all().values())) {
      chunks.put(chunk.inGeneration(generation));
    }
  }

  // ---------------------------------------------------------------- common

  private ChunkEntry require(ChunkHandle handle) {
    ChunkEntry chunk = chunks.find(handle);
    if (chunk == null) {
      throw new LeaseFsException(ErrorCode.NOT_FOUND, "chunk " + handle + ": no such chunk");
    }
    return chunk;
  }

  private static LeaseFsException stale(ChunkEntry chunk, String why) {
    return new LeaseFsException(ErrorCode.STALE_VERSION, "chunk " + chunk.handle() + ": " + why);
  }

  /** What must hold of every entry by itself. */
  static void check(ChunkEntry chunk) {
    Configuration active = chunk.active();
    require(!active.members().isEmpty(), chunk, "has no member");
    require(active.version() <= chunk.lastVersion(), chunk, "active above last version");
    require(
        active.members().stream().map(Member::server).distinct().count() == active.members().size(),
        chunk,
        "two members at one server");
    chunk
        .pending()
        .ifPresent(
            pending -> {
              require(pending.version() == chunk.lastVersion(), chunk, "pending is not the last");
              require(pending.version() > active.version(), chunk, "pending below active");
              require(pending.step() == Step.BEGUN || pending.seed().isPresent(), chunk, "no seed");
              require(
                  !chunk.isSealed() || pending.reason() == ChangeReason.REOPEN,
                  chunk,
                  "sealed, but changing");
            });
    chunk
        .lease()
        .ifPresent(
            lease -> {
              require(lease.version() <= active.version(), chunk, "lease above active");
              require(!chunk.isSealed() || lease.revoked(), chunk, "sealed, but leased");
            });
    require(
        active.primary().isEmpty() || active.primary().equals(chunk.lease().map(Lease::server)),
        chunk,
        "primary without lease");
    require(!chunk.isSealed() || active.primary().isEmpty(), chunk, "sealed with a primary");
    for (Learner learner : chunk.learners()) {
      require(!active.members().contains(learner.member()), chunk, "learner is a member");
    }
  }

  private static void require(boolean holds, ChunkEntry chunk, String what) {
    if (!holds) {
      throw new IllegalStateException("chunk " + chunk.handle() + " " + what + ": " + chunk);
    }
  }
}
