package io.leasefs.chunkserver.fault;

import io.leasefs.common.api.ChunkApi.FrameStream;
import io.leasefs.common.api.ChunkApi.NamedAnswer;
import io.leasefs.common.api.ChunkApi.ReadEnd;
import io.leasefs.common.api.ChunkApi.ReadPart;
import io.leasefs.common.api.ChunkApi.Sink;
import io.leasefs.common.api.Frame;
import io.leasefs.common.error.ErrorCode;
import io.leasefs.common.error.LeaseFsException;
import java.nio.ByteBuffer;
import java.util.concurrent.CompletableFuture;
import java.util.function.Consumer;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * The ways of clients' data to and from this server, which can be cut or long: frames and their
 * answers, reads and their parts. What operators ask goes through, or nobody could heal the cut.
 */
public final class FaultyClients {
  private final FaultyNetwork network;
  private final Consumer<ByteBuffer> payloads;

  /**
   * @param payloads is told of the payload of every lost frame, to use it again
   */
  public FaultyClients(FaultyNetwork network, Consumer<ByteBuffer> payloads) {
    this.network = network;
    this.payloads = payloads;
  }

  /**
   * A client's stream of frames, through the faults.
   *
   * @param broken told at the healing of a cut in which something was lost
   * @param open makes the server's side, given where answers go
   */
  public FrameStream frames(
      Consumer<NamedAnswer> answers,
      Consumer<String> broken,
      Function<Consumer<NamedAnswer>, FrameStream> open) {
    Frames frames = new Frames(answers, broken);
    frames.stream = open.apply(frames::answer);
    return frames;
  }

  private final class Frames implements FrameStream {
    private final Consumer<NamedAnswer> answers;
    private final Line line;
    private volatile @Nullable FrameStream stream;

    Frames(Consumer<NamedAnswer> answers, Consumer<String> broken) {
      this.answers = answers;
      this.line =
          network.line(
              () -> Faults.CLIENTS,
              why -> {
                stream().close();
                broken.accept(why);
              });
    }

    private FrameStream stream() {
      FrameStream made = stream;
      if (made == null) {
        throw new IllegalStateException("used before it was opened");
      }
      return made;
    }

    void answer(NamedAnswer answer) {
      line.send(0, () -> answers.accept(answer));
    }

    @Override
    public void send(Frame frame) {
      line.receive(
          frame.payload().remaining(),
          () -> stream().send(frame),
          () -> payloads.accept(frame.payload()));
    }

    @Override
    public boolean isReady() {
      return !line.in().isFull() && stream().isReady();
    }

    @Override
    public void onReady(Runnable task) {
      line.in().onDrained(task);
      stream().onReady(task);
    }

    @Override
    public void close() {
      boolean _ = line.end();
      stream().close();
    }
  }

  /**
   * A client's read, through the faults: once something is lost nothing more comes, and at the
   * healing it fails.
   *
   * @param serve reads into the sink that it is given
   */
  public CompletableFuture<ReadEnd> read(
      Sink<ReadPart> parts, Function<Sink<ReadPart>, CompletableFuture<ReadEnd>> serve) {
    CompletableFuture<ReadEnd> told = new CompletableFuture<>();
    Line line =
        network.line(
            () -> Faults.CLIENTS,
            why -> told.completeExceptionally(new LeaseFsException(ErrorCode.UNREACHABLE, why)));
    line.receive(
        0,
        () -> {
          var _ =
              serve
                  .apply(new Parts(parts, line))
                  .whenComplete(
                      (end, failure) -> line.send(0, () -> end(line, told, end, failure)));
        });
    return told;
  }

  private static void end(
      Line line,
      CompletableFuture<ReadEnd> told,
      @Nullable ReadEnd end,
      @Nullable Throwable failure) {
    boolean _ = line.end();
    if (end == null) {
      told.completeExceptionally(
          failure == null ? new IllegalStateException("a read ended with nothing") : failure);
    } else {
      told.complete(end);
    }
  }

  private record Parts(Sink<ReadPart> sink, Line line) implements Sink<ReadPart> {
    @Override
    public void accept(ReadPart part) {
      line.send(
          part.payload().remaining(),
          () -> sink.accept(part),
          () -> {
            // The producer uses its buffer again as soon as this returns.
            ByteBuffer payload = part.payload().duplicate();
            ByteBuffer copy = ByteBuffer.allocate(payload.remaining()).put(payload).flip();
            return () -> sink.accept(new ReadPart(part.offset(), part.checksums(), copy));
          });
    }

    @Override
    public boolean isReady() {
      return !line.out().isFull() && sink.isReady();
    }

    @Override
    public boolean isOpen() {
      return sink.isOpen();
    }

    @Override
    public void onReady(Runnable task) {
      line.out().onDrained(task);
      sink.onReady(task);
    }
  }
}
