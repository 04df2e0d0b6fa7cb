package io.leasefs.client.data;

import io.leasefs.client.edge.Mailbox;
import io.leasefs.client.edge.Network;
import io.leasefs.common.api.ChunkApi.FrameStream;
import io.leasefs.common.api.ChunkApi.NamedAnswer;
import io.leasefs.common.api.Frame;
import io.leasefs.common.model.ChunkHandle;
import io.leasefs.common.model.ServerAddress;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;

/**
 * One stream of frames per server, shared by all writers of the process. A broken stream is told to
 * everyone who has sent on it; the next frame opens a new one. Any thread; never blocks.
 */
public final class ChunkWrites {
  private final Network network;
  private final ConcurrentHashMap<ServerAddress, Stream> streams = new ConcurrentHashMap<>();

  /** Who sends frames of a chunk. Called on the network's threads. */
  public interface Listener {
    void answered(NamedAnswer answer);

    /**
     * The stream to this server has ended: what was under way on it has an unknown fate.
     *
     * @param reset true where the connection itself was cut: the process there may be gone
     */
    void broken(ServerAddress server, boolean reset);
  }

  public ChunkWrites(Network network) {
    this.network = network;
  }

  /** Sends; frames of one sender to one server keep their order, or the stream breaks. */
  public void send(ServerAddress server, Frame frame, Listener listener) {
    streams.computeIfAbsent(server, Stream::new).send(frame, listener);
  }

  /** No more frames of this chunk will be sent there, and no answer is awaited. */
  public void forget(ChunkHandle chunk, Listener listener) {
    for (Stream stream : streams.values()) {
      stream.listeners.remove(chunk, listener);
    }
  }

  /** Ends all streams; their senders are told. */
  public void close() {
    for (Stream stream : List.copyOf(streams.values())) {
      stream.close();
    }
  }

  private final class Stream {
    private final ServerAddress server;
    private final Mailbox mailbox = new Mailbox();
    private final Map<ChunkHandle, Listener> listeners = new ConcurrentHashMap<>();
    private @Nullable FrameStream stream;
    private boolean ended;

    Stream(ServerAddress server) {
      this.server = server;
    }

    void send(Frame frame, Listener listener) {
      mailbox.run(
          () -> {
            if (ended) {
              ChunkWrites.this.send(server, frame, listener);
              return;
            }
            listeners.put(frame.chunk(), listener);
            if (stream == null) {
              stream = network.chunkServer(server).mutate(this::answered, this::broken);
            }
            stream.send(frame);
          });
    }

    private void answered(NamedAnswer answer) {
      Listener listener = listeners.get(answer.chunk());
      if (listener != null) {
        listener.answered(answer);
      }
    }

    private void broken(String reason) {
      mailbox.run(() -> end(reason.startsWith("reset")));
    }

    void close() {
      mailbox.run(
          () -> {
            if (stream != null) {
              stream.close();
            }
            end(false);
          });
    }

    private void end(boolean reset) {
      if (ended) {
        return;
      }
      ended = true;
      streams.remove(server, this);
      for (Listener listener : listeners.values()) {
        listener.broken(server, reset);
      }
    }
  }
}
