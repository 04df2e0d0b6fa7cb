package io.leasefs.client;

import io.leasefs.client.data.AsyncAppender;
import io.leasefs.client.data.AsyncReader;
import io.leasefs.client.data.BufferPool;
import io.leasefs.client.data.ChunkReads;
import io.leasefs.client.data.OpenFiles;
import io.leasefs.client.data.WriteLimits;
import io.leasefs.client.edge.ClientEdges;
import io.leasefs.client.edge.Network;
import io.leasefs.client.edge.RemoteNetwork;
import io.leasefs.client.meta.ClientSession;
import io.leasefs.client.meta.LocationCache;
import io.leasefs.client.meta.MasterRouter;
import io.leasefs.client.meta.Patience;
import io.leasefs.client.meta.RoutedAdmin;
import io.leasefs.client.retry.RetryPolicy;
import io.leasefs.common.api.AdminApi;
import io.leasefs.common.api.ChunkApi;
import io.leasefs.common.api.ChunkApi.ReadMode;
import io.leasefs.common.api.Frame;
import io.leasefs.common.api.MasterApi.Attributes;
import io.leasefs.common.api.MasterApi.CreateFile;
import io.leasefs.common.api.MasterApi.Greeting;
import io.leasefs.common.api.MasterApi.Trashed;
import io.leasefs.common.api.MasterApi.Usage;
import io.leasefs.common.edge.NanoTimeClock;
import io.leasefs.common.edge.RandomSource;
import io.leasefs.common.error.ErrorCode;
import io.leasefs.common.error.LeaseFsException;
import io.leasefs.common.model.ChunkLayout;
import io.leasefs.common.model.ClientId;
import io.leasefs.common.model.FileLayout;
import io.leasefs.common.model.FilePath;
import io.leasefs.common.model.FileStatus;
import io.leasefs.common.model.ServerAddress;
import java.security.SecureRandom;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.NoSuchElementException;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;

/**
 * A LeaseFS cluster, as a program uses it. Any thread. Calls block until answered, at most as long
 * as the configured timeout without progress, and fail with {@link LeaseFsException}, whose code
 * says what to do. Reading needs no session; the first change opens one, renewed while this is
 * open.
 */
public final class LeaseFs implements AutoCloseable {
  private static final int LIST_PAGE = 1000;
  private static final int CACHED_FILES = 10_000;
  private static final int KEPT_BUFFERS = 64;

  private final LeaseFsConfig config;
  private final ThreadScheduler scheduler;
  private final ClientEdges edges;
  private final MasterRouter router;
  private final ClientSession session;
  private final OpenFiles openFiles;
  private final ChunkReads chunkReads;
  private final LocationCache locations = new LocationCache(CACHED_FILES);
  private final BufferPool pool = new BufferPool(Frame.MAX_PAYLOAD, KEPT_BUFFERS);
  private boolean greeted;

  private LeaseFs(LeaseFsConfig config, Network network, RandomSource random) {
    this.config = config;
    this.scheduler = new ThreadScheduler();
    this.edges = new ClientEdges(new NanoTimeClock(), scheduler, random, network);
    long timeoutNanos = config.timeout().toNanos();
    // Drawn anew by each process: its requests and frames are numbered from 1, and with an identity
    // that had been used before they would be taken for repetitions.
    ClientId client = new ClientId(random.nextLong(), random.nextLong());
    this.router =
        new MasterRouter(config.masters(), client, edges, RetryPolicy.DEFAULT, timeoutNanos);
    this.session = new ClientSession(edges, router);
    WriteLimits limits =
        new WriteLimits(
            config.writeWindowBytes(),
            WriteLimits.DEFAULT.silentNanos(),
            config.writesOn(),
            timeoutNanos);
    this.openFiles = new OpenFiles(edges, router, session, limits);
    this.chunkReads = new ChunkReads(edges, router);
  }

  /** The longest that one call may take before another master, or the same again, is asked. */
  private static final long CALL_TIMEOUT_NANOS = 10_000_000_000L;

  /** A client of the cluster at these masters. Connects when the first call needs it. */
  public static LeaseFs connect(LeaseFsConfig config) {
    long call = Math.min(config.timeout().toNanos(), CALL_TIMEOUT_NANOS);
    return connect(config, new RemoteNetwork(call));
  }

  /** A client over a network of its own, which it closes. Connects when the first call needs it. */
  public static LeaseFs connect(LeaseFsConfig config, Network network) {
    SecureRandom random = new SecureRandom();
    return new LeaseFs(config, network, random::nextLong);
  }

  /** The same, telling somebody while masters do not answer. */
  public static LeaseFs connect(LeaseFsConfig config, Patience patience) {
    LeaseFs client = connect(config);
    client.router.patience(patience);
    return client;
  }

  /** Waits for an answer of {@link #admin} or {@link #chunkServer}; its failure is thrown. */
  public static <T> T join(CompletableFuture<T> answer) {
    return Waits.join(answer);
  }

  /** What the cluster says of itself; asked once, and checked against the configured id. */
  public Greeting greeting() {
    Greeting greeting = Waits.join(router.greeting());
    config
        .clusterId()
        .filter(id -> !id.equals(greeting.clusterId()))
        .ifPresent(
            id -> {
              throw new LeaseFsException(
                  ErrorCode.WRONG_CLUSTER,
                  "the master at "
                      + config.masters().get(0)
                      + " is of cluster "
                      + greeting.clusterId()
                      + ", not "
                      + id,
                  "use the context of that cluster, or none");
            });
    return greeting;
  }

  /** Once per client, where a cluster id was given. */
  private synchronized void checkCluster() {
    if (!greeted && config.clusterId().isPresent()) {
      Greeting unused = greeting();
      greeted = true;
    }
  }

  // writing ----------------------------------------------------------------------------------

  /** Creates a file with the defaults; fails with ALREADY_EXISTS or NOT_FOUND (no such folder). */
  public FileWriter create(String path) {
    return create(path, CreateOptions.DEFAULT);
  }

  /** Creates a file and opens it. */
  public FileWriter create(String path, CreateOptions options) {
    return create(FilePath.parse(path), options, config.shortLived());
  }

  private FileWriter create(FilePath path, CreateOptions options, boolean endsSession) {
    checkCluster();
    return writer(Waits.join(openFiles.create(request(path, options, true))), true, endsSession);
  }

  private static CreateFile request(FilePath path, CreateOptions options, boolean firstChunk) {
    return new CreateFile(
        path,
        options.parents(),
        options.replication(),
        options.chunkBytes(),
        options.durability(),
        options.mode(),
        firstChunk);
  }

  /** Opens a file to write on at its end. */
  public FileWriter append(String path) {
    return append(path, 0);
  }

  /**
   * The same under a fencing token: once accepted, smaller ones are refused for ever.
   *
   * @param token 0 = none
   */
  public FileWriter append(String path, long token) {
    checkCluster();
    AsyncAppender appender = Waits.join(openFiles.openForWrite(FilePath.parse(path), token));
    return writer(appender, appender.status().openWriters() <= 1, config.shortLived());
  }

  private FileWriter writer(AsyncAppender appender, boolean sealsAtClose, boolean endsSession) {
    int underWay = (int) Math.max(1, config.writeWindowBytes() / Frame.MAX_PAYLOAD);
    return new FileWriter(appender, pool, underWay, sealsAtClose, endsSession);
  }

  /** Opens a file for record appends. */
  public RecordAppender recordAppender(String path) {
    return recordAppender(path, 0);
  }

  /** The same under a fencing token; 0 = none. */
  public RecordAppender recordAppender(String path, long token) {
    checkCluster();
    AsyncAppender appender = Waits.join(openFiles.openForWrite(FilePath.parse(path), token));
    return new RecordAppender(appender, 2 * config.writeWindowBytes(), config.shortLived());
  }

  /** Creates an empty file, or sets the time of an existing one to {@code modifiedMillis}. */
  public FileStatus touch(String path, CreateOptions options, long modifiedMillis) {
    checkCluster();
    FilePath file = FilePath.parse(path);
    try {
      AsyncAppender appender = Waits.join(openFiles.create(request(file, options, false)));
      return Waits.join(appender.close(Optional.empty(), config.shortLived()));
    } catch (LeaseFsException failure) {
      if (failure.code() != ErrorCode.ALREADY_EXISTS) {
        throw failure;
      }
      return setAttributes(
          path, new Attributes(Optional.empty(), Optional.empty(), Optional.of(modifiedMillis)));
    }
  }

  /**
   * Begins a file that appears whole, at the commit, or not at all.
   *
   * @param replace an existing file goes to the trash at the commit
   */
  public AtomicPut put(String path, CreateOptions options, boolean replace) {
    FilePath target = FilePath.parse(path);
    Optional<FileStatus> existing = find(path);
    if (existing.isPresent() && existing.get().folder()) {
      throw new LeaseFsException(ErrorCode.IS_A_DIRECTORY, path + ": is a folder");
    }
    if (existing.isPresent() && !replace) {
      throw new LeaseFsException(
          ErrorCode.ALREADY_EXISTS, path + ": exists already", "replace it with -f");
    }
    FilePath sibling = HiddenSibling.of(target, edges.random().nextLong());
    try {
      return new AtomicPut(this, target, sibling, replace, create(sibling, options, false));
    } catch (LeaseFsException failure) {
      String message = String.valueOf(failure.getMessage());
      throw failure.saying(message.replace(sibling.text(), target.text()));
    }
  }

  // reading ----------------------------------------------------------------------------------

  /** Opens a file for reading; fails with NOT_FOUND or IS_A_DIRECTORY. */
  public FileReader open(String path) {
    return open(path, config.readMode());
  }

  /** The same with a freshness of its own. */
  public FileReader open(String path, ReadMode mode) {
    checkCluster();
    return new FileReader(
        Waits.join(asyncReader(FilePath.parse(path), mode)), pool, config.readAheadParts());
  }

  private CompletableFuture<AsyncReader> asyncReader(FilePath path, ReadMode mode) {
    return router
        .greeting()
        .thenCompose(
            greeting ->
                AsyncReader.open(
                    path,
                    new AsyncReader.Source(
                        edges,
                        router,
                        locations,
                        chunkReads,
                        RetryPolicy.DEFAULT,
                        mode == ReadMode.STRICT ? 0 : greeting.leaseTtlNanos(),
                        config.timeout().toNanos()),
                    mode));
  }

  // names ------------------------------------------------------------------------------------

  /** What is there; the length of a file that is being written comes from its primary. */
  public FileStatus stat(String path) {
    checkCluster();
    FilePath parsed = FilePath.parse(path);
    FileStatus status = Waits.join(router.ask("stat " + path, master -> master.stat(parsed)));
    if (status.folder() || status.openWriters() == 0 || status.chunkCount() == 0) {
      return status;
    }
    long length = Waits.join(lengthOf(status));
    return new FileStatus(
        status.path(),
        status.id(),
        false,
        length,
        status.replication(),
        status.chunkBytes(),
        status.durability(),
        status.mode(),
        status.modifiedMillis(),
        status.createdMillis(),
        status.openWriters(),
        status.chunkCount());
  }

  private CompletableFuture<Long> lengthOf(FileStatus status) {
    return asyncReader(status.path(), config.readMode()).thenCompose(AsyncReader::length);
  }

  /** The same, or empty where there is nothing by that name. */
  public Optional<FileStatus> find(String path) {
    try {
      return Optional.of(stat(path));
    } catch (LeaseFsException failure) {
      if (failure.code() == ErrorCode.NOT_FOUND) {
        return Optional.empty();
      }
      throw failure;
    }
  }

  /**
   * At most {@code limit} entries of a folder by name, above {@code after}; a file gives itself.
   */
  public List<FileStatus> list(String path, String after, int limit) {
    checkCluster();
    FilePath parsed = FilePath.parse(path);
    return Waits.join(router.ask("list " + path, master -> master.list(parsed, after, limit)));
  }

  /**
   * All entries of a folder by name, fetched in pages as they are taken. The first page is fetched
   * here, so a missing folder fails here.
   */
  public Iterator<FileStatus> list(String path) {
    return new Listing(path);
  }

  private final class Listing implements Iterator<FileStatus> {
    private final String path;
    private List<FileStatus> page;
    private int at;

    Listing(String path) {
      this.path = path;
      this.page = list(path, "", LIST_PAGE);
    }

    @Override
    public boolean hasNext() {
      if (at == LIST_PAGE && page.size() == LIST_PAGE) {
        page = list(path, page.get(at - 1).path().name(), LIST_PAGE);
        at = 0;
      }
      return at < page.size();
    }

    @Override
    public FileStatus next() {
      if (!hasNext()) {
        throw new NoSuchElementException();
      }
      return page.get(at++);
    }
  }

  /** Creates a folder; with {@code parents} missing ones above too, and an existing one is fine. */
  public FileStatus mkdir(String path, boolean parents, int mode) {
    checkCluster();
    FilePath parsed = FilePath.parse(path);
    return Waits.join(
        router.change("mkdir " + path, (master, id) -> master.mkdir(id, parsed, parents, mode)));
  }

  /** Moves a file or folder; with {@code replace} an existing target file goes to the trash. */
  public FileStatus rename(String from, String to, boolean replace) {
    checkCluster();
    FilePath source = FilePath.parse(from);
    FilePath target = FilePath.parse(to);
    return Waits.join(
        router.change(
            "rename " + from, (master, id) -> master.rename(id, source, target, replace)));
  }

  /** Moves to the trash, or for good where {@code skipTrash} is set. */
  public void delete(String path, boolean recursive, boolean skipTrash) {
    checkCluster();
    delete(FilePath.parse(path), recursive, skipTrash);
  }

  void delete(FilePath path, boolean recursive, boolean skipTrash) {
    Waits.join(
        router.change(
            "delete " + path, (master, id) -> master.delete(id, path, recursive, skipTrash)));
  }

  /** The newest trashed file or folder of this path comes back. */
  public FileStatus restore(String path) {
    checkCluster();
    FilePath parsed = FilePath.parse(path);
    return Waits.join(router.change("restore " + path, (master, id) -> master.restore(id, parsed)));
  }

  /** Sets what is given. */
  public FileStatus setAttributes(String path, Attributes attributes) {
    checkCluster();
    FilePath parsed = FilePath.parse(path);
    return Waits.join(
        router.change(
            "set attributes of " + path,
            (master, id) -> master.setAttributes(id, parsed, attributes)));
  }

  /** Totals below a path. */
  public Usage usage(String path) {
    checkCluster();
    FilePath parsed = FilePath.parse(path);
    return Waits.join(router.ask("usage of " + path, master -> master.usage(parsed)));
  }

  /** What lies in the trash, newest first. */
  public List<Trashed> trash() {
    checkCluster();
    return Waits.join(router.ask("list of the trash", master -> master.trash()));
  }

  /** Drops what has lain in the trash for longer; answers how many entries. */
  public int emptyTrash(long olderThanMillis) {
    checkCluster();
    return Waits.join(
        router.change("empty the trash", (master, id) -> master.emptyTrash(id, olderThanMillis)));
  }

  /** A file's chunks, all of them. */
  public FileLayout layout(String path) {
    checkCluster();
    FilePath parsed = FilePath.parse(path);
    List<ChunkLayout> chunks = new ArrayList<>();
    while (true) {
      int from = chunks.size();
      FileLayout page =
          Waits.join(
              router.ask("layout of " + path, master -> master.layout(parsed, from, LIST_PAGE)));
      chunks.addAll(page.chunks());
      if (page.complete() || page.chunks().isEmpty()) {
        return new FileLayout(page.file(), page.status(), chunks, page.complete());
      }
    }
  }

  // the cluster ------------------------------------------------------------------------------

  /** The operator's view; answers come as futures, see {@link #join}. */
  public AdminApi admin() {
    checkCluster();
    return new RoutedAdmin(router);
  }

  /** One chunkserver itself: its replicas, its events. */
  public ChunkApi chunkServer(ServerAddress address) {
    return edges.network().chunkServer(address);
  }

  /** Who this client is to the masters. */
  public ClientId client() {
    return router.client();
  }

  /**
   * Ends all that is under way: who waits is told so. Files still open for writing are not flushed;
   * their session runs out and closes them.
   */
  @Override
  public void close() {
    session.stop();
    router.close();
    openFiles.end();
    edges.network().close();
    scheduler.close();
  }
}
