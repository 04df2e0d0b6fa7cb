package io.leasefs.cluster.simulation;

import io.leasefs.common.api.ChunkApi;
import io.leasefs.common.api.Frame;
import io.leasefs.common.api.Mutation;
import io.leasefs.common.api.PeerMessage;
import io.leasefs.common.error.ErrorCode;
import io.leasefs.common.error.LeaseFsException;
import io.leasefs.common.model.ChunkHandle;
import io.leasefs.common.model.ClusterEvent;
import io.leasefs.common.model.ServerAddress;
import io.leasefs.common.model.ServerId;
import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.function.BiFunction;
import java.util.function.BooleanSupplier;
import java.util.function.Consumer;

/** A chunkserver as another host sees it: every call and stream goes over the wires. */
final class FarChunkServer implements ChunkApi {
  private static final long CALL_NANOS = 5_000_000_000L;

  private final Wires wires;
  private final Life from;
  private final ServerAddress address;
  private final Watch watch;
  private final BooleanSupplier refusesRead;

  FarChunkServer(Wires wires, Life from, ServerAddress address, Watch watch) {
    this(wires, from, address, watch, () -> false);
  }

  /**
   * @param refusesRead asked at each read: it does not come through, so another server is asked
   */
  FarChunkServer(
      Wires wires, Life from, ServerAddress address, Watch watch, BooleanSupplier refusesRead) {
    this.refusesRead = refusesRead;
    this.wires = wires;
    this.from = from;
    this.address = address;
    this.watch = watch;
  }

  @Override
  public FrameStream mutate(Consumer<NamedAnswer> answers, Consumer<String> broken) {
    ServerId server = new ServerId(address.host());
    Wires.Stream<FrameStream> stream =
        wires.open(
            from,
            address,
            ChunkApi.class,
            "frames",
            broken::accept,
            line ->
                chunks -> {
                  FrameStream end =
                      chunks.mutate(
                          answer -> {
                            if (wires.isEnding()) {
                              return;
                            }
                            watch.acknowledges(server, answer);
                            line.up(
                                answer.answer().getClass().getSimpleName(),
                                () -> answers.accept(answer));
                          },
                          line::cut);
                  return new Wires.Accepted<>(end, end::close);
                });
    return new FrameStream() {
      @Override
      public void send(Frame frame) {
        stream.send(
            Wires.FRAME,
            end -> {
              watch.arrives(frame);
              end.send(received(frame));
            });
      }

      @Override
      public boolean isReady() {
        return true;
      }

      @Override
      public void onReady(Runnable task) {}

      @Override
      public void close() {
        stream.line().close();
      }
    };
  }

  /** A receiver has a buffer of its own. */
  private static Frame received(Frame frame) {
    return new Frame(
        frame.file(),
        frame.chunk(),
        frame.version(),
        frame.token(),
        frame.session(),
        frame.sequence(),
        frame.floor(),
        frame.after(),
        frame.kind(),
        frame.offset(),
        frame.seals(),
        frame.checksums(),
        copy(frame.payload()),
        frame.birth());
  }

  private static ByteBuffer copy(ByteBuffer payload) {
    if (payload.hasArray()) {
      // Nothing is filled with zeros first.
      int from = payload.arrayOffset() + payload.position();
      return ByteBuffer.wrap(Arrays.copyOfRange(payload.array(), from, from + payload.remaining()));
    }
    ByteBuffer copy = ByteBuffer.allocate(payload.remaining());
    copy.put(payload.duplicate());
    return copy.flip();
  }

  private static PeerMessage received(PeerMessage message) {
    if (message instanceof PeerMessage.Forward forward) {
      return new PeerMessage.Forward(
          forward.spec(), forward.chain(), forward.committedSerial(), received(forward.mutation()));
    }
    if (message instanceof PeerMessage.Recovery recovery) {
      return new PeerMessage.Recovery(
          recovery.chunk(), recovery.version(), recovery.seed(), received(recovery.mutation()));
    }
    return message;
  }

  private static Mutation received(Mutation mutation) {
    return new Mutation(
        mutation.version(),
        mutation.serial(),
        mutation.kind(),
        mutation.offset(),
        mutation.file(),
        mutation.session(),
        mutation.sequence(),
        mutation.floor(),
        mutation.chunkLength(),
        mutation.detail(),
        mutation.checksums(),
        copy(mutation.payload()),
        mutation.payloadBytes());
  }

  @Override
  public PeerStream peer(Consumer<PeerMessage> answers, Consumer<String> broken) {
    Wires.Stream<PeerStream> stream =
        wires.open(
            from,
            address,
            ChunkApi.class,
            "peer",
            broken::accept,
            line ->
                chunks -> {
                  PeerStream end =
                      chunks.peer(
                          answer ->
                              line.up(
                                  answer.getClass().getSimpleName(), () -> answers.accept(answer)),
                          line::cut);
                  return new Wires.Accepted<>(end, end::close);
                });
    return new PeerStream() {
      @Override
      public void introduce(ServerId sender, Map<ServerId, ServerAddress> listening) {
        stream.send("introduction", end -> end.introduce(sender, listening));
      }

      @Override
      public void send(PeerMessage message) {
        PeerMessage sent = received(message);
        stream.send(sent.getClass().getSimpleName(), end -> end.send(sent));
      }

      @Override
      public boolean isReady() {
        return true;
      }

      @Override
      public void onReady(Runnable task) {}

      @Override
      public void close() {
        stream.line().close();
      }
    };
  }

  @Override
  public CompletableFuture<ReadEnd> read(ReadRequest request, Sink<ReadPart> parts) {
    if (refusesRead.getAsBoolean()) {
      return CompletableFuture.failedFuture(
          new LeaseFsException(ErrorCode.UNREACHABLE, address + ": takes no more reads"));
    }
    return fetch(
        "read",
        (chunks, sink) -> chunks.read(request, sink),
        part -> new ReadPart(part.offset(), part.checksums(), copy(part.payload())),
        parts);
  }

  @Override
  public CompletableFuture<CopyEnd> copy(CopyRequest request, Sink<CopyPart> parts) {
    return fetch(
        "copy",
        (chunks, sink) -> chunks.copy(request, sink),
        part -> new CopyPart(part.image(), part.offset(), part.checksums(), copy(part.payload())),
        parts);
  }

  /** Parts and then an end; a stream that breaks is a failure. */
  private <P, T> CompletableFuture<T> fetch(
      String what,
      BiFunction<ChunkApi, Sink<P>, CompletableFuture<T>> asks,
      java.util.function.UnaryOperator<P> received,
      Sink<P> parts) {
    CompletableFuture<T> result = new CompletableFuture<>();
    var _ =
        wires.open(
            from,
            address,
            ChunkApi.class,
            what,
            why -> {
              var _ =
                  result.completeExceptionally(
                      new LeaseFsException(ErrorCode.UNREACHABLE, address + ": " + why));
            },
            line ->
                chunks -> {
                  var _ =
                      asks.apply(chunks, new WireSink<>(line, received, parts))
                          .whenComplete((end, failure) -> finish(line, what, end, failure, result));
                  return new Wires.Accepted<>(what, () -> {});
                });
    return result;
  }

  private static <T> void finish(
      Wires.Line line, String what, T end, Throwable failure, CompletableFuture<T> result) {
    if (failure == null) {
      line.up(
          "end of " + what,
          () -> {
            line.done();
            var _ = result.complete(end);
          });
      return;
    }
    Throwable cause =
        failure instanceof CompletionException && failure.getCause() != null
            ? failure.getCause()
            : failure;
    line.up(
        "failure of " + what,
        () -> {
          line.done();
          var _ = result.completeExceptionally(cause);
        });
  }

  private record WireSink<P>(
      Wires.Line line, java.util.function.UnaryOperator<P> received, Sink<P> parts)
      implements Sink<P> {
    @Override
    public void accept(P part) {
      P sent = received.apply(part);
      line.up("part", () -> parts.accept(sent));
    }

    @Override
    public boolean isOpen() {
      return !line.isEnded();
    }
  }

  @Override
  public CompletableFuture<ReplicaStatus> inspect(ChunkHandle chunk, boolean verify) {
    return wires.call(
        from,
        address,
        ChunkApi.class,
        "inspect",
        CALL_NANOS,
        (ChunkApi chunks) -> chunks.inspect(chunk, verify));
  }

  @Override
  public CompletableFuture<List<ClusterEvent>> events(long after, int limit) {
    return wires.call(
        from,
        address,
        ChunkApi.class,
        "events",
        CALL_NANOS,
        (ChunkApi chunks) -> chunks.events(after, limit));
  }

  @Override
  public CompletableFuture<List<String>> fault(String command, List<String> arguments) {
    return wires.call(
        from,
        address,
        ChunkApi.class,
        "fault",
        CALL_NANOS,
        (ChunkApi chunks) -> chunks.fault(command, arguments));
  }
}
