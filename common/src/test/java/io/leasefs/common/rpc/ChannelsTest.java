package io.leasefs.common.rpc;

import static org.assertj.core.api.Assertions.assertThat;

import io.grpc.CallOptions;
import io.grpc.ClientCall;
import io.grpc.Metadata;
import io.grpc.Status;
import io.leasefs.common.model.ServerAddress;
import io.leasefs.proto.v1.GreetRequest;
import io.leasefs.proto.v1.GreetingProto;
import io.leasefs.proto.v1.MasterServiceGrpc;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

class ChannelsTest {
  /** A read that is broken off asks another replica at once, on the thread that closes. */
  @Test
  void callThatAsksElsewhereWhenItIsBrokenOffDoesNotDisturbClosing() throws Exception {
    try (ServerSocket silent = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
      ServerAddress first = new ServerAddress("127.0.0.1", silent.getLocalPort());
      ServerAddress other = new ServerAddress("127.0.0.2", silent.getLocalPort());
      CountDownLatch askedElsewhere = new CountDownLatch(1);
      Channels channels = new Channels("test", 1);
      ClientCall<GreetRequest, GreetingProto> call =
          channels.to(first).newCall(MasterServiceGrpc.getGreetMethod(), CallOptions.DEFAULT);
      call.start(
          new ClientCall.Listener<>() {
            @Override
            public void onClose(Status status, Metadata trailers) {
              var unused = channels.to(other);
              askedElsewhere.countDown();
            }
          },
          new Metadata());
      call.request(1);
      call.sendMessage(GreetRequest.getDefaultInstance());
      call.halfClose();

      channels.close();

      assertThat(askedElsewhere.await(10, TimeUnit.SECONDS)).isTrue();
    }
  }
}
