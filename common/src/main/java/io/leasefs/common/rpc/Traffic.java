package io.leasefs.common.rpc;

import io.grpc.CallOptions;
import io.grpc.Channel;
import io.grpc.ClientCall;
import io.grpc.ClientInterceptor;
import io.grpc.ClientStreamTracer;
import io.grpc.Metadata;
import io.grpc.MethodDescriptor;
import java.util.concurrent.atomic.LongAdder;

/** What has gone over some channels, since they were made. Any thread. */
public final class Traffic {
  private final LongAdder messagesSent = new LongAdder();
  private final LongAdder messagesReceived = new LongAdder();
  private final LongAdder bytesSent = new LongAdder();
  private final LongAdder bytesReceived = new LongAdder();

  Traffic() {}

  public long messagesSent() {
    return messagesSent.sum();
  }

  public long messagesReceived() {
    return messagesReceived.sum();
  }

  /** Bytes of messages with gRPC's framing; without headers of HTTP/2 and below. */
  public long bytesSent() {
    return bytesSent.sum();
  }

  /** The same, the other way. */
  public long bytesReceived() {
    return bytesReceived.sum();
  }

  /** Counts the calls that pass. */
  ClientInterceptor counting() {
    ClientStreamTracer.Factory factory =
        new ClientStreamTracer.Factory() {
          @Override
          public ClientStreamTracer newClientStreamTracer(
              ClientStreamTracer.StreamInfo info, Metadata headers) {
            return new Tracer();
          }
        };
    return new ClientInterceptor() {
      @Override
      public <Q, R> ClientCall<Q, R> interceptCall(
          MethodDescriptor<Q, R> method, CallOptions options, Channel next) {
        return next.newCall(method, options.withStreamTracerFactory(factory));
      }
    };
  }

  private final class Tracer extends ClientStreamTracer {
    @Override
    public void outboundMessage(int number) {
      messagesSent.increment();
    }

    @Override
    public void inboundMessage(int number) {
      messagesReceived.increment();
    }

    @Override
    public void outboundWireSize(long bytes) {
      bytesSent.add(bytes);
    }

    @Override
    public void inboundWireSize(long bytes) {
      bytesReceived.add(bytes);
    }
  }
}
