package io.leasefs.master.log.ratis;

import io.leasefs.common.error.ErrorCode;
import io.leasefs.common.error.LeaseFsException;
import io.leasefs.common.model.ServerAddress;
import io.leasefs.common.model.ServerId;
import io.leasefs.master.log.BarrierBatch;
import io.leasefs.master.log.Operation;
import io.leasefs.master.log.OperationCodec;
import io.leasefs.master.log.OperationLog;
import io.leasefs.master.replicated.ReplicatedState;
import java.io.IOException;
import java.net.BindException;
import java.nio.channels.OverlappingFileLockException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.apache.ratis.conf.RaftProperties;
import org.apache.ratis.grpc.GrpcConfigKeys;
import org.apache.ratis.protocol.ClientId;
import org.apache.ratis.protocol.RaftClientAsynchronousProtocol;
import org.apache.ratis.protocol.RaftClientReply;
import org.apache.ratis.protocol.RaftClientRequest;
import org.apache.ratis.protocol.RaftGroup;
import org.apache.ratis.protocol.RaftGroupId;
import org.apache.ratis.protocol.RaftPeer;
import org.apache.ratis.protocol.RaftPeerId;
import org.apache.ratis.protocol.exceptions.LeaderNotReadyException;
import org.apache.ratis.protocol.exceptions.NotLeaderException;
import org.apache.ratis.protocol.exceptions.ResourceUnavailableException;
import org.apache.ratis.server.RaftConfiguration;
import org.apache.ratis.server.RaftServer;
import org.apache.ratis.server.RaftServerConfigKeys;
import org.apache.ratis.server.storage.RaftStorage;
import org.apache.ratis.util.SizeInBytes;
import org.apache.ratis.util.TimeDuration;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A master's log on Ratis. Operations go straight to the local server, in the order of the calls,
 * without a network client; every entry is fsynced before it commits, many with one fsync.
 */
public final class RatisOperationLog implements OperationLog {
  private static final Logger logger = LoggerFactory.getLogger(RatisOperationLog.class);
  private static final RaftGroupId GROUP =
      RaftGroupId.valueOf(
          UUID.nameUUIDFromBytes("leasefs-masters".getBytes(StandardCharsets.UTF_8)));

  private static final Pattern SEGMENT = Pattern.compile("log_(?:inprogress_)?(\\d+)(?:-\\d+)?");
  private static final Pattern CHECKPOINT = Pattern.compile("snapshot\\.\\d+_(\\d+)");

  private final ReplicatedState state;
  private final RaftPeerId self;
  private final RaftServer raft;
  private final RaftServer.Division division;
  private final RaftClientAsynchronousProtocol requests;
  private final ClientId client = ClientId.randomId();
  private final AtomicLong calls = new AtomicLong();
  private final BarrierBatch barriers = new BarrierBatch(() -> append(new Operation.Barrier()));
  private final Roles roles;

  /**
   * Opens the log and replays it into the state; returns before that is done and before there is a
   * leader: see {@link #onRole}. Throws CORRUPT where log or checkpoint are damaged.
   */
  public static RatisOperationLog open(
      RatisSettings settings, ReplicatedState state, FatalListener fatal) {
    Roles roles = new Roles(settings.self());
    LogStateMachine machine = new LogStateMachine(state, fatal, roles);
    RaftServer raft = null;
    try {
      Files.createDirectories(settings.folder());
      checkComplete(settings.folder());
      raft =
          RaftServer.newBuilder()
              .setServerId(RaftPeerId.valueOf(settings.self().name()))
              .setGroup(group(settings))
              .setProperties(properties(settings))
              .setStateMachine(machine)
              .setOption(
                  Files.exists(settings.folder().resolve(GROUP.getUuid().toString()))
                      ? RaftStorage.StartupOption.RECOVER
                      : RaftStorage.StartupOption.FORMAT)
              .build();
      raft.start();
      return new RatisOperationLog(settings, state, raft, roles);
    } catch (IOException | RuntimeException e) {
      if (raft != null) {
        closeQuietly(raft);
      }
      throw refusal(settings, e);
    }
  }

  private RatisOperationLog(
      RatisSettings settings, ReplicatedState state, RaftServer raft, Roles roles)
      throws IOException {
    this.state = state;
    this.self = RaftPeerId.valueOf(settings.self().name());
    this.raft = raft;
    this.division = raft.getDivision(GROUP);
    // The proxy in front would hand requests to a pool of threads and lose their order.
    if (!(division instanceof RaftClientAsynchronousProtocol direct)) {
      throw new IllegalStateException("this Ratis takes no direct requests: " + division);
    }
    this.requests = direct;
    this.roles = roles;
    roles.start(() -> division.getInfo().getCurrentTerm());
  }

  // ---------------------------------------------------------------- settings

  private static RaftGroup group(RatisSettings settings) {
    List<RaftPeer> peers = new ArrayList<>();
    for (Map.Entry<ServerId, ServerAddress> peer : settings.peers().entrySet()) {
      peers.add(
          RaftPeer.newBuilder()
              .setId(peer.getKey().name())
              .setAddress(peer.getValue().toString())
              .build());
    }
    return RaftGroup.valueOf(GROUP, peers);
  }

  private static RaftProperties properties(RatisSettings settings) {
    RaftProperties to = new RaftProperties();
    ServerAddress here = Objects.requireNonNull(settings.peers().get(settings.self()));
    GrpcConfigKeys.Server.setHost(to, here.host());
    GrpcConfigKeys.Server.setPort(to, here.port());
    RaftServerConfigKeys.setStorageDir(to, List.of(settings.folder().toFile()));
    RaftServerConfigKeys.setStorageFreeSpaceMin(to, SizeInBytes.valueOf("1MB"));
    RaftServerConfigKeys.Log.setSegmentSizeMax(to, SizeInBytes.valueOf("8MB"));
    RaftServerConfigKeys.Log.setPreallocatedSize(to, SizeInBytes.valueOf("1MB"));
    RaftServerConfigKeys.Log.setPurgeUptoSnapshotIndex(to, true);
    RaftServerConfigKeys.Log.setPurgeGap(to, 1);
    RaftServerConfigKeys.Log.setCorruptionPolicy(
        to, RaftServerConfigKeys.Log.CorruptionPolicy.EXCEPTION);
    RaftServerConfigKeys.Snapshot.setAutoTriggerEnabled(to, true);
    RaftServerConfigKeys.Snapshot.setAutoTriggerThreshold(to, settings.checkpointEvery());
    RaftServerConfigKeys.Snapshot.setRetentionFileNum(to, 2);
    // Repeated requests are recognised by the state itself, for as long as the protocol says.
    RaftServerConfigKeys.RetryCache.setExpiryTime(to, seconds(1));
    // A long pause of this process must not stop it for good: it loses its term, if anything.
    RaftServerConfigKeys.setCloseThreshold(to, TimeDuration.valueOf(365, TimeUnit.DAYS));
    if (settings.isAlone()) {
      RaftServerConfigKeys.Rpc.setFirstElectionTimeoutMin(to, millis(10));
      RaftServerConfigKeys.Rpc.setFirstElectionTimeoutMax(to, millis(20));
    }
    RaftServerConfigKeys.Rpc.setTimeoutMin(to, millis(300));
    RaftServerConfigKeys.Rpc.setTimeoutMax(to, millis(600));
    return to;
  }

  private static TimeDuration seconds(long count) {
    return TimeDuration.valueOf(count, TimeUnit.SECONDS);
  }

  private static TimeDuration millis(long count) {
    return TimeDuration.valueOf(count, TimeUnit.MILLISECONDS);
  }

  /**
   * The checkpoint must reach up to where the log begins. Ratis itself would look for the entries
   * in between for ever.
   */
  private static void checkComplete(Path folder) throws IOException {
    long begins = Long.MAX_VALUE;
    long covered = -1;
    try (Stream<Path> files = Files.walk(folder)) {
      for (Path file : (Iterable<Path>) files::iterator) {
        String name = String.valueOf(file.getFileName());
        Matcher segment = SEGMENT.matcher(name);
        Matcher checkpoint = CHECKPOINT.matcher(name);
        if (segment.matches()) {
          begins = Math.min(begins, Long.parseLong(segment.group(1)));
        } else if (checkpoint.matches()) {
          covered = Math.max(covered, Long.parseLong(checkpoint.group(1)));
        }
      }
    }
    if (begins != Long.MAX_VALUE && begins > covered + 1) {
      throw new LeaseFsException(
          ErrorCode.CORRUPT,
          "it begins at entry " + begins + ", and no checkpoint reaches up to there");
    }
  }

  /** One clear line for what kept the log from opening. */
  static LeaseFsException refusal(RatisSettings settings, Exception failure) {
    Throwable root = failure;
    while (root.getCause() != null) {
      if (root instanceof BindException || root instanceof LeaseFsException) {
        break;
      }
      root = root.getCause();
    }
    String why = String.valueOf(root.getMessage());
    if (root instanceof BindException) {
      return new LeaseFsException(
          ErrorCode.INVALID_ARGUMENT,
          "the log's address " + settings.peers().get(settings.self()) + " cannot be used: " + why,
          "choose another port",
          failure);
    }
    if (root instanceof OverlappingFileLockException
        || why.contains("locked")
        || why.contains("lock ")) {
      return new LeaseFsException(
          ErrorCode.INVALID_ARGUMENT,
          "operation log in " + settings.folder() + ": in use by another process: " + why,
          "stop that process, or choose another folder",
          failure);
    }
    if (why.contains("NO_SPACE") || why.contains("No space left")) {
      return new LeaseFsException(
          ErrorCode.NO_SPACE,
          "operation log in " + settings.folder() + ": no space left on its disk",
          "free some space and start again: the log is whole, restore nothing",
          failure);
    }
    return new LeaseFsException(
        ErrorCode.CORRUPT,
        "operation log in " + settings.folder() + " cannot be read: " + why,
        "nothing was changed; restore this folder from a backup",
        failure);
  }

  private static void closeQuietly(RaftServer raft) {
    try {
      raft.close();
    } catch (IOException e) {
      logger.warn("closing the log failed", e);
    }
  }

  // ---------------------------------------------------------------- appending

  @Override
  public CompletableFuture<Committed> append(Operation operation) {
    return submit(OperationCodec.encode(operation));
  }

  CompletableFuture<Committed> submit(byte[] entry) {
    Submission submission = new Submission(entry);
    RaftClientRequest request =
        RaftClientRequest.newBuilder()
            .setClientId(client)
            .setServerId(self)
            .setGroupId(GROUP)
            .setCallId(calls.incrementAndGet())
            .setMessage(submission)
            .setType(RaftClientRequest.writeRequestType())
            .build();
    try {
      var _ =
          requests
              .submitClientRequestAsync(request)
              .whenComplete((reply, failure) -> finish(submission, reply, failure));
    } catch (IOException | RuntimeException e) {
      finish(submission, null, e);
    }
    return submission.answer;
  }

  /** The answer of an applied entry was given by the one who applied it; here come failures. */
  private void finish(
      Submission submission, @Nullable RaftClientReply reply, @Nullable Throwable failure) {
    Throwable cause = failure != null ? failure : reply == null ? null : reply.getException();
    while (cause instanceof CompletionException && cause.getCause() != null) {
      cause = cause.getCause();
    }
    if (submission.answer.isDone()) {
      return;
    }
    submission.answer.completeExceptionally(explain(submission, cause));
  }

  private LeaseFsException explain(Submission submission, @Nullable Throwable cause) {
    String why = cause == null ? "the log gave no result" : String.valueOf(cause.getMessage());
    if (submission.mayBeInLog()) {
      return new LeaseFsException(
          ErrorCode.OUTCOME_UNKNOWN, "the entry may yet be applied: " + why, null, cause);
    }
    if (cause instanceof NotLeaderException notLeader) {
      RaftPeer leader = notLeader.getSuggestedLeader();
      String hint =
          leader == null || leader.getId().equals(self) ? null : leader.getId().toString();
      return new LeaseFsException(ErrorCode.NOT_LEADER, "this master does not lead", hint, cause);
    }
    if (cause instanceof LeaderNotReadyException) {
      return new LeaseFsException(
          ErrorCode.STARTING, "this master leads but is not ready yet", null, cause);
    }
    if (cause instanceof ResourceUnavailableException) {
      return new LeaseFsException(ErrorCode.BUSY, "too many entries wait for the log", null, cause);
    }
    return new LeaseFsException(
        ErrorCode.NOT_LEADER, "the log takes no entries: " + why, null, cause);
  }

  @Override
  public CompletableFuture<Committed> barrier() {
    return barriers.barrier();
  }

  // ---------------------------------------------------------------- what it is

  @Override
  public Role role() {
    return roles.role();
  }

  @Override
  public void onRole(RoleListener listener) {
    roles.listen(listener);
  }

  @Override
  public boolean alone() {
    RaftConfiguration newest = division.getRaftConf();
    List<RaftPeer> peers = new ArrayList<>(newest.getAllPeers());
    peers.addAll(newest.getCurrentPeers());
    peers.addAll(newest.getPreviousPeers());
    for (RaftPeer peer : peers) {
      if (!peer.getId().equals(self)) {
        return false;
      }
    }
    return true;
  }

  @Override
  public long lastApplied() {
    return state.lastApplied();
  }

  @Override
  public void close() {
    closeQuietly(raft);
  }

  /** The name of a peer as a server. */
  static Optional<ServerId> server(@Nullable RaftPeerId peer) {
    return peer == null || peer.toString().isEmpty()
        ? Optional.empty()
        : Optional.of(new ServerId(peer.toString()));
  }
}
