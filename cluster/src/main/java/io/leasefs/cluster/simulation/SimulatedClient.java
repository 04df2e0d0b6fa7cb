package io.leasefs.cluster.simulation;

import static java.util.Objects.requireNonNull;

import io.leasefs.client.data.AsyncAppender;
import io.leasefs.client.data.AsyncReader;
import io.leasefs.client.data.ChunkReads;
import io.leasefs.client.data.ChunkWrites;
import io.leasefs.client.data.OpenFiles;
import io.leasefs.client.data.WriteLimits;
import io.leasefs.client.edge.ClientEdges;
import io.leasefs.client.edge.Futures;
import io.leasefs.client.meta.ClientSession;
import io.leasefs.client.meta.LocationCache;
import io.leasefs.client.meta.MasterRouter;
import io.leasefs.client.retry.RetryPolicy;
import io.leasefs.common.api.ChunkApi.ReadMode;
import io.leasefs.common.api.MasterApi;
import io.leasefs.common.api.MasterApi.CreateFile;
import io.leasefs.common.error.ErrorCode;
import io.leasefs.common.model.ClientId;
import io.leasefs.common.model.FilePath;
import io.leasefs.common.model.RequestId;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Random;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.concurrent.CompletableFuture;
import java.util.function.BiFunction;
import org.jspecify.annotations.Nullable;

/**
 * One client process: opens its files (and makes them where they are not there), appends records
 * with several under way, reads back now and then, and in the end closes.
 */
final class SimulatedClient {
  /** Records above this make long files. */
  private static final int SMALL_RECORD = 1 << 12;

  private static final long MILLI = 1_000_000;
  private static final long WRITE_TIMEOUT_NANOS = 20_000 * MILLI;
  private static final int MOST_READ = 64 << 20;
  private static final int READ_AHEAD = 1 << 14;

  /** Who has written since the faults ended lets so many turns pass between two. */
  private static final int REST_TURNS = 4;

  /** A file that this process appends to. */
  private static final class Work {
    private final FilePath path;
    private @Nullable AsyncAppender appender;
    private int underWay;

    /** When the newest record that was acknowledged was submitted. */
    private long submittedOfNewest;

    private boolean closing;
    private boolean closed;

    /** What its opening carries, and so its frames; 0 = none. */
    private long token;

    /** Somebody has opened it with a larger token: nothing of this process is taken any more. */
    private boolean fenced;

    Work(FilePath path, long token) {
      this.path = path;
      this.token = token;
    }
  }

  private final EventLoop loop;
  private final Life life;
  private final Swarm swarm;
  private final RecordBook book;
  private final int writer;
  private final MasterRouter router;
  private final OpenFiles openFiles;
  private final AsyncReader.Source source;
  private final List<Work> works = new ArrayList<>();
  private final int window;
  private final long thinkNanos;
  private final int readsOneIn;

  /** Readers that are kept open and read again later; null: each read opens the file anew. */
  private final @Nullable Map<FilePath, AsyncReader> readers;

  /** Files that are made to be deleted; null where no client makes such. */
  private final @Nullable SpareFiles spares;

  /** What it needs for files that are written to with mutations of all kinds. */
  private final ClientEdges edges;

  private final ClientSession session;
  private @Nullable RawWriter rawWriter;
  private @Nullable RawReader rawReader;

  /** From when on it writes seldom to a file that has taken a record: not yet. */
  private long easesOffFrom = Long.MAX_VALUE;

  private int nextNumber = 1;
  private int nextFolder = 1;
  private boolean finishing;
  private int reading;

  /**
   * A client that opens a file for each read.
   *
   * @param writer the number of this process among all that ever write
   */
  SimulatedClient(
      EventLoop loop, SimulatedWorld world, Life life, Swarm swarm, RecordBook book, int writer) {
    this(loop, world, life, swarm, book, writer, false, null);
  }

  /**
   * @param writer the number of this process among all that ever write
   * @param keepsReaders half of its reads are by readers that have been open for a while
   * @param shared files that clients delete while others write to them; null: nobody deletes any
   */
  SimulatedClient(
      EventLoop loop,
      SimulatedWorld world,
      Life life,
      Swarm swarm,
      RecordBook book,
      int writer,
      boolean keepsReaders,
      @Nullable List<SpareFiles.Spare> shared) {
    this.readers = keepsReaders ? new TreeMap<>() : null;
    this.loop = loop;
    this.life = life;
    this.swarm = swarm;
    this.book = book;
    this.writer = writer;
    Random random = loop.random();
    this.edges = new ClientEdges(life, life, life, world.network(life));
    ClientId id = new ClientId(random.nextLong(), random.nextLong());
    this.router =
        new MasterRouter(world.masters(), id, edges, RetryPolicy.DEFAULT, WRITE_TIMEOUT_NANOS);
    this.session = new ClientSession(edges, router);
    this.openFiles =
        new OpenFiles(
            edges,
            router,
            session,
            new WriteLimits(
                WriteLimits.DEFAULT.inFlightBytes(),
                WriteLimits.DEFAULT.silentNanos(),
                swarm.writesOn(),
                WRITE_TIMEOUT_NANOS));
    this.source =
        new AsyncReader.Source(
            edges,
            router,
            new LocationCache(100),
            new ChunkReads(edges, router),
            RetryPolicy.DEFAULT,
            swarm.ttlNanos(),
            WRITE_TIMEOUT_NANOS);
    this.window = 1 + random.nextInt(6);
    // Who reads, reads all that there is.
    int seldom = swarm.maxRecordBytes() > SMALL_RECORD ? 40 : swarm.readsOneIn();
    // Where clocks are wrong strict reads alone are promised anything: all are, and there are more.
    this.readsOneIn = swarm.clocksInBound() ? seldom : Math.min(seldom, 4);
    // In a wide world many clients are no more work than a few.
    long share = swarm.files() == 0 ? 3 : Math.max(3, swarm.clients());
    this.thinkNanos = (20 + random.nextInt(150)) * MILLI * share / 3;
    this.spares =
        shared == null
            ? null
            : new SpareFiles(
                loop,
                life,
                swarm,
                book,
                router,
                openFiles,
                this,
                shared,
                new Chance(id.high() ^ id.low()));
  }

  /**
   * Reads files that are written to with mutations of all kinds, and may write to one of them.
   *
   * @param files of all clients
   * @param own the one that this process writes to; null: none
   * @param random a source of chance of its own
   */
  void workRaw(List<RawFile> files, @Nullable RawFile own, Random random) {
    ChunkWrites streams = new ChunkWrites(edges.network());
    rawReader =
        new RawReader(
            loop, life, swarm, router, source, streams, files, new Chance(random.nextLong()));
    rawReader.begin();
    if (own != null) {
      rawWriter =
          new RawWriter(
              loop,
              life,
              swarm,
              router,
              session::seen,
              new ChunkWrites(edges.network()),
              own,
              new Chance(random.nextLong()));
      session.whenEnded(rawWriter::sessionEnded);
      rawWriter.begin();
    }
  }

  /** Reads such a file at rest, and has it checked. */
  void auditRaw(RawFile file, Runnable done) {
    requireNonNull(rawReader).audit(file, done);
  }

  /** The number of this process among all that ever write. */
  int writer() {
    return writer;
  }

  /** For the next record of this process. */
  int nextNumber() {
    return nextNumber++;
  }

  /** Writes to these files from now on. */
  void work(List<FilePath> files) {
    for (FilePath file : files) {
      begin(new Work(file, 0));
    }
  }

  private void begin(Work work) {
    works.add(work);
    open(work);
  }

  /** Opens the file with a token above all others, where it does not write to it already. */
  void takeOver(FilePath file) {
    boolean writes = works.stream().anyMatch(work -> work.path.equals(file) && !work.closed);
    if (!finishing && !writes) {
      begin(new Work(file, book.drawToken(file)));
    }
  }

  private void open(Work work) {
    CreateFile request =
        new CreateFile(
            work.path, true, swarm.replication(), 1 << 20, swarm.durability(), 0644, true);
    Futures.onDone(
        openFiles.openForWrite(work.path, work.token),
        appender -> opened(work, appender),
        missing -> {
          if (missing.code() == ErrorCode.FENCED) {
            loop.note(life.host() + " is too late with token " + work.token + " for " + work.path);
            work.fenced = true;
            work.closed = true;
            return;
          }
          if (missing.code() != ErrorCode.NOT_FOUND) {
            openLater(work, missing.toString());
            return;
          }
          Futures.onDone(
              openFiles.create(request),
              appender -> {
                work.token = 0; // who makes a file has none
                opened(work, appender);
              },
              failure -> openLater(work, failure.toString()));
        });
  }

  private void openLater(Work work, String why) {
    loop.note(life.host() + " cannot open " + work.path + ": " + why);
    var _ = life.after(200 * MILLI, () -> open(work));
  }

  private void opened(Work work, AsyncAppender appender) {
    loop.note(life.host() + " has opened " + work.path + " as writer " + writer);
    work.appender = appender;
    book.opened(work.path, work.token);
    next(work);
  }

  private void next(Work work) {
    if (finishing || work.fenced) {
      finish(work);
      return;
    }
    if (work.underWay < window) {
      append(work);
    }
    if (swarm.files() > 0 && loop.random().nextInt(20) == 0) {
      folder();
    }
    if (spares != null) {
      spares.turn();
    }
    if (loop.random().nextInt(readsOneIn) == 0 && reading == 0) {
      boolean strict = loop.random().nextInt(3) == 0 || !swarm.clocksInBound();
      ReadMode mode = strict ? ReadMode.STRICT : ReadMode.DEFAULT;
      read(work.path, mode, false, () -> {});
    }
    long turns = work.submittedOfNewest >= easesOffFrom ? REST_TURNS : 1;
    long pause = (long) (loop.random().nextDouble() * 2 * thinkNanos * turns);
    var _ = life.after(pause, () -> next(work));
  }

  private void append(Work work) {
    AsyncAppender appender = work.appender;
    if (appender == null) {
      return;
    }
    Random random = loop.random();
    int most = random.nextInt(3) == 0 ? swarm.maxRecordBytes() : swarm.maxRecordBytes() / 8;
    int length = RecordBook.HEADER_BYTES + random.nextInt(most - RecordBook.HEADER_BYTES);
    RecordBook.Entry record = book.submit(work.path, writer, nextNumber++, length, work.token);
    work.underWay++;
    long submitted = loop.now();
    Futures.onDone(
        appender.append(record.bytes()),
        written -> {
          work.underWay--;
          if (written.result().isEmpty()) {
            loop.violated("I6", record + " acknowledged without a place");
            return;
          }
          work.submittedOfNewest = Math.max(work.submittedOfNewest, submitted);
          book.acknowledged(record, written.result().get());
          if (loop.random().nextInt(25) == 0 && reading == 0 && !finishing) {
            ReadMode mode = swarm.clocksInBound() ? ReadMode.DEFAULT : ReadMode.STRICT;
            read(work.path, mode, false, () -> {}); // what was just acknowledged is there
          }
          finish(work);
        },
        failure -> {
          work.underWay--;
          book.failed(record, failure.code());
          work.fenced |= failure.code() == ErrorCode.FENCED;
          finish(work);
        });
  }

  /**
   * Makes, renames and deletes a folder that nobody else knows of: each is done once, however often
   * it is sent (I9).
   */
  private void folder() {
    FilePath made = FilePath.parse("/folder-" + writer + "-" + nextFolder++);
    FilePath renamed = FilePath.parse(made.text() + "-renamed");
    once(
        "mkdir " + made,
        (master, id) -> master.mkdir(id, made, false, 0755),
        () ->
            once(
                "rename " + made,
                (master, id) -> master.rename(id, made, renamed, false),
                () ->
                    once(
                        "delete " + renamed,
                        (master, id) -> master.delete(id, renamed, false, true),
                        () -> {})));
  }

  private <T> void once(
      String what, BiFunction<MasterApi, RequestId, CompletableFuture<T>> change, Runnable then) {
    Futures.onDone(
        router.change(what, change),
        done -> then.run(),
        failure -> {
          if (failure.code() == ErrorCode.ALREADY_EXISTS || failure.code() == ErrorCode.NOT_FOUND) {
            loop.violated("I9", what + " is told to be done already: " + failure.getMessage());
          }
          loop.note(life.host() + " does not know of " + what + ": " + failure);
        });
  }

  /** One last record to each file, and then it is closed. */
  void finish() {
    finishing = true;
    works.forEach(this::finish);
    if (spares != null) {
      spares.finish();
    }
    if (rawWriter != null) {
      rawWriter.finish();
    }
    if (rawReader != null) {
      rawReader.finish();
    }
  }

  private void finish(Work work) {
    AsyncAppender appender = work.appender;
    if (!(finishing || work.fenced) || work.closed || work.underWay > 0 || appender == null) {
      return;
    }
    if (!work.closing && !work.fenced) {
      work.closing = true;
      append(work);
      return;
    }
    close(work, appender);
  }

  private void close(Work work, AsyncAppender appender) {
    work.closed = true;
    closes++;
    Futures.onDone(
        appender.close(Optional.empty(), false),
        status -> {
          closes--;
          loop.note(life.host() + " has closed " + work.path);
        },
        failure -> {
          closes--;
          loop.note(life.host() + " cannot close " + work.path + ": " + failure);
          if (life.isAlive() && !work.fenced) {
            var _ = life.after(200 * MILLI, () -> close(work, appender));
          }
        });
  }

  private int closes;

  /**
   * The faults have ended: others may have to wait for long until they can write, and all that this
   * client does meanwhile shows little that is new.
   */
  void easeOff(long healed) {
    easesOffFrom = healed;
  }

  /** True where each of its files has taken a record that was submitted since. */
  boolean hasWrittenSince(long instant) {
    return works.stream().allMatch(work -> work.fenced || work.submittedOfNewest >= instant);
  }

  /** Of these it has got records through that it has sent since then. */
  Set<FilePath> writtenSince(long instant) {
    Set<FilePath> written = new TreeSet<>();
    works.forEach(
        work -> {
          if (work.fenced || work.submittedOfNewest >= instant) {
            written.add(work.path);
          }
        });
    return written;
  }

  /** Those of its files that others write to as well. */
  Set<FilePath> shared() {
    Set<FilePath> shared = new TreeSet<>();
    works.forEach(
        work -> {
          if (work.path.name().startsWith("shared")) {
            shared.add(work.path);
          }
        });
    return shared;
  }

  /** True when all is written and closed. */
  boolean isDone() {
    return closes == 0
        && works.stream().allMatch(work -> work.closed)
        && (spares == null || spares.isDone())
        && (rawWriter == null || rawWriter.isDone());
  }

  /** What it still waits for, for people. */
  String waitsFor() {
    StringBuilder text = new StringBuilder();
    for (Work work : works) {
      if (!work.closed || closes > 0) {
        text.append(work.path).append(work.closed ? " closing" : "");
        text.append(" underWay=").append(work.underWay).append(' ');
        text.append(work.appender == null ? "not open" : work.appender.toString()).append("; ");
      }
    }
    if (spares != null) {
      text.append(spares);
    }
    if (rawWriter != null && !rawWriter.isDone()) {
      text.append(rawWriter);
    }
    return text.toString();
  }

  // ---- reading -----------------------------------------------------------------------------

  /** Reads a file from its start, and has it checked. */
  void read(FilePath path, ReadMode mode, boolean whole, Runnable done) {
    reading++;
    boolean byClocks = mode == ReadMode.DEFAULT && !whole;
    // After an early seal who has an older layout may see the chunk end too early (section 4).
    boolean keeps = readers != null && swarm.writesOn();
    boolean mayBeOld = byClocks && (!swarm.clocksInBound() || keeps);
    boolean again = !whole && (swarm.clocksInBound() ? byClocks : !swarm.writesOn());
    long must = mayBeOld ? 0 : book.mustReach(path);
    int number = book.readBegins(path, mode + " read by " + life.host(), mayBeOld);
    AsyncReader kept = again && readers != null ? readers.get(path) : null;
    if (kept != null && loop.random().nextBoolean()) {
      // Its layout is as of up to T ago; what lies behind the end that it meets it asks for anew.
      readOn(kept, number, ByteBuffer.allocate((int) must + READ_AHEAD), must, false, done);
      return;
    }
    Futures.onDone(
        AsyncReader.open(path, source, mode),
        reader -> {
          if (again && readers != null) {
            readers.put(path, reader);
          }
          readOn(reader, number, ByteBuffer.allocate((int) must + READ_AHEAD), must, whole, done);
        },
        failure -> notRead(path, whole, failure.toString(), done));
  }

  private void readOn(
      AsyncReader reader, int number, ByteBuffer content, long must, boolean whole, Runnable done) {
    ByteBuffer target = content;
    if (!content.hasRemaining()) {
      if (content.capacity() >= MOST_READ) {
        loop.violated("BUG", reader.path() + " has no end");
        return;
      }
      target = ByteBuffer.allocate(content.capacity() * 2);
      target.put(content.flip());
    }
    ByteBuffer filled = target;
    Futures.onDone(
        reader.read(filled.position(), filled),
        count -> {
          if (count > 0) {
            readOn(reader, number, filled, must, whole, done);
            return;
          }
          reading--;
          ByteBuffer all = filled.flip();
          loop.note(life.host() + " has read " + reader.path() + ": " + all.limit() + " bytes");
          if (all.limit() < must) {
            loop.violated(
                "I8",
                reader.path()
                    + " ends at "
                    + all.limit()
                    + " for a reader, "
                    + must
                    + " bytes were acknowledged before");
          }
          book.check(reader.path(), number, all, whole);
          done.run();
        },
        failure -> notRead(reader.path(), whole, failure.toString(), done));
  }

  private void notRead(FilePath path, boolean whole, String why, Runnable done) {
    reading--;
    loop.note(life.host() + " cannot read " + path + ": " + why);
    if (whole) {
      var _ = life.after(200 * MILLI, () -> read(path, ReadMode.DEFAULT, true, done));
    }
  }
}
