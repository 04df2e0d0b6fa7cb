package io.leasefs.common.rpc;

import com.google.common.net.InetAddresses;
import io.grpc.Channel;
import io.grpc.ConnectivityState;
import io.grpc.ManagedChannel;
import io.grpc.netty.NettyChannelBuilder;
import io.leasefs.common.model.ServerAddress;
import io.netty.channel.ChannelOption;
import java.net.InetSocketAddress;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.logging.Level;
import java.util.logging.Logger;

/**
 * Connections to other processes: one per address, made when first used, and the threads that carry
 * them. A client needs one instance with one thread. A chunkserver gives its heartbeat an instance
 * of its own, so that no data ever stands before a heartbeat. Any thread; nothing blocks.
 *
 * <p>Callbacks and completions run on these threads: whoever is called must hand on at once.
 */
public final class Channels implements AutoCloseable {
  private static final int CONNECT_TIMEOUT_MILLIS = 3_000;
  private static final long KEEP_ALIVE_SECONDS = 10; // gRPC allows no less
  private static final long KEEP_ALIVE_TIMEOUT_MILLIS = 2_000;

  // Warns of unknown hosts, and of threads that end before a look-up does: our callers are told,
  // and say it once. The field keeps the logger, and so its level, alive.
  private static final Logger GRPC_LOG = Logger.getLogger("io.grpc.internal.ManagedChannelImpl");

  static {
    GRPC_LOG.setLevel(Level.OFF);
  }

  private final EventLoops loops;
  private final Traffic traffic = new Traffic();
  private final Map<ServerAddress, ManagedChannel> channels = new HashMap<>();
  private boolean closed;

  /** Starts its threads with the first connection. */
  public Channels(String name, int threads) {
    this.loops = new EventLoops(name, threads);
  }

  /**
   * The channel to this address. One that failed to connect is replaced, so that every call makes a
   * real attempt instead of being told of an old one.
   */
  synchronized Channel to(ServerAddress address) {
    ManagedChannel channel = channels.get(address);
    if (channel != null
        && !closed
        && channel.getState(false) == ConnectivityState.TRANSIENT_FAILURE) {
      channel.shutdown();
      channel = null;
    }
    if (channel == null) {
      channel = open(address);
      channels.put(address, channel);
      if (closed) {
        channel.shutdownNow();
      }
    }
    return channel;
  }

  private ManagedChannel open(ServerAddress address) {
    NettyChannelBuilder builder =
        InetAddresses.isInetAddress(address.host())
            ? NettyChannelBuilder.forAddress(
                new InetSocketAddress(InetAddresses.forString(address.host()), address.port()))
            : NettyChannelBuilder.forAddress(address.host(), address.port());
    return builder
        .usePlaintext()
        .intercept(traffic.counting())
        .directExecutor()
        .disableRetry()
        .disableServiceConfigLookUp()
        .proxyDetector(target -> null)
        .eventLoopGroup(loops.group())
        .channelType(loops.channelType())
        .withOption(ChannelOption.CONNECT_TIMEOUT_MILLIS, CONNECT_TIMEOUT_MILLIS)
        .withOption(ChannelOption.TCP_NODELAY, true)
        .keepAliveTime(KEEP_ALIVE_SECONDS, TimeUnit.SECONDS)
        .keepAliveTimeout(KEEP_ALIVE_TIMEOUT_MILLIS, TimeUnit.MILLISECONDS)
        .build();
  }

  /** What has gone over them. */
  public Traffic traffic() {
    return traffic;
  }

  /** For timers of calls. */
  ScheduledExecutorService timers() {
    return loops.group();
  }

  /** Breaks all streams and stops the threads; does not wait. */
  @Override
  public synchronized void close() {
    if (closed) {
      return;
    }
    closed = true;
    // Of a copy: a call that is broken off may ask elsewhere at once, on this thread.
    List.copyOf(channels.values()).forEach(ManagedChannel::shutdownNow);
    loops.close();
  }
}
