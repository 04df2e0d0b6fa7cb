package io.leasefs.client.data;

import io.leasefs.common.api.ChunkApi.NamedAnswer;
import io.leasefs.common.api.Frame;
import io.leasefs.common.api.FrameAnswer;
import io.leasefs.common.api.MutationKind;
import io.leasefs.common.checksum.Checksums;
import io.leasefs.common.error.ErrorCode;
import io.leasefs.common.error.LeaseFsException;
import io.leasefs.common.model.AppendResult;
import io.leasefs.common.model.ChunkHandle;
import io.leasefs.common.model.ChunkLayout;
import io.leasefs.common.model.ChunkSeal;
import io.leasefs.common.model.FileId;
import io.leasefs.common.model.LeaseGrant;
import io.leasefs.common.model.Location;
import io.leasefs.common.model.SealedChunk;
import io.leasefs.common.model.ServerAddress;
import io.leasefs.common.model.SessionId;
import java.nio.ByteBuffer;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * Appends to one file, exactly once and in order, whatever happens to frames, answers, primaries
 * and chunks (protocol, sections 4, 5 and 8). Each method is one event; it answers what to do next.
 * Pure: no clock, no I/O, one thread at a time.
 *
 * <h2>Where a write is</h2>
 *
 * In the <i>queue</i> it has no number yet. In the <i>window</i> it has its sequence, and stays
 * there until a definite answer or until it is given up; the first of the window is the floor. A
 * write in the window is <i>outstanding</i> in the present chunk from its first sending there until
 * a definite answer of this chunk. Only when nothing is outstanding does the file go on in the next
 * chunk, and with it, in order and under their old sequences, the writes that the last chunk
 * definitely does not hold.
 *
 * <h2>Chaining</h2>
 *
 * A frame names as {@code after} the nearest lower outstanding sequence of its chunk. What has been
 * applied needs no naming: it comes first already.
 *
 * <h2>When nothing is heard</h2>
 *
 * A reset stream or a second's silence is told to the master as evidence; it seals the chunk or
 * finds another primary, and the layout tells which. A sealed chunk is asked for each outstanding
 * write, at any member, by sending the same frame.
 *
 * @param <T> how the caller names its writes
 */
public final class WriteCore<T> {
  private static final long FIRST_WAIT_NANOS = 50_000_000L;
  private static final long MAX_WAIT_NANOS = 1_000_000_000L;
  private static final long FIRST_PAUSE_NANOS = 2_000_000L;
  private static final long MAX_PAUSE_NANOS = 500_000_000L;
  private static final int MAX_CORRUPT = 5;
  private static final ByteBuffer EMPTY = ByteBuffer.allocate(0);

  /** No wake-up is wanted. */
  public static final long NEVER = Long.MAX_VALUE;

  private final FileId file;

  /** The largest token of this process's openings: what frames carry. */
  private long token;

  private final WriteLimits limits;

  private final ArrayDeque<Write<T>> queue = new ArrayDeque<>();
  private final LinkedHashMap<Long, Write<T>> window = new LinkedHashMap<>();
  private List<WriteAction<T>> actions = new ArrayList<>();

  private SessionId session;
  private long nextSequence;
  private long inFlightBytes;

  private @Nullable ChunkLayout chunk;
  private Optional<ChunkSeal> seal = Optional.empty();

  /** The newest version in which the chunk is known to be sealed; 0 = none. */
  private long sealedIn;

  private Optional<LeaseGrant> birth = Optional.empty();
  private @Nullable ServerAddress target;
  private int memberTurn;

  /** The sequence that ends the chunk, or may: nothing is sent behind it; 0 = none. */
  private long boundary;

  private long tailKnown;
  private long tailCumulative;
  private long sentCumulative;

  /** NOT_APPLIED came, and why is not known yet. */
  private boolean refusedForEver;

  private boolean layoutAsked;
  private boolean layoutWanted;
  private int layoutTries;
  private boolean addAsked;
  private boolean sessionLost;
  private boolean reopenAsked;
  private int failures;
  private long resumeAt;
  private boolean resumePending;

  /** The newest refusal that waiting alone may not cure. */
  private @Nullable LeaseFsException standsInTheWay;

  private long heardAt;
  private int silences;
  private long progressAt;

  /** One append or seal. */
  private static final class Write<T> {
    final T tag;
    final MutationKind kind;
    final ByteBuffer payload;
    final Checksums checksums;
    final boolean endsChunk;
    final @Nullable WriteStream stream;
    final long submittedAt;
    long sequence;
    long cumulative;
    boolean sealsHere;

    /** Sent in the present chunk, no definite answer from it yet. */
    boolean outstanding;

    /** Must be sent, or sent again. */
    boolean toSend = true;

    /** Sent ever, and whether it is there has never been answered since. */
    boolean unknown;

    /** Sendings that may still be answered. */
    int underWay;

    int sendings;
    int corrupt;

    /** What the oldest sending carried that may still be answered. */
    long oldestToken;

    Write(
        T tag,
        MutationKind kind,
        ByteBuffer payload,
        Checksums checksums,
        boolean endsChunk,
        @Nullable WriteStream stream,
        long submittedAt) {
      this.tag = tag;
      this.kind = kind;
      this.payload = payload;
      this.checksums = checksums;
      this.endsChunk = endsChunk;
      this.stream = stream;
      this.submittedAt = submittedAt;
    }

    int length() {
      return payload.remaining();
    }
  }

  /**
   * A file just opened for writing.
   *
   * @param firstSequence above all that this session has used for this file
   * @param token fencing token; 0 = none
   * @param last the chunk to go on in, if there is one
   * @param birth of that chunk, if it is new
   */
  public WriteCore(
      FileId file,
      SessionId session,
      long firstSequence,
      long token,
      WriteLimits limits,
      Optional<ChunkLayout> last,
      Optional<LeaseGrant> birth,
      long now) {
    if (firstSequence < 1) {
      throw new IllegalArgumentException("sequences start at 1: " + firstSequence);
    }
    this.file = file;
    this.session = session;
    this.nextSequence = firstSequence;
    this.token = token;
    this.limits = limits;
    this.heardAt = now;
    this.progressAt = now;
    last.ifPresent(layout -> enter(layout, birth));
  }

  // events -----------------------------------------------------------------------------------

  /**
   * Append this.
   *
   * @param payload at most 1 MiB; must not change until completed
   * @param endsChunk true where the chunk shall end with it
   */
  public List<WriteAction<T>> append(
      T tag, ByteBuffer payload, Checksums checksums, boolean endsChunk, long now) {
    return append(tag, payload, checksums, endsChunk, null, now);
  }

  /**
   * The same as part of a stream.
   *
   * @param stream what it belongs to; null where it stands for itself
   */
  public List<WriteAction<T>> append(
      T tag,
      ByteBuffer payload,
      Checksums checksums,
      boolean endsChunk,
      @Nullable WriteStream stream,
      long now) {
    if (payload.remaining() > Frame.MAX_PAYLOAD) {
      throw new IllegalArgumentException("more than a frame holds: " + payload.remaining());
    }
    return submit(
        new Write<>(tag, MutationKind.APPEND, payload, checksums, endsChunk, stream, now), now);
  }

  /** End the chunk behind all appends so far; nothing happens where there is no chunk. */
  public List<WriteAction<T>> seal(T tag, long now) {
    return seal(tag, null, now);
  }

  /** The same as part of a stream. */
  public List<WriteAction<T>> seal(T tag, @Nullable WriteStream stream, long now) {
    return submit(
        new Write<>(tag, MutationKind.SEAL, EMPTY, Checksums.NONE, true, stream, now), now);
  }

  /**
   * This process has opened the file once more, with a larger token; a smaller one changes nothing.
   * Its openings share one order, so from now on all of it is written with that token.
   */
  public List<WriteAction<T>> tokenRaised(long newToken, long now) {
    token = Math.max(token, newToken);
    return finish(now);
  }

  private List<WriteAction<T>> submit(Write<T> write, long now) {
    if (write.stream != null && write.stream.isBroken()) {
      actions.add(new WriteAction.Failed<>(write.tag, write.stream.failure()));
      return finish(now);
    }
    if (isIdle()) {
      progressAt = now;
    }
    queue.add(write);
    return finish(now);
  }

  /** A frame was answered. */
  public List<WriteAction<T>> answered(NamedAnswer named, long now) {
    Write<T> write = window.get(named.sequence());
    boolean awaited =
        write != null
            && write.outstanding
            && chunk != null
            && chunk.handle().equals(named.chunk())
            && session.value() == named.session();
    if (!awaited || write == null) {
      return List.of();
    }
    heardAt = now;
    silences = 0;
    write.underWay = Math.max(0, write.underWay - 1);
    FrameAnswer answer = named.answer();
    if (answer instanceof FrameAnswer.Applied applied) {
      applied(write, applied, now);
    } else if (answer instanceof FrameAnswer.NotApplied) {
      displaced(write);
      if (seal.isEmpty()) {
        // Sealed without our knowing, or our session is dead there: the layout tells.
        target = null;
        refusedForEver = true;
        layoutTries = Math.max(layoutTries, 4);
        wantLayout(now);
      }
    } else if (answer instanceof FrameAnswer.ChunkFull full) {
      if (seal.isEmpty() && full.version() < present().configuration().version()) {
        again(write, now); // the chunk has been opened again since, and the write sent there
      } else {
        displaced(write);
        sealed(full.seal(), full.version());
      }
    } else if (answer instanceof FrameAnswer.Refused refused) {
      refused(write, refused, now);
    } else {
      outOfOrder(write, now);
    }
    return finish(now);
  }

  /**
   * The stream to that server has ended; what was under way on it has an unknown fate.
   *
   * @param reset true where the connection was cut, which is evidence against the server
   */
  public List<WriteAction<T>> broken(ServerAddress server, boolean reset, long now) {
    if (!server.equals(target)) {
      return List.of();
    }
    boolean awaited = resendOutstanding();
    if (seal.isPresent()) {
      nextMember();
      pause(now);
    } else if (awaited && chunk != null) {
      reportSilent(chunk, reset);
      target = null;
      wantLayout(now);
    }
    return finish(now);
  }

  private void reportSilent(ChunkLayout silent, boolean connectionReset) {
    if (limits.writesOn()) {
      actions.add(
          new WriteAction.ReportSilent<>(
              silent.handle(), silent.configuration().version(), connectionReset));
    }
  }

  /** The master's answer to {@link WriteAction.FetchLayout}. */
  public List<WriteAction<T>> layoutArrived(ChunkLayout layout, long now) {
    layoutAsked = false;
    if (chunk == null || !layout.handle().equals(chunk.handle())) {
      return finish(now);
    }
    long before = chunk.configuration().version();
    boolean wasSealed = seal.isPresent();
    chunk = layout;
    if (layout.seal().isPresent()) {
      seal = layout.seal();
      sealedIn = Math.max(sealedIn, layout.configuration().version());
      layoutWanted = false;
      if (!wasSealed || target == null) {
        resendOutstanding();
        nextMember();
      }
      return finish(now);
    }
    if (wasSealed && layout.configuration().version() <= sealedIn) {
      // The primary's word that the seal has committed is newer than this layout.
      return finish(now);
    }
    if (wasSealed) {
      // Somebody has opened the file since, and the chunk with it: the file goes on here.
      seal = Optional.empty();
      boundary = 0;
      failures = 0;
      if (firstOutstanding() == null) {
        enter(layout, Optional.empty());
        return finish(now);
      }
      standInFront();
      target = null;
    }
    sessionLost |= refusedForEver;
    refusedForEver = false;
    ServerAddress primary = layout.primary().map(Location::address).orElse(null);
    if (primary == null) {
      layoutWanted = true;
      return finish(now);
    }
    layoutWanted = false;
    if (layout.configuration().version() != before || !primary.equals(target)) {
      resendOutstanding();
      heardAt = now;
    }
    if (layout.configuration().version() != before) {
      layoutTries = 0;
      birth = Optional.empty();
    } else if (layoutTries > 1) {
      pause(now);
    }
    target = primary;
    return finish(now);
  }

  /** The master did not answer {@link WriteAction.FetchLayout}, or with an error. */
  public List<WriteAction<T>> layoutFailed(LeaseFsException failure, long now) {
    layoutAsked = false;
    layoutWanted = true;
    masterFailed(failure, now);
    return finish(now);
  }

  /** The master's answer to {@link WriteAction.AddChunk}. */
  public List<WriteAction<T>> chunkAdded(
      ChunkLayout layout, Optional<LeaseGrant> newBirth, long now) {
    addAsked = false;
    failures = 0;
    heardAt = now;
    if (firstOutstanding() == null) {
      enter(layout, newBirth);
    } else {
      // The chunk was opened again meanwhile, and has been written to: first their fate.
      layoutWanted = true;
    }
    return finish(now);
  }

  /** The master did not answer {@link WriteAction.AddChunk}, or with an error. */
  public List<WriteAction<T>> addFailed(LeaseFsException failure, long now) {
    addAsked = false;
    if (failure.code() == ErrorCode.UNKNOWN_SESSION) {
      sessionLost = true;
    } else {
      // The chunk may have been opened again: its layout tells.
      layoutWanted |= failure.code() == ErrorCode.STALE_VERSION;
      masterFailed(failure, now);
    }
    return finish(now);
  }

  /** The master says that this process's session has ended. */
  public List<WriteAction<T>> sessionEnded(SessionId ended, long now) {
    sessionLost |= ended.equals(session);
    return finish(now);
  }

  /** The file is open in a new session. */
  public List<WriteAction<T>> reopened(
      SessionId newSession,
      long firstSequence,
      Optional<ChunkLayout> last,
      Optional<LeaseGrant> newBirth,
      long now) {
    reopenAsked = false;
    sessionLost = false;
    failures = 0;
    heardAt = now;
    List<Write<T>> again = new ArrayList<>(window.values());
    window.clear();
    inFlightBytes = 0;
    for (int i = again.size() - 1; i >= 0; i--) {
      queue.addFirst(again.get(i));
    }
    session = newSession;
    nextSequence = firstSequence;
    chunk = null;
    seal = Optional.empty();
    last.ifPresent(layout -> enter(layout, newBirth));
    return finish(now);
  }

  /** The file could not be opened in a new session. */
  public List<WriteAction<T>> reopenFailed(LeaseFsException failure, long now) {
    reopenAsked = false;
    masterFailed(failure, now);
    return finish(now);
  }

  /** Nobody writes any more: what is under way is given up. */
  public List<WriteAction<T>> abandoned(LeaseFsException why, long now) {
    failAll(why);
    return finish(now);
  }

  /** Time has passed. */
  public List<WriteAction<T>> tick(long now) {
    giveUpLate(now);
    Write<T> silent = silentNow(now) ? firstOutstanding() : null;
    if (silent != null && chunk != null) {
      silences++;
      heardAt = now;
      if (seal.isPresent()) {
        resendOutstanding();
        nextMember();
      } else {
        reportSilent(chunk, false);
        silent.toSend = true;
        wantLayout(now);
      }
    }
    return finish(now);
  }

  /** When {@link #tick} wants to be called at the latest; {@link #NEVER} where nothing waits. */
  public long wakeAt() {
    long at = NEVER;
    Write<T> first = firstWaiting();
    if (first != null) {
      at = Math.max(first.submittedAt, progressAt) + limits.timeoutNanos();
    }
    if (firstOutstanding() != null) {
      at = Math.min(at, heardAt + patience());
    }
    if (resumePending) {
      at = Math.min(at, resumeAt);
    }
    return at;
  }

  /** True where nothing is queued and nothing awaits an answer. */
  public boolean isIdle() {
    return queue.isEmpty() && window.isEmpty();
  }

  /** The sequence that the next write will get. */
  public long nextSequence() {
    return nextSequence;
  }

  /** The session that frames carry. */
  public SessionId session() {
    return session;
  }

  // answers ----------------------------------------------------------------------------------

  private void applied(Write<T> write, FrameAnswer.Applied applied, long now) {
    remove(write);
    failures = 0;
    layoutTries = 0;
    progressAt = now;
    birth = Optional.empty();
    if (write.kind == MutationKind.APPEND && write.cumulative > tailCumulative) {
      tailCumulative = write.cumulative;
      tailKnown = applied.offset() + write.length();
    }
    if (applied.seal().isPresent()) {
      sealed(applied.seal().get(), applied.version());
    } else if (boundary == write.sequence) {
      boundary = 0;
    }
    complete(write, Optional.of(resultOf(write, applied)), applied.seal());
  }

  private AppendResult resultOf(Write<T> write, FrameAnswer.Applied applied) {
    ChunkLayout in = present();
    return new AppendResult(
        in.fileOffset() + applied.offset(),
        in.handle(),
        applied.offset(),
        applied.version(),
        applied.serial(),
        write.sequence);
  }

  private void complete(
      Write<T> write, Optional<AppendResult> result, Optional<ChunkSeal> sealedBy) {
    boolean seals = write.kind == MutationKind.SEAL;
    actions.add(
        new WriteAction.Completed<>(
            write.tag,
            seals ? Optional.empty() : result,
            sealedBy.map(by -> new SealedChunk(present().handle(), by)),
            write.sendings <= 1));
  }

  /** The present chunk definitely does not hold it. */
  private void displaced(Write<T> write) {
    write.outstanding = false;
    write.unknown = false;
    write.toSend = true;
    write.underWay = 0;
  }

  private void sealed(ChunkSeal by, long version) {
    if (seal.isEmpty()) {
      seal = Optional.of(by);
    }
    sealedIn = Math.max(sealedIn, version);
  }

  private void refused(Write<T> write, FrameAnswer.Refused refused, long now) {
    switch (refused.code()) {
      case NOT_PRIMARY, STALE_VERSION, NOT_FOUND -> {
        write.toSend = true;
        if (seal.isPresent()) {
          nextMember();
          pause(now);
        } else {
          target = null;
        }
        wantLayout(now);
      }
      case UNKNOWN_SESSION -> {
        sessionLost = true;
        again(write, now);
      }
      case CORRUPT -> {
        write.corrupt++;
        if (write.corrupt > MAX_CORRUPT) {
          giveUp(write, new LeaseFsException(ErrorCode.CORRUPT, refused.message()));
        } else {
          again(write, now);
        }
      }
      case NO_SPACE, TOO_FEW_SERVERS, BUSY, NOT_LEADER, STARTING, UNREACHABLE, TIMED_OUT -> {
        noteRefusal(new LeaseFsException(refused.code(), refused.message()));
        again(write, now);
        if (refused.code() == ErrorCode.NO_SPACE) {
          wantLayout(now);
        }
      }
      case FENCED -> {
        if (write.oldestToken < token) {
          write.oldestToken = token; // it was a newer opening of this process that shut it out
          again(write, now);
        } else {
          failAll(new LeaseFsException(ErrorCode.FENCED, refused.message()));
        }
      }
      case ALREADY_EXISTS,
          PERMISSION,
          INVALID_PATH,
          INVALID_ARGUMENT,
          RECORD_TOO_LARGE,
          WRONG_CLUSTER,
          NOT_A_DIRECTORY,
          IS_A_DIRECTORY,
          NOT_EMPTY,
          LOG_SHORT,
          INTERNAL ->
          giveUp(write, new LeaseFsException(refused.code(), refused.message()));
      case OUTCOME_UNKNOWN -> {
        // The chunk has forgotten our session, and takes nothing more in it. What was sent before
        // may be there; what was sent this once is not.
        sessionLost = true;
        if (write.sendings > 1) {
          giveUp(write, new LeaseFsException(refused.code(), refused.message()));
        } else {
          displaced(write);
        }
      }
    }
  }

  /** Nothing is known: the same frame again, after a pause. */
  private void again(Write<T> write, long now) {
    if (write.underWay == 0) {
      write.toSend = true;
      pause(now);
    }
  }

  /**
   * Its predecessor is not there: it was refused, or lost on its way, for it was sent before. So it
   * goes again with all outstanding ones below it.
   */
  private void outOfOrder(Write<T> write, long now) {
    again(write, now);
    if (!write.toSend) {
      return;
    }
    for (Write<T> lower : window.values()) {
      if (lower.sequence >= write.sequence) {
        return;
      }
      lower.toSend |= lower.outstanding;
    }
  }

  private void pause(long now) {
    if (!resumePending) {
      failures++;
      resumeAt = now + Math.min(MAX_PAUSE_NANOS, FIRST_PAUSE_NANOS << Math.min(20, failures - 1));
      resumePending = true;
    }
  }

  /** What stands in the way is told if the time runs out over it. */
  private void noteRefusal(LeaseFsException failure) {
    if (failure.code() == ErrorCode.NO_SPACE || failure.code() == ErrorCode.TOO_FEW_SERVERS) {
      standsInTheWay = failure;
    }
  }

  private void masterFailed(LeaseFsException failure, long now) {
    noteRefusal(failure);
    switch (failure.code().reaction()) {
      case TELL -> failAll(failure);
      case RETRY, REFRESH, OTHER_REPLICA, BACK_OFF -> pause(now);
    }
  }

  // the present chunk ------------------------------------------------------------------------

  private void enter(ChunkLayout layout, Optional<LeaseGrant> newBirth) {
    standsInTheWay = null;
    chunk = layout;
    seal = layout.seal();
    sealedIn = seal.isPresent() ? layout.configuration().version() : 0;
    birth = newBirth;
    boundary = 0;
    tailKnown = 0;
    tailCumulative = 0;
    sentCumulative = 0;
    layoutWanted = false;
    refusedForEver = false;
    layoutTries = 0;
    memberTurn = 0;
    for (Write<T> write : window.values()) {
      displaced(write);
      write.cumulative = 0;
      write.sealsHere = false;
    }
    target = layout.primary().map(Location::address).orElse(null);
    if (seal.isPresent()) {
      nextMember();
    } else if (target == null) {
      layoutWanted = true;
    }
  }

  private ChunkLayout present() {
    if (chunk == null) {
      throw new IllegalStateException("no chunk");
    }
    return chunk;
  }

  /** A sealed chunk is asked at any member: at the next one now. */
  private void nextMember() {
    List<Location> locations = present().locations();
    if (locations.isEmpty()) {
      target = null;
      layoutWanted = true;
    } else {
      target = locations.get(Math.floorMod(memberTurn++, locations.size())).address();
    }
  }

  private void wantLayout(long now) {
    layoutWanted = true;
    if (firstWaiting() == null) {
      heardAt = now;
    }
  }

  /** All outstanding writes are sent again; false where there are none. */
  private boolean resendOutstanding() {
    boolean any = false;
    for (Write<T> write : window.values()) {
      if (write.outstanding) {
        write.toSend = true;
        write.underWay = 0;
        any = true;
      }
    }
    return any;
  }

  // time -------------------------------------------------------------------------------------

  private boolean silentNow(long now) {
    return now >= heardAt + patience();
  }

  private long patience() {
    return limits.silentNanos() << Math.min(silences, 2);
  }

  /**
   * The seal by which the chunk lacked some writes is no more, and later ones are outstanding still
   * and may yet be applied here: so those in front of them go again first, whatever else happens.
   */
  private void standInFront() {
    int inFront = 0;
    int count = 0;
    for (Write<T> write : window.values()) {
      inFront = write.outstanding ? count : inFront;
      count++;
    }
    for (Write<T> write : window.values()) {
      if (inFront-- <= 0) {
        return;
      }
      write.outstanding = true;
    }
  }

  private @Nullable Write<T> firstOutstanding() {
    for (Write<T> write : window.values()) {
      if (write.outstanding) {
        return write;
      }
    }
    return null;
  }

  private @Nullable Write<T> firstWaiting() {
    return window.isEmpty() ? queue.peekFirst() : window.values().iterator().next();
  }

  private void giveUpLate(long now) {
    if (now < progressAt + limits.timeoutNanos()) {
      return;
    }
    List<Write<T>> late = new ArrayList<>();
    for (Write<T> write : window.values()) {
      if (now >= write.submittedAt + limits.timeoutNanos()) {
        late.add(write);
      }
    }
    for (Write<T> write : queue) {
      if (now >= write.submittedAt + limits.timeoutNanos()) {
        late.add(write);
      }
    }
    for (Write<T> write : late) {
      giveUp(write, lateFailure(write));
    }
  }

  private LeaseFsException lateFailure(Write<T> write) {
    String waited =
        addAsked
            ? "the master to add a chunk"
            : chunk == null
                ? "a chunk"
                : target == null
                    ? "a primary of chunk " + chunk.handle()
                    : "an answer of "
                        + target
                        + " for chunk "
                        + chunk.handle()
                        + " version "
                        + chunk.configuration().version();
    String message =
        "write to file "
            + file
            + ": waited "
            + limits.timeoutNanos() / 1_000_000
            + " ms for "
            + waited;
    LeaseFsException reason = standsInTheWay;
    if (reason != null && !write.unknown) {
      return new LeaseFsException(
          reason.code(), message + ": " + reason.getMessage(), reason.hint());
    }
    return write.unknown
        ? new LeaseFsException(
            ErrorCode.OUTCOME_UNKNOWN,
            message,
            "it may or may not be in the file: read its end before writing it again")
        : new LeaseFsException(
            ErrorCode.TIMED_OUT, message, "'leasefs why' tells what a chunk waits for");
  }

  private void giveUp(Write<T> write, LeaseFsException failure) {
    WriteStream stream = write.stream;
    if (stream == null || stream.isBroken()) {
      giveUpOne(write, failure);
      return;
    }
    stream.breakWith(failure);
    List<Write<T>> all = new ArrayList<>(window.values());
    all.addAll(queue);
    for (Write<T> later : all.subList(all.indexOf(write), all.size())) {
      if (later.stream == stream) {
        giveUpOne(later, failure);
      }
    }
  }

  private void giveUpOne(Write<T> write, LeaseFsException failure) {
    if (!queue.remove(write) && !remove(write)) {
      return; // with an earlier one of its stream
    }
    if (boundary == write.sequence) {
      boundary = 0;
    }
    actions.add(new WriteAction.Failed<>(write.tag, failure));
  }

  private void failAll(LeaseFsException failure) {
    List<Write<T>> all = new ArrayList<>(window.values());
    all.addAll(queue);
    for (Write<T> write : all) {
      giveUp(write, failure);
    }
  }

  private boolean remove(Write<T> write) {
    boolean there = window.remove(write.sequence, write);
    if (there) {
      inFlightBytes -= write.length();
    }
    return there;
  }

  // what to do next --------------------------------------------------------------------------

  private List<WriteAction<T>> finish(long now) {
    if (resumePending && now >= resumeAt) {
      resumePending = false;
    }
    pump(now);
    List<WriteAction<T>> done = actions;
    actions = new ArrayList<>();
    return done;
  }

  private void pump(long now) {
    if (firstWaiting() == null || reopenAsked) {
      return;
    }
    if (resumePending) {
      askLayout();
      return;
    }
    if (chunk == null) {
      withoutChunk(now);
      return;
    }
    if (seal.isPresent() || sessionLost) {
      if (firstOutstanding() == null) {
        leave(now);
      } else {
        // Only what was sent here before is sent, to learn its fate.
        sendUnsent(now, true);
      }
    } else {
      fillWindow();
      sendUnsent(now, false);
    }
    askLayout();
  }

  /** An empty file: its first chunk, where there are bytes for it. */
  private void withoutChunk(long now) {
    completeSeals(Optional.empty(), now);
    if (firstWaiting() != null) {
      goOn(-1, Optional.empty());
    }
  }

  /** Nothing is outstanding here any more: on to the next chunk, or first to a new session. */
  private void leave(long now) {
    if (seal.isPresent()) {
      completeSeals(seal, now);
      if (firstWaiting() == null) {
        return;
      }
    }
    goOn(present().index(), seal);
  }

  /**
   * One question at a time: whoever opened the file anew while a chunk is being added would get the
   * answer to that in the midst of what it writes then, and would leave a chunk in which it has
   * something outstanding.
   */
  private void goOn(int after, Optional<ChunkSeal> by) {
    if (addAsked) {
      return;
    }
    if (sessionLost) {
      reopenAsked = true;
      actions.add(new WriteAction.Reopen<>());
    } else {
      addAsked = true;
      actions.add(new WriteAction.AddChunk<>(after, by));
    }
  }

  /** Pure seals at the head have what they want: the chunk is sealed, or there is none. */
  private void completeSeals(Optional<ChunkSeal> by, long now) {
    Write<T> first = firstWaiting();
    while (first != null && first.kind == MutationKind.SEAL) {
      if (!queue.remove(first)) {
        remove(first);
      }
      progressAt = now;
      complete(first, Optional.empty(), by);
      first = firstWaiting();
    }
  }

  private void fillWindow() {
    while (!queue.isEmpty() && boundary == 0) {
      Write<T> next = queue.peekFirst();
      long floor = window.isEmpty() ? nextSequence : window.keySet().iterator().next();
      boolean fits =
          nextSequence < floor + Frame.WINDOW
              && (window.isEmpty() || inFlightBytes + next.length() <= limits.inFlightBytes());
      if (!fits) {
        return;
      }
      queue.removeFirst();
      next.sequence = nextSequence++;
      next.toSend = true;
      window.put(next.sequence, next);
      inFlightBytes += next.length();
      place(next, queue.peekFirst());
    }
  }

  /** Counts the write as part of this chunk; the chunk ends with it where the next has no room. */
  private void place(Write<T> write, @Nullable Write<T> following) {
    long capacity = present().spec().capacityBytes();
    long tail = tailKnown + (sentCumulative - tailCumulative);
    long end = tail + write.length();
    boolean full =
        end == capacity
            || (following != null && end < capacity && end + following.length() > capacity);
    write.sealsHere = write.kind == MutationKind.APPEND && (write.endsChunk || full);
    sentCumulative += write.length();
    write.cumulative = sentCumulative;
    if (write.sealsHere || write.kind == MutationKind.SEAL || end > capacity) {
      boundary = write.sequence;
    }
  }

  private @Nullable Write<T> following(Write<T> write) {
    boolean found = false;
    for (Write<T> other : window.values()) {
      if (found) {
        return other;
      }
      found = other == write;
    }
    return queue.peekFirst();
  }

  private void sendUnsent(long now, boolean onlyOutstanding) {
    ServerAddress to = target;
    if (to == null) {
      layoutWanted = true;
      return;
    }
    boolean quiet = firstOutstanding() == null;
    long after = 0;
    for (Write<T> write : window.values()) {
      if (!write.outstanding && (onlyOutstanding || (boundary != 0 && write.sequence > boundary))) {
        continue;
      }
      if (write.toSend) {
        if (!write.outstanding && write.cumulative == 0) {
          place(write, following(write));
        }
        send(to, write, after);
        if (quiet) {
          heardAt = now;
          quiet = false;
        }
      }
      after = write.sequence;
    }
  }

  private void send(ServerAddress to, Write<T> write, long after) {
    ChunkLayout in = present();
    write.toSend = false;
    write.outstanding = true;
    write.unknown = true;
    if (write.underWay == 0) {
      write.oldestToken = token;
    }
    write.underWay++;
    write.sendings++;
    long floor = window.keySet().iterator().next();
    actions.add(
        new WriteAction.Send<>(
            to,
            new Frame(
                file,
                in.handle(),
                in.configuration().version(),
                token,
                session,
                write.sequence,
                floor,
                after,
                write.kind,
                0,
                write.sealsHere,
                write.checksums,
                write.payload,
                birth)));
  }

  private void askLayout() {
    if (!layoutWanted || layoutAsked || chunk == null) {
      return;
    }
    layoutWanted = false;
    layoutAsked = true;
    long wait = Math.min(MAX_WAIT_NANOS, FIRST_WAIT_NANOS << Math.min(10, layoutTries));
    layoutTries++;
    actions.add(
        new WriteAction.FetchLayout<>(chunk.handle(), chunk.configuration().version(), wait));
  }

  /** Throws where something holds that never may. For tests and the simulator. */
  public void invariant() {
    long bytes = 0;
    long last = 0;
    for (Write<T> write : window.values()) {
      check(write.sequence > last, "sequences out of order");
      last = write.sequence;
      bytes += write.length();
    }
    check(bytes == inFlightBytes, "bytes in flight");
    check(last < nextSequence, "next sequence");
    check(window.isEmpty() || last < window.keySet().iterator().next() + Frame.WINDOW, "window");
  }

  private void check(boolean holds, String what) {
    if (!holds) {
      throw new IllegalStateException(
          what + ": file " + file + " window " + window.keySet() + " next " + nextSequence);
    }
  }

  /** The whole state in one line, for traces. */
  @Override
  public String toString() {
    StringBuilder text = new StringBuilder();
    text.append("chunk=").append(chunkNow()).append(" seal=").append(seal);
    text.append(" target=").append(target).append(" session=").append(session);
    text.append(" boundary=").append(boundary).append(" queued=").append(queue.size());
    text.append(layoutAsked ? " layoutAsked" : "").append(layoutWanted ? " layoutWanted" : "");
    text.append(addAsked ? " addAsked" : "").append(reopenAsked ? " reopenAsked" : "");
    text.append(sessionLost ? " sessionLost" : "").append(resumePending ? " resuming" : "");
    text.append(" window=[");
    for (Write<T> write : window.values()) {
      text.append(' ').append(write.sequence);
      text.append(write.outstanding ? "o" : "").append(write.toSend ? "s" : "");
      text.append(write.underWay > 0 ? "u" + write.underWay : "");
    }
    return text.append(" ]").toString();
  }

  /** The chunk that is written now, if there is one. */
  public Optional<ChunkHandle> chunkNow() {
    return Optional.ofNullable(chunk).map(ChunkLayout::handle);
  }
}
