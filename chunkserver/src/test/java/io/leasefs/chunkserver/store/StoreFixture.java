package io.leasefs.chunkserver.store;

import io.leasefs.chunkserver.replica.ReplicaAction.DiskAction;
import io.leasefs.chunkserver.replica.ReplicaEvent;
import io.leasefs.common.edge.Clock;
import io.leasefs.common.edge.Scheduler;
import io.leasefs.common.model.ChunkHandle;
import io.leasefs.common.model.ServerId;
import io.leasefs.server.disk.simulated.SimulatedDisk;
import java.io.IOException;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import java.util.PriorityQueue;
import java.util.Random;

/** A store on a simulated disk, run by hand: nothing happens but in {@link #runAll}. */
final class StoreFixture {
  private record Timer(long at, long number, Runnable task) {}

  final SimulatedDisk disk;
  final List<ReplicaEvent> events = new ArrayList<>();
  String bootId = "boot-1";
  private final ArrayDeque<Runnable> tasks = new ArrayDeque<>();
  private final PriorityQueue<Timer> timers =
      new PriorityQueue<>(
          (a, b) ->
              a.at() != b.at()
                  ? Long.compare(a.at(), b.at())
                  : Long.compare(a.number(), b.number()));
  private final Random random;
  private long now = 1;
  private long timerNumber;

  private final Clock clock =
      new Clock() {
        @Override
        public long nanos() {
          return now;
        }

        @Override
        public long wallMillis() {
          return 0;
        }
      };

  private final Scheduler scheduler =
      (delay, task) -> {
        Timer timer = new Timer(now + delay, timerNumber++, task);
        timers.add(timer);
        return () -> timers.remove(timer);
      };

  StoreFixture(long seed) {
    disk = new SimulatedDisk(seed, 1L << 30);
    random = new Random(seed);
  }

  /** Starts a store on whatever the disk has now. */
  ChunkStore open() throws IOException {
    tasks.clear();
    timers.clear();
    events.clear();
    return ChunkStore.open(
        new ChunkStore.Surroundings(
            disk,
            new ServerId("cs1"),
            tasks::add,
            scan -> scan.forEach(Runnable::run),
            scheduler,
            clock,
            random::nextLong,
            bootId,
            16,
            2));
  }

  /** The chunk, whose events are collected here. */
  StoredChunk chunk(ChunkStore store, ChunkHandle handle) {
    StoredChunk chunk = store.chunk(handle).orElseThrow();
    chunk.queue().tell(events::add);
    runAll();
    return chunk;
  }

  void submit(StoredChunk chunk, DiskAction... actions) {
    chunk.queue().submit(List.of(actions));
  }

  void runAll() {
    while (runOne()) {
      // until nothing is left
    }
  }

  /** One task; false where there is none. */
  boolean runOne() {
    Runnable task = tasks.poll();
    if (task != null) {
      task.run();
    }
    return task != null;
  }

  void pass(long nanos) {
    now += nanos;
    while (!timers.isEmpty() && timers.peek().at() <= now) {
      timers.remove().task().run();
      runAll();
    }
  }

  /** The highest id that was told as done. */
  long doneThrough() {
    long done = 0;
    for (ReplicaEvent event : events) {
      if (event instanceof ReplicaEvent.DiskDone told) {
        done = Math.max(done, told.throughId());
      }
    }
    return done;
  }

  /** The power fails; another kernel comes up. */
  void cutPower() {
    disk.cutPower();
    bootId = bootId + "'";
  }
}
