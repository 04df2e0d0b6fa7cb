package io.leasefs.common.rpc;

import io.netty.channel.Channel;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.IoHandlerFactory;
import io.netty.channel.MultiThreadIoEventLoopGroup;
import io.netty.channel.ServerChannel;
import io.netty.channel.epoll.Epoll;
import io.netty.channel.epoll.EpollIoHandler;
import io.netty.channel.epoll.EpollServerSocketChannel;
import io.netty.channel.epoll.EpollSocketChannel;
import io.netty.channel.nio.NioIoHandler;
import io.netty.channel.socket.nio.NioServerSocketChannel;
import io.netty.channel.socket.nio.NioSocketChannel;
import io.netty.util.concurrent.DefaultThreadFactory;
import java.util.concurrent.TimeUnit;

/**
 * Threads that carry connections; epoll where its native library is on the class path. Daemon
 * threads: a process need not wait for them.
 */
final class EventLoops implements AutoCloseable {
  private static final long CLOSE_MILLIS = 500;

  private final boolean epoll;
  private final EventLoopGroup group;

  EventLoops(String name, int threads) {
    this.epoll = !Boolean.getBoolean("leasefs.nio") && Epoll.isAvailable();
    IoHandlerFactory factory = epoll ? EpollIoHandler.newFactory() : NioIoHandler.newFactory();
    this.group =
        new MultiThreadIoEventLoopGroup(threads, new DefaultThreadFactory(name, true), factory);
  }

  EventLoopGroup group() {
    return group;
  }

  Class<? extends Channel> channelType() {
    return epoll ? EpollSocketChannel.class : NioSocketChannel.class;
  }

  Class<? extends ServerChannel> serverChannelType() {
    return epoll ? EpollServerSocketChannel.class : NioServerSocketChannel.class;
  }

  /** Starts to stop and does not wait. */
  @Override
  public void close() {
    var unused = group.shutdownGracefully(0, CLOSE_MILLIS, TimeUnit.MILLISECONDS);
  }
}
