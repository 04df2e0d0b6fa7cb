package io.leasefs.client.fake;

import io.leasefs.common.api.Frame;
import io.leasefs.common.api.FrameAnswer;
import io.leasefs.common.api.MasterApi.Greeting;
import io.leasefs.common.api.MasterApi.Publication;
import io.leasefs.common.api.MutationKind;
import io.leasefs.common.error.ErrorCode;
import io.leasefs.common.model.ChunkHandle;
import io.leasefs.common.model.ChunkLayout;
import io.leasefs.common.model.ChunkSeal;
import io.leasefs.common.model.ClientId;
import io.leasefs.common.model.FileId;
import io.leasefs.common.model.FilePath;
import io.leasefs.common.model.FileStatus;
import io.leasefs.common.model.RequestId;
import io.leasefs.common.model.SealedChunk;
import io.leasefs.common.model.ServerAddress;
import io.leasefs.common.model.ServerId;
import io.leasefs.common.model.SessionId;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Random;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import java.util.function.Consumer;

/**
 * One file on three servers and a master, as the protocol promises it to clients (sections 5 and
 * 8), with the replication inside left out: a chunk has one history, of which a suffix that is not
 * committed may be lost with its primary. Everything that the protocol allows to happen happens by
 * the seed: messages late, doubled, lost, reordered; streams that break; primaries that die, are
 * frozen or refuse; chunks sealed early or full; sessions that end. One thread, virtual time.
 */
public final class ModelCluster {
  private static final int SERVERS = 3;
  private static final long MILLI = 1_000_000L;

  private final VirtualTime time;
  private final Random random;
  private final long capacity;
  private final List<Chunk> chunks = new ArrayList<>();
  private final Map<ClientId, SessionId> sessions = new LinkedHashMap<>();
  private final Set<Long> dead = new LinkedHashSet<>();
  private final List<Server> servers = new ArrayList<>();
  private long nextSession = 1;

  /** Chances in a thousand, for each message or chance to act. */
  public int trouble = 20;

  /** How often sessions die, in a thousand openings of trouble; 0 = never. */
  public int sessionDeaths;

  public int failovers;
  public int earlySeals;
  public int endedSessions;

  public ModelCluster(VirtualTime time, Random random, long capacity, FakeNetwork network) {
    this.time = time;
    this.random = random;
    this.capacity = capacity;
    for (int i = 1; i <= SERVERS; i++) {
      Server server = new Server(i);
      servers.add(server);
      network.chunkServers.put(Layouts.address(i).toString(), server);
    }
    network.masters.put("m1:9000", new Master());
    network.masters.put("m2:9000", new Master());
  }

  /** What the file holds: the committed payloads in order, by file offset. */
  public Map<Long, byte[]> content() {
    TreeMap<Long, byte[]> content = new TreeMap<>();
    for (Chunk chunk : chunks) {
      for (Entry entry : chunk.history) {
        if (entry.committed && entry.kind == MutationKind.APPEND) {
          content.put(chunk.fileOffset + entry.offset, entry.bytes);
        }
      }
    }
    return content;
  }

  /** All trouble ends: nothing new is lost or refused. */
  public void calm() {
    trouble = 0;
    sessionDeaths = 0;
  }

  private boolean chance(int perThousand) {
    return random.nextInt(1000) < perThousand;
  }

  private long delay() {
    return chance(trouble) ? random.nextInt(400) * MILLI : 50_000L + random.nextInt(2_000_000);
  }

  // the chunk --------------------------------------------------------------------------------

  /** One appended mutation. */
  private static final class Entry {
    final MutationKind kind;
    final long session;
    final long sequence;
    final long offset;
    final long version;
    final long serial;
    final byte[] bytes;
    final List<Consumer<FrameAnswer>> waiting = new ArrayList<>();
    boolean committed;

    Entry(MutationKind kind, Frame frame, long offset, long version, long serial, byte[] bytes) {
      this.kind = kind;
      this.session = frame.session().value();
      this.sequence = frame.sequence();
      this.offset = offset;
      this.version = version;
      this.serial = serial;
      this.bytes = bytes;
    }
  }

  private final class Chunk {
    final int index;
    final long fileOffset;
    final List<Entry> history = new ArrayList<>();
    final Map<Long, Map<Long, Entry>> table = new TreeMap<>();
    final Map<Long, Long> floors = new TreeMap<>();
    final Set<Long> deadHere = new LinkedHashSet<>();
    final List<Runnable> watchers = new ArrayList<>();
    long version = 1;
    int primary;
    long tail;
    long serial;
    Optional<ChunkSeal> seal = Optional.empty();
    boolean sealAppended;
    boolean sealKnownToMaster;
    boolean changing;

    Chunk(int index, long fileOffset, int primary) {
      this.index = index;
      this.fileOffset = fileOffset;
      this.primary = primary;
    }

    ChunkLayout layout() {
      return Layouts.chunk(
          index,
          fileOffset,
          capacity,
          version,
          sealKnownToMaster ? 0 : primary,
          List.of(1, 2, 3),
          sealKnownToMaster ? seal : Optional.empty());
    }

    Optional<Entry> known(long session, long sequence) {
      return Optional.ofNullable(table.getOrDefault(session, Map.of()).get(sequence));
    }

    void handle(int server, Frame frame, Consumer<FrameAnswer> answer) {
      if (seal.isPresent()) {
        answer.accept(answerOfSealed(frame));
        return;
      }
      if (frame.version() != version) {
        answer.accept(new FrameAnswer.Refused(ErrorCode.STALE_VERSION, "at " + version));
        return;
      }
      if (server != primary || changing) {
        answer.accept(new FrameAnswer.Refused(ErrorCode.NOT_PRIMARY, "not I"));
        return;
      }
      if (deadHere.contains(frame.session().value())) {
        answer.accept(
            known(frame.session().value(), frame.sequence())
                .map(this::result)
                .orElse(new FrameAnswer.NotApplied()));
        return;
      }
      if (dead.contains(frame.session().value())) {
        answer.accept(new FrameAnswer.Refused(ErrorCode.UNKNOWN_SESSION, "dead"));
        return;
      }
      Optional<Entry> known = known(frame.session().value(), frame.sequence());
      if (known.isPresent()) {
        answerOrJoin(known.get(), answer);
        return;
      }
      if (chance(trouble)) {
        answer.accept(new FrameAnswer.Refused(ErrorCode.BUSY, "later"));
        return;
      }
      long floor = Math.max(floors.getOrDefault(frame.session().value(), 0L), frame.floor());
      floors.put(frame.session().value(), floor);
      if (frame.sequence() < floor) {
        answer.accept(new FrameAnswer.Expired());
        return;
      }
      if (sealAppended) {
        joinSeal(answer);
        return;
      }
      boolean inOrder =
          frame.after() == 0
              || frame.after() < floor
              || known(frame.session().value(), frame.after()).isPresent();
      if (!inOrder) {
        answer.accept(new FrameAnswer.OutOfOrder());
        return;
      }
      if (frame.kind() == MutationKind.SEAL) {
        answerOrJoin(add(MutationKind.SEAL, frame, new byte[0]), answer);
      } else if (tail + frame.payload().remaining() > capacity) {
        Entry unused = add(MutationKind.SEAL, nobodys(frame), new byte[0]);
        joinSeal(answer);
      } else {
        byte[] bytes = new byte[frame.payload().remaining()];
        frame.payload().duplicate().get(bytes);
        Entry entry = add(MutationKind.APPEND, frame, bytes);
        if (frame.seals()) {
          Entry unused = add(MutationKind.SEAL, nobodys(frame), new byte[0]);
        }
        answerOrJoin(entry, answer);
      }
    }

    private Frame nobodys(Frame frame) {
      return new Frame(
          frame.file(),
          frame.chunk(),
          frame.version(),
          0,
          new SessionId(0),
          0,
          0,
          0,
          MutationKind.SEAL,
          0,
          false,
          frame.checksums(),
          frame.payload(),
          Optional.empty());
    }

    private Entry add(MutationKind kind, Frame frame, byte[] bytes) {
      Entry entry = new Entry(kind, frame, tail, version, ++serial, bytes);
      tail += bytes.length;
      history.add(entry);
      if (entry.session != 0) {
        Entry before =
            table.computeIfAbsent(entry.session, s -> new TreeMap<>()).put(entry.sequence, entry);
        if (before != null) {
          throw new IllegalStateException("appended twice: " + entry.sequence);
        }
      }
      sealAppended |= kind == MutationKind.SEAL;
      long at = version;
      time.after(
          delay(),
          () -> {
            if (version == at && history.contains(entry)) {
              commitUpTo(entry);
            }
          });
      return entry;
    }

    private void commitUpTo(Entry last) {
      for (Entry entry : List.copyOf(history)) {
        if (!entry.committed) {
          entry.committed = true;
          if (entry.kind == MutationKind.SEAL) {
            sealed(entry.serial);
          }
        }
        if (entry == last) {
          break;
        }
      }
      for (Entry entry : List.copyOf(history)) {
        // A rider's answer waits for its seal.
        boolean rides = sealAppended && seal.isEmpty() && entry == lastAppend();
        if (entry.committed && !rides) {
          List<Consumer<FrameAnswer>> told = List.copyOf(entry.waiting);
          entry.waiting.clear();
          told.forEach(answer -> answer.accept(result(entry)));
        }
      }
    }

    private Entry lastAppend() {
      return history.size() > 1 ? history.get(history.size() - 2) : history.get(0);
    }

    private void sealed(long sealSerial) {
      seal = Optional.of(new ChunkSeal(sealSerial, tail, 0));
      time.after(
          delay(),
          () -> {
            sealKnownToMaster = true;
            wake();
          });
      List<Runnable> told = List.copyOf(sealWaiters);
      sealWaiters.clear();
      told.forEach(Runnable::run);
    }

    private final List<Runnable> sealWaiters = new ArrayList<>();

    private void joinSeal(Consumer<FrameAnswer> answer) {
      sealWaiters.add(() -> answer.accept(new FrameAnswer.ChunkFull(version, seal.orElseThrow())));
    }

    private void answerOrJoin(Entry entry, Consumer<FrameAnswer> answer) {
      if (entry.committed) {
        answer.accept(result(entry));
      } else {
        entry.waiting.add(answer);
      }
    }

    private FrameAnswer result(Entry entry) {
      return new FrameAnswer.Applied(
          entry.offset,
          entry.version,
          entry.serial,
          entry.kind == MutationKind.SEAL || entry == beforeSeal() ? seal : Optional.empty());
    }

    private Entry beforeSeal() {
      return seal.isPresent() ? lastAppend() : history.get(0);
    }

    private FrameAnswer answerOfSealed(Frame frame) {
      Optional<Entry> known = known(frame.session().value(), frame.sequence());
      if (known.isPresent()) {
        return result(known.get());
      }
      return random.nextBoolean()
          ? new FrameAnswer.NotApplied()
          : new FrameAnswer.ChunkFull(version, seal.orElseThrow());
    }

    /** The primary is gone: what is not committed may be lost, from some place on. */
    void loseUncommitted() {
      int committed = 0;
      while (committed < history.size() && history.get(committed).committed) {
        committed++;
      }
      int keep = committed + random.nextInt(history.size() - committed + 1);
      while (history.size() > keep) {
        Entry lost = history.remove(history.size() - 1);
        if (lost.session != 0) {
          table.getOrDefault(lost.session, new TreeMap<>()).remove(lost.sequence);
        }
        tail -= lost.bytes.length;
        serial--;
        sealAppended &= lost.kind != MutationKind.SEAL;
      }
      for (Entry entry : List.copyOf(history)) {
        entry.waiting.clear();
      }
      sealWaiters.clear();
    }

    /** Another primary, or an early seal; after a while, as a lease or evidence takes it. */
    void change(boolean early) {
      if (changing || seal.isPresent()) {
        return;
      }
      changing = true;
      loseUncommitted();
      version++;
      boolean sealedByHistory = sealAppended;
      time.after(
          (20 + random.nextInt(early ? 300 : 3000)) * MILLI,
          () -> {
            changing = false;
            primary = 1 + random.nextInt(SERVERS);
            history.forEach(entry -> entry.committed = true);
            serial++;
            if (early || sealedByHistory) {
              earlySeals++;
              serial++;
              sealAppended = true;
              sealed(serial);
            } else {
              failovers++;
            }
            wake();
          });
    }

    void wake() {
      List<Runnable> told = List.copyOf(watchers);
      watchers.clear();
      told.forEach(Runnable::run);
    }

    boolean useful(long knownVersion) {
      return sealKnownToMaster || (!changing && version > knownVersion);
    }
  }

  // the servers ------------------------------------------------------------------------------

  private final class Server extends FakeChunkServer {
    private final int number;
    private final List<Stream> streams = new ArrayList<>();
    private long frozenUntil;

    Server(int number) {
      this.number = number;
    }

    @Override
    public FrameStream mutate(Consumer<NamedAnswer> answers, Consumer<String> broken) {
      Stream stream = new Stream(answers, broken);
      streams.add(stream);
      return stream;
    }

    private final class Stream implements FrameStream {
      private final Consumer<NamedAnswer> answers;
      private final Consumer<String> broken;
      private long lastArrival;
      private boolean ended;

      Stream(Consumer<NamedAnswer> answers, Consumer<String> broken) {
        this.answers = answers;
        this.broken = broken;
      }

      @Override
      public void send(Frame frame) {
        if (ended) {
          return;
        }
        if (chance(trouble / 2)) {
          trouble(frame);
        }
        if (!chance(trouble / 4)) {
          arrives(frame);
          if (chance(trouble)) {
            arrives(frame);
          }
        }
      }

      private void arrives(Frame frame) {
        lastArrival = Math.max(lastArrival, time.nanos() + delay());
        long at = Math.max(lastArrival, frozenUntil);
        time.after(
            at - time.nanos(),
            () -> {
              if (!ended) {
                Chunk chunk = chunks.get((int) (frame.chunk().value() - 100));
                chunk.handle(number, frame, answer -> answers(frame, answer));
              }
            });
      }

      private void answers(Frame frame, FrameAnswer answer) {
        NamedAnswer named =
            new NamedAnswer(frame.chunk(), frame.session().value(), frame.sequence(), answer);
        int copies = chance(trouble / 4) ? 0 : chance(trouble) ? 2 : 1;
        for (int i = 0; i < copies; i++) {
          time.after(
              delay(),
              () -> {
                if (!ended) {
                  answers.accept(named);
                }
              });
        }
      }

      private void trouble(Frame frame) {
        Chunk chunk = chunks.get((int) (frame.chunk().value() - 100));
        switch (random.nextInt(5)) {
          case 0 -> end();
          case 1 -> {
            // The primary is killed: every stream to it is reset.
            chunk.change(random.nextBoolean());
            List.copyOf(streams).forEach(Stream::end);
          }
          case 2 -> {
            // It is frozen: nobody hears anything of it for a while.
            frozenUntil = time.nanos() + random.nextInt(4000) * MILLI;
            chunk.change(random.nextBoolean());
          }
          case 3 -> chunk.change(false);
          default -> {
            if (chance(sessionDeaths)) {
              endSession(frame.session());
            }
          }
        }
      }

      private void end() {
        if (!ended) {
          ended = true;
          streams.remove(this);
          time.after(delay(), () -> broken.accept("reset"));
        }
      }

      @Override
      public boolean isReady() {
        return true;
      }

      @Override
      public void onReady(Runnable task) {}

      @Override
      public void close() {
        end();
      }
    }
  }

  private void endSession(SessionId session) {
    if (!dead.add(session.value())) {
      return;
    }
    endedSessions++;
    sessions.values().remove(session);
    for (Chunk chunk : chunks) {
      time.after(
          delay() + random.nextInt(500) * MILLI,
          () -> {
            // DEAD is a mutation like any other; here it commits at once.
            chunk.deadHere.add(session.value());
          });
    }
  }

  // the master -------------------------------------------------------------------------------

  private final class Master extends FakeMaster {
    private <T> CompletableFuture<T> later(java.util.function.Supplier<T> answer) {
      CompletableFuture<T> result = new CompletableFuture<>();
      boolean lostRequest = chance(trouble / 2);
      boolean lostAnswer = chance(trouble / 2);
      time.after(
          delay(),
          () -> {
            if (lostRequest) {
              result.completeExceptionally(unreachable());
              return;
            }
            T value = answer.get();
            time.after(
                delay(),
                () -> {
                  if (lostAnswer) {
                    result.completeExceptionally(unreachable());
                  } else {
                    result.complete(value);
                  }
                });
          });
      return result;
    }

    private io.leasefs.common.error.LeaseFsException unreachable() {
      return new io.leasefs.common.error.LeaseFsException(ErrorCode.UNREACHABLE, "lost");
    }

    @Override
    public CompletableFuture<OpenFile> openForWrite(RequestId id, FilePath path, long token) {
      return later(
          () -> {
            SessionId session =
                sessions.computeIfAbsent(id.client(), c -> new SessionId(nextSession++));
            return new OpenFile(
                Layouts.status(0, sessions.size(), chunks.size()),
                session,
                id.sequence(),
                chunks.isEmpty()
                    ? Optional.empty()
                    : Optional.of(chunks.get(chunks.size() - 1).layout()),
                Optional.empty());
          });
    }

    @Override
    public CompletableFuture<AddedChunk> addChunk(
        RequestId id, FileId file, int afterIndex, Optional<ChunkSeal> seal) {
      return later(
          () -> {
            if (chunks.size() <= afterIndex + 1) {
              long offset = 0;
              if (afterIndex >= 0) {
                Chunk last = chunks.get(afterIndex);
                if (!last.seal.equals(seal)) {
                  throw new IllegalStateException("not its seal: " + seal);
                }
                last.sealKnownToMaster = true;
                offset = last.fileOffset + last.tail;
              }
              chunks.add(new Chunk(afterIndex + 1, offset, 1 + random.nextInt(SERVERS)));
            }
            return new AddedChunk(chunks.get(afterIndex + 1).layout(), Optional.empty());
          });
    }

    @Override
    public CompletableFuture<ChunkLayout> chunkLayout(
        ChunkHandle handle, long knownVersion, long waitNanos) {
      CompletableFuture<ChunkLayout> result = new CompletableFuture<>();
      Chunk chunk = chunks.get((int) (handle.value() - 100));
      Runnable answer = () -> time.after(delay(), () -> result.complete(chunk.layout()));
      if (chunk.useful(knownVersion)) {
        answer.run();
      } else {
        chunk.watchers.add(answer);
        time.after(waitNanos, answer);
      }
      return result;
    }

    @Override
    public CompletableFuture<Void> reportSilent(
        ChunkHandle handle, long version, boolean connectionReset) {
      Chunk chunk = chunks.get((int) (handle.value() - 100));
      if (chunk.version == version && chance(3 * trouble)) {
        chunk.change(true);
      }
      return CompletableFuture.completedFuture(null);
    }

    @Override
    public CompletableFuture<Greeting> greet(ClientId client) {
      return later(
          () ->
              new Greeting(
                  "cluster", "0", new ServerId("m1"), 1, 0, 0, 10_000_000_000L, 1 << 20, 1));
    }

    @Override
    public CompletableFuture<FileStatus> close(
        RequestId id,
        FileId file,
        long openNumber,
        Optional<SealedChunk> sealed,
        Optional<Publication> publication,
        boolean endSession) {
      return later(() -> Layouts.status(0, 0, chunks.size()));
    }

    @Override
    public CompletableFuture<Long> renew(ClientId client, SessionId session) {
      return dead.contains(session.value())
          ? failure(ErrorCode.UNKNOWN_SESSION, "ended")
          : CompletableFuture.completedFuture(60_000_000_000L);
    }
  }

  /** Where a router starts. */
  public static List<ServerAddress> masters() {
    return List.of(new ServerAddress("m1", 9000), new ServerAddress("m2", 9000));
  }
}
