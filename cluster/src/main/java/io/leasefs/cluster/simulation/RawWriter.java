package io.leasefs.cluster.simulation;

import io.leasefs.client.data.ChunkWrites;
import io.leasefs.client.edge.Futures;
import io.leasefs.client.edge.Mailbox;
import io.leasefs.client.meta.MasterRouter;
import io.leasefs.cluster.simulation.RawFile.Op;
import io.leasefs.common.api.ChunkApi.NamedAnswer;
import io.leasefs.common.api.Frame;
import io.leasefs.common.api.FrameAnswer;
import io.leasefs.common.api.MasterApi.CreateFile;
import io.leasefs.common.api.MasterApi.OpenFile;
import io.leasefs.common.api.MutationKind;
import io.leasefs.common.error.ErrorCode;
import io.leasefs.common.error.LeaseFsException;
import io.leasefs.common.model.ChunkHandle;
import io.leasefs.common.model.ChunkLayout;
import io.leasefs.common.model.ChunkSeal;
import io.leasefs.common.model.FileStatus;
import io.leasefs.common.model.LeaseGrant;
import io.leasefs.common.model.Location;
import io.leasefs.common.model.ServerAddress;
import io.leasefs.common.model.SessionId;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Random;
import java.util.TreeMap;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * A client that sends mutations of all kinds, which the production client does not: APPEND, WRITE,
 * TRUNCATE and SEAL, and ABORT of its own. Several are outstanding at once, and each is asked for
 * until there is a definite answer: at whichever primary there is, or at any member of a sealed
 * chunk. Then the file goes on in the next chunk, or is opened anew.
 *
 * <p>What has its answer is often asked for once more, as a late frame or by an ABORT; until that
 * is answered, too, the floor stays below it. To abort an operation all that follow it are aborted
 * first, the last one first; or it alone is.
 *
 * <p>Where the chunk may have been sealed and opened again, nothing is written below what it had
 * then: those bytes never change (protocol, section 8).
 */
final class RawWriter implements ChunkWrites.Listener {
  private static final long MILLI = 1_000_000;
  private static final long SILENT_NANOS = 1_000 * MILLI;
  private static final long MOST_WAIT_NANOS = 1_000 * MILLI;
  private static final int BLOCK = 1 << 16;
  private static final int FEW_BYTES = 64;
  private static final int SOME_BYTES = 4_096;

  private record Name(long session, long sequence) {}

  /** An operation that waits for an answer, or for one more. */
  private static final class Ask {
    private final Op op;

    /** Left by an earlier process. */
    private final boolean inherited;

    private boolean sent;

    /** It is to be aborted. */
    private boolean aborting;

    /** No frame of it is sent before it is aborted. */
    private boolean abortedFirst;

    /** Under which sequence its ABORT goes; 0: under its own. */
    private long abortName;

    private boolean abortSent;

    private boolean answered;

    /** How often it is asked for once more. */
    private int again;

    private long dueAt;

    Ask(Op op, boolean inherited) {
      this.op = op;
      this.inherited = inherited;
    }

    boolean waits() {
      return !answered;
    }

    boolean isUnderWay() {
      return !answered && (sent || abortSent);
    }
  }

  private final EventLoop loop;
  private final Life life;
  private final Swarm swarm;
  private final MasterRouter router;
  private final Consumer<SessionId> seen;
  private final ChunkWrites streams;
  private final RawFile file;
  private final Random random;
  private final Mailbox mailbox = new Mailbox();
  private final int width;

  /** By sequence: what keeps the floor down. */
  private final TreeMap<Long, Ask> window = new TreeMap<>();

  /** Everything that was ever asked, by the name of its frame: late answers must agree, too. */
  private final Map<Name, Ask> names = new HashMap<>();

  private final List<Ask> inherited = new ArrayList<>();
  private final List<Long> openings = new ArrayList<>();

  private @Nullable FileStatus status;
  private SessionId session = new SessionId(0);
  private long nextSequence = 1;
  private @Nullable ChunkLayout chunk;
  private Optional<LeaseGrant> birth = Optional.empty();
  private Optional<ChunkSeal> seal = Optional.empty();
  private @Nullable ServerAddress target;
  private int memberTurn;

  /** Nothing is written below; -1: not known yet. */
  private long base = -1;

  private long knownLength;
  private long knownSerial;

  private boolean asksMaster;
  private boolean layoutAsked;
  private boolean layoutWanted;
  private int layoutTries;
  private boolean refusedForEver;
  private boolean sessionLost;
  private boolean opensAgain;
  private boolean finishing;
  private boolean closed;
  private long heardAt;

  /**
   * @param seen told of each session that the master has named
   * @param random a source of chance of its own
   */
  RawWriter(
      EventLoop loop,
      Life life,
      Swarm swarm,
      MasterRouter router,
      Consumer<SessionId> seen,
      ChunkWrites streams,
      RawFile file,
      Random random) {
    this.loop = loop;
    this.life = life;
    this.swarm = swarm;
    this.router = router;
    this.seen = seen;
    this.streams = streams;
    this.file = file;
    this.random = random;
    this.width = 1 + random.nextInt(8);
    for (Op op : file.unknown()) {
      Ask ask = new Ask(op, true);
      ask.sent = true;
      inherited.add(ask);
      names.put(new Name(op.session().value(), op.sequence()), ask);
    }
  }

  /** Begins, and goes on until it is told to finish. */
  void begin() {
    run(this::turn);
  }

  /** What it has begun gets its answers, and then the file is closed. */
  void finish() {
    run(() -> finishing = true);
  }

  boolean isDone() {
    return closed;
  }

  /** The chunk that it writes to, or asks. */
  Optional<ChunkHandle> chunk() {
    return Optional.ofNullable(chunk).map(ChunkLayout::handle);
  }

  /** The master says that a session has ended. */
  void sessionEnded(SessionId ended) {
    run(() -> sessionLost |= ended.equals(session));
  }

  /** One task at a time, also where one is stopped in the middle. */
  private void run(Runnable task) {
    mailbox.run(
        () -> {
          try {
            task.run();
          } catch (RuntimeException bug) {
            loop.violated("BUG", this + ": " + bug + " at " + List.of(bug.getStackTrace()));
          }
        });
  }

  // ---- a turn ------------------------------------------------------------------------------

  private void turn() {
    if (closed) {
      return;
    }
    if (!asksMaster) {
      if (status == null || chunk == null) {
        open();
      } else {
        work();
      }
    }
    long pause = (30 + random.nextInt(150)) * MILLI;
    var _ = life.after(pause, () -> run(this::turn));
  }

  private void work() {
    tellSilence();
    if (target == null) {
      layoutWanted = true;
    } else {
      for (int i = random.nextInt(3); i >= 0 && mayBegin(); i--) {
        submit();
      }
      maybeAbort();
      askDue();
    }
    askLayout();
    leave();
  }

  private long floor() {
    return window.isEmpty() ? nextSequence : window.firstKey();
  }

  private boolean waits() {
    return window.values().stream().anyMatch(Ask::waits);
  }

  private boolean mayBegin() {
    return !finishing
        && !sessionLost
        && seal.isEmpty()
        && window.values().stream().noneMatch(ask -> ask.waits() && ask.aborting)
        && window.values().stream().filter(Ask::waits).count() < width
        && nextSequence + 2 < floor() + Frame.WINDOW;
  }

  private void submit() {
    ChunkLayout in = present();
    MutationKind kind = MutationKind.APPEND;
    if (base >= 0) {
      int drawn = random.nextInt(100);
      kind =
          drawn < 38
              ? MutationKind.APPEND
              : drawn < 84
                  ? MutationKind.WRITE
                  : drawn < 98 ? MutationKind.TRUNCATE : MutationKind.SEAL;
    }
    long offset = 0;
    int length = 0;
    switch (kind) {
      case APPEND -> length = length();
      case WRITE -> {
        offset = position();
        length = (int) Math.min(length(), in.spec().capacityBytes() - offset);
      }
      case TRUNCATE -> offset = random.nextInt(3) == 0 ? position() : nearTheEnd();
      default -> {}
    }
    boolean seals = kind != MutationKind.SEAL && random.nextInt(80) == 0;
    Op op = file.submit(kind, in, session, nextSequence++, offset, length, seals);
    Ask ask = new Ask(op, false);
    window.put(op.sequence(), ask);
    names.put(new Name(session.value(), op.sequence()), ask);
    if (random.nextInt(25) == 0) {
      ask.aborting = true;
      ask.abortedFirst = true;
      nameAbort(ask);
    }
  }

  private int length() {
    return switch (random.nextInt(30)) {
      case 0 -> random.nextInt(2 * BLOCK + BLOCK / 2);
      case 1, 2, 3, 4, 5, 6, 7, 8, 9, 10 -> 1 + random.nextInt(FEW_BYTES);
      default -> random.nextInt(SOME_BYTES);
    };
  }

  private long position() {
    long room = Math.max(0, knownLength - base);
    if (room == 0) {
      return base;
    }
    return switch (random.nextInt(4)) {
      case 0 -> nearTheEnd();
      case 1 -> {
        long edge = (base + random.nextLong(room)) / BLOCK * BLOCK + random.nextInt(9) - 4;
        yield Math.max(base, Math.min(knownLength, edge));
      }
      default -> base + random.nextLong(room + 1);
    };
  }

  private long nearTheEnd() {
    return Math.max(base, knownLength - random.nextInt(2 * SOME_BYTES));
  }

  /** Now and then one that waits is given up; most of the time those that follow it, first. */
  private void maybeAbort() {
    if (seal.isPresent() || sessionLost || random.nextInt(8) > 0) {
      return;
    }
    List<Ask> waiting = window.values().stream().filter(Ask::waits).toList();
    if (waiting.isEmpty()) {
      return;
    }
    Ask chosen = waiting.get(random.nextInt(waiting.size()));
    boolean alone = random.nextInt(3) == 0;
    for (Ask ask : waiting) {
      if (ask.equals(chosen) || (!alone && ask.op.sequence() > chosen.op.sequence())) {
        ask.aborting = true;
        nameAbort(ask);
      }
    }
  }

  /** Half of the time an ABORT has a sequence of its own. */
  private void nameAbort(Ask ask) {
    if (!ask.inherited && random.nextBoolean() && nextSequence + 1 < floor() + Frame.WINDOW) {
      ask.abortName = nextSequence++;
      names.put(new Name(session.value(), ask.abortName), ask);
    }
  }

  // ---- asking ------------------------------------------------------------------------------

  private void askDue() {
    long now = life.nanos();
    List<Ask> due = new ArrayList<>();
    for (Ask ask : window.values()) {
      if (now >= ask.dueAt && (ask.waits() || (ask.again > 0 && seal.isEmpty() && !sessionLost))) {
        due.add(ask);
      }
    }
    if (!sessionLost && seal.isEmpty() && !inherited.isEmpty() && random.nextInt(3) == 0) {
      due.add(inherited.get(random.nextInt(inherited.size())));
    }
    for (Ask ask : due) {
      send(ask, now);
    }
  }

  private void send(Ask ask, long now) {
    ServerAddress to = target;
    if (to == null || !ask.op.chunk().equals(present().handle())) {
      return;
    }
    if (window.values().stream().noneMatch(Ask::isUnderWay)) {
      heardAt = now;
    }
    ask.dueAt = now + (300 + random.nextInt(700)) * MILLI;
    streams.send(to, asksByAbort(ask) ? abort(ask) : frame(ask), this);
  }

  private boolean asksByAbort(Ask ask) {
    if (ask.inherited) {
      boolean appends = ask.op.kind() == MutationKind.APPEND;
      return !(appends || (base >= 0 && ask.op.offset() >= base)) || random.nextBoolean();
    }
    if (ask.waits() && ask.aborting) {
      return isNextToAbort(ask) && (ask.abortedFirst || random.nextInt(4) > 0);
    }
    if (ask.waits() && ask.abortedFirst) {
      return true;
    }
    return !ask.waits() && random.nextInt(3) == 0;
  }

  private boolean isNextToAbort(Ask ask) {
    if (ask.abortedFirst) {
      return true;
    }
    return window.tailMap(ask.op.sequence(), false).values().stream()
        .noneMatch(later -> later.waits() && later.aborting);
  }

  private Frame frame(Ask ask) {
    ask.sent = true;
    long floor = ask.inherited ? ask.op.floorSent() : floor();
    long after = ask.inherited ? ask.op.anyAfter() : after(ask);
    return ask.op.frame(file, present(), floor, after, birth);
  }

  /** The nearest one below that waits for its answer; sometimes none. */
  private long after(Ask ask) {
    if (ask.op.sequence() % 4 == 0) {
      return 0;
    }
    Map.Entry<Long, Ask> below = window.lowerEntry(ask.op.sequence());
    while (below != null) {
      if (below.getValue().waits() && below.getValue().sent) {
        return below.getKey();
      }
      below = window.lowerEntry(below.getKey());
    }
    return 0;
  }

  private Frame abort(Ask ask) {
    ask.abortSent = true;
    ChunkLayout in = present();
    long name = ask.abortName == 0 ? ask.op.sequence() : ask.abortName;
    return ask.op.abort(file, in, name, ask.inherited ? ask.op.floorSent() : floor(), birth);
  }

  // ---- answers -----------------------------------------------------------------------------

  @Override
  public void answered(NamedAnswer named) {
    run(() -> take(named));
  }

  private void take(NamedAnswer named) {
    Ask ask = names.get(new Name(named.session(), named.sequence()));
    if (ask == null || !ask.op.chunk().equals(named.chunk())) {
      return;
    }
    boolean here = chunk != null && chunk.handle().equals(named.chunk());
    if (here) {
      heardAt = life.nanos();
    }
    switch (named.answer()) {
      case FrameAnswer.Applied applied -> {
        file.applied(ask.op, applied);
        if (here) {
          learn(ask, applied);
          applied.seal().ifPresent(this::sealed);
        }
        definite(ask);
      }
      case FrameAnswer.NotApplied() -> {
        file.absent(ask.op);
        if (here && !ask.abortSent && seal.isEmpty() && !ask.inherited) {
          refusedForEver = true; // the chunk is sealed, or our session is dead there
          target = null;
          layoutTries = Math.max(layoutTries, 4);
          layoutWanted = true;
        }
        definite(ask);
      }
      case FrameAnswer.ChunkFull full -> {
        file.absent(ask.op);
        if (here) {
          sealed(full.seal());
        }
        definite(ask);
      }
      case FrameAnswer.OutOfOrder() -> {
        ask.dueAt = 0;
        window.headMap(ask.op.sequence()).values().stream()
            .filter(Ask::waits)
            .forEach(lower -> lower.dueAt = 0);
      }
      case FrameAnswer.Expired() -> {
        if (!ask.op.isKnown()) {
          loop.violated("I9", ask.op + " is told to be below the floor, and waits for its answer");
        }
      }
      case FrameAnswer.Refused refused -> refused(ask, refused, here);
    }
  }

  private void learn(Ask ask, FrameAnswer.Applied applied) {
    Op op = ask.op;
    birth = Optional.empty();
    layoutTries = 0;
    if (ask.inherited || ask.answered) {
      return; // it may be from before the chunk was opened again
    }
    if (base < 0 && op.kind() == MutationKind.APPEND) {
      base = applied.offset();
    }
    long end = applied.offset() + op.length();
    if (applied.serial() > knownSerial) {
      knownSerial = applied.serial();
      knownLength =
          switch (op.kind()) {
            case APPEND -> end;
            case WRITE -> Math.max(knownLength, end);
            case TRUNCATE -> applied.offset();
            default -> knownLength;
          };
    }
  }

  private void sealed(ChunkSeal by) {
    if (seal.isEmpty()) {
      seal = Optional.of(by);
    }
  }

  private void definite(Ask ask) {
    if (ask.inherited) {
      inherited.remove(ask);
    } else if (!ask.answered) {
      ask.answered = true;
      ask.aborting = false;
      boolean often = !ask.op.isApplied();
      ask.again = random.nextInt(3) < (often ? 2 : 1) ? 1 + random.nextInt(3) : 0;
      later(ask);
    } else if (ask.again > 0) {
      ask.again--;
      later(ask);
    }
    if (ask.answered && ask.again == 0) {
      window.remove(ask.op.sequence(), ask);
    }
  }

  private void later(Ask ask) {
    int most = random.nextInt(4) == 0 ? 3_000 : 300;
    ask.dueAt = life.nanos() + random.nextInt(most) * MILLI;
  }

  private void refused(Ask ask, FrameAnswer.Refused refused, boolean here) {
    if (!here) {
      return;
    }
    switch (refused.code()) {
      case NOT_PRIMARY, STALE_VERSION, NOT_FOUND -> {
        ask.dueAt = life.nanos() + random.nextInt(50) * MILLI;
        if (seal.isPresent()) {
          nextMember();
        } else {
          target = null;
        }
        layoutWanted = true;
      }
      case UNKNOWN_SESSION -> sessionLost = true;
      case OUTCOME_UNKNOWN -> {
        // The chunk has forgotten the session, and takes nothing more in it.
        if (!ask.inherited) {
          sessionLost = true;
          window.remove(ask.op.sequence(), ask);
        }
        inherited.remove(ask);
      }
      case INVALID_ARGUMENT -> {
        boolean leavesGap =
            ask.op.kind() == MutationKind.WRITE || ask.op.kind() == MutationKind.TRUNCATE;
        if (!leavesGap || ask.answered || refused.message().contains("another mutation")) {
          loop.violated("I9", ask.op + " is refused: " + refused);
        }
        if (!ask.aborting && !ask.inherited) {
          ask.aborting = true;
          ask.dueAt = 0;
          nameAbort(ask);
        }
      }
      default -> ask.dueAt = life.nanos() + random.nextInt(300) * MILLI;
    }
  }

  // ---- where to ask ------------------------------------------------------------------------

  private ChunkLayout present() {
    if (chunk == null) {
      throw new IllegalStateException("no chunk");
    }
    return chunk;
  }

  @Override
  public void broken(ServerAddress server, boolean reset) {
    run(
        () -> {
          if (closed || chunk == null || !server.equals(target)) {
            return;
          }
          window.values().stream().filter(Ask::waits).forEach(ask -> ask.dueAt = 0);
          if (seal.isPresent()) {
            nextMember();
          } else if (waits()) {
            reportSilent(reset);
            target = null;
            layoutWanted = true;
          }
        });
  }

  private void tellSilence() {
    long now = life.nanos();
    if (now < heardAt + SILENT_NANOS || window.values().stream().noneMatch(Ask::isUnderWay)) {
      return;
    }
    heardAt = now;
    if (seal.isPresent()) {
      nextMember();
    } else {
      reportSilent(false);
      layoutWanted = true;
    }
  }

  private void reportSilent(boolean reset) {
    if (swarm.writesOn()) {
      ChunkLayout silent = present();
      Futures.ignore(
          router.ask(
              file.path() + ": report of a silent primary",
              master ->
                  master.reportSilent(silent.handle(), silent.configuration().version(), reset)));
    }
  }

  private void nextMember() {
    List<Location> locations = present().locations();
    if (locations.isEmpty()) {
      target = null;
      layoutWanted = true;
    } else {
      target = locations.get(Math.floorMod(memberTurn++, locations.size())).address();
    }
  }

  private void askLayout() {
    if (!layoutWanted || layoutAsked) {
      return;
    }
    layoutWanted = false;
    layoutAsked = true;
    ChunkLayout known = present();
    long wait = Math.min(MOST_WAIT_NANOS, (50 * MILLI) << Math.min(5, layoutTries++));
    Futures.onDone(
        router.ask(
            file.path() + ": layout",
            wait,
            master -> master.chunkLayout(known.handle(), known.configuration().version(), wait)),
        layout -> run(() -> layoutArrived(layout)),
        failure ->
            run(
                () -> {
                  layoutAsked = false;
                  layoutWanted = true;
                }));
  }

  private void layoutArrived(ChunkLayout layout) {
    layoutAsked = false;
    ChunkLayout before = present();
    if (!before.handle().equals(layout.handle())
        || layout.configuration().version() < before.configuration().version()) {
      return;
    }
    boolean wasSealed = seal.isPresent();
    boolean newer = layout.configuration().version() > before.configuration().version();
    chunk = layout;
    if (layout.seal().isPresent()) {
      seal = layout.seal();
    }
    if (seal.isPresent()) {
      if (!wasSealed || target == null) {
        nextMember();
      }
    } else {
      sessionLost |= refusedForEver;
      refusedForEver = false;
      target = layout.primary().map(Location::address).orElse(null);
      layoutWanted |= target == null;
    }
    if (newer) {
      birth = Optional.empty();
      layoutTries = 0;
      window.values().stream().filter(Ask::waits).forEach(ask -> ask.dueAt = 0);
    }
  }

  // ---- from chunk to chunk -----------------------------------------------------------------

  /** Once all has its definite answer, the file goes on elsewhere, or is closed. */
  private void leave() {
    boolean leaves = seal.isPresent() || sessionLost || finishing;
    if (!leaves || waits()) {
      return;
    }
    window.clear();
    if (finishing) {
      close();
    } else if (sessionLost || opensAgain || random.nextBoolean()) {
      open();
    } else {
      addChunk();
    }
  }

  private void open() {
    asksMaster = true;
    Futures.onDone(
        router.change(
            "open " + file.path(), (master, id) -> master.openForWrite(id, file.path(), 0)),
        open -> run(() -> opened(open, false)),
        missing -> {
          if (missing.code() == ErrorCode.NOT_FOUND && !file.isMade()) {
            create();
          } else {
            run(() -> notDone("open", missing));
          }
        });
  }

  private void create() {
    CreateFile request =
        new CreateFile(
            file.path(), true, swarm.replication(), 1 << 20, swarm.durability(), 0644, true);
    Futures.onDone(
        router.change("create " + file.path(), (master, id) -> master.create(id, request)),
        open -> run(() -> opened(open, true)),
        failure -> run(() -> notDone("create", failure)));
  }

  private void opened(OpenFile open, boolean isNew) {
    file.isThere();
    seen.accept(open.session());
    if (!open.session().equals(session)) {
      openings.clear();
      session = open.session();
    }
    openings.add(open.openNumber());
    sessionLost = false;
    opensAgain = false;
    status = open.status();
    asksMaster = false;
    loop.note(life.host() + " writes all kinds to " + file.path());
    if (open.last().isPresent()) {
      enter(open.last().get(), open.birth(), isNew);
    } else {
      addChunk();
    }
  }

  /**
   * @param isNew nobody has ever written to it
   */
  private void enter(ChunkLayout layout, Optional<LeaseGrant> newBirth, boolean isNew) {
    chunk = layout;
    birth = newBirth;
    seal = layout.seal();
    base = isNew ? 0 : -1;
    knownLength = 0;
    knownSerial = 0;
    layoutTries = 0;
    refusedForEver = false;
    layoutWanted = false;
    target = layout.primary().map(Location::address).orElse(null);
    heardAt = life.nanos();
    if (seal.isPresent()) {
      nextMember();
    }
  }

  private void addChunk() {
    ChunkLayout last = chunk;
    FileStatus of = status;
    if (of == null) {
      throw new IllegalStateException("not open");
    }
    asksMaster = true;
    int index = last == null ? -1 : last.index();
    Optional<ChunkSeal> by = last == null ? Optional.empty() : seal;
    Futures.onDone(
        router.change(
            file.path() + ": next chunk", (master, id) -> master.addChunk(id, of.id(), index, by)),
        added ->
            run(
                () -> {
                  asksMaster = false;
                  enter(added.layout(), added.birth(), added.birth().isPresent());
                }),
        failure ->
            run(
                () -> {
                  opensAgain |= failure.code() == ErrorCode.STALE_VERSION;
                  notDone("go on with", failure);
                }));
  }

  private void notDone(String what, LeaseFsException failure) {
    loop.note(life.host() + " cannot " + what + " " + file.path() + ": " + failure);
    sessionLost |= failure.code() == ErrorCode.UNKNOWN_SESSION;
    var _ = life.after(200 * MILLI, () -> run(() -> asksMaster = false));
  }

  private void close() {
    FileStatus of = status;
    if (sessionLost || openings.isEmpty() || of == null) {
      closed = true;
      return;
    }
    asksMaster = true;
    long opening = openings.getFirst();
    Futures.onDone(
        router.change(
            "close " + file.path(),
            (master, id) ->
                master.close(id, of.id(), opening, Optional.empty(), Optional.empty(), false)),
        done ->
            run(
                () -> {
                  asksMaster = false;
                  openings.remove(opening);
                }),
        failure -> run(() -> notDone("close", failure)));
  }

  @Override
  public String toString() {
    StringBuilder text = new StringBuilder(file.toString());
    text.append(" session=").append(session).append(" target=").append(target);
    text.append(asksMaster ? " asksMaster" : "").append(layoutAsked ? " layoutAsked" : "");
    text.append(sessionLost ? " sessionLost" : "").append(" seal=").append(seal);
    text.append(" chunk=").append(chunk().map(ChunkHandle::toString).orElse("none"));
    for (Ask ask : window.values()) {
      text.append("; ").append(ask.op).append(ask.waits() ? " waits" : "");
      text.append(ask.aborting ? " aborting" : "").append(" due=").append(ask.dueAt);
    }
    return text.toString();
  }
}
