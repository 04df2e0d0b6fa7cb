package io.leasefs.chunkserver;

import static org.assertj.core.api.Assertions.assertThat;

import io.leasefs.chunkserver.session.ServerRecord;
import io.leasefs.chunkserver.store.ChunkStore;
import io.leasefs.common.api.ChunkApi;
import io.leasefs.common.api.ChunkApi.NamedAnswer;
import io.leasefs.common.api.ChunkApi.ReadEnd;
import io.leasefs.common.api.ChunkApi.ReadMode;
import io.leasefs.common.api.Frame;
import io.leasefs.common.api.FrameAnswer;
import io.leasefs.common.api.MutationKind;
import io.leasefs.common.checksum.Checksums;
import io.leasefs.common.edge.NanoTimeClock;
import io.leasefs.common.lease.LeaseTerms;
import io.leasefs.common.model.ChunkHandle;
import io.leasefs.common.model.ChunkSpec;
import io.leasefs.common.model.Configuration;
import io.leasefs.common.model.DiskId;
import io.leasefs.common.model.Durability;
import io.leasefs.common.model.Endpoints;
import io.leasefs.common.model.FileId;
import io.leasefs.common.model.LeaseGrant;
import io.leasefs.common.model.Member;
import io.leasefs.common.model.ReplicaId;
import io.leasefs.common.model.ServerAddress;
import io.leasefs.common.model.ServerId;
import io.leasefs.common.model.SessionId;
import io.leasefs.common.rpc.Channels;
import io.leasefs.common.rpc.ChunkServerEndpoint;
import io.leasefs.common.rpc.PayloadPool;
import io.leasefs.common.rpc.RemoteChunkServer;
import io.leasefs.common.rpc.Servers;
import io.leasefs.server.disk.LocalDisk;
import io.leasefs.server.events.EventLog;
import io.leasefs.server.threads.SecureChance;
import io.leasefs.server.threads.ThreadPool;
import io.leasefs.server.threads.TimerThread;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Random;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentSkipListMap;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.zip.CRC32C;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Three servers on real disks, real threads and real connections; only the master is by script. */
@Timeout(60)
class LoopbackTest {
  private static final LeaseTerms TERMS = LeaseTerms.ofTtl(10_000_000_000L);
  private static final ChunkHandle CHUNK = new ChunkHandle(0x51c);
  private static final FileId FILE = new FileId(3);
  private static final ChunkSpec SPEC = new ChunkSpec(CHUNK, FILE, 64 << 20, Durability.REPLICATED);
  private static final long CLIENT = 77;
  private static final int FRAMES = 20;

  @TempDir Path folder;

  private final List<AutoCloseable> open = new ArrayList<>();
  private final ThreadPool masterThread = new ThreadPool("master", 1);
  private final FakeMaster master = new FakeMaster(masterThread, TERMS);
  private final Channels clientChannels = new Channels("client", 1);
  private final Map<ServerId, ServerAddress> addresses = new TreeMap<>();
  private final Map<ServerId, Member> members = new TreeMap<>();
  private final Map<ServerId, ChunkServer> servers = new TreeMap<>();

  @BeforeEach
  void start() throws Exception {
    open.add(masterThread);
    open.add(clientChannels);
    for (String name : List.of("cs1", "cs2", "cs3")) {
      start(new ServerId(name));
    }
    long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(10);
    while (servers.values().stream().anyMatch(s -> !s.standing().registered())) {
      assertThat(System.nanoTime()).as("registered in time").isLessThan(deadline);
      Thread.onSpinWait();
    }
    List<Member> chain = List.copyOf(members.values());
    master.grant(
        chain.get(0).server(),
        new LeaseGrant(
            SPEC,
            1_001,
            new Configuration(1, Optional.of(chain.get(0).server()), chain, 0),
            addresses));
  }

  private void start(ServerId id) throws IOException {
    NanoTimeClock clock = new NanoTimeClock();
    TimerThread timer = keep(new TimerThread("timer-" + id));
    ThreadPool disk = keep(new ThreadPool("disk-" + id, 8));
    ThreadPool pool = keep(new ThreadPool("chunk-" + id, 4));
    ThreadPool heartbeat = keep(new ThreadPool("heartbeat-" + id, 1));
    Channels peers = keep(new Channels("peers-" + id, 1));
    LocalDisk local = new LocalDisk(folder.resolve(id.name()));
    ChunkStore store =
        ChunkStore.open(
            new ChunkStore.Surroundings(
                local,
                id,
                disk,
                tasks -> tasks.forEach(Runnable::run),
                timer,
                clock,
                new SecureChance(),
                "boot",
                100,
                4));
    ChunkServer server =
        new ChunkServer(
            ChunkServerConfig.of(
                id, "rack-" + id, "boot", List.of(ServerAddress.parse("127.0.0.1:1"))),
            new ChunkServer.Edges(
                clock,
                timer,
                pool,
                disk,
                heartbeat,
                new SecureChance(),
                (peer, address) -> new RemoteChunkServer(peers, address, 5_000_000_000L),
                address -> master,
                PayloadPool::release),
            store,
            ServerRecord.open(local),
            new EventLog(id, clock::nanos, clock::wallMillis, 1_000, event -> {}),
            Optional.empty());
    Servers listener = keep(new Servers("listen-" + id, 1));
    ServerAddress bound =
        listener.listen(ServerAddress.parse("127.0.0.1:0"), new ChunkServerEndpoint(server));
    DiskId diskId = store.diskId();
    addresses.put(id, bound);
    members.put(id, new Member(id, diskId, new ReplicaId(10 + members.size())));
    servers.put(id, server);
    server.start(Endpoints.of(bound));
  }

  private <T extends AutoCloseable> T keep(T part) {
    open.add(part);
    return part;
  }

  @AfterEach
  void stop() throws Exception {
    for (ChunkServer server : servers.values()) {
      boolean _ = server.stop().get(10, TimeUnit.SECONDS);
    }
    for (AutoCloseable part : open.reversed()) {
      part.close();
    }
  }

  @Test
  void streamOfMegabytesIsTheSameAtEveryMember() throws Exception {
    byte[] bytes = new byte[1 << 20];
    new Random(5).nextBytes(bytes);
    Map<Long, FrameAnswer> answers = new ConcurrentSkipListMap<>();
    Semaphore window = new Semaphore(16);
    AtomicLong brokenStreams = new AtomicLong();
    ChunkApi.FrameStream stream =
        remote("cs1")
            .mutate(
                (NamedAnswer answer) -> {
                  answers.put(answer.sequence(), answer.answer());
                  window.release();
                },
                why -> brokenStreams.incrementAndGet());
    CRC32C all = new CRC32C();
    for (int i = 1; i <= FRAMES; i++) {
      assertThat(window.tryAcquire(20, TimeUnit.SECONDS)).as("answers come").isTrue();
      bytes[0] = (byte) i;
      ByteBuffer payload = ByteBuffer.wrap(bytes.clone());
      all.update(payload.duplicate());
      stream.send(frame(i, payload));
    }
    assertThat(window.tryAcquire(16, 20, TimeUnit.SECONDS)).as("all answers come").isTrue();
    assertThat(brokenStreams).hasValue(0);
    for (int i = 1; i <= FRAMES; i++) {
      assertThat(answers.get((long) i))
          .isEqualTo(new FrameAnswer.Applied((i - 1L) << 20, 1, i, Optional.empty()));
    }
    for (ServerId id : servers.keySet()) {
      CRC32C read = new CRC32C();
      ReadEnd end =
          remote(id.name())
              .read(
                  new ChunkApi.ReadRequest(
                      CHUNK, 1, Optional.empty(), 0, Long.MAX_VALUE, ReadMode.DEFAULT),
                  part -> {
                    assertThat(part.checksums().match(part.payload(), Frame.PIECE)).isTrue();
                    read.update(part.payload().duplicate());
                  })
              .get(20, TimeUnit.SECONDS);
      assertThat(end.committedLength()).isEqualTo((long) FRAMES << 20);
      assertThat(read.getValue()).as("content at " + id).isEqualTo(all.getValue());
      assertThat(remote(id.name()).inspect(CHUNK, true).get(20, TimeUnit.SECONDS).checksum())
          .isEqualTo((int) all.getValue());
    }
    stream.close();
  }

  private RemoteChunkServer remote(String name) {
    return new RemoteChunkServer(
        clientChannels,
        addresses.getOrDefault(new ServerId(name), ServerAddress.parse("127.0.0.1:1")),
        20_000_000_000L);
  }

  private static Frame frame(long sequence, ByteBuffer payload) {
    return new Frame(
        FILE,
        CHUNK,
        1,
        0,
        new SessionId(CLIENT),
        sequence,
        Math.max(1, sequence - 32),
        sequence - 1,
        MutationKind.APPEND,
        0,
        false,
        Checksums.of(payload, Frame.PIECE),
        payload,
        Optional.empty());
  }
}
