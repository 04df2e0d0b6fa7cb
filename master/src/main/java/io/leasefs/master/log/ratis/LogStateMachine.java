package io.leasefs.master.log.ratis;

import io.leasefs.master.log.Operation;
import io.leasefs.master.log.OperationCodec;
import io.leasefs.master.log.OperationLog.Committed;
import io.leasefs.master.replicated.ReplicatedState;
import java.io.BufferedInputStream;
import java.io.BufferedOutputStream;
import java.io.File;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.util.Collection;
import java.util.concurrent.CompletableFuture;
import org.apache.ratis.io.MD5Hash;
import org.apache.ratis.proto.RaftProtos.LogEntryProto;
import org.apache.ratis.protocol.Message;
import org.apache.ratis.protocol.RaftClientRequest;
import org.apache.ratis.protocol.RaftGroupId;
import org.apache.ratis.protocol.RaftGroupMemberId;
import org.apache.ratis.protocol.RaftPeerId;
import org.apache.ratis.server.RaftServer;
import org.apache.ratis.server.protocol.TermIndex;
import org.apache.ratis.server.storage.FileInfo;
import org.apache.ratis.server.storage.RaftStorage;
import org.apache.ratis.statemachine.StateMachineStorage;
import org.apache.ratis.statemachine.TransactionContext;
import org.apache.ratis.statemachine.impl.BaseStateMachine;
import org.apache.ratis.statemachine.impl.SimpleStateMachineStorage;
import org.apache.ratis.statemachine.impl.SingleFileSnapshotInfo;
import org.apache.ratis.util.LifeCycle;
import org.apache.ratis.util.MD5FileUtil;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * What Ratis calls: applies entries to the {@link ReplicatedState}, writes and loads checkpoints.
 * The updater thread applies; nothing is skipped: a gap, an unknown entry or a failing apply is
 * fatal.
 */
final class LogStateMachine extends BaseStateMachine {
  private static final Logger logger = LoggerFactory.getLogger(LogStateMachine.class);

  /** Told of leadership, on threads of Ratis. */
  interface Leadership {
    void leaderChanged(@Nullable RaftPeerId leader);

    void ready();

    void lost();
  }

  private final ReplicatedState state;
  private final FatalListener fatal;
  private final Leadership leadership;
  private final SimpleStateMachineStorage storage = new SimpleStateMachineStorage();
  private long lastIndex = -1;

  LogStateMachine(ReplicatedState state, FatalListener fatal, Leadership leadership) {
    this.state = state;
    this.fatal = fatal;
    this.leadership = leadership;
  }

  // ---------------------------------------------------------------- start and checkpoints

  @Override
  public void initialize(RaftServer server, RaftGroupId group, RaftStorage raftStorage)
      throws IOException {
    getLifeCycle()
        .startAndTransition(
            () -> {
              super.initialize(server, group, raftStorage);
              storage.init(raftStorage);
              load();
            },
            IOException.class);
  }

  @Override
  public void pause() {
    getLifeCycle().transition(LifeCycle.State.PAUSING);
    getLifeCycle().transition(LifeCycle.State.PAUSED);
  }

  /** A checkpoint has come from the leader. */
  @Override
  public void reinitialize() throws IOException {
    getLifeCycle().startAndTransition(this::load, IOException.class);
  }

  private void load() throws IOException {
    SingleFileSnapshotInfo checkpoint = storage.loadLatestSnapshot();
    if (checkpoint == null) {
      return;
    }
    Path file = checkpoint.getFile().getPath();
    try (InputStream in = new BufferedInputStream(Files.newInputStream(file), 1 << 16)) {
      state.readCheckpoint(in);
    }
    lastIndex = checkpoint.getIndex();
    setLastAppliedTermIndex(checkpoint.getTermIndex());
    logger.info("checkpoint loaded index={} bytes={} file={}", lastIndex, Files.size(file), file);
  }

  /** On the updater thread, so between two entries. */
  @Override
  public long takeSnapshot() throws IOException {
    TermIndex last = getLastAppliedTermIndex();
    if (last == null || last.getIndex() < 0) {
      return -1;
    }
    Path file = storage.getSnapshotFile(last.getTerm(), last.getIndex()).toPath();
    Path temporary = file.resolveSibling(file.getFileName() + ".tmp");
    long started = System.nanoTime();
    try (FileOutputStream out = new FileOutputStream(temporary.toFile());
        OutputStream buffered = new BufferedOutputStream(out, 1 << 16)) {
      state.writeCheckpoint(buffered);
      buffered.flush();
      out.getFD().sync();
    } catch (IOException | RuntimeException e) {
      Files.deleteIfExists(temporary);
      throw e;
    }
    Files.move(
        temporary, file, StandardCopyOption.ATOMIC_MOVE, StandardCopyOption.REPLACE_EXISTING);
    File asFile = file.toFile();
    MD5Hash digest = MD5FileUtil.computeAndSaveMd5ForFile(asFile);
    syncFolder(file);
    storage.updateLatestSnapshot(new SingleFileSnapshotInfo(new FileInfo(file, digest), last));
    logger.info(
        "checkpoint written index={} bytes={} millis={}",
        last.getIndex(),
        Files.size(file),
        (System.nanoTime() - started) / 1_000_000);
    return last.getIndex();
  }

  private static void syncFolder(Path file) throws IOException {
    Path folder = file.getParent();
    if (folder != null) {
      try (FileChannel channel = FileChannel.open(folder, StandardOpenOption.READ)) {
        channel.force(true);
      }
    }
  }

  @Override
  public StateMachineStorage getStateMachineStorage() {
    return storage;
  }

  // ---------------------------------------------------------------- entries

  @Override
  public TransactionContext startTransaction(RaftClientRequest request) {
    return TransactionContext.newBuilder()
        .setStateMachine(this)
        .setClientRequest(request)
        .setStateMachineContext(request.getMessage())
        .build();
  }

  @Override
  public TransactionContext preAppendTransaction(TransactionContext context) {
    if (context.getStateMachineContext() instanceof Submission submission) {
      submission.appending();
    }
    return context;
  }

  @Override
  public CompletableFuture<Message> applyTransaction(TransactionContext context) {
    LogEntryProto entry = context.getLogEntry();
    try {
      advance(entry.getIndex(), entry.getTerm());
      Operation operation =
          OperationCodec.decode(entry.getStateMachineLogEntry().getLogData().toByteArray());
      Committed committed = state.apply(entry.getIndex(), entry.getTerm(), operation);
      if (context.getStateMachineContext() instanceof Submission submission) {
        submission.answer.complete(committed);
      }
      return CompletableFuture.completedFuture(Message.EMPTY);
    } catch (RuntimeException e) {
      throw stop(entry.getIndex(), e);
    }
  }

  /** An entry of Ratis itself: a configuration or its own bookkeeping. */
  @Override
  public void notifyTermIndexUpdated(long term, long index) {
    if (index <= lastIndex) {
      return;
    }
    try {
      advance(index, term);
      state.skip(index);
    } catch (RuntimeException e) {
      throw stop(index, e);
    }
  }

  private void advance(long index, long term) {
    if (index != lastIndex + 1) {
      throw new IllegalStateException(
          "entry " + index + " follows entry " + lastIndex + ": a part of the log is missing");
    }
    lastIndex = index;
    updateLastAppliedTermIndex(term, index);
  }

  private IllegalStateException stop(long index, RuntimeException cause) {
    String line = "log entry " + index + " cannot be applied: " + cause.getMessage();
    logger.error("{}", line, cause);
    fatal.failed(line, cause);
    return new IllegalStateException(line, cause);
  }

  // ---------------------------------------------------------------- events

  @Override
  public void notifyLeaderChanged(RaftGroupMemberId member, @Nullable RaftPeerId leader) {
    leadership.leaderChanged(leader);
  }

  @Override
  public void notifyLeaderReady() {
    leadership.ready();
  }

  @Override
  public void notifyNotLeader(Collection<TransactionContext> pending) {
    leadership.lost();
  }

  @Override
  public void notifyLogFailed(Throwable cause, @Nullable LogEntryProto entry) {
    String line = "the log cannot be written: " + cause.getMessage();
    logger.error("{}", line, cause);
    fatal.failed(line, cause);
  }
}
