package io.leasefs.common.rpc;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import io.grpc.Status;
import io.leasefs.common.api.AdminApi;
import io.leasefs.common.api.ClusterApi;
import io.leasefs.common.api.MasterApi;
import io.leasefs.common.error.ErrorCode;
import io.leasefs.common.error.LeaseFsException;
import io.leasefs.common.model.ChunkHandle;
import io.leasefs.common.model.FilePath;
import io.leasefs.common.model.ServerAddress;
import java.io.IOException;
import java.lang.reflect.Proxy;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.nio.channels.ClosedChannelException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

class LoopbackErrorsTest {
  private static final ServerAddress ANY = new ServerAddress("127.0.0.1", 0);
  private static final long SECOND = TimeUnit.SECONDS.toNanos(1);

  private final Servers servers = new Servers("test-server", 1);
  private final Channels channels = new Channels("test-client", 1);

  @AfterEach
  void stop() {
    channels.close();
    servers.close();
  }

  /** A master all of whose methods do the same. */
  private ServerAddress master(Supplier<CompletableFuture<Object>> answer) {
    return servers.listen(
        ANY,
        new MasterServer(
            api(MasterApi.class, answer),
            api(AdminApi.class, answer),
            api(ClusterApi.class, answer)));
  }

  private static <T> T api(Class<T> type, Supplier<CompletableFuture<Object>> answer) {
    return type.cast(
        Proxy.newProxyInstance(
            type.getClassLoader(),
            new Class<?>[] {type},
            (proxy, method, arguments) -> answer.get()));
  }

  private static LeaseFsException failure(CompletableFuture<?> future) throws Exception {
    try {
      future.get(30, TimeUnit.SECONDS);
    } catch (ExecutionException e) {
      if (e.getCause() instanceof LeaseFsException told) {
        return told;
      }
      throw e;
    }
    throw new AssertionError("no failure");
  }

  @ParameterizedTest
  @EnumSource
  void everyCodeArrivesWithMessageAndHint(ErrorCode code) throws Exception {
    ServerAddress at =
        master(
            () ->
                CompletableFuture.failedFuture(
                    new LeaseFsException(code, "/a: what is wrong", "do this")));
    LeaseFsException e =
        failure(new RemoteMaster(channels, at, 10 * SECOND).stat(new FilePath("/a")));
    assertThat(e.code()).isEqualTo(code);
    if (code == ErrorCode.INTERNAL) {
      assertThat(e).hasMessageStartingWith("/a: what is wrong in Stat, request ");
    } else {
      assertThat(e).hasMessage("/a: what is wrong");
      assertThat(e.hint()).isEqualTo("do this");
    }
  }

  /** As the transport told it of a master that was killed. */
  @Test
  void aChannelThatIsClosedAtABadMomentIsAServerOutOfReach() {
    Status closed =
        Status.UNKNOWN.withDescription("channel closed").withCause(new ClosedChannelException());
    ServerAddress at = new ServerAddress("m1", 7000);
    assertThat(StatusMapper.toModel(closed, null, at, "ChunkLayout", SECOND).code())
        .isEqualTo(ErrorCode.UNREACHABLE);
    assertThat(StatusMapper.toModel(Status.UNKNOWN, null, at, "ChunkLayout", SECOND).code())
        .isEqualTo(ErrorCode.INTERNAL);
  }

  @Test
  void aNameOfTwoLinesArrivesWhole() throws Exception {
    ServerAddress at =
        master(
            () -> {
              throw new LeaseFsException(ErrorCode.NOT_FOUND, "/a\nb: not there");
            });
    LeaseFsException e = failure(new RemoteMaster(channels, at, 10 * SECOND).trash());
    assertThat(e).hasMessage("/a\nb: not there");
  }

  @Test
  void aLeadersAddressIsTheHint() throws Exception {
    ServerAddress at =
        master(
            () -> {
              throw new LeaseFsException(ErrorCode.NOT_LEADER, "m1 does not lead", "m2:7000");
            });
    LeaseFsException e = failure(new RemoteMaster(channels, at, 10 * SECOND).trash());
    assertThat(e.code()).isEqualTo(ErrorCode.NOT_LEADER);
    assertThat(e.hint()).isEqualTo("m2:7000");
  }

  @Test
  void aBugIsToldByItsRequestIdOnly() throws Exception {
    ServerAddress at =
        master(
            () -> {
              throw new IllegalStateException("secret detail");
            });
    LeaseFsException e = failure(new RemoteMaster(channels, at, 10 * SECOND).stat(FilePath.ROOT));
    assertThat(e.code()).isEqualTo(ErrorCode.INTERNAL);
    assertThat(e.getMessage()).matches("internal error in Stat, request [0-9a-f]{16}");
  }

  @Test
  void nobodyListeningIsUnreachableAndNamesTheAddress() throws Exception {
    int port;
    try (ServerSocket socket = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
      port = socket.getLocalPort();
    }
    ServerAddress at = new ServerAddress("127.0.0.1", port);
    LeaseFsException e = failure(new RemoteMaster(channels, at, 10 * SECOND).nodes());
    assertThat(e.code()).isEqualTo(ErrorCode.UNREACHABLE);
    assertThat(e.getMessage()).startsWith("cannot reach " + at + ": ").contains("refused");
    assertThat(e.getMessage()).doesNotContain("\n");
  }

  @Test
  void aServerThatComesUpLaterIsReachedAtTheNextCall() throws Exception {
    int port;
    try (ServerSocket socket = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
      port = socket.getLocalPort();
    }
    ServerAddress at = new ServerAddress("127.0.0.1", port);
    RemoteMaster remote = new RemoteMaster(channels, at, 10 * SECOND);
    assertThat(failure(remote.trash()).code()).isEqualTo(ErrorCode.UNREACHABLE);
    servers.listen(
        at,
        new MasterServer(
            api(MasterApi.class, () -> CompletableFuture.completedFuture(java.util.List.of())),
            api(AdminApi.class, CompletableFuture::new),
            api(ClusterApi.class, CompletableFuture::new)));
    assertThat(remote.trash().get(5, TimeUnit.SECONDS)).isEmpty();
  }

  @Test
  void anUnknownHostIsUnreachable() throws Exception {
    LeaseFsException e =
        failure(
            new RemoteMaster(channels, new ServerAddress("no-such-host.invalid", 1), 10 * SECOND)
                .nodes());
    assertThat(e.code()).isEqualTo(ErrorCode.UNREACHABLE);
    assertThat(e).hasMessageContaining("no-such-host.invalid");
  }

  @Test
  void silenceIsTimedOutAndNamesWhatItWaitedFor() throws Exception {
    ServerAddress at = master(CompletableFuture::new);
    LeaseFsException e =
        failure(new RemoteMaster(channels, at, SECOND / 5).stat(new FilePath("/a")));
    assertThat(e.code()).isEqualTo(ErrorCode.TIMED_OUT);
    assertThat(e).hasMessage(at + " gave no answer to Stat within 200 ms");
  }

  @Test
  void aSocketThatNeverSpeaksIsTimedOut() throws Exception {
    try (ServerSocket mute = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
      ServerAddress at = new ServerAddress("127.0.0.1", mute.getLocalPort());
      LeaseFsException e = failure(new RemoteMaster(channels, at, SECOND / 5).status());
      assertThat(e.code()).isEqualTo(ErrorCode.TIMED_OUT);
      assertThat(e).hasMessageContaining(at.toString()).hasMessageContaining("Status");
    }
  }

  @Test
  void waitingOfTheServerIsNotCountedAsSilence() throws Exception {
    CompletableFuture<Object> later = new CompletableFuture<>();
    ServerAddress at = master(() -> later);
    CompletableFuture<?> waiting =
        new RemoteMaster(channels, at, SECOND / 5).events(0, 10, 20 * SECOND);
    // another call's full timeout passes meanwhile
    failure(new RemoteMaster(channels, at, SECOND / 2).nodes());
    assertThat(waiting).isNotDone();
    later.complete(java.util.List.of());
    assertThat((Object) waiting.get(10, TimeUnit.SECONDS)).isEqualTo(java.util.List.of());
  }

  @Test
  void anotherKindOfServerIsNamed() throws Exception {
    ServerAddress at = master(CompletableFuture::new);
    LeaseFsException e =
        failure(
            new RemoteChunkServer(channels, at, 10 * SECOND).inspect(new ChunkHandle(1), false));
    assertThat(e.code()).isEqualTo(ErrorCode.INVALID_ARGUMENT);
    assertThat(e).hasMessage(at + " does not offer Inspect");
  }

  @Test
  void aPortInUseIsAClearError() throws IOException {
    try (ServerSocket taken = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
      ServerAddress at = new ServerAddress("127.0.0.1", taken.getLocalPort());
      LeaseFsException e =
          catchThrowableOfType(
              LeaseFsException.class,
              () ->
                  servers.listen(
                      at,
                      new MasterServer(
                          api(MasterApi.class, CompletableFuture::new),
                          api(AdminApi.class, CompletableFuture::new),
                          api(ClusterApi.class, CompletableFuture::new))));
      assertThat(e.code()).isEqualTo(ErrorCode.INVALID_ARGUMENT);
      assertThat(e).hasMessageContaining(at.toString()).hasMessageContaining("in use");
    }
  }

  @Test
  void callsOnClosedChannelsFail() {
    ServerAddress at = master(CompletableFuture::new);
    RemoteMaster remote = new RemoteMaster(channels, at, SECOND);
    channels.close();
    assertThatThrownBy(() -> remote.nodes().get(5, TimeUnit.SECONDS))
        .isInstanceOf(ExecutionException.class)
        .hasCauseInstanceOf(LeaseFsException.class);
  }
}
