package io.leasefs.common.rpc;

import static org.assertj.core.api.Assertions.assertThat;

import com.sun.management.ThreadMXBean;
import io.leasefs.common.api.ChunkApi;
import io.leasefs.common.api.Frame;
import io.leasefs.common.api.FrameAnswer;
import io.leasefs.common.checksum.Checksums;
import io.leasefs.common.model.ChunkHandle;
import io.leasefs.common.model.ServerAddress;
import java.lang.management.ManagementFactory;
import java.nio.ByteBuffer;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Consumer;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** At most 0.1 byte of heap is allocated for each byte of payload, at either end. */
class AllocationTest {
  private static final int MIB = 1 << 20;
  private static final int WARM_UP = 40;
  private static final int MESSAGES = 200;
  private static final double LIMIT = 0.1;

  private final ThreadMXBean threads = (ThreadMXBean) ManagementFactory.getThreadMXBean();
  private final Servers servers = new Servers("alloc-server", 1);
  private final Channels channels = new Channels("alloc-client", 1);

  @AfterEach
  void stop() {
    channels.close();
    servers.close();
  }

  private RemoteChunkServer remote(ChunkApi chunks) {
    ServerAddress at =
        servers.listen(new ServerAddress("127.0.0.1", 0), new ChunkServerEndpoint(chunks));
    return new RemoteChunkServer(channels, at, TimeUnit.SECONDS.toNanos(20));
  }

  /** Bytes allocated so far by this end's loop, and the thread that calls. */
  private long allocated(String end) {
    long sum = 0;
    for (Thread thread : Thread.getAllStackTraces().keySet()) {
      if (thread.getName().startsWith(end) || thread == Thread.currentThread()) {
        sum += threads.getThreadAllocatedBytes(thread.getId());
      }
    }
    return sum;
  }

  private static void assertFewBytes(String end, long before, long after) {
    double each = (after - before) / ((double) MESSAGES * MIB);
    System.out.printf("%s: %.4f bytes of heap per byte of payload%n", end, each);
    assertThat(each).as(end).isLessThanOrEqualTo(LIMIT);
  }

  /** Releases each payload and answers at once. */
  private static final class Writes extends FakeChunks {
    @Override
    public FrameStream mutate(Consumer<NamedAnswer> answers, Consumer<String> broken) {
      return new FrameStream() {
        @Override
        public void send(Frame frame) {
          PayloadPool.release(frame.payload());
          answers.accept(answer(frame, new FrameAnswer.NotApplied()));
        }

        @Override
        public boolean isReady() {
          return true;
        }

        @Override
        public void onReady(Runnable task) {}

        @Override
        public void close() {}
      };
    }
  }

  @Test
  void frames() {
    AtomicInteger answers = new AtomicInteger();
    ChunkApi.FrameStream stream =
        remote(new Writes()).mutate(answer -> answers.incrementAndGet(), why -> {});
    ByteBuffer payload = ByteBuffer.allocateDirect(MIB);
    for (int i = 1; i <= WARM_UP; i++) {
      sendAndAwait(stream, i, payload, answers);
    }
    long server = allocated("alloc-server");
    long client = allocated("alloc-client");
    for (int i = WARM_UP + 1; i <= WARM_UP + MESSAGES; i++) {
      sendAndAwait(stream, i, payload, answers);
    }
    assertFewBytes("alloc-server", server, allocated("alloc-server"));
    assertFewBytes("alloc-client", client, allocated("alloc-client"));
    assertThat(PayloadPool.SHARED.idleBytes()).isPositive();
  }

  private static void sendAndAwait(
      ChunkApi.FrameStream stream, int number, ByteBuffer payload, AtomicInteger answers) {
    stream.send(StreamsTest.frame(number, payload));
    Await.until("answer " + number, () -> answers.get() == number);
  }

  /** Serves one direct buffer again and again. */
  private static final class Reads extends FakeChunks {
    private final ByteBuffer payload = ByteBuffer.allocateDirect(MIB);
    private final Checksums checksums = Checksums.of(payload, Frame.PIECE);

    @Override
    public CompletableFuture<ReadEnd> read(ReadRequest request, Sink<ReadPart> parts) {
      CompletableFuture<ReadEnd> end = new CompletableFuture<>();
      long[] done = {0};
      Runnable step =
          () -> {
            while (done[0] < request.lengthBytes() && parts.isReady()) {
              parts.accept(new ReadPart(done[0], checksums, payload));
              done[0] += MIB;
            }
            if (done[0] >= request.lengthBytes()) {
              end.complete(new ReadEnd(done[0], 1, true));
            }
          };
      parts.onReady(step);
      step.run();
      return end;
    }
  }

  @Test
  void readParts() throws Exception {
    RemoteChunkServer remote = remote(new Reads());
    read(remote, WARM_UP);
    long server = allocated("alloc-server");
    long client = allocated("alloc-client");
    read(remote, MESSAGES);
    assertFewBytes("alloc-server", server, allocated("alloc-server"));
    assertFewBytes("alloc-client", client, allocated("alloc-client"));
  }

  private static void read(RemoteChunkServer remote, int parts) throws Exception {
    AtomicInteger seen = new AtomicInteger();
    ChunkApi.ReadRequest request =
        new ChunkApi.ReadRequest(
            new ChunkHandle(1),
            1,
            Optional.empty(),
            0,
            (long) parts * MIB,
            ChunkApi.ReadMode.DEFAULT);
    remote
        .read(
            request,
            part -> {
              assertThat(part.payload().isDirect()).isTrue();
              seen.incrementAndGet();
            })
        .get(30, TimeUnit.SECONDS);
    assertThat(seen).hasValue(parts);
  }
}
