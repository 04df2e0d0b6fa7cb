package io.leasefs.client.fake;

import io.leasefs.common.api.ChunkApi;
import io.leasefs.common.api.Frame;
import io.leasefs.common.api.FrameAnswer;
import io.leasefs.common.api.MasterApi.Publication;
import io.leasefs.common.api.MutationKind;
import io.leasefs.common.checksum.Checksums;
import io.leasefs.common.error.ErrorCode;
import io.leasefs.common.error.LeaseFsException;
import io.leasefs.common.model.ChunkHandle;
import io.leasefs.common.model.ChunkLayout;
import io.leasefs.common.model.ChunkSeal;
import io.leasefs.common.model.ChunkSpec;
import io.leasefs.common.model.ClientId;
import io.leasefs.common.model.Configuration;
import io.leasefs.common.model.DiskId;
import io.leasefs.common.model.Durability;
import io.leasefs.common.model.FileId;
import io.leasefs.common.model.FileLayout;
import io.leasefs.common.model.FilePath;
import io.leasefs.common.model.FileStatus;
import io.leasefs.common.model.Location;
import io.leasefs.common.model.Member;
import io.leasefs.common.model.ReplicaId;
import io.leasefs.common.model.RequestId;
import io.leasefs.common.model.SealedChunk;
import io.leasefs.common.model.ServerAddress;
import io.leasefs.common.model.ServerId;
import io.leasefs.common.model.SessionId;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import java.util.function.Consumer;
import java.util.function.Supplier;

/** A master and one chunkserver in memory, that do what they promise and nothing goes wrong. */
public final class MemoryCluster {
  /** The chunkserver. */
  public final ChunkApi chunkServer = new Server();

  /** The master. */
  public final FakeMaster master = new Master();

  private final int chunkBytes;
  private ServerAddress address = Layouts.address(1);
  private final Map<FilePath, MemoryFile> files = new TreeMap<>();
  private final List<MemoryChunk> chunks = new ArrayList<>();
  private long nextId = 1;

  public MemoryCluster(int chunkBytes) {
    this.chunkBytes = chunkBytes;
    files.put(FilePath.ROOT, new MemoryFile(new FileId(0), true));
  }

  /** Where the chunkserver listens. */
  public synchronized void at(ServerAddress listening) {
    address = listening;
  }

  private static final class MemoryFile {
    final FileId id;
    final boolean folder;
    final List<MemoryChunk> chunks = new ArrayList<>();
    int writers;

    MemoryFile(FileId id, boolean folder) {
      this.id = id;
      this.folder = folder;
    }

    long length() {
      return chunks.stream().filter(c -> c.seal.isPresent()).mapToLong(c -> c.length).sum();
    }
  }

  private static final class MemoryChunk {
    final ChunkHandle handle;
    final FileId file;
    final int index;
    final long fileOffset;
    final Map<Long, FrameAnswer> table = new TreeMap<>();
    byte[] bytes = new byte[4096];
    int length;
    long serial;
    Optional<ChunkSeal> seal = Optional.empty();

    MemoryChunk(ChunkHandle handle, FileId file, int index, long fileOffset) {
      this.handle = handle;
      this.file = file;
      this.index = index;
      this.fileOffset = fileOffset;
    }
  }

  private synchronized <T> CompletableFuture<T> answer(Supplier<T> answer) {
    try {
      return CompletableFuture.completedFuture(answer.get());
    } catch (LeaseFsException refused) {
      return CompletableFuture.failedFuture(refused);
    }
  }

  private MemoryFile at(FilePath path) {
    MemoryFile file = files.get(path);
    if (file == null) {
      throw new LeaseFsException(ErrorCode.NOT_FOUND, path + ": not found");
    }
    return file;
  }

  private MemoryFile by(FileId id) {
    return files.values().stream().filter(f -> f.id.equals(id)).findFirst().orElseThrow();
  }

  private FilePath pathOf(MemoryFile file) {
    return files.entrySet().stream()
        .filter(e -> e.getValue() == file)
        .findFirst()
        .orElseThrow()
        .getKey();
  }

  private FileStatus status(MemoryFile file) {
    return new FileStatus(
        pathOf(file),
        file.id,
        file.folder,
        file.length(),
        1,
        chunkBytes,
        Durability.REPLICATED,
        0644,
        0,
        0,
        file.writers,
        file.chunks.size());
  }

  private ChunkLayout layout(MemoryChunk chunk) {
    ServerId server = new ServerId("cs1");
    Member member = new Member(server, new DiskId("disk"), new ReplicaId(1));
    return new ChunkLayout(
        new ChunkSpec(chunk.handle, chunk.file, chunkBytes, Durability.REPLICATED),
        chunk.index,
        chunk.fileOffset,
        new Configuration(
            1, chunk.seal.isPresent() ? Optional.empty() : Optional.of(server), List.of(member), 0),
        List.of(new Location(member, address, "rack")),
        chunk.seal,
        1);
  }

  private MemoryChunk addChunk(MemoryFile file) {
    long offset = 0;
    if (!file.chunks.isEmpty()) {
      MemoryChunk last = file.chunks.get(file.chunks.size() - 1);
      offset = last.fileOffset + last.length;
    }
    MemoryChunk chunk =
        new MemoryChunk(new ChunkHandle(chunks.size()), file.id, file.chunks.size(), offset);
    chunks.add(chunk);
    file.chunks.add(chunk);
    return chunk;
  }

  private final class Master extends FakeMaster {
    @Override
    public CompletableFuture<Greeting> greet(ClientId client) {
      return answer(
          () ->
              new Greeting(
                  "cluster", "0", new ServerId("m1"), 1, 0, 0, 10_000_000_000L, chunkBytes, 1));
    }

    private OpenFile open(MemoryFile file) {
      file.writers++;
      Optional<ChunkLayout> last =
          file.chunks.isEmpty()
              ? Optional.empty()
              : Optional.of(MemoryCluster.this.layout(file.chunks.get(file.chunks.size() - 1)));
      return new OpenFile(status(file), new SessionId(1), nextId++, last, Optional.empty());
    }

    @Override
    public CompletableFuture<OpenFile> create(RequestId id, CreateFile request) {
      return answer(
          () -> {
            if (files.containsKey(request.path())) {
              throw new LeaseFsException(
                  ErrorCode.ALREADY_EXISTS, request.path() + ": exists already");
            }
            if (!files.containsKey(request.path().parent())) {
              throw new LeaseFsException(
                  ErrorCode.NOT_FOUND, request.path() + ": parent directory does not exist");
            }
            MemoryFile file = new MemoryFile(new FileId(nextId++), false);
            files.put(request.path(), file);
            if (request.firstChunk()) {
              MemoryChunk unused = MemoryCluster.this.addChunk(file);
            }
            return open(file);
          });
    }

    @Override
    public CompletableFuture<OpenFile> openForWrite(RequestId id, FilePath path, long token) {
      return answer(() -> open(at(path)));
    }

    @Override
    public CompletableFuture<AddedChunk> addChunk(
        RequestId id, FileId file, int afterIndex, Optional<ChunkSeal> seal) {
      return answer(
          () -> {
            MemoryFile found = by(file);
            if (found.chunks.size() == afterIndex + 1) {
              MemoryChunk unused = MemoryCluster.this.addChunk(found);
            }
            return new AddedChunk(
                MemoryCluster.this.layout(found.chunks.get(afterIndex + 1)), Optional.empty());
          });
    }

    @Override
    public CompletableFuture<FileStatus> close(
        RequestId id,
        FileId file,
        long openNumber,
        Optional<SealedChunk> sealed,
        Optional<Publication> publication,
        boolean endSession) {
      return answer(
          () -> {
            MemoryFile found = by(file);
            if (publication.isPresent()) {
              FilePath target = publication.get().target();
              if (files.containsKey(target) && !publication.get().replace()) {
                throw new LeaseFsException(ErrorCode.ALREADY_EXISTS, target + ": exists already");
              }
              files.values().remove(found);
              files.put(target, found);
            }
            found.writers--;
            if (found.writers == 0 && !found.chunks.isEmpty()) {
              MemoryChunk last = found.chunks.get(found.chunks.size() - 1);
              if (last.seal.isEmpty()) {
                last.seal = Optional.of(new ChunkSeal(++last.serial, last.length, 0));
              }
            }
            return status(found);
          });
    }

    private FileLayout layout(MemoryFile file) {
      return new FileLayout(
          file.id,
          status(file),
          file.chunks.stream().map(MemoryCluster.this::layout).toList(),
          true);
    }

    @Override
    public CompletableFuture<FileLayout> layout(FilePath path, int fromIndex, int limit) {
      return answer(() -> layout(at(path)));
    }

    @Override
    public CompletableFuture<FileLayout> layout(FileId file, int fromIndex, int limit) {
      return answer(() -> layout(by(file)));
    }

    @Override
    public CompletableFuture<ChunkLayout> chunkLayout(
        ChunkHandle chunk, long knownVersion, long waitNanos) {
      return answer(() -> MemoryCluster.this.layout(chunks.get((int) chunk.value())));
    }

    @Override
    public CompletableFuture<Void> reportSilent(
        ChunkHandle chunk, long version, boolean connectionReset) {
      return CompletableFuture.completedFuture(null);
    }

    @Override
    public CompletableFuture<Long> renew(ClientId client, SessionId session) {
      return CompletableFuture.completedFuture(60_000_000_000L);
    }

    @Override
    public CompletableFuture<FileStatus> stat(FilePath path) {
      return answer(() -> status(at(path)));
    }

    @Override
    public CompletableFuture<List<FileStatus>> list(FilePath path, String after, int limit) {
      return answer(
          () -> {
            MemoryFile folder = at(path);
            if (!folder.folder) {
              return List.of(status(folder));
            }
            return files.entrySet().stream()
                .filter(e -> !e.getKey().isRoot() && e.getKey().parent().equals(path))
                .filter(e -> e.getKey().name().compareTo(after) > 0)
                .limit(limit)
                .map(e -> status(e.getValue()))
                .toList();
          });
    }

    @Override
    public CompletableFuture<FileStatus> mkdir(
        RequestId id, FilePath path, boolean parents, int mode) {
      return answer(
          () -> {
            files.putIfAbsent(path, new MemoryFile(new FileId(nextId++), true));
            return status(at(path));
          });
    }

    @Override
    public CompletableFuture<FileStatus> rename(
        RequestId id, FilePath from, FilePath to, boolean replace) {
      return answer(
          () -> {
            if (files.containsKey(to) && !replace) {
              throw new LeaseFsException(ErrorCode.ALREADY_EXISTS, to + ": exists already");
            }
            MemoryFile file = at(from);
            files.remove(from);
            files.put(to, file);
            return status(file);
          });
    }

    @Override
    public CompletableFuture<Void> delete(
        RequestId id, FilePath path, boolean recursive, boolean skipTrash) {
      CompletableFuture<MemoryFile> removed =
          answer(
              () -> {
                MemoryFile file = at(path);
                files.remove(path);
                return file;
              });
      return removed.thenAccept(file -> {});
    }
  }

  private final class Server extends FakeChunkServer {
    @Override
    public FrameStream mutate(Consumer<NamedAnswer> answers, Consumer<String> broken) {
      return new FrameStream() {
        @Override
        public void send(Frame frame) {
          answers.accept(
              new NamedAnswer(
                  frame.chunk(), frame.session().value(), frame.sequence(), handle(frame)));
        }

        @Override
        public boolean isReady() {
          return true;
        }

        @Override
        public void onReady(Runnable task) {}

        @Override
        public void close() {
          broken.accept("closed");
        }
      };
    }

    private FrameAnswer handle(Frame frame) {
      if (!frame.checksums().match(frame.payload(), Frame.PIECE)) {
        return new FrameAnswer.Refused(ErrorCode.CORRUPT, "checksum");
      }
      synchronized (MemoryCluster.this) {
        MemoryChunk chunk = chunks.get((int) frame.chunk().value());
        return chunk.table.computeIfAbsent(frame.sequence(), s -> apply(chunk, frame));
      }
    }

    private FrameAnswer apply(MemoryChunk chunk, Frame frame) {
      int bytes = frame.payload().remaining();
      boolean full = chunk.length + bytes > chunkBytes;
      if (chunk.seal.isPresent() || full) {
        if (chunk.seal.isEmpty()) {
          chunk.seal = Optional.of(new ChunkSeal(++chunk.serial, chunk.length, 0));
        }
        return new FrameAnswer.ChunkFull(1, chunk.seal.orElseThrow());
      }
      if (chunk.bytes.length < chunk.length + bytes) {
        chunk.bytes = Arrays.copyOf(chunk.bytes, Math.max(2 * chunk.length, chunk.length + bytes));
      }
      int offset = chunk.length;
      frame.payload().duplicate().get(chunk.bytes, offset, bytes);
      chunk.length += bytes;
      long serial = ++chunk.serial;
      if (frame.seals() || frame.kind() == MutationKind.SEAL) {
        chunk.seal = Optional.of(new ChunkSeal(++chunk.serial, chunk.length, 0));
      }
      return new FrameAnswer.Applied(offset, 1, serial, chunk.seal);
    }

    @Override
    public CompletableFuture<ReadEnd> read(ReadRequest request, Sink<ReadPart> parts) {
      MemoryChunk chunk;
      int length;
      synchronized (MemoryCluster.this) {
        chunk = chunks.get((int) request.chunk().value());
        length = chunk.length;
      }
      long end = Math.min(length, request.offset() + request.lengthBytes());
      for (long at = request.offset(); at < end; at += Frame.MAX_PAYLOAD) {
        int bytes = (int) Math.min(end - at, Frame.MAX_PAYLOAD);
        ByteBuffer payload = ByteBuffer.wrap(chunk.bytes, (int) at, bytes);
        parts.accept(new ReadPart(at, Checksums.of(payload, Frame.PIECE), payload));
      }
      return CompletableFuture.completedFuture(new ReadEnd(length, 1, chunk.seal.isPresent()));
    }
  }
}
