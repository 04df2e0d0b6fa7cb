package io.leasefs.cluster.simulation;

import io.leasefs.client.data.AsyncReader;
import io.leasefs.client.data.ChunkWrites;
import io.leasefs.client.edge.Futures;
import io.leasefs.client.meta.MasterRouter;
import io.leasefs.cluster.simulation.RawFile.Op;
import io.leasefs.common.api.ChunkApi.NamedAnswer;
import io.leasefs.common.api.ChunkApi.ReadMode;
import io.leasefs.common.api.FrameAnswer;
import io.leasefs.common.error.ErrorCode;
import io.leasefs.common.model.ChunkLayout;
import io.leasefs.common.model.FileLayout;
import io.leasefs.common.model.Location;
import io.leasefs.common.model.ServerAddress;
import java.nio.ByteBuffer;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Random;
import org.jspecify.annotations.Nullable;

/**
 * Reads files that are written to with mutations of all kinds, meanwhile and at rest; and asks, at
 * rest, what became of the operations of which nobody was told.
 */
final class RawReader implements ChunkWrites.Listener {
  private static final long MILLI = 1_000_000;
  private static final int MOST_BYTES = 1 << 17;
  private static final int MOST_CHUNKS = 1_000;

  private final EventLoop loop;
  private final Life life;
  private final Swarm swarm;
  private final MasterRouter router;
  private final AsyncReader.Source source;
  private final ChunkWrites streams;
  private final List<RawFile> files;
  private final Random random;
  private final Map<RawFile, AsyncReader> kept = new HashMap<>();
  private boolean finishing;

  // the operation that is asked for at rest
  private @Nullable Op audited;
  private @Nullable RawFile auditedIn;
  private @Nullable Runnable audits;

  /**
   * @param files of all clients
   * @param random a source of chance of its own
   */
  RawReader(
      EventLoop loop,
      Life life,
      Swarm swarm,
      MasterRouter router,
      AsyncReader.Source source,
      ChunkWrites streams,
      List<RawFile> files,
      Random random) {
    this.loop = loop;
    this.life = life;
    this.swarm = swarm;
    this.router = router;
    this.source = source;
    this.streams = streams;
    this.files = files;
    this.random = random;
  }

  /** Reads until it is told to stop. */
  void begin() {
    int pause = swarm.clocksInBound() ? 100 + random.nextInt(1_400) : 10 + random.nextInt(200);
    var _ = life.after(pause * MILLI, this::turn);
  }

  void finish() {
    finishing = true;
  }

  private void turn() {
    if (finishing) {
      return;
    }
    RawFile file = files.get(random.nextInt(files.size()));
    if (file.reach() == 0) {
      begin();
      return;
    }
    boolean strict = random.nextInt(4) == 0 || !swarm.clocksInBound();
    ReadMode mode = strict ? ReadMode.STRICT : ReadMode.DEFAULT;
    long from = random.nextInt(3) == 0 ? 0 : random.nextLong(file.reach());
    int most = random.nextInt(6) == 0 ? MOST_BYTES : MOST_BYTES / 8;
    ByteBuffer target = ByteBuffer.allocate(1 + random.nextInt(most));
    RawFile.Look look = file.look(mode + " read by " + life.host());
    // Where clocks are wrong all reads are strict: so are those of a reader that is kept.
    boolean keeps = mode == ReadMode.DEFAULT || !swarm.clocksInBound();
    AsyncReader reader = keeps && random.nextBoolean() ? kept.get(file) : null;
    if (reader != null) {
      read(reader, file, look, from, target);
      return;
    }
    Futures.onDone(
        AsyncReader.open(file.path(), source, mode),
        opened -> {
          if (keeps) {
            kept.put(file, opened);
          }
          read(opened, file, look, from, target);
        },
        failure -> begin());
  }

  private void read(
      AsyncReader reader, RawFile file, RawFile.Look look, long from, ByteBuffer target) {
    Futures.onDone(
        reader.read(from, target),
        count -> {
          file.saw(look, from, target.flip());
          begin();
        },
        failure -> begin());
  }

  // ---- at rest -----------------------------------------------------------------------------

  /** Once the file is closed: asks for what nobody was told, reads all, and has it checked. */
  void audit(RawFile file, Runnable done) {
    Futures.onDone(
        router.ask(
            "layout of " + file.path(), master -> master.layout(file.path(), 0, MOST_CHUNKS)),
        layout -> {
          if (layout.chunks().stream().allMatch(chunk -> chunk.seal().isPresent())) {
            askFor(file, layout, List.copyOf(file.toAudit()), 0, 0, done);
          } else {
            var _ = life.after(200 * MILLI, () -> audit(file, done));
          }
        },
        failure -> {
          var _ = life.after(200 * MILLI, () -> audit(file, done));
        });
  }

  /** One after the other; each at one member after another, until one answers. */
  private void askFor(
      RawFile file, FileLayout layout, List<Op> ops, int index, int tries, Runnable done) {
    if (index == ops.size()) {
      audited = null;
      readAll(file, done);
      return;
    }
    Op op = ops.get(index);
    Optional<ChunkLayout> in =
        layout.chunks().stream().filter(chunk -> chunk.handle().equals(op.chunk())).findFirst();
    if (in.isEmpty()) {
      loop.violated("I6", file.path() + " has lost the chunk of " + op);
      return;
    }
    List<Location> members = in.get().locations();
    if (members.isEmpty()) {
      var _ = life.after(200 * MILLI, () -> audit(file, done));
      return;
    }
    audited = op;
    auditedIn = file;
    audits = () -> askFor(file, layout, ops, index + 1, 0, done);
    ServerAddress to = members.get((index + tries) % members.size()).address();
    streams.send(to, op.abort(in.get()), this);
    var _ =
        life.after(
            500 * MILLI,
            () -> {
              if (op.equals(audited)) {
                if (tries < 4) {
                  askFor(file, layout, ops, index, tries + 1, done);
                } else {
                  audit(file, done);
                }
              }
            });
  }

  @Override
  public void answered(NamedAnswer named) {
    Op op = audited;
    RawFile file = auditedIn;
    Runnable next = audits;
    if (op == null || file == null || next == null || !op.isNamed(named)) {
      return;
    }
    switch (named.answer()) {
      case FrameAnswer.Applied applied -> file.applied(op, applied);
      case FrameAnswer.NotApplied() -> file.absent(op);
      case FrameAnswer.ChunkFull full -> file.absent(op);
      case FrameAnswer.Expired() -> {
        if (!op.isKnown()) {
          loop.violated("I9", op + " is told to be below the floor, and nobody had its answer");
        }
      }
      case FrameAnswer.OutOfOrder() -> {
        return;
      }
      case FrameAnswer.Refused refused -> {
        if (refused.code() != ErrorCode.OUTCOME_UNKNOWN) {
          return; // it is asked elsewhere, a moment later
        }
      }
    }
    audited = null;
    next.run();
  }

  @Override
  public void broken(ServerAddress server, boolean reset) {}

  private void readAll(RawFile file, Runnable done) {
    Futures.onDone(
        AsyncReader.open(file.path(), source, ReadMode.DEFAULT),
        reader -> readAll(reader, file, ByteBuffer.allocate((int) file.reach() + 1), done),
        failure -> {
          var _ = life.after(200 * MILLI, () -> readAll(file, done));
        });
  }

  private void readAll(AsyncReader reader, RawFile file, ByteBuffer target, Runnable done) {
    Futures.onDone(
        reader.read(target.position(), target),
        count -> {
          if (count > 0 && target.hasRemaining()) {
            readAll(reader, file, target, done);
          } else if (count > 0) {
            ByteBuffer larger = ByteBuffer.allocate(2 * target.capacity());
            readAll(reader, file, larger.put(target.flip()), done);
          } else {
            file.check(target.flip());
            done.run();
          }
        },
        failure -> {
          var _ = life.after(200 * MILLI, () -> readAll(file, done));
        });
  }
}
