package io.leasefs.cluster.loopback;

import static org.assertj.core.api.Assertions.assertThat;

import io.leasefs.client.CreateOptions;
import io.leasefs.client.FileWriter;
import io.leasefs.client.LeaseFs;
import io.leasefs.common.api.ChunkApi;
import io.leasefs.common.api.ChunkApi.ReadMode;
import io.leasefs.common.api.ChunkApi.ReadRequest;
import io.leasefs.common.model.ChunkLayout;
import io.leasefs.common.model.ClusterEvent;
import io.leasefs.common.model.EventKind;
import io.leasefs.common.model.ServerAddress;
import io.leasefs.common.rpc.Channels;
import io.leasefs.common.rpc.RemoteChunkServer;
import java.io.BufferedReader;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/**
 * A chunkserver with little memory, a process of its own, under 64 readers that do not take what
 * they asked for and 64 writers that it cannot answer.
 */
@Timeout(120)
class SlowClientsTest {
  private static final int CLIENTS = 64;
  private static final int MIB = 1 << 20;
  private static final CreateOptions ONE_CHUNK = CreateOptions.DEFAULT.withChunkBytes(16 << 20);
  private static final int READ_BYTES = 3 * MIB;
  private static final int WRITE_BYTES = MIB;
  private static final long ANSWER_NANOS = TimeUnit.SECONDS.toNanos(60);

  /** Takes one part, and the others when told. */
  private static final class SlowSink implements ChunkApi.Sink<ChunkApi.ReadPart> {
    final AtomicInteger taken = new AtomicInteger();
    volatile boolean going;
    volatile Runnable readyTask = () -> {};

    @Override
    public void accept(ChunkApi.ReadPart part) {
      taken.incrementAndGet();
    }

    @Override
    public boolean isReady() {
      return going || taken.get() == 0;
    }

    @Override
    public void onReady(Runnable task) {
      readyTask = task;
    }

    void go() {
      going = true;
      readyTask.run();
    }
  }

  @TempDir Path local;
  private final List<AutoCloseable> open = new ArrayList<>();

  @Test
  void slowClientsNeitherEndAServerWithLittleMemoryNorSilenceItNorKeepOthersOut() throws Exception {
    try (InProcessCluster cluster = InProcessCluster.start(0, "--replication", "1")) {
      Process server = startServer(cluster);
      try {
        run(cluster, server);
      } finally {
        for (AutoCloseable each : open) {
          each.close();
        }
        server.destroyForcibly().waitFor();
      }
    }
  }

  private Process startServer(InProcessCluster cluster) throws IOException {
    List<String> flags =
        List.of(
            "chunkserver",
            "--name",
            "cs1",
            "--data",
            local.resolve("cs1").toString(),
            "--listen",
            "127.0.0.1:0",
            "--master",
            cluster.masterAddress().toString(),
            "--allow-faults");
    List<String> little =
        List.of("-Xmx256m", "-XX:MaxDirectMemorySize=256m", "-XX:+ExitOnOutOfMemoryError");
    Process server =
        new ProcessBuilder(Programs.command(little, flags))
            .redirectError(local.resolve("stderr").toFile())
            .start();
    BufferedReader lines = server.inputReader();
    assertThat(lines.readLine()).as("its first line").startsWith("ready ");
    cluster.awaitNodes(1);
    return server;
  }

  private void run(InProcessCluster cluster, Process server) throws Exception {
    LeaseFs client = cluster.client();
    open.add(client);
    byte[] content = new byte[READ_BYTES];
    new Random(3).nextBytes(content);
    try (FileWriter writer = client.create("/read", ONE_CHUNK)) {
      writer.write(content);
    }
    ServerAddress address = LeaseFs.join(client.admin().nodes()).get(0).address();

    List<SlowSink> sinks = new ArrayList<>();
    List<CompletableFuture<ChunkApi.ReadEnd>> reads = new ArrayList<>();
    ChunkLayout chunk = client.layout("/read").chunks().get(0);
    for (int i = 0; i < CLIENTS; i++) {
      SlowSink sink = new SlowSink();
      sinks.add(sink);
      reads.add(read(address, chunk, sink));
    }
    await("each reader has its first part", () -> sinks.stream().allMatch(s -> s.taken.get() == 1));

    List<FileWriter> writers = new ArrayList<>();
    for (int i = 0; i < CLIENTS; i++) {
      LeaseFs each = cluster.client();
      open.add(each);
      writers.add(each.create("/written-" + i, ONE_CHUNK));
    }
    LeaseFs.join(client.chunkServer(address).fault("slow-disk", List.of("200")));
    for (FileWriter writer : writers) {
      writer.write(content, 0, WRITE_BYTES);
    }
    // Others are served as if nothing were.
    for (int i = 0; i < 2; i++) {
      SlowSink quick = new SlowSink();
      quick.going = true;
      assertThat(read(address, chunk, quick).get(30, TimeUnit.SECONDS).committedLength())
          .isEqualTo(READ_BYTES);
    }
    awaitRenewals(client.chunkServer(address), 3);
    LeaseFs.join(client.chunkServer(address).fault("heal", List.of()));
    sinks.forEach(SlowSink::go);
    for (CompletableFuture<ChunkApi.ReadEnd> read : reads) {
      assertThat(read.get(60, TimeUnit.SECONDS).committedLength()).isEqualTo(READ_BYTES);
    }
    for (FileWriter writer : writers) {
      writer.close();
    }
    for (int i = 0; i < CLIENTS; i++) {
      assertThat(client.find("/written-" + i).orElseThrow().lengthBytes()).isEqualTo(WRITE_BYTES);
    }
    assertThat(server.isAlive()).isTrue();
  }

  /** The server's heartbeats get through while its clients wait. */
  private static void awaitRenewals(ChunkApi server, int count) {
    long[] after = {0};
    long[] seen = {-1};
    await(
        "renewals",
        () -> {
          List<ClusterEvent> page = LeaseFs.join(server.events(after[0], 10_000));
          if (!page.isEmpty()) {
            after[0] = page.get(page.size() - 1).number();
          }
          // the first page is what was before
          seen[0] =
              seen[0] < 0
                  ? 0
                  : seen[0]
                      + page.stream().filter(e -> e.kind() == EventKind.HOLDER_RENEWED).count();
          return seen[0] >= count;
        });
  }

  private CompletableFuture<ChunkApi.ReadEnd> read(
      ServerAddress address, ChunkLayout chunk, SlowSink sink) {
    Channels channels = new Channels("slow", 1);
    open.add(channels);
    return new RemoteChunkServer(channels, address, ANSWER_NANOS)
        .read(
            new ReadRequest(
                chunk.handle(),
                chunk.configuration().version(),
                chunk.seal(),
                0,
                READ_BYTES,
                ReadMode.DEFAULT),
            sink);
  }

  private static void await(String what, BooleanSupplier condition) {
    long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(60);
    while (!condition.getAsBoolean()) {
      assertThat(System.nanoTime()).as(what).isLessThan(deadline);
      LockSupport.parkNanos(20_000_000);
    }
  }
}
