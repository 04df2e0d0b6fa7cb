package io.leasefs.cluster.simulation;

import io.leasefs.chunkserver.ChunkServer;
import io.leasefs.chunkserver.replica.ReplicaAction.Commit;
import io.leasefs.chunkserver.replica.ReplicaAction.Compact;
import io.leasefs.chunkserver.replica.ReplicaCore;
import io.leasefs.chunkserver.replica.ReplicaEvent;
import io.leasefs.chunkserver.replica.ReplicaImage;
import io.leasefs.chunkserver.replica.ReplicaImage.Snapshot;
import io.leasefs.chunkserver.store.ChunkStore;
import io.leasefs.chunkserver.store.StoredChunk;
import io.leasefs.cluster.simulation.Checks.CopyName;
import io.leasefs.cluster.simulation.Swarm.Fault;
import io.leasefs.common.api.Heartbeat.Certainty;
import io.leasefs.common.api.Heartbeat.ReplicaReport;
import io.leasefs.common.api.Heartbeat.ReplicaState;
import io.leasefs.common.edge.Clock;
import io.leasefs.common.error.LeaseFsException;
import io.leasefs.common.lease.LeaseTerms;
import io.leasefs.common.model.ChunkHandle;
import io.leasefs.common.model.Durability;
import io.leasefs.common.model.ServerId;
import io.leasefs.server.disk.simulated.SimulatedDisk;
import java.io.IOException;
import java.util.ArrayDeque;
import java.util.EnumSet;
import java.util.List;
import java.util.Random;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * What would be left of a chunkserver, if its process or its machine ended now: tried on a fork of
 * its disk, with the code that a restart runs, while the server itself goes on. A loss at one
 * server is mostly hidden by the others, and the loss of the last one is rare; here each shows for
 * itself. Each copy must come back with
 *
 * <ul>
 *   <li>what it has promised (I3);
 *   <li>what its core counts as stored, and what was acknowledged with it as a member, or, where
 *       its policy does not keep that through a power cut, the mark that it may lack something
 *       (I6);
 *   <li>no damage, and all bytes as their checksums say;
 *   <li>the same state and content as far as the server has committed: table, history, fence, the
 *       dead and the forgotten (I10).
 * </ul>
 *
 * <p>Journals are compacted seldom in the short life of a simulated chunk: in every third rehearsal
 * all of them are, on the fork, before its machine loses power. In every second one the power fails
 * once more, right after the restart: what was found then must be found again, whoever had stored
 * it.
 */
final class Rehearsal {
  /** What is on a disk need not come back from it. */
  private static final Set<Fault> ROT =
      EnumSet.of(Fault.BIT_FLIP, Fault.LOST_WRITE, Fault.JOURNAL_ROT);

  private final EventLoop loop;
  private final Checks checks;
  private final LeaseTerms terms;
  private final Random random;
  private final boolean disksKeep;
  private final ArrayDeque<Runnable> tasks = new ArrayDeque<>();

  /**
   * @param random a source of chance of its own: who rehearses changes nothing
   */
  Rehearsal(EventLoop loop, Checks checks, Swarm swarm, Random random) {
    this.loop = loop;
    this.checks = checks;
    this.terms = swarm.terms();
    this.random = random;
    this.disksKeep = swarm.faults().stream().noneMatch(ROT::contains);
  }

  /**
   * Ends a server on paper.
   *
   * @param boot of the kernel that it runs on
   */
  void of(ServerId id, ChunkServer server, Host host, SimulatedDisk disk, String boot) {
    if (!disksKeep || disk.isDead()) {
      return;
    }
    boolean compacts = random.nextInt(3) == 0;
    boolean power = compacts || random.nextBoolean();
    SimulatedDisk fork = disk.fork(random.nextLong());
    ChunkStore store;
    try {
      if (compacts) {
        compact(open(id, host, fork, boot));
      }
      if (power) {
        fork.cutPower();
      }
      store = open(id, host, fork, power ? boot + "-rehearsed" : boot);
      if (random.nextBoolean()) {
        store = again(id, host, fork, boot, store);
        power = true;
      }
    } catch (IOException | LeaseFsException e) {
      loop.violated("START", host + " would not start again: " + e);
      return;
    }
    for (ChunkServer.Copy copy : server.copies()) {
      ReplicaReport report = copy.core().report();
      boolean works = report.state() != ReplicaState.DAMAGED && !copy.stored().queue().isFailed();
      StoredChunk left = store.chunk(report.spec().handle()).orElse(null);
      if (works && left != null) {
        marked(host, copy, report, left.image());
      }
      if (works && report.state() != ReplicaState.LEARNER) {
        compare(host, copy, report, left, power);
      }
    }
  }

  /** The power fails right after a restart. */
  private ChunkStore again(
      ServerId id, Host host, SimulatedDisk fork, String boot, ChunkStore found)
      throws IOException {
    fork.cutPower();
    ChunkStore store = open(id, host, fork, boot + "-again");
    for (StoredChunk before : found.chunks()) {
      if (before.image().certainty() == Certainty.DAMAGED) {
        continue; // that an fsync has failed says nothing of a disk that has lost its cache
      }
      StoredChunk after = store.chunk(before.handle()).orElse(null);
      if (after == null
          || after.image().promised() < before.image().promised()
          || (last(after.image()) < last(before.image())
              && (before.image().spec().durability() == Durability.SYNCED
                  || after.image().certainty() == Certainty.CERTAIN))
          || (before.image().learner() && !after.image().learner())
          || (before.image().certainty() == Certainty.UNCERTAIN
              && after.image().certainty() == Certainty.CERTAIN)) {
        loop.violated(
            "I6",
            "chunk "
                + before.handle()
                + " at "
                + host
                + " would be found as "
                + describe(before)
                + ", and after a power cut as "
                + (after == null ? "none" : describe(after)));
      }
    }
    return store;
  }

  private static String describe(StoredChunk chunk) {
    ReplicaImage image = chunk.image();
    return image.spec().durability()
        + " "
        + image.certainty()
        + (image.learner() ? " learner" : "")
        + " with promise "
        + image.promised()
        + " and serial "
        + last(image);
  }

  private static long last(ReplicaImage image) {
    return image.snapshot().serial() + image.tail().size();
  }

  /** As a core does when its store asks it to. */
  private void compact(ChunkStore store) {
    for (StoredChunk chunk : store.chunks()) {
      if (chunk.image().certainty() != Certainty.DAMAGED) {
        chunk.queue().tell(event -> {});
        Snapshot snapshot = ReplicaCore.restarted(chunk.image(), terms).snapshot();
        chunk.queue().submit(List.of(new Compact(1, snapshot)));
      }
    }
    runTasks();
  }

  private void runTasks() {
    while (!tasks.isEmpty()) {
      tasks.remove().run();
    }
  }

  private ChunkStore open(ServerId id, Host host, SimulatedDisk fork, String boot)
      throws IOException {
    Clock clock =
        new Clock() {
          @Override
          public long nanos() {
            return host.nanos();
          }

          @Override
          public long wallMillis() {
            return 0;
          }
        };
    return ChunkStore.open(
        new ChunkStore.Surroundings(
            fork,
            id,
            tasks::add,
            scans -> scans.forEach(Runnable::run),
            (delayNanos, task) -> () -> {},
            clock,
            random::nextLong,
            boot,
            100,
            4));
  }

  /** What a copy says against itself it must not forget. */
  private void marked(Host host, ChunkServer.Copy live, ReplicaReport report, ReplicaImage image) {
    boolean learner = report.state() == ReplicaState.LEARNER;
    boolean uncertain = live.core().certainty() == Certainty.UNCERTAIN;
    if ((learner && !image.learner() && image.certainty() != Certainty.DAMAGED)
        || (uncertain && image.certainty() == Certainty.CERTAIN)) {
      loop.violated(
          "I11",
          "the copy of chunk "
              + report.spec().handle()
              + " at "
              + host
              + ", "
              + (learner ? "a learner" : "uncertain")
              + ", would come back as "
              + (image.learner() ? "a learner, " : "")
              + image.certainty());
    }
  }

  private void compare(
      Host host,
      ChunkServer.Copy live,
      ReplicaReport report,
      @Nullable StoredChunk left,
      boolean power) {
    ChunkHandle chunk = report.spec().handle();
    boolean forced = !power || report.spec().durability() == Durability.SYNCED;
    CopyName name = new CopyName(live.core().self().server(), chunk, report.replica());
    long promised = checks.promised(name);
    long acknowledged = checks.acknowledged(name);
    String what =
        "the copy of chunk "
            + chunk
            + " at "
            + host
            + " would come back after "
            + (power ? "a power cut" : "a kill");
    if (left == null) {
      if (promised > 1 || (forced && acknowledged > 0)) {
        loop.violated("I6", what + " as none; promised " + promised + ", " + acknowledged);
      }
      return;
    }
    ReplicaImage image = left.image();
    long last = last(image);
    long stored = Math.max(acknowledged, live.core().durableSerial());
    if (image.certainty() == Certainty.DAMAGED) {
      loop.violated("I6", what + " damaged");
    }
    if (image.promised() < promised) {
      loop.violated("I3", what + " with promise " + image.promised() + " after " + promised);
    }
    if (last < stored && (forced || image.certainty() == Certainty.CERTAIN)) {
      loop.violated(
          "I6",
          what
              + " "
              + image.certainty()
              + " with serial "
              + last
              + ", stored "
              + live.core().durableSerial()
              + ", acknowledged "
              + acknowledged);
    }
    if (live.stored().committedSerial() <= last) {
      sameContent(what, live.stored(), left);
    }
    Snapshot before = live.core().snapshot();
    if (before.serial() <= last) {
      Snapshot after = ReplicaCore.restarted(asOf(image, before.serial()), terms).snapshot();
      if (after.serial() == before.serial() && !withoutChecksum(after, before).equals(before)) {
        loop.violated("I10", what + " as " + after + ", and was " + before);
      }
    }
  }

  /** What is left, once it knows to be committed what the server knows. */
  private static ReplicaImage asOf(ReplicaImage image, long committed) {
    return new ReplicaImage(
        image.spec(),
        image.self(),
        image.promised(),
        image.learner(),
        image.certainty(),
        image.snapshot(),
        Math.max(committed, image.committedSerial()),
        image.tail());
  }

  /** The checksum of a seal is computed anew by whoever does not find it. */
  private static Snapshot withoutChecksum(Snapshot after, Snapshot before) {
    return after.seal().isPresent()
            && before.seal().isPresent()
            && after.seal().get().serial() == before.seal().get().serial()
            && (after.seal().get().checksum().isEmpty() || before.seal().get().checksum().isEmpty())
        ? new Snapshot(
            after.serial(),
            after.lengthBytes(),
            after.history(),
            after.rows(),
            after.deadSessions(),
            after.forgottenBelow(),
            after.forgottenExceptions(),
            after.fenceFloor(),
            before.seal())
        : after;
  }

  private void sameContent(String what, StoredChunk live, StoredChunk left) {
    long serial = live.committedSerial();
    if (left.committedSerial() < serial) {
      left.queue()
          .tell(
              event -> {
                if (event instanceof ReplicaEvent.DiskFailed failed) {
                  loop.violated("I6", what + " and could not go on: " + failed.why());
                }
              });
      left.queue().submit(List.of(new Commit(1, serial, live.committedLength())));
      runTasks();
    }
    if (left.committedSerial() == serial
        && (left.committedLength() != live.committedLength()
            || left.checksum() != live.checksum())) {
      loop.violated("I10", what + " with other content as of serial " + serial);
    }
    try {
      List<Long> bad = left.badBlocks(0, Long.MAX_VALUE);
      if (!bad.isEmpty()) {
        loop.violated("I6", what + " with damaged blocks " + bad);
      }
    } catch (IOException e) {
      loop.violated("I6", what + " and cannot be read: " + e.getMessage());
    }
  }
}
