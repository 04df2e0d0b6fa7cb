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
 * The ways of clients' data to and from this server, which can be cut: frames and their answers,
 * reads and their parts. What operators ask goes through, or nobody could heal the cut.
 */
public final class FaultyClients {
  private final Faults faults;
  private final Consumer<ByteBuffer> payloads;

  /**
   * @param payloads is told of the payload of every lost frame, to use it again
   */
  public FaultyClients(Faults faults, Consumer<ByteBuffer> payloads) {
    this.faults = faults;
    this.payloads = payloads;
  }

  /**
   * A client's stream of frames, through the cuts.
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
    private final CutLine line;
    private volatile @Nullable FrameStream stream;

    Frames(Consumer<NamedAnswer> answers, Consumer<String> broken) {
      this.answers = answers;
      this.line =
          new CutLine(
              faults,
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
      if (line.letsOut()) {
        answers.accept(answer);
      }
    }

    @Override
    public void send(Frame frame) {
      if (line.letsIn()) {
        stream().send(frame);
      } else {
        payloads.accept(frame.payload());
      }
    }

    @Override
    public boolean isReady() {
      return stream().isReady();
    }

    @Override
    public void onReady(Runnable task) {
      stream().onReady(task);
    }

    @Override
    public void close() {
      boolean _ = line.end();
      stream().close();
    }
  }

  /**
   * A client's read, through the cuts: once something is lost nothing more comes, and at the
   * healing it fails.
   *
   * @param serve reads into the sink that it is given
   */
  public CompletableFuture<ReadEnd> read(
      Sink<ReadPart> parts, Function<Sink<ReadPart>, CompletableFuture<ReadEnd>> serve) {
    CompletableFuture<ReadEnd> told = new CompletableFuture<>();
    CutLine line =
        new CutLine(
            faults,
            () -> Faults.CLIENTS,
            why -> told.completeExceptionally(new LeaseFsException(ErrorCode.UNREACHABLE, why)));
    if (!line.letsIn()) {
      return told;
    }
    var _ =
        serve
            .apply(new Parts(parts, line))
            .whenComplete(
                (end, failure) -> {
                  if (!line.letsOut()) {
                    return;
                  }
                  boolean _ = line.end();
                  if (failure != null) {
                    told.completeExceptionally(failure);
                  } else {
                    told.complete(end);
                  }
                });
    return told;
  }

  private record Parts(Sink<ReadPart> sink, CutLine line) implements Sink<ReadPart> {
    @Override
    public void accept(ReadPart part) {
      if (line.letsOut()) {
        sink.accept(part);
      }
    }

    @Override
    public boolean isReady() {
      return sink.isReady();
    }

    @Override
    public boolean isOpen() {
      return sink.isOpen();
    }

    @Override
    public void onReady(Runnable task) {
      sink.onReady(task);
    }
  }
}
