package io.leasefs.master.log.ratis;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.leasefs.common.error.ErrorCode;
import io.leasefs.common.error.LeaseFsException;
import io.leasefs.common.model.ClientId;
import io.leasefs.common.model.FilePath;
import io.leasefs.common.model.RequestId;
import io.leasefs.common.model.ServerId;
import io.leasefs.master.log.Operation;
import io.leasefs.master.log.Operation.ClientCall;
import io.leasefs.master.log.OperationLog.Committed;
import io.leasefs.master.log.OperationLog.Role;
import io.leasefs.master.log.OperationResult.Rejected;
import io.leasefs.master.replicated.ReplicatedState;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

@Timeout(60)
class RatisOperationLogTest {
  private static final ServerId SELF = new ServerId("m1");

  @TempDir private Path folder;

  private final LinkedBlockingQueue<String> fatal = new LinkedBlockingQueue<>();
  private final List<RatisOperationLog> open = new ArrayList<>();
  private ReplicatedState state = new ReplicatedState();
  private long sequence;

  @AfterEach
  void closeAll() {
    open.forEach(RatisOperationLog::close);
  }

  private RatisOperationLog open(long checkpointEvery) throws InterruptedException {
    RatisOperationLog log = openUnready(checkpointEvery);
    CountDownLatch ready = new CountDownLatch(1);
    log.onRole(
        role -> {
          if (role.ready()) {
            ready.countDown();
          }
        });
    assertThat(ready.await(20, TimeUnit.SECONDS)).as("ready").isTrue();
    return log;
  }

  private RatisOperationLog openUnready(long checkpointEvery) {
    state = new ReplicatedState();
    RatisSettings alone = RatisSettings.alone(SELF, folder);
    RatisOperationLog log =
        RatisOperationLog.open(
            new RatisSettings(SELF, folder, alone.peers(), checkpointEvery),
            state,
            (line, cause) -> fatal.add(line));
    open.add(log);
    return log;
  }

  /** As Ratis tells it: whoever believed that the log is damaged would put an older one back. */
  @Test
  void fullDiskIsToldAsSuchAndNotAsDamage() {
    LeaseFsException refusal =
        RatisOperationLog.refusal(
            RatisSettings.alone(SELF, folder),
            new IOException(
                new IOException("Failed to load Storage Directory " + folder + ": NO_SPACE")));
    assertThat(refusal.code()).isEqualTo(ErrorCode.NO_SPACE);
    assertThat(refusal.hint()).contains("restore nothing");
  }

  private Operation mkdir(String path) {
    sequence++;
    ClientCall call =
        new ClientCall(
            new RequestId(new ClientId(1, 2), sequence, sequence, state.lastApplied()), 60);
    return new Operation.Mkdir(call, new FilePath(path), false, 0755, 7);
  }

  private static Committed get(CompletableFuture<Committed> future) throws Exception {
    return future.get(20, TimeUnit.SECONDS);
  }

  private byte[] checkpoint() throws IOException {
    ByteArrayOutputStream out = new ByteArrayOutputStream();
    state.writeCheckpoint(out);
    return out.toByteArray();
  }

  private Path only(String pattern) throws IOException {
    try (Stream<Path> files = Files.walk(folder)) {
      return files
          .filter(f -> f.getFileName().toString().matches(pattern))
          .max(Path::compareTo)
          .orElseThrow();
    }
  }

  private static void flip(Path file, long at) throws IOException {
    byte[] bytes = Files.readAllBytes(file);
    bytes[(int) at] ^= 0x10;
    Files.write(file, bytes);
  }

  @Test
  void appliesInTheOrderOfTheCallsAndSurvivesARestart() throws Exception {
    RatisOperationLog log = open(1_000_000);
    List<CompletableFuture<Committed>> answers = new ArrayList<>();
    for (int i = 0; i < 200; i++) {
      answers.add(log.append(mkdir("/d" + i)));
    }
    long last = 0;
    for (CompletableFuture<Committed> answer : answers) {
      Committed committed = get(answer);
      assertThat(committed.result().isApplied()).isTrue();
      assertThat(committed.ordinal()).isGreaterThan(last);
      assertThat(committed.term()).isEqualTo(log.role().term());
      last = committed.ordinal();
    }
    assertThat(get(log.append(mkdir("/d7"))).result())
        .isInstanceOfSatisfying(
            Rejected.class, r -> assertThat(r.code()).isEqualTo(ErrorCode.ALREADY_EXISTS));
    long term = log.role().term();
    log.close();

    RatisOperationLog again = open(1_000_000);
    assertThat(again.role().term()).isGreaterThan(term);
    assertThat(state.<Long>read(view -> view.folderCount())).isEqualTo(200);
    assertThat(get(again.append(mkdir("/after"))).ordinal()).isGreaterThan(last);
    state.invariant();
  }

  @Test
  void killedWithoutACheckpointItReplaysTheWholeLog() throws Exception {
    RatisOperationLog log = open(1_000_000);
    for (int i = 0; i < 50; i++) {
      get(log.append(mkdir("/d" + i)));
    }
    Path copy = folder.resolveSibling(folder.getFileName() + "-copy");
    copyFolder(folder, copy);
    byte[] before = checkpoint();
    log.close();
    folder = copy;
    open(1_000_000);
    assertThat(state.<Long>read(view -> view.folderCount())).isEqualTo(50);
    byte[] after = checkpoint();
    assertThat(after).hasSameSizeAs(before);
    deleteFolder(copy);
  }

  private static void copyFolder(Path from, Path to) throws IOException {
    try (Stream<Path> files = Files.walk(from)) {
      for (Path file : (Iterable<Path>) files::iterator) {
        if (!file.getFileName().toString().equals("in_use.lock")) {
          Files.copy(file, to.resolve(from.relativize(file).toString()));
        }
      }
    }
  }

  private static void deleteFolder(Path folder) throws IOException {
    try (Stream<Path> files = Files.walk(folder)) {
      for (Path file : (Iterable<Path>) files.sorted((a, b) -> b.compareTo(a))::iterator) {
        Files.delete(file);
      }
    }
  }

  @Test
  void checkpointsReplaceTheLogAndTwoAreKept() throws Exception {
    RatisOperationLog log = open(100);
    for (int i = 0; i < 1000; i++) {
      get(log.append(mkdir("/d" + i)));
    }
    log.close();
    try (Stream<Path> files = Files.walk(folder)) {
      assertThat(files.filter(f -> f.getFileName().toString().matches("snapshot\\.\\d+_\\d+")))
          .hasSize(2);
    }
    open(100);
    assertThat(state.<Long>read(view -> view.folderCount())).isEqualTo(1000);
    state.invariant();
  }

  @Test
  void refusesToStartOnADamagedCheckpointAndSaysWhatToDo() throws Exception {
    RatisOperationLog log = open(1_000_000);
    get(log.append(mkdir("/a")));
    log.close();
    Path file = only("snapshot\\.\\d+_\\d+");
    flip(file, Files.size(file) / 2);
    assertThatThrownBy(() -> openUnready(1_000_000))
        .isInstanceOfSatisfying(
            LeaseFsException.class,
            e -> {
              assertThat(e.code()).isEqualTo(ErrorCode.CORRUPT);
              assertThat(e).hasMessageContaining(folder.toString());
              assertThat(e).hasMessageContaining("checkpoint");
              assertThat(e.hint()).contains("restore this folder from a backup");
            });
  }

  @Test
  void refusesToStartWithoutTheCheckpointThatTheLogGoesOnFrom() throws Exception {
    RatisOperationLog log = open(100);
    get(log.append(mkdir("/a")));
    log.close();
    RatisOperationLog again = open(100); // begins a new segment, and the old one goes
    for (int i = 0; i < 200; i++) {
      get(again.append(mkdir("/d" + i)));
    }
    again.close();
    assertThat(only("log_(inprogress_)?\\d+(-\\d+)?")).asString().doesNotContain("_0");
    try (Stream<Path> files = Files.walk(folder)) {
      for (Path file : files.filter(f -> f.toString().contains("snapshot.")).toList()) {
        Files.delete(file);
      }
    }
    assertThatThrownBy(() -> openUnready(100))
        .isInstanceOfSatisfying(
            LeaseFsException.class,
            e -> {
              assertThat(e.code()).isEqualTo(ErrorCode.CORRUPT);
              assertThat(e).hasMessageContaining("no checkpoint reaches up to there");
              assertThat(e.hint()).contains("restore this folder from a backup");
            });
  }

  @Test
  void refusesToStartOnADamagedLog() throws Exception {
    RatisOperationLog log = open(1_000_000);
    for (int i = 0; i < 50; i++) {
      get(log.append(mkdir("/d" + i)));
    }
    Path copy = folder.resolveSibling(folder.getFileName() + "-damaged");
    copyFolder(folder, copy);
    log.close();
    folder = copy;
    flip(only("log_inprogress_\\d+"), 2_000);
    assertThatThrownBy(() -> openUnready(1_000_000))
        .isInstanceOfSatisfying(
            LeaseFsException.class,
            e -> {
              assertThat(e.code()).isEqualTo(ErrorCode.CORRUPT);
              assertThat(e).hasMessageContaining(folder.toString());
            });
    deleteFolder(copy);
  }

  /** A copy of a running log's folder, whose last entry is large. */
  private Path copyWithALargeLastEntry() throws Exception {
    RatisOperationLog log = open(1_000_000);
    for (int i = 0; i < 20; i++) {
      get(log.append(mkdir("/d" + i)));
    }
    get(log.append(mkdir("/" + "large".repeat(40) + ("/" + "x".repeat(200)).repeat(15))));
    Path copy = folder.resolveSibling(folder.getFileName() + "-cut");
    copyFolder(folder, copy);
    log.close();
    folder = copy;
    return copy;
  }

  private static int lastByte(byte[] bytes) {
    int last = bytes.length - 1;
    while (bytes[last] == 0) {
      last--;
    }
    return last;
  }

  @Test
  void tornLastEntryIsCutOffAndTheLogGoesOn() throws Exception {
    Path copy = copyWithALargeLastEntry();
    Path segment = only("log_inprogress_\\d+");
    byte[] bytes = Files.readAllBytes(segment);
    int sector = lastByte(bytes) / 512 * 512;
    Arrays.fill(bytes, sector, bytes.length, (byte) 0);
    Files.write(segment, bytes);

    TornTail.cut(folder);
    assertThat(Files.size(segment)).isLessThan(sector);
    RatisOperationLog again = open(1_000_000);
    assertThat(state.<Long>read(view -> view.folderCount())).isEqualTo(20);
    assertThat(get(again.append(mkdir("/after"))).result().isApplied()).isTrue();
    again.close();
    open(1_000_000);
    assertThat(state.<Long>read(view -> view.folderCount())).isEqualTo(21);
    deleteFolder(copy);
  }

  @Test
  void damageBeforeValidEntriesIsRefusedAndLeftAsItIs() throws Exception {
    Path copy = copyWithALargeLastEntry();
    Path segment = only("log_inprogress_\\d+");
    byte[] bytes = Files.readAllBytes(segment);
    Arrays.fill(bytes, 512, 1024, (byte) 0);
    Files.write(segment, bytes);
    assertThatThrownBy(() -> TornTail.cut(folder))
        .isInstanceOfSatisfying(
            LeaseFsException.class,
            e -> {
              assertThat(e.code()).isEqualTo(ErrorCode.CORRUPT);
              assertThat(e).hasMessageContaining(segment.toString());
              assertThat(e).hasMessageContaining("valid entries follow");
              assertThat(e.hint()).contains("nothing was changed");
            });
    assertThat(Files.readAllBytes(segment)).isEqualTo(bytes);
    deleteFolder(copy);
  }

  @Test
  void wholeLogIsNotCut() throws Exception {
    Path copy = copyWithALargeLastEntry();
    Path segment = only("log_inprogress_\\d+");
    byte[] bytes = Files.readAllBytes(segment);
    TornTail.cut(folder);
    assertThat(Files.readAllBytes(segment)).isEqualTo(bytes);
    deleteFolder(copy);
  }

  @Test
  void anEntryThatCannotBeUnderstoodIsFatal() throws Exception {
    RatisOperationLog log = open(1_000_000);
    CompletableFuture<Committed> unknown = log.submit(new byte[] {(byte) 0xca, 0x3e, 0x00});
    assertThat(fatal.poll(20, TimeUnit.SECONDS)).contains("cannot be applied");
    assertThatThrownBy(() -> get(unknown))
        .isInstanceOf(ExecutionException.class)
        .cause()
        .isInstanceOfSatisfying(
            LeaseFsException.class, e -> assertThat(e.code()).isEqualTo(ErrorCode.OUTCOME_UNKNOWN));
  }

  @Test
  void leadsAloneAndSaysSo() throws Exception {
    RatisOperationLog log = open(1_000_000);
    Role role = log.role();
    assertThat(role.leading()).isTrue();
    assertThat(role.leader()).contains(SELF);
    assertThat(log.alone()).isTrue();
    Committed barrier = get(log.barrier());
    assertThat(barrier.term()).isEqualTo(role.term());
    assertThat(log.lastApplied()).isGreaterThanOrEqualTo(barrier.ordinal());
  }

  @Test
  void aFolderInUseIsRefused() throws Exception {
    open(1_000_000);
    assertThatThrownBy(() -> openUnready(1_000_000))
        .isInstanceOfSatisfying(
            LeaseFsException.class,
            e -> {
              assertThat(e.code()).isEqualTo(ErrorCode.INVALID_ARGUMENT);
              assertThat(e).hasMessageContaining("in use");
            });
  }

  @Test
  void afterCloseItTakesNothing() throws Exception {
    RatisOperationLog log = open(1_000_000);
    log.close();
    assertThatThrownBy(() -> get(log.append(mkdir("/late"))))
        .isInstanceOf(ExecutionException.class)
        .hasCauseInstanceOf(LeaseFsException.class);
  }
}
