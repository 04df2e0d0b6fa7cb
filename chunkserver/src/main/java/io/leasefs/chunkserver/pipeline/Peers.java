package io.leasefs.chunkserver.pipeline;

import io.leasefs.common.api.ChunkApi;
import io.leasefs.common.api.PeerMessage;
import io.leasefs.common.edge.Clock;
import io.leasefs.common.model.ServerAddress;
import io.leasefs.common.model.ServerId;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.Executor;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.slf4j.event.Level;

/**
 * The peers of this server, and one stream to each that something was sent to. What goes down a
 * chain takes the stream that this server opened; answers go back on the stream that the other one
 * opened. Messages from one server to another keep their order within each of the two. A stream
 * that breaks loses what was under way, and everyone concerned is told.
 */
public final class Peers {
  private static final Logger logger = LoggerFactory.getLogger(Peers.class);

  /** How long a peer that could not be reached is not tried again. */
  static final long RETRY_NANOS = 100_000_000;

  private final ServerId self;
  private final PeerConnector connector;
  private final Executor executor;
  private final Clock clock;
  private final PeerInbox inbox;
  private final FlightBudget budget;
  private final long maxQueuedBytes;

  /**
   * Guarded by this. Where servers listen: the master's word, or else a peer's, which may be older
   * and so takes the place of the master's only once that has failed.
   */
  private final Map<ServerId, Whereabouts> directory = new TreeMap<>();

  /** Guarded by this: how often the directory has changed. */
  private long directoryEdition;

  /** Guarded by this: streams that this server opened. */
  private final Map<ServerId, Outbound> outbound = new HashMap<>();

  /** Guarded by this: the newest stream that each peer opened. */
  private final Map<ServerId, Inbound> inbound = new HashMap<>();

  /** Guarded by this: peers that could not be reached, and until when they are not tried. */
  private final Map<ServerId, Long> unreachableUntil = new HashMap<>();

  /** Whose broken stream has been told in the log. */
  private final Set<ServerId> silent = new HashSet<>();

  /** Guarded by this. */
  private boolean closed;

  /**
   * @param executor tells of breaks: never the thread that sends, which may hold a replica's lock
   * @param maxQueuedBytes most bytes queued for one peer; past it the stream counts as broken
   */
  public Peers(
      ServerId self,
      PeerConnector connector,
      Executor executor,
      Clock clock,
      PeerInbox inbox,
      FlightBudget budget,
      long maxQueuedBytes) {
    this.self = self;
    this.connector = connector;
    this.executor = executor;
    this.clock = clock;
    this.inbox = inbox;
    this.budget = budget;
    this.maxQueuedBytes = maxQueuedBytes;
  }

  private record Whereabouts(ServerAddress address, boolean fromMaster) {}

  /** Where these servers listen now, by the master's word. */
  public void learn(Map<ServerId, ServerAddress> listening) {
    learn(listening, true);
  }

  private synchronized void learn(Map<ServerId, ServerAddress> listening, boolean fromMaster) {
    for (Map.Entry<ServerId, ServerAddress> each : listening.entrySet()) {
      Whereabouts before = directory.get(each.getKey());
      if (before != null && before.fromMaster && !fromMaster) {
        continue;
      }
      directory.put(each.getKey(), new Whereabouts(each.getValue(), fromMaster));
      if (before == null || !before.address.equals(each.getValue())) {
        unreachableUntil.remove(each.getKey());
        directoryEdition++;
      }
    }
  }

  /** Where a server listens, if anybody ever told. */
  public synchronized @Nullable ServerAddress addressOf(ServerId server) {
    Whereabouts found = directory.get(server);
    return found == null ? null : found.address;
  }

  private synchronized Map<ServerId, ServerAddress> listening() {
    Map<ServerId, ServerAddress> all = new TreeMap<>();
    directory.forEach((server, found) -> all.put(server, found.address));
    return all;
  }

  /** Sends, or tells soon that the peer is out of reach. */
  public void send(ServerId to, PeerMessage message) {
    if (isAnswer(message)) {
      Inbound stream;
      synchronized (this) {
        stream = inbound.get(to);
      }
      // With no stream to answer on, the answer is lost, as what asked for it is for the asker.
      if (stream != null) {
        stream.answers.put(message);
      }
      return;
    }
    Outbound stream = streamTo(to);
    if (stream == null) {
      executor.execute(() -> inbox.broken(to, "cannot be reached"));
    } else if (!stream.put(message)) {
      brokenOutbound(stream, "more than " + maxQueuedBytes + " bytes are queued");
    }
  }

  private static boolean isAnswer(PeerMessage message) {
    return switch (message) {
      case PeerMessage.ChainProgress progress -> true;
      case PeerMessage.Reconciled reconciled -> true;
      case PeerMessage.ReconcileRefused refused -> true;
      case PeerMessage.RecoveryProgress progress -> true;
      case PeerMessage.CommittedAnswer answer -> true;
      case PeerMessage.PromiseAnswer answer -> true;
      case PeerMessage.Forward forward -> false;
      case PeerMessage.Committed committed -> false;
      case PeerMessage.Reconcile reconcile -> false;
      case PeerMessage.Recovery recovery -> false;
      case PeerMessage.CommittedQuery query -> false;
      case PeerMessage.PromiseQuery query -> false;
    };
  }

  /** The open stream, or a new one; null where the peer is out of reach for now. */
  private @Nullable Outbound streamTo(ServerId to) {
    Outbound stream;
    Outbound replaced = null;
    synchronized (this) {
      ServerAddress address = addressOf(to);
      stream = outbound.get(to);
      if (stream != null && (address == null || stream.address.equals(address))) {
        return stream;
      }
      Long until = unreachableUntil.get(to);
      if (closed || address == null || (until != null && clock.nanos() - until < 0)) {
        return null;
      }
      replaced = stream;
      stream = new Outbound(to, address);
      outbound.put(to, stream);
    }
    if (replaced != null) {
      replaced.close();
    }
    stream.open();
    return stream;
  }

  /** A peer opens a stream to this server; answers go back one at a time. */
  public ChunkApi.PeerStream accept(Consumer<PeerMessage> answers, Consumer<String> broken) {
    return new Inbound(answers, broken);
  }

  /** Closes all streams; nothing is sent any more. */
  public void close() {
    Map<ServerId, Outbound> streams;
    synchronized (this) {
      closed = true;
      streams = new TreeMap<>(outbound);
      outbound.clear();
    }
    streams.values().forEach(Outbound::close);
  }

  private void brokenOutbound(Outbound stream, String why) {
    boolean again;
    synchronized (this) {
      if (!outbound.remove(stream.to, stream)) {
        return;
      }
      unreachableUntil.put(stream.to, clock.nanos() + RETRY_NANOS);
      again = !silent.add(stream.to) && !stream.heard;
      directory.computeIfPresent(
          stream.to, (server, found) -> new Whereabouts(found.address, false));
    }
    // A dead peer is tried several times a second: told once, until it has answered in between.
    logger
        .atLevel(again ? Level.DEBUG : Level.INFO)
        .log("stream to peer broken peer={} address={} why=\"{}\"", stream.to, stream.address, why);
    stream.close();
    executor.execute(() -> inbox.broken(stream.to, why));
  }

  /** A stream that this server opened. */
  private final class Outbound {
    private final ServerId to;
    private final ServerAddress address;

    /** Null until the stream is open. */
    private volatile ChunkApi.@Nullable PeerStream stream;

    /** The peer has answered at least once. */
    private volatile boolean heard;

    /** The edition of the directory that the peer has been told; by the thread that sends. */
    private long toldEdition = -1;

    private final Outlet outlet;

    Outbound(ServerId to, ServerAddress address) {
      this.to = to;
      this.address = address;
      this.outlet = new Outlet(this::deliver, this::isReady, maxQueuedBytes);
    }

    void open() {
      ChunkApi.PeerStream opened =
          connector.connect(to, address).peer(this::answered, why -> brokenOutbound(this, why));
      opened.onReady(outlet::drain);
      stream = opened;
      outlet.drain();
    }

    private void answered(PeerMessage answer) {
      if (!heard) {
        heard = true;
      }
      inbox.message(to, answer);
    }

    boolean put(PeerMessage message) {
      return outlet.put(message);
    }

    private boolean isReady() {
      ChunkApi.PeerStream open = stream;
      return open != null && open.isReady();
    }

    private void deliver(PeerMessage message) {
      ChunkApi.PeerStream open = stream;
      if (open == null) {
        return;
      }
      long edition;
      synchronized (Peers.this) {
        edition = directoryEdition;
      }
      if (edition != toldEdition) {
        toldEdition = edition;
        open.introduce(self, listening());
      }
      open.send(message);
    }

    void close() {
      outlet.close();
      ChunkApi.PeerStream open = stream;
      if (open != null) {
        open.close();
      }
    }
  }

  /** A stream that a peer opened: what it sends arrives here. */
  private final class Inbound implements ChunkApi.PeerStream {
    private final Outlet answers;
    private final Consumer<String> brokenAnswers;

    /** Who sends, once it has said so. */
    private volatile @Nullable ServerId from;

    private volatile @Nullable Runnable listener;
    private volatile boolean over;

    Inbound(Consumer<PeerMessage> answers, Consumer<String> broken) {
      this.answers = new Outlet(answers, () -> true, maxQueuedBytes);
      this.brokenAnswers = broken;
    }

    @Override
    public void introduce(ServerId sender, Map<ServerId, ServerAddress> listening) {
      learn(listening, false);
      if (!sender.equals(from)) {
        from = sender;
        synchronized (Peers.this) {
          inbound.put(sender, this);
          unreachableUntil.remove(sender);
        }
      }
    }

    @Override
    public void send(PeerMessage message) {
      ServerId sender = from;
      if (sender == null) {
        close();
        brokenAnswers.accept("the stream does not begin with an introduction");
      } else if (!over) {
        inbox.message(sender, message);
      }
    }

    @Override
    public boolean isReady() {
      return budget.isOpen();
    }

    @Override
    public void onReady(Runnable task) {
      listener = task;
      budget.onOpen(task);
    }

    @Override
    public void close() {
      if (over) {
        return;
      }
      over = true;
      answers.close();
      Runnable task = listener;
      if (task != null) {
        budget.forget(task);
      }
      ServerId sender = from;
      if (sender != null) {
        synchronized (Peers.this) {
          if (!inbound.remove(sender, this)) {
            return;
          }
        }
        executor.execute(() -> inbox.broken(sender, "it closed its stream"));
      }
    }
  }
}
