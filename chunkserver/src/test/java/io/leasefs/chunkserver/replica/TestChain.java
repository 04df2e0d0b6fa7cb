package io.leasefs.chunkserver.replica;

import io.leasefs.common.api.Frame;
import io.leasefs.common.api.FrameAnswer;
import io.leasefs.common.api.Heartbeat;
import io.leasefs.common.api.Heartbeat.Certainty;
import io.leasefs.common.api.Mutation;
import io.leasefs.common.api.MutationKind;
import io.leasefs.common.api.PeerMessage;
import io.leasefs.common.checksum.Checksums;
import io.leasefs.common.lease.LeaseTerms;
import io.leasefs.common.model.ChunkHandle;
import io.leasefs.common.model.ChunkSpec;
import io.leasefs.common.model.Configuration;
import io.leasefs.common.model.DiskId;
import io.leasefs.common.model.Durability;
import io.leasefs.common.model.FileId;
import io.leasefs.common.model.LeaseGrant;
import io.leasefs.common.model.Member;
import io.leasefs.common.model.ReplicaId;
import io.leasefs.common.model.ServerId;
import io.leasefs.common.model.SessionId;
import java.nio.ByteBuffer;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;

/**
 * The fixture of the replica tests: cores in a chain a - b - c, version 1, with disks that do what
 * they are asked when told to, and a network that delivers when told to.
 *
 * <pre>
 *   client -> a (primary) -> b -> c
 * </pre>
 */
final class TestChain {
  static final LeaseTerms TERMS = LeaseTerms.ofTtl(10_000_000_000L);
  static final long MILLI = 1_000_000L;
  static final FileId FILE = new FileId(7);
  static final ChunkHandle CHUNK = new ChunkHandle(0x51c);
  static final ChunkSpec SPEC = new ChunkSpec(CHUNK, FILE, 1 << 20, Durability.REPLICATED);

  final Map<String, Node> nodes = new LinkedHashMap<>();
  final ArrayDeque<Sent> network = new ArrayDeque<>();
  final Set<String> cut = new LinkedHashSet<>();
  long now = 1_000_000_000L;
  private long tickets;

  record Sent(ServerId from, ServerId to, PeerMessage message) {}

  /** One server with one copy. */
  final class Node {
    final Member self;
    final ReplicaCore core;
    final List<ReplicaAction> actions = new ArrayList<>();
    final ArrayDeque<ReplicaAction.DiskAction> disk = new ArrayDeque<>();
    final List<Mutation> journal = new ArrayList<>();
    boolean diskRuns = true;

    Node(Member self, ReplicaImage image, boolean born) {
      this.self = self;
      core = born ? ReplicaCore.born(image, TERMS) : ReplicaCore.restarted(image, TERMS);
      journal.addAll(image.tail());
    }

    void step(ReplicaEvent event) {
      List<ReplicaAction> out = core.step(event, now);
      core.invariant();
      for (ReplicaAction action : out) {
        if (action instanceof ReplicaAction.Send send) {
          network.add(new Sent(self.server(), send.to(), send.message()));
        } else if (action instanceof ReplicaAction.DiskAction work) {
          disk.add(work);
        } else {
          actions.add(action);
        }
      }
      if (diskRuns) {
        runDisk();
      }
    }

    void runDisk() {
      while (!disk.isEmpty()) {
        runOne();
      }
    }

    void runOne() {
      ReplicaAction.DiskAction work = disk.remove();
      switch (work) {
        case ReplicaAction.Append append -> journal.add(append.mutation());
        case ReplicaAction.Cut cutTo -> journal.removeIf(m -> m.serial() > cutTo.serial());
        case ReplicaAction.ReadBack read -> {
          step(
              new ReplicaEvent.RecordsRead(
                  read.id(),
                  journal.stream().filter(m -> m.serial() >= read.fromSerial()).toList()));
        }
        case ReplicaAction.ComputeChecksum sum ->
            step(new ReplicaEvent.Checksummed(sum.id(), (int) (sum.serial() * 1000)));
        case ReplicaAction.Commit ignored -> {}
        case ReplicaAction.StorePromise ignored -> {}
        case ReplicaAction.StoreStanding ignored -> {}
        case ReplicaAction.Compact ignored -> {}
      }
      step(new ReplicaEvent.DiskDone(work.id()));
    }

    <A extends ReplicaAction> List<A> all(Class<A> type) {
      return actions.stream().filter(type::isInstance).map(type::cast).toList();
    }

    Optional<FrameAnswer> answer(long ticket) {
      return all(ReplicaAction.Answer.class).stream()
          .filter(a -> a.ticket() == ticket)
          .map(ReplicaAction.Answer::answer)
          .reduce((first, second) -> second);
    }

    long committed() {
      return core.report().committedSerial();
    }

    long last() {
      return core.report().lastSerial();
    }

    void tick() {
      step(new ReplicaEvent.Tick());
    }
  }

  TestChain(String... names) {
    for (String name : names) {
      add(name, ReplicaImage.newborn(SPEC, member(name), Certainty.CERTAIN), true);
    }
  }

  Node add(String name, ReplicaImage image, boolean born) {
    Node node = new Node(member(name), image, born);
    nodes.put(name, node);
    return node;
  }

  static Member member(String name) {
    return new Member(
        new ServerId(name), new DiskId("disk-" + name), new ReplicaId(name.charAt(0)));
  }

  Node node(String name) {
    Node node = nodes.get(name);
    if (node == null) {
      throw new IllegalArgumentException(name);
    }
    return node;
  }

  static LeaseGrant grant(long version, long firstSerial, String... members) {
    return new LeaseGrant(
        SPEC,
        version,
        new Configuration(
            version,
            Optional.of(new ServerId(members[0])),
            Arrays.stream(members).map(TestChain::member).toList(),
            firstSerial),
        Map.of());
  }

  /** Makes the first of these primary, with a lease that never ends. */
  void grantTo(long version, long firstSerial, String... members) {
    node(members[0])
        .step(new ReplicaEvent.Granted(grant(version, firstSerial, members), at -> true));
  }

  long append(String at, long version, long session, long sequence, String text) {
    return frame(at, frame(version, session, sequence, MutationKind.APPEND, 0, text));
  }

  long frame(String at, Frame frame) {
    long ticket = ++tickets;
    node(at).step(new ReplicaEvent.FrameArrived(ticket, frame));
    return ticket;
  }

  static Frame frame(
      long version, long session, long sequence, MutationKind kind, long offset, String text) {
    return frame(version, session, sequence, 1, 0, kind, offset, text);
  }

  static Frame frame(
      long version,
      long session,
      long sequence,
      long floor,
      long after,
      MutationKind kind,
      long offset,
      String text) {
    ByteBuffer payload = ByteBuffer.wrap(text.getBytes(java.nio.charset.StandardCharsets.UTF_8));
    return new Frame(
        FILE,
        CHUNK,
        version,
        0,
        new SessionId(session),
        sequence,
        floor,
        after,
        kind,
        offset,
        false,
        Checksums.of(payload, Frame.PIECE),
        payload,
        Optional.empty());
  }

  /** Delivers all that is under way, and what that leads to. */
  void deliverAll() {
    while (!network.isEmpty()) {
      deliver(network.remove());
    }
  }

  void deliver(Sent sent) {
    Node to = nodes.get(sent.to().name());
    if (to != null && !cut.contains(sent.to().name()) && !cut.contains(sent.from().name())) {
      to.step(new ReplicaEvent.PeerArrived(sent.from(), sent.message()));
    }
  }

  /** Lets this much time pass, with ticks when they are due, and all messages delivered. */
  void pass(long nanos) {
    long end = now + nanos;
    deliverAll();
    while (now < end) {
      now = Math.min(end, now + 10 * MILLI);
      for (Node node : List.copyOf(nodes.values())) {
        if (!cut.contains(node.self.server().name()) && node.core.wakeAt() <= now) {
          node.tick();
        }
      }
      deliverAll();
    }
  }

  void seal(long version, String... names) {
    for (String name : names) {
      node(name)
          .step(
              new ReplicaEvent.Commanded(
                  new Heartbeat.SealCommand(SPEC, member(name), version, Optional.empty())));
    }
  }

  void recover(String seed, long version, boolean seals, boolean reopen, String... targets) {
    node(seed)
        .step(
            new ReplicaEvent.Commanded(
                new Heartbeat.RecoverCommand(
                    SPEC,
                    version,
                    Arrays.stream(targets)
                        .map(
                            t ->
                                new Heartbeat.Target(
                                    member(t),
                                    new io.leasefs.common.model.ServerAddress("localhost", 1)))
                        .toList(),
                    seals,
                    reopen,
                    0)));
  }
}
