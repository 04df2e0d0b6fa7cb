package io.leasefs.common.rpc;

import static org.assertj.core.api.Assertions.assertThat;

import io.leasefs.common.api.AdminApi;
import io.leasefs.common.api.ChunkApi;
import io.leasefs.common.api.ClusterApi;
import io.leasefs.common.api.MasterApi;
import io.leasefs.common.model.ServerAddress;
import java.lang.reflect.Method;
import java.lang.reflect.ParameterizedType;
import java.lang.reflect.Proxy;
import java.lang.reflect.Type;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** Each unary method of each Api, called over loopback with random arguments. */
class EveryMethodTest {
  private static final ServerAddress ANY = new ServerAddress("127.0.0.1", 0);
  private static final long TIMEOUT_NANOS = TimeUnit.SECONDS.toNanos(20);

  /** What the far side was asked, and what it answers. */
  record Exchange(Method method, List<Object> arguments, @Nullable Object answer) {}

  private static final AtomicReference<Exchange> expected = new AtomicReference<>();
  private static final AtomicReference<Exchange> seen = new AtomicReference<>();

  private static Servers servers;
  private static Channels channels;
  private static RemoteMaster master;
  private static RemoteChunkServer chunkServer;

  @BeforeAll
  static void start() {
    servers = new Servers("test-server", 1);
    channels = new Channels("test-client", 1);
    ServerAddress masterAt =
        servers.listen(
            ANY,
            new MasterServer(
                recording(MasterApi.class),
                recording(AdminApi.class),
                recording(ClusterApi.class)));
    ServerAddress chunksAt =
        servers.listen(ANY, new ChunkServerEndpoint(recording(ChunkApi.class)));
    master = new RemoteMaster(channels, masterAt, TIMEOUT_NANOS);
    chunkServer = new RemoteChunkServer(channels, chunksAt, TIMEOUT_NANOS);
  }

  @AfterAll
  static void stop() {
    channels.close();
    servers.close();
  }

  private static <T> T recording(Class<T> api) {
    return api.cast(
        Proxy.newProxyInstance(
            api.getClassLoader(),
            new Class<?>[] {api},
            (proxy, method, arguments) -> {
              List<Object> given = arguments == null ? List.of() : Arrays.asList(arguments);
              Exchange exchange = expected.get();
              seen.set(new Exchange(method, given, exchange.answer()));
              return CompletableFuture.completedFuture(exchange.answer());
            }));
  }

  static Stream<Method> unaryMethods() {
    return Stream.of(MasterApi.class, AdminApi.class, ClusterApi.class, ChunkApi.class)
        .flatMap(api -> Arrays.stream(api.getDeclaredMethods()))
        .filter(method -> method.getReturnType() == CompletableFuture.class)
        .filter(method -> !List.of(method.getParameterTypes()).contains(ChunkApi.Sink.class))
        .sorted(Comparator.comparing(Method::toGenericString));
  }

  @ParameterizedTest
  @MethodSource("unaryMethods")
  void argumentsAndAnswerArriveUnchanged(Method method) throws Exception {
    Object remote = method.getDeclaringClass() == ChunkApi.class ? chunkServer : master;
    Type answerType =
        ((ParameterizedType) method.getGenericReturnType()).getActualTypeArguments()[0];
    for (long seed = 1; seed <= 5; seed++) {
      RandomValues random = new RandomValues(seed);
      Object[] arguments =
          Arrays.stream(method.getGenericParameterTypes()).map(random::make).toArray();
      Object answer = answerType == Void.class ? null : random.make(answerType);
      expected.set(new Exchange(method, Arrays.asList(arguments), answer));
      CompletableFuture<?> future = (CompletableFuture<?>) method.invoke(remote, arguments);
      assertThat((Object) future.get(20, TimeUnit.SECONDS)).as("seed %s", seed).isEqualTo(answer);
      assertThat(seen.get()).as("seed %s", seed).isEqualTo(expected.get());
    }
  }
}
