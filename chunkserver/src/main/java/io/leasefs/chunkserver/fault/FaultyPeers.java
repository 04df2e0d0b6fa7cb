package io.leasefs.chunkserver.fault;

import io.leasefs.chunkserver.pipeline.PeerConnector;
import io.leasefs.common.api.ChunkApi;
import io.leasefs.common.api.ChunkApi.CopyEnd;
import io.leasefs.common.api.ChunkApi.CopyPart;
import io.leasefs.common.api.ChunkApi.CopyRequest;
import io.leasefs.common.api.ChunkApi.FrameStream;
import io.leasefs.common.api.ChunkApi.NamedAnswer;
import io.leasefs.common.api.ChunkApi.PeerStream;
import io.leasefs.common.api.ChunkApi.ReadEnd;
import io.leasefs.common.api.ChunkApi.ReadPart;
import io.leasefs.common.api.ChunkApi.ReadRequest;
import io.leasefs.common.api.ChunkApi.ReplicaStatus;
import io.leasefs.common.api.ChunkApi.Sink;
import io.leasefs.common.api.PeerMessage;
import io.leasefs.common.model.ChunkHandle;
import io.leasefs.common.model.ClusterEvent;
import io.leasefs.common.model.ServerAddress;
import io.leasefs.common.model.ServerId;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.function.Consumer;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/** The ways to and from peers, which can be cut or long. */
public final class FaultyPeers implements PeerConnector {
  private final PeerConnector inner;
  private final FaultyNetwork network;
  private final Faults faults;

  public FaultyPeers(PeerConnector inner, FaultyNetwork network) {
    this.inner = inner;
    this.network = network;
    this.faults = network.faults();
  }

  @Override
  public ChunkApi connect(ServerId peer, ServerAddress address) {
    return new Far(inner.connect(peer, address), peer.name());
  }

  /**
   * A stream that a peer opened to this server, through the faults.
   *
   * @param accept makes the server's side, given where answers go and who is told of the end
   */
  public PeerStream accepted(
      Consumer<PeerMessage> answers, Consumer<String> broken, Acceptor accept) {
    Inbound inbound = new Inbound(answers, broken);
    inbound.stream = accept.accept(inbound::answer, broken);
    return inbound;
  }

  /** Bytes of payload that a message carries. */
  private static long bytes(PeerMessage message) {
    return switch (message) {
      case PeerMessage.Forward forward -> forward.mutation().payload().remaining();
      case PeerMessage.Recovery recovery -> recovery.mutation().payload().remaining();
      default -> 0;
    };
  }

  /** As {@link ChunkApi#peer}. */
  public interface Acceptor {
    PeerStream accept(Consumer<PeerMessage> answers, Consumer<String> broken);
  }

  private final class Inbound implements PeerStream {
    private final Consumer<PeerMessage> answers;
    private final Line line;
    private volatile String from = "";
    private volatile @Nullable PeerStream stream;

    Inbound(Consumer<PeerMessage> answers, Consumer<String> broken) {
      this.answers = answers;
      this.line =
          network.line(
              () -> from,
              why -> {
                close();
                broken.accept(why);
              });
    }

    void answer(PeerMessage message) {
      line.send(0, () -> answers.accept(message));
    }

    private PeerStream stream() {
      PeerStream made = stream;
      if (made == null) {
        throw new IllegalStateException("used before it was accepted");
      }
      return made;
    }

    @Override
    public void introduce(ServerId sender, Map<ServerId, ServerAddress> listening) {
      from = sender.name();
      line.receive(0, () -> stream().introduce(sender, listening));
    }

    @Override
    public void send(PeerMessage message) {
      line.receive(bytes(message), () -> stream().send(message));
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

  private final class Far implements ChunkApi {
    private final ChunkApi peer;
    private final String name;

    Far(ChunkApi peer, String name) {
      this.peer = peer;
      this.name = name;
    }

    @Override
    public PeerStream peer(Consumer<PeerMessage> answers, Consumer<String> broken) {
      Line line = network.line(() -> name, broken);
      PeerStream stream =
          peer.peer(
              answer -> line.receive(0, () -> answers.accept(answer)),
              why -> {
                if (line.end()) {
                  broken.accept(why);
                }
              });
      return new PeerStream() {
        @Override
        public void introduce(ServerId from, Map<ServerId, ServerAddress> listening) {
          line.send(0, () -> stream.introduce(from, listening));
        }

        @Override
        public void send(PeerMessage message) {
          // Its payload stays whole: it is given back when all members have it.
          line.send(bytes(message), () -> stream.send(message));
        }

        @Override
        public boolean isReady() {
          return !line.out().isFull() && stream.isReady();
        }

        @Override
        public void onReady(Runnable task) {
          line.out().onDrained(task);
          stream.onReady(task);
        }

        @Override
        public void close() {
          boolean _ = line.end();
          stream.close();
        }
      };
    }

    @Override
    public CompletableFuture<CopyEnd> copy(CopyRequest request, Sink<CopyPart> parts) {
      return fetch(() -> peer.copy(request, parts));
    }

    /** What is long is told as one delay, before it begins. */
    private <T> CompletableFuture<T> fetch(Supplier<CompletableFuture<T>> call) {
      return faults.isCut(name)
          ? new CompletableFuture<>()
          : network.later(faults.delayToNanos(name) + faults.delayFromNanos(name), call);
    }

    @Override
    public FrameStream mutate(Consumer<NamedAnswer> answers, Consumer<String> broken) {
      return peer.mutate(answers, broken);
    }

    @Override
    public CompletableFuture<ReadEnd> read(ReadRequest request, Sink<ReadPart> parts) {
      return fetch(() -> peer.read(request, parts));
    }

    @Override
    public CompletableFuture<ReplicaStatus> inspect(ChunkHandle chunk, boolean verify) {
      return peer.inspect(chunk, verify);
    }

    @Override
    public CompletableFuture<List<ClusterEvent>> events(long after, int limit) {
      return peer.events(after, limit);
    }

    @Override
    public CompletableFuture<List<String>> fault(String command, List<String> arguments) {
      return peer.fault(command, arguments);
    }
  }
}
