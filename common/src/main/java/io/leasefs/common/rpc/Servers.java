package io.leasefs.common.rpc;

import io.grpc.Server;
import io.grpc.ServerServiceDefinition;
import io.grpc.netty.NettyServerBuilder;
import io.leasefs.common.error.ErrorCode;
import io.leasefs.common.error.LeaseFsException;
import io.leasefs.common.model.ServerAddress;
import io.netty.channel.ChannelOption;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.UnknownHostException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.logging.Level;
import java.util.logging.Logger;

/**
 * The listeners of one process, and the threads that carry their connections.
 *
 * <p>All calls run on these threads (gRPC's direct executor): every Api is asynchronous and hands
 * on at once, and a call so costs no change of thread. An implementation that has to block must
 * start a thread of its own.
 *
 * <p>What a peer can make us hold is bounded: {@value #WINDOW_BYTES} bytes per call that nobody has
 * asked for, {@value #MAX_CALLS} calls per connection, and the limits of each service.
 */
public final class Servers implements AutoCloseable {
  static final int WINDOW_BYTES = 256 << 10;
  static final int MAX_CALLS = 1024;
  private static final long KEEP_ALIVE_SECONDS = 10;
  private static final long KEEP_ALIVE_TIMEOUT_SECONDS = 5;
  private static final long PERMITTED_KEEP_ALIVE_SECONDS = 5;

  // Warns whenever a reader goes away early. The field keeps the logger, and so its level, alive.
  private static final Logger GRPC_LOG = Logger.getLogger("io.grpc.netty.NettyServerHandler");

  static {
    GRPC_LOG.setLevel(Level.SEVERE);
  }

  private final EventLoops loops;
  private final List<Server> servers = new ArrayList<>();

  public Servers(String name, int threads) {
    this.loops = new EventLoops(name, threads);
  }

  /**
   * Starts to listen; port 0 means any free one. Answers where it listens. Fails with
   * INVALID_ARGUMENT for a host that is unknown or a port that is in use.
   */
  public synchronized ServerAddress listen(ServerAddress at, RpcService service) {
    InetAddress host;
    try {
      host = InetAddress.getByName(at.host());
    } catch (UnknownHostException e) {
      throw new LeaseFsException(
          ErrorCode.INVALID_ARGUMENT, "cannot listen on " + at + ": unknown host", null, e);
    }
    NettyServerBuilder builder =
        NettyServerBuilder.forAddress(new InetSocketAddress(host, at.port()))
            .directExecutor()
            .bossEventLoopGroup(loops.group())
            .workerEventLoopGroup(loops.group())
            .channelType(loops.serverChannelType())
            .withChildOption(ChannelOption.TCP_NODELAY, true)
            .flowControlWindow(WINDOW_BYTES)
            .maxConcurrentCallsPerConnection(MAX_CALLS)
            .maxInboundMessageSize(service.maxMessageBytes())
            .keepAliveTime(KEEP_ALIVE_SECONDS, TimeUnit.SECONDS)
            .keepAliveTimeout(KEEP_ALIVE_TIMEOUT_SECONDS, TimeUnit.SECONDS)
            .permitKeepAliveTime(PERMITTED_KEEP_ALIVE_SECONDS, TimeUnit.SECONDS)
            .permitKeepAliveWithoutCalls(true);
    for (ServerServiceDefinition definition : service.services()) {
      builder.addService(definition);
    }
    Server server = builder.build();
    try {
      server.start();
    } catch (IOException e) {
      throw new LeaseFsException(
          ErrorCode.INVALID_ARGUMENT,
          "cannot listen on " + at + ": " + rootMessage(e),
          "choose another port, or stop what listens there",
          e);
    }
    servers.add(server);
    return new ServerAddress(at.host(), server.getPort());
  }

  private static String rootMessage(Throwable failure) {
    Throwable root = failure;
    while (root.getCause() != null) {
      root = root.getCause();
    }
    return String.valueOf(root.getMessage());
  }

  /** Takes no new calls; lets those under way end for so long, then breaks them. Blocks. */
  public synchronized void closeGracefully(long timeoutNanos) throws InterruptedException {
    servers.forEach(Server::shutdown);
    long end = System.nanoTime() + timeoutNanos;
    for (Server server : servers) {
      server.awaitTermination(Math.max(0, end - System.nanoTime()), TimeUnit.NANOSECONDS);
    }
    close();
  }

  /** Breaks all connections and stops the threads; does not wait. */
  @Override
  public synchronized void close() {
    servers.forEach(Server::shutdownNow);
    loops.close();
  }
}
