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
import org.jspecify.annotations.Nullable;

/** The ways to and from peers, which can be cut. */
public final class FaultyPeers implements PeerConnector {
  private final PeerConnector inner;
  private final Faults faults;

  public FaultyPeers(PeerConnector inner, Faults faults) {
    this.inner = inner;
    this.faults = faults;
  }

  @Override
  public ChunkApi connect(ServerId peer, ServerAddress address) {
    return new Cut(inner.connect(peer, address), peer.name());
  }

  /**
   * A stream that a peer opened to this server, through the cuts.
   *
   * @param accept makes the server's side, given where answers go and who is told of the end
   */
  public PeerStream accepted(
      Consumer<PeerMessage> answers, Consumer<String> broken, Acceptor accept) {
    Inbound inbound = new Inbound(answers, broken);
    inbound.stream = accept.accept(inbound::answer, broken);
    return inbound;
  }

  /** As {@link ChunkApi#peer}. */
  public interface Acceptor {
    PeerStream accept(Consumer<PeerMessage> answers, Consumer<String> broken);
  }

  private final class Inbound implements PeerStream {
    private final Consumer<PeerMessage> answers;
    private final CutLine line;
    private volatile String from = "";
    private volatile @Nullable PeerStream stream;

    Inbound(Consumer<PeerMessage> answers, Consumer<String> broken) {
      this.answers = answers;
      this.line =
          new CutLine(
              faults,
              () -> from,
              why -> {
                close();
                broken.accept(why);
              });
    }

    void answer(PeerMessage message) {
      if (line.letsOut()) {
        answers.accept(message);
      }
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
      if (line.letsIn()) {
        stream().introduce(sender, listening);
      }
    }

    @Override
    public void send(PeerMessage message) {
      if (line.letsIn()) {
        stream().send(message);
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

  private final class Cut implements ChunkApi {
    private final ChunkApi peer;
    private final String name;

    Cut(ChunkApi peer, String name) {
      this.peer = peer;
      this.name = name;
    }

    @Override
    public PeerStream peer(Consumer<PeerMessage> answers, Consumer<String> broken) {
      CutLine line = new CutLine(faults, () -> name, broken);
      PeerStream stream =
          peer.peer(
              answer -> {
                if (line.letsIn()) {
                  answers.accept(answer);
                }
              },
              why -> {
                if (line.end()) {
                  broken.accept(why);
                }
              });
      return new PeerStream() {
        @Override
        public void introduce(ServerId from, Map<ServerId, ServerAddress> listening) {
          if (line.letsOut()) {
            stream.introduce(from, listening);
          }
        }

        @Override
        public void send(PeerMessage message) {
          if (line.letsOut()) {
            stream.send(message);
          }
        }

        @Override
        public boolean isReady() {
          return stream.isReady();
        }

        @Override
        public void onReady(Runnable task) {
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
      return faults.isCut(name) ? new CompletableFuture<>() : peer.copy(request, parts);
    }

    @Override
    public FrameStream mutate(Consumer<NamedAnswer> answers, Consumer<String> broken) {
      return peer.mutate(answers, broken);
    }

    @Override
    public CompletableFuture<ReadEnd> read(ReadRequest request, Sink<ReadPart> parts) {
      return faults.isCut(name) ? new CompletableFuture<>() : peer.read(request, parts);
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
