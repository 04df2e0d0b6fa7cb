package io.leasefs.chunkserver;

import io.leasefs.chunkserver.pipeline.FlightBudget;
import io.leasefs.chunkserver.replica.ReplicaAction;
import io.leasefs.chunkserver.replica.ReplicaEvent;
import io.leasefs.common.api.ChunkApi.FrameStream;
import io.leasefs.common.api.ChunkApi.NamedAnswer;
import io.leasefs.common.api.Frame;
import io.leasefs.common.api.FrameAnswer;
import io.leasefs.common.error.ErrorCode;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.Executor;
import java.util.function.BooleanSupplier;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * One client's stream of frames. It is bounded: past its share of frames or bytes it says that it
 * is not ready, and who sends on all the same is refused, frame by frame. Any thread.
 */
final class ClientStream implements FrameStream {
  /** Frames without an answer, above which the stream is not ready. */
  static final int MAX_FRAMES = 128;

  /** Bytes of payload without an answer, above which the stream is not ready. */
  static final long MAX_BYTES = 16L << 20;

  /** Frames without an answer, above which frames are refused. */
  static final int MOST_FRAMES = 4 * MAX_FRAMES;

  /** A frame without an answer; by identity, for the same frame may be under way twice. */
  private static final class Pending {
    final Frame frame;
    @Nullable ReplicaLoop loop;
    long ticket;

    Pending(Frame frame) {
      this.frame = frame;
    }
  }

  private final ReplicaTable table;
  private final FlightBudget budget;
  private final BooleanSupplier takesMutations;
  private final Consumer<NamedAnswer> answers;

  /** Keeps the answers apart: the consumer takes one at a time. */
  private final Executor oneAtATime = new SerialExecutor(Runnable::run);

  /** Guarded by this: frames that a core decides about. */
  private final Set<Pending> atCores = new LinkedHashSet<>();

  /** Guarded by this. */
  private int frames;

  /** Guarded by this. */
  private long bytes;

  /** Guarded by this. */
  private boolean over;

  private volatile @Nullable Runnable listener;

  ClientStream(
      ReplicaTable table,
      FlightBudget budget,
      BooleanSupplier takesMutations,
      Consumer<NamedAnswer> answers) {
    this.table = table;
    this.budget = budget;
    this.takesMutations = takesMutations;
    this.answers = answers;
  }

  @Override
  public void send(Frame frame) {
    boolean refused;
    synchronized (this) {
      if (over) {
        return;
      }
      refused = frames >= MOST_FRAMES || budget.isOverrun();
      if (!refused) {
        frames++;
        bytes += frame.payload().remaining();
      }
    }
    if (refused) {
      answer(frame, refusal(ErrorCode.BUSY, "too many frames are under way"));
      return;
    }
    budget.take(frame.payload().remaining());
    table.stripe(frame.chunk()).execute(() -> arrived(new Pending(frame)));
  }

  /** On the chunk's executor. */
  private void arrived(Pending pending) {
    Frame frame = pending.frame;
    if (!takesMutations.getAsBoolean()) {
      settle(pending, refusal(ErrorCode.NOT_PRIMARY, "the server is stopping"));
      return;
    }
    if (!frame.checksums().match(frame.payload(), Frame.PIECE)) {
      settle(pending, refusal(ErrorCode.CORRUPT, "the payload does not match its checksums"));
      return;
    }
    ReplicaLoop loop = table.forFrame(frame);
    if (loop == null) {
      settle(pending, refusal(ErrorCode.NOT_PRIMARY, "chunk " + frame.chunk() + " is not here"));
      return;
    }
    loop.whenRoom(() -> takeIn(pending, loop));
  }

  /** On the chunk's executor. */
  private void takeIn(Pending pending, ReplicaLoop loop) {
    if (loop.isClosed()) {
      settle(pending, refusal(ErrorCode.NOT_PRIMARY, "the chunk is not here any more"));
      return;
    }
    long ticket = loop.admit(decision -> decided(pending, decision));
    pending.loop = loop;
    pending.ticket = ticket;
    boolean gone;
    synchronized (this) {
      gone = over;
      if (!gone) {
        atCores.add(pending);
      }
    }
    if (gone) {
      forget(pending);
      loop.drop(ticket);
    } else {
      loop.step(new ReplicaEvent.FrameArrived(ticket, pending.frame));
    }
  }

  /** On the chunk's executor. */
  private void decided(Pending pending, ReplicaAction decision) {
    boolean mine;
    synchronized (this) {
      mine = atCores.remove(pending);
    }
    if (mine) {
      settle(
          pending,
          decision instanceof ReplicaAction.Answer answer
              ? answer.answer()
              : refusal(ErrorCode.NOT_PRIMARY, "the chunk is not here any more"));
    }
  }

  private static FrameAnswer refusal(ErrorCode code, String message) {
    return new FrameAnswer.Refused(code, message);
  }

  private void settle(Pending pending, FrameAnswer answer) {
    answer(pending.frame, answer);
    forget(pending);
  }

  private void answer(Frame frame, FrameAnswer answer) {
    NamedAnswer named =
        new NamedAnswer(frame.chunk(), frame.session().value(), frame.sequence(), answer);
    oneAtATime.execute(
        () -> {
          if (!isOver()) {
            answers.accept(named);
          }
        });
  }

  private synchronized boolean isOver() {
    return over;
  }

  private void forget(Pending pending) {
    int length = pending.frame.payload().remaining();
    boolean reopened;
    synchronized (this) {
      boolean before = hasRoom();
      frames--;
      bytes -= length;
      reopened = !before && hasRoom();
    }
    budget.release(length);
    Runnable task = listener;
    if (reopened && task != null) {
      task.run();
    }
  }

  /** Under the lock. */
  private boolean hasRoom() {
    return frames < MAX_FRAMES && bytes < MAX_BYTES;
  }

  @Override
  public boolean isReady() {
    synchronized (this) {
      if (!hasRoom()) {
        return false;
      }
    }
    return budget.isOpen();
  }

  @Override
  public void onReady(Runnable task) {
    listener = task;
    budget.onOpen(task);
  }

  @Override
  public void close() {
    List<Pending> left;
    synchronized (this) {
      if (over) {
        return;
      }
      over = true;
      left = List.copyOf(atCores);
      atCores.clear();
    }
    Runnable task = listener;
    if (task != null) {
      budget.forget(task);
    }
    for (Pending pending : left) {
      forget(pending);
      ReplicaLoop loop = pending.loop;
      if (loop != null) {
        loop.between(() -> loop.drop(pending.ticket));
      }
    }
  }
}
