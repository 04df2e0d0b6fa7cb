package io.leasefs.chunkserver.store;

import static org.assertj.core.api.Assertions.assertThat;

import io.leasefs.chunkserver.replica.ReplicaAction.Append;
import io.leasefs.chunkserver.replica.ReplicaAction.Commit;
import io.leasefs.chunkserver.replica.ReplicaEvent;
import io.leasefs.common.api.ChunkApi.ReadPart;
import io.leasefs.common.api.Heartbeat.Certainty;
import io.leasefs.common.api.Mutation;
import io.leasefs.common.edge.NanoTimeClock;
import io.leasefs.common.model.ChunkHandle;
import io.leasefs.common.model.ChunkSpec;
import io.leasefs.common.model.Durability;
import io.leasefs.common.model.FileId;
import io.leasefs.common.model.ReplicaId;
import io.leasefs.common.model.ServerId;
import io.leasefs.server.disk.LocalDisk;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Real threads and a real disk: readers while the chunk is overwritten, cut and appended to. */
class ConcurrentReadTest {
  @TempDir Path folder;

  @Test
  void readersNeverSeeAMixtureWhileTheChunkIsOverwritten() throws Exception {
    LocalDisk disk = new LocalDisk(folder);
    try (ExecutorService executor = Executors.newVirtualThreadPerTaskExecutor();
        ExecutorService readerThreads = Executors.newFixedThreadPool(2);
        ScheduledExecutorService timers = Executors.newSingleThreadScheduledExecutor()) {
      ChunkStore store =
          ChunkStore.open(
              new ChunkStore.Surroundings(
                  disk,
                  new ServerId("cs1"),
                  executor,
                  tasks -> tasks.forEach(Runnable::run),
                  (delay, task) -> {
                    Future<?> pending = timers.schedule(task, delay, TimeUnit.NANOSECONDS);
                    return () -> pending.cancel(false);
                  },
                  new NanoTimeClock(),
                  new Random(1)::nextLong,
                  "boot",
                  64,
                  2));
      StoredChunk chunk =
          store.create(
              new ChunkSpec(new ChunkHandle(0x51c), new FileId(7), 64 << 20, Durability.REPLICATED),
              new ReplicaId(1),
              Certainty.CERTAIN);
      LinkedBlockingQueue<ReplicaEvent> events = new LinkedBlockingQueue<>();
      chunk.queue().tell(events::add);
      AtomicBoolean over = new AtomicBoolean();
      List<Future<Long>> readers =
          List.of(
              readerThreads.submit(() -> readUntil(over, chunk, 1)),
              readerThreads.submit(() -> readUntil(over, chunk, 2)));
      ChunkModel model = new ChunkModel(new Random(3));
      try {
        write(chunk, model, events);
      } finally {
        over.set(true);
      }
      for (Future<Long> reader : readers) {
        assertThat(reader.get(30, TimeUnit.SECONDS)).isPositive();
      }
      byte[] expected = model.contentAt(model.lastSerial());
      assertThat(chunk.badBlocks(0, 1 << 12)).isEmpty();
      ReadPart all = chunk.read(0, 1 << 28, Long.MAX_VALUE, ByteBuffer::allocate);
      assertThat(all.payload()).isEqualTo(ByteBuffer.wrap(expected));
      awaitInPlace(chunk);
      store.stopClean();
      assertThat(Files.readAllBytes(folder.resolve("chunks/1c/51c.data"))).isEqualTo(expected);
    }
  }

  private static void write(
      StoredChunk chunk, ChunkModel model, LinkedBlockingQueue<ReplicaEvent> events)
      throws InterruptedException {
    long id = 1;
    for (int i = 0; i < 200; i++) {
      Mutation mutation = model.next(true);
      chunk
          .queue()
          .submit(
              List.of(
                  new Append(id, mutation, false),
                  new Commit(id + 1, mutation.serial(), mutation.chunkLength())));
      id += 2;
      awaitDone(events, id - 1);
    }
  }

  /** Every read verifies its blocks; a mixture would be CORRUPT. */
  private static Long readUntil(AtomicBoolean over, StoredChunk chunk, long seed) throws Exception {
    Random random = new Random(seed);
    ByteBuffer buffer = ByteBuffer.allocateDirect(1 << 20);
    long reads = 0;
    while (!over.get() || reads == 0) {
      long length = chunk.committedLength();
      if (length > 0) {
        var _ =
            chunk.read(
                random.nextLong(length),
                1 + random.nextInt(300_000),
                Long.MAX_VALUE,
                size -> buffer);
        reads++;
      }
    }
    return reads;
  }

  private static void awaitDone(LinkedBlockingQueue<ReplicaEvent> events, long id)
      throws InterruptedException {
    while (true) {
      ReplicaEvent event = events.poll(30, TimeUnit.SECONDS);
      assertThat(event).isNotNull().isNotInstanceOf(ReplicaEvent.DiskFailed.class);
      if (event instanceof ReplicaEvent.DiskDone done && done.throughId() >= id) {
        return;
      }
    }
  }

  private static void awaitInPlace(StoredChunk chunk) throws Exception {
    long deadline = System.nanoTime() + 30_000_000_000L;
    while (System.nanoTime() < deadline) {
      CompletableFuture<Boolean> inPlace = new CompletableFuture<>();
      chunk.queue().mail(() -> inPlace.complete(!chunk.file().content().hasOverlays()));
      if (inPlace.get(30, TimeUnit.SECONDS)) {
        return;
      }
    }
    throw new AssertionError("overwrites are not in place after 30 s");
  }
}
