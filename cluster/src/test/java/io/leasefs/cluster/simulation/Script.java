package io.leasefs.cluster.simulation;

import static java.util.Objects.requireNonNull;
import static org.assertj.core.api.Assertions.assertThat;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.Logger;
import io.leasefs.chunkserver.ChunkServer;
import io.leasefs.client.data.AsyncAppender;
import io.leasefs.client.data.OpenFiles;
import io.leasefs.client.data.WriteLimits;
import io.leasefs.client.edge.ClientEdges;
import io.leasefs.client.edge.Futures;
import io.leasefs.client.meta.ClientSession;
import io.leasefs.client.meta.MasterRouter;
import io.leasefs.client.retry.RetryPolicy;
import io.leasefs.cluster.simulation.SimulatedWorld.ChunkNode;
import io.leasefs.common.api.ChunkApi.ReadMode;
import io.leasefs.common.api.Heartbeat;
import io.leasefs.common.api.MasterApi.CreateFile;
import io.leasefs.common.error.ErrorCode;
import io.leasefs.common.model.AppendResult;
import io.leasefs.common.model.ChunkHandle;
import io.leasefs.common.model.ClientId;
import io.leasefs.common.model.Durability;
import io.leasefs.common.model.FilePath;
import io.leasefs.common.model.Member;
import io.leasefs.master.state.ChunkEntry;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Random;
import java.util.Set;
import java.util.function.BooleanSupplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.LoggerFactory;

/**
 * A simulated cluster that a test leads by the hand: it says who is killed, cut off, frozen or
 * healed, and when; nothing else goes wrong. All invariants of the simulator hold all the time, and
 * {@link #atRest} checks what every run must come to.
 */
final class Script implements AutoCloseable {
  static final long MILLI = 1_000_000;
  static final long SECOND = 1_000 * MILLI;
  static final FilePath FILE = FilePath.parse("/f");

  private static final Logger LOGGER = (Logger) LoggerFactory.getLogger("io.leasefs");
  private static final int CLIENTS = 4;

  final EventLoop loop;
  final Swarm swarm;
  final SimulatedWorld world;
  final RecordBook book;

  /** What was noted, each with its time: events of the servers, grants, acknowledgements. */
  final List<String> told = new ArrayList<>();

  private final List<Writer> writers = new ArrayList<>();
  private final long writeTimeoutNanos;

  /** A quiet world: three copies of each file, T = 2 s, clients' sessions of 15 s. */
  Script(long seed, int chunkServers) {
    this(seed, chunkServers, Durability.REPLICATED, true);
  }

  /**
   * @param writesOn writers go on in a new chunk while a primary is silent
   */
  Script(long seed, int chunkServers, Durability durability, boolean writesOn) {
    this(seed, chunkServers, durability, writesOn, 20 * SECOND);
  }

  /**
   * @param writesOn writers go on in a new chunk while a primary is silent
   * @param writeTimeoutNanos a write without progress fails after so long
   */
  Script(
      long seed,
      int chunkServers,
      Durability durability,
      boolean writesOn,
      long writeTimeoutNanos) {
    this(seed, chunkServers, durability, writesOn, writeTimeoutNanos, 1, 2 * SECOND);
  }

  private Script(
      long seed,
      int chunkServers,
      Durability durability,
      boolean writesOn,
      long writeTimeoutNanos,
      int masters,
      long ttlNanos) {
    this.writeTimeoutNanos = writeTimeoutNanos;
    LOGGER.setLevel(Level.OFF);
    swarm =
        new Swarm(
            chunkServers,
            CLIENTS,
            3,
            durability,
            ttlNanos,
            15 * SECOND,
            0,
            Set.of(),
            SECOND,
            0,
            0,
            MILLI / 2,
            2 * MILLI,
            1 << 12,
            writesOn,
            true,
            chunkServers,
            false);
    loop = new EventLoop(seed, this::note);
    world = new SimulatedWorld(loop, swarm, masters);
    book = new RecordBook(loop);
    world.startAll();
    until(10 * SECOND, "all servers live", () -> liveServers() == chunkServers);
  }

  /** A quiet world with three masters, one of which has been elected. */
  static Script withThreeMasters(long seed, int chunkServers) {
    return new Script(seed, chunkServers, Durability.REPLICATED, false, 20 * SECOND, 3, 2 * SECOND);
  }

  /** A quiet world with another T. */
  static Script withTtl(long seed, int chunkServers, long ttlNanos) {
    return new Script(seed, chunkServers, Durability.REPLICATED, true, 20 * SECOND, 1, ttlNanos);
  }

  private void note(String line) {
    if (line.contains(" says ") || line.contains("GRANT") || line.contains(" answers the seal")) {
      told.add(line);
    }
  }

  @Override
  public void close() {
    LOGGER.setLevel(null);
  }

  long liveServers() {
    return world.state().read(view -> view.servers()).stream()
        .filter(server -> server.session().isPresent())
        .count();
  }

  // ---- time --------------------------------------------------------------------------------

  /** Lets so much true time pass. */
  void pass(long nanos) {
    long limit = loop.now() + nanos;
    while (loop.violation() == null && loop.step(limit)) {
      look();
    }
    sound();
  }

  /** Lets time pass until this holds, and fails where it does not in so much of it. */
  void until(long nanos, String what, BooleanSupplier condition) {
    long limit = loop.now() + nanos;
    while (!condition.getAsBoolean()) {
      boolean more = loop.step(limit);
      look();
      sound();
      if (!more) {
        assertThat(condition.getAsBoolean())
            .as("%s, within %s ms; newest: %s", what, nanos / MILLI, newest())
            .isTrue();
        return;
      }
    }
  }

  /** Runs so many events. */
  void steps(long count) {
    for (long i = 0; i < count; i++) {
      loop.step(Long.MAX_VALUE);
    }
    sound();
  }

  private void look() {
    if (loop.steps() % 500 == 0) {
      world.checks().all();
    }
  }

  private void sound() {
    assertThat(loop.violation()).as("newest: %s", newest()).isNull();
  }

  private String newest() {
    return String.join("\n", loop.newest());
  }

  // ---- what is so --------------------------------------------------------------------------

  List<ChunkEntry> chunks() {
    return world.state().read(view -> view.chunksAfter(new ChunkHandle(0), 10_000));
  }

  /** The newest chunk. */
  ChunkEntry chunk() {
    return chunks().getLast();
  }

  ChunkEntry chunk(ChunkHandle handle) {
    return world.state().read(view -> view.chunk(handle)).orElseThrow();
  }

  ChunkNode primary(ChunkEntry chunk) {
    return world.chunkNode(chunk.active().primary().orElseThrow());
  }

  /** The members behind the primary, in the chain's order. */
  List<ChunkNode> secondaries(ChunkEntry chunk) {
    return chunk.active().members().stream()
        .map(Member::server)
        .filter(server -> !chunk.active().primary().equals(Optional.of(server)))
        .map(world::chunkNode)
        .toList();
  }

  /** The chunkserver's process that runs there. */
  ChunkServer server(ChunkNode node) {
    return requireNonNull(requireNonNull(node.host().life()).service(ChunkServer.class));
  }

  /** The core of its copy of this chunk. */
  Heartbeat.ReplicaReport report(ChunkNode node, ChunkHandle chunk) {
    return server(node).copies().stream()
        .filter(copy -> copy.stored().handle().equals(chunk))
        .findFirst()
        .orElseThrow()
        .core()
        .report();
  }

  /** How often a line that holds this was noted. */
  long told(String text) {
    return told.stream().filter(line -> line.contains(text)).count();
  }

  // ---- harm --------------------------------------------------------------------------------

  /** Nothing passes between the two, either way. */
  void cut(Host one, Host other) {
    world.wires().cut(one, other);
    world.wires().cut(other, one);
  }

  void restart(ChunkNode node) {
    world.startChunkServer(node);
  }

  void restartMaster() {
    world.startMaster();
  }

  /** All harm is undone. */
  void heal() {
    world.wires().mendAll();
    world.hosts().forEach(Host::thaw);
    world.startAll();
  }

  // ---- clients -----------------------------------------------------------------------------

  Host clientHost(int number) {
    return world.clientHosts().get(number - 1);
  }

  /** A client process that has opened the file, with this fencing token. */
  Writer writer(int host, FilePath path, long token) {
    Random random = loop.random();
    ClientId identity = new ClientId(random.nextLong(), random.nextLong());
    return opened(new Writer(clientHost(host), path, token, identity));
  }

  private Writer opened(Writer writer) {
    writers.add(writer);
    writer.open();
    until(20 * SECOND, writer + " opens its file", () -> writer.appender != null);
    return writer;
  }

  /** Another process with the identity of one that has ended, which does the same as that did. */
  Writer sameAgain(Writer before) {
    Writer again =
        opened(new Writer(before.life.host(), before.path, before.token, before.identity));
    before.all.forEach(appended -> again.append(appended.record));
    return again;
  }

  Writer writer(int host) {
    return writer(host, FILE, 0);
  }

  /** One record and what became of it. */
  static final class Appended {
    final RecordBook.Entry record;
    @Nullable AppendResult result;
    @Nullable ErrorCode failure;
    long answeredAt;

    Appended(RecordBook.Entry record) {
      this.record = record;
    }

    boolean isAnswered() {
      return result != null || failure != null;
    }

    boolean isAcknowledged() {
      return result != null;
    }

    AppendResult place() {
      return requireNonNull(result);
    }
  }

  /** A client process that appends to one file what it is told to. */
  final class Writer {
    final Life life;
    final int number = writers.size() + 1;
    final List<Appended> all = new ArrayList<>();
    private final FilePath path;
    private final long token;
    private final ClientId identity;
    private final OpenFiles files;
    @Nullable AsyncAppender appender;
    boolean closed;

    private Writer(Host host, FilePath path, long token, ClientId identity) {
      this.path = path;
      this.token = token;
      this.identity = identity;
      life = host.begin(this);
      ClientEdges edges = new ClientEdges(life, life, life, world.network(life));
      MasterRouter router =
          new MasterRouter(world.masters(), identity, edges, RetryPolicy.DEFAULT, 20 * SECOND);
      files =
          new OpenFiles(
              edges,
              router,
              new ClientSession(edges, router),
              new WriteLimits(
                  WriteLimits.DEFAULT.inFlightBytes(),
                  WriteLimits.DEFAULT.silentNanos(),
                  swarm.writesOn(),
                  writeTimeoutNanos));
    }

    private void open() {
      CreateFile request =
          new CreateFile(path, true, swarm.replication(), 1 << 20, swarm.durability(), 0644, true);
      Futures.onDone(
          files.openForWrite(path, token),
          opened -> appender = opened,
          missing ->
              Futures.onDone(
                  files.create(request),
                  opened -> appender = opened,
                  failure -> {
                    var _ = life.after(200 * MILLI, this::open);
                  }));
    }

    /** Begins to append one record. */
    Appended append(int length) {
      return append(book.submit(path, number, all.size() + 1, length));
    }

    private Appended append(RecordBook.Entry record) {
      Appended appended = new Appended(record);
      all.add(appended);
      Futures.onDone(
          requireNonNull(appender).append(appended.record.bytes()),
          written -> {
            appended.result = written.result().orElseThrow();
            appended.answeredAt = loop.now();
            book.acknowledged(appended.record, appended.result);
          },
          failure -> {
            appended.failure = failure.code();
            appended.answeredAt = loop.now();
            book.failed(appended.record, failure.code());
          });
      return appended;
    }

    /** Appends one record and waits for its acknowledgement. */
    Appended appendAndWait(long nanos) {
      Appended appended = append(300);
      until(nanos, "acknowledgement of " + appended.record, appended::isAcknowledged);
      return appended;
    }

    /** Appends a record every so often, until told to stop or the process has gone. */
    void appendEvery(long nanos, BooleanSupplier goesOn) {
      if (goesOn.getAsBoolean() && life.isAlive()) {
        append(200);
        var _ = life.after(nanos, () -> appendEvery(nanos, goesOn));
      }
    }

    boolean isAnswered() {
      return all.stream().allMatch(Appended::isAnswered);
    }

    void kill() {
      world.kill(life.host());
    }

    void close() {
      Futures.onDone(
          requireNonNull(appender).close(Optional.empty(), false),
          status -> closed = true,
          failure -> {
            if (life.isAlive()) {
              var _ = life.after(200 * MILLI, this::close);
            }
          });
      until(20 * SECOND, this + " closes", () -> closed);
    }

    @Override
    public String toString() {
      return "writer " + number;
    }
  }

  // ---- the end -----------------------------------------------------------------------------

  /** Reads the file from its start, by a process of its own, and has every record checked. */
  void readWhole(FilePath path, ReadMode mode, boolean whole) {
    Host host = clientHost(CLIENTS);
    Life life = host.begin(this);
    boolean[] read = {false};
    new SimulatedClient(loop, world, life, swarm, book, 1_000)
        .read(path, mode, whole, () -> read[0] = true);
    until(30 * SECOND, path + " is read", () -> read[0]);
    world.kill(host);
  }

  /**
   * What every run must come to: all that was acknowledged is there, once and in order; copies are
   * the same, no change is under way.
   */
  void atRest() {
    for (Writer writer : writers) {
      if (writer.life.isAlive()) {
        until(30 * SECOND, writer + " has its answers", writer::isAnswered);
        if (!writer.closed) {
          writer.close();
        }
      }
    }
    for (FilePath path : book.files()) {
      readWhole(path, ReadMode.DEFAULT, true);
    }
    long limit = loop.now() + 30 * SECOND;
    assertThat(world.masterDifference()).isNull();
    String difference = difference();
    while (difference != null && loop.now() < limit) {
      pass(200 * MILLI);
      difference = difference();
    }
    assertThat(difference).isNull();
    world.checks().all();
    world.state().invariant();
    sound();
  }

  private @Nullable String difference() {
    for (ChunkEntry entry : chunks()) {
      if (entry.pending().isPresent()) {
        return "chunk " + entry.handle() + " is still being changed: " + entry.pending().get();
      }
      String difference = world.checks().difference(entry.handle(), entry.active().members());
      if (difference != null) {
        return difference;
      }
    }
    return null;
  }

  /** The bytes of a record, as they are in its file. */
  static ByteBuffer bytes(Appended appended) {
    return appended.record.bytes();
  }
}
